"""What `fix` would change for each function, as diffs to look at."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hybridize import check
from hybridize.decide.model import Action
from hybridize.fixing.previews import previews
from hybridize.rewrite.compose import edits_between
from hybridize.rewrite.model import apply_edits

EXAMPLE = Path(__file__).parents[3] / "examples" / "image_classifier"
STEP = """import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu") for _ in range(6)])
optimizer = tf.keras.optimizers.SGD()
data = tf.data.Dataset.from_tensor_slices(tf.random.normal([10_000, 256])).batch(100)
for epoch in range(100):
    for batch in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def changed(diff: str) -> list[str]:
    return [line for line in diff.splitlines()[2:] if line[0] in "+-"]


def test_each_change_has_its_own_diff() -> None:
    found = previews(check(EXAMPLE))
    assert changed(found["classifier.train:Trainer.train_step"]) == ["+    @tf.function"]
    assert changed(found["classifier.augment:fade_in"]) == ["-@tf.function"]


def test_repairs_are_shown_though_they_are_not_made() -> None:
    report = check(EXAMPLE.parent / "naive_training")
    found = previews(report)
    made = {f.facts.id for f in report.functions if f.decision.action is not Action.KEEP}
    assert found.keys() - made
    assert all(changed(found[name]) for name in found.keys() - made)


def test_a_step_outside_of_functions_is_there_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(STEP)
    (diff,) = (diff for name, diff in previews(check(tmp_path)).items() if name.startswith("main.py:"))
    assert "+def train_step(batch):" in changed(diff)  # the decorator comes when this is analyzed anew


def test_a_file_that_is_gone_has_none(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    report = check(tmp_path / "app")
    (tmp_path / "app" / "classifier" / "train.py").unlink()
    assert "classifier.train:Trainer.train_step" not in previews(report)
    assert "classifier.augment:fade_in" in previews(report)


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n"]), max_size=12).map(b"".join)


@given(LINES, LINES)
def test_edits_between_two_files_make_one_of_the_other(one: bytes, two: bytes) -> None:
    assert apply_edits(one, edits_between(one, two)) == two
