"""What differs between releases of TensorFlow is decided for all that a project allows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report

UNBUILT = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = [tf.keras.layers.Dense(8) for _ in range(4)]

    def call(self, x):
        for part in self.parts:
            x = tf.nn.relu(part(x)) + tf.sin(x) * 0.5
        return x


net = Net()
for _ in range(1000):
    net(tf.ones([2, 8]))
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "image_classifier"


def verdicts(report: Report) -> dict[str, tuple[object, ...]]:
    return {
        f.facts.qualname: (f.decision.action, f.decision.precondition, *(s.code for s in f.statuses))
        for f in report.functions
    }


@pytest.mark.parametrize(
    ("requirement", "blocked"),
    [
        ("tensorflow==2.15.1", False),
        ("tensorflow<2.16", False),
        ("tensorflow>=2.16", True),
        ("tensorflow>=2.10", True),
        ("tensorflow", True),
    ],
)
def test_what_breaks_under_one_release_blocks(requirement: str, blocked: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
    (tmp_path / "program.py").write_text(UNBUILT)
    assert ("HY401" in verdicts(analyze([tmp_path], Config()))["Net.call"]) == blocked


def test_a_readme_does_not_decide(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(UNBUILT)
    bare = verdicts(analyze([tmp_path], Config()))
    for text in ("Needs TensorFlow 2.15 or newer.", "Runs under TensorFlow 2.15."):
        (tmp_path / "README.md").write_text(text)
        assert verdicts(analyze([tmp_path], Config())) == bare


def test_the_example_is_judged_alike_wherever_it_is(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(EXAMPLE, copy)
    here, there = analyze([EXAMPLE], Config()), analyze([copy], Config())
    assert verdicts(here) == verdicts(there)
    assert here.project.versions == there.project.versions


def test_the_releases_are_in_every_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hybridize.cli import main

    (tmp_path / "requirements.txt").write_text("numpy\ntensorflow>=2.10,<2.17\n")
    (tmp_path / "program.py").write_text(UNBUILT)
    monkeypatch.chdir(tmp_path)
    said = "TensorFlow 2.16, any from 2.10 to 2.16 (requirements.txt:2), Keras 2 or 3"
    found = {"version": "2.16", "oldest": "2.10", "newest": "2.16", "keras": [2, 3], "source": "requirements.txt:2"}

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            raise SystemExit(main(list(arguments)))
        return capsys.readouterr().out

    assert said in run("check", ".")
    assert said in run("explain", "Net.call")
    assert said in run("config")
    assert json.loads(run("check", ".", "--output-format", "json"))["project"]["tensorflow"] == found
    assert json.loads(run("config", "--output-format", "json"))["tensorflow-version"]["found"] == found
