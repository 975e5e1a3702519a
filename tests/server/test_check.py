"""The one test of the server that is always run: it starts, and says what `check` says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp", reason='needs pytest-lsp: pip install "hybridize[dev]"')

import hybridize
from editor import editing

PROGRAM = """\
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(32), tf.keras.layers.Dense(4)])
        self.optimizer = tf.keras.optimizers.Adam()

    def train_step(self, images, labels):
        with tf.GradientTape() as tape:
            scores = self.model(images)
            loss = tf.reduce_mean(tf.square(scores - labels))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


trainer = Trainer()
for i in range(100):
    trainer.train_step(tf.ones([8, 4]), tf.ones([8, 4]))
"""


def test_the_server_says_what_check_says_and_does_what_fix_does(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)

    async def scenario() -> None:
        async with editing(tmp_path) as editor:
            assert await editor.everything() == editor.checked() != {}
            uri = editor.open("main.py")
            found = await editor.actions("main.py", editor.place("main.py", "def train_step"))
            await editor.choose(found["Convert `Trainer.train_step` to hybrid"])
            assert await editor.everything() == editor.checked()
            editor.replace("main.py", "images, labels):", "images, labels:")  # half typed
            assert [code for *_, code, _ in (await editor.everything())["main.py"]] == ["E999"]
            editor.replace("main.py", "images, labels:", "images, labels):")
            assert await editor.everything() == editor.checked()
            hybridize.fix(tmp_path)
            assert editor.texts[uri].encode() == (tmp_path / "main.py").read_bytes() != PROGRAM.encode()

    asyncio.run(scenario())
