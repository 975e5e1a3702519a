"""The server with a client that people use: Neovim, without a window."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason='needs pygls: pip install "hybridize[lsp]"')

import hybridize
from hybridize.report.items import items

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="no Neovim here: apt-get install neovim"),
]

SCRIPT = Path(__file__).with_name("client.lua")
MAIN = """\
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


def test_neovim_shows_moves_and_changes(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text(MAIN)
    wanted = [[each.line, each.column, each.code] for each in items(hybridize.check(tmp_path))]
    server = json.dumps([sys.executable, "-m", "hybridize", "server"])
    environment = {**os.environ, "SERVER": server, "LINE": str(wanted[0][0]), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {SCRIPT}", "-c", "cquit"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout)
    assert seen["first"] == wanted
    assert seen["moved"] == [[line + 1, column, code] for line, column, code in wanted]
    assert "to hybrid" in seen["hover"]
    found = file.read_text()
    file.write_text("# by Neovim 😀\n" + MAIN)
    hybridize.fix(tmp_path, only=["Trainer.train_step"])
    assert found == file.read_text() != "# by Neovim 😀\n" + MAIN
