"""Functions of TensorFlow and Keras that give objects are not taken for operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action
from hybridize.library.index import lookup
from hybridize.library.no_tensors import _EACH, _TENSORS, gives_no_tensors

OBJECTS = (
    "tf.keras.utils.legacy.deserialize_keras_object",
    "tf.keras.initializers.serialize",
    "tf.keras.regularizers.deserialize",
    "tf.data.experimental.make_csv_dataset",
    "tf.feature_column.make_parse_example_spec",
    "tf.make_ndarray",
)


@pytest.mark.parametrize("name", OBJECTS)
def test_a_function_that_gives_an_object_computes_nothing(name: str, tmp_path: Path) -> None:
    source = f"import tensorflow as tf\ndef made(x):\n    return {name}(x)\nr = made(tf.constant([1.0]))\n"
    (tmp_path / "program.py").write_text(source)
    (made,) = analyze([tmp_path], Config(all_safe=True)).functions
    assert made.decision.action is Action.KEEP
    assert made.facts.tensor_computation.value != "yes"


def test_the_table_speaks_of_functions_that_exist() -> None:
    unknown = [name for name in _EACH | _TENSORS if (entry := lookup(name)) is None or entry.name != name]
    assert unknown == []


def test_operations_are_no_objects() -> None:
    assert not any(map(gives_no_tensors, ("tf.math.sign", "keras.ops.norm", "tf.data.experimental.get_single_element")))
