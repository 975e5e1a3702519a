"""Parameters that likely take tensors although nothing is seen to pass one: what the solved program does with them.

`flow.speculation` looks at the text before anything is solved, and what it finds flows. This comes after: it knows what
is called, follows structures and their parts, goes from caller to callee, and changes no value: what it finds makes a
candidate, by assumption.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hybridize.domain.objects import NONE, Class, Func, Inst, Lib, LibInst, Obj, Prim, Tensor, Unknown
from hybridize.domain.session import cached
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import OF_CLASSES
from hybridize.facts.calls.callgraph import has_own_gradient, is_registered_gradient
from hybridize.facts.unknown.trails import DEPTH, Trail
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader
from hybridize.library import registry
from hybridize.library.annotations import TENSOR_TYPES
from hybridize.library.contracts.given import gets_no_tensor, gets_tensor
from hybridize.program import ir
from hybridize.program.code import Code, Param
from hybridize.program.index import index_of

#: Types of anything, or of structures.
_OPEN: Final = frozenset(f"builtins.{name}" for name in "object list tuple dict set frozenset".split())


class Likely:
    """What the functions of a solved program do with parameters of which nothing is known."""

    def __init__(self, frames: Mapping[Code, Sequence[Frame]], hints: HintReader) -> None:
        self.frames = frames
        self.hints = hints
        self._received: dict[tuple[Code, int], bool] = {}
        self._known: dict[tuple[Code, int, int], str | None] = {}

    def of(self, code: Code, index: int, depth: int = 0) -> str | None:
        """Why a parameter likely takes tensors, in words that go on "`x` is given to"; None where nothing says so."""
        # With each step the depth grows, so that recursions end, and the answer is the same whatever was asked before.
        key = code, index, depth
        if key not in self._known:
            self._known[key] = self._look(code, index, depth)
        return self._known[key]

    def _look(self, code: Code, index: int, depth: int) -> str | None:
        frames = self.frames.get(code, ())
        param = code.params[index]
        func = frames[0].func if frames else None
        if _is_gradient(code) and not param.has_default and (param.by_place or param.is_varargs):
            return f"the gradient function `{code.name}`"
        if func is None or param.slot < 0 or param.is_kwargs:
            return None
        called = self.called_back(func, index)
        if called is not None:
            return called
        if self._is_other(func, param) or (func.owner and gets_no_tensor(self._chain(func.owner), code.name)):
            return None
        return Trail(self, code, param, depth).follow() or self._family(func, index, depth)

    def _family(self, func: Func, index: int, depth: int) -> str | None:
        """What a method that overrides this one, or is overridden by it, does with the argument in that place."""
        if func.owner is None or index == 0 or depth >= DEPTH or func.code.name.startswith("__"):
            return None
        name = func.code.params[index].name
        for cls in (*(base for base in func.owner.mro[1:] if isinstance(base, Class)), *func.owner.subclasses):
            cell = cls.fields.get(func.code.name)
            for other in cell.value if cell is not None else ():
                if not isinstance(other, Func) or other.code is func.code or len(other.code.params) <= index:
                    continue
                if other.code.params[index].name == name and self._takes(other, index, depth):
                    return f"`{other.code.qualname}` in its place"
        return None

    def _takes(self, func: Func, index: int, depth: int) -> bool:
        """Whether hints, docstring, calls or uses say that a parameter takes tensors."""
        said = self.hints.declared(func, func.code.params[index])
        if said:
            return any(isinstance(obj, Tensor) and obj.kind != NDARRAY for obj in said)
        return self.receives_tensor(func.code, index) or bool(
            self.hints.uses.of(func, index) or self.of(func.code, index, depth + 1)
        )

    def called_back(self, func: Func, index: int) -> str | None:
        """The library that calls a method with a tensor."""
        if func.owner is None or index == 0:
            return None
        name = gets_tensor(self._chain(func.owner), func.code.name, index - 1)
        return f"`{func.code.qualname}` by `{name}`" if name is not None else None

    def _chain(self, cls: Class) -> list[str]:
        """The library classes that a class derives from, the nearest first."""
        return [base for name in cls.library for base in registry.class_chain(name)]

    def _is_other(self, func: Func, param: Param) -> bool:
        """Whether hint, docstring or default say that an argument is a number, a text, a flag or an object."""
        if param.has_default and not (isinstance(param.default, ast.Constant) and param.default.value is None):
            return True
        said = self.hints.declared(func, param)
        if not said and param.annotation is not None and self._names_other(param.annotation, func):
            return True
        return bool(said) and all(
            isinstance(obj, (Prim, Inst, LibInst)) or (not isinstance(obj, Tensor) and _is_plain(obj)) for obj in said
        )

    def _names_other(self, node: ast.expr, func: Func) -> bool:
        """Whether an annotation names classes, of which none is that of a tensor or of any structure."""
        named = list(_names(node))
        plain = 0
        for each in named:
            last = _last(each)
            if last in ("Optional", "Union"):
                continue
            kinds = self.hints.resolve(each, func)
            libs = [obj.name for obj in kinds if isinstance(obj, Lib)]
            if last in OF_CLASSES or any(
                name.startswith(("tf.", "keras.", "builtins.", "pathlib."))
                and name not in TENSOR_TYPES
                and name not in _OPEN
                for name in libs
            ):
                plain += 1
            else:
                return False
        return plain > 0

    def receives_tensor(self, code: Code, index: int) -> bool:
        """Whether some call passes a tensor, and none something that is neither array nor tensor."""
        key = code, index
        found = self._received.get(key)
        if found is None:
            given = {obj for frame in self.frames.get(code, ()) for obj in frame.args[index]}
            found = self._received[key] = any(isinstance(o, Tensor) and o.kind != NDARRAY for o in given) and all(
                isinstance(obj, (Tensor, Unknown)) or obj is NONE for obj in given
            )
        return found


@cached
def _is_gradient(code: Code) -> bool:
    """Whether TensorFlow calls a function with gradients: one that a `tf.custom_gradient` returns, or is registered."""
    if is_registered_gradient(code):
        return True
    parent = code.parent
    if parent is None or not has_own_gradient(parent):
        return False
    index = index_of(parent)
    made = {instr.target for instr in index.of(ir.Func) if instr.code is code}
    for instr in index.of(ir.Return):
        given = index.source(instr.value)
        if isinstance(given, ir.Tuple) and len(given.elements) == 2:
            last = index.original(given.elements[1][0])
            if last in made:
                return True
    return False


def _is_plain(obj: Obj) -> bool:
    return not isinstance(obj, (Unknown, Tensor)) and not hasattr(obj, "items") and not hasattr(obj, "element")


def _names(node: ast.expr) -> Iterator[ast.expr]:
    """The names in an annotation, dotted ones whole; what `Callable` and `Type` are told is not looked at."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node
    elif isinstance(node, ast.Subscript):
        yield node.value
        if _last(node.value) not in OF_CLASSES:
            yield from _names(node.slice)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _names(child)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
