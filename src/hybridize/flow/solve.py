"""From a program to its solution: entry points, and the fixpoint in two phases.

First what the program itself starts: module bodies and tests. The facts of the functions that this reaches rest on real
calls alone. Then every function that is still unreached, with arguments that are unknown but for type hints, defaults
and what its name says; being unreachable is no reason to say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridize.config import Config
from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, Class, Func, Inst, Mod, Obj, Unknown, Value, Wrapper, unknown
from hybridize.domain.session import Session
from hybridize.domain.unknowns import Why
from hybridize.flow.bodies import replace_bodies
from hybridize.flow.classes import bases_after
from hybridize.flow.contexts import LEVEL_LIMIT, SMALL_LIMIT
from hybridize.flow.engine import Engine
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader
from hybridize.flow.testing import SETUP, Tests
from hybridize.flow.transfer.table import HANDLERS
from hybridize.flow.world import World
from hybridize.library.contracts.lookup import contract_of
from hybridize.program.build import Program
from hybridize.program.code import Code, CodeKind, Param
from hybridize.program.lowering import walk_codes
from hybridize.records import dataclass, field
from hybridize.regex import regex

_GIVEN = 2
#: What calls bring to light (nested functions, classes made in functions) is called in turns, so many at most.
_TURNS = 6
_SPECIAL = regex(r"__\w+")


@dataclass(slots=True)
class Solution:
    """A solved program: live frames by code, and which codes were reached by the program itself."""

    program: Program
    engine: Engine
    frames: dict[Code, list[Frame]] = field(default_factory=dict)
    reached: set[Code] = field(default_factory=set)

    @property
    def world(self) -> World:
        """What the analysis knows of the program."""
        return self.engine.world


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """What the user can switch: tests as entry points, type hints, speculation; and what an evaluation takes away."""

    test_entry_points: bool = True
    follow_type_hints: bool = True
    speculate: bool = True
    without: frozenset[str] = frozenset()

    @classmethod
    def of(cls, config: Config) -> FlowOptions:
        """Those of the options in force."""
        return cls(config.test_entry_points, config.follow_type_hints, config.speculate, frozenset(config.without))


class Solver:
    """Runs the engine over a program."""

    def __init__(self, program: Program, options: FlowOptions, order: Sequence[str] | None = None) -> None:
        """`order` is the order in which modules are started; the result must not depend on it (tests shuffle it)."""
        self.session = Session(program.session)
        self.program = program
        self.options = options
        names = sorted(program.modules) if order is None else order
        small = program.is_small
        limit = SMALL_LIMIT if small else LEVEL_LIMIT
        with self.session.active():
            modules = {id_: Mod(id_, program.modules[id_].code.path, program.modules[id_].code) for id_ in names}
            world = World(modules, program.imports.resolve, limit, _special_names(program), options.without)
            self.engine = Engine(world, HANDLERS)
            self.hints = HintReader(self.engine)
            self.engine.hinted = self.hints.given if options.follow_type_hints else None

    def solve_entries(self) -> Solution:
        """The first phase: module bodies, then tests, to the fixpoint."""
        with self.session.active():
            return self._solve_entries()

    def solve_rest(self, first: Solution) -> Solution:
        """The second phase: functions that nothing reached, each called with unknown arguments."""
        with self.session.active():
            return self._solve_rest(first)

    def solve_again(
        self, last: Solution, changed: Sequence[tuple[Code, Code]], *, entries: bool
    ) -> tuple[Solution, frozenset[Code]]:
        """The last phase once more, for functions and what is around them with other code (`program.edited`).

        Each comes with the code that it takes over. `entries`: the last phase was the first one. Gives what was run
        for it, too.
        """
        with self.session.active():
            self.session.forget({code for old, _ in changed for code in walk_codes(old)})
            run = replace_bodies(self.engine, changed)
            solution = self._solution()
            if not entries:
                fresh = {code for old, _ in changed for code in walk_codes(old)} - solution.reached
                uncalled = [func for func in self.all_functions() if func.code in fresh]
                for func in uncalled:
                    self.call_unknown(func)
                if uncalled:
                    self.engine.solve()
                    solution = self._solution()
                solution.reached = last.reached
            return solution, run

    def _solve_entries(self) -> Solution:
        engine = self.engine
        for module in engine.world.modules.values():
            engine.imports.import_module(_NO_FRAME, module)
        engine.solve()
        if self.options.test_entry_points:
            Tests(self).run()
            engine.solve()
        return self._solution()

    def _solve_rest(self, first: Solution) -> Solution:
        engine = self.engine
        engine.cells.phase = 1
        every = [code for _, code in self.program.functions()]
        called: set[Code] = set()
        for turn in range(_TURNS):
            # Who calls a private function is in the project, and shows what it is given; so does who makes a nested
            # one. What nobody turns out to call comes in a later turn, and what is not seen any more, because what
            # others may pass has merged too much: the plan looks at all functions as they are here.
            live = self._solution().reached if turn else first.reached
            funcs = self._function_objects()
            new = [code for code in every if code in funcs and code not in called and code not in live]
            if turn and not new:
                break
            for code in new:
                if turn or not all(map(_is_private, funcs[code])):
                    called.add(code)
                    for func in funcs[code]:
                        self.call_unknown(func)
            engine.solve()
        second = self._solution()
        second.reached = first.reached
        return second

    # Roots -----------------------------------------------------------------------------------------------------------

    def all_functions(self) -> list[Func]:
        """Every function object of the program, set-up methods first in their file."""
        funcs = [obj for obj in self.engine.world.allocated.values() if isinstance(obj, Func)]
        funcs.sort(key=lambda f: (f.code.path, f.code.name not in SETUP, f.code.position, f.frame))
        return funcs

    def _function_objects(self) -> dict[Code, list[Func]]:
        found: dict[Code, list[Func]] = {}
        for func in self.all_functions():
            found.setdefault(func.code, []).append(func)
        return found

    def call_unknown(self, func: Func, given: Mapping[str, Value] | None = None) -> Value:
        """Calls a function as an unknown caller would: receiver an instance of its class, arguments by hints.

        `given` are the arguments that a test runner passes by name: with them it is a call like any of the program.
        """
        engine = self.engine
        frame = self.engine.world.module_frames[func.module]
        code = func.code
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        kind = self.receiver_kind(func)
        rest = BOTTOM
        for i, param in enumerate(code.params):
            if i == 0 and kind != "function" and func.owner is not None:
                args.append(self._receiver(func.owner, kind, frame))
                continue
            value = (given or {}).get(param.name) or self._argument(func, param, i)
            if param.is_starred:
                # Where a default stands before, what comes by position may be its parameter's.
                known = param.annotation is not None and not any(isinstance(o, Unknown) for o in value)
                rest = value if known and param.is_varargs and len(args) == i else rest
                continue
            if param.by_name:
                if value:
                    kwargs[param.name] = value
            elif value:
                args.append(value)
            else:
                break  # its default, and those of all that follow
        pos = given_position(code) if given else code.position
        return engine.functions.call_function(frame, pos, func, args, kwargs, How.ROOT, rest, kind != "function")

    def receiver_kind(self, func: Func) -> str:
        """`method` or `classmethod` for a function with an implicit first parameter, else `function`."""
        is_method = func.code.in_class and func.owner is not None
        kind = method_kind(func) if is_method else "function"
        return kind if kind != "staticmethod" else "function"

    def _argument(self, func: Func, param: Param, index: int) -> Value:
        """What an unknown caller passes: by type hint, else the default, the docstring, or unknown."""
        follows = self.options.follow_type_hints
        if param.annotation is not None and follows:
            hinted = self.hints.given(param.annotation, func)
            if hinted:
                return hinted
        if param.has_default:
            return BOTTOM
        if param.annotation is None and follows:
            described = self.hints.declared(func, param)
            if described:
                return described
        if self.options.speculate:
            speculated = self.hints.speculated(func, param, index)
            if speculated:
                return speculated
        said = f"parameter `{param.name}` of a function that nothing calls"
        called = self.hints.called(param.annotation, func) if param.annotation is not None and follows else ""
        return unknown(f"{said}, declared as {called}" if called else said, Why.ARGUMENT, hint=called).value

    def _receiver(self, cls: Class, kind: str, frame: Frame) -> Value:
        if kind == "classmethod":
            return cls.value
        instances = self.engine.world.instances.get(cls)
        if instances:
            return frozenset(instances[:4])
        for sub in cls.subclasses:
            found = self.engine.world.instances.get(sub)
            if found:
                return frozenset(found[:4])
        return self._make_instance(cls, frame)

    def _make_instance(self, cls: Class, frame: Frame) -> Value:
        """An instance of a class that the program never makes, its constructor called with unknown arguments."""
        engine = self.engine
        key = (cls, frame, 0, "instance")
        inst = Inst(cls, (cls.code, cls.code.position), frame.uid)
        engine.world.allocated[key] = inst
        engine.cells.note_instance(cls, inst)
        init = engine.attributes.class_lookup(frame, cls, "__init__")
        for obj in init:
            if isinstance(obj, Func):
                args: list[Value] = [inst.value]
                kwargs: dict[str, Value] = {}
                for i, param in enumerate(obj.code.params[1:], 1):
                    value = self._argument(obj, param, i)
                    if param.by_place and value:
                        args.append(value)
                    elif param.by_name and value:
                        kwargs[param.name] = value
                    elif param.by_place:
                        break
                engine.functions.call_function(frame, cls.code.position, obj, args, kwargs, How.ROOT, BOTTOM, True)
        return inst.value

    # Results ---------------------------------------------------------------------------------------------------------

    def _solution(self) -> Solution:
        """The live frames: those that roots reach by the calls of their last run."""
        world = self.engine.world
        solution = Solution(self.program, self.engine)
        seen: set[Frame] = set()
        stack: list[Frame] = list(world.module_frames.values())
        stack += [f for f in world.frames if f.func is not None and _is_root(f)]
        while stack:
            frame = stack.pop()
            if frame in seen or frame.dead:
                continue
            seen.add(frame)
            stack += [callee for _, callee in frame.calls]
        for frame in sorted(seen, key=lambda f: f.uid):
            solution.frames.setdefault(frame.code, []).append(frame)
        solution.reached = {code for code, frames in solution.frames.items() if frames}
        return solution


def _special_names(program: Program) -> frozenset[str]:
    """The names with two underscores on either side that stand anywhere in the text of a program."""
    # A pattern that begins with a constant is found ten times as fast as one that begins at a word's bounds.
    texts = [module.text.text for module in program.modules.values() if module.text is not None]
    return frozenset([name for text in texts for name in set(_SPECIAL.findall(text)) if name.endswith("__")])


def _is_root(frame: Frame) -> bool:
    code = frame.code
    starts = code.position, given_position(code)
    for caller, pos in frame.incoming:
        if pos in starts and caller is not None and caller.code.path == code.path:
            return True
    return False


def _is_private(func: Func) -> bool:
    """Whether only the project calls a function: private by its name, and nothing that a library's class calls."""
    name = func.code.name
    if not name.startswith("_") or name.endswith("__"):
        return False
    owner = func.owner
    bases = [bases_after(each, owner) for each in (owner, *owner.subclasses)] if owner is not None else []
    return not any(foreign or contract_of(chain, name) is not None for chain, foreign in bases)


def given_position(code: Code) -> int:
    """Where a test runner calls a function: a place at its definition that no call of the program has."""
    return code.position + _GIVEN


def method_kind(func: Func) -> str:
    """`method`, `classmethod` or `staticmethod`, by what the class namespace holds."""
    if func.owner is None:
        return "function"
    cell = func.owner.fields.get(func.code.name)
    for obj in cell.value if cell is not None else ():
        kind = _wrapping(obj, func)
        if kind:
            return kind
    if func.code.name == "__new__":
        return "staticmethod"
    if func.code.name in ("__init_subclass__", "__class_getitem__"):
        return "classmethod"
    return "method"


def _wrapping(obj: Obj, func: Func) -> str:
    """Whether a static or class method stands between a class attribute and a function, under any other decorator."""
    while isinstance(obj, Wrapper):
        if obj.kind in ("staticmethod", "classmethod") and _holds(obj, func):
            return obj.kind
        inner = [o for o in obj.inner if isinstance(o, Wrapper)]
        if len(inner) != 1:
            return ""
        obj = inner[0]
    return ""


def _holds(obj: Obj, func: Func) -> bool:
    return obj is func or (isinstance(obj, Wrapper) and any(_holds(o, func) for o in obj.inner))


def _no_frame() -> Frame:
    code = next(walk_codes(Code("<program>", "<program>", CodeKind.MODULE, "", 0, 0)))
    return Frame(0, code, Mod("<program>", "", code), None, None)


_NO_FRAME = _no_frame()
