"""Scripts in the style of tutorials, written before the repairs that they need: their training step becomes a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import fixed

TUTORIALS = Path(__file__).parent / "tutorials"
#: The function that becomes a graph, and the repairs that it takes.
STEPS = {
    "digits": ("def _train_on_batch_graph(x, y):", {"HY817"}),
    "gan": ("def train_step(noise, real):", {"HY818"}),
    "regression": ("def update(self, x, y):", {"HY802", "HY803"}),
    "reinforce": ("def _learn_graph(self, states, actions, returns):", {"HY817"}),
    "sentiment": ("def _train_step_graph(self, tokens, labels):", {"HY803", "HY817"}),
    "vae": ("def train_step(batch):", {"HY818"}),
}


@pytest.mark.parametrize("name", sorted(STEPS))
def test_the_step_becomes_a_graph(name: str, tmp_path: Path) -> None:
    line, codes = STEPS[name]
    done = fixed((TUTORIALS / f"{name}.txt").read_text(encoding="utf-8"), tmp_path)
    lines = [each.strip() for each in done.text.splitlines()]
    assert line in lines
    # Episodes differ in length: one graph serves them all.
    decorator = "@tf.function(reduce_retracing=True)" if name == "reinforce" else "@tf.function"
    assert lines[lines.index(line) - 1] == decorator
    assert sum(each.startswith("@tf.function") for each in lines) == 1
    assert {each.code for each, _ in done.repaired.done} == codes
    assert fixed(done.text, tmp_path).text == done.text


def test_all_tutorials_are_checked() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.txt")} == set(STEPS)
