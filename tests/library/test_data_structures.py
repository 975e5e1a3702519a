"""Structures that data sets are made of: held in many places, or by themselves, they are looked at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

ITSELF = """\
import tensorflow as tf
data = {"x": tf.ones([3, 2])}
data["more"] = data
"""
EVERYWHERE = """\
import tensorflow as tf
data = {}
def grow(key, found):
    found[key] = {k: found for k in ("a", "b", "c")}
    found[key + "x"] = tf.ones([3, 2])
    for k in found:
        found[k] = dict(found)
    return found
for key in ("p", "q", "r", "s"):
    data = grow(key, data)
"""
USES = """\
for row in tf.data.Dataset.from_tensor_slices(data).padded_batch(2):
    print(row)
"""


@pytest.mark.parametrize("made", [ITSELF, EVERYWHERE])
def test_a_structure_that_holds_itself_ends(made: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(made + USES)
    assert not analyze([tmp_path], Config()).errors


def test_a_progress_bar_over_itself_ends(tmp_path: Path) -> None:
    source = "from tqdm import tqdm\nclass P:\n    def go(self):\n        self.items = tqdm(self.items)\n"
    source += "        for x in self.items:\n            print(x)\np = P()\np.items = [1]\np.go()\n"
    (tmp_path / "main.py").write_text(source)
    assert len(analyze([tmp_path], Config()).functions) == 1
