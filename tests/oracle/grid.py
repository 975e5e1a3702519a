"""A grid of expressions and arguments: what each comes to as a function of a library, eagerly and as a graph.

A library's caller may pass anything, and each function of TensorFlow converts what it gets in its own way, in eager
code in another one than in a graph. So every expression here meets every argument, its tests show which one, and
TensorFlow says whether a graph would come to the same. Run as a script with a folder, it says so of the pairs in
`pairs.json` there.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any, Final

#: What is passed.
ARGUMENTS: Final = {
    "float32": "tf.ones(3)",
    "float64": "tf.ones(3, tf.float64)",
    "int32": "tf.constant([1, 2, 3])",
    "int64": "tf.constant([1, 2, 3], tf.int64)",
    "bool": "tf.constant([True, False, True])",
    "scalar": "tf.constant(0.5)",
    "index": "tf.constant(2)",
    "matrix": "tf.eye(3)",
    "variable": "tf.Variable([1.0, 2.0, 3.0])",
    "ragged": "tf.ragged.constant([[1.0], [2.0, 3.0]])",
    "array": "np.ones(3)",
    "array32": "np.ones(3, np.float32)",
    "integers": "np.arange(3)",
    "mask": "np.array([True, False, True])",
    "table": "np.eye(3)",
    "np_float": "np.float64(0.5)",
    "np_int": "np.int64(2)",
    "np_bool": "np.bool_(True)",
    "python_float": "0.5",
    "python_int": "2",
    "python_bool": "True",
    "nothing": "None",
    "floats": "[0.5, 1.5, 2.5]",
    "arrays": "[np.ones(3), np.ones(3)]",
    "tensors": "[tf.ones(3), tf.ones(3)]",
}
#: Functions of one argument.
_OF_ONE: Final = """
tf.ones(3) * x; x * tf.ones(3); x + 1.0; x / 2 + tf.zeros(3); tf.zeros(3) + x // 2; tf.reduce_sum(-x)
x[0] * tf.ones(2); tf.reduce_sum(abs(x)); tf.reduce_sum(x ** 2); tf.reduce_sum(x @ x); tf.reduce_any(x > 0); tf.exp(x)
tf.square(x); tf.maximum(x, 0.0); tf.maximum(0.0, x); tf.maximum(x, 0); tf.maximum(0, x); tf.minimum(1.0, x)
tf.pow(x, 2); tf.pow(2.0, x); tf.cast(x, tf.float32); tf.convert_to_tensor(x, tf.float32) * 2.0
tf.convert_to_tensor(x) * 2; tf.subtract(x, 1.0); tf.concat([x, x], 0); tf.stack([x, x]); tf.math.log(x + 1e-8)
tf.matmul(x, x); tf.where(x > 0, x, 0.0); tf.where(x, 1.0, 2.0); tf.clip_by_value(x, 0.0, 1.0)
tf.reduce_mean(x, axis=-1); tf.exp(sum(x)); tf.ones(tf.size(x)); tf.ones(tf.shape(x)); tf.zeros(1) + len(x.shape)
tf.zeros(1) + x.ndim; tf.zeros(2, x.dtype); tf.constant(x) * 2; tf.ones_like(x); len(x) * tf.ones(1)
tf.expand_dims(x, 0); tf.reshape(x, [-1]); tf.add_n(x); tf.zeros(1) + (0.0 if x is None else 1.0)
tf.reduce_all(tf.equal(x, x)); tf.repeat(x, 2); tf.tile(tf.reshape(x, [-1]), [2]); tf.range(x); tf.one_hot(x, 4)
tf.gather(tf.ones(5), x); tf.fill([2], x); tf.zeros(x); tf.ones(3) * np.sqrt(x); tf.ones(3) * np.sum(x)
tf.ones(3) * float(x); tf.reduce_sum(tf.transpose(x)); tf.norm(x); tf.sort(x); tf.cumsum(x)
tf.ones(1) * (2.0 if isinstance(x, (int, float)) else 3.0); tf.identity(x); tf.nn.softmax(x)
tf.ones(1) * (2.0 if tf.is_tensor(x) else 3.0); tf.add_n([tf.exp(v) for v in x]); tf.stack([*x])
tf.tensordot(x, x, 1); tf.einsum("i,i->", x, x); tf.nn.relu(x); tf.ones(3) * np.asarray(x); tf.math.logical_not(x)
tf.cond(x, lambda: 1.0, lambda: 2.0); tf.math.segment_sum(tf.ones(3), x); tf.dynamic_partition(tf.ones(3), x, 3)
tf.exp(x) * round(x); tf.strings.as_string(x)
"""
#: Functions of two, of which the first is a tensor or an array.
_OF_TWO: Final = """
x * y; tf.exp(x) + y; y - tf.exp(x); tf.math.log(x) / y; tf.exp(x) ** y; y ** tf.exp(x); tf.maximum(x, y)
tf.where(y > 1, x, y); tf.where(y, x, 0.0); tf.concat([x, y], 0); tf.stack([x, y]); tf.gather(tf.exp(x), y)
tf.exp(x)[y]; tf.exp(x)[:y]; tf.repeat(x, y); tf.clip_by_value(x, 0.0, y); tf.reshape(x, [y]); tf.reshape(x, y)
tf.reduce_sum(x, axis=y); tf.range(y) + 1; tf.fill([3], y) * x; tf.add_n([tf.exp(x) for _ in range(y)])
tf.exp(x) if y > 1 else tf.sin(x); tf.exp(x) if y is None else tf.sin(x); tf.constant(y, dtype=tf.float32) * x
tf.cast(y, x.dtype) * x; tf.convert_to_tensor(y, dtype=tf.float32) * x; tf.tensordot(x, y, 1)
tf.reduce_sum(x) + sum(y); tf.exp(x) * len(y); tf.exp(x) * float(y); tf.exp(x) * np.multiply(y, 2.0)
tf.exp(x) / np.sqrt(y); tf.reduce_all(x == y); y.assign(x); tf.exp(x) if isinstance(y, float) else tf.sin(x)
tf.exp(x) if hasattr(y, "shape") else tf.sin(x); tf.exp(x) * -y; tf.exp(x) % y; tf.exp(x) // y
tf.linspace(0.0, y, 3) * x; tf.eye(y); tf.one_hot([0, 1], y); tf.roll(x, y, 0)
tf.random.normal([3], mean=y, stddev=0.0) * x; tf.pad(x, [[0, y]]); tf.tile(x, [y]); tf.split(x, y)
tf.boolean_mask(x, y); tf.math.top_k(x, y)[0]; tf.reduce_any(tf.less(y, x)); tf.atan2(y, x)
tf.map_fn(lambda v: v * y, x); tf.keras.losses.huber(x, y); tf.exp(x) if y in (1, 2) else tf.sin(x); tf.complex(x, y)
tf.logical_and(x > 0, y); tf.reduce_mean(y) * x; tf.identity(y) + x; tf.cond(y, lambda: tf.exp(x), lambda: tf.sin(x))
tf.exp(x) * y.shape[0]; tf.add_n([tf.exp(x) * v for v in y])
"""
FIRST: Final = ("float32", "float64", "int32", "variable", "array", "array32")
#: What is no second one: structures, of which each function makes something of its own.
_STRUCTURES: Final = frozenset({"ragged", "arrays", "tensors"})
#: What is known to be converted although it differs, and why.
KNOWN: Final = {
    ("tf.stack([x, x])", "integers"): "eager code makes int32 of arrays of int64, a graph keeps int64",
    ("tf.stack([x, x])", "np_int"): "the same of a scalar",
    ("tf.constant(x) * 2", "arrays"): "a list of arrays is a list of tensors in a graph, and no constant",
}

Pair = tuple[str, tuple[str, ...]]


def pairs() -> list[Pair]:
    """Every expression with every argument."""
    one = [(e, (a,)) for e in _listed(_OF_ONE) for a in ARGUMENTS]
    second = [each for each in ARGUMENTS if each not in _STRUCTURES]
    return [*one, *((e, (a, b)) for e in _listed(_OF_TWO) for a in FIRST for b in second)]


def _listed(text: str) -> list[str]:
    return [each.strip() for line in text.strip().splitlines() for each in line.split(";") if each.strip()]


def sample(count: int, seed: int) -> list[Pair]:
    return random.Random(seed).sample(pairs(), count)


def write_library(folder: Path, chosen: list[Pair]) -> None:
    """A package with a function of each pair, and the tests that call them."""
    head = "import numpy as np\nimport tensorflow as tf\n"
    ops, tests = [head], [head + "from package import ops\n"]
    for i, (expression, arguments) in enumerate(chosen):
        ops.append(f"def f{i}({', '.join('xy'[: len(arguments)])}):\n    return {expression}\n")
        tests.append(f"def test_f{i}():\n    ops.f{i}({', '.join(ARGUMENTS[a] for a in arguments)})\n")
    for name, text in {
        "pyproject.toml": '[project]\nname = "package"\nversion = "1"\ndependencies = ["tensorflow"]\n',
        "package/__init__.py": "",
        "package/ops.py": "\n\n".join(ops),
        "tests/test_ops.py": "\n\n".join(tests),
        "pairs.json": json.dumps(chosen),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def main(folder: Path) -> None:
    """Prints for each pair whether both ways come to the same; null where eager code raises, too."""
    import numpy as np
    import tensorflow as tf

    sys.path.insert(0, str(folder))
    from package import ops

    def run(function: Any, arguments: list[str]) -> Any:
        given = [eval(ARGUMENTS[a], {"tf": tf, "np": np}) for a in arguments]
        try:
            return _shown(function(*given))
        except Exception as error:
            return type(error)

    outcomes = []
    for i, (_, arguments) in enumerate(json.loads((folder / "pairs.json").read_text())):
        function = getattr(ops, f"f{i}")
        eager = run(function, arguments)
        outcomes.append(None if isinstance(eager, type) else eager == run(tf.function(function), arguments))
    print(json.dumps(outcomes))


def _shown(result: Any) -> Any:
    """What a caller may tell two results by: class, dtype, shape and, to four digits, values."""
    import numpy as np
    import tensorflow as tf

    if isinstance(result, (list, tuple)):
        return type(result).__name__, [_shown(each) for each in result]
    if isinstance(result, tf.RaggedTensor):
        return "ragged", result.to_list()
    if tf.is_tensor(result) and not isinstance(result, tf.Variable):
        return result.dtype.name, tuple(result.shape), np.array2string(result.numpy(), precision=4)
    return type(result).__name__, repr(result)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
