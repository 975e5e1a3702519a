"""How many objects of a kind a program makes for the calls of a function that get them: each new one is a trace.

Tests show what is accepted, not that an object is new each time: what they alone make or call counts as nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from math import inf
from typing import Final, TypeAlias

from hybridize.closure import closure
from hybridize.domain.calls import BY_OTHERS, BY_PROGRAM, UNORDERED, How
from hybridize.domain.nesting import held, taken_apart
from hybridize.domain.objects import Bound, Func, Inst, Lib, LibInst, Obj, Tensor, Value, Wrapper
from hybridize.domain.tensors import SYMBOLIC
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.calls.work import Counts
from hybridize.facts.evidence import tells
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.model import Evidence, FunctionKind, Told
from hybridize.facts.origins import calls_of, starts_program
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.flow.solve import given_position
from hybridize.library.costs import ITERATIONS
from hybridize.library.dialect import CHOOSING, LAYERS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.records import dataclass, field
from hybridize.tracing.retraced.comparing import compared
from hybridize.tracing.running.loops import runs_in_loop
from hybridize.tracing.running.processes import programs
from hybridize.tracing.views import FunctionView, ProjectView

#: So many calls pay for a trace.
PAYS: Final = 8.0
#: So many traces are no reason against a graph.
FEW: Final = 3.0
_MOST: Final = 1e9
#: So many turns has a loop of unknown length, where it shall not speak against a graph.
_LONG: Final = 200.0
_DEPTH: Final = 3
#: What runs of roots are kept knows of about so many frames, altogether.
_KEPT: Final = 500_000
#: Library objects that are told apart by identity.
_LIBRARY: Final = (*LAYERS, "keras.optimizers.", "keras.losses.")
#: Library classes whose objects arrive in parts, or as tensors.
_TAKEN_APART: Final = frozenset(
    "builtins.list builtins.dict builtins.tuple builtins.str builtins.int builtins.float typing.NamedTuple "
    "tf.experimental.ExtensionType enum.Enum".split()
)

#: Where objects are made: the code, the position in it.
_Site: TypeAlias = "tuple[Code, int]"


#: How often each frame runs.
_Often: TypeAlias = "dict[Frame, float]"
#: How often a place runs in one call of its frame.
_Runs: TypeAlias = "Callable[[Frame, int], float]"
#: What a frame calls: how often the place runs, how often that is by others, and the frames that are turns there.
_Called: TypeAlias = "tuple[Frame, float, float, int]"


@dataclass(slots=True)
class _Tally:
    """The calls that pass objects, with what each counts for, and where these are made, with the frames that do."""

    calls: dict[tuple[Frame, int], float] = field(default_factory=dict)
    made: dict[_Site, set[int]] = field(default_factory=dict)
    objects: set[Obj] = field(default_factory=set)


class Lifetimes:
    """How often each frame of a program runs: in runs of its modules, and in those of what others call."""

    def __init__(self, project: ProjectView) -> None:
        self.project = project
        self.counts = Counts()
        bodies = list(project.solution.world.module_frames.values())
        self.roots: dict[Frame, None] = {}  # what others call: nobody in the program, or only tests
        for body in bodies:
            # A test runner calls at a place of its own.
            self.roots.update((c, None) for at, c in body.roots if at != given_position(c.code) and not self._tests(c))
        for frame in (f for frames in project.solution.frames.values() for f in frames if self._tests(f)):
            self.roots.update((c, None) for _, c in calls_of(frame, BY_PROGRAM) if not self._tests(c))
        self._bodies = bodies
        self._kept_calls: dict[Frame, list[_Called]] = {}
        self._symbolic: dict[Value, bool] = {}
        self._runs_known: dict[Frame, _Often] = {}
        self._frames_known = 0
        self._order = list(reversed(project.extents.components))
        self.closed = self._spread(dict.fromkeys(bodies, 1.0), self._order)
        self.open = self._spread(dict.fromkeys(self.roots, 1.0), self._order)

    @cached_property
    def full(self) -> _Often:
        """How often frames run in a run of the program where loops of unknown length are long ones."""
        return self._spread(dict.fromkeys(self._bodies, 1.0), self._order, self._turns)

    def _turns(self, frame: Frame, pos: int) -> float:
        return self.counts.turns(frame, pos, _LONG)

    @cached_property
    def kept(self) -> frozenset[Obj]:
        """The objects that library code keeps, or was given: it calls them as often as it likes."""
        world = self.project.solution.world
        found: set[Obj] = {o for o in world.escaped if isinstance(o, (Inst, LibInst))}
        for owner in world.allocated.values():
            for cell in owner.fields.values() if isinstance(owner, LibInst) else ():
                found.update(o for o in held(cell.value, _DEPTH, parts) if isinstance(o, (Inst, LibInst)))
        for frame in (f for frames in self.project.solution.frames.values() for f in frames):
            called = [o for o in frame.args[0] if isinstance(o, Inst) and o not in found] if frame.args else []
            if called and any(c is not None and self._is_of_functional_model(c, pos) for c, pos in frame.incoming):
                found.update(called)
        return frozenset(found)

    def _is_of_functional_model(self, caller: Frame, pos: int) -> bool:
        """Whether a call is given a symbolic tensor of Keras: the model that comes of it keeps what is called."""
        slots = [slot for call in index_of(caller.code).calls.get(pos, ()) for slot in arguments(call)]
        return any(self._holds_symbolic(value) for slot in slots if (value := caller.vals[slot]))

    def _holds_symbolic(self, value: Value) -> bool:
        found = self._symbolic.get(value)
        if found is None:
            objects = held(value, _DEPTH, parts)
            found = self._symbolic[value] = any(isinstance(o, Tensor) and o.kind == SYMBOLIC for o in objects)
        return found

    def _spread(self, often: _Often, order: Iterable[list[Frame]], runs: _Runs | None = None) -> _Often:
        """How often frames run where some do as often as given; callers come first in the order."""
        calls = self._calls if runs is None else lambda frame: self._called(frame, runs)
        for component in order:
            members = component if len(component) == 1 else set(component)
            for frame in sorted(component, key=lambda f: f.uid):
                mine = often.get(frame, 0.0)
                if not mine or self._tests(frame):
                    continue
                for callee, times, by_others, turns in calls(frame):
                    if callee not in members:
                        often[callee] = min(often.get(callee, 0.0) + mine * times * by_others / turns, _MOST)
        return often

    def _calls(self, frame: Frame) -> list[_Called]:
        """The same for each run of a program, or of what others call: it is asked of most frames again and again."""
        found = self._kept_calls.get(frame)
        if found is None:
            found = self._kept_calls[frame] = self._called(frame, self.counts.runs)
        return found

    def _called(self, frame: Frame, runs: _Runs) -> list[_Called]:
        # Turns of a loop that are followed one by one are frames of their own, called from one place.
        turns = Counter((pos, callee.code) for pos, callee in frame.calls)
        return [
            (callee, runs(frame, pos), _by_others(frame, pos, how), turns[pos, callee.code])
            for (pos, callee), how in frame.calls.items()
            if how not in UNORDERED
        ]

    def for_each(self, tally: _Tally) -> float:
        """How many calls there are for each object, at most; inf where few objects are made, or nobody sees it."""
        if tally.objects & self.kept:
            return inf
        calls, made = self._ratio(tally, self.full, self._turns)
        return calls / made if made > FEW and calls else inf

    def is_short(self, tally: _Tally) -> bool:
        """Whether so many objects are made for the calls that no trace pays; not where others may keep or make them."""
        return self._is_short(tally) and not (self._others_make(tally.objects) or tally.objects & self.kept)

    def _is_short(self, tally: _Tally) -> bool:
        calls, made = self._ratio(tally, self.closed)
        if made > FEW and calls < PAYS * made:
            # Several programs may make and call their own, by the same functions.
            runs = list(self._runs_of(tally, self._bodies))
            if all(made > FEW and calls < PAYS * made for calls, made in runs):
                return True
            if any(calls >= PAYS * made > 0 for calls, made in runs):
                return False
        if calls >= PAYS * max(made, 1.0):
            return False
        calls, made = self._ratio(tally, self.open)
        return bool(calls) and calls < PAYS * made and self._is_short_in_runs(tally)

    def seen(self, places: Iterable[tuple[Frame, int]]) -> float:
        """How often a run of one program gets to some places; tests count nothing.

        What a library lets others call runs once, and what that calls as often as it does.
        """
        known = [(frame, pos) for frame, pos in places if not self._tests(frame)]
        runs = [(frame, self.counts.runs(frame, pos)) for frame, pos in known]
        extents = self.project.extents
        frames = extents.set_of(frame for frame, _ in known)
        number = sum(1 for some in programs(self.project) if some & frames)
        known_to = [self.closed.get(frame) or self.open.get(frame, 0.0) for frame, _ in runs]
        called = sum(times * often for times, (_, often) in zip(known_to, runs, strict=True)) / max(number, 1)
        return max(called, *(often for _, often in runs), 0.0)

    def is_looped(self, frame: Frame, pos: int) -> bool:
        """Whether a loop that is no test's gets to a place: who calls something at several places has his reasons."""
        return runs_in_loop(frame, pos, lambda each: not self._tests(each))

    def is_seen_short(
        self, calls: Iterable[tuple[Frame, int]], made: Collection[tuple[Frame, int]], pays: float = PAYS
    ) -> bool:
        """Whether a run of the program makes more than a few objects at some places, and calls each a few times."""
        objects = self.seen(made) if any(self.is_looped(*each) for each in made) else 0.0
        return objects >= FEW and self.seen(dict.fromkeys(calls)) < pays * objects

    def _is_short_in_runs(self, tally: _Tally) -> bool:
        """Whether every run of what others call makes the objects itself, for few calls, and gives them to nobody."""
        found = False
        for root in self._leading(self.roots, tally):
            if root.code.name in CONSTRUCTORS or any(o in tally.objects for o in held(root.ret, _DEPTH, parts)):
                return False
            calls, made = self._ratio(tally, self._run_of(root))
            if calls >= PAYS * made:
                return False
            found = True
        return found

    def _others_make(self, objects: Iterable[Obj]) -> bool:
        """Whether a library exports the classes of its objects: others make some, too, and call them as they like."""
        own = [o for o in objects if not isinstance(o, LibInst)]
        return bool(own) and all(isinstance(o, Inst) and self.project.public.has(o.cls.code) for o in own)

    def _leading(self, roots: Iterable[Frame], tally: _Tally) -> list[Frame]:
        """Those of some frames that lead to the calls."""
        extents = self.project.extents
        callers = [caller for caller, _ in tally.calls if not self._tests(caller)]
        above = set(closure(filter(extents.is_live, callers), lambda frame: self._callers.get(frame, ())))
        every = extents.set_of(callers)
        return [r for r in roots if r in above or (r in self._gone and extents.of(r) & every)]

    @cached_property
    def _gone(self) -> frozenset[Frame]:
        """The roots that are no part of the solution: what they lead to is not among the callers of frames."""
        return frozenset(r for r in (*self._bodies, *self.roots) if not self.project.extents.is_live(r))

    @cached_property
    def _callers(self) -> dict[Frame, list[Frame]]:
        """By whom frames are called: the calls that extents follow, backwards."""
        extents = self.project.extents
        found: dict[Frame, list[Frame]] = {}
        for frame in (f for component in extents.components for f in component):
            for callee in {callee: None for _, callee in frame.calls if extents.is_live(callee)}:
                found.setdefault(callee, []).append(frame)
        return found

    def _runs_of(self, tally: _Tally, roots: Iterable[Frame]) -> Iterator[tuple[float, float]]:
        """How many calls one run of each root makes, and how many objects for them; of those that make any."""
        return (self._ratio(tally, self._run_of(root)) for root in self._leading(roots, tally))

    def _run_of(self, root: Frame) -> _Often:
        """How often frames run in one run of a root: many functions ask for the same ones."""
        found = self._runs_known.get(root)
        if found is None:
            if self._frames_known > _KEPT:
                self._runs_known.clear()
                self._frames_known = 0
            extents = self.project.extents
            found = self._spread({root: 1.0}, reversed(list(extents.parts(extents.of(root)))))
            self._runs_known[root] = found
            self._frames_known += len(found)
        return found

    def _ratio(self, tally: _Tally, often: _Often, runs: _Runs | None = None) -> tuple[float, float]:
        """How many calls there are, and how many objects are made for them."""
        runs = runs or self.counts.runs
        calls = sum(self._runs(caller, pos, often, runs) * count for (caller, pos), count in tally.calls.items())
        made = 0.0
        for (code, pos), uids in tally.made.items():
            frames = self.project.solution.frames.get(code, ())
            made += sum(self._runs(f, pos, often, runs) for f in [f for f in frames if f.uid in uids] or frames)
        return calls, made

    def _tests(self, frame: Frame) -> bool:
        return self.project.roles.is_test(frame.code.path)

    def _runs(self, frame: Frame, pos: int, often: _Often, runs: _Runs) -> float:
        return min(often.get(frame, 0.0) * runs(frame, pos), _MOST) if not self._tests(frame) else 0.0


def lifetimes(project: ProjectView) -> Lifetimes:
    """Those of a program, made when first asked for."""
    return project.shared("lifetimes", lambda: Lifetimes(project))


def short_lived(function: FunctionView) -> tuple[str, tuple[str, int], tuple[Evidence, ...]] | None:
    """Why (nearly) each call of a function gets an object, function or receiver that no call before has had."""
    first = 1 if function.facts.kind is FunctionKind.CLASSMETHOD else 0
    for index in range(first, len(function.code.params)):
        tally = _tally(function, index)
        if tally.made and lifetimes(function.project).is_short(tally):
            caller, pos = next(iter(tally.calls))
            code, at = next(iter(tally.made))
            where = Evidence("is made here, again and again", code.path, at >> 16)
            evidence = (Evidence("is called here", caller.code.path, pos >> 16), where)
            return _said(tally.objects), (caller.code.path, pos), evidence
    return None


def calls_for_each(function: FunctionView) -> float:
    """How many calls there are for each receiver, object or function that a function is traced for; inf for few."""
    first = 1 if function.facts.kind is FunctionKind.CLASSMETHOD else 0
    tallies = (_tally(function, index) for index in range(first, len(function.code.params)))
    return min((lifetimes(function.project).for_each(tally) for tally in tallies if tally.made), default=inf)


def _tally(function: FunctionView, index: int) -> _Tally:
    """The calls of a function that pass something which is told apart by identity for one of its parameters."""
    tally = _Tally()
    hybrids = function.project.solution.world.hybrids
    for caller, pos, frame, how in function.callers():
        if how not in BY_PROGRAM | BY_OTHERS or caller.code in hybrids:
            continue
        args = frame.incoming.get((caller, pos), frame.args)
        objects = [o for o in args[index] if _is_by_identity(o)]
        sites = dict(_sites(function, caller, pos, index, objects))
        if sites:
            tally.calls[caller, pos] = _by_others(caller, pos, how)
            tally.objects.update(objects)
        for site, uids in sites.items():
            tally.made.setdefault(site, set()).update(uids)
    return tally


def _sites(
    function: FunctionView, caller: Frame, pos: int, index: int, objects: list[Obj]
) -> Iterator[tuple[_Site, set[int]]]:
    """Where objects are made; those that a call reads or makes for itself, at the call."""
    found: dict[_Site, set[int]] = {}
    for obj in objects:
        if isinstance(obj, (Inst, LibInst, Func)):
            code, at = obj.site
            if isinstance(code, Code) and not code.is_class:
                found.setdefault((code, at), set()).add(obj.frame)
        else:
            name, bound = function.code.params[index].name, function.facts.kind.is_bound
            slot = argument_slot(caller, pos, index, name, bound=bound)
            made = index_of(caller.code).source(slot) if slot >= 0 else None
            if isinstance(made, (ir.Attr, ir.Call)):
                found.setdefault((caller.code, made.position), set()).add(caller.uid)
    yield from found.items()


def _by_others(frame: Frame, pos: int, how: How) -> int:
    """How often a library calls what it is given at a place, each time; what chooses calls it once at most."""
    return ITERATIONS if how in BY_OTHERS and not (frame.ops.get(pos) in CHOOSING or starts_program(frame, pos)) else 1


def _handed(
    counts: Counts, frame: Frame, pos: int, objects: set[Obj], depth: int = _DEPTH
) -> Iterator[tuple[tuple[Frame, int], float]]:
    """Who calls functions at a place, and how often: where a helper calls what many give it, those that give these."""
    called = {call.function for call in index_of(frame.code).calls.get(pos, ())}
    index = next((i for i, param in enumerate(frame.code.params) if param.slot in called), None)
    given = [(*at, args[index]) for at, args in frame.incoming.items()] if index is not None and depth else []
    if all(value & objects for *_, value in given):
        yield (frame, pos), 1.0
        return
    for caller, at, value in given:
        if caller is not None and value & objects:
            for place, times in _handed(counts, caller, at, objects, depth - 1):
                yield place, times * counts.runs(frame, pos)


def _is_by_identity(obj: Obj) -> bool:
    match obj:
        case Inst(cls=cls):
            names = {base.name for base in cls.mro if isinstance(base, Lib)}
            whole = taken_apart(obj) is None and not names & _TAKEN_APART and not cls.derives_container
            return whole and compared(cls) is None
        case LibInst(cls=name):
            return name.startswith(_LIBRARY)
        case Wrapper(kind="partial"):
            return True
        case Bound(func=Func()) | Func():
            return True
    return False


def _said(objects: set[Obj]) -> str:
    obj = min(objects, key=repr)
    match obj:
        case Inst(cls=cls):
            return f"a new `{cls.name}`"
        case LibInst(cls=name):
            return f"a new `{name}`"
        case Wrapper():
            return "a new `partial`"
        case Bound():
            return "a bound method, which is new wherever it is read"
    return "a new function"


def made_for_calls(function: FunctionView) -> tuple[Evidence, ...] | None:
    """Where a nested function is made (nearly) as often as it is called: each time it would be traced."""
    parent = function.code.parent
    if function.facts.kind is not FunctionKind.NESTED or parent is None:
        return None
    known = lifetimes(function.project)
    tally = _Tally(objects={frame.func for frame in function.frames if frame.func is not None})
    for obj in tally.objects:
        if isinstance(obj, Func):
            tally.made.setdefault((parent, obj.site[1]), set())
    for caller, pos, _, how in function.callers():
        if how is How.GRAPH:
            return None
        if how in BY_PROGRAM | BY_OTHERS:
            for place, times in _handed(known.counts, caller, pos, tally.objects):
                tally.calls[place] = tally.calls.get(place, 0.0) + times * _by_others(caller, pos, how)
    if not tally.calls or not known.is_short(tally):
        return None
    caller, pos = next(iter(tally.calls))
    where = tells(Told.PER_CALL, function.code.path, function.code.line, parent.name)
    return where, Evidence("is called here", caller.code.path, pos >> 16)
