"""HY356: exceptions that come out of a traced function as others than those that a caller handles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.calls import BY_CODE, How
from hybridize.domain.objects import Obj, lib
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_to
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import dataclass
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.control import control
from hybridize.tracing.failing.exceptions import classes_in, fits, is_kept, named, names_of
from hybridize.tracing.failing.expected import expected
from hybridize.tracing.failing.failures import INVALID, Failure, failures
from hybridize.tracing.failing.raising import Raisers
from hybridize.tracing.structure import Site
from hybridize.tracing.values import uses
from hybridize.tracing.views import FrameView, FunctionView

_GENERIC: Final = frozenset({"builtins.Exception", "builtins.BaseException"})
#: Ways of being called whose exceptions come to the caller.
_UP: Final = BY_CODE | {How.CALLBACK}
#: So many calls up a handler is looked for.
_LEVELS: Final = 5


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A handler around a call of the function: what it catches, and whether it looks at what it caught.

    `tests`: it is a test that expects the exception.
    """

    caught: frozenset[Obj]
    place: tuple[str, int]
    reads: bool
    tests: bool = False

    @property
    def evidence(self) -> Evidence:
        """Where it stands."""
        return Evidence(f"a {'test expects' if self.tests else 'caller handles'} it here", *self.place)


def scan(function: FunctionView) -> Iterator[Hit]:
    """Each `raise` in the extent whose exception some caller handles by its class, or whose text it reads."""
    waiting = list(dict.fromkeys(_waiting(function)))
    if not waiting:
        return
    extents = function.project.extents
    extent = extents.without_bodies(extents.of_all(function.frames))
    raisers = function.project.shared("raisers", lambda: Raisers(function.project))
    yield from _explicit(raisers, extent, waiting)
    yield from _implicit(raisers, extent, waiting)


def _explicit(raisers: Raisers, extent: int, waiting: list[_Waiting]) -> Iterator[Hit]:
    """What `raise` statements raise."""
    seen: set[tuple[str, int]] = set()
    for frame in raisers.explicit(extent):
        for position, value in raisers.raised(frame):
            place = (frame.code.path, position)
            if place in seen:
                continue
            for raised in value:
                handler = next((h for h in waiting if fits(h.caught, raised)), None)
                why = _why(raised, handler) if handler is not None else ""
                if handler is not None and why:
                    seen.add(place)
                    message = f"raises {named(raised)}, {why}"
                    here = Evidence(message, place[0], place[1] >> 16)
                    yield Hit(place[1], message, path=place[0], evidence=(here, handler.evidence))
                    break


def _implicit(raisers: Raisers, extent: int, waiting: list[_Waiting]) -> Iterator[Hit]:
    """What Python and TensorFlow raise by themselves: the likeliest place for each handler."""
    views = raisers.implicit(extent)
    explained = bool(views) and raisers.fail_by_value(extent)
    for handler in waiting:
        told: dict[tuple[str, str, bool], str] = {}  # by what tells failures apart for a handler
        found: list[tuple[FrameView, Failure, str]] = []
        for view in views:
            for each in failures(view):
                kind = (each.eager, each.graph, each.certain)
                why = told.get(kind)
                if why is None:
                    why = told[kind] = _differs(each, handler, waiting, explained)
                if why and not _caught_inside(view, each):
                    found.append((view, each, why))
        certain = [each for each in found if each[1].certain]
        for view, failure, why in (certain or found)[:1]:
            message = f"raises `{failure.eager.rpartition('.')[2]}` ({failure.said}), {why}"
            here = Evidence(message, view.code.path, failure.position >> 16)
            yield Hit(failure.position, message, path=view.code.path, evidence=(here, handler.evidence))


def _differs(failure: Failure, handler: _Waiting, waiting: list[_Waiting], explained: bool) -> str:
    """How a handler is met by something else than in eager code; empty where it isn't."""
    if not fits(handler.caught, lib(failure.eager)):
        return ""
    by_class = not names_of(handler.caught) & _GENERIC
    same = [each.caught for each in waiting if each.place == handler.place]
    fooled = by_class and failure.eager != failure.graph and not any(fits(c, lib(failure.graph)) for c in same)
    if fooled and (failure.eager != INVALID or failure.certain or not explained):
        name = "StagingError" if failure.graph in _GENERIC else failure.graph.rpartition(".")[2]
        return f"which comes out of a graph as `{name}`"
    if handler.reads and failure.certain and failure.eager != INVALID:
        return "whose text is another when it comes out of a graph"
    return ""


def _caught_inside(view: FrameView, failure: Failure) -> bool:
    """Whether the function itself handles an error there."""
    if not index_of(view.code).of(ir.Try):
        return False
    error = lib(failure.eager)
    for site in control(view).structure.sites:
        if site.instr.position != failure.position or isinstance(site.instr, ir.Try):
            continue
        for outer, part in site.around():
            if isinstance(outer.instr, ir.Try) and part == "body":
                for handler in outer.instr.handlers:
                    caught = frozenset(classes_in(view.value(handler.type_slot)))
                    if not caught or fits(caught, error):
                        return True
    return False


def _why(raised: Obj, handler: _Waiting) -> str:
    """How the exception that the caller gets is another one; empty where the handler can't tell."""
    by_class = not names_of(handler.caught) & _GENERIC
    if not is_kept(raised) and (by_class or handler.reads):
        return "which comes out of a graph as a `StagingError`"
    return "whose text is another when it comes out of a graph" if handler.reads else ""


def _waiting(function: FunctionView) -> Iterator[_Waiting]:
    """The handlers around the calls of a function, and around the calls of its callers."""
    project = function.project
    todo = [(caller, pos) for caller, pos, _ in function.called_by(_UP)]
    seen = set(todo)
    for level in range(_LEVELS):
        above: list[tuple[Frame, int]] = []
        for caller, pos in todo:
            view = FrameView(project, caller)
            if index_of(caller.code).of(ir.Try):
                yield from _around(view, pos)
            for each in expected(view, pos):
                caught = frozenset(classes_in(each.classes))
                yield _Waiting(caught, (caller.code.path, each.line), each.literal, True)
            further = [call for call in calls_to(caller, _UP) if call not in seen] if level < _LEVELS - 1 else []
            seen.update(further)
            above += further
        todo = above


def _around(view: FrameView, pos: int) -> Sequence[_Waiting]:
    return view.project.shared(("handlers", view.frame), lambda: _handlers(view)).get(pos, ())


def _handlers(view: FrameView) -> dict[int, list[_Waiting]]:
    """The handlers around each position of a frame."""
    found: dict[int, list[_Waiting]] = {}
    known: dict[int, list[_Waiting]] = {}  # by `try` statement
    for site in control(view).structure.sites:
        if isinstance(site.instr, ir.Try):
            continue
        for outer, part in site.around():
            if isinstance(outer.instr, ir.Try) and part == "body":
                made = known.get(id(outer))
                if made is None:
                    made = known[id(outer)] = [_of(view, outer, each) for each in outer.instr.handlers]
                found.setdefault(site.instr.position, []).extend(made)
    return found


def _of(view: FrameView, site: Site, handler: ir.Handler) -> _Waiting:
    caught = classes_in(view.value(handler.type_slot))
    return _Waiting(frozenset(caught), (view.code.path, site.instr.position >> 16), _reads(view, handler))


def _reads(view: FrameView, handler: ir.Handler) -> bool:
    """Whether the text, the arguments or the class of what was caught is kept, rather than shown."""
    if handler.caught < 0:
        return False
    for use in uses(view, handler.caught):
        if isinstance(use, ir.Attr) and not use.name.startswith("_") and use.name != "with_traceback":
            return True
        if isinstance(use, ir.Call) and {"builtins.str", "builtins.repr"} & set(view.names(use.function)):
            return _is_kept_text(view, use.target)
    return False


def _is_kept_text(view: FrameView, slot: int) -> bool:
    """Whether a text goes anywhere but into output."""
    for use in uses(view, slot):
        if isinstance(use, ir.Compare) and use.operator in ("in", "not in"):
            continue  # the longer text holds the original one
        names = view.names(use.function) if isinstance(use, ir.Call) else ()
        if not names or not all(n == "builtins.print" or n.startswith(("logging.", "warnings.")) for n in names):
            return True
    return False


RULE = Rule(
    code="HY356",
    name="exception-type",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Raises an exception that a caller handles or a test expects, and that a graph replaces by another one.",
    details="""What is raised while a function is traced is made anew with a longer text. AutoGraph can do that for
the simple built-in exceptions (`ValueError`, `TypeError`, `KeyError`, `RuntimeError` and the like) and for classes that
derive from `Exception` directly and have no `__init__` of their own. Every other one, `IndexError`, `OSError`,
`ZeroDivisionError` and classes with more arguments or bases among them, comes out as a `StagingError`, which the
caller's `except` or a test's `assertRaises` does not catch. The text begins with "in user code", and other attributes
are lost. An operation whose operands' shapes or dtypes don't fit raises `ValueError` or `TypeError` while it is traced,
not `InvalidArgumentError`. Check before the call, or raise a plain `ValueError`.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(a, b):
    return tf.matmul(a, b)
r = []
for n in (2, 3):
    try:
        r.append(target(tf.ones([1, 2]), tf.ones([n, 1])))
    except tf.errors.InvalidArgumentError:
        r.append("no")
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    return x * (1.0 / n)
r = []
for n in (2, 0):
    try:
        r.append(target(tf.constant(1.0), n))
    except ZeroDivisionError:
        r.append("no")
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Mismatch(Exception):
    def __init__(self, want, got):
        super().__init__(f"{want} {got}")
def target(x):
    if x.shape.rank != 1:
        raise Mismatch(1, x.shape.rank)
    return x * 2.0
try:
    target(tf.constant(1.0))
    r1 = "no"
except Mismatch:
    r1 = "yes"
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def pick(xs, k):
    if k >= len(xs):
        raise IndexError(k)
    return xs[k]
def target(x, k):
    return pick([x, x * 2.0], k)
def run(k):
    try:
        return target(tf.constant(1.0), k)
    except LookupError:
        return None
r1 = run(5)
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, mode):
    if mode != "a":
        raise ValueError(mode)
    return x * 2.0
try:
    r1 = target(tf.constant(1.0), "b")
except ValueError as error:
    r1 = str(error)
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import unittest
import tensorflow as tf
def pick(xs, k):
    if k >= len(xs):
        raise IndexError(k)
    return xs[k]
def target(x, k):
    return pick([x, x * 2.0], k)
class PickTest(unittest.TestCase):
    def test_range(self):
        with self.assertRaises(IndexError):
            target(tf.constant(1.0), 5)
PickTest("test_range").test_range()
r1 = target(tf.constant(1.0), 1)
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import unittest
import tensorflow as tf
def target(x, y):
    return tf.reduce_sum(x + y)
test = unittest.TestCase()
test.assertRaises(tf.errors.InvalidArgumentError, target, tf.ones([2]), tf.ones([3]))
r1 = target(tf.ones([2]), tf.ones([2]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import unittest
import tensorflow as tf
def target(x, y, mode="sum"):
    if mode not in ("sum", "mean"):
        raise ValueError(f"unknown mode {mode}")
    return tf.reduce_sum(x + y) if mode == "sum" else tf.reduce_mean(x + y)
test = unittest.TestCase()
with test.assertRaisesRegex(ValueError, "mode other"):
    target(tf.ones([2]), tf.ones([2]), "other")
r1 = target(tf.ones([2]), tf.ones([2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, w):
    y = tf.matmul(x, w)
    return tf.sqrt(tf.debugging.check_numerics(y, "y"))
r = []
for k in (1.0, float("inf")):
    try:
        r.append(target(tf.ones([1, 2]), k * tf.ones([2, 1])))
    except tf.errors.InvalidArgumentError:
        r.append("no")
"""
        ),
        Example(
            """\
import tensorflow as tf
class Wrong(Exception):
    pass
def target(x, mode):
    if mode == "b":
        raise ValueError(mode)
    if mode == "c":
        raise Wrong
    return x * 2.0
r = []
for mode in "abc":
    try:
        r.append(target(tf.constant(1.0), mode))
    except (ValueError, Wrong):
        r.append(None)
"""
        ),
        Example(
            """\
import tensorflow as tf
class Wrong(LookupError):
    pass
def find(x, k):
    if k > 1:
        raise Wrong(k)
    return x * k
def target(x, k):
    try:
        return find(x, k)
    except Wrong:
        return x
r1 = target(tf.constant(1), 0)
r2 = target(tf.constant(1), 2)
"""
        ),
    ),
    reference="semantics.md, Harmless",
)
