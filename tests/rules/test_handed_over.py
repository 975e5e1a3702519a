"""What a function gives to TensorFlow, which was handed it, is no result that comes back to Python; nor is what data
sets bring what Keras makes models of."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_HANDED = """\
import tensorflow as tf


class Flip:
    @tf.function
    def transform(self, inputs):
        return {{"a": inputs["a"] * 2.0, "places": inputs["places"]}}


flip = Flip()


def load(data):
    data = data.map(flip.transform)
    return data


for each in load(tf.data.Dataset.from_tensors({{"a": tf.ones([2]), "places": tf.range(2)}})):
    print(each["places"])


def use():
    found = flip.transform({{"a": tf.ones([2]), "places": range(2)}})
    return {used}


use()
"""


def _codes(tmp_path: Path, text: str, name: str) -> set[str]:
    (tmp_path / "main.py").write_text(text)
    result = analyze([tmp_path], Config(jobs=1, cache=False, all_information=True))
    (found,) = [f for f in result.functions if f.facts.qualname == name]
    return {s.code for s in found.statuses} | {f.code for f in result.findings if f.function == found.facts.id}


@pytest.mark.parametrize(
    ("used", "told"),
    [
        ("found['a']", False),
        ("found['places'].start", True),
        ("list(found.items())", True),
        ("found.get('a')", False),
        ("found.get('places').start", True),
        ("found.get(input(), 1).start", True),
        ("(lambda get: get('places').start)(found.get)", True),
        ("(found is None, found['places'] is not None, found.get('places') is None)", False),
        ("found['places'] is found['a']", True),
        ("len(found['places'])", False),
        ("(len(found['places']), found['places'].stop)", True),
    ],
)
def test_who_hands_a_graph_over_does_not_use_its_result(tmp_path: Path, used: str, told: bool) -> None:
    assert ("HY349" in _codes(tmp_path, _HANDED.format(used=used), "Flip.transform")) is told


def test_who_is_handed_a_graph_and_is_no_part_of_tensorflow_may(tmp_path: Path) -> None:
    text = _HANDED.format(used="0") + "print(list(map(flip.transform, [{'a': tf.ones([2]), 'places': range(2)}])))\n"
    assert "HY349" in _codes(tmp_path, text, "Flip.transform")


_SYMBOLIC = """\
import tensorflow as tf


def halved(x):
    return {{"a": tf.exp(x) * 0.5}}


@tf.function
def step(inputs):
    return tf.exp(inputs["a"]) * 2.0


data = tf.data.Dataset.from_tensor_slices(tf.ones([3, 2])).map(lambda x: halved(x)).batch(3)
for batch in data:
    print(step(batch))
model = tf.keras.Input([2])
print(halved(model){after})
"""


@pytest.mark.parametrize(("after", "told"), [("", False), (", step(halved(model))", True)])
def test_a_data_set_brings_nothing_symbolic(
    tmp_path: Path, after: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridize.flow.solve.SMALL_LIMIT", 1)
    monkeypatch.setattr("hybridize.flow.contexts.SLOTS_BY_RECEIVER", 0)
    assert ("HY304" in _codes(tmp_path, _SYMBOLIC.format(after=after), "step")) is told


@pytest.mark.parametrize(("used", "told"), [(".numpy()", False), (".shape", False), (".real", True), ("", True)])
def test_what_no_number_has_is_no_use_of_one(used: str, told: bool, tmp_path: Path) -> None:
    """Eager code raises there, where the graph's tensor has it: the function was written for graphs."""
    text = (
        "import tensorflow as tf\nkept = []\ndef step(x):\n"
        '    return {"loss": tf.reduce_sum(tf.exp(x)), "edge": 0.0, "total": tf.reduce_sum(x)}\n'
        f'for _ in range(99):\n    kept.append(step(tf.ones([3]))["edge"]{used})\n'
    )
    assert ("HY349" in _codes(tmp_path, text, "step")) is told
