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


RESTORED = """\
import tensorflow as tf

class Net:
    def __init__(self, rate):
        if rate is None:
            self.rate = 0.5
        else:
            self.{method}(rate)

    {writer}

    def step(self, x: tf.Tensor):
        return tf.sin(x) * self.rate + tf.cos(x)
"""


@pytest.mark.parametrize(
    ("method", "writer", "assumed"),
    [
        ("restore", "def restore(self, rate): self.rate = 2 * int(rate)", True),
        (
            "load",
            "def load(self, rate): self.restore(rate)\n\n    def restore(self, rate): self.rate = 2 * int(rate)",
            True,
        ),
        (
            "restore",
            "def restore(self, rate): self.rate = 2 * int(rate)\n\n    def refresh(self): self.restore(1)",
            False,
        ),
        ("adjust", "def adjust(self, rate): self.rate = rate", False),
        ("fit", "def fit(self, rate): self.rate = tf.cumsum(rate)", False),
    ],
)
def test_what_constructors_alone_are_seen_to_call_is_assumed_to_set_up(
    method: str, writer: str, assumed: bool, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "net"\n')
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "__init__.py").write_text(RESTORED.format(method=method, writer=writer))
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    found = next(f for f in report.functions if f.facts.qualname == "Net.step")
    assert any("runs before it, and not again" in e.message for e in found.facts.assumptions) is assumed
    assert ("HY602" in {s.code for s in found.statuses}) is not assumed


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


SETTER = """\
import tensorflow as tf

class Penalty:
    def __init__(self, rate):
        self.rate = rate
    def change_rate(self, rate):
        {body}
    def step(self, x):
        return tf.sin(x) * self.rate + tf.cos(x)
"""


def called(folder: Path, source: str, calls: str, name: str) -> FunctionReport:
    """A function of a module, which tests call."""
    for path, text in {
        "pyproject.toml": '[project]\nname = "package"\nversion = "1"\n',
        "package/__init__.py": "",
        "package/ops.py": source,
        "tests/test_ops.py": f"import tensorflow as tf\nfrom package.ops import *\n\ndef test_it():\n    {calls}\n",
    }.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    report = analyze([folder], Config(all_safe=True), repairs=False)
    return next(f for f in report.functions if f.facts.qualname == name)


@pytest.mark.parametrize(
    "calls",
    ["Penalty(0.1).step(tf.ones(3))", "a = Penalty(0.1); a.change_rate(0.2); Penalty(0.3).step(tf.ones(3))"],
)
def test_tests_that_change_another_object_or_none_close_no_library(calls: str, tmp_path: Path) -> None:
    found = called(tmp_path, SETTER.format(body="self.rate = rate"), calls, "Penalty.step")
    assert "HY602" in {s.code for s in found.statuses}


@pytest.mark.parametrize(
    "body", ["if self.rate is None:\n            self.rate = rate", "other = Penalty(rate)\n        other.rate = rate"]
)
def test_what_is_set_once_or_of_another_object_is_no_setter(body: str, tmp_path: Path) -> None:
    source = SETTER.format(body=body)
    found = called(tmp_path, source, "Penalty(0.1).step(tf.ones(3))", "Penalty.step")
    assert "HY602" not in {s.code for s in found.statuses}


def test_in_a_program_what_nobody_calls_sets_nothing(tmp_path: Path) -> None:
    source = SETTER.format(body="self.rate = rate") + "\nPenalty(0.1).step(tf.ones(3))\n"
    (tmp_path / "program.py").write_text(source)
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    found = next(f for f in report.functions if f.facts.qualname == "Penalty.step")
    assert "HY602" not in {s.code for s in found.statuses}


def test_what_tests_do_with_a_result_is_not_all_that_is_done(tmp_path: Path) -> None:
    source = "import tensorflow as tf\n\ndef step(x, count):\n    return {'x': tf.sin(x), 'count': count}\n"
    found = called(tmp_path, source, "step(tf.ones(3), 2)['x']", "step")
    assert "HY349" in {s.code for s in found.statuses}
