"""HY368 of layers that a traced function makes: what TensorFlow says of each setting in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.library.keras.fixed import FIXED, OF_KERAS_2

_INPUTS: Final = {"1D": "[1, 4, 2]", "2D": "[1, 4, 4, 2]", "3D": "[1, 4, 4, 4, 2]"}
#: How a layer is made with a number `n`, and what it is called with, where the usual way does not do.
_MADE: Final = {
    "Permute.dims": ("(n, 2)", "tf.ones([1, 4, 2])"),
    "Reshape.target_shape": ("(n, 4)", "tf.ones([1, 4])"),
    "CategoryEncoding.num_tokens": ("n", "tf.constant([0, 1])"),
    "Concatenate.axis": ("n", "[tf.ones([1, 4, 2]), tf.ones([1, 4, 2])]"),
    "ELU.alpha": ("n", "tf.ones([1, 4])"),
    "Embedding.input_dim": ("n, output_dim=2", "tf.constant([0, 0])"),
    "Embedding.output_dim": ("n, input_dim=2", "tf.constant([0, 0])"),
    "MultiHeadAttention.num_heads": ("n, key_dim=2", "tf.ones([1, 4, 2]), tf.ones([1, 4, 2])"),
    "MultiHeadAttention.key_dim": ("n, num_heads=2", "tf.ones([1, 4, 2]), tf.ones([1, 4, 2])"),
    "LSTM.units": ("n", "tf.ones([1, 4, 2])"),
    "UpSampling1D.size": ("n", "tf.ones([1, 4, 2])"),
}
_SETTINGS: Final = [f"{name.rpartition('.')[2]}.{setting}" for name, known in FIXED.items() for _, setting in known]


def _source(which: str) -> str:
    """A function that makes the layer with a number that it is given, and calls it."""
    name, setting = which.split(".")
    rank = next((dims for dims in _INPUTS if dims in name), "2D")
    value, given = _MADE.get(which, ("n", f"tf.ones({_INPUTS[rank]})"))
    if setting in ("pool_size", "strides", "size") and which not in _MADE:
        value = "(" + "n, " * int(rank[0]) + ")"
    elif setting in ("padding", "cropping"):
        value = "(n, 0)" if rank == "1D" else "(" + "(n, 0), " * int(rank[0]) + ")"
    needed = ", kernel_size=1" if setting == "filters" else ", pool_size=2" if setting == "strides" else ""
    return (
        "import tensorflow as tf\n"
        f"def target(n):\n    return tf.keras.layers.{name}({setting}={value}{needed})({given})\n"
        "target(tf.constant(1))\n"
    )


def _told(folder: Path, source: str, version: str | None = None) -> set[str]:
    (folder / "main.py").write_text(source, "utf-8")
    (function,) = analyze([folder], Config(tensorflow_version=version)).functions
    return {status.code for status in function.statuses}


@pytest.mark.parametrize("which", _SETTINGS)
def test_a_tensor_raises_in_a_graph_where_a_number_serves(which: str, tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    source = _source(which)
    assert "HY368" in _told(tmp_path, source)
    scope: dict[str, Any] = {}
    exec(source.rpartition("target(")[0], scope)
    scope["target"](1)
    graph = tf.function(scope["target"])
    if f"keras.layers.{which.partition('.')[0]}" in OF_KERAS_2 and not tf.keras.__version__.startswith("2"):
        graph(tf.constant(1))
    else:
        with pytest.raises((TypeError, ValueError)):
            graph(tf.constant(1))


def test_keras_3_finds_the_size_that_a_tensor_gives_to_a_reshape(tmp_path: Path) -> None:
    source = _source("Reshape.target_shape")
    assert "HY368" in _told(tmp_path, source, "2.15")
    assert "HY368" not in _told(tmp_path, source, "2.21")
