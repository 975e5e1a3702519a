"""Parameters that likely take tensors although nothing is seen to pass one: what the solved program does with them.

`flow.speculation` looks at the text before anything is solved, and what it finds flows. This comes after: it knows what
is called, follows structures and their parts, goes from caller to callee, and changes no value: what it finds makes a
candidate, by assumption.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hybridize.domain.objects import (
    NONE,
    Bound,
    Class,
    Func,
    Inst,
    Lib,
    LibInst,
    Obj,
    Prim,
    Tensor,
    Unknown,
    Value,
    Wrapper,
)
from hybridize.domain.tensors import NDARRAY
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader
from hybridize.flow.speculation import asked_by, readers
from hybridize.library import registry
from hybridize.library.annotations import TENSOR_TYPES
from hybridize.library.contracts.given import gets_tensor
from hybridize.library.contracts.lookup import is_member
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr, Op, Param

#: How a slot comes from the parameter: itself; an element of it, or a structure around it; an attribute or named part;
#: computed from it.
_SELF: Final = 3
_SAME: Final = 2
_PART: Final = 1
_MADE: Final = 0
_DEPTH: Final = 4
_FRAMES: Final = 2
_LONGEST: Final = 400

#: What TensorFlow is as readily given a number for.
_OF_NUMBERS: Final = frozenset(
    "abs add subtract multiply divide truediv floordiv mod pow maximum minimum negative sign square sqrt rsqrt exp log "
    "log1p expm1 sin cos tan asin acos atan sinh cosh tanh floor ceil round less less_equal greater greater_equal "
    "equal atan2 hypot not_equal logical_and logical_or logical_not sigmoid softplus reciprocal cast identity "
    "convert_to_tensor saturate_cast is_nan is_inf is_finite lgamma digamma erf squared_difference clip_by_value "
    "random_uniform as_string strings_join debugging_check_numerics to_float to_int32".split()
)
#: Functions that give back what they were given, in another structure.
_PASSED_ON: Final = frozenset(
    "builtins.list builtins.tuple builtins.zip builtins.enumerate builtins.reversed builtins.dict builtins.sum "
    "tf.nest.flatten tf.nest.map_structure tf.concat tf.identity "
    "tf.stop_gradient np.asarray np.array tf.cast tf.convert_to_tensor".split()
)
#: Of these, those that have a first argument of that kind, and others.
_OF_FIRST: Final = ("np.", "tf.cast", "tf.convert_to_tensor", "tf.identity", "tf.stop_gradient", "tf.concat")
#: What nobody asks about a tensor.
_OF_OTHERS: Final = frozenset(
    f"builtins.{name}" for name in "range open chr ord issubclass input callable setattr vars".split()
)
#: Methods of library objects that take tensors, by the class they belong to.
_METHODS: Final[Mapping[str, frozenset[str]]] = {
    "tf.GradientTape": frozenset({"watch", "gradient", "jacobian", "batch_jacobian"}),
    "tf.TensorArray": frozenset({"write", "unstack"}),
    "keras.metrics.Metric": frozenset({"update_state", "__call__"}),
    "keras.losses.Loss": frozenset({"call", "__call__"}),
    "keras.layers.Layer": frozenset({"call", "__call__"}),
    "keras.optimizers.Optimizer": frozenset({"apply_gradients"}),
    "keras.optimizers.legacy.Optimizer": frozenset({"apply_gradients"}),
}
_ASSIGNS: Final = frozenset({"assign", "assign_add", "assign_sub"})
#: Classes whose objects are called with tensors.
_CALLED: Final = frozenset({"keras.layers.Layer", "keras.losses.Loss", "keras.metrics.Metric"})
#: Packages of functions on tensors, beside TensorFlow itself.
_COMPUTING: Final = (
    "tensorflow_probability.stats.",
    "tensorflow_addons.losses.",
    "tensorflow_addons.activations.",
    "tensorflow_addons.image.",
    "keras.layers.",
)
#: What only TensorFlow's own shapes and dtypes have.
_ASKED: Final[Mapping[str, frozenset[str]]] = {
    "shape": frozenset(
        "as_list rank dims ndims with_rank with_rank_at_least is_fully_defined is_compatible_with merge_with "
        "assert_has_rank assert_is_compatible_with num_elements concatenate".split()
    ),
    "dtype": frozenset(
        "is_floating is_complex is_integer is_bool base_dtype as_numpy_dtype real_dtype is_compatible_with".split()
    ),
}
#: What Keras gives its models when it builds them.
_OF_MODELS: Final = frozenset("inputs outputs input_shape output_shape".split())
_OF_ARRAYS: Final = frozenset("dtype shape name device ndim size".split())
#: Generics that say what functions and classes are.
_ABOUT_OTHERS: Final = frozenset({"Callable", "Type", "type"})
#: Types of anything, or of structures.
_OPEN: Final = frozenset(f"builtins.{name}" for name in "object list tuple dict set frozenset".split())
#: Attributes that any array has, and settings have not: asked of beside TensorFlow they speak for a tensor.
_TYPES: Final = frozenset({"dtype"})


class Likely:
    """What the functions of a solved program do with parameters of which nothing is known."""

    def __init__(self, frames: Mapping[Code, Sequence[Frame]], hints: HintReader) -> None:
        self.frames = frames
        self.hints = hints
        self._known: dict[tuple[Code, int], str | None] = {}

    def of(self, code: Code, index: int, depth: int = 0) -> str | None:
        """Why a parameter likely takes tensors, in words that go on "`x` is given to"; None where nothing says so."""
        key = code, index
        if key not in self._known:
            self._known[key] = None  # for a recursion
            found = self._look(code, index, depth)
            if found is None and depth:
                del self._known[key]  # not looked at to the end
            else:
                self._known[key] = found
            return found
        return self._known[key]

    def _look(self, code: Code, index: int, depth: int) -> str | None:
        frames = self.frames.get(code, ())
        param = code.params[index]
        func = frames[0].func if frames else None
        if _is_gradient(code) and not param.has_default and param.kind in ("normal", "positional", "varargs"):
            return f"the gradient function `{code.name}`"
        if func is None or param.slot < 0 or param.kind == "kwargs":
            return None
        called = self.called_back(func, index)
        if called is not None:
            return called
        if self._is_other(func, param):
            return None
        return _Trail(self, code, param, depth).follow() or self._family(func, index, depth)

    def _family(self, func: Func, index: int, depth: int) -> str | None:
        """What a method that overrides this one, or is overridden by it, does with the argument in that place."""
        if func.owner is None or index == 0 or depth >= _DEPTH or func.code.name.startswith("__"):
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
        param = func.code.params[index]
        if param.annotation is not None:
            return self.hints.is_tensor_hint(param.annotation, func)
        if any(isinstance(obj, Tensor) for obj in self.hints.docs.value(func.code, param.name)):
            return True
        return self.receives_tensor(func.code, index) or bool(
            self.hints.uses.of(func, index) or self.of(func.code, index, depth + 1)
        )

    def called_back(self, func: Func, index: int) -> str | None:
        """The library that calls a method with a tensor."""
        if func.owner is None or index == 0:
            return None
        chain = [base for name in self.hints.engine.library_bases(func.owner) for base in registry.class_chain(name)]
        name = gets_tensor(chain, func.code.name, index - 1)
        return f"`{func.code.qualname}` by `{name}`" if name is not None else None

    def _is_other(self, func: Func, param: Param) -> bool:
        """Whether hint, docstring or default say that an argument is a number, a text, a flag or an object."""
        if param.has_default and not (isinstance(param.default, ast.Constant) and param.default.value is None):
            return True
        said = self.hints.docs.value(func.code, param.name)
        if param.annotation is not None:
            said = self.hints.value(param.annotation, func)
            if not said and self._names_other(param.annotation, func):
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
            if last in _ABOUT_OTHERS or any(
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
        given = {obj for frame in self.frames.get(code, ()) for obj in frame.args[index]}
        tensors = [obj for obj in given if isinstance(obj, Tensor)]
        return any(obj.kind != NDARRAY for obj in tensors) and all(
            isinstance(obj, (Tensor, Unknown)) or obj is NONE for obj in given
        )


def _is_gradient(code: Code) -> bool:
    """Whether TensorFlow calls a function with gradients: one that a `tf.custom_gradient` returns, or is registered."""
    if any("RegisterGradient" in ast.unparse(node) for node in code.decorators):
        return True
    parent = code.parent
    if parent is None or not any("custom_gradient" in ast.unparse(node) for node in parent.decorators):
        return False
    index = index_of(parent)
    made = {instr[1] for instr in index.of(Op.FUNC) if instr[2] is code}
    for instr in index.of(Op.RETURN):
        given = index.source(instr[2])
        if given is not None and given[0] == Op.TUPLE and len(given[2]) == 2:
            last = index.original(given[2][1][0])
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
        if _last(node.value) not in _ABOUT_OTHERS:
            yield from _names(node.slice)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _names(child)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Trail:
    """The slots that come from one parameter, and what is done with them."""

    def __init__(self, likely: Likely, code: Code, param: Param, depth: int) -> None:
        self.likely = likely
        self.depth = depth
        self.start = code, param
        self.forms: dict[tuple[Code, int], int] = {}
        self.todo: list[tuple[Code, int]] = []

    def follow(self) -> str | None:
        """The first use that asks for a tensor; None where there is none, or one asks for another thing."""
        code, param = self.start
        self._add(code, param.slot, _SELF)
        for reader in readers(code, param.name)[1:]:
            for instr in index_of(reader).of(Op.CELL):
                if instr[2] == param.name:
                    self._add(reader, instr[1], _SELF)
        if param.name in code.cells:
            for instr in index_of(code).of(Op.CELL):
                if instr[2] == param.name:
                    self._add(code, instr[1], _SELF)
        said: str | None = None
        while self.todo and len(self.forms) < _LONGEST:
            where, slot = self.todo.pop()
            form = self.forms[where, slot]
            for instr in index_of(where).uses.get(slot, ()):
                answer = self._use(where, slot, form, instr)
                if answer == "":
                    return None
                said = said or answer
        return said

    def _add(self, code: Code, slot: int, form: int) -> None:
        if slot >= 0 and self.forms.get((code, slot), -1) < form:
            self.forms[code, slot] = form
            self.todo.append((code, slot))

    def _use(self, code: Code, slot: int, form: int, instr: Instr) -> str | None:
        op = instr[0]
        if op == Op.CALL:
            return self._call(code, slot, form, instr)
        if op in (Op.COPY, Op.REFINE, Op.PHI, Op.BOOLOP):
            self._add(code, instr[1], form)
        elif op in (Op.LIST, Op.TUPLE, Op.DICT):
            self._add(code, instr[1], min(form, _SAME))
        elif op == Op.ITER:
            if instr[1] in _comprehended(code):
                self._add(code, instr[1], min(form, _SAME))
        elif op == Op.APPEND:
            self._add(code, instr[2], min(form, _SAME))
        elif op == Op.UNPACK:
            for target in instr[1]:
                self._add(code, target, min(form, _SAME))
        elif op == Op.ITEM and instr[2] == slot:
            self._add(code, instr[1], min(form, _PART if self._is_text(code, instr[3]) else _SAME))
        elif op == Op.ATTR:
            if instr[3] in _TYPES and form >= _SAME and self._types_tensor(code, instr[1]):
                return "the dtypes of TensorFlow's tensors"
            if form == _SELF and _of_model(instr[3]):
                return ""
            if instr[3] in _ASKED and self._asked_further(code, instr[1], _ASKED[instr[3]]):
                return f"`.{instr[3]}` as only tensors have it"
            if not _is_size(instr[3]):
                self._add(code, instr[1], min(form, _PART))
        elif op == Op.RETURN and form != _MADE and code is self.start[0] and self._gives_tensor(code):
            return "the tensor that it gives"
        elif op in (Op.BINARY, Op.INPLACE, Op.UNARY) and form != _PART:
            self._add(code, instr[1], _MADE)
        return None

    def _gives_tensor(self, code: Code) -> bool:
        """Whether a function is declared to give back a tensor."""
        func = self.likely.frames[code][0].func
        if code.returns is None or func is None:
            return False
        return any(isinstance(o, Tensor) and o.kind != NDARRAY for o in self.likely.hints.value(code.returns, func))

    def _asked_further(self, code: Code, slot: int, names: frozenset[str]) -> bool:
        """Whether an attribute of a slot (a shape, a dtype) is asked for what only TensorFlow's have."""
        return any(use[0] == Op.ATTR and use[3] in names for use in index_of(code).uses.get(slot, ()))

    def _types_tensor(self, code: Code, slot: int) -> bool:
        """Whether a dtype is given to a function of TensorFlow."""
        index = index_of(code)
        for use in index.uses.get(slot, ()):
            if use[0] == Op.CALL and use[2] != slot:
                for callee in self._values(code, use[2]):
                    if (
                        isinstance(callee, Lib)
                        and callee.name.startswith("tf.")
                        and not callee.name.endswith("as_dtype")
                    ):
                        return True
        return False

    def _call(self, code: Code, slot: int, form: int, instr: Instr) -> str | None:
        if instr[2] == slot:
            return "" if form == _SELF else None
        places: list[int | str] = [i for i, (given, star) in enumerate(instr[3]) if given == slot and not star]
        places += [name for name, given in instr[4] if given == slot and name is not None]
        if form == _SELF and self.start[1].kind == "varargs":
            places += [i for i, (given, star) in enumerate(instr[3]) if given == slot and star]
        said: str | None = None
        for callee in self._values(code, instr[2]):
            for place in places:
                answer = self._asks(callee, place, form)
                if answer == "" and form == _SELF:
                    return ""
                captured = code is not self.start[0]
                # Numbers are computed with as well, and captured ones are often settings.
                strong = (
                    not captured and form >= _SAME if _takes_numbers(answer or "") else form >= _SAME or not captured
                )
                if answer and strong:
                    said = said or answer
            if isinstance(callee, Lib) and callee.name in _PASSED_ON:
                if not callee.name.startswith(_OF_FIRST) or 0 in places:
                    self._add(code, instr[1], form)
            elif isinstance(callee, Unknown) and form >= _SAME and self._is_own(code, instr[2]):
                self._add(code, instr[1], _MADE)
        return said

    def _is_own(self, code: Code, slot: int) -> bool:
        """Whether what is called is a parameter or something of one: a model that was handed in, or is kept."""
        index = index_of(code)
        arrived = {param.slot for param in code.params}
        for _ in range(_DEPTH):
            slot = index.original(slot)
            if slot in arrived:
                return True
            made = index.definitions.get(slot)
            if made is None or made[0] not in (Op.ATTR, Op.ITEM):
                return False
            slot = made[2]
        return False

    def _values(self, code: Code, slot: int) -> Iterator[Obj]:
        seen: set[Obj] = set()
        for frame in self.likely.frames.get(code, ())[:_FRAMES]:
            value: Value = frame.vals[slot] or frozenset()
            for obj in sorted(value - seen, key=repr) if len(value) > 1 else value - seen:
                seen.add(obj)
                yield obj

    def _asks(self, callee: Obj, place: int | str, form: int) -> str | None:
        """Whether what is called asks for a tensor at a position or keyword; empty where for another thing."""
        if isinstance(callee, Lib):
            return _library_asks(callee.name, place)
        if isinstance(callee, Wrapper):
            answers = (self._asks(inner, place, form) for inner in callee.inner if callee.kind != "partial")
            return next(filter(None, answers), None)
        if isinstance(callee, LibInst):
            return (
                "a layer or loss"
                if _CALLED & set(registry.class_chain(callee.cls)) and place in (0, 1, "inputs")
                else None
            )
        if isinstance(callee, Bound):
            return self._method(callee, place, form)
        if isinstance(callee, Func):
            return self._function(callee.code, place, 0)
        if isinstance(callee, Inst):
            bases = self.likely.hints.engine.mro_names(callee)
            if _CALLED & set(bases) and place in (0, "inputs"):
                return f"`{callee.cls.name}`, a layer"
            for name in ("__call__", "call"):
                for obj in self._methods(callee, name):
                    return self._function(obj.code, place, 1)
        return None

    def _methods(self, inst: Inst, name: str) -> Iterator[Func]:
        for base in inst.cls.mro:
            fields = getattr(base, "fields", None)
            if fields and name in fields:
                yield from (obj for obj in fields[name].value if isinstance(obj, Func))
                return

    def _method(self, callee: Bound, place: int | str, form: int) -> str | None:
        if isinstance(callee.func, Func):
            return self._function(callee.func.code, place, 1)
        receiver, name = callee.receiver, callee.func
        if not isinstance(name, str):
            return None
        name = name.rpartition(".")[2]
        if isinstance(receiver, Tensor):
            return f"`.{name}` of a variable" if name in _ASSIGNS else None
        if isinstance(receiver, (LibInst, Inst)):
            cls = (
                registry.class_chain(receiver.cls)
                if isinstance(receiver, LibInst)
                else self.likely.hints.engine.mro_names(receiver)
            )
            if any(name in _METHODS.get(each, ()) for each in cls) and place in (0, 1, 2):
                return f"`{name}` of `{cls[0]}`"
        return None

    def _function(self, code: Code, place: int | str, bound: int) -> str | None:
        names = [p.name for p in code.params]
        at = place + bound if isinstance(place, int) else names.index(place) if place in names else -1
        if not 0 <= at < len(names) or code.params[at].kind in ("varargs", "kwargs") or self.depth >= _DEPTH:
            return None
        if self.likely.receives_tensor(code, at):
            return f"`{code.qualname}`, which receives tensors"
        if code is self.start[0]:
            return None
        return self.likely.of(code, at, self.depth + 1)

    def _is_text(self, code: Code, slot: int) -> bool:
        value: Value = (code.template[slot] if 0 <= slot < len(code.template) else None) or frozenset()
        return bool(value) and all(getattr(obj, "kind", "") == "str" for obj in value)


def _library_asks(name: str, place: int | str) -> str | None:
    if name in _OF_OTHERS:
        return ""
    if name.startswith(_COMPUTING):
        last = name.rpartition(".")[2]
        return f"`{name}`" if place == 0 and last[:1].islower() else None
    return asked_by(name, place) or None


def _comprehended(code: Code) -> set[int]:
    """The slots of elements of comprehensions: loops over what is unknown go over data sets as well."""
    return {
        instr[1]
        for loop in index_of(code).of(Op.LOOP)
        if loop[2].fills >= 0
        for instr in loop[2].test
        if instr[0] == Op.ITER
    }


def _takes_numbers(said: str) -> bool:
    """Whether a use may be that of a number."""
    return said.strip("`").rpartition(".")[2] in _OF_NUMBERS


def _of_model(name: str) -> bool:
    """Whether an attribute is one of Keras' models, and none of an array: what has it is no structure of tensors."""
    return name in _OF_MODELS or (name not in _OF_ARRAYS and is_member("keras.Model", name))


def _is_size(name: str) -> bool:
    return name in ("shape", "ndim", "size", "dtype", "name", "rank", "device")
