"""Type hints as values, and what its uses say about a parameter (speculation)."""

from __future__ import annotations

import ast
from typing import Any, Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    FALSE,
    NONE_V,
    TRUE,
    Class,
    Func,
    Inst,
    Lib,
    LibInst,
    Mod,
    Tensor,
    Value,
    prim,
    stream,
    tensor,
    tup,
)
from hybridize.domain.tensors import DENSE, NDARRAY, RAGGED, SPARSE, VARIABLE
from hybridize.flow.frames import SHARED
from hybridize.flow.heap import HeapAccess
from hybridize.flow.speculation import Uses, parts_of
from hybridize.library import registry
from hybridize.library.builtin_names import BUILTINS
from hybridize.library.defaults import library_attribute
from hybridize.program.ir import Param

_TENSOR_TYPES: Final = {
    "tf.Tensor": DENSE,
    "tf.EagerTensor": DENSE,
    "tf.types.experimental.TensorLike": DENSE,
    "tf.types.experimental.Tensor": DENSE,
    "tf.experimental.numpy.ndarray": DENSE,
    "tf.Variable": VARIABLE,
    "tf.RaggedTensor": RAGGED,
    "tf.sparse.SparseTensor": SPARSE,
    "tf.IndexedSlices": SPARSE,
    "np.ndarray": NDARRAY,
    "np.typing.NDArray": NDARRAY,
    "np.typing.ArrayLike": NDARRAY,
    "numpy.typing.NDArray": NDARRAY,
    "keras.KerasTensor": DENSE,
    "check_shapes.experimental.TensorType": DENSE,
}
_PRIMITIVES: Final = {
    "builtins.int": "int",
    "builtins.float": "float",
    "builtins.str": "str",
    "builtins.bytes": "bytes",
}
#: Library classes whose objects say more as such than as something unknown.
_OBJECTS: Final = frozenset({"tf.TensorArray"})
_SEQUENCES: Final = frozenset({"List", "list", "Sequence", "Iterable", "Iterator", "Collection", "Set", "set"})

_KERAS_CALLS: Final = frozenset({"call", "__call__"})


class HintReader:
    """Reads annotations in the scope of their function."""

    def __init__(self, engine: HeapAccess) -> None:
        self.engine = engine
        self.uses = Uses(engine)

    def value(self, node: ast.expr, func: Func) -> Value:
        """What an annotation says an argument is; bottom where it says nothing that helps."""
        try:
            return self._value(node, func, 0)
        except RecursionError:
            return BOTTOM

    def _value(self, node: ast.expr, func: Func, depth: int) -> Value:
        if depth > 8:
            return BOTTOM
        match node:
            case ast.Constant(value=None):
                return NONE_V
            case ast.Constant(value=str(text)):
                try:
                    return self._value(ast.parse(text.strip(), mode="eval").body, func, depth + 1)
                except (SyntaxError, ValueError):
                    return BOTTOM
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return join(self._value(left, func, depth + 1), self._value(right, func, depth + 1))
            case ast.Subscript(value=base, slice=inner):
                return self._generic(base, inner, func, depth)
        return self._named(self.resolve(node, func), func)

    def _generic(self, base: ast.expr, inner: ast.expr, func: Func, depth: int) -> Value:
        kinds = self.resolve(base, func)
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        result = BOTTOM
        for obj in kinds:
            name = obj.name.rpartition(".")[2] if isinstance(obj, Lib) else ""
            if name in ("Optional", "Union", "Annotated", "Final", "ClassVar"):
                for part in parts[: 1 if name == "Annotated" else None]:
                    result = join(result, self._value(part, func, depth + 1))
                if name == "Optional":
                    result = join(result, NONE_V)
            elif name in _SEQUENCES:
                element = self._value(parts[0], func, depth + 1)
                result = join(result, stream("tuple", element).value if element else BOTTOM)
            elif name in ("Tuple", "tuple"):
                result = join(result, self._tuple(parts, func, depth))
            elif name in ("Dict", "dict", "Mapping", "MutableMapping"):
                element = self._value(parts[-1], func, depth + 1)
                result = join(result, stream("tuple", element).value if element else BOTTOM)
            else:
                result = join(result, self._named(obj.value, func))
        return result

    def _tuple(self, parts: list[ast.expr], func: Func, depth: int) -> Value:
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
            element = self._value(parts[0], func, depth + 1)
            return stream("tuple", element).value if element else BOTTOM
        items = [self._value(part, func, depth + 1) for part in parts]
        return tup(items).value if all(items) else BOTTOM

    def _named(self, kinds: Value, func: Func) -> Value:
        result = BOTTOM
        for obj in kinds:
            if isinstance(obj, Lib):
                kind = _TENSOR_TYPES.get(obj.name)
                if kind is not None:
                    result = join(result, tensor(kind).value)
                elif obj.name in _PRIMITIVES:
                    result = join(result, prim(_PRIMITIVES[obj.name]).value)
                elif obj.name in _OBJECTS:
                    result = join(result, self._object(obj.name, func))
                elif obj.name == "builtins.bool":
                    result = join(result, frozenset((TRUE, FALSE)))
            elif isinstance(obj, Class):
                for cls in (obj, *obj.subclasses):
                    for inst in self.engine.world.instances.get(cls, ())[:3]:
                        result = join(result, inst.value)
            elif isinstance(obj, Tensor):
                result = join(result, obj.value)
        return result

    def _object(self, name: str, func: Func) -> Value:
        """An object of a library class that an unknown caller has made: one for all parameters of a function."""
        key = (func.code, name, "hinted")
        found = self.engine.world.allocated.get(key)
        if found is None:
            found = self.engine.world.allocated[key] = LibInst(name, (func.code, func.code.position), SHARED)
        return found.value

    def is_tensor_hint(self, node: ast.expr, func: Func) -> bool:
        """Whether a tensor type stands anywhere inside an annotation."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                return False
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part is not node:
                if self.is_tensor_hint(part, func):
                    return True
            elif isinstance(part, (ast.Name, ast.Attribute)):
                for obj in self.resolve(part, func):
                    if isinstance(obj, Lib) and obj.name in _TENSOR_TYPES:
                        return True
                    if not isinstance(obj, (Lib, Class, Inst, Mod)) and self._alias_has_tensor(obj):
                        return True
        return False

    def _alias_has_tensor(self, obj: Any) -> bool:
        """A type alias of the project (`TensorType = Union[np.ndarray, tf.Tensor]`): kept as a value by the engine."""
        inner = getattr(obj, "items", None)
        if isinstance(inner, tuple):
            return any(isinstance(o, Lib) and o.name in _TENSOR_TYPES for item in inner for o in item)
        return False

    def resolve(self, node: ast.expr, func: Func) -> Value:
        """The value of a dotted name in the scope of a function, without running anything."""
        match node:
            case ast.Name(id=name):
                cell = func.cells.get(name) or func.module.fields.get(name)
                if cell is not None and cell.value:
                    return cell.value
                if name in BUILTINS:
                    return lib_value(f"builtins.{name}")
                for library in self.engine.world.wildcards.get(func.module, ()):
                    found = library_attribute(library, name, only_known=True)
                    if found:
                        return found
            case ast.Attribute(value=owner, attr=attr):
                result = BOTTOM
                for obj in self.resolve(owner, func):
                    if isinstance(obj, Lib):
                        result = join(result, library_attribute(obj.name, attr))
                    elif isinstance(obj, Mod):
                        found_cell = obj.fields.get(attr)
                        sub = self.engine.world.submodule(obj, attr)
                        if found_cell is not None and found_cell.value:
                            result = join(result, found_cell.value)
                        elif sub is not None:
                            result = join(result, sub.value)
                    elif isinstance(obj, Class):
                        found_cell = obj.fields.get(attr)
                        if found_cell is not None:
                            result = join(result, found_cell.value)
                return result
        return BOTTOM

    def speculated(self, func: Func, param: Param, index: int) -> Value:
        """What speculation says about a parameter: Keras gives `call` tensors first, operands are tensors."""
        if param.kind not in ("positional", "normal"):
            return BOTTOM
        if index == 1 and is_keras_call(func, self.engine):
            parts = parts_of(func.code, param)
            return tup([tensor(DENSE).value] * parts).value if parts else tensor(DENSE).value
        is_special = func.code.name.startswith("__") and func.code.name != "__call__"
        return tensor(DENSE).value if not is_special and self.uses.of(func, index) else BOTTOM


def lib_value(name: str) -> Value:
    """A library name as a value."""
    from hybridize.domain.objects import lib

    return lib(name).value


def is_keras_call(func: Func, engine: HeapAccess) -> bool:
    """Whether a function is `call` or `__call__` of a Keras layer or model."""
    if func.code.name not in _KERAS_CALLS or func.owner is None:
        return False
    names = {base for name in engine.library_bases(func.owner) for base in registry.class_chain(name)}
    return "keras.layers.Layer" in names
