"""The benchmark suite: what `fix` changes in each program, and that the expert's patches still fit."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

SUITE = Path(__file__).resolve().parents[2] / "benchmarks" / "suite"
PROGRAMS = sorted(path.parent.name for path in SUITE.glob("*/train.py"))
#: The function that trains: the one that must be converted.
STEPS = {
    "logistic_regression": "run_optimization",
    "bidirectional_rnn": "run_optimization",
    "dcgan": "GAN.train_step",
} | {
    "convolutional_network": "main.run_optimization",
    "dynamic_rnn": "Trainer.train_step",
    "gpt": "Trainer.train_step",
    "graph_network": "NodeClassifier.train_step",
    "object_detection": "Trainer.train_step",
    "reinforcement_learning": "Agent.train_step",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_training_step_is_converted(name: str, tmp_path: Path) -> None:
    shutil.copytree(SUITE / name, tmp_path / name)  # else the whole of this repository is the program's project
    report = analyze([tmp_path / name], Config())
    chosen = {f.facts.qualname for f in report.functions if f.decision.action is Action.CONVERT_TO_HYBRID}
    assert STEPS.get(name, "train_step") in chosen


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_patch_of_the_expert_applies(name: str, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git")
    shutil.copytree(SUITE / name, tmp_path / name)
    patch = (SUITE / name / "expert.patch").read_bytes()
    subprocess.run(["git", "apply", "-p1", "-"], cwd=tmp_path / name, input=patch, check=True)
    assert "@tf.function" in (tmp_path / name / "train.py").read_text()


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS[::3])  # all of them run where the suite is measured
def test_it_runs(name: str) -> None:
    pytest.importorskip("tensorflow")
    command = [sys.executable, "-B", "train.py", "--steps", "2"]
    done = subprocess.run(command, cwd=SUITE / name, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    # Two steps are too few for the lines about losses of some programs; what they say at the end comes always.
    words = ("loss", "ELBO", "accuracy", "brightness", "recall", "return", "took")
    assert any(word in done.stdout for word in words), done.stdout
