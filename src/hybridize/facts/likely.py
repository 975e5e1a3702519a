"""Parameters that likely take tensors although nothing is seen to pass one: what the solved program does with them.

`flow.speculation` looks at the text before anything is solved, and what it finds flows. This comes after: it knows what
is called, follows structures and their parts, goes from caller to callee, and changes no value: what it finds makes a
candidate, by assumption.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hybridize.domain.objects import NONE, Bound, Func, Inst, Lib, LibInst, Obj, Prim, Tensor, Unknown, Value, Wrapper
from hybridize.domain.tensors import NDARRAY
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader
from hybridize.flow.speculation import asked_by, readers
from hybridize.library import registry
from hybridize.library.contracts.given import gets_tensor
from hybridize.library.contracts.lookup import is_member
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr, Op, Param

#: How a slot comes from the parameter: itself or an element of it; an attribute or named part; computed from it.
_SAME: Final = 2
_PART: Final = 1
_MADE: Final = 0
_DEPTH: Final = 4
_FRAMES: Final = 2
_LONGEST: Final = 400

#: What TensorFlow is as readily given a number for.
_OF_NUMBERS: Final = frozenset(
    "abs add subtract multiply divide truediv floordiv mod pow maximum minimum negative sign square sqrt rsqrt exp log "
    "log1p expm1 sin cos tan asin acos atan sinh cosh tanh floor ceil round less less_equal greater greater_equal equal "
    "not_equal logical_and logical_or logical_not sigmoid softplus reciprocal cast convert_to_tensor identity "
    "saturate_cast is_nan is_inf is_finite lgamma digamma erf squared_difference clip_by_value "
    "random_uniform as_string strings_join debugging_check_numerics to_float to_int32".split()
)
#: Functions that give back what they were given, in another structure.
_PASSED_ON: Final = frozenset(
    "builtins.list builtins.tuple builtins.zip builtins.enumerate builtins.reversed builtins.dict builtins.sum "
    "tf.nest.flatten tf.nest.map_structure tf.concat tf.stack tf.identity "
    "tf.stop_gradient np.asarray np.array tf.cast tf.convert_to_tensor".split()
)
#: Of these, those that have a first argument of that kind, and others.
_OF_FIRST: Final = ("np.", "tf.cast", "tf.convert_to_tensor", "tf.identity", "tf.stop_gradient", "tf.concat", "tf.stack")
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
    "tensorflow_probability.math.",
    "tensorflow_addons.losses.",
    "tensorflow_addons.activations.",
    "tensorflow_addons.image.",
    "keras.layers.",
)
_OF_ARRAYS: Final = frozenset("dtype shape name device ndim size".split())
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
        if func is None or param.slot < 0:
            return None
        called = self._called_back(func, index)
        if called is not None:
            return called
        if self._is_other(func, param):
            return None
        return _Trail(self, code, param, depth).follow()

    def _called_back(self, func: Func, index: int) -> str | None:
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
            if not said and _names_other(param.annotation):
                return True
        return bool(said) and all(isinstance(obj, (Prim, Inst, LibInst)) or not isinstance(obj, Tensor) and _is_plain(obj) for obj in said)

    def receives_tensor(self, code: Code, index: int) -> bool:
        """Whether some call passes a tensor, and none something that is neither array nor tensor."""
        given = {obj for frame in self.frames.get(code, ()) for obj in frame.args[index]}
        tensors = [obj for obj in given if isinstance(obj, Tensor)]
        return any(obj.kind != NDARRAY for obj in tensors) and all(
            isinstance(obj, (Tensor, Unknown)) or obj is NONE for obj in given
        )


def _is_plain(obj: Obj) -> bool:
    return not isinstance(obj, (Unknown, Tensor)) and not hasattr(obj, "items") and not hasattr(obj, "element")


def _names_other(node: ast.expr) -> bool:
    """Whether an annotation is that of a function or a plain Python type, by its text."""
    if isinstance(node, ast.Subscript):
        node = node.value
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ("Callable", "Type", "type", "int", "float", "str", "bool", "bytes", "Path")


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
        self._add(code, param.slot, _SAME)
        for reader in readers(code, param.name)[1:]:
            for instr in index_of(reader).of(Op.CELL):
                if instr[2] == param.name:
                    self._add(reader, instr[1], _SAME)
        if param.name in code.cells:
            for instr in index_of(code).of(Op.CELL):
                if instr[2] == param.name:
                    self._add(code, instr[1], _SAME)
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
        if op in (Op.COPY, Op.REFINE, Op.PHI, Op.BOOLOP, Op.LIST, Op.TUPLE, Op.DICT):
            self._add(code, instr[1], form)
        elif op == Op.ITER:
            if instr[1] in _comprehended(code):
                self._add(code, instr[1], form)
        elif op == Op.APPEND:
            self._add(code, instr[2], form)
        elif op == Op.UNPACK:
            for target in instr[1]:
                self._add(code, target, form)
        elif op == Op.ITEM and instr[2] == slot:
            self._add(code, instr[1], min(form, _PART) if self._is_text(code, instr[3]) else form)
        elif op == Op.ATTR:
            if instr[3] in _TYPES and form == _SAME and self._types_tensor(code, instr[1]):
                return "the dtypes of TensorFlow's tensors"
            if instr[3] not in _OF_ARRAYS and self._is_start(code, slot) and is_member("keras.Model", instr[3]):
                return ""
            if not _is_size(instr[3]):
                self._add(code, instr[1], min(form, _PART))
        elif op in (Op.BINARY, Op.INPLACE, Op.UNARY):
            if form != _PART:
                self._add(code, instr[1], _MADE)
        return None

    def _types_tensor(self, code: Code, slot: int) -> bool:
        """Whether a dtype is given to a function of TensorFlow."""
        index = index_of(code)
        for use in index.uses.get(slot, ()):
            if use[0] == Op.CALL and use[2] != slot:
                for callee in self._values(code, use[2]):
                    if isinstance(callee, Lib) and callee.name.startswith("tf.") and not callee.name.endswith("as_dtype"):
                        return True
        return False

    def _call(self, code: Code, slot: int, form: int, instr: Instr) -> str | None:
        if instr[2] == slot:
            return "" if form == _SAME and self._is_start(code, slot) else None
        places: list[int | str] = [i for i, (given, star) in enumerate(instr[3]) if given == slot and not star]
        places += [name for name, given in instr[4] if given == slot and name is not None]
        said: str | None = None
        for callee in self._values(code, instr[2]):
            for place in places:
                answer = self._asks(callee, place, form)
                if answer == "" and form == _SAME and self._is_start(code, slot):
                    return ""
                captured = code is not self.start[0]
                if answer and form == _SAME and not (captured and _takes_numbers(answer)):
                    said = said or answer
                elif answer and not captured and not _takes_numbers(answer):
                    said = said or answer
            if isinstance(callee, Lib) and callee.name in _PASSED_ON:
                if not callee.name.startswith(_OF_FIRST) or 0 in places:
                    self._add(code, instr[1], form)
            elif isinstance(callee, Unknown) and form == _SAME and self._is_own(code, instr[2]):
                self._add(code, instr[1], _MADE)
        return said

    def _is_start(self, code: Code, slot: int) -> bool:
        return code is self.start[0] and index_of(code).original(slot) == self.start[1].slot

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
            return "a layer or loss" if _CALLED & set(registry.class_chain(callee.cls)) and place in (0, 1, "inputs") else None
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
            cls = registry.class_chain(receiver.cls) if isinstance(receiver, LibInst) else self.likely.hints.engine.mro_names(receiver)
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
        value = code.template[slot] if 0 <= slot < len(code.template) else None
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


def _is_size(name: str) -> bool:
    return name in ("shape", "ndim", "size", "dtype", "name", "rank", "device")
