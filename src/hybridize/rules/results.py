"""What a function returns, part by part, and what its callers do with each part."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import (
    NONE,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
    Wrapper,
)
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.facts.model import Evidence
from hybridize.facts.origins import call_at, calls_at
from hybridize.flow.frames import Frame
from hybridize.library.index import lookup
from hybridize.program.ir import Instr, Op
from hybridize.records import dataclass
from hybridize.rules.values import uses
from hybridize.rules.views import FrameView, FunctionView

#: What a part is: a Python value that comes back as a tensor; an array; a variable; something that nothing can return.
PYTHON: Final = "python"
ARRAY: Final = "array"
READS: Final = "variable"
OBJECT: Final = "object"
#: A part below this one is not looked at.
_DEPTH: Final = 4
#: A container that a result holds in more places than these is looked into in so many of them.
_MOST_PATHS: Final = 4
#: Library objects that traced functions can return.
_RETURNABLE: Final = (
    "tf.data.",
    "tf.RaggedTensor",
    "tf.SparseTensor",
    "tf.sparse.",
    "tf.IndexedSlices",
    "tf.experimental.",
    "tf.distribute.",
    "tf.types.",
    "tf.TypeSpec",
    "tfp.",
    "tensorflow_probability.",
)
_SEQUENCES: Final = frozenset({"tuple", "list"})
_ITERATORS: Final = frozenset(f"builtins.{n}" for n in "zip map filter enumerate reversed".split())
_MAPPINGS: Final = ("dict", "OrderedDict", "defaultdict")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a result: where it is in it (indices and keys), what it is, and what to call it."""

    path: tuple[object, ...]
    what: str
    said: str
    kind: str = ""


def returns(frame: Frame, view: FrameView) -> Iterator[Instr]:
    """The `return` statements that control reaches."""
    for instr in view.instructions():
        if instr[0] == Op.RETURN and instr[2] >= 0 and frame.vals[instr[2]]:
            yield instr


def iterator(view: FrameView, slot: int) -> str | None:
    """The function whose result a slot is, where that is an iterator of Python's."""
    made = view.definition(slot)
    for name in view.names(made[2]) if made is not None and made[0] == Op.CALL else ():
        if name in _ITERATORS:
            return name.removeprefix("builtins.")
    return None


def parts_of(view: FrameView, slot: int) -> tuple[Part, ...]:
    """The parts of what a slot holds that do not come back as they are."""
    value = view.value(slot)
    found: tuple[Part, ...] = view.project.shared(("parts", value), lambda: tuple(parts(value)))
    members = [part for part in _display(view, slot) if _is_member(view, part)] if found else []
    if members:
        return (*found, Part((), OBJECT, "a member of an enumeration"))
    return found


def _display(view: FrameView, slot: int) -> list[int]:
    """The slot itself, or those in the display of a tuple or list that it is."""
    made = view.definition(slot)
    return [s for s, _ in made[2]] if made is not None and made[0] in (Op.TUPLE, Op.LIST) else [slot]


def _is_member(view: FrameView, slot: int) -> bool:
    """Whether a slot holds `C.NAME` of an `enum.Enum` whose members are no numbers or strings."""
    made = view.definition(slot)
    if made is None or made[0] != Op.ATTR or made[3] in ("value", "name"):
        return False
    owners = view.value(made[2])
    return bool(owners) and all(isinstance(o, Class) and _is_plain_enum(o) for o in owners)


def _is_plain_enum(cls: Class) -> bool:
    """Whether a class is an enumeration, and no kind of number or string besides."""
    bases = {base.name for base in cls.mro if isinstance(base, Lib)}
    return bool(bases & {"enum.Enum", "enum.Flag"}) and not any(b.startswith("builtins.") for b in bases - _ANY_OBJECT)


_ANY_OBJECT: Final = frozenset({"builtins.object"})


def parts(value: Value) -> Iterator[Part]:
    """The parts of a result that do not come back as they are."""
    return _parts(value, (), _DEPTH, Counter())


def _parts(value: Value, path: tuple[object, ...], depth: int, seen: Counter[Obj]) -> Iterator[Part]:
    if any(isinstance(o, Tensor) and o.kind != NDARRAY and o.kind != VARIABLE for o in value):
        return  # where it may be a tensor as well, the rest is what loops and branches started with
    for obj in sorted(value, key=repr) if len(value) > 1 else value:
        yield from _object(obj, path, depth, seen)


def _object(obj: Obj, path: tuple[object, ...], depth: int, seen: Counter[Obj]) -> Iterator[Part]:
    match obj:
        case Lit() | Prim():
            if obj is not NONE:
                yield Part(path, PYTHON, f"a Python {obj.kind}", obj.kind)
        case Tensor(kind=kind):
            if kind == NDARRAY:
                yield Part(path, ARRAY, "an array", "array")
            elif kind == VARIABLE:
                yield Part(path, READS, "a variable", "variable")
        case Tup(kind="slice"):
            yield Part(path, OBJECT, "a slice")
        case Tup() if depth:
            for i, item in enumerate(obj.items):
                yield from _parts(item, (*path, i), depth - 1, seen)
        case Container() if depth and seen[obj] < _MOST_PATHS:
            seen[obj] += 1
            yield from _container(obj, path, depth, seen)
        case Stream():
            yield from _stream(obj, path, depth, seen)
        case Inst() | LibInst():
            yield from _instance(obj, path)
        case Func() if _is_gradient(obj):
            return
        case Lib():
            entry = lookup(obj.name)
            if entry is not None and entry.kind != "constant":
                yield Part(path, OBJECT, f"`{obj.name}`")
        case Func() | Bound() | Class() | Mod() | Wrapper():
            yield Part(path, OBJECT, "a function or class")


def _is_gradient(obj: Func) -> bool:
    """Whether a function is the gradient that one under `tf.custom_gradient` returns beside its result."""
    parent = obj.code.parent
    return parent is not None and any("custom_gradient" in ast.unparse(node) for node in parent.decorators)


def _container(obj: Container, path: tuple[object, ...], depth: int, seen: Counter[Obj]) -> Iterator[Part]:
    if obj.kind in _SEQUENCES or obj.kind in _MAPPINGS:
        for key, cell in list(obj.fields.items()):
            yield from _parts(cell.value, (*path, key), depth - 1, seen)
        if obj.rest is not None:
            yield from _parts(obj.rest.value, (*path, None), depth - 1, seen)
    elif obj.kind in ("set", "frozenset", "deque", "Counter", "bytearray", "generator", "iterator"):
        yield Part(path, OBJECT, f"a {obj.kind}")


def _stream(obj: Stream, path: tuple[object, ...], depth: int, seen: Counter[Obj]) -> Iterator[Part]:
    if obj.kind in ("range", "TensorShape"):
        yield Part(path, PYTHON, f"a {obj.kind}", "shape")
    elif obj.kind in _SEQUENCES or obj.kind.startswith("dict_"):
        yield from _parts(obj.element, (*path, None), depth - 1, seen) if depth else ()
    elif obj.kind in ("zip", "map", "filter", "generator", "enumerate", "iterator", "reversed"):
        yield Part(path, OBJECT, f"a {obj.kind} object")


def _instance(obj: Inst | LibInst, path: tuple[object, ...]) -> Iterator[Part]:
    if isinstance(obj, LibInst):
        if obj.cls == "tf.TensorArray":
            yield Part(path, READS, "a TensorArray", "TensorArray")
        elif not obj.cls.startswith(_RETURNABLE):
            yield Part(path, OBJECT, f"a `{obj.cls}`")
        return
    names = [b.name for b in obj.cls.mro if isinstance(b, Lib)]
    if obj.cls.derives_container or obj.cls.foreign or any(n.startswith(_RETURNABLE) for n in names):
        return
    if any(n in ("typing.NamedTuple", "builtins.tuple", "builtins.dict", "builtins.list") for n in names):
        return
    yield Part(path, OBJECT, f"a `{obj.cls.name}` object")


def consumers(function: FunctionView) -> list[tuple[FrameView, Instr, str]] | None:
    """The calls of a function as (caller, call, how); None where nothing in the program calls it."""
    found: dict[tuple[Frame, int], tuple[FrameView, Instr, str]] = {}
    called = False
    for caller, pos, _, how in function.callers():
        called = True
        if how == "graph":
            continue
        instr = _call(caller, pos, function)
        if instr is not None:
            found[caller, pos] = (FrameView(function.project, caller), instr, how)
        elif how in ("call", "hybrid"):
            return None
    return list(found.values()) if called else None


def _call(caller: Frame, pos: int, function: FunctionView) -> Instr | None:
    first = call_at(caller.code, pos)
    if first is None:
        return None
    return next((instr for instr in calls_at(caller.code, pos) if _runs(caller.vals[instr[2]], function)), first)


def _runs(value: Value | None, function: FunctionView) -> bool:
    for obj in value or ():
        inner = obj.func if isinstance(obj, Bound) else obj
        if isinstance(inner, Func) and inner.code is function.code:
            return True
        if isinstance(inner, Wrapper) and _runs(inner.inner, function):
            return True
    return False


def taken(view: FrameView, slot: int, path: tuple[object, ...]) -> Iterator[tuple[Instr, int, bool]]:
    """The uses of one part of a result: instruction, slot, and whether it is the part itself (or all around it)."""
    for use in uses(view, slot):
        if path and use[0] == Op.UNPACK and isinstance(path[0], int) and use[3] < 0 and path[0] < len(use[1]):
            yield from taken(view, use[1][path[0]], path[1:])
        elif path and use[0] == Op.ITEM and use[2] == slot:
            keys = [o.const for o in view.value(use[3]) if isinstance(o, Lit)]
            if path[0] is None or not keys or path[0] in keys:
                yield from taken(view, use[1], path[1:])
        elif path and use[0] == Op.ITEM:
            continue
        else:
            yield use, slot, not path


def site(view: FrameView, instr: Instr, message: str) -> Evidence:
    """Evidence at an instruction."""
    return Evidence(message, view.code.path, instr[-1] >> 16)
