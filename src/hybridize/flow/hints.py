"""Type hints as values, and what its uses say about a parameter (speculation)."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final, TypeAlias

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    FALSE,
    NONE,
    NONE_V,
    TRUE,
    Cell,
    Class,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Tensor,
    Value,
    Wrapper,
    prim,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import DENSE
from hybridize.domain.unknowns import Why
from hybridize.domain.words import OF_CLASSES
from hybridize.flow.docstrings import Docstrings
from hybridize.flow.engine import Engine
from hybridize.flow.frames import INSTANCES, SHARED, Frame
from hybridize.flow.speculation import Uses, parts_of
from hybridize.library import registry
from hybridize.library.annotations import ALIAS, TENSOR_TYPES, alias_of, alias_parts
from hybridize.library.builtin_names import BUILTINS
from hybridize.library.defaults import library_attribute
from hybridize.library.dialect import COMPUTING_CLASSES, STREAMS, TOLD_CLASSES
from hybridize.program import ir
from hybridize.program.code import Param
from hybridize.program.index import index_of

_PRIMITIVES: Final = {
    "builtins.int": "int",
    "builtins.float": "float",
    "builtins.str": "str",
    "builtins.bytes": "bytes",
}
_SEQUENCES: Final = frozenset({"List", "list", "Sequence", "Iterable", "Iterator", "Collection", "Set", "set"})

#: Generics whose first argument is the type, and the rest remarks.
_WITH_NOTES: Final = frozenset({"Annotated"})
#: Packages whose generics take an array type and its shape.
_SHAPED: Final = ("jaxtyping.", "tensor_annotations.")
#: Generics whose arguments say nothing of what the value itself is.
_OF_NO_VALUES: Final = OF_CLASSES | {"Literal"}
_DEPTH: Final = 8

_KERAS_CALLS: Final = frozenset({"call", "__call__"})


#: A function whose result is none.
NO_TENSOR: Final = "what gives no tensor"
#: What annotations are read in: names are those of a function, or of the module in which an alias is made. A frame that
#: reads one runs again when the names in it come to mean more.
Scope: TypeAlias = "Func | Mod | Frame"
#: A part of an annotation: its source, or the value that an alias holds.
Part: TypeAlias = "ast.expr | Value"


class HintReader:
    """Reads annotations in the scope of their function."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.uses = Uses(engine)
        self.docs = Docstrings()

    def declared(self, func: Func, param: Param) -> Value:
        """What an annotation says an argument is, without one the docstring, or the annotation of what it overrides."""
        if param.annotation is None:
            return self.docs.value(func.code, param.name) or self.inherited(func, param)
        return self.value(param.annotation, func)

    def inherited(self, func: Func, param: Param) -> Value:
        """What the nearest method that this one overrides says in an annotation of its argument of that name."""
        if func.owner is None:
            return BOTTOM
        for base in func.owner.mro[1:]:
            cell = base.fields.get(func.code.name) if isinstance(base, Class) else None
            for other in cell.value if cell is not None else ():
                if isinstance(other, Func):
                    for each in other.code.params:
                        if each.name == param.name and each.annotation is not None:
                            return self.value(each.annotation, other)
        return BOTTOM

    def given(self, node: ast.expr, func: Scope) -> Value:
        """What stands in for an unknown value with an annotation; bottom where it stays unknown."""
        said = self.value(node, func)
        # Of `Optional[...]` of something unknown all that is known is that it may be None.
        return BOTTOM if said == NONE_V and not is_none(node) else said

    def value(self, node: ast.expr, func: Scope) -> Value:
        """What an annotation says an argument is; bottom where it says nothing that helps."""
        try:
            return self._value(node, func, 0)
        except RecursionError:
            return BOTTOM

    def _value(self, node: Part, func: Scope, depth: int) -> Value:
        if depth > _DEPTH:
            return BOTTOM
        match node:
            case frozenset():
                return self._named(node, func, depth)
            case ast.Constant(value=None):
                return NONE_V
            case ast.Constant(value=str(text)):
                parsed = _parsed(text)
                return BOTTOM if parsed is None else self._value(parsed, func, depth + 1)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return join(self._value(left, func, depth + 1), self._value(right, func, depth + 1))
            case ast.Subscript(value=base, slice=inner):
                return self._generic(self.resolve(base, func), _parts(inner), func, depth)
        return self._named(self.resolve(node, func), func, depth)

    def _generic(self, kinds: Value, parts: list[Part], func: Scope, depth: int) -> Value:
        result = BOTTOM
        for obj in kinds:
            full = obj.name if isinstance(obj, Lib) else ""
            name = full.rpartition(".")[2]
            if name in _WITH_NOTES or full.startswith(_SHAPED):
                result = join(result, self._value(parts[0], func, depth + 1))
            elif name in ("Optional", "Union", "Final", "ClassVar"):
                for part in parts:
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
                result = join(result, self._named(obj.value, func, depth))
        return result

    def _tuple(self, parts: list[Part], func: Scope, depth: int) -> Value:
        if len(parts) == 2 and _is_ellipsis(parts[1]):
            element = self._value(parts[0], func, depth + 1)
            return stream("tuple", element).value if element else BOTTOM
        items = [self._value(part, func, depth + 1) for part in parts]
        return tup(items).value if all(items) else BOTTOM

    def _named(self, kinds: Value, func: Scope, depth: int) -> Value:
        result = BOTTOM
        for obj in kinds:
            if isinstance(obj, Lib):
                kind = TENSOR_TYPES.get(obj.name)
                if kind is not None:
                    result = join(result, tensor(kind).value)
                elif obj.name in _PRIMITIVES:
                    result = join(result, prim(_PRIMITIVES[obj.name]).value)
                elif obj.name in STREAMS:
                    # What it gives, nobody knows; that it is made of tensors, all do.
                    result = join(
                        result, stream(STREAMS[obj.name], unknown("an element of a dataset", Why.PART).value).value
                    )
                elif obj.name in TOLD_CLASSES:
                    result = join(result, self._object(obj.name, func))
                elif obj.name == "builtins.bool":
                    result = join(result, frozenset((TRUE, FALSE)))
            elif isinstance(obj, Class):
                result = join(result, self._named_tuple(obj, depth))
                for cls in (obj, *obj.subclasses):
                    for inst in self._instances(cls, func):
                        result = join(result, inst.value)
            elif isinstance(obj, Tensor):
                result = join(result, obj.value)
            elif obj is NONE or isinstance(obj, (Wrapper, Lit)):
                result = join(result, self._alias(obj, func, depth))
        return result

    def _named_tuple(self, cls: Class, depth: int) -> Value:
        """A named tuple of the project by what its class says of the fields, where it says something."""
        names = self.engine.world.tuple_fields.get(cls, ())
        hints = [cls.code.field_hints.get(name) for name in names]
        items = [self._value(hint, cls.module, depth + 1) if hint is not None else BOTTOM for hint in hints]
        if not any(items):
            return BOTTOM
        return tup([item or unknown("a field of a named tuple").value for item in items], "tuple", names).value

    def _instances(self, cls: Class, func: Scope) -> Sequence[Inst]:
        found = self.engine.world.instances.get(cls, ())
        if not isinstance(func, Frame):
            return found[:3]
        self._read(cls.absent(INSTANCES), func)  # while frames run there come more, in any order: all count
        return found

    def _read(self, cell: Cell, func: Scope) -> Value:
        return self.engine.cells.read(func, cell) if isinstance(func, Frame) else cell.value

    def _alias(self, obj: Obj, func: Scope, depth: int) -> Value:
        """What a type alias, a string in one, or None stands for."""
        if obj is NONE:
            return NONE_V
        if isinstance(obj, Wrapper) and obj.kind == ALIAS:
            base, scope = alias_of(obj)
            return self._generic(base, [*alias_parts(obj)], scope, depth + 1)
        parsed = _parsed(obj.const) if isinstance(obj, Lit) and isinstance(obj.const, str) else None
        return BOTTOM if parsed is None else self._value(parsed, func, depth + 1)

    def _object(self, name: str, func: Scope) -> Value:
        """An object of a library class that an unknown caller has made: one for all parameters of a function."""
        key = (func.code, name, "hinted")
        found = self.engine.world.allocated.get(key)
        if found is None:
            found = self.engine.world.allocated[key] = LibInst(name, (func.code, func.code.position), SHARED)
        return found.value

    def called(self, node: ast.expr, func: Func) -> str:
        """The library class of an annotation whose objects compute with TensorFlow when they are called; or nothing."""
        inner = _unquoted(node)
        if isinstance(inner, ast.BinOp):
            sides = [each for each in (inner.left, inner.right) if not is_none(each)]
            inner = sides[0] if len(sides) == 1 else inner
        if isinstance(inner, ast.Subscript):
            names = {obj.name for obj in self.resolve(inner.value, func) if isinstance(obj, Lib)}
            if any(name.endswith(".Optional") for name in names):
                inner = _unquoted(inner.slice)
            elif any(name.endswith(".Callable") for name in names):
                parts = _parts(inner.slice)
                return "Callable" if self.is_tensor_hint(parts[-1], func) else self._other(parts[-1], func)
        kinds = self.resolve(inner, func) if isinstance(inner, (ast.Name, ast.Attribute)) else BOTTOM
        names = {obj.name if isinstance(obj, Lib) else "" for obj in kinds}
        return min(names) if names and all(COMPUTING_CLASSES & {*registry.class_chain(name)} for name in names) else ""

    def _other(self, node: Part, func: Func) -> str:
        """What is said of a function that gives a number, text or array of its own."""
        kinds = self.resolve(node, func) if isinstance(node, (ast.Name, ast.Attribute)) else BOTTOM
        plain = any(isinstance(obj, Lib) and obj.name.startswith(("builtins.", "np.")) for obj in kinds)
        return NO_TENSOR if plain else ""

    def is_tensor_hint(self, node: Part, func: Scope, depth: int = 0) -> bool:
        """Whether a tensor type stands inside an annotation, but for what it says of functions and classes."""
        if depth > _DEPTH:
            return False
        match node:
            case frozenset():
                return any(self._is_tensor_type(obj, func, depth) for obj in node)
            case ast.Constant(value=str(text)):
                parsed = _parsed(text)
                return parsed is not None and self.is_tensor_hint(parsed, func, depth + 1)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return any(self.is_tensor_hint(side, func, depth + 1) for side in (left, right))
            case ast.Subscript(value=base, slice=inner):
                return self._has_tensor(self.resolve(base, func), _parts(inner), func, depth)
        return any(self._is_tensor_type(obj, func, depth) for obj in self.resolve(node, func))

    def _has_tensor(self, kinds: Value, parts: list[Part], func: Scope, depth: int) -> bool:
        names = {obj.name for obj in kinds if isinstance(obj, Lib)}
        if any(name.rpartition(".")[2] in _OF_NO_VALUES for name in names):
            return False
        if any(name.rpartition(".")[2] in _WITH_NOTES or name.startswith(_SHAPED) for name in names):
            parts = parts[:1]
        if any(self.is_tensor_hint(part, func, depth + 1) for part in parts):
            return True
        return any(self._is_tensor_type(obj, func, depth) for obj in kinds if isinstance(obj, Lib))

    def _is_tensor_type(self, obj: Obj, func: Scope, depth: int) -> bool:
        if isinstance(obj, Lib):
            return obj.name in TENSOR_TYPES
        if isinstance(obj, Class) and obj in self.engine.world.tuple_fields:
            return any(self.is_tensor_hint(hint, obj.module, depth + 1) for hint in obj.code.field_hints.values())
        if isinstance(obj, Wrapper) and obj.kind == ALIAS:
            base, scope = alias_of(obj)
            return self._has_tensor(base, [*alias_parts(obj)], scope, depth + 1)
        parsed = _parsed(obj.const) if isinstance(obj, Lit) and isinstance(obj.const, str) else None
        return parsed is not None and self.is_tensor_hint(parsed, func, depth + 1)

    def resolve(self, node: ast.expr, func: Scope) -> Value:
        """The value of a dotted name in the scope of a function, without running anything."""
        module = func if isinstance(func, Mod) else func.module
        match node:
            case ast.Name(id=name):
                cell = (None if isinstance(func, Mod) else func.cells.get(name)) or module.fields.get(name)
                if cell is not None and self._read(cell, func):
                    return cell.value
                if name in BUILTINS:
                    return lib_value(f"builtins.{name}")
                for library in self.engine.world.wildcards.get(module, ()):
                    found = library_attribute(library, name, only_known=True)
                    if found:
                        return found
                return self._imported(module, name)
            case ast.Attribute(value=owner, attr=attr):
                result = BOTTOM
                for obj in self.resolve(owner, func):
                    if isinstance(obj, Lib):
                        result = join(result, library_attribute(obj.name, attr))
                    elif isinstance(obj, Mod):
                        found_cell = obj.fields.get(attr)
                        sub = self.engine.world.submodule(obj, attr)
                        if found_cell is not None and self._read(found_cell, func):
                            result = join(result, found_cell.value)
                        elif sub is not None:
                            result = join(result, sub.value)
                    elif isinstance(obj, Class):
                        found_cell = obj.fields.get(attr)
                        if found_cell is not None:
                            result = join(result, self._read(found_cell, func))
                return result
        return BOTTOM

    def _imported(self, module: Mod, name: str) -> Value:
        """What only those who check types import (`if TYPE_CHECKING`), for annotations in strings."""
        found = index_of(module.code)
        for instr in found.of(ir.SetGlobal):
            source = found.source(instr.value) if instr.name == name else None
            if not isinstance(source, (ir.ImportFrom, ir.Import)):
                continue
            world, level = self.engine.world, source.level if isinstance(source, ir.ImportFrom) else 0
            path = source.module if isinstance(source, ir.ImportFrom) else source.name
            target = world.modules.get(world.resolve(module.name, path, level) or "")
            if isinstance(source, ir.Import):
                name = source.name.partition(".")[0] if source.binds_top else source.name
                return target.value if target is not None else lib_value(registry.normalize(name))
            if target is None:
                return BOTTOM if level else library_attribute(source.module, source.name)
            cell, inner = target.fields.get(source.name), world.submodule(target, source.name)
            return cell.value if cell is not None and cell.value else inner.value if inner is not None else BOTTOM
        return BOTTOM

    def speculated(self, func: Func, param: Param, index: int) -> Value:
        """What speculation says about a parameter: Keras gives `call` tensors first, operands are tensors."""
        if not param.by_place:
            return BOTTOM
        if index == 1 and is_keras_call(func, self.engine):
            parts = parts_of(func.code, param)
            return tup([tensor(DENSE).value] * parts).value if parts else tensor(DENSE).value
        is_special = func.code.name.startswith("__") and func.code.name != "__call__"
        if is_special or not (self.uses.of(func, index) or self.uses.operand(func, index)):
            return BOTTOM
        return tensor(DENSE).value


def _parts(inner: ast.expr) -> list[Part]:
    return [*inner.elts] if isinstance(inner, ast.Tuple) else [inner]


def _parsed(text: str) -> ast.expr | None:
    """An annotation that is written as a string; None where it is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _unquoted(node: ast.expr) -> ast.expr:
    """A part of an annotation, parsed where it is written as a string."""
    parsed = _parsed(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
    return node if parsed is None else parsed


def is_none(node: ast.expr) -> bool:
    """Whether a part of an annotation is None."""
    return isinstance(node, ast.Constant) and node.value is None


def _is_ellipsis(part: Part) -> bool:
    if isinstance(part, frozenset):
        return any(isinstance(obj, Lit) and obj.kind == "ellipsis" for obj in part)
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def lib_value(name: str) -> Value:
    """A library name as a value."""
    from hybridize.domain.objects import lib

    return lib(name).value


def is_keras_call(func: Func, engine: Engine) -> bool:
    """Whether a function is `call` or `__call__` of a Keras layer or model."""
    if func.code.name not in _KERAS_CALLS or func.owner is None:
        return False
    names = {base for name in func.owner.library for base in registry.class_chain(name)}
    return "keras.layers.Layer" in names
