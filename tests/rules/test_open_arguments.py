"""HY358: what the code itself says of an argument of unknown kind before it asks what an array would break."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

KNOWN = """\
import tensorflow as tf
import numpy as np
def target(x: tf.Tensor, given):
    if {asked}:
        {use}
    return tf.exp(x) * 2.0
"""


def codes(tmp_path: Path, text: str) -> set[str]:
    """What keeps the function `target` as it is."""
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True), repairs=False).functions
    return {each.code for each in next(f for f in found if f.facts.qualname == "target").statuses}


@pytest.mark.parametrize(
    ("asked", "use"),
    [
        ("isinstance(given, dict) and x.shape[0] == 2", "given = type(given)((k, given[k]) for k in given)"),
        ("isinstance(given, (list, tuple))", "x, y = given"),
        ("given", "x, y = given"),
        ("given is not None", "x, y = given"),
    ],
)
def test_what_is_shown_to_be_python_s_own_is_no_array(asked: str, use: str, tmp_path: Path) -> None:
    assert "HY358" not in codes(tmp_path, KNOWN.format(asked=asked, use=use))


@pytest.mark.parametrize(
    ("asked", "use"),
    [
        ("x.shape[0] == 2", "given = type(given)((k, given[k]) for k in given)"),
        ("not isinstance(given, dict)", "x, y = given"),
        ("isinstance(given, (list, np.ndarray))", "x, y = given"),
        ("isinstance(given, dict)", "x = np.sin(given['k'])"),
    ],
)
def test_anything_else_may_be_an_array_or_hold_one(asked: str, use: str, tmp_path: Path) -> None:
    assert "HY358" in codes(tmp_path, KNOWN.format(asked=asked, use=use))


TAKEN_APART = """\
import tensorflow as tf
import somewhere
def target(batch):
    x, y = batch
    return tf.exp(x) * y
for _ in range(1000):
    target({passed})
for batch in somewhere.batches():
    target(batch)
"""


@pytest.mark.parametrize(("passed", "blocks"), [("(tf.ones(3), tf.ones(3))", False), ("tf.ones([2, 3])", True)])
def test_what_calls_show_to_be_a_tuple_is_one_elsewhere(passed: str, blocks: bool, tmp_path: Path) -> None:
    assert ("HY358" in codes(tmp_path, TAKEN_APART.format(passed=passed))) == blocks


TOLD = '''\
import tensorflow as tf
import numpy as np
def target(data, x: tf.Tensor):
    """Computes.

    Args:
      data: {said}
      x: A `Tensor`.
    """
    {use}
    return tf.exp(x) * 2.0 + tf.reduce_sum(a) * b
'''


@pytest.mark.parametrize(
    ("said", "use", "blocks"),
    [
        ("A 2-tuple consisting of a, b.", "a, b = data", False),
        ("A tuple of arrays.", "a, b = [tf.exp(each) for each in data]", False),
        ("A 2-tuple.", "a, b = data; a = np.sin(a)", True),
        ("A tuple or a matrix.", "a, b = data", True),
        ("A list of numbers.", "a, b = data", True),
        ("What is computed.", "a, b = data", True),
    ],
)
def test_what_a_docstring_calls_a_tuple_is_no_array(said: str, use: str, blocks: bool, tmp_path: Path) -> None:
    assert ("HY358" in codes(tmp_path, TOLD.format(said=said, use=use))) == blocks


GONE_THROUGH = """\
import tensorflow as tf
def target(x: tf.Tensor, some, more):
    {loop}
    return tf.exp(x) * 2.0
"""


@pytest.mark.parametrize(
    "loop",
    [
        "x = tf.add_n([layer(x) for layer in some])",
        "for i, layer in enumerate(some): x = layer(x)",
        "for layer, settings in zip(some, more): x = layer(x, **settings)",
    ],
)
def test_what_holds_functions_or_mappings_is_assumed_to_be_no_array(loop: str, tmp_path: Path) -> None:
    text = GONE_THROUGH.format(loop=loop)
    assert "HY358" not in codes(tmp_path, text)
    found = analyze([tmp_path], Config(all_safe=True), repairs=False)
    assert any("no array" in each.message or "list or tuple" in each.message for each in found.assumptions)


@pytest.mark.parametrize(
    "loop",
    [
        "x = tf.add_n([x * s for s in some])",
        "for i, s in enumerate(some): x = x * s",
        "for layer, s in zip(some, more): x = layer(x) * s",
        "for s, layer in zip(some, more): x = layer(x) * s",
        "for pair in zip(some, more): x = pair[0](x) * pair[1]",
        "for settings in map(more, some): x = tf.reshape(x, **settings)",
        "for s in list(some): x = s(x) if callable(s) else x * s",
        "x = tf.add_n([s(x) if callable(s) else x * s for s in some])",
        "for first, *rest in zip(some, more): x = rest[0](x) * first",
    ],
)
def test_what_else_is_gone_through_may_be_an_array(loop: str, tmp_path: Path) -> None:
    assert "HY358" in codes(tmp_path, GONE_THROUGH.format(loop=loop))


UNIFIED = """\
import tensorflow as tf
import numpy as np
KEPT = tf.Variable([[1.0], [2.0]])
def target(x):
{body}
    return tf.nn.softmax(tf.exp(tf.matmul(x, KEPT)))
"""
_CONVERT = "    if not {asked}:\n        x = tf.convert_to_tensor(x, dtype=tf.float32)\n"
_CAST = "    elif x.dtype != tf.{dtype}:\n        x = tf.cast(x, dtype=tf.{dtype})\n"


@pytest.mark.parametrize(
    "body",
    [
        _CONVERT.format(asked="tf.is_tensor(x)") + _CAST.format(dtype="float32"),
        _CONVERT.format(asked="isinstance(x, tf.Tensor)") + "    x = tf.cast(x, tf.float32)",
        "    if isinstance(x, np.ndarray):\n        x = tf.constant(x, tf.float32)\n    else:\n"
        "        x = tf.cast(x, tf.float32)",
    ],
)
def test_a_question_after_which_all_is_of_one_dtype_tells_nothing(body: str, tmp_path: Path) -> None:
    """An array is cast where it is one, and where a graph got a tensor of it: measured to be the same."""
    assert not codes(tmp_path, UNIFIED.format(body=body)) & {"HY358", "HY347", "HY027"}


@pytest.mark.parametrize(
    "body",
    [
        _CONVERT.format(asked="tf.is_tensor(x)"),
        _CONVERT.format(asked="tf.is_tensor(x)") + _CAST.format(dtype="float64"),
        _CONVERT.format(asked="tf.is_tensor(x)")
        + "    elif x.dtype == tf.float32:\n        x = tf.cast(x, tf.float32)",
        _CONVERT.format(asked="tf.is_tensor(x)") + "    else:\n        x = tf.cast(x * 2.0, tf.float32)",
        "    if isinstance(x, np.ndarray):\n        x = tf.constant(x, tf.float32)",
        "    if isinstance(x, np.ndarray):\n        x = tf.cast(x, tf.float32)",
    ],
)
def test_any_other_question_does(body: str, tmp_path: Path) -> None:
    """An array of float64 stays one in the graph, or is another thing than a tensor of the caller's is."""
    assert codes(tmp_path, UNIFIED.format(body=body)) & {"HY358", "HY347", "HY027"}
