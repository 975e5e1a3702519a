"""HY370: the table of functions that want one tensor, asked of TensorFlow with a list of arrays."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from hybridize.library.tensorflow.lists_of_arrays import ONE_TENSOR


def lists() -> list[list[Any]]:
    """Lists of two arrays: vectors, integers, truths, images, matrices, complex numbers; one suits each function."""
    import numpy as np

    vector = np.array([0.25, 0.5, 0.75], np.float32)
    image, whole = np.ones((4, 4, 3), np.float32), np.array([0, 1, 1], np.int32)
    return [[one, one] for one in (vector, whole, whole > 0, image, np.eye(3, dtype=np.float32), vector + 0j)]


def fillings() -> list[Any]:
    """What the other parameters of a function may want."""
    import tensorflow as tf

    rows = tf.constant([[0.25, 0.5, 0.75]] * 2)
    return [rows, 0, [-1], tf.float32, [2, 3], 2, tf.constant([0, 1]), tf.constant(0.5), True, [0, 1]]


def works(run: Callable[[], Any]) -> bool:
    try:
        run()
    except Exception:  # whatever TensorFlow says of what does not suit
        return False
    return True


def in_graph(run: Callable[[], Any]) -> bool:
    import tensorflow as tf

    return works(lambda: tf.function(run, autograph=False)())


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", sorted(ONE_TENSOR))
def test_a_graph_refuses_the_list_that_eager_code_stacks(name: str) -> None:
    np, tf = pytest.importorskip("numpy"), pytest.importorskip("tensorflow")
    function: Any = functools.reduce(getattr, name.split(".")[1:], tf)
    parameters = list(inspect.signature(function).parameters.values())
    for place in ONE_TENSOR[name]:
        here = parameters[place].name
        others = [p.name for p in parameters if p.default is p.empty and p.kind in (0, 1) and p.name != here]
        for given, rest in itertools.product(lists(), itertools.product(fillings(), repeat=len(others))):
            call = functools.partial(function, **dict(zip(others, rest, strict=True)))
            stacked = np.stack(given)
            suits = works(lambda: call(**{here: given})) and in_graph(lambda: call(**{here: stacked}))  # noqa: B023
            if suits and not in_graph(lambda: call(**{here: given})):  # noqa: B023
                break
        else:
            pytest.fail(f"{name}: {here} takes a list of arrays in a graph, too")


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["tf.stack", "tf.concat", "tf.add_n"])
def test_functions_of_several_tensors_take_the_list(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function: Any = functools.reduce(getattr, name.split(".")[1:], tf)
    rest = {"axis": 0} if name == "tf.concat" else {}
    assert name not in ONE_TENSOR
    assert in_graph(lambda: function(lists()[0], **rest))
