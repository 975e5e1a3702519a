"""How models of Keras layers are written: a layer's settings (its constructor's arguments), its input, its weights.

A layer rule sees a `LayerCall` and gives the shape of the output; `layer` makes a class model of it. What the program
does not determine raises `Unsure`, as in `hybridize.library.operands`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TypeGuard

from hybridize.domain.lattice import holders, join
from hybridize.domain.objects import (
    BOTTOM,
    NONE,
    Container,
    Inst,
    LibInst,
    Lit,
    Obj,
    Prim,
    Tensor,
    Tup,
    Value,
    lib,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.session import Table
from hybridize.domain.tensors import DENSE, NDARRAY, SPARSE, SYMBOLIC, UNRESOLVED, VARIABLE, Dim, Shape
from hybridize.library import registry
from hybridize.library.convert import dtype_of
from hybridize.library.defaults import keep_arguments
from hybridize.library.index import known_package
from hybridize.library.operands import INFER, Args, Impossible, Operand, Unsure, positions
from hybridize.library.spec import Call, parametrized
from hybridize.library.structures import once
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import dataclass

REST: Final = "*"


class Settings(Args):
    """The constructor arguments of a layer, by parameter name, with the index's defaults."""

    __slots__ = ("obj",)

    def __init__(self, call: Call, obj: Obj, cls: str) -> None:
        super().__init__(call, cls)
        self.obj = obj

    def value(self, *names: str) -> Value:
        """What a layer was made with; bottom if nothing was given."""
        obj = self.obj
        if not isinstance(obj, (LibInst, Inst)):
            raise Unsure
        prefix = "" if isinstance(obj, LibInst) else "$"
        engine, frame = self.call.engine, self.call.frame
        for name in names:
            cell = obj.fields.get(prefix + name)
            if cell is not None:
                return engine.cells.read(frame, cell)
        for name in (*names, "made"):  # the frame runs again when there are some
            engine.cells.read(frame, obj.absent(prefix + name))
        if REST in obj.fields or "**" in obj.fields or (prefix and "$made" not in obj.fields):
            raise Unsure
        return BOTTOM

    def dim(self, *names: str) -> Dim:
        """A size; unresolved where it is not known."""
        try:
            found = self.integer(*names)
        except Unsure:
            return UNRESOLVED
        return found if found >= 0 else UNRESOLVED

    def default(self, name: str, fallback: Any = None) -> Any:
        """A constant setting, or its default."""
        if self.given(name):
            return self.constant(name)
        return default_of(self.name, name, fallback)

    def word(self, name: str, fallback: str) -> str:
        """A string setting, lower case."""
        found = self.default(name, fallback)
        if not isinstance(found, str):
            raise Unsure
        return found.lower()

    def sizes(self, name: str, rank: int, default: int | None = None) -> tuple[int, ...]:
        """One int or one per spatial dim, such as a kernel size."""
        found = self.integers(name)
        if found is None:
            found = _sizes(default_of(self.name, name, default))
        if len(found) == 1:
            found *= rank
        if len(found) != rank:
            raise Impossible
        return found


def _sizes(default: Any) -> tuple[int, ...]:
    if isinstance(default, int):
        return (default,)
    if isinstance(default, tuple):
        return default
    raise Unsure


@cache
def default_of(cls: str, name: str, fallback: Any) -> Any:
    """The constant that a constructor's parameter is by default; the fallback where that is None or no constant."""
    text = positions(cls).get(name, (0, None))[1]
    if text is None:
        return fallback
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return fallback
    return fallback if found is None else found


class LayerCall:
    """A call of a layer: its settings and its first input."""

    __slots__ = ("args", "call", "settings")

    def __init__(self, call: Call, cls: str, settings: Settings | None = None) -> None:
        assert call.receiver is not None
        self.call = call
        self.settings = settings or Settings(call, call.receiver, cls)
        self.args = Args(call, cls, ("inputs",))

    def input(self) -> Value:
        """The value of the first argument, however it is called."""
        if self.call.args:
            return self.call.args[0]
        for name in ("inputs", "input", "x", "sequences", "sequence", "query"):
            if name in self.call.kwargs:
                return self.call.kwargs[name]
        raise Unsure

    @property
    def x(self) -> Operand:
        """The first input as a tensor, with its own dtype. `Unsure` if it is a structure."""
        value = self.input()
        if not all(isinstance(o, Tensor) for o in value):
            raise Unsure
        return self.args.operand(value)

    def inputs(self) -> list[Operand]:
        """The inputs of a layer that takes a list or tuple of them."""
        value = self.input()
        if len(value) != 1:
            raise Unsure
        (obj,) = value
        if isinstance(obj, Tensor):
            raise Impossible
        found = [self.args.operand(item) for item in self.args.items_of(obj)]
        if not found:
            raise Impossible
        return found

    def compute_dtype(self) -> str | None:
        """The dtype that the layer computes in."""
        return compute_dtype(self.settings)

    def cast(self, x: Operand) -> str | None:
        """The dtype of an input after Keras' casting: floats become the layer's dtype, others stay."""
        if x.dtype is None:
            return None
        if is_float(x.dtype):
            return self.compute_dtype()
        # Symbolic integers: Keras 3 says the layer's dtype for some layers, and theirs for others.
        return x.dtype if x.kind != SYMBOLIC else None

    def channels_first(self) -> bool:
        """Whether `data_format` says that channels come before the spatial dims."""
        if not self.settings.given("data_format") and global_setting(self.call, "image_data_format"):
            raise Unsure
        return self.settings.word("data_format", "channels_last") == "channels_first"

    def result(self, dtype: str | None, shape: Shape) -> Value:
        """A tensor as the output."""
        kind = self.args.kind()
        if kind == SPARSE:
            kind = DENSE
        return tensor(kind, dtype, cleaned(shape)).value


def is_float(dtype: str | None) -> bool:
    """Whether a dtype is one of floats."""
    return dtype is not None and dtype.startswith(("float", "bfloat"))


def cleaned(shape: Shape) -> Shape:
    """A shape without the marks that rules use among themselves."""
    return None if shape is None else tuple(UNRESOLVED if d == INFER else d for d in shape)


def global_setting(call: Call, name: str) -> Value:
    """What the program sets for all layers (`floatx`, `policy`, `image_data_format`), wherever it does."""
    store = call.engine.cells.backing(lib("keras.config"), "dict")
    return call.read(store.cell(name))


@parametrized
def set_global(call: Call, name: str) -> Value:
    """A rule for a function that changes a setting of all layers."""
    store = call.engine.cells.backing(lib("keras.config"), "dict")
    given = call.every() or unknown("a setting").value
    call.frame.volatile = True  # it looks at the callers of the function
    if not _is_certain(call.frame, call.pos):
        given = join(given, unknown("a setting of some runs").value)
    call.write(store.cell(name), given)
    return NONE.value


def _is_certain(frame: Any, pos: int, depth: int = 0) -> bool:
    """Whether a call belongs to every run: no branch, loop or handler is around it, nor around its function's calls."""
    code = frame.code
    certain = pos in {i.position for i in code.body if isinstance(i, ir.Call)}
    if code.is_module:
        return certain or pos in index_of(code).main_calls
    callers = [key for key in frame.incoming if key[0] is not None]
    return certain and depth < 4 and bool(callers) and all(_is_certain(caller, at, depth + 1) for caller, at in callers)


#: The dtypes that layers of a policy compute in and keep their weights in.
_POLICIES: Final = {
    "mixed_float16": ("float16", "float32"),
    "mixed_bfloat16": ("bfloat16", "float32"),
}


def _policy(call: Call, value: Value) -> tuple[str | None, str | None]:
    """The dtype to compute in and that of variables that a policy means, by name or as an object."""
    if len(value) != 1:
        return None, None
    (obj,) = value
    if isinstance(obj, LibInst) and obj.cls.endswith("Policy"):
        return _policy(call, call.field(obj, "name"))
    name = getattr(obj, "const", None)
    if isinstance(name, str) and name in _POLICIES:
        return _POLICIES[name]
    found = dtype_of(value)
    return (found, found) if is_float(found) else (None, None)


def global_float(call: Call) -> str | None:
    """The dtype in which layers compute by default; None where the program does not determine it."""
    return _defaults(call)[0]


def _defaults(call: Call) -> tuple[str | None, str | None]:
    policy = global_setting(call, "policy")
    if policy:
        return _policy(call, policy)
    return (found := float_of_inputs(call)), found


def float_of_inputs(call: Call) -> str | None:
    """The dtype of an input that names none: `floatx`, whatever the policy; None where it is not determined."""
    given = global_setting(call, "floatx")
    found = dtype_of(given) if given else "float32"
    return found if is_float(found) else None


def compute_dtype(settings: Settings) -> str | None:
    """The dtype in which a layer with these settings computes; None if not known."""
    return _dtypes(settings)[0]


def weight_dtype(settings: Settings) -> str | None:
    """The dtype of a layer's weights: unknown where Keras shows them cast while the layer runs."""
    computed, kept = _dtypes(settings)
    return kept if computed == kept else None


def _dtypes(settings: Settings) -> tuple[str | None, str | None]:
    try:
        if settings.value("autocast"):
            return None, None
        given = settings.value("dtype")
    except Unsure:
        return None, None
    if given and NONE not in given:
        return _policy(settings.call, given)
    return _defaults(settings.call)


def layer_class(call: Call, obj: Obj) -> str:
    """The library class whose rule applies to an instance: its own, or the nearest base of a project class."""
    if isinstance(obj, LibInst):
        return obj.cls
    for name in registry.mro_names(obj):
        if known_package(name) and registry.call_spec(name) is not None:
            return name
    return "keras.layers.Layer"


def cast_inputs(call: Call, args: list[Value]) -> list[Value]:
    """What `call` of a layer sees of its arguments: tensors, the floats among them in the layer's dtype.

    Keras 2 casts the first argument only, Keras 3 all: floats of other dtypes in further ones stay unknown. Of Python
    numbers in the first one Keras 2 makes tensors, too, whose values a graph does not know; Keras 3 refuses them.
    """
    assert call.receiver is not None
    dtype = compute_dtype(Settings(call, call.receiver, layer_class(call, call.receiver)))
    return [cast_value(call, value, dtype, i == 0) for i, value in enumerate(args)]


#: What tensors are made of, and of which dtype; floats get the layer's.
_NUMBERS: Final = {"bool": "bool", "int": "int32", "float": "float32"}
#: What is cast, and what holds it.
_CAST: Final = (Tensor, Tup, Container)


def cast_value(call: Call, value: Value, dtype: str | None, first: bool = True) -> Value:
    """A value after Keras' casting to a dtype."""
    return _Casting(call, dtype, first, {}).value(value)


@dataclass(frozen=True, slots=True)
class _Casting:
    """The casting of one argument; what it holds in many places is cast once."""

    call: Call
    dtype: str | None
    first: bool
    done: dict[Obj, Value]

    def value(self, value: Value) -> Value:
        for obj in value:
            if isinstance(obj, _CAST) or self._is_number(obj):
                break
        else:
            return value
        result = BOTTOM
        for obj in value:
            result = join(result, self._object(obj))
        return result

    def _is_number(self, obj: Obj) -> TypeGuard[Lit | Prim]:
        return self.first and isinstance(obj, (Lit, Prim)) and obj.kind in _NUMBERS

    def _object(self, obj: Obj) -> Value:
        if isinstance(obj, Tensor):
            if obj.kind == NDARRAY and not self.first:
                return obj.value  # Keras 2 leaves further arrays as they are
            found = obj.dtype
            if is_float(found) and found != self.dtype:
                found = self.dtype if self.first else None
            kind = DENSE if obj.kind == NDARRAY or (obj.kind == VARIABLE and found != obj.dtype) else obj.kind
            same = kind == obj.kind and found == obj.dtype
            return obj.value if same else tensor(kind, found, obj.shape).value
        if self._is_number(obj):
            return tensor(DENSE, self.dtype if obj.kind == "float" else _NUMBERS[obj.kind], ()).value
        if isinstance(obj, Tup) and obj.kind == "tuple":
            return once(self.done, obj, lambda: self._tuple(obj), obj.value)
        if isinstance(obj, Container) and obj.kind in ("list", "dict"):
            return once(self.done, obj, lambda: self._container(obj), obj.value)
        return obj.value

    def _tuple(self, obj: Tup) -> Value:
        return tup([self.value(item) for item in obj.items], obj.kind, obj.names).value

    def _container(self, obj: Container) -> Value:
        """A list or dictionary after casting: itself where nothing changes, else a new one."""
        engine, frame = self.call.engine, self.call.frame
        cells: dict[Any, Value] = dict(engine.cells.items(frame, obj))
        if obj.rest is not None:
            cells[REST] = engine.cells.read(frame, obj.rest)
        cast: dict[Any, Value] = {}
        changed = False
        for key, value in cells.items():
            if not _holds_container(value):
                new = cast[key] = self.value(value)
                changed = changed or (new is not value and new != value)
        if not changed:
            return obj.value
        made = engine.cells.container(frame, self.call.pos, obj.kind, f"cast {obj.site[1]}")
        if not engine.cells.is_exact(frame, obj):
            engine.cells.lose_exactness(made)
        for key, value in cells.items():
            target = made.rest_cell() if key == REST else made.cell(key)
            engine.cells.write(frame, target, cast.get(key, value), self.call.pos)
        return made.value


def _holds_container(value: Value) -> bool:
    for obj in holders(value):
        if isinstance(obj, Container):
            return True
    return False


def settings_of_receiver(call: Call) -> Settings:
    """The settings of the layer whose method or attribute is asked for."""
    assert call.receiver is not None
    return Settings(call, call.receiver, layer_class(call, call.receiver))


_ENTERED: Final = Table[Obj, None]()


@contextmanager
def entered(obj: Obj) -> Iterator[bool]:
    """Whether a layer that calls others is not being called already: wrapped in a loop, it seems to hold itself."""
    around = _ENTERED.here()
    first = obj not in around
    around[obj] = None
    try:
        yield first
    finally:
        if first:
            around.pop(obj, None)


def make_layer(call: Call) -> Value:
    """A construction: the instance keeps its arguments; nothing yet where an argument has no value yet."""
    if any(not v for v in (*call.args, *call.kwargs.values())):
        return BOTTOM
    made = keep_arguments(call)
    call.keep(made, REST, call.rest)
    return made.value


def init_layer(call: Call) -> Value:
    """`super().__init__(...)` of a project class that derives from a layer."""
    obj = call.receiver
    if isinstance(obj, Inst):
        names = registry.parameter_names(layer_class(call, obj))
        found = {names[i] if i < len(names) else REST: v for i, v in enumerate(call.args)} | dict(call.kwargs)
        if call.rest:
            found[REST] = call.rest
        for name, value in (found | {"made": NONE.value}).items():
            if value:
                key = name if name in (REST, "**") else f"${name}"
                call.write(obj.cell(key), value)
    return NONE.value
