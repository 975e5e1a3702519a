"""How many objects of a kind a program makes for the calls of a function that get them: each new one is a trace.

Tests show what is accepted, not that an object is new each time: what they alone make or call counts as nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Bound, Func, Inst, Lib, LibInst, Obj, Wrapper
from hybridize.facts.causes import argument_slot
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.facts.work import Counts
from hybridize.flow.frames import Frame
from hybridize.flow.solve import given_position
from hybridize.library.costs import ITERATIONS
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Op
from hybridize.records import dataclass, field
from hybridize.rules.comparing import compared
from hybridize.rules.views import FunctionView, ProjectView
from hybridize.source import is_test_path

#: So many calls pay for a trace.
PAYS: Final = 8.0
#: So many traces are no reason against a graph.
FEW: Final = 3.0
_UNKNOWN_CALLS: Final = 100.0
_MOST: Final = 1e9
_CALLS: Final = frozenset({"call", "hybrid", "protocol", "operator"})
_BY_OTHERS: Final = frozenset({"callback", "host"})
_UNTOLD: Final = frozenset({"class", "build", "root"})
#: Library objects that are told apart by identity.
_LIBRARY: Final = ("keras.layers.", "keras.Model", "keras.Sequential", "keras.optimizers.", "keras.losses.")
#: Library classes whose objects arrive in parts, or as tensors.
_TAKEN_APART: Final = frozenset(
    "builtins.list builtins.dict builtins.tuple builtins.str builtins.int builtins.float typing.NamedTuple "
    "tf.experimental.ExtensionType enum.Enum".split()
)

#: Where objects are made: the code, the position in it.
_Site: TypeAlias = "tuple[Code, int]"


@dataclass(slots=True)
class _Tally:
    """The calls that pass objects, and where these are made, with the frames that do."""

    calls: float = 0.0
    made: dict[_Site, set[int]] = field(default_factory=dict)
    first: _Site | None = None
    place: tuple[str, int] | None = None
    what: str = ""


class Lifetimes:
    """How often each frame of a program runs, tests left out."""

    def __init__(self, project: ProjectView) -> None:
        self.project = project
        self.counts = Counts()
        self._often: dict[Frame, float] = {}
        for body in project.solution.world.module_frames.values():
            self._often[body] = 1.0
            for pos, callee in body.roots:
                if pos != given_position(callee.code):  # which is where a test runner calls
                    self._often[callee] = _UNKNOWN_CALLS
        for component in reversed(project.extents.components):
            members = set(component)
            for frame in sorted(component, key=lambda f: f.uid):
                self._spread(frame, members)

    def _spread(self, frame: Frame, members: set[Frame]) -> None:
        tests = is_test_path(frame.code.path)
        mine = 0.0 if tests else self._often.get(frame, 0.0)
        shared = Counter((pos, callee.code) for pos, callee in frame.calls)
        for (pos, callee), how in frame.calls.items():
            if how in _UNTOLD or callee in members:
                continue
            weight = mine * self.counts.runs(frame, pos) * (ITERATIONS if how in _BY_OTHERS else 1)
            if tests and not is_test_path(callee.code.path):
                self._often.setdefault(callee, _UNKNOWN_CALLS)  # what tests call others call as well
                continue
            # Turns of a loop that are followed one by one are frames of their own, called from one place.
            weight /= shared[pos, callee.code]
            self._often[callee] = min(self._often.get(callee, 0.0) + weight, _MOST)

    def runs(self, frame: Frame, pos: int) -> float:
        """How often a place runs."""
        often = 0.0 if is_test_path(frame.code.path) else self._often.get(frame, 0.0)
        return min(often * self.counts.runs(frame, pos), _MOST)

    def made(self, site: _Site, uids: set[int]) -> float:
        """How many objects a site makes, in those of its frames that made the ones in question."""
        frames = self.project.solution.frames.get(site[0], ())
        chosen = [frame for frame in frames if frame.uid in uids] or frames
        return sum(self.runs(frame, site[1]) for frame in chosen)


def lifetimes(project: ProjectView) -> Lifetimes:
    """Those of a program, made when first asked for."""
    return project.shared("lifetimes", lambda: Lifetimes(project))


def short_lived(function: FunctionView) -> tuple[str, tuple[str, int], tuple[Evidence, ...]] | None:
    """Why (nearly) each call of a function gets an object, function or receiver that no call before has had."""
    first = 1 if function.facts.kind is FunctionKind.CLASSMETHOD else 0
    for index in range(first, len(function.code.params)):
        found = _answer(function, _tally(function, index))
        if found is not None:
            return found
    return None


def _answer(function: FunctionView, tally: _Tally) -> tuple[str, tuple[str, int], tuple[Evidence, ...]] | None:
    if not tally.calls or tally.first is None or tally.place is None:
        return None
    known = lifetimes(function.project)
    made = sum(known.made(site, uids) for site, uids in tally.made.items())
    if made <= FEW or tally.calls >= PAYS * made:
        return None
    code, pos = tally.first
    where = Evidence("is made here, again and again", code.path, pos >> 16)
    return tally.what, tally.place, (Evidence("is called here", tally.place[0], tally.place[1] >> 16), where)


def _tally(function: FunctionView, index: int) -> _Tally:
    """The calls of a function that pass something which is told apart by identity for one of its parameters."""
    tally = _Tally()
    known = lifetimes(function.project)
    hybrids = function.project.solution.world.hybrids
    counted: set[tuple[Frame, int]] = set()
    for caller, pos, frame, how in function.callers():
        if how not in _CALLS | _BY_OTHERS or caller.code in hybrids:
            continue
        args = frame.incoming.get((caller, pos))
        objects = [o for o in (args[index] if args is not None else frame.args[index]) if _is_by_identity(o)]
        sites = dict(_sites(function, caller, pos, index, objects))
        if not sites:
            continue
        if (caller, pos) not in counted:  # turns of a loop that are followed one by one are calls from one place
            counted.add((caller, pos))
            tally.calls += known.runs(caller, pos) * (ITERATIONS if how in _BY_OTHERS else 1)
        for site, uid in sites.items():
            tally.made.setdefault(site, set()).update(uid)
            tally.first = tally.first or site
        tally.place = tally.place or (caller.code.path, pos)
        tally.what = tally.what or _said(objects)
    return tally


def _sites(
    function: FunctionView, caller: Frame, pos: int, index: int, objects: list[Obj]
) -> Iterator[tuple[_Site, set[int]]]:
    """Where objects are made; those that a call reads or makes for itself, at the call."""
    found: dict[_Site, set[int]] = {}
    for obj in objects:
        if isinstance(obj, (Inst, LibInst, Func)):
            code, at = obj.site
            if isinstance(code, Code) and code.kind != "class":
                found.setdefault((code, at), set()).add(obj.frame)
        else:
            is_bound = function.facts.kind in (FunctionKind.METHOD, FunctionKind.CLASSMETHOD)
            slot = argument_slot(caller, pos, index, function.code.params[index].name, bound=is_bound)
            made = index_of(caller.code).source(slot) if slot >= 0 else None
            if made is not None and made[0] in (Op.ATTR, Op.CALL):
                found.setdefault((caller.code, made[-1]), set()).add(caller.uid)
    yield from found.items()


def _is_by_identity(obj: Obj) -> bool:
    match obj:
        case Inst(cls=cls):
            names = {base.name for base in cls.mro if isinstance(base, Lib)}
            return not names & _TAKEN_APART and not cls.derives_container and compared(cls) is None
        case LibInst(cls=name):
            return name.startswith(_LIBRARY)
        case Wrapper(kind="partial"):
            return True
        case Bound(func=Func()) | Func():
            return True
    return False


def _said(objects: list[Obj]) -> str:
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
    parent, func = function.code.parent, function.func
    if function.facts.kind is not FunctionKind.NESTED or parent is None or func is None:
        return None
    known = lifetimes(function.project)
    calls, place = 0.0, None
    for caller, pos, how in dict.fromkeys((caller, pos, how) for caller, pos, _, how in function.callers()):
        if how == "graph":
            return None
        if how in _CALLS | _BY_OTHERS:
            calls += known.runs(caller, pos) * (ITERATIONS if how in _BY_OTHERS else 1)
            place = place or (caller.code.path, pos)
    made = known.made((parent, func.site[1]), set())
    if place is None or made <= FEW or calls >= PAYS * made or not calls:
        return None
    where = Evidence(f"is made anew at each call of `{parent.name}`", function.code.path, function.code.line)
    return where, Evidence("is called here", place[0], place[1] >> 16)
