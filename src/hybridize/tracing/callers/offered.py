"""What callers that nobody sees may offer, and a graph does not take: arrays of another dtype, a second optimizer.

`tf.convert_to_tensor(x, dtype=tf.float32)` takes float64 arrays, whole numbers and lists in eager code. In a graph the
array is a float64 tensor already, which is not converted: it raises. That an author writes the dtype shows that not all
that comes is a tensor of it.

An optimizer makes its variables at its first step, and a graph makes variables at its first trace only: for the second
optimizer that comes as an argument, from the next test, say, TensorFlow raises. (All measured with 2.15 and 2.21.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from hybridize.domain.objects import Tensor, Unknown
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import joined
from hybridize.tracing.callers.unseen import Given
from hybridize.tracing.keras.late import STEPS, is_optimizer
from hybridize.tracing.shapes.meetings import met
from hybridize.tracing.shapes.unified import unifies
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, ProjectView

#: So many names and joins are gone from a conversion to the parameter.
_FAR: Final = 24
_CONVERTS: Final = "tf.convert_to_tensor"
#: Not of the tensor that a graph gets: a question for arrays stands before it, which is answered otherwise there.
_MAKES: Final = "tf.constant"


def refused_offers(project: ProjectView, given: Mapping[Frame, Given]) -> Iterator[Evidence]:
    """What a graph of some frames does not take; `given`: the parameters for which such callers choose."""
    for frame, chosen in given.items():
        places = {frame.code.params[i].slot: i for i in chosen}
        if places:
            yield from _arrays(FrameView(project, frame), places)
            yield from _optimizers(FrameView(project, frame), places)


def _arrays(view: FrameView, places: Mapping[int, int]) -> Iterator[Evidence]:
    """Conversions of what comes, as it comes."""
    for call in index_of(view.code).of(ir.Call):
        for slot, asked in _converted(view, call):
            dtypes = {dtype for dtype in asked if dtype is not None}
            if dtypes and _may_be_other(view, slot, dtypes):
                for i in _passed(view, slot, places):
                    name = view.code.params[i].name
                    said = f"converts `{name}` to {min(dtypes)}, as a graph does with no array of another dtype"
                    yield Evidence(said, view.code.path, call.position >> 16)


def _converted(view: FrameView, call: ir.Call) -> Iterator[tuple[int, Set[str | None]]]:
    """What a call converts to which dtypes, unless it ends there whatever comes."""
    names = {_CONVERTS, _MAKES}.intersection(view.names(call.function))
    if names and unifies(view, call.position):
        return
    if _CONVERTS in names:
        yield from ((meeting.slot, meeting.dtypes) for meeting in met(view, call))
    elif _MAKES in names and argument(call, 1, "dtype") >= 0:
        yield argument(call, 0, "value"), {o.dtype for o in view.value(call.target) if isinstance(o, Tensor)}


def _may_be_other(view: FrameView, slot: int, dtypes: set[str]) -> bool:
    """Whether an array of another dtype may be converted: all that is known does not say that none is."""
    return any(
        isinstance(o, Unknown) or (isinstance(o, Tensor) and (o.dtype not in dtypes or o.kind != NDARRAY))
        for o in view.value(slot)
    )


def _passed(view: FrameView, slot: int, places: Mapping[int, int]) -> Iterator[int]:
    """The parameters that a slot holds as they came."""
    for each, made in index_of(view.code).upstream([slot], joined, _FAR):
        if made is None and each in places:
            yield places[each]


def _optimizers(view: FrameView, places: Mapping[int, int]) -> Iterator[Evidence]:
    """Steps of optimizers that come as arguments."""
    index = index_of(view.code)
    for read in index.of(ir.Attr):
        i = places.get(index.original(read.owner), -1) if read.name in STEPS else -1
        if i >= 0 and any(isinstance(o, Unknown) or is_optimizer(view.project, o) for o in view.frame.args[i]):
            said = f"makes the variables of `{view.code.params[i].name}`, which others pass: not for the next one"
            yield Evidence(said, view.code.path, read.position >> 16)
