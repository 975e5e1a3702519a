"""Keras as the judge of our models of it: lines of source text are run, inferred by the whole engine, and compared.

A line is statements and, after the last `;`, an expression. `f(2, 3)` in it is a float32 tensor of that shape, `d`
float64, `i` int32, `l` int64, `b` bool, `s` string, `nf` and so on arrays, `k(3)` a symbolic input. `{a|b}` stands for
each of the alternatives. Every line must be inferred exactly; one that starts with `~` need only be covered, one that
starts with `=` is not tried on symbolic inputs. A line `@2`, `@3` or `@all` names the version that has what stands
below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridize.domain.objects import Container, Lit, Obj, Prim, Stream, Tensor, Tup, Unknown, Value, show
from hybridize.domain.tensors import is_dynamic
from hybridize.library import registry

CASES = Path(__file__).parent / "keras_cases"
_CHOICE = re.compile(r"\{([^{}]*)\}")
_INPUT = re.compile(r"(?<![\w.])(n?)([fdilbsuh])\(([\d, ]*)\)")
_SYMBOLIC = re.compile(r"(?<![\w.])([fi])\((\d+), ?([\d, ]*)\)")
_KERAS_NAME = re.compile(r"keras(?:\.[A-Za-z_0-9]+)+")
DTYPES = {
    "f": "float32",
    "d": "float64",
    "i": "int32",
    "l": "int64",
    "b": "bool",
    "s": "str",
    "u": "uint8",
    "h": "float16",
}
PRELUDE = """
import numpy as np
import tensorflow as tf
import keras

class Echo(keras.layers.Layer):
    def call(self, inputs):
        return inputs

class Scale(keras.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units))

    def call(self, inputs):
        return tf.matmul(inputs, self.w)

@keras.utils.register_keras_serializable("tests")
class Seven(keras.layers.Dense):
    def __init__(self):
        super().__init__(7)

class Doubled(keras.layers.Dense):
    def call(self, inputs):
        x = super().call(inputs)
        return tf.concat([x, x], axis=-1)

class Cell(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.state_size = units

    def call(self, inputs, states):
        h = states[0] + 1.0
        return h, [h]

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(5)
        self.second = keras.layers.Dense(2)

    def call(self, inputs, training=None):
        return self.second(self.first(inputs))

def wrapped(layer, times):
    for _ in range(times):
        layer = keras.layers.Bidirectional(layer)
    return layer

class Squares(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return tf.square(y_true - y_pred)
"""

EXACT, COVERED, WRONG = "exact", "covered", "wrong"
_ORDER = (WRONG, COVERED, EXACT)


@dataclass(frozen=True)
class Case:
    source: str
    exact: bool
    place: str
    release: str
    eager: bool = False

    @property
    def functions(self) -> set[str]:
        """The canonical names of the public Keras callables that the case exercises."""
        return {registry.normalize(name) for name in _KERAS_NAME.findall(self.source)}

    @property
    def code(self) -> str:
        """The body of a function that computes the case's value."""
        *before, last = expanded(self.source).split(";")  # no case has one in a string
        lines = [*(b.strip() for b in before), f"return {last.strip()}"]
        return "".join(f"    {line}\n" for line in lines)

    def symbolic(self) -> Case | None:
        """The same case on symbolic inputs with a batch that is not known."""
        text = _SYMBOLIC.sub(_symbol, self.source)
        return None if text == self.source or self.eager else Case(text, False, self.place, self.release)


def _symbol(match: re.Match[str]) -> str:
    letter, _, rest = match.groups()
    dims = ", ".join(d.strip() for d in rest.split(",") if d.strip())
    return f"keras.Input(({dims},), dtype={DTYPES[letter]!r})"


def expanded(text: str) -> str:
    """A line with its inputs spelled out."""

    def spell(match: re.Match[str]) -> str:
        array, letter, dims = match.groups()
        shape = f"[{dims}]"
        if letter == "s":
            return f"tf.fill({shape}, 'a b')"
        return f"tf.ones({shape}, {DTYPES[letter]!r})" + (".numpy()" if array else "")

    text = re.sub(r"(?<![\w.])k\(([\d, ]*)\)", r"keras.Input((\1,))", text)
    return _INPUT.sub(spell, text)


def cases(pattern: str = "*.txt") -> Iterator[Case]:
    """All cases of the tables, alternatives spelled out."""
    for path in sorted(CASES.glob(pattern)):
        release = "all"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            if text.startswith("@"):
                release = text[1:]
            elif text and not text.startswith("#"):
                for source in alternatives(text.lstrip("~= ")):
                    exact, eager = not text.startswith("~"), text.startswith("=")
                    yield Case(source, exact, f"{path.name}:{number}", release, eager)


def alternatives(text: str) -> Iterator[str]:
    """The lines that one with `{a|b}` stands for."""
    found = _CHOICE.search(text)
    if found is None:
        yield text
        return
    for choice in found.group(1).split("|"):
        yield from alternatives(text[: found.start()] + choice.strip() + text[found.end() :])


# Inferring -----------------------------------------------------------------------------------------------------------


def report(given: list[Case], folder: Path) -> tuple[list[str], set[str]]:
    """What is wrong, and the public callables about which some case was inferred exactly."""
    wrong: list[str] = []
    good: set[str] = set()
    for case, value in zip(given, infer(given, folder), strict=True):
        try:
            actual = run(case)
        except Exception as error:
            if case.exact:
                wrong.append(f"{case.place}: {case.source} raised {type(error).__name__}: {str(error)[:150]}")
            continue
        verdict = compare(value, actual)
        if verdict == WRONG or (case.exact and verdict != EXACT):
            wrong.append(f"{case.place}: {case.source}\n    {verdict}: {show(value)}, got {show_actual(actual)}")
        if verdict == EXACT:
            good |= case.functions
    return wrong, good


def infer(all_cases: list[Case], folder: Path) -> list[Value]:
    """What the engine infers for each case: one program with a function per case."""
    text = PRELUDE + "".join(f"def case_{i}():\n{case.code}" for i, case in enumerate(all_cases))
    text += "".join(f"case_{i}()\n" for i in range(len(all_cases)))
    (folder / "program.py").write_text(text, encoding="utf-8")
    from hybridize.flow.solve import FlowOptions, Solver
    from hybridize.program.build import build_program
    from hybridize.source import ImportTable, discover, find_src_roots

    found = discover([folder])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    assert not program.errors, program.errors
    solution = Solver(program, FlowOptions()).solve_entries()
    results: dict[str, Value] = {}
    for _, code in program.functions():
        results[code.qualname] = frozenset(o for frame in solution.frames.get(code, ()) for o in frame.ret)
    return [results.get(f"case_{i}", frozenset()) for i in range(len(all_cases))]


# Running -------------------------------------------------------------------------------------------------------------


def run(case: Case) -> Any:
    """Runs a case in the installed release."""
    import keras
    import numpy
    import tensorflow

    scope: dict[str, Any] = {"tf": tensorflow, "np": numpy, "keras": keras}
    exec(PRELUDE, scope)
    exec(f"def case():\n{case.code}", scope)
    return scope["case"]()


# Comparing -----------------------------------------------------------------------------------------------------------


def compare(value: Value, actual: Any) -> str:
    """How an inferred value relates to what a run gave: the best of its objects counts."""
    return max((_compare(obj, actual) for obj in value), key=_ORDER.index, default=WRONG)


def _compare(obj: Obj, actual: Any) -> str:
    match obj:
        case Unknown():
            return COVERED
        case Tensor():
            return _tensor(obj, actual)
        case Tup() | Container():
            return _sequence(obj, actual)
        case Lit():
            return EXACT if type(obj.const) is type(actual) and obj.const == actual else WRONG
        case Prim():
            return EXACT if obj.kind == type(actual).__name__ else WRONG
        case Stream():
            return COVERED
    return EXACT if type(obj).__name__ == "LibInst" and hasattr(actual, "call") else COVERED


def _sequence(obj: Tup | Container, actual: Any) -> str:
    if isinstance(obj, Container) and obj.kind == "dict":
        return COVERED if isinstance(actual, dict) else WRONG
    if not isinstance(actual, list | tuple) and not hasattr(actual, "__len__"):
        return WRONG
    if isinstance(obj, Tup):
        items = list(obj.items)
    elif obj.exact:
        items = [cell.value for cell in obj.fields.values()]
    else:
        return COVERED
    if len(items) != len(actual):
        return WRONG
    return min((compare(v, a) for v, a in zip(items, actual, strict=True)), key=_ORDER.index, default=EXACT)


def dtype_name(actual: Any) -> str:
    """The dtype of a tensor, variable, array or symbolic tensor."""
    name = getattr(actual.dtype, "name", actual.dtype)
    return "string" if name == "object" else str(name)


def _kind(actual: Any) -> set[str]:
    name = type(actual).__name__
    if "RaggedTensor" in name:
        return {"ragged"}
    if "SparseTensor" in name:
        return {"sparse"}
    if name == "KerasTensor":
        return {"symbolic"}
    if "Variable" in name:
        return {"variable"}
    return {"ndarray"} if name in ("ndarray", "float32", "float64", "int64") else {"dense"}


def _tensor(obj: Tensor, actual: Any) -> str:
    if not hasattr(actual, "dtype") or obj.kind not in _kind(actual):
        return WRONG
    if obj.dtype is not None and obj.dtype != dtype_name(actual):
        return WRONG
    verdict = EXACT if obj.dtype is not None else COVERED
    shape = getattr(actual, "shape", None)
    if obj.shape is None or shape is None or getattr(shape, "rank", 0) is None:
        return COVERED
    if len(shape) != len(obj.shape):
        return WRONG
    for ours, real in zip(obj.shape, shape, strict=True):
        if ours >= 0 and ours != real:
            return WRONG
        if ours < 0 and (real is not None or not is_dynamic(ours)):
            verdict = COVERED
    return verdict


def show_actual(actual: Any) -> str:
    """What a run gave, for a message."""
    if isinstance(actual, tuple | list):
        return "(" + ", ".join(map(show_actual, actual)) + ")"
    if hasattr(actual, "dtype"):
        return f"{_kind(actual)}:{dtype_name(actual)}{getattr(actual, 'shape', '')}"
    return repr(actual)[:80]
