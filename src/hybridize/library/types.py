"""Which Python and library types abstract objects are instances of."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import (
    Bound,
    Class,
    Container,
    Func,
    Inst,
    LibInst,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Wrapper,
)
from hybridize.library import registry

_PYTHON: Final[dict[str, frozenset[str]]] = {
    "int": frozenset({"int", "numbers.Number", "numbers.Integral", "numbers.Real", "typing.Hashable"}),
    "bool": frozenset({"bool", "int", "numbers.Number", "numbers.Integral", "numbers.Real"}),
    "float": frozenset({"float", "numbers.Number", "numbers.Real"}),
    "str": frozenset({"str", "six.string_types", "basestring"}),
    "bytes": frozenset({"bytes"}),
    "complex": frozenset({"complex", "numbers.Number"}),
    "list": frozenset({"list", "Sequence", "Iterable", "Sized", "Collection", "MutableSequence"}),
    "tuple": frozenset({"tuple", "Sequence", "Iterable", "Sized", "Collection"}),
    "dict": frozenset({"dict", "Mapping", "MutableMapping", "Iterable", "Sized", "Collection"}),
    "set": frozenset({"set", "Set", "Iterable", "Sized", "Collection"}),
    "frozenset": frozenset({"frozenset", "Set", "Iterable", "Sized", "Collection"}),
}
_TENSOR: Final[dict[str, frozenset[str]]] = {
    "dense": frozenset({"tf.Tensor", "tf.is_tensor", "tf.experimental.numpy.ndarray"}),
    "variable": frozenset({"tf.Variable", "tf.is_tensor"}),
    "ragged": frozenset({"tf.RaggedTensor", "tf.is_tensor"}),
    "sparse": frozenset({"tf.sparse.SparseTensor", "tf.SparseTensor", "tf.IndexedSlices", "tf.is_tensor"}),
    "ndarray": frozenset({"np.ndarray", "np.generic", "numbers.Number", "np.floating", "np.integer"}),
    "symbolic": frozenset({"keras.KerasTensor", "tf.Tensor", "tf.is_tensor"}),
}
#: Types about whose instances abstract objects can tell.
TYPE_NAMES: Final = frozenset(
    {f"builtins.{n}" for n in ("int", "bool", "float", "str", "bytes", "complex", "list", "tuple", "dict", "set")}
    | {name for names in _TENSOR.values() for name in names}
    | {"builtins.type", "types.FunctionType", "builtins.property"}
)
#: Dictionaries that the same kind of container stands for.
_DICTS: Final = frozenset(f"collections.{n}" for n in ("OrderedDict", "defaultdict", "Counter", "ChainMap", "UserDict"))
#: Where Python keeps its abstract classes, and those that no tensor is an instance of.
_ABSTRACT: Final = ("collections.", "typing.")
_NO_TENSOR: Final = frozenset(
    "Sequence MutableSequence Mapping MutableMapping Set MutableSet Callable Iterator Generator ByteString "
    "OrderedDict defaultdict Counter deque List Tuple Dict FrozenSet".split()
)
MAYBE: Final = (True, True)
YES: Final = (True, False)
NO: Final = (False, True)


def _is_in(names: frozenset[str], kind: str) -> tuple[bool, bool]:
    return YES if kind.removeprefix("builtins.") in names or kind.rpartition(".")[2] in names else NO


def is_instance(obj: Obj, kind: str) -> tuple[bool, bool]:
    """(may be an instance of a library type, may not be)."""
    if kind == "builtins.object":
        return YES
    match obj:
        case Lit() | Prim():
            return _is_in(_PYTHON.get(obj.kind, frozenset()), kind)
        case Tensor():
            if kind.startswith(_ABSTRACT) and kind.rpartition(".")[2] in _NO_TENSOR:
                return NO
            if kind in _TENSOR[obj.kind]:
                return YES if obj.kind != "ndarray" or kind == "np.ndarray" else MAYBE
            return NO if kind in TYPE_NAMES else MAYBE
        case Tup():
            return _is_in(_PYTHON["tuple"], kind) if obj.kind == "tuple" else MAYBE
        case Container(kind="dict") if kind in _DICTS:
            return MAYBE
        case Container():
            return _is_in(_PYTHON.get(obj.kind, frozenset({obj.kind})), kind)
        case LibInst():
            if kind in registry.class_chain(obj.cls):
                return YES
            return NO if kind in TYPE_NAMES else MAYBE
        case Stream():
            return YES if kind == obj.kind else NO if kind in TYPE_NAMES and obj.kind != "tuple" else MAYBE
        case Func() | Bound():
            return YES if kind.endswith(("Callable", "FunctionType")) else NO if kind in TYPE_NAMES else MAYBE
        case Class():
            return YES if kind == "builtins.type" else NO if kind in TYPE_NAMES else MAYBE
        case Inst() | Mod() | Wrapper():
            return NO if kind in TYPE_NAMES else MAYBE
        case Unknown():
            return MAYBE
    return MAYBE
