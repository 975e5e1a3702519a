"""What an array among the arguments is in a graph: a tensor, whose methods, dtype and shape are TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import arguments
from hybridize.tracing.shapes.classes import kinds_of
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView

#: What arrays have and tensors have not.
OF_ARRAYS: Final = frozenset(
    "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj conjugate copy ctypes "
    "cumprod cumsum data diagonal dot dump dumps fill flags flat flatten getfield imag item itemsize mT max mean min "
    "nbytes newbyteorder nonzero partition prod ptp put ravel real repeat reshape resize round searchsorted setfield "
    "setflags size sort squeeze std strides sum swapaxes take tobytes tofile tolist tostring trace transpose var "
    "view".split()
)
#: What NumPy's dtypes have and TensorFlow's have not.
OF_DTYPES: Final = frozenset(
    "alignment base byteorder char descr fields flags hasobject isalignedstruct isbuiltin isnative itemsize kind "
    "metadata names ndim newbyteorder num shape str subdtype type".split()
)
#: What a tuple has and a `tf.TensorShape` has not.
OF_TUPLES: Final = frozenset({"count", "index"})
#: Functions whose answers are other ones for TensorFlow's.
ANSWERED: Final = frozenset({"builtins.isinstance", "builtins.str", "builtins.repr", "builtins.format"})
#: What makes an array of another dtype.
_CAST: Final = "tensor.ndarray.astype"
#: The slot of what the dtype (or shape) is of, what is done with it, whether that raises (else it differs).
Asked: TypeAlias = "tuple[int, str, bool]"


def array_mask(view: FrameView, slot: int) -> int:
    """The mask of a slot that holds an array of which tracing makes a tensor."""
    if any(isinstance(o, Tensor) and o.kind == NDARRAY for o in view.value(slot)) and not _reads_tensor(view, slot):
        return view.symbolic(slot)
    return 0


def _reads_tensor(view: FrameView, slot: int) -> bool:
    """Whether an array is the result of a call that reads a tensor, which is reported itself."""
    made = view.definition(slot)
    return isinstance(made, ir.Call) and not view.callees(made.position)


def of_numpy(name: str) -> bool:
    """Whether a function takes NumPy's dtypes, and none of TensorFlow's."""
    return name.startswith("np.") or name == _CAST


def owner_of(view: FrameView, slot: int, part: str = "dtype") -> int:
    """The slot of `x` where another one holds `x.dtype` (or `x.shape`); -1 elsewhere."""
    made = index_of(view.code).source(slot)
    return made.owner if isinstance(made, ir.Attr) and made.name == part else -1


def asked_by_attribute(view: FrameView, instr: ir.Attr) -> Iterator[Asked]:
    """`x.dtype.kind`, `x.shape.index(3)`."""
    part = "shape" if instr.name in OF_TUPLES else "dtype"
    owner = owner_of(view, instr.owner, part)
    if owner >= 0:
        yield owner, f"uses `.{instr.name}` of the {part} of", True


def asked_by_call(view: FrameView, instr: ir.Call) -> Iterator[Asked]:
    """`np.zeros(3, x.dtype)`, `isinstance(x.shape, tuple)`, `str(x.dtype)`."""
    names = view.names(instr.function)
    name = next((name for name in names if of_numpy(name) or name in ANSWERED), None)
    if name is None:
        return
    if name == "builtins.isinstance":
        kinds = kinds_of(view.value(argument(instr, 1)))
        for part, kind in (("dtype", "np.dtype"), ("shape", "builtins.tuple")):
            owner = owner_of(view, argument(instr, 0), part) if kind in kinds else -1
            if owner >= 0:
                yield owner, f"asks for the class of the {part} of", False
        return
    if name in ANSWERED and not _is_looked_at(view, instr.target):
        return
    said, raises = f"gives `{name}` the dtype of", of_numpy(name)
    yield from ((owner, said, raises) for slot in arguments(instr) if (owner := owner_of(view, slot)) >= 0)


def _is_looked_at(view: FrameView, slot: int) -> bool:
    """Whether a text is compared, looked up or asked for a part, and no mere part of a message."""
    index = index_of(view.code)
    asked = [each.owner for each in index.of(ir.Attr)] + [each.index for each in index.of(ir.Item)]
    asked += [side for each in index.of(ir.Compare) for side in (each.left, each.right)]
    return any(index.original(each) == slot for each in asked)
