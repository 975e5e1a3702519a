"""HY319: handlers for errors that a graph raises only when it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lib, Stream, Tup, Value
from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import NO_SLOT
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source.syntax import walk
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView, FunctionView, position_of

_ANY: Final = frozenset({"builtins.Exception", "builtins.BaseException"})
#: What the end of a dataset raises in a graph, and what that is.
_OF_GRAPHS: Final = _ANY | {"tf.errors.OutOfRangeError", "tf.errors.OpError"}
#: Operations that fail by the values they get, not by shapes.
_FAIL: Final = (
    "tf.debugging.",
    "tf.io.",
    "tf.gather",
    "tf.strings.to_number",
    "tf.linalg.cholesky",
    "tf.linalg.inv",
    "tf.linalg.solve",
    "tf.ensure_shape",
    "tf.image.decode",
    "tf.audio.decode",
)


def scan(view: FrameView) -> Iterator[Hit]:
    """`try` around operations, with a handler that waits for what only the running graph raises."""
    for call in index_of(view.code).of(ir.Call):
        if (
            len(call.arguments) == 2
            and "builtins.next" in view.names(call.function)
            and _dataset(view, call.arguments[0][0])
        ):
            message = "`next` on a dataset's iterator never gives its default in a graph"
            yield Hit(call.position, message, outcome=Outcome.RAISES)
        elif call.arguments and _SUPPRESS in view.names(call.function):
            yield from _suppressed(view, call)
    flow = control(view)
    for statement in index_of(view.code).of(ir.Try):
        site = flow.structure.at(statement)
        caught = _caught(view, statement)
        if not caught or not flow.runs(site):
            continue
        cause = _cause(flow, site, caught)
        if cause is not None:
            handlers = tuple(_handlers(view, statement))
            found = _hit(view, statement.position, *cause, *handlers)
            yield replace(found, level=Level.INFO) if _only_reworded(statement) else found


def _only_reworded(statement: ir.Try) -> bool:
    """Whether every handler ends in raising another error: what fails fails with or without it, in other words."""
    return all(handler.body and isinstance(handler.body[-1], ir.Raise) for handler in statement.handlers)


def _handlers(view: FrameView, statement: ir.Try) -> Iterator[Evidence]:
    """Where the handlers begin that name what they handle."""
    for handler in statement.handlers:
        named = view.definition(handler.type_slot) if handler.type_slot != NO_SLOT else None
        if named is not None:
            yield Evidence("never runs", view.code.path, named.position >> 16)


def _hit(view: FrameView, at: int, position: int, what: str, *handlers: Evidence) -> Hit:
    message = f"handles an error of {what}, which a graph raises only when it runs"
    here = Evidence(message, view.code.path, at >> 16)
    return Hit(at, message, evidence=(here, Evidence(what, view.code.path, position >> 16), *handlers))


def _suppressed(view: FrameView, call: ir.Call) -> Iterator[Hit]:
    """`with contextlib.suppress(...)` around operations: the syntax says what stands in it."""
    caught = set().union(*(_names(view.value(slot)) for slot, _ in call.arguments))
    for node in walk(view.node) if caught and view.node is not None else ():
        if isinstance(node, ast.With) and any(position_of(item.context_expr) == call.position for item in node.items):
            first, last = node.body[0].lineno, node.end_lineno or node.lineno
            inside = (i for i in index_of(view.code).of(ir.Call) if first <= i.position >> 16 <= last)
            cause = next(filter(None, (_failing(view, i, caught) for i in inside)), None)
            if cause is not None:
                yield _hit(view, call.position, *cause)


def ended_outside(function: FunctionView) -> Iterator[Hit]:
    """`next` on a dataset's iterator, and a caller that waits for `StopIteration`."""
    calls = index_of(function.code).of(ir.Call)
    nexts = [(view, instr) for view in function.views() for instr in calls if _is_next(view, instr)]
    for caller, pos, _ in function.called_by() if nexts else ():
        if not _waits(control(FrameView(function.project, caller)), pos):
            continue
        for view, instr in nexts:
            message = "`next` at the end of a dataset raises `OutOfRangeError` in a graph"
            here = Evidence(message, view.code.path, instr.position >> 16)
            waits = Evidence("the caller handles `StopIteration`", caller.code.path, pos >> 16)
            yield Hit(instr.position, message, evidence=(here, waits), level=Level.ERROR, outcome=Outcome.RAISES)
        return


def _is_next(view: FrameView, instr: ir.Call) -> bool:
    """Whether an instruction is `next(it)` on a dataset's iterator."""
    if len(instr.arguments) != 1 or "builtins.next" not in view.names(instr.function):
        return False
    return _dataset(view, instr.arguments[0][0])


def _waits(flow: Control, pos: int) -> bool:
    """Whether a call stands in a `try` that handles `StopIteration`, and none that handles what graphs raise."""
    tries = [
        outer.instr
        for site in flow.structure.of(ir.Call)
        if site.instr.position == pos
        for outer, part in site.around()
        if isinstance(outer.instr, ir.Try) and part == "body"
    ]
    caught = set[str]().union(*(_caught(flow.view, statement) for statement in tries))
    return "builtins.StopIteration" in caught and caught.isdisjoint(_OF_GRAPHS)


def _dataset(view: FrameView, slot: int) -> bool:
    return any(isinstance(o, Stream) and o.is_data for o in view.value(slot))


def _caught(view: FrameView, statement: ir.Try) -> set[str]:
    found: set[str] = set()
    for handler in statement.handlers:
        found |= {"builtins.Exception"} if handler.type_slot == NO_SLOT else _names(view.value(handler.type_slot))
    return found


def _names(value: Value) -> set[str]:
    found: set[str] = set()
    for obj in value:
        if isinstance(obj, Lib):
            found.add(obj.name)
        elif isinstance(obj, Tup):
            for item in obj.items:
                found |= _names(item)
    return found


def _cause(flow: Control, site: Site, caught: set[str]) -> tuple[int, str] | None:
    for inner in flow.structure.within(site):
        part = next(p for outer, p in inner.around() if outer is site)
        cause = (
            _failing(flow.view, inner.instr, caught) if part == "body" and isinstance(inner.instr, ir.Call) else None
        )
        if cause is not None:
            return cause
    return None


def _failing(view: FrameView, call: ir.Call, caught: set[str]) -> tuple[int, str] | None:
    """A call of something that raises one of the errors when a graph runs."""
    of_tensorflow = any(name.startswith("tf.errors.") for name in caught)
    names = view.names(call.function)
    position = call.position
    ends = "builtins.next" in names and any(_dataset(view, slot) for slot, _ in call.arguments[:1])
    if ends and caught & (_ANY | {"builtins.StopIteration"}):
        return position, "`next` at the end of a dataset"
    failing = [n for n in names if n.startswith(_FAIL)]
    if failing and (of_tensorflow or caught & _ANY):
        return position, f"`{failing[0]}`"
    if of_tensorflow and position in view.frame.ops:
        return position, f"`{names[0] if names else 'an operation'}`"
    return None


_SUPPRESS: Final = "contextlib.suppress"


RULE = Rule(
    code="HY319",
    name="caught-tensor-error",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    level=Level.WARNING,
    summary="Handles an error that operations raise only when the graph runs.",
    details="""`try` in a traced function guards the tracing, not the graph that comes of it. An operation that
fails by the values it gets (`tf.debugging.assert_*`, reading a file, the end of a dataset's iterator) fails
when the graph runs: the handler never does, and the error reaches the caller, the end of an iterator as
`OutOfRangeError`. Put the `try` around the call of the hybrid function. Handlers for errors of Python's and of
static shapes work.""",
    frame=scan,
    codes=lambda code: not index_of(code).by_operation.keys().isdisjoint((ir.Call, ir.Try)),
    root=ended_outside,
    bare=True,
    bad=(
        Example(
            """\
import contextlib
import tensorflow as tf
def target(x, i):
    y = tf.zeros([])
    with contextlib.suppress(tf.errors.InvalidArgumentError):
        y = tf.gather(x, i)
    return y
r1 = target(tf.constant([1.0, 2.0]), tf.constant(1))
r2 = target(tf.constant([1.0, 2.0]), tf.constant(7))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    try:
        tf.debugging.assert_positive(x)
        return x
    except tf.errors.InvalidArgumentError:
        return -x
r1 = target(tf.constant(-3.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
numbers = iter(tf.data.Dataset.range(1))
def target(x):
    try:
        return x + next(numbers)
    except StopIteration:
        return x
r1 = target(tf.constant(3, tf.int64))
r2 = target(tf.constant(3, tf.int64))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, options):
    try:
        scale = options["scale"]
    except KeyError:
        scale = 2.0
    return x * scale
r1 = target(tf.constant(3.0), {})
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    try:
        y = x * 2
    finally:
        z = x
    return y + z
r1 = target(tf.constant(3.0))
"""
        ),
    ),
    reference="semantics.md R6, R12",
)
