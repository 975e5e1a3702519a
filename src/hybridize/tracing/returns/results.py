"""What a function returns, part by part, and what its callers do with each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import BY_CALL, DIRECT, How
from hybridize.domain.nesting import field_values, taken_apart
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
from hybridize.facts.calls.callgraph import has_own_gradient, holds
from hybridize.facts.model import Evidence
from hybridize.facts.origins import call_at, called_at, calls_at
from hybridize.flow.frames import Frame
from hybridize.library.index import known_package, lookup
from hybridize.program import ir
from hybridize.program.code import Param
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments
from hybridize.records import dataclass
from hybridize.tracing.retraced.comparing import not_remade
from hybridize.tracing.returns.rebuilt import rebuilt
from hybridize.tracing.values import uses
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: What a part is: a Python value that comes back as a tensor; an array; a variable; something that nothing can return.
PYTHON: Final = "python"
ARRAY: Final = "array"
READS: Final = "variable"
OBJECT: Final = "object"
#: A container of a class of one's own, of which another one comes back.
REMADE: Final = "remade"
#: The kind of a part that TensorFlow takes apart and cannot put together again; what is said of it is a predicate.
REBUILT: Final = "rebuilt"
#: A part below this one is not looked at.
_DEPTH: Final = 4
#: A container that a result holds in more places than these is looked into in so many of them.
_MOST_PATHS: Final = 4
#: Library objects that traced functions can return.
_RETURNABLE: Final = (
    "tf.data.",
    "tf.RaggedTensor",
    "tf.sparse.",
    "tf.IndexedSlices",
    "tf.linalg.LinearOperator",
    "tf.experimental.",
    "tf.distribute.",
    "tf.types.",
    "tensorflow_probability.",  # `tracing/returns/returned.py` tells which
)
#: But these raise (each was tried under 2.15 and 2.21).
_REFUSED: Final = ("tf.data.Options", "tf.distribute.Strategy", "tf.distribute.MirroredStrategy")
_SEQUENCES: Final = frozenset({"tuple", "list"})
_MEMBER_DEPTH: Final = 6
_ITERATORS: Final = frozenset(f"builtins.{n}" for n in "zip map filter enumerate reversed".split())
_MAPPINGS: Final = ("dict", "OrderedDict", "defaultdict")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a result: where it is in it (indices and keys), what it is, and what to call it."""

    path: tuple[object, ...]
    what: str
    said: str
    kind: str = ""


def returns(frame: Frame, view: FrameView) -> Iterator[ir.Return]:
    """The `return` statements that control reaches."""
    for instr in index_of(view.code).of(ir.Return):
        if instr.value >= 0 and frame.vals[instr.value]:
            yield instr


def is_logged(view: FrameView, slot: int, part: Part) -> bool:
    """Whether a part stands under a text in a returned dictionary, at least half of whose entries are tensors.

    Who is given such a dictionary treats its entries alike, most likely to log them.
    """
    if len(part.path) != 1 or not isinstance(part.path[0], str):
        return False
    shown = [[cell.value for cell in obj.fields.values()] for obj in view.value(slot) if isinstance(obj, Container)]
    return bool(shown) and all(2 * sum(map(_is_tensor, values)) >= len(values) for values in shown)


def _is_tensor(value: Value) -> bool:
    return bool(value) and all(isinstance(o, Tensor) and o.kind not in (VARIABLE, NDARRAY) for o in value)


def iterator(view: FrameView, slot: int) -> str | None:
    """The function whose result a slot is, where that is an iterator of Python's."""
    made = view.definition(slot)
    for name in view.names(made.function) if isinstance(made, ir.Call) else ():
        if name in _ITERATORS:
            return name.removeprefix("builtins.")
    return None


def parts_of(view: FrameView, slot: int) -> tuple[Part, ...]:
    """The parts of what a slot holds that do not come back as they are."""
    value = view.value(slot)
    found: tuple[Part, ...] = view.project.shared(("parts", value), lambda: tuple(parts(view.project, value)))
    places = [place for place, part in display(view, slot) if _is_member(view, part)] if found else []
    if not places:
        return found
    rest = tuple(part for part in found if part.path not in places)  # the member's value is not what is returned
    return (*rest, Part((), OBJECT, "a member of an enumeration"))


def display(view: FrameView, slot: int) -> list[tuple[tuple[object, ...], int]]:
    """The slot itself, or those in the display of a tuple or list that it is, each with its path in the result."""
    made = view.definition(slot)
    if not isinstance(made, ir.Sequence):
        return [((), slot)]
    return [((i,), part) for i, (part, _) in enumerate(made.elements)]


def _is_member(view: FrameView, slot: int, depth: int = _MEMBER_DEPTH) -> bool:
    """Whether a slot holds `C.NAME` of an `enum.Enum` whose members are no numbers or strings, wherever it is read."""
    known: dict[tuple[Frame, int, int], bool] = view.project.shared("members of enumerations", dict)
    key = (view.frame, slot, depth)  # many paths of calls lead to the same place
    if key not in known:
        known[key] = _comes_from_member(view, slot, depth)
    return known[key]


def _comes_from_member(view: FrameView, slot: int, depth: int) -> bool:
    made = view.definition(slot)
    if made is None or not depth:
        return False
    if isinstance(made, ir.Attr):
        return made.name not in ("value", "name") and _all_enums(view.value(made.owner))
    if isinstance(made, ir.Copy):
        return _is_member(view, made.source, depth - 1)
    if isinstance(made, ir.Phi):
        return any(_is_member(view, each, depth - 1) for _, each in made.incoming)
    if isinstance(made, ir.Binary) and made.operator in ("|", "&", "^"):
        return _is_member(view, made.left, depth - 1) and _is_member(view, made.right, depth - 1)
    if not isinstance(made, ir.Call):
        return False
    callees = called_at(view.frame, made.position, BY_CALL)
    for inner in (FrameView(view.project, callee) for callee in callees):
        if any(
            _is_member(inner, i.value, depth - 1) for i in index_of(inner.code).of(ir.Return) if inner.value(i.value)
        ):
            return True
    return not callees and _all_enums(view.value(made.function))


def _all_enums(value: Value) -> bool:
    return bool(value) and all(isinstance(o, Class) and _is_plain_enum(o) for o in value)


def _is_plain_enum(cls: Class) -> bool:
    """Whether a class is an enumeration, and no kind of number or string besides."""
    bases = {base.name for base in cls.mro if isinstance(base, Lib)}
    return bool(bases & {"enum.Enum", "enum.Flag"}) and not any(b.startswith("builtins.") for b in bases - _ANY_OBJECT)


_ANY_OBJECT: Final = frozenset({"builtins.object"})


def parts(project: ProjectView, value: Value) -> list[Part]:
    """The parts of a result that do not come back as they are, each once."""
    found = _Found(project)
    _parts(value, (), _DEPTH, Counter(), found)
    return [Part(*each) for each in found]


class _Found(dict[tuple[tuple[object, ...], str, str, str], None]):
    """What parts are made of: big containers hold the same thing in many places, and only one of them is looked at."""

    def __init__(self, project: ProjectView) -> None:
        super().__init__()
        self.project = project


def _parts(value: Value, path: tuple[object, ...], depth: int, seen: Counter[Obj], found: _Found) -> None:
    # Where it may be a tensor as well, the rest is what loops and branches started with, but for static shapes.
    beside = any(isinstance(obj, Tensor) and obj.kind not in (NDARRAY, VARIABLE) for obj in value)
    for obj in sorted(value, key=repr) if len(value) > 1 else value:
        if not beside or (isinstance(obj, (Tup, Stream)) and obj.kind == "TensorShape"):
            _object(obj, path, depth, seen, found)


def _object(obj: Obj, path: tuple[object, ...], depth: int, seen: Counter[Obj], found: _Found) -> None:
    again = rebuilt(found.project, obj) if isinstance(obj, Container) else None
    if again is not None:
        found[path, OBJECT, again, REBUILT] = None
        return
    match obj:
        case Lit() | Prim():
            if obj is not NONE:
                found[path, PYTHON, f"a Python {obj.kind}", obj.kind] = None
        case Tensor(kind=kind):
            if kind == NDARRAY:
                found[path, ARRAY, "an array", "array"] = None
            elif kind == VARIABLE:
                found[path, READS, "a variable", "variable"] = None
        case Tup(kind="TensorShape", items=()):
            found[path, PYTHON, "a TensorShape", "shape"] = None
        case Tup(kind="slice"):
            found[path, OBJECT, "a slice", ""] = None
        case Tup() if depth:
            for i, item in enumerate(obj.items):
                _parts(item, (*path, i), depth - 1, seen, found)
        case Inst() if depth and taken_apart(obj) is not None:
            why = found.project.shared(("remade", obj.cls), lambda: not_remade(obj.cls))
            if why is not None:
                found[path, OBJECT, f"is a `{obj.cls.name}`, which {why.message}", REBUILT] = None
            for name, item in zip(taken_apart(obj) or (), field_values(obj), strict=False):
                _parts(item, (*path, name), depth - 1, seen, found)
        case Container() if depth and seen[obj] < _MOST_PATHS:
            seen[obj] += 1
            _container(obj, path, depth, seen, found)
        case Stream():
            _stream(obj, path, depth, seen, found)
        case _:
            said = _thing(obj)
            if said is not None:
                found[path, *said] = None


def _thing(obj: Obj) -> tuple[str, str, str] | None:
    """What an object is that holds no parts, where it does not come back as it is."""
    match obj:
        case Inst() | LibInst():
            return _instance(obj)
        case Func() if _is_gradient(obj):
            return None
        case Lib() if obj.name.startswith("builtins."):
            return OBJECT, f"`{obj.name.removeprefix('builtins.')}`", ""
        case Lib():
            entry = lookup(obj.name)
            return (OBJECT, f"`{obj.name}`", "") if entry is not None and entry.kind != "constant" else None
        case Bound(func=str() as name, receiver=LibInst() as owner) if known_package(owner.cls):
            entry = lookup(f"{owner.cls}.{name}")
            return (OBJECT, "a method", "") if entry is not None and entry.kind != "property" else None
        case Func() | Bound() | Class() | Mod() | Wrapper():
            return OBJECT, "a function or class", ""
    return None


def _is_gradient(obj: Func) -> bool:
    """Whether a function is the gradient that one under `tf.custom_gradient` returns beside its result."""
    parent = obj.code.parent
    return parent is not None and has_own_gradient(parent)


def _container(obj: Container, path: tuple[object, ...], depth: int, seen: Counter[Obj], found: _Found) -> None:
    if obj.kind in _SEQUENCES or obj.kind in _MAPPINGS:
        for key, cell in list(obj.fields.items()):
            _parts(cell.value, (*path, key), depth - 1, seen, found)
        if obj.rest is not None:
            _parts(obj.rest.value, (*path, None), depth - 1, seen, found)
    elif obj.kind in ("set", "frozenset", "deque", "Counter", "bytearray", "generator", "iterator"):
        found[path, OBJECT, f"a {obj.kind}", ""] = None


def _stream(obj: Stream, path: tuple[object, ...], depth: int, seen: Counter[Obj], found: _Found) -> None:
    if obj.kind in ("range", "TensorShape"):
        found[path, PYTHON, f"a {obj.kind}", "shape"] = None
    elif obj.kind in _SEQUENCES or obj.kind.startswith("dict_"):
        if depth:
            _parts(obj.element, (*path, None), depth - 1, seen, found)
    elif obj.kind in ("zip", "map", "filter", "generator", "enumerate", "iterator", "reversed"):
        found[path, OBJECT, f"a {obj.kind} object", ""] = None


def _instance(obj: Inst | LibInst) -> tuple[str, str, str] | None:
    if isinstance(obj, LibInst):
        if obj.cls == "tf.TensorArray":
            return READS, "a TensorArray", "TensorArray"
        returnable = obj.cls.startswith(_RETURNABLE) and obj.cls not in _REFUSED
        return (OBJECT, f"a `{obj.cls}`", "") if not returnable else None
    names = [b.name for b in obj.cls.mro if isinstance(b, Lib)]
    remade = _remade(obj, names)
    if remade is not None:
        return REMADE, remade, ""
    if obj.cls.derives_container or obj.cls.foreign or any(n.startswith(_RETURNABLE) for n in names):
        return None
    if any(n in ("typing.NamedTuple", "builtins.tuple", "builtins.dict", "builtins.list") for n in names):
        return None
    return OBJECT, f"a `{obj.cls.name}` object", ""


def _remade(obj: Inst, names: list[str]) -> str | None:
    """What comes back of a list, tuple or dictionary of a class of one's own, where that is another thing."""
    named = any("_fields" in cls.fields for cls in obj.cls.line) or "typing.NamedTuple" in names
    for kind in ("list", "tuple"):
        if f"builtins.{kind}" in names and not named:
            return f"a `{obj.cls.name}`, of which a plain {kind} comes back"
    if "builtins.dict" not in names:
        return None
    made = next((cls.fields["__init__"] for cls in obj.cls.line if "__init__" in cls.fields), None)
    for func in made.value if made is not None else ():
        params = func.code.params[1:] if isinstance(func, Func) else ()
        needed = [p.name for p in params if _is_needed(p)]
        if needed:
            return f"a `{obj.cls.name}`, which TensorFlow makes anew without `{needed[0]}`"
        if isinstance(func, Func) and all(p.by_name or p.is_kwargs for p in params):
            return f"a `{obj.cls.name}`, which TensorFlow makes anew of pairs, and that takes none"
    own = sorted(name for name, cell in obj.fields.items() if isinstance(name, str) and cell.writes and cell.value)
    return f"a `{obj.cls.name}`, which comes back without its field `{own[0]}`" if own else None


def _is_needed(param: Param) -> bool:
    return not param.is_starred and not param.has_default


def consumers(function: FunctionView) -> list[tuple[FrameView, ir.Call, str]] | None:
    """The calls of a function as (caller, call, how); None where nothing in the program calls it."""
    found: dict[tuple[Frame, int], tuple[FrameView, ir.Call, str]] = {}
    called = False
    for caller, pos, _, how in function.callers():
        called = True
        if how is How.GRAPH:
            continue
        instr = _call(caller, pos, function)
        if instr is not None:
            # What a graph gives to who only handed it over, that is not the result of the call.
            given = how is How.HYBRID and _is_handed(caller, instr, function.code)
            found[caller, pos] = (FrameView(function.project, caller), instr, How.CALLBACK if given else how)
        elif how in DIRECT:
            return None
    return list(found.values()) if called else None


def _call(caller: Frame, pos: int, function: FunctionView) -> ir.Call | None:
    first = call_at(caller.code, pos)
    if first is None:
        return None
    code = function.code
    return next((instr for instr in calls_at(caller.code, pos) if holds(caller, instr.function, code)), first)


def _is_handed(caller: Frame, instr: ir.Call, code: Code) -> bool:
    """Whether a call passes a function to something else, which runs it."""
    return not holds(caller, instr.function, code) and any(holds(caller, slot, code) for slot in arguments(instr))


def taken(view: FrameView, slot: int, path: tuple[object, ...]) -> Iterator[tuple[Instr, int, bool]]:
    """The uses of one part of a result: instruction, slot, and whether it is the part itself (or all around it)."""
    for use in uses(view, slot):
        if (
            path
            and isinstance(use, ir.Unpack)
            and isinstance(path[0], int)
            and use.star < 0
            and path[0] < len(use.targets)
        ):
            yield from taken(view, use.targets[path[0]], path[1:])
        elif path and isinstance(use, ir.Item) and use.source == slot:
            keys = [o.const for o in view.value(use.index) if isinstance(o, Lit)]
            if path[0] is None or not keys or path[0] in keys:
                yield from taken(view, use.target, path[1:])
        elif path and isinstance(use, ir.Attr) and use.name == "get" and _entry_gets(view, use):
            for call in _entry_gets(view, use):
                keys = [o.const for o in view.value(call.arguments[0][0]) if isinstance(o, Lit)]
                if path[0] is None or not keys or path[0] in keys:
                    yield from taken(view, call.target, path[1:])
        elif path and (
            isinstance(use, ir.Item) or (isinstance(use, ir.SetItem) and slot not in (use.index, use.value))
        ):
            continue  # another part, or something that the caller puts beside
        else:
            yield use, slot, not path


def _entry_gets(view: FrameView, method: ir.Attr) -> list[ir.Call]:
    """The calls of a dictionary's `get`, where nothing else is done with the method."""
    calls = [each for each in uses(view, method.target) if isinstance(each, ir.Call) and each.arguments]
    return calls if len(calls) == sum(1 for _ in uses(view, method.target)) else []


def site(view: FrameView, instr: Instr, message: str) -> Evidence:
    """Evidence at an instruction."""
    return Evidence(message, view.code.path, instr.position >> 16)
