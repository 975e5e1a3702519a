"""Objects of libraries that TensorFlow takes for something else, or finds no key of a trace for: measured, as data.

Under 2.15 and 2.21: modules, classes, functions, `functools.partial`, enumerations and their members, dtypes, shapes,
paths, patterns, dates, loggers, files, locks, random generators, models, layers, optimizers, losses, metrics, datasets
and their iterators, strategies, checkpoints and tapes are hashed, and arrive as they are. (Those that are made anew for
each call are traced each time: HY103.) What Python does not hash is HY260's, what is a symbolic tensor HY304's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Inst, Lib, LibInst, Lit, Obj, Tensor, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.calls.passed import Owners
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.views import FrameView, ProjectView

_NO_KEY: Final = "for which TensorFlow finds no trace"
_APART: Final = "which TensorFlow takes apart and cannot make again"
_TENSOR: Final = "which arrives as a tensor of what it holds"
#: Classes of library objects, by the beginning of their canonical name.
_CLASSES: Final[dict[str, str]] = {
    "scipy.sparse.": _NO_KEY,
    "PIL.Image.": _NO_KEY,
    "tf.data.Options": _NO_KEY,
    "tf.data.experimental.ThreadingOptions": _NO_KEY,
    "tf.train.Example": _NO_KEY,
    "tf.train.SequenceExample": _NO_KEY,
    "tf.train.Feature": _NO_KEY,
    "tf.compat.v1.Dimension": _NO_KEY,
    "keras.mixed_precision.Policy": _NO_KEY,
    "weakref.WeakSet": _NO_KEY,
    "ctypes.": _NO_KEY,
    "array.array": _NO_KEY,
    "h5py.": _APART,
    "os.environ": _APART,
    "tf.RaggedTensorSpec": _APART,
    "tf.SparseTensorSpec": _APART,
    "configparser.": _APART,
    "pandas.": _TENSOR,
}
#: Classes of theirs that are hashed and arrive as they are.
_HASHED: Final = ("pandas.Timestamp", "pandas.Timedelta", "pandas.io.", "scipy.sparse.linalg.")
#: What calls give that the analysis keeps no class of.
_MADE: Final[dict[str, tuple[str, str]]] = {
    "builtins.dict.keys": ("the keys of a dict", _NO_KEY),
    "builtins.dict.items": ("the items of a dict", _NO_KEY),
    "types.MappingProxyType": ("a `MappingProxyType`", _APART),
    "builtins.memoryview": ("a `memoryview`", _APART),
    "np.datetime64": ("a date of NumPy", "which no tensor holds"),
}
#: Types of elements of arrays that no tensor holds.
_NO_DTYPE: Final = frozenset({"builtins.object", "np.object_", "np.longdouble", "np.clongdouble", "np.datetime64"})
_NO_DTYPES: Final = ("O", "object", "float128", "complex256", "datetime64", "timedelta64", "M8", "m8")
_MODULE: Final = "tf.Module"


def untraced(project: ProjectView, value: Value) -> Iterator[str]:
    """What a value may be that does not arrive as it is: predicates without their subject."""
    for obj in value:
        name = obj.cls if isinstance(obj, LibInst) else obj.name if isinstance(obj, Lib) else ""
        if name and not name.startswith(_HASHED):
            why = next((why for known, why in _CLASSES.items() if name.startswith(known)), None)
            if why is not None and (isinstance(obj, LibInst) or name == "os.environ"):
                yield f"is a `{name}`, {why}"
        elif isinstance(obj, Container) and obj.kind == "dict" and _is_tracked(project, obj):
            yield f"is a dict that a module keeps in a field, {_APART} under some versions"


def _is_tracked(project: ProjectView, obj: Obj) -> bool:
    """Whether a layer, model or `tf.Module` has a dict in a field: it wraps it so as to find variables in it."""
    owners: Owners = project.shared("owners", lambda: Owners(project.solution))
    return any(isinstance(o, Inst) and _MODULE in registry.mro_names(o) for o in owners.of(obj))


def made_untraced(view: FrameView, slot: int) -> str | None:
    """The same of an argument by the call that makes it, in the frame of the caller."""
    made = index_of(view.code).source(slot)
    if not isinstance(made, ir.Call):
        return None
    for name in view.names(made.function):
        if name in _MADE:
            said, why = _MADE[name]
            return f"is {said}, {why}"
    dtypes = view.value(next((each for key, each in made.keywords if key == "dtype"), -1))
    is_array = any(isinstance(o, Tensor) and o.kind == NDARRAY for o in view.value(slot))
    for obj in dtypes if is_array else ():
        named = isinstance(obj, Lib) and obj.name in _NO_DTYPE
        texted = isinstance(obj, Lit) and isinstance(obj.const, str) and obj.const.startswith(_NO_DTYPES)
        if named or texted:
            return "is an array of a type that no tensor holds"
    return None
