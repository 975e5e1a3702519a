"""Who may write state between the calls of a function that nothing calls: told by callers and first values."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport

BASE = """\
import tensorflow as tf

class Base:
    def __init__(self, rate):
        self.rate = rate
        self.model = None
        self.parts = []

class Net(Base):
{methods}
    def step(self, x: tf.Tensor):
        return tf.sin(x) * {read} + tf.cos(x)

Net(0.5)
"""


def step(methods: str, read: str, folder: Path, *, speculate: bool = True) -> FunctionReport:
    text = BASE.format(methods=textwrap.indent(textwrap.dedent(methods), "    "), read=read)
    (folder / "program.py").write_text(text)
    report = analyze([folder], Config(all_safe=True, speculate=speculate), repairs=False)
    return next(f for f in report.functions if f.facts.qualname == "Net.step")


@pytest.mark.parametrize("name", ["change_rate", "_change_rate", "address", "set_rate", "reset", "load", "_x"])
def test_the_name_of_a_writer_says_nothing(name: str, tmp_path: Path) -> None:
    found = step(f"def {name}(self, rate): self.rate = rate", "self.rate", tmp_path)
    assert "HY602" in {s.code for s in found.statuses}


def test_what_only_constructors_run_is_set_up(tmp_path: Path) -> None:
    helper = """\
    def __init__(self, rate):
        super().__init__(rate)
        self._fill(rate)

    def _fill(self, rate):
        self.rate = 2 * rate
    """
    assert step(helper, "self.rate", tmp_path).decision.precondition == "P1"


@pytest.mark.parametrize(
    ("methods", "read"),
    [
        ("def change(self, model): self.model = model", "(0.0 if self.model is None else 1.0)"),
        ("def change(self, part): self.parts.append(part)", "len(self.parts)"),
    ],
)
def test_a_first_value_is_assumed_to_come_first(methods: str, read: str, tmp_path: Path) -> None:
    found = step(methods, read, tmp_path)
    assert found.decision.precondition == "P1"
    assert "assumed that `Net.change` runs before it, and not again" in [e.message for e in found.facts.assumptions]
    sure = step(methods, read, tmp_path, speculate=False)
    assert "HY602" in {s.code for s in sure.statuses}


def test_of_two_writers_each_changes_what_the_other_wrote(tmp_path: Path) -> None:
    methods = """\
    def slower(self): self.model = 1

    def faster(self): self.model = 2
    """
    found = step(methods, "(0.0 if self.model is None else 1.0)", tmp_path)
    assert "HY602" in {s.code for s in found.statuses}


def test_data_that_a_method_keeps_is_kept_again(tmp_path: Path) -> None:
    found = step("def fit(self, data): self.model = tf.cumsum(data)", "tf.reduce_sum(self.model)", tmp_path)
    assert "HY602" in {s.code for s in found.statuses}


FITTED = """\
import tensorflow as tf

class Ranker:
    def fit(self, data):
        self.users = tf.matmul(data, data)

    def predict(self, asked: tf.Tensor):
        return tf.exp(tf.matmul(self.users, asked)) * 2.0
"""
TESTED = """\
import tensorflow as tf
from ranks import Ranker

def test_ranker():
    ranker = Ranker()
    ranker.fit(tf.ones([2, 2]))
    ranker.predict(tf.ones([2, 2]))
"""


def test_that_a_test_fits_once_does_not_say_that_users_do(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "ranks"\n')
    for name, text in {"ranks/__init__.py": FITTED, "tests/test_ranks.py": TESTED}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    found = next(f for f in report.functions if f.facts.qualname == "Ranker.predict")
    assert "HY602" in {s.code for s in found.statuses}


ADAPTED = """\
import tensorflow as tf

class Scaler:
    def __init__(self{given}):
        self.norm = tf.keras.layers.Normalization()
        self.vocabulary = tf.keras.layers.StringLookup()
        {early}

{methods}
    def scale(self, x: tf.Tensor):
        return tf.sin(x) * {read} + tf.cos(x)
"""
FIT = "    def fit(self, data):\n        self.norm.adapt(data)\n"


def scale(folder: Path, read: str, *, methods: str = FIT, early: str = "pass", given: str = "") -> set[str]:
    text = ADAPTED.format(read=read, methods=methods, early=early, given=given)
    (folder / "program.py").write_text(text)
    report = analyze([folder], Config(all_safe=True), repairs=False)
    return {s.code for s in next(f for f in report.functions if f.facts.qualname == "Scaler.scale").statuses}


@pytest.mark.parametrize("read", ["self.norm.mean", "tf.sqrt(self.norm.variance)", "self.norm(x)"])
def test_what_a_layer_learned_is_learned_anew_of_other_data(read: str, tmp_path: Path) -> None:
    assert "HY602" in scale(tmp_path, read)


def test_what_a_constructor_learns_stays(tmp_path: Path) -> None:
    found = scale(tmp_path, "self.norm.mean", methods="", early="self.norm.adapt(data)", given=", data")
    assert "HY602" not in found


@pytest.mark.parametrize("read", ["self.vocabulary.max_tokens", "tf.cast(self.norm.axis, x.dtype)"])
def test_what_is_not_learned_stays(read: str, tmp_path: Path) -> None:
    assert "HY602" not in scale(tmp_path, read)
