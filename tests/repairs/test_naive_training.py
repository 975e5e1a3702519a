"""The example of a naive training script: `fix --unsafe-fixes` alone makes a graph of its step, and changes no bit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness import ForkServer, Kind, Program
from hybridize.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "naive_training"
NAMES = ("train.py", "network.py")


def program(folder: Path) -> Program:
    files = tuple((name, (folder / name).read_text(encoding="utf-8")) for name in NAMES)
    return Program(files, "train.py", arguments=("210", "losses.txt"))


@pytest.fixture
def repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    monkeypatch.chdir(folder)
    assert main(["fix", "--unsafe-fixes", "--quiet"]) == 0
    return folder


def test_the_step_becomes_a_graph(repaired: Path) -> None:
    text = (repaired / "train.py").read_text(encoding="utf-8")
    assert "@tf.function\n    def train_step(" in text
    assert text.count("@tf.function") == 1
    assert max(map(len, text.splitlines())) <= 140
    before = {name: (repaired / name).read_bytes() for name in NAMES}
    assert main(["fix", "--unsafe-fixes", "--quiet"]) == 0
    assert {name: (repaired / name).read_bytes() for name in NAMES} == before


@pytest.mark.slow
@pytest.mark.tensorflow
def test_losses_and_output_are_the_same(repaired: Path, server: ForkServer) -> None:
    (outcome,) = server.compare_all([(program(EXAMPLE), program(repaired))])
    assert outcome.kind is not Kind.FAILED
    assert [d for d in outcome.differences if d.where not in ("seen", "stderr")] == []
    assert [(f.function, f.traces) for f in outcome.functions if f.calls] == [("Trainer.train_step", 1)]
