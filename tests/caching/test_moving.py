"""An edit that changes no instruction moves what was found, and nothing else: as a run from scratch says it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hybridize
from hybridize import analysis, api
from hybridize.caching.store import Store
from hybridize.config import Config
from hybridize.decide.model import Report

MODEL = """\
import tensorflow as tf

seen = []


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(3)
        self.calls = 0

    def call(self, x):
        self.calls += 1
        seen.append(1)
        if tf.reduce_sum(x) > 0:
            print(x)
        return self.dense(x)


@tf.function
def scaled(x, by):
    names = {}
    names["x"] = x
    return x * by
"""
TRAIN = """\
import tensorflow as tf

from model import Net, scaled

net = Net()
optimizer = tf.keras.optimizers.SGD()


def train(data):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))


train([(tf.ones([2, 3]), tf.ones([2, 3]))] * 9)
for i in range(9):
    scaled(tf.ones([3]), i)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    (folder / "train.py").write_text(TRAIN)
    return folder


@pytest.fixture
def analyzed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The files of each part that is analyzed anew."""
    found: list[int] = []
    original = analysis.Analysis._part

    def part(self: Any, part: Any, progress: Any) -> Any:
        found.append(len(part.files))
        return original(self, part, progress)

    monkeypatch.setattr(analysis.Analysis, "_part", part)
    return found


def all_of(report: Report) -> tuple[dict[str, Any], object]:
    data = hybridize.to_dict(report)
    data["project"].pop("seconds")
    return data, (report.repairs, report.calls)


def check(project: Path, store: Store | None) -> tuple[dict[str, Any], object]:
    return all_of(api.analyze([project], Config(), store=store))


def test_a_comment_moves_what_was_found(project: Path, tmp_path: Path, analyzed: list[int]) -> None:
    store = Store(tmp_path / "kept")
    before = check(project, store)
    (project / "model.py").write_text("# A network.\n\n" + MODEL.replace("seen = []", "seen = []  # batches"))
    now = check(project, store)
    assert analyzed == [2]
    assert now != before
    assert now == check(project, None)
    (project / "model.py").write_text(MODEL)
    assert check(project, store) == before


def test_sentences_name_the_lines_as_they_are_now(project: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    check(project, store)
    (project / "model.py").write_text("# A network.\n" + MODEL)
    (project / "train.py").write_text("# Trains it.\n\n\n" + TRAIN)
    now = check(project, store)
    said = str(now)
    assert "a list made at line 4 " in said
    assert "move lines 14 to 17 into" in said
    assert now == check(project, None)


@pytest.mark.parametrize(
    "edited",
    [
        lambda text: text.replace(
            "            print(x)", "            # shown\n            print(x)"
        ),  # beside a repair
        lambda text: text.replace("self.calls += 1", "self.calls += 2"),
        lambda text: text.replace("@tf.function", "# hybridize: ignore[HY101]\n@tf.function"),
        lambda text: text.replace("def scaled(x, by):", "def scaled(x, by):\n    '''By what it is told.'''"),
    ],
)
def test_what_is_more_than_space_is_found_anew(
    project: Path, tmp_path: Path, analyzed: list[int], edited: Callable[[str], str]
) -> None:
    store = Store(tmp_path / "kept")
    check(project, store)
    (project / "model.py").write_text(edited(MODEL))
    now = check(project, store)
    assert analyzed == [2, 2]
    assert now == check(project, None)


_LINES = st.sampled_from(["", "# a remark", "    # a remark", "\t", "# line 3: `x`", "   "])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), _LINES), max_size=4))
def test_any_space_anywhere(project: Path, tmp_path: Path, edits: list[tuple[bool, int, str]]) -> None:
    store = Store(tmp_path / "kept")
    (project / "model.py").write_text(MODEL)
    (project / "train.py").write_text(TRAIN)
    check(project, store)
    texts = {"model.py": MODEL.split("\n"), "train.py": TRAIN.split("\n")}
    for first, line, said in edits:
        found = texts["model.py" if first else "train.py"]
        found.insert(min(line, len(found)), said)
    for name, found in texts.items():
        (project / name).write_text("\n".join(found))
    assert check(project, store) == check(project, None)
