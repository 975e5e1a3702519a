"""HY256, HY258, HY259: objects of which a run of a program makes one are no second ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

PROGRAM = """\
import sys
import tensorflow as tf
class Small(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones((5, 3)))
    def __call__(self, x):
        return x @ self.w
class Large(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones((5, 3)))
        self.v = tf.Variable(tf.ones((3, 3)))
    def __call__(self, x):
        return x @ self.w @ self.v
def step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
def main({parameter}):
{make}
    optimizer = tf.keras.optimizers.Adam()
    for _ in range(1000):
        step(model, optimizer, tf.ones((4, 5)))
if __name__ == "__main__":
{run}
"""
BRANCHES = """\
    if len(sys.argv) > 1:
        model = Small()
    else:
        model = Large()
"""


def codes(folder: Path, make: str, run: str, parameter: str = "", config: Config | None = None) -> set[str]:
    """What keeps the step eager; nothing where it is converted."""
    (folder / "requirements.txt").write_text("tensorflow==2.9\n", encoding="utf-8")
    text = PROGRAM.format(make=make.rstrip(), run=run, parameter=parameter)
    (folder / "program.py").write_text(text, encoding="utf-8")
    step = next(f for f in analyze([folder], config or Config(), repairs=False).functions if f.facts.qualname == "step")
    found = {each.code for each in step.statuses if each.code in ("HY256", "HY258", "HY259")}
    assert found or step.decision.action is Action.CONVERT_TO_HYBRID
    return found


@pytest.mark.parametrize(
    "make",
    [
        BRANCHES,
        "    model = Small() if len(sys.argv) > 1 else Large()\n",
        "    model = {'s': Small, 'l': Large}[sys.argv[1]]()\n",
        "    name = sys.argv[1]\n    if name == 's': model = Small()\n    elif name == 'l': model = Large()\n"
        "    else: raise SystemExit(2)\n",
    ],
)
def test_one_run_makes_one_of_them(make: str, tmp_path: Path) -> None:
    assert not codes(tmp_path, make, "    main()")


@pytest.mark.parametrize(
    ("make", "run", "parameter"),
    [
        (BRANCHES, "    for _ in range(2): main()", ""),
        (BRANCHES, "    main()\n    main()", ""),
        ("    model = Small() if kind else Large()\n", "    main(True)\n    main(False)", "kind"),
        ("    model = {'s': Small, 'l': Large}[kind]()\n", "    for kind in sys.argv: main(kind)", "kind"),
        (
            "    models = [Small(), Large()]\n    model = models[len(sys.argv) % 2]\n"
            "    step(models[0], tf.keras.optimizers.Adam(), tf.ones((4, 5)))\n",
            "    main()",
            "",
        ),
    ],
)
def test_what_runs_again_makes_another(make: str, run: str, parameter: str, tmp_path: Path) -> None:
    assert codes(tmp_path, make, run, parameter)


def test_tests_run_a_program_as_often_as_they_like(tmp_path: Path) -> None:
    test = "import program\ndef test_one():\n    program.main()\ndef test_other():\n    program.main()\n"
    (tmp_path / "test_program.py").write_text(test, encoding="utf-8")
    assert codes(tmp_path, BRANCHES, "    main()")


def test_whoever_has_a_library_calls_it_again(tmp_path: Path) -> None:
    assert codes(tmp_path, BRANCHES, "    main()", config=Config(world="open", all_safe=True))
