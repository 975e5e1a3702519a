"""P7: functions that take no tensors and draw some, for `--all-safe`, in programs and in libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, Confidence, FunctionReport

HEAD = "import random\nimport numpy as np\nimport tensorflow as tf\n"
WAVES = """\
def target(count: int = 16):
    noise = {draw}
    for _ in range(20):
        noise = tf.tanh(noise * 1.5) - tf.sin(noise)
    return noise
"""
DRAW = "tf.random.uniform((count, 3))"


def report(folder: Path, text: str, **options: object) -> FunctionReport:
    """What is decided of the function `target`."""
    (folder / "m.py").write_text(HEAD + text, encoding="utf-8")
    found = analyze([folder], Config(**{"all_safe": True, "world": "open", **options}), repairs=False).functions  # type: ignore[arg-type]
    return next(each for each in found if each.facts.qualname.endswith("target"))


def converts(folder: Path, text: str, **options: object) -> bool:
    """Whether `target` is made hybrid."""
    return report(folder, text, **options).decision.action is Action.CONVERT_TO_HYBRID


@pytest.mark.parametrize(
    "draw", [DRAW, "tf.random.normal([count, 3], seed=7)", "tf.image.random_flip_up_down(tf.ones((4, 4, 3)))"]
)
def test_what_draws_is_made_hybrid_by_all_safe(draw: str, tmp_path: Path) -> None:
    made = report(tmp_path, WAVES.format(draw=draw))
    assert (made.decision.action, made.decision.precondition) == (Action.CONVERT_TO_HYBRID, "P7")
    assert made.decision.confidence is not Confidence.SEEN


def test_the_default_leaves_it(tmp_path: Path) -> None:
    assert not converts(tmp_path, WAVES.format(draw=DRAW), all_safe=False)
    calls = "for _ in range(10000):\n    target(16)\n"
    assert not converts(tmp_path, WAVES.format(draw=DRAW) + calls, all_safe=False, world="closed")


@pytest.mark.parametrize(
    "text",
    [
        WAVES.format(draw="tf.constant(np.random.rand(count, 3))"),  # Python draws, once
        WAVES.format(draw="tf.ones((count, 3)) * random.random()"),
        WAVES.format(draw="tf.random.stateless_uniform((count, 3), (1, 2))"),  # the same at each call: a constant
        WAVES.format(draw="tf.random.Generator.from_seed(1).normal((count, 3))"),  # makes a variable at each call
        WAVES.format(draw=DRAW).replace("    return noise", "    print(count)\n    return noise"),
        WAVES.format(draw=DRAW).replace("    return noise", "    return noise.numpy()"),
        WAVES.format(draw=DRAW).replace("    return noise", "    return [float(noise[0, 0]), count]"),
        WAVES.format(draw=DRAW).replace("range(20)", "range(0)"),  # one operation
        "SEEN = []\n" + WAVES.format(draw=DRAW).replace("    return noise", "    SEEN.append(count)\n    return noise"),
        WAVES.format(draw=DRAW) + "for n in range(1000):\n    target(n)\n",  # a trace for each
    ],
)
def test_what_else_stands_there_keeps_it(text: str, tmp_path: Path) -> None:
    assert not converts(tmp_path, text)


def test_a_program_with_a_seed_counts_on_its_numbers(tmp_path: Path) -> None:
    text = "tf.random.set_seed(1)\n" + WAVES.format(draw=DRAW) + "for _ in range(1000):\n    target()\n"
    assert not converts(tmp_path, text, world="closed")
