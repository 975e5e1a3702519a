"""The language server as an editor meets it: a real process, and a client of pytest-lsp."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

import hybridize
from editor import Editor, Found, capabilities, editing
from hybridize.report.items import items

STEP = '''\
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


def shouted(x):
    for _ in range(20):
        x = tf.matmul(x, x) + tf.sin(x)
    print("done")
    return x


@tf.function
def fade(x, level):
    return x * level


trainer = Trainer()
for i in range(100):
    trainer.train_step(tf.ones([8, 4]), tf.ones([8, 4]))
    shouted(tf.ones([4, 4]))
    fade(tf.ones([4]), i)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "main.py").write_text(STEP)
    return tmp_path


def checked(editor: Editor) -> dict[str, list[Found]]:
    """What `check` says of the project with what the editor has not saved."""
    contents = {Path(uri).name: text.encode() for uri, text in editor.texts.items()}
    found: dict[str, list[Found]] = {}
    for item in items(hybridize.check(editor.root, contents=contents)):
        told = (item.line, item.column, item.severity.value, item.code, item.message)
        found.setdefault(item.path, []).append(told)
    return found


def test_diagnostics_are_what_check_says(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            assert await editor.everything() == checked(editor) != {}
            editor.open("main.py")
            editor.replace("main.py", "    def train_step", "    @tf.function\n    def train_step")
            assert await editor.everything() == checked(editor)
            editor.replace("main.py", "def shouted(x):", "def shouted(x:")  # half typed
            assert [code for *_, code, _ in (await editor.everything())["main.py"]] == ["E999"]
            editor.replace("main.py", "def shouted(x:", "def shouted(x):")
            assert await editor.everything() == checked(editor)

    asyncio.run(scenario())
