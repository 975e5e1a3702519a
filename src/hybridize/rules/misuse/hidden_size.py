"""HY274: a static size is read that the signature, or relaxed retracing, hides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE_V, LibInst, Lit, Value
from hybridize.facts.functions.static_reads import StaticReads
from hybridize.library.dialect import SIZE_QUESTIONS
from hybridize.library.tensorflow.specs import is_spec, left_open, signature_items
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import is_true, option
from hybridize.tracing.keras.layers import is_made
from hybridize.tracing.views import FunctionView

#: AutoGraph makes a tensor of the `len` of an open size; where it is off, `len` raises for known sizes, too.
_ASKED: Final = SIZE_QUESTIONS - {"builtins.len"}


def scan(function: FunctionView) -> Iterator[Hit]:
    """What the decorator leaves open, against the sizes that the traced extent reads."""
    if not function.is_hybrid:
        return
    yield from _built(function)
    # Where there is a signature nothing is left to relax.
    signed = option(function, "input_signature") - NONE_V
    relaxed = not signed and is_true(
        option(function, "reduce_retracing") | option(function, "experimental_relax_shapes")
    )
    shapes = _open_shapes(function)
    if not shapes and not relaxed:
        return
    found = StaticReads(function.project.symbolic, _ASKED).conflicts(
        function.frames,
        any_rank=None in shapes,
        any_batch=any(shape and shape[0] < 0 for shape in shapes),
        last_known=not relaxed and all(shape and (len(shape) < 2 or shape[-1] >= 0) for shape in shapes),
        sure=True,
    )
    what = "the signature leaves open" if shapes else "relaxed retracing makes unknown"
    told: set[tuple[str, int]] = set()
    for read, position in found:
        if (read.path, position) not in told:
            told.add((read.path, position))
            # What is read of another tensor, or only handed on, works in most programs: their authors ran them.
            level = Level.WARNING if _is_number_needed(function, read.path, position, relaxed) else Level.INFO
            yield Hit(position, f"{read.message}, which {what}: it is None here", path=read.path, level=level)


def _is_number_needed(function: FunctionView, path: str, position: int, relaxed: bool) -> bool:
    """Whether a size of a parameter itself is read to be counted to or computed with, which None cannot be.

    With a signature a size that it surely leaves open: one that only some calls or settings leave open is none.
    """
    index = index_of(function.code)
    specs = {} if relaxed else _specs(function)
    params = {param.slot for param in function.code.params} if relaxed else specs.keys()
    for read in index.at(position) if path == function.code.path else ():
        if isinstance(read, ir.Attr) and read.name == "shape" and index.original(read.owner) in params:
            items = [
                use for use in index.uses.get(read.target, ()) if isinstance(use, ir.Item) and use.source == read.target
            ]
            spec = specs.get(index.original(read.owner))
            items = [item for item in items if spec is None or _is_open(function, spec, item.index)]
            return any(_counts(index, use) for item in items for use in index.uses.get(item.target, ()))
    return False


def _is_open(function: FunctionView, spec: Value, slot: int) -> bool:
    """Whether a spec gives None, and nothing else, for the size that an index names."""
    shapes = [cell.value for o in spec if isinstance(o, LibInst) and (cell := o.fields.get("shape")) is not None]
    dims = [signature_items(shape) for shape in shapes]
    if not dims:
        return True  # a spec of any rank
    places = [o.const for view in function.views() for o in view.value(slot) if isinstance(o, Lit)]
    if not places or not all(isinstance(place, int) for place in places):
        return False
    return all(
        items is not None and all(-len(items) <= at < len(items) and items[at] == NONE_V for at in places)
        for items in dims
    )


def _specs(function: FunctionView) -> dict[int, Value]:
    """By the slot of a parameter the spec that the signature has for it."""
    items = signature_items(option(function, "input_signature")) or []
    params = [p for p in function.code.params if p.by_place]
    if function.facts.kind.value == "method":
        params = params[1:]
    return {param.slot: item for param, item in zip(params, items, strict=False) if is_spec(item)}


def _counts(index: Index, use: Instr) -> bool:
    """Whether an instruction raises for None: arithmetic, `range`."""
    if isinstance(use, ir.Call):
        called = index.source(use.function)
        return isinstance(called, ir.Global) and called.name == "range"
    return isinstance(use, ir.Operator)


def _built(function: FunctionView) -> Iterator[Hit]:
    """Layers that are to make their weights for a last axis that the signature leaves open."""
    specs = _specs(function).items()
    shapes = {slot: [left_open(o) for o in item if isinstance(o, LibInst)] for slot, item in specs}
    slots = {slot for slot, found in shapes.items() if any(shape and shape[-1] < 0 for shape in found)}
    for view in function.views() if slots else ():
        index = index_of(view.code)
        for instr in index.of(ir.Call):
            given = instr.arguments[0][0] if instr.arguments and not instr.arguments[0][1] else -1
            if index.original(given) in slots and any(is_made(function.project, o) for o in view.value(instr.function)):
                yield Hit(
                    instr.position,
                    "builds a layer for the last axis, which the signature leaves open",
                    level=Level.ERROR,
                )


def _open_shapes(function: FunctionView) -> list[tuple[int, ...] | None]:
    """The shapes of the signature with an unknown size, None for one of unknown rank."""
    items = signature_items(option(function, "input_signature")) or []
    specs = [o for item in items if is_spec(item) for o in item if isinstance(o, LibInst)]
    shapes = [left_open(spec) for spec in specs]
    return [shape for shape in shapes if shape is None or any(dim < 0 for dim in shape)]


RULE = Rule(
    code="HY274",
    name="hidden-size",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="Reads a static size or rank that the signature leaves open, or that relaxed retracing makes unknown.",
    details="""Where an `input_signature` says None, or `reduce_retracing` has given up on a size, `x.shape[i]`
is None in the trace: arithmetic and `range` on it raise, a comparison is silently False. `tf.shape(x)[i]` is
the size of the call, and so is `len(x)` where AutoGraph converts it. Give the size in the signature, or read it by
`tf.shape`. It is a warning where a size of an argument is counted to or computed with, and information where it is
handed on or read of another tensor.""",
    level=Level.WARNING,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def target(x):
    return tf.reshape(x, (x.shape[0] * 2,))
r1 = target(tf.ones((3, 2)))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def target(x):
    total = tf.constant(0.0)
    for i in range(x.shape[0]):
        total += x[i]
    return total
r1 = target(tf.ones(3)); r2 = target(tf.ones(4)); r3 = target(tf.ones(5))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
dense = tf.keras.layers.Dense(1)
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
def target(x):
    return dense(x)
r1 = target(tf.ones([2, 3]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
dense = tf.keras.layers.Dense(1)
dense.build([None, 3])
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
def target(x):
    return dense(x)
r1 = target(tf.ones([2, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def target(x):
    return tf.reshape(x, (tf.shape(x)[0] * 2,))
r1 = target(tf.ones((3, 2)))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def target(x):
    return tf.reduce_sum(x) * x.shape[1]
r1 = target(tf.ones((3, 2)))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def target(x):
    return tf.reshape(x, [len(x) * 2])
r1 = target(tf.ones((3, 2)))
"""
        ),
    ),
    known_problems="""Which size an axis of the signature leaves open is not always known: where it is not certain
to be the one that is read, it is information.""",
    reference="semantics.md R18, R19, Issue threads",
)
