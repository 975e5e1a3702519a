"""The engine: a worklist fixpoint of frames over the whole program."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, widen
from hybridize.domain.objects import (
    BOTTOM,
    EVERY,
    NONE,
    STR_V,
    Bound,
    Class,
    Func,
    Inst,
    Lib,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
    Wrapper,
    lib,
    unknown,
)
from hybridize.flow.contexts import ALLOWANCE
from hybridize.flow.definitions import Definitions
from hybridize.flow.frames import INSTANCES, PATIENCE, ExhaustedError, Frame, Step
from hybridize.flow.handed import NOT_HANDED, handed
from hybridize.flow.narrowing import matches
from hybridize.flow.world import World
from hybridize.library.builtin_names import BUILTINS
from hybridize.library.defaults import context_value, library_attribute, library_module
from hybridize.library.spec import Call

#: A frame is run at most so often; the lattice is finite, but high.
MAX_RUNS = 1000
_BUILTINS: Final = {name: lib(f"builtins.{name}").value for name in BUILTINS}


class Engine(Definitions):
    """Interprets a program abstractly until nothing changes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.depth = 0
        self.phase = 0
        self.rules_open = 0
        self.binding = 0
        self.turns = 1
        self.work = 0
        self.limit = ALLOWANCE
        self._queue: list[tuple[int, int, Frame]] = []

    # The fixpoint --------------------------------------------------------------------------------------------------

    def enqueue(self, frame: Frame) -> None:
        """Marks a frame to be run again."""
        if not frame.uses:
            frame.stale = True
            if frame.common is not None:
                self.wake(frame.waiters)
        elif not frame.queued and not frame.dead:
            frame.queued = True
            heapq.heappush(self._queue, (frame.rank, -frame.uid, frame))

    def wake(self, readers: Mapping[Step, int]) -> None:
        """Marks steps to be executed again that have read what has changed: those that did so in their last run."""
        for step, run in readers.items():
            if run == step.runs:
                step.dirty = True
                if step.seen == step.frame.runs:
                    self.enqueue(step.frame)

    def solve(self) -> None:
        """Runs queued frames, callees before callers, until none is left; then those that wait for
        a value that never comes go on with an unknown one."""
        while True:
            while self._queue:
                _, _, frame = heapq.heappop(self._queue)
                frame.queued = False
                if not frame.uses:
                    frame.stale = True
                elif not frame.dead and not frame.running:
                    self.run(frame)
            stuck = [f for f in self.world.frames if f.stuck and not f.lenient and not f.dead and f.uses]
            if not stuck:
                return
            for frame in stuck:
                self._relax(frame)
            for frame in self.world.frames:
                # A caller of a function that never returns must not wait for it either.
                if not frame.dead and frame.uses and not frame.ret and not frame.code.is_generator and frame.runs:
                    for caller in frame.callers:
                        if not caller.lenient:
                            self._relax(caller)

    def _relax(self, frame: Frame) -> None:
        """Lets a frame go on with unknown values where it waits for some that never come."""
        frame.lenient = True
        frame.steps.clear()
        self.enqueue(frame)

    def run(self, frame: Frame, waiting: Step | None = None) -> None:
        """Executes a frame with its present arguments; `waiting` is who goes on with what it gives now."""
        contexts = self.world.contexts(frame.code)
        if frame.exhausted:
            return
        frame.running = True
        frame.runs += 1
        frame.stuck = False
        frame.ended = False
        frame.looping = False
        frame.stale = False
        frame.around, frame.doubts = (), 0
        frame.filled.clear()
        before = (frame.ret, frame.yields, frame.handed)
        frame.earlier, frame.calls = frame.calls, {}
        frame.effects.clear()
        frame.ops.clear()
        frame.log.clear()
        base = frame.step = frame.base
        base.runs = base.seen = frame.runs
        for param, value in zip(frame.code.params, frame.args, strict=True):
            frame.vals[param.slot] = value
        self.depth += 1
        outer = self.work, self.limit
        start = self.work = contexts.spent
        self.limit = contexts.allowance
        try:
            if frame.runs > MAX_RUNS or contexts.exhausted:
                raise ExhaustedError
            self.execute(frame, frame.code.body)
        except ExhaustedError:
            self._give_up(frame)
        finally:
            contexts.spent += self.work - start
            self.work, self.limit = outer
            self.depth -= 1
            frame.running = False
            self.settle_calls(frame)
        if contexts.returned:
            frame.handed = handed(frame, contexts.returned) if not frame.exhausted else NOT_HANDED
        if frame.ret != before[0] or frame.yields != before[1] or frame.handed != before[2]:
            if waiting is not None:
                del frame.waiters[waiting]
            self.wake(frame.waiters)
            if waiting is not None:
                frame.waiters[waiting] = waiting.runs
            if frame.code.is_generator:
                self.wake(self.world.finished(frame.code).readers)

    def _give_up(self, frame: Frame) -> None:
        """Follows a frame no longer: what it has done so far stands, and what else it does and gives is unknown."""
        frame.exhausted = True
        frame.effect("unfollowed", None, frame.code.name, frame.code.position)
        result = unknown(f"the result of `{frame.code.name}`, which is more than the analysis follows").value
        self.returned(frame, result)
        if frame.code.is_generator:
            self.yielded(frame, result)

    def returned(self, frame: Frame, value: Value) -> None:
        """Adds to what a frame returns."""
        old = frame.ret
        frame.ret = widen(old, value) if frame.runs > PATIENCE else join(old, value)

    def yielded(self, frame: Frame, value: Value) -> None:
        """Adds to what a generator yields."""
        old = frame.yields
        frame.yields = widen(old, value) if frame.runs > PATIENCE else join(old, value)

    # Names, modules --------------------------------------------------------------------------------------------------

    def global_value(self, frame: Frame, name: str) -> Value:
        """A name that has no value in the module yet: a builtin, or what a wildcard import brings."""
        module = frame.module
        if name in module.code.bound:
            module.cell(name).readers[frame.step] = frame.step.runs
            if name in _BUILTINS:
                return _BUILTINS[name]
            found = self._wildcard(module, name)
            if found:
                return found
            frame.stuck = True
            return unknown(f"`{name}`, not bound yet").value if frame.lenient else BOTTOM
        module.absent(name).readers[frame.step] = frame.step.runs
        if name in _BUILTINS:
            return _BUILTINS[name]
        if name == "__name__":
            return STR_V
        if name in ("__file__", "__doc__", "__package__"):
            return STR_V
        found = self._wildcard(module, name)
        if found:
            return found
        return unknown(f"the name `{name}`, which nothing defines").value

    def _wildcard(self, module: Mod, name: str) -> Value:
        for library in self.world.wildcards.get(module, ()):
            found = library_attribute(library, name, only_known=True)
            if found:
                return found
        return BOTTOM

    def import_module(self, frame: Frame, module: Mod) -> None:
        """Runs the body of a module unless it has run or is running."""
        found = self.world.module_frames.get(module)
        if found is None:
            found = self.make_frame(module.code, module, None, module)
            found.uses = 1
            self.world.module_frames[module] = found
            if self.depth < 120:
                self.run(found)
            else:
                self.enqueue(found)

    def import_named(self, frame: Frame, name: str) -> Value:
        """`importlib.import_module(name)`, relative to the module of the call where the name begins with dots."""
        rest = name.lstrip(".")
        level = len(name) - len(rest)
        if not level:
            return self.import_name(frame, name, False)
        target = self.world.resolve(frame.module.name, rest, level)
        module = self.world.modules.get(target) if target is not None else None
        if module is None:
            return unknown(f"module `{name}`, which is not in the project").value
        self.import_module(frame, module)
        return module.value

    def import_name(self, frame: Frame, name: str, top: bool) -> Value:
        """`import a.b.c`: binds `a`, or `c` itself under an alias."""
        target = self.world.resolve(frame.module.name, name, 0)
        if target is None:
            return library_module(name.partition(".")[0] if top else name)
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            part = self.world.resolve(frame.module.name, ".".join(parts[:i]), 0)
            if part is not None and part in self.world.modules:
                self.import_module(frame, self.world.modules[part])
        chosen = self.world.resolve(frame.module.name, parts[0], 0) if top else target
        module = self.world.modules.get(chosen) if chosen else None
        return module.value if module is not None else library_module(parts[0] if top else name)

    def import_from(self, frame: Frame, module: str, level: int, name: str) -> Value:
        """`from m import name`."""
        target = self.world.resolve(frame.module.name, module, level)
        source = self.world.modules.get(target) if target is not None else None
        if source is None:
            if level:
                return unknown(f"module `{'.' * level}{module}`, which is not in the project").value
            return library_attribute(module, name)
        self.import_module(frame, source)
        value = self.module_attr(frame, source, name)
        if value:
            return value
        inner = self.world.resolve(frame.module.name, f"{module}.{name}" if module else name, level)
        if inner is not None and inner in self.world.modules:
            self.import_module(frame, self.world.modules[inner])
            return self.world.modules[inner].value
        if name in source.code.bound:
            frame.stuck = True
            return unknown(f"`{name}` of {source.name}, never set").value if frame.lenient else BOTTOM
        return unknown(f"`{name}`, which {source.name} does not define").value

    def import_star(self, frame: Frame, module: str, level: int, pos: int) -> None:
        """`from m import *`."""
        target = self.world.resolve(frame.module.name, module, level)
        source = self.world.modules.get(target) if target is not None else None
        mine = frame.module
        if source is None:
            self._note_wildcard(mine, module)
            return
        self.import_module(frame, source)
        self.read(frame, source.absent(EVERY))
        step, place, fields = frame.step, (frame.code, pos), source.fields
        for name in self._exported(frame, source):
            cell, mirror = fields.get(name), mine.cell(name)
            if cell is None or not cell.value:
                self.write(frame, mirror, self.module_attr(frame, source, name), pos)
                continue
            cell.readers[step] = step.runs
            if mirror.value is cell.value:  # as it mostly is: modules run often until all that they import is there
                mirror.writes[place] = None
            else:
                self.write(frame, mirror, cell.value, pos)
        for library in self.world.wildcards.get(source, ()):
            self._note_wildcard(mine, library)

    def _note_wildcard(self, module: Mod, library: str) -> None:
        """Remembers that a module has all names of a library: whoever looked for one in vain looks again."""
        libraries = self.world.wildcards.setdefault(module, [])
        if library not in libraries:
            libraries.append(library)
            self.wake(module.absent(EVERY).readers)
            for cell in (*module.fields.values(), *module.awaited.values()):
                if not cell.value:
                    self.wake(cell.readers)

    def _exported(self, frame: Frame, source: Mod) -> list[str]:
        listed = source.fields.get("__all__")
        if listed is not None and listed.value:
            names = [
                obj.const
                for container in self.read(frame, listed)
                for obj in self.elements(frame, container.value, 0)
                if isinstance(obj, Lit) and isinstance(obj.const, str)
            ]
            if names:
                return sorted(names)
        return sorted({n for n in (*source.code.bound, *source.fields) if not n.startswith("_")})

    # What decorators note ---------------------------------------------------------------------------------------------

    def note_hybrid(self, frame: Frame, pos: int, func: Value, options: Mapping[str, Value]) -> None:
        """Remembers that functions are made hybrid here."""
        for obj in func:
            inner: Any = obj
            while isinstance(inner, (Bound, Wrapper)):
                inner = inner.func if isinstance(inner, Bound) else next(iter(inner.inner), None)
            if isinstance(inner, Func):
                self.world.hybrids.setdefault(inner.code, {})[frame.code, pos] = options

    def note_cached(self, func: Value) -> None:
        """Remembers that `functools` keeps the results of functions."""
        self.world.cached.update(dict.fromkeys(obj.code for obj in func if isinstance(obj, Func)))

    def note_fixture(self, func: Value, options: Mapping[str, Value]) -> None:
        """Remembers that pytest calls functions for their value."""
        for obj in func:
            if isinstance(obj, Func):
                self.world.fixtures[obj] = options

    def note_parameters(self, target: Value, pos: int, names: Value, values: Value) -> None:
        """Remembers which arguments a test, or the tests of a class, are called with."""
        for obj in target:
            if isinstance(obj, (Func, Class)):
                self.world.parameters.setdefault(obj, {})[pos] = names, values

    def constant_string(self, value: Value) -> str | None:
        """The string that a value is, if it is exactly one."""
        found = [obj.const for obj in value if isinstance(obj, Lit) and isinstance(obj.const, str)]
        return found[0] if len(found) == len(value) == 1 else None

    # Small protocols --------------------------------------------------------------------------------------------------

    def unpackable(self, frame: Frame, obj: Obj, pos: int) -> list[Value] | None:
        """The items of an object by position, if their number is known."""
        return self._spread_one(frame, obj)

    def caught(self, frame: Frame, kinds: Value | None) -> Value:
        """The value of `e` in `except kinds as e`."""
        result = BOTTOM
        for obj in kinds or BOTTOM:
            if isinstance(obj, Class):
                self.read(frame, obj.absent(INSTANCES))
                for inst in self.world.instances.get(obj, ()):
                    result = join(result, inst.value)
            elif isinstance(obj, Lib):
                result = join(result, self.library_instance(frame, 0, obj.name).value)
        return result or unknown("a caught exception").value

    def enter_context(self, frame: Frame, value: Value, pos: int) -> Value:
        """What `with value as x` binds."""
        result = BOTTOM
        for obj in value:
            if isinstance(obj, Inst):
                method = self.find_method(frame, obj, "__enter__") or self.find_method(frame, obj, "__aenter__")
                if method:
                    result = join(result, self.call_value(frame, pos, method, [], {}, How.CONTEXT))
                    continue
            if isinstance(obj, Stream) and obj.kind == "generator":
                result = join(result, obj.element)
                continue
            result = join(result, context_value(Call(self, frame, pos, "__enter__", [], {}, obj)))
        return result

    def exit_context(self, frame: Frame, value: Value, pos: int) -> None:
        """Leaves a `with` block."""
        for obj in value:
            if isinstance(obj, Inst):
                method = self.find_method(frame, obj, "__exit__") or self.find_method(frame, obj, "__aexit__")
                if method:
                    nothing = NONE.value
                    self.call_value(frame, pos, method, [nothing, nothing, nothing], {}, How.CONTEXT)

    def narrow(self, frame: Frame, value: Value, kinds: Value, polarity: bool) -> Value:
        """The objects of a value that may (not) be instances of a type."""
        kept: list[Obj] = []
        for obj in value:
            may, may_not = matches(self, frame, obj, kinds)
            if may if polarity else may_not:
                kept.append(obj)
        return frozenset(kept)

    def match_position(self, frame: Frame, value: Value, index: int, pos: int) -> Value:
        """What a class pattern's positional part captures."""
        result = BOTTOM
        for obj in value:
            if isinstance(obj, Inst):
                names = self.world.dataclasses.get(obj.cls)
                if names is None:
                    listed = self.class_lookup(frame, obj.cls, "__match_args__")
                    for args in listed:
                        if isinstance(args, Tup) and index < len(args.items):
                            for name in args.items[index]:
                                if isinstance(name, Lit):
                                    result = join(result, self.get_attr(frame, obj, str(name.const), pos))
                elif index < len(names):
                    result = join(result, self.get_attr(frame, obj, names[index], pos))
            elif isinstance(obj, Tup) and index < len(obj.items):
                result = join(result, obj.items[index])
            elif isinstance(obj, (Lit, Prim, Tensor)):
                result = join(result, obj.value)
        return result or unknown("a captured part").value

    def symbolic_call(self, frame: Frame) -> None:
        """Notes that a frame is executed on Keras symbolic tensors."""
        frame.symbolic = True
