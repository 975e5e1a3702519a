"""TensorFlow and NumPy as the judges of our models: a call in source text is run, traced and inferred, then compared.

In the text of a case `f(2, 3)` is a float32 tensor of that shape; the other letters are in `DTYPES`. `n` before a
letter makes it a NumPy array, `v` a variable. `{a|b}` stands for each of the alternatives: one line is many cases.
A line that starts with `~` must be covered soundly; every other one must be inferred exactly.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    NONE,
    Bound,
    Cell,
    Container,
    Heap,
    Lib,
    LibInst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    lib,
    literal,
    tensor,
    tup,
    unknown,
    wrapper,
)
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, VARIABLE, is_dynamic
from hybridize.library import registry
from hybridize.library.slicing import sliced_tensor
from hybridize.library.spec import Call

CASES = Path(__file__).parent / "op_cases"
#: Letters of dtypes; `p` and `k` make positive ints.
DTYPES = {
    "f": "float32", "d": "float64", "h": "float16", "i": "int32", "p": "int32", "k": "int64", "l": "int64",
    "u": "uint8", "b": "bool", "c": "complex64", "z": "complex128", "s": "string",
}  # fmt: skip
_CHOICE = re.compile(r"\{([^{}]*)\}")


# Cases ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    source: str
    exact: bool
    place: str

    @property
    def function(self) -> str:
        """The canonical name of the function that the case is about."""
        head = self.source.partition("(")[0]
        if "." not in head or head.partition(".")[0] not in ("tf", "np", "keras"):
            head = "np.ndarray." + self.source.rpartition("(")[0].rpartition(".")[2]
        return registry.normalize(head)


def cases(pattern: str = "*.txt") -> Iterator[Case]:
    """All cases of the tables, alternatives spelled out."""
    for path in sorted(CASES.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            exact = not text.startswith("~")
            for source in alternatives(text.lstrip("~ ")):
                yield Case(source, exact, f"{path.name}:{number}")


def alternatives(text: str) -> Iterator[str]:
    """The lines that one with `{a|b}` stands for."""
    found = _CHOICE.search(text)
    if found is None:
        yield text
        return
    for choice in found.group(1).split("|"):
        yield from alternatives(text[: found.start()] + choice.strip() + text[found.end() :])


# Running -------------------------------------------------------------------------------------------------------------


@cache
def modules() -> dict[str, Any]:
    import keras
    import numpy
    import tensorflow

    tensorflow.get_logger().setLevel("ERROR")
    return {"tf": tensorflow, "np": numpy, "keras": keras}


def array_of(letter: str, shape: tuple[int, ...]) -> Any:
    """A NumPy array of small values: floats between 0 and 1, ints that are sorted zeros and ones."""
    np = modules()["np"]
    count = int(np.prod(shape))
    if letter == "s":
        return np.array([f"w{k} v" for k in range(count)], dtype=object).reshape(shape)
    if letter in "fdhcz":
        return (0.1 + 0.8 * (np.arange(count) * 7 % 11) / 11).astype(DTYPES[letter]).reshape(shape)
    if letter in "pk":
        return (1 + np.arange(count) % 3).astype(DTYPES[letter]).reshape(shape)
    return (np.arange(count) >= (count + 1) // 2).astype(DTYPES[letter]).reshape(shape)


@dataclass
class Makers:
    """The functions `f`, `nf`, `vf` ... that a case's text calls: they make tensors, or hand out traced arguments."""

    tensors: list[Any] = field(default_factory=list)
    traced: list[Any] | None = None
    variables: list[Any] = field(default_factory=list)

    def names(self) -> dict[str, Callable[..., Any]]:
        made: dict[str, Callable[..., Any]] = {}
        for letter in DTYPES:
            made[letter] = self._maker(letter)
            made[f"n{letter}"] = lambda *shape, letter=letter: array_of(letter, shape)
            made[f"v{letter}"] = self._variable(letter)
        return made

    def _maker(self, letter: str) -> Callable[..., Any]:
        def make(*shape: int) -> Any:
            if self.traced is not None:
                return self.traced.pop(0)
            made = modules()["tf"].constant(array_of(letter, shape), DTYPES[letter])
            self.tensors.append(made)
            return made

        return make

    def _variable(self, letter: str) -> Callable[..., Any]:
        def make(*shape: int) -> Any:
            if self.traced is not None:
                return self.variables.pop(0)
            made = modules()["tf"].Variable(array_of(letter, shape), dtype=DTYPES[letter])
            self.variables.append(made)
            return made

        return make


class NotHere(Exception):
    """The installed release does not have the function."""


def run(case: Case) -> tuple[Any, Makers]:
    """Runs a case eagerly."""
    makers = Makers()
    head = case.source.partition("(")[0]
    if head.partition(".")[0] in modules():
        found: Any = modules()
        for part in head.split("."):
            try:
                found = found[part] if isinstance(found, dict) else getattr(found, part)
            except AttributeError as error:
                raise NotHere(head) from error
    return eval(case.source, makers.names() | modules()), makers


def trace(case: Case, makers: Makers, masks: list[tuple[bool, ...]]) -> Any:
    """The structured outputs of the case as a traced function; dims whose mask is true are None in the signature."""
    tf = modules()["tf"]
    specs = [
        tf.TensorSpec([None if hide else d for d, hide in zip(t.shape, mask, strict=True)], t.dtype)
        for t, mask in zip(makers.tensors, masks, strict=True)
    ]
    code = compile(case.source, case.place, "eval")

    def traced(*args: Any) -> Any:
        inner = Makers(traced=list(args), variables=list(makers.variables))
        return eval(code, inner.names() | modules())

    return tf.function(traced, autograph=False).get_concrete_function(*specs).structured_outputs


# Inferring -----------------------------------------------------------------------------------------------------------


class FakeFrame:
    """What rules need of a frame."""

    runs = 1

    def __init__(self) -> None:
        self.step = self  # its own reader of cells
        self.volatile = False
        self.effects: list[tuple[Any, ...]] = []

    def computes(self, position: int, name: str) -> None:
        pass

    computes_else = computes_operator = computes

    def looks_at_arguments(self) -> None:
        pass

    def effect(self, *noted: Any) -> None:
        self.effects.append(noted)


class FakeEngine:
    """The part of the engine that rules of operations use."""

    def __init__(self) -> None:
        self.cells = self.attributes = self.heap = self.calls = self.protocols = self.imports = self
        self.definitions = self.notes = self
        self.sites = itertools.count()

    def read(self, frame: Any, cell: Cell) -> Value:
        return cell.value

    def write(self, frame: Any, cell: Cell, value: Value, pos: int) -> None:
        cell.value = join(cell.value, value)

    def container(self, frame: Any, pos: int, kind: str, tag: str = "") -> Container:
        return Container(kind, (None, next(self.sites)), 0)

    def library_instance(self, frame: Any, pos: int, cls: str) -> LibInst:
        return LibInst(cls, (None, next(self.sites)), 0)

    def is_exact(self, frame: Any, container: Container) -> bool:
        return container.exact

    def items(self, frame: Any, obj: Heap) -> list[tuple[Any, Value]]:
        return [(name, cell.value) for name, cell in obj.fields.items()]

    def lose_exactness(self, container: Container) -> None:
        container.exact = False

    def elements(self, frame: Any, value: Value, pos: int) -> Value:
        return join_all([self._elements(obj) for obj in sorted(value, key=repr)])

    def _elements(self, obj: Obj) -> Value:
        match obj:
            case Tup():
                return join_all(list(obj.items))
            case Container():
                return join_all([c.value for c in (*obj.fields.values(), *([obj.rest] if obj.rest else []))])
            case Stream():
                return obj.element
            case Tensor():
                return tensor(obj.kind, obj.dtype, obj.shape[1:] if obj.shape else None).value
        return unknown("an element").value


class Inference:
    """Infers the value of a case's source text."""

    def __init__(self, masks: list[tuple[bool, ...]] | None = None) -> None:
        self.engine = FakeEngine()
        self.frame = FakeFrame()
        self.masks = list(masks) if masks is not None else None

    def infer(self, source: str) -> Value:
        return self._value(ast.parse(source, mode="eval").body)

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return literal(value).value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return literal(-value).value
            case ast.Tuple(elts=items):
                return tup([self._value(item) for item in items]).value
            case ast.List(elts=items):
                return self._list([self._value(item) for item in items])
            case ast.Name(id=name):
                return lib(f"builtins.{name}" if name in ("int", "float", "bool") else name).value
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript(value=owner, slice=index):
                return self._item(self._value(owner), index)
        raise NotImplementedError(ast.dump(node))

    def _list(self, items: list[Value]) -> Value:
        made = self.engine.cells.container(self.frame, 0, "list")
        for i, item in enumerate(items):
            made.cell(i).value = item
        return made.value

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self._value(node.value)
        (obj,) = owner
        if isinstance(obj, Lib):
            return lib(registry.normalize(f"{obj.name}.{node.attr}")).value
        if isinstance(obj, Tensor):
            rule = registry.property_rule(f"tensor.{obj.kind}", node.attr)
            if rule is not None:
                return rule(Call(self.engine, self.frame, 1, node.attr, [], {}, obj))  # type: ignore[arg-type]
        return frozenset((Bound(node.attr, obj),))

    def _item(self, owner: Value, index: ast.expr) -> Value:
        (obj,) = owner
        key = self._key(index)
        if isinstance(obj, Tensor):
            return sliced_tensor(Call(self.engine, self.frame, 1, "getitem", [key], {}, obj), obj, key)  # type: ignore[arg-type]
        (at,) = key
        assert isinstance(at, Lit)
        if isinstance(obj, Tup):
            return obj.items[at.const]
        assert isinstance(obj, Container)
        return obj.fields[at.const].value

    def _key(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Slice):
            parts = [self._value(p) if p else NONE.value for p in (node.lower, node.upper, node.step)]
            return wrapper("slice", BOTTOM, *parts).value
        if isinstance(node, ast.Tuple):
            return tup([self._key(item) for item in node.elts]).value
        return self._value(node)

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Name):
            made = self._made(node)
            if made is not None:
                return made
        func = next(iter(self._value(node.func)))
        args = [self._value(a) for a in node.args]
        kwargs = {k.arg: self._value(k.value) for k in node.keywords if k.arg}
        if isinstance(func, Bound):
            assert isinstance(func.func, str)
            assert isinstance(func.receiver, Tensor)
            found = registry.method_spec(f"tensor.{func.receiver.kind}", func.func)
            if found is None or found[1].rule is None:
                return unknown("a method").value
            name = f"{found[0]}.{func.func}"
            return found[1].rule(Call(self.engine, self.frame, 1, name, args, kwargs, func.receiver))  # type: ignore[arg-type]
        assert isinstance(func, Lib)
        name = registry.normalize(func.name)
        call = Call(self.engine, self.frame, 1, name, args, kwargs)  # type: ignore[arg-type]
        spec = registry.function_spec(name)
        if spec is not None and spec.rule is not None:
            return spec.rule(call)
        rule = registry.make_rule(name)
        return rule(call) if rule is not None else unknown(f"no model of {name}").value

    def _made(self, node: ast.Call) -> Value | None:
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        letter = name[-1]
        if name == "np" or letter not in DTYPES or name[:-1] not in ("", "n", "v"):
            return None
        shape = tuple(ast.literal_eval(a) for a in node.args)
        kind = {"n": NDARRAY, "v": VARIABLE}.get(name[:-1], DENSE)
        if kind == DENSE and self.masks is not None:
            shape = tuple(DYNAMIC if hide else d for d, hide in zip(shape, self.masks.pop(0), strict=True))
        return tensor(kind, DTYPES[letter], shape).value


# Comparing -----------------------------------------------------------------------------------------------------------

WRONG, COVERED, EXACT = "wrong", "covered", "exact"
_ORDER = (WRONG, COVERED, EXACT)


def worst(verdicts: list[str]) -> str:
    return min(verdicts, key=_ORDER.index, default=EXACT)


def compare(value: Value, actual: Any, traced: Any = None) -> str:
    """Whether a value is what was computed; `traced` (the same with all input dims known) excuses DYNAMIC dims."""
    if not value:
        return WRONG
    return (
        max((_compare(obj, actual, traced) for obj in value), key=_ORDER.index)
        if len(value) == 1
        else min(COVERED, max((_compare(obj, actual, traced) for obj in value), key=_ORDER.index), key=_ORDER.index)
    )


def _compare(obj: Obj, actual: Any, traced: Any) -> str:
    tf, np = modules()["tf"], modules()["np"]
    match obj:
        case Unknown():
            return COVERED
        case Tup() | Container():
            return _compare_sequence(obj, actual, traced)
        case Stream():
            if not isinstance(actual, tuple | list):
                return WRONG
            return worst([COVERED, *(compare(obj.element, item) for item in actual)])
        case Lit():
            return EXACT if type(actual) is type(obj.const) and actual == obj.const else WRONG
        case Prim():
            return EXACT if type(actual).__name__ == obj.kind else WRONG
        case Tensor():
            kinds = {
                "dense": tf.Tensor,
                "symbolic": tf.Tensor,
                "ragged": tf.RaggedTensor,
                "sparse": tf.SparseTensor,
                "variable": tf.Variable,
                "ndarray": (np.ndarray, np.generic),
            }
            if not isinstance(actual, kinds[obj.kind]):
                return WRONG
            return _compare_types(obj, actual, traced)
    return WRONG


def _compare_sequence(obj: Tup | Container, actual: Any, traced: Any) -> str:
    if not isinstance(actual, tuple | list):
        return WRONG
    if isinstance(obj, Container):
        if not obj.exact:
            element = join_all([c.value for c in (*obj.fields.values(), *([obj.rest] if obj.rest else []))])
            return worst([COVERED, *(compare(element, item) for item in actual)])
        items = [c.value for c in obj.fields.values()]
    else:
        items = list(obj.items)
    if len(items) != len(actual):
        return WRONG
    inner = list(traced) if isinstance(traced, tuple | list) and len(traced) == len(items) else [None] * len(items)
    return worst([compare(v, a, t) for v, a, t in zip(items, actual, inner, strict=True)])


def dtype_name(actual: Any) -> str:
    name = getattr(actual.dtype, "name", str(actual.dtype)).removesuffix("_ref")
    return "string" if name.startswith(("str", "bytes")) else name


def _compare_types(obj: Tensor, actual: Any, traced: Any) -> str:
    if obj.dtype is not None and obj.dtype != dtype_name(actual):
        return WRONG
    verdict = EXACT if obj.dtype is not None else COVERED
    if obj.shape is None:
        return COVERED
    shape = tuple(actual.shape)
    if len(shape) != len(obj.shape):
        return WRONG
    static = tuple(traced.shape) if traced is not None and getattr(traced, "shape", None) is not None else None
    for i, (ours, real) in enumerate(zip(obj.shape, shape, strict=True)):
        if ours >= 0 and ours != real:
            return WRONG
        if ours < 0 and real is not None:
            left_open = obj.kind in (NDARRAY, "ragged") or (static is not None and static[i] is None)
            excused = is_dynamic(ours) and left_open
            verdict = verdict if excused else COVERED
    if obj.content is not None and hasattr(actual, "numpy"):
        values = actual.numpy().reshape(-1)
        if len(values) != len(obj.content) or any(d >= 0 and d != v for d, v in zip(obj.content, values, strict=True)):
            return WRONG
    return verdict


def compare_traced(value: Value, traced: Any, eager: Any) -> str:
    """As `compare`, for what tracing gave: a number where TensorFlow says None must be the one that eager runs have."""
    tf = modules()["tf"]
    if isinstance(traced, tuple | list) and len(value) == 1:
        (obj,) = value
        items = list(obj.items) if isinstance(obj, Tup) else None
        if isinstance(obj, Container) and obj.exact:
            items = [c.value for c in obj.fields.values()]
        if items is not None and len(items) == len(traced):
            return worst([compare_traced(v, t, e) for v, t, e in zip(items, traced, eager, strict=True)])
        return COVERED
    if not isinstance(traced, tf.Tensor | tf.TensorSpec):
        return COVERED
    return max((_traced_tensor(obj, traced, eager) for obj in value), key=_ORDER.index, default=WRONG)


def _traced_tensor(obj: Obj, traced: Any, eager: Any) -> str:
    if not isinstance(obj, Tensor):
        return COVERED if isinstance(obj, Unknown) else WRONG
    if obj.dtype is not None and obj.dtype != dtype_name(traced):
        return WRONG
    if obj.shape is None or traced.shape.rank is None:
        return COVERED
    if len(obj.shape) != traced.shape.rank:
        return WRONG
    verdict = EXACT if obj.dtype else COVERED
    for ours, real, run_time in zip(obj.shape, traced.shape, tuple(eager.shape), strict=True):
        if ours >= 0 and ours != (run_time if real is None else real):
            return WRONG
        if ours < 0 and real is not None:
            verdict = COVERED
    return verdict


# Judging -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    case: Case
    verdict: str
    detail: str = ""


def judge(case: Case, *, traces: bool = True) -> Verdict | None:
    """Runs one case through inference and TensorFlow; None if this release does not have the function."""
    try:
        actual, makers = run(case)
    except NotHere:
        return None
    value = Inference().infer(case.source)
    verdict = compare(value, actual)
    static = None
    if verdict == COVERED:
        try:
            static = trace(case, makers, [(False,) * len(t.shape) for t in makers.tensors])
        except Exception:  # not every call can be traced
            static = None
        if static is not None:
            verdict = compare(value, actual, static)
    if verdict == WRONG or (case.exact and verdict != EXACT):
        return Verdict(
            case, verdict, f"{case.place}: {case.source}\n    inferred {show_value(value)}, got {show_actual(actual)}"
        )
    if traces and makers.tensors and case.source.startswith("tf."):
        for masks in _masks(makers):
            try:
                traced = trace(case, makers, masks)
            except Exception:  # unknown dims are not allowed everywhere
                continue
            inferred = Inference(masks).infer(case.source)
            if compare_traced(inferred, traced, actual) == WRONG:
                detail = f"{case.place}: {case.source} with None where {masks}\n"
                detail += f"    inferred {show_value(inferred)}, got {traced}"
                return Verdict(case, WRONG, detail)
    return Verdict(case, verdict)


def _masks(makers: Makers) -> list[list[tuple[bool, ...]]]:
    ranks = [len(t.shape) for t in makers.tensors]
    everything = [(True,) * r for r in ranks]
    batch = [(True, *(False,) * (r - 1)) if r else () for r in ranks]
    return [m for m in ([everything, batch] if everything != batch else [everything]) if any(map(any, m))]


def show_value(value: Value) -> str:
    return " | ".join(sorted(_show(obj) for obj in value)) or "nothing"


def _show(obj: Obj) -> str:
    if isinstance(obj, Container):
        return "[" + ", ".join(show_value(c.value) for c in obj.fields.values()) + ("" if obj.exact else ", ...") + "]"
    if isinstance(obj, Tup):
        return "(" + ", ".join(map(show_value, obj.items)) + ")"
    return f"{obj!r} {obj.shape}" if isinstance(obj, Tensor) else repr(obj)


def show_actual(actual: Any) -> str:
    if isinstance(actual, tuple | list):
        return "(" + ", ".join(map(show_actual, actual)) + ")"
    if hasattr(actual, "dtype"):
        return f"{type(actual).__name__}:{dtype_name(actual)}{tuple(actual.shape)}"
    return repr(actual)[:80]
