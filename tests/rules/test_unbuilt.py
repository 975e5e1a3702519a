"""HY401 where layers are too many to be told apart."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config


def test_sublayers_of_too_many_blocks_are_built_lazily_all_the_same(tmp_path: Path) -> None:
    """Sixty blocks made at sixty places: which of them a stage calls is not known, that it builds them then is."""
    blocks = "".join(f"        self.block{i} = Block({i + 1})\n" for i in range(60))
    calls = "".join(f"        x = self.block{i}(x)\n" for i in range(60))
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\n"
        "class Block(tf.keras.layers.Layer):\n"
        "    def __init__(self, filters):\n"
        "        super().__init__()\n"
        "        self.conv = tf.keras.layers.Conv2D(filters, 3, padding='same')\n"
        "    def call(self, x):\n"
        "        return tf.nn.relu(self.conv(x))\n"
        "class Stem(tf.keras.layers.Layer):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"{blocks}"
        "    def call(self, x):\n"
        f"{calls}"
        "        return tf.concat([x, x], axis=-1)\n"
        "stem = Stem()\n"
        "stem(tf.ones((2, 8, 8, 3)))\n",
        "utf-8",
    )
    found = {f.facts.qualname: f for f in analyze([tmp_path], Config()).functions}
    for name in ("Block.call", "Stem.call"):
        assert "HY401" in {status.code for status in found[name].statuses}, name
