"""HY354: what a graph does not know of a shape, operation after operation. TensorFlow is asked what it knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """\
import numpy as np
import tensorflow as tf
def host(x):
    return tf.numpy_function(lambda v: v, [x], tf.float32)
def some(x):
    return tf.boolean_mask(x, x[:, 0] > 0)
"""
#: What makes a tensor of x (floats of shape [3, 4]), w ([4, 4]) and n (a whole number): all that is not known at first.
SOURCES = {
    "a host function": "host(x)",
    "TensorFlow's own host function": "tf.py_function(lambda v: v, [x], tf.float32)",
    "one of two results": "tf.py_function(lambda v: (v, v), [x], [tf.float32, tf.float32])[1]",
    "bytes": "tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.float32)",
    "a mask": "some(x)",
    "an index": "tf.where(x > 0)",
    "unique values": "tf.unique(tf.reshape(x, [-1]))[0]",
    "unique values, their counts": "tf.unique_with_counts(tf.reshape(x, [-1]))[2]",
    "a sparse tensor": "tf.sparse.to_dense(tf.sparse.from_dense(x))",
    "a ragged tensor": "tf.RaggedTensor.from_row_lengths(x[0], [1, 3]).to_tensor()",
    "parts": "tf.dynamic_partition(x, [0, 1, 1], 2)[1]",
    "a shape that is computed": "tf.reshape(x, tf.stack([n, -1]))",
    "a shape of unknown length": "tf.reshape(x, tf.where(tf.ones([n]) > 0)[:, 0] * 0 - 1)",
}
#: What is then done with h, of which the rank is not known.
THEN = {
    "more axes": "tf.expand_dims(h, 0)",
    "more axes by index": "h[tf.newaxis]",
    "arithmetic": "h * 2.0 + 1.0",
    "arithmetic with a known one": "h + x",
    "a function of each": "tf.nn.relu(tf.exp(h))",
    "a cast": "tf.cast(h, tf.float64)",
    "an axis turned": "tf.transpose(h)",
    "axes turned": "tf.transpose(h, [1, 0])",
    "reshaped": "tf.reshape(h, [-1, 4])",
    "reshaped to a size": "tf.reshape(h, [3, 4])",
    "reshaped by its own shape": "tf.reshape(h, tf.shape(h))",
    "reshaped by another's shape": "tf.reshape(h, tf.shape(x))",
    "a sum of all": "tf.reduce_sum(h)",
    "a sum of rows": "tf.reduce_sum(h, axis=0)",
    "a sum that keeps its axes": "tf.reduce_sum(h, axis=1, keepdims=True)",
    "joined": "tf.concat([h, h], 0)",
    "joined with a known one": "tf.concat([x, h], 0)",
    "stacked": "tf.stack([h, h])",
    "a row": "h[0]",
    "some rows": "h[1:]",
    "a column": "h[..., 0]",
    "chosen rows": "tf.gather(h, [0, 1])",
    "repeated": "tf.tile(h, [2, 1])",
    "padded": "tf.pad(h, [[1, 1], [0, 0]])",
    "multiplied": "h @ w",
    "multiplied, the other way": "tf.linalg.matmul(x, h, transpose_b=True)",
    "a trace": "tf.linalg.trace(h)",
    "the diagonal": "tf.linalg.diag_part(h)",
    "squeezed": "tf.squeeze(h)",
    "one of two": "tf.where(h > 0, h, -h)",
    "one of two, with a known one": "tf.where(x > 0, h, x)",
    "zeros like it": "tf.zeros_like(h)",
    "its shape": "tf.shape(h)",
    "its size": "tf.size(h)",
    "its rank": "tf.rank(h)",
    "said": "tf.ensure_shape(h, [3, 4])",
    "said in part": "tf.ensure_shape(h, [None, 4])",
    "conjugated": "tf.math.conj(h)",
    "clipped": "tf.clip_by_value(h, 0.0, 1.0)",
    "normalized": "tf.nn.l2_normalize(h, axis=-1)",
    "softmax": "tf.nn.softmax(h)",
    "broadcast": "tf.broadcast_to(h, [2, 3, 4])",
    "one hot": "tf.one_hot(tf.cast(h, tf.int32), 5)",
    "a norm": "tf.norm(h)",
    "mapped": "tf.map_fn(lambda r: r * 2.0, h)",
    "a contraction": "tf.einsum('ij,jk->ik', h, w)",
    "a contraction of axes": "tf.tensordot(h, w, 1)",
    "a list's sum": "tf.add_n([h, h])",
    "reversed": "tf.reverse(h, [0])",
    "sorted": "tf.sort(h)",
    "the largest": "tf.argmax(h, axis=0)",
    "cumulated": "tf.cumsum(h)",
    "not followed back": "tf.stop_gradient(tf.identity(h))",
    "two steps": "tf.expand_dims(tf.transpose(h) * 2.0, 0)",
    "two steps that say a rank": "tf.reshape(tf.transpose(h), [-1, 2]) + 1.0",
    "the one kept by a list": "[h * 2.0, x][0]",
    "the one of a helper": "(lambda a: a + 1.0)(h)",
}
PROGRAMS: Mapping[str, str] = {
    **{f"of {name}": f"y = {code}" for name, code in SOURCES.items()},
    **{f"of a host function, {name}": f"h = host(x)\n    y = {code}" for name, code in THEN.items()},
    **{
        f"of a mask, {name}": f"h = some(x)\n    y = {code}"
        for name, code in THEN.items()
        if name not in ("reshaped to a size", "multiplied, the other way")
    },
}
QUESTIONS = ("rank", 0, 1, 2)


def functions() -> dict[tuple[str, object], str]:
    """The source of a function for each question of each program."""
    return {
        (
            name,
            asked,
        ): f"def target_{number}_{asked}(x, w, n):\n    {program}\n    return tf.ones([2]) * float({read})\n"
        for number, (name, program) in enumerate(PROGRAMS.items())
        for asked in QUESTIONS
        for read in ["len(y.shape)" if asked == "rank" else f"y.shape[{asked}]"]
    }


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, object], bool]:
    """Whether the tool says of a question that a graph does not know."""
    folder, sources = tmp_path_factory.mktemp("shapes"), functions()
    names = [source[4 : source.index("(")] for source in sources.values()]
    calls = "".join(f"    {name}(tf.ones([3, 4]), tf.ones([4, 4]), tf.constant(3))\n" for name in names)
    (folder / "program.py").write_text(HEAD + "".join(sources.values()) + f"for _ in range(5):\n{calls}")
    report = analyze([folder], Config(all_safe=True), repairs=False)
    codes = {f.facts.qualname: {status.code for status in f.statuses} for f in report.functions}
    return {key: "HY354" in codes[name] for key, name in zip(sources, names, strict=True)}


def known_to_tensorflow(program: str) -> Any:
    """The static shape of y in a graph."""
    tf: Any = pytest.importorskip("tensorflow")
    space: dict[str, Any] = {}
    exec(f"{HEAD}def target(x, w, n):\n    {program}\n    seen.append(y.shape)\n", space)
    space["seen"] = []
    tf.function(space["target"], autograph=False)(tf.ones([3, 4]), tf.ones([4, 4]), tf.constant(3))
    return space["seen"][0]


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_graph_does_not_know_is_told(name: str, told: dict[tuple[str, object], bool]) -> None:
    shape = known_to_tensorflow(PROGRAMS[name])
    if shape.rank is None:
        assert all(told[name, asked] for asked in QUESTIONS)
        return
    assert not told[name, "rank"]
    assert [told[name, axis] for axis in range(min(shape.rank, 3))] == [dim is None for dim in shape[:3]]
