"""Where operands must be of one dtype: NumPy arrays give way to tensors there in eager code, and not as tensors.

The tables are measured: `tests/rules/test_array_dtypes.py` asks TensorFlow of each function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Prim, Tensor, Unknown
from hybridize.domain.tensors import NDARRAY, SYMBOLIC
from hybridize.domain.words import COMPARISONS, ELEMENTWISE
from hybridize.library.arguments import positions
from hybridize.library.arithmetic import FAMILIES
from hybridize.library.convert import PYTHON_TF
from hybridize.program import ir
from hybridize.program.operands import arguments
from hybridize.records import dataclass
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView

OPERATORS: Final = ELEMENTWISE | COMPARISONS | {"@"}
_XY: Final = """
    add subtract multiply divide maximum minimum pow greater less greater_equal less_equal equal not_equal truediv
"""
_MATH_XY: Final = f"{_XY} mod floordiv floormod divide_no_nan multiply_no_nan squared_difference xdivy xlog1py xlogy"
_SCATTERS: Final = "update add sub min max"
_CONVOLUTIONS: Final = "conv2d conv2d_transpose conv3d"
#: Functions of two tensors of one dtype that are broadcast or multiplied, with the names of those parameters.
ALIKE: Final = {
    **{f"tf.{name}": ("x", "y") for name in f"{_XY} realdiv truncatediv truncatemod".split()},
    **{f"tf.math.{name}": ("x", "y") for name in _MATH_XY.split()},
    "tf.math.atan2": ("y", "x"),
    "tf.math.scalar_mul": ("scalar", "x"),
    **dict.fromkeys(("tf.linalg.matmul", "tf.tensordot"), ("a", "b")),
    "tf.where": ("", "x", "y"),
    "tf.clip_by_value": ("t", "clip_value_min", "clip_value_max"),
}
#: Other functions whose tensors must have one dtype.
_GROUPS: Final = {
    **ALIKE,
    **dict.fromkeys(("tf.math.igamma", "tf.math.igammac", "tf.math.polygamma"), ("a", "x")),
    "tf.math.zeta": ("x", "q"),
    "tf.math.nextafter": ("x1", "x2"),
    "tf.math.betainc": ("a", "b", "x"),
    "tf.linalg.cross": ("a", "b"),
    **dict.fromkeys(("tf.linalg.solve", "tf.linalg.triangular_solve", "tf.linalg.lstsq"), ("matrix", "rhs")),
    "tf.linalg.cholesky_solve": ("chol", "rhs"),
    "tf.pad": ("tensor", "", "", "constant_values"),
    "tf.linspace": ("start", "stop"),
    **{f"tf.tensor_scatter_nd_{name}": ("tensor", "", "updates") for name in _SCATTERS.split()},
    **{f"tf.nn.{name}": ("input", "filters") for name in _CONVOLUTIONS.split()},
    "tf.nn.bias_add": ("value", "bias"),
}
#: Functions that make a tensor of their first operand before they look at the others: an array there does not give way.
_FIRST_RULES: Final = frozenset(
    "tf.add tf.math.add tf.truediv tf.math.truediv tf.matmul tf.linalg.matmul tf.clip_by_value tf.linalg.lstsq"
    " tf.linspace tf.math.multiply_no_nan".split()
)
#: Functions whose first operand alone gives way.
_FIRST_YIELDS: Final = frozenset({"tf.math.scalar_mul"})
#: Functions that convert each operand for itself: arrays never give way.
_STUBBORN: Final = frozenset({"tf.tensordot", "tf.math.add_n"})
#: Functions of a list of tensors of one dtype.
_LISTS: Final = frozenset(
    {"tf.concat", "tf.stack", "tf.math.add_n", "tf.convert_to_tensor", "builtins.sum"}
    | {f"tf.{where}reduce_{name}" for where in ("", "math.") for name in "sum mean max min prod".split()}
)
#: Functions that convert operands to the dtype of their result.
_CONVERTS: Final = {
    "tf.convert_to_tensor": ("value",),
    **{f"tf.random.{name}": ("", "mean", "stddev") for name in ("normal", "truncated_normal")},
    "tf.random.uniform": ("", "minval", "maxval"),
    "tf.random.gamma": ("", "alpha", "beta"),
}
_WHOLE: Final = frozenset({"int32", "int64"})
_SMALL: Final = _WHOLE | {"int8", "uint8"}
_TRUTH: Final = frozenset({"bool"})
_LOGICAL: Final = "logical_and logical_or logical_xor"
#: Parameters that take some dtypes alone, to which eager code converts arrays.
_ASKED: Final[dict[str, dict[str, frozenset[str]]]] = {
    "tf.one_hot": {"indices": _SMALL, "depth": frozenset({"int32"})},
    "tf.math.top_k": {"k": _WHOLE | {"int16"}},
    **{f"tf.{name}": {"shape": _WHOLE} for name in "zeros ones reshape broadcast_to".split()},
    "tf.fill": {"dims": _WHOLE},
    "tf.tile": {"multiples": _WHOLE},
    "tf.transpose": {"perm": _WHOLE},
    **{f"tf.math.reduce_{name}": {"axis": _WHOLE} for name in "sum mean max min prod any all".split()},
    "tf.expand_dims": {"axis": _WHOLE},
    "tf.reverse": {"axis": _WHOLE},
    "tf.repeat": {"repeats": _SMALL},
    "tf.linspace": {"num": _SMALL},
    "tf.dynamic_partition": {"partitions": frozenset({"int32"})},
    "tf.random.categorical": {"num_samples": frozenset({"int32"})},
    "tf.image.resize": {"size": frozenset({"int32"})},
    "tf.where": {"condition": _TRUTH},
    "tf.cond": {"pred": _TRUTH},
    **{f"tf.math.{name}": {"x": _TRUTH, "y": _TRUTH} for name in _LOGICAL.split()},
    "tf.math.logical_not": {"x": _TRUTH},
}
_EINSUM: Final = frozenset({"tf.einsum"})
_ASSIGN: Final = "tensor.variable.assign"
#: Packages that compute with TensorFlow, and ask for the dtype of tensors that nobody sees.
_PACKAGES: Final = tuple(f"tensorflow_{name}." for name in "probability addons text transform graphics".split())
#: What stands for Python numbers in a set of dtypes.
PYTHON_FLOAT: Final = "python float"
PYTHON_INT: Final = "python int"
_PYTHON: Final = {"float": PYTHON_FLOAT, "int": PYTHON_INT}
_NUMERIC: Final = (*FAMILIES, "bfloat")


@dataclass(frozen=True, slots=True)
class Meeting:
    """An operand that is to be of the dtype of others.

    `others` are the slots of those, `dtypes` what is asked for whatever they are; None stands for an unknown one. Where
    nothing else meets it, it may be one of several dtypes that are asked for (`among`).
    `yields`: an array in this place is converted in eager code; else it becomes a tensor of its own dtype there, too.
    """

    slot: int
    others: tuple[int, ...] = ()
    dtypes: frozenset[str | None] = frozenset()
    among: frozenset[str] = frozenset()
    yields: bool = True


@dataclass(frozen=True, slots=True)
class Clash:
    """An array that becomes a tensor, and meets one of another dtype.

    `array` and `other` are the dtypes (None: not known), `needs` what must be symbolic. One that is not `certain` comes
    with other values, or its dtypes are not all known.
    """

    meeting: Meeting
    needs: int
    array: str | None
    other: str | None
    certain: bool


def asks(name: str) -> bool:
    """Whether a function is one of those that ask for one dtype."""
    listed = any(name in table for table in (_GROUPS, _LISTS, _CONVERTS, _EINSUM, _ASKED))
    return listed or name.startswith(_ASSIGN) or name.startswith(_PACKAGES)


def met(view: FrameView, instr: ir.TwoSided | ir.Call) -> list[Meeting]:
    """What an instruction brings together."""
    if not isinstance(instr, ir.Call):
        return (
            [Meeting(instr.left, (instr.right,)), Meeting(instr.right, (instr.left,))]
            if instr.operator in OPERATORS
            else []
        )
    for name in view.names(instr.function):
        if asks(name):
            return list(_called(view, instr, name))
    return []


def _called(view: FrameView, instr: ir.Call, name: str) -> Iterator[Meeting]:
    if name in _GROUPS:
        slots = [argument(instr, i, p) if p else -1 for i, p in enumerate(_GROUPS[name])]
        yield from _alike(slots, name, _made_first(view, slots[0]) if name in _FIRST_RULES else frozenset())
    for parameter, among in _ASKED.get(name, {}).items():
        slot = slot_of(instr, name, parameter)
        if slot >= 0:
            yield Meeting(slot, among=among)
    if name in _LISTS:
        yield from _alike(_listed(view, argument(instr, 0, "values")), name)
    if name in _EINSUM:
        yield from _alike([slot for slot, starred in instr.arguments[1:] if not starred], name)
    if name.startswith(_PACKAGES):
        for slot in arguments(instr):
            yield Meeting(slot, dtypes=frozenset({None}))
    if name.startswith(_ASSIGN):
        yield Meeting(argument(instr, 0, "value"), (view.receiver(instr.function),))
    if name in _CONVERTS and (name != "tf.convert_to_tensor" or argument(instr, 1, "dtype") >= 0):
        dtypes = frozenset(o.dtype for o in view.value(instr.target) if isinstance(o, Tensor))
        for i, parameter in enumerate(_CONVERTS[name]):
            slot = argument(instr, i, parameter) if parameter else -1
            if slot >= 0:
                yield Meeting(slot, dtypes=dtypes)


def slot_of(instr: ir.Call, name: str, parameter: str) -> int:
    """The slot of a parameter of a library function; -1 where nothing is given for it."""
    place = positions(name).get(parameter, (-1, None))[0]
    return argument(instr, place if place >= 0 else len(instr.arguments), parameter)


def _made_first(view: FrameView, slot: int) -> frozenset[str]:
    """The dtypes of what a function makes of Python numbers in the first place."""
    kinds = (obj.kind for obj in view.value(slot) if isinstance(obj, (Lit, Prim)))
    return frozenset(PYTHON_TF[kind] for kind in kinds if kind in _PYTHON)


def _alike(slots: list[int], name: str, made: frozenset[str] = frozenset()) -> Iterator[Meeting]:
    for i, slot in enumerate(slots):
        others = tuple(other for other in slots if other >= 0 and other != slot)
        if slot >= 0 and others:
            yields = name not in _STUBBORN and (name not in _FIRST_RULES or i > 0)
            asked = made if i > 0 else frozenset[str]()
            yield Meeting(slot, others, asked, yields=yields and (name not in _FIRST_YIELDS or i == 0))


def _listed(view: FrameView, slot: int) -> list[int]:
    """The elements of a list that is written there."""
    made = view.definition(slot)
    if not isinstance(made, ir.Sequence):
        return []
    return [part for part, starred in made.elements if not starred]


def clash(view: FrameView, meeting: Meeting) -> Clash | None:
    """What goes wrong where an operand is an array from outside: a certain clash, or else a possible one."""
    value = view.value(meeting.slot)
    arrays = {o.dtype for o in value if isinstance(o, Tensor) and o.kind == NDARRAY}
    if not arrays:
        return None
    refused = sorted(each for each in arrays if each is not None and each not in meeting.among) if meeting.among else ()
    if refused:
        needs = view.symbolic(meeting.slot)
        return Clash(meeting, needs, refused[0], min(meeting.among), len(arrays) == 1) if needs else None
    others = set(meeting.dtypes)
    for slot in meeting.others:
        others |= dtypes_of(view, slot)
    needs = view.symbolic(meeting.slot) if others else 0
    if not needs:
        return None
    alone = all(isinstance(o, Tensor) and o.kind == NDARRAY and o.dtype for o in value)
    found = None
    for array in sorted(arrays, key=str):
        for other in sorted(others, key=str):
            if _clashes(array, other):
                certain = alone and other is not None
                found = Clash(meeting, needs, array, other, certain)
                if certain:
                    return found
    return found


def _clashes(array: str | None, other: str | None) -> bool:
    """Whether a tensor of an array's dtype may fail with another, which may be that of a Python number."""
    if other == PYTHON_INT:
        return array == "bool"
    if array is None:
        return True
    if other is None:
        return array != "float32"  # what nobody knows is float32 most often
    if other == PYTHON_FLOAT:
        return not array.startswith(("float", "bfloat", "complex"))
    return array != other and array.startswith(_NUMERIC) and other.startswith(_NUMERIC)


def dtypes_of(view: FrameView, slot: int) -> set[str | None]:
    """The dtypes of the tensors in a slot, None for an unknown one; those of arrays only where they become tensors."""
    found: set[str | None] = set()
    for obj in view.value(slot):
        if isinstance(obj, Tensor) and obj.kind != SYMBOLIC:
            if obj.kind != NDARRAY or view.symbolic(slot):
                found.add(obj.dtype)
        elif isinstance(obj, (Lit, Prim)) and obj.kind in _PYTHON:
            found.add(_PYTHON[obj.kind])
        elif isinstance(obj, Unknown):
            found.add(None)
    return found
