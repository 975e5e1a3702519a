"""What XLA makes of traced code: what it refuses, and the checks and values that are lost under it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from hybridize.domain.objects import Lit, Prim, Stream, Tensor
from hybridize.facts.origins import call_at
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.library.tensorflow.xla import BEGINNINGS, CHANGED, DIVISION, REFUSED, REFUSED_MODULES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, ProjectView

_METHODS: Final = ("tf.lookup.", "tf.queue.")
_INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DIVIDES: Final = "under XLA an integer division by zero does not fail"
_INTEGER_CHECKS: Final = {"//": _DIVIDES, "%": _DIVIDES, "**": "under XLA a negative power of integers does not fail"}
#: Assertions on what tracing knows: they fail then, under XLA too.
_OF_TYPES: Final = frozenset(
    "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_type assert_shapes assert_same_float_dtype "
    "assert_proper_iterable assert_integer".split()
)
_FOLDED: Final = frozenset({"tf.rank", "tf.constant"})
#: Operations whose results are positions in what they are given, or bounded.
_POSITIONS: Final = frozenset(
    "tf.argsort tf.math.top_k tf.nn.top_k tf.argmax tf.argmin tf.math.argmax tf.math.argmin tf.where tf.clip_by_value "
    "tf.image.non_max_suppression".split()
)
_ROWS: Final = frozenset({"value_rowids", "nested_value_rowids"})
_PASSES_ON: Final = frozenset(
    "tf.cast tf.reshape tf.squeeze tf.expand_dims tf.identity tf.transpose tf.tile tf.reverse".split()
)
_FAR: Final = 8


def unsupported(project: ProjectView, frames: Iterable[Frame]) -> Iterator[tuple[str, int, str]]:
    """What some traced frames run that XLA has no kernel for: path, position, and name."""
    for frame in frames:
        for pos, name in frame.ops.items():
            if name in REFUSED or name.startswith(REFUSED_MODULES):
                yield frame.code.path, pos, name
        for pos, name in _hidden(FrameView(project, frame)):
            yield frame.code.path, pos, name


def _hidden(view: FrameView) -> Iterator[tuple[int, str]]:
    """Methods of tables and queues, and loops over datasets."""
    for instr in index_of(view.code).flat:
        if isinstance(instr, ir.Iter) and any(isinstance(o, Stream) and o.is_data for o in view.value(instr.source)):
            yield instr.position, "a loop over a dataset"
        elif isinstance(instr, ir.Call):
            for name in view.names(instr.function):
                if name.startswith(_METHODS):
                    yield instr.position, name


def drops(frame: Frame) -> Iterator[tuple[int, str, bool]]:
    """What a frame runs that XLA drops or changes: position, sentence, whether results surely get lost."""
    for pos, name in frame.ops.items():
        key = name if name in CHANGED else next((b for b in BEGINNINGS if name.startswith(b)), "")
        if key and not _is_settled(frame, pos, name):
            yield pos, CHANGED[key].format(name.removeprefix("tensor.variable")), False
    for instr in index_of(frame.code).flat:
        if isinstance(instr, ir.Binary) and instr.operator in _INTEGER_CHECKS:
            right = frame.vals[instr.right] or ()
            if any(isinstance(o, Tensor) and o.dtype in _INTEGERS for o in right):
                yield instr.position, _INTEGER_CHECKS[instr.operator], False
        elif isinstance(instr, ir.Call) and _is_dynamic_array(frame, instr.position):
            yield instr.position, "XLA loses what is written to a `TensorArray` of dynamic size", True


def _is_settled(frame: Frame, pos: int, name: str) -> bool:
    """Whether tracing checks by itself what a run then cannot miss, or an index is in range by its making."""
    call = call_at(frame.code, pos)
    if call is None:
        return False
    if name.startswith("tf.debugging."):
        check = name.rpartition(".")[2]
        compares = check.startswith("assert_") and check != "assert_near"
        return check in _OF_TYPES or (compares and all(_is_known(frame, slot) for slot, _ in call.arguments))
    if CHANGED.get(name) == DIVISION:
        divisor = argument(call, 1, "y")
        return divisor >= 0 and _is_nonzero(frame, divisor)
    indices = argument(call, 1, "indices")
    if name not in ("tf.gather", "tf.gather_nd") or indices < 0:
        return False
    return _is_in_range(frame, indices) or _is_counted(frame, indices)


def _is_nonzero(frame: Frame, slot: int) -> bool:
    """Whether a divisor is a Python number other than zero."""
    found = frame.vals[slot] or ()
    return bool(found) and all(isinstance(o, Lit) and bool(o.const) for o in found)


def _is_counted(frame: Frame, slot: int) -> bool:
    """Whether an index is a Python number, or a list of such: it is the same in eager code, where it would fail."""
    found = {inner for o in frame.vals[slot] or () for inner in ([o] if not parts(o) else frozenset().union(*parts(o)))}
    return bool(found) and all(isinstance(o, (Lit, Prim)) for o in found)


def _is_known(frame: Frame, slot: int) -> bool:
    """Whether a value is no tensor, or one that tracing folds."""
    made = index_of(frame.code).definitions.get(slot)
    if isinstance(made, ir.Call) and frame.ops.get(made.position) in _FOLDED:
        return True
    return not any(isinstance(o, Tensor) for o in frame.vals[slot] or ())


def _is_in_range(frame: Frame, slot: int) -> bool:
    """Whether an index was made by what orders, finds or clips positions."""
    known = index_of(frame.code).definitions
    for _ in range(_FAR):
        made = known.get(slot)
        if made is None:
            return False
        if isinstance(made, (ir.Copy, ir.Item, ir.Unpack, ir.Attr)):
            slot = made.owner if isinstance(made, ir.Attr) else made.source
            continue
        if not isinstance(made, ir.Call):
            return False
        function = known.get(made.function)
        method = function.name if isinstance(function, ir.Attr) else ""
        name = frame.ops.get(made.position, "")
        if name in _POSITIONS or method in _ROWS:
            return True
        if name not in _PASSES_ON or not made.arguments:
            return False
        slot = made.arguments[0][0]
    return False


def _is_dynamic_array(frame: Frame, pos: int) -> bool:
    call = call_at(frame.code, pos)
    if call is None or not any(getattr(o, "name", "") == "tf.TensorArray" for o in frame.vals[call.function] or ()):
        return False
    named = dict(call.keywords)
    slot = named.get("dynamic_size", -1)
    return slot >= 0 and any(isinstance(o, Lit) and o.const is True for o in frame.vals[slot] or ())
