"""Arguments that a function converts to a dtype of its choice: arrays of any dtype, as long as they are no tensors yet.

`tf.convert_to_tensor(x, dtype=tf.float32)` takes float64 arrays, whole numbers and lists in eager code. In a graph the
array is a float64 tensor already, which is not converted: it raises. That an author writes the dtype shows that not all
that comes is a tensor of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hybridize.domain.objects import Tensor, Unknown
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.meetings import met
from hybridize.tracing.unseen import Given
from hybridize.tracing.views import FrameView, ProjectView

#: So many names and joins are gone from a conversion to the parameter.
_FAR: Final = 24
_CONVERTS: Final = "tf.convert_to_tensor"


def recast_arrays(project: ProjectView, given: Mapping[Frame, Given]) -> Iterator[Evidence]:
    """The conversions of what callers that nobody sees pass to functions as it comes; `given`: their parameters."""
    for frame, chosen in given.items():
        places = {frame.code.params[i].slot: i for i in chosen}
        view = FrameView(project, frame)
        for call in index_of(frame.code).of(ir.Call) if places else ():
            if _CONVERTS not in view.names(call.function):
                continue
            for meeting in met(view, call):
                dtypes = {dtype for dtype in meeting.dtypes if dtype is not None}
                for i in _passed(frame, meeting.slot, places) if _may_be_other(view, meeting.slot, dtypes) else ():
                    name = frame.code.params[i].name
                    said = f"converts `{name}` to {min(dtypes)}, as a graph does with no array of another dtype"
                    yield Evidence(said, frame.code.path, call.position >> 16)


def _may_be_other(view: FrameView, slot: int, dtypes: set[str]) -> bool:
    """Whether an array of another dtype may be converted: all that is known does not say that none is."""
    return bool(dtypes) and any(
        isinstance(o, Unknown) or (isinstance(o, Tensor) and (o.dtype not in dtypes or o.kind != NDARRAY))
        for o in view.value(slot)
    )


def _passed(frame: Frame, slot: int, places: Mapping[int, int]) -> Iterator[int]:
    """The parameters that a slot holds as they came."""
    for each, made in index_of(frame.code).upstream([slot], _same, _FAR):
        if made is None and each in places:
            yield places[each]


def _same(made: ir.Instr) -> tuple[int, ...]:
    return tuple(slot for _, slot in made.incoming) if isinstance(made, ir.Phi) else ()
