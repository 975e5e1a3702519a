"""Information on graphs of programs that are not followed in detail: what nothing speaks against is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.source.parts import SMALL_PROJECT

TF = "import tensorflow as tf\n"
#: What makes a program a large one.
MORE = "".join(f"def other{i}():\n    return {i}\n" for i in range(SMALL_PROJECT))

#: Raises at each trace (HY350), if it is what it seems to be.
RETURNS_A_FUNCTION = """\
@tf.function
def step(x):
    def again():
        return x
    return again, x
"""
#: Only eager tensors have it (HY301).
NUMPY = "@tf.function\ndef step(x):\n    return tf.abs(x).numpy()\n"
#: Prints while it is traced (HY201), if the environment says so.
PRINTS = """\
import os
@tf.function
def step(x, by=1.0):
    if os.environ.get("SHOW"):
        print(x.shape)
    return x + 1.0
"""
KINDS = ("None", "1", "1.5", "'one'", "[1]", "{1: 1}", "(1, 2)", "True")
CALLS = "".join(f"step(tf.ones({i + 1}), {kind})\n" for i, kind in enumerate(KINDS))
#: What its one run shows to be changed between calls (HY602).
RATE = """\
class Model:
    def __init__(self):
        self.rate = 1.0
    @tf.function
    def step(self, x):
        return x * self.rate
    def slow(self):
        self.rate = self.rate / 2.0
m = Model()
for i in range(9):
    m.step(tf.ones(3))
    m.slow()
"""


def told(folder: Path, source: str, code: str, *, every: bool = False) -> list[str]:
    """The severities of a rule's findings in a program."""
    (folder / "main.py").write_text(TF + source, "utf-8")
    found = analyze([folder], Config(all_information=every, jobs=1, cache=False), repairs=False).findings
    return [f.severity.value for f in found if f.code == code]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param(
            RETURNS_A_FUNCTION + "step(tf.ones(3))\n", "HY350", id="who-ran-it-has-seen-that-it-does-not-raise"
        ),
        pytest.param(NUMPY + "def run():\n    return 1\nrun()\n", "HY301", id="no-run-traces-it"),
        pytest.param(PRINTS + CALLS, "HY201", id="calls-were-taken-together"),
    ],
)
def test_what_speaks_against_information_keeps_it_back(source: str, code: str, tmp_path: Path) -> None:
    assert told(tmp_path, source, code)  # a small program is followed in detail
    assert not told(tmp_path, source + MORE, code)
    assert told(tmp_path, source + MORE, code, every=True) == ["info"]


def test_what_is_tested_is_told_of_small_programs_only(tmp_path: Path) -> None:
    (tmp_path / "test_main.py").write_text(TF + NUMPY + "def test_step():\n    step(tf.ones(3))\n")
    assert told(tmp_path, "", "HY301") == ["info"]
    assert not told(tmp_path, MORE, "HY301")
    assert told(tmp_path, MORE, "HY301", every=True) == ["info"]


def test_other_information_is_told_of_large_programs(tmp_path: Path) -> None:
    assert told(tmp_path, PRINTS + "step(tf.ones(3))\n" + MORE, "HY201") == ["info"]


def test_a_redundant_decorator_rests_on_no_run(tmp_path: Path) -> None:
    inner = "@tf.function\ndef inner(x):\n    return x + 1\n@tf.function\ndef outer(x):\n    return inner(x)\n"
    assert told(tmp_path, inner + MORE, "HY105") == ["info"]


def test_what_is_certain_is_told_all_the_same(tmp_path: Path) -> None:
    assert told(tmp_path, RATE + MORE, "HY602") == ["error"]


def test_the_conversion_is_refused_whatever_is_told(tmp_path: Path) -> None:
    eager = RETURNS_A_FUNCTION.replace("@tf.function\n", "") + "step(tf.ones(3))\n"
    (tmp_path / "main.py").write_text(TF + eager + MORE, "utf-8")
    report = analyze([tmp_path], Config(all_safe=True, jobs=1, cache=False), repairs=False)
    (step,) = (f for f in report.functions if f.facts.qualname == "step")
    assert "HY350" in {status.code for status in step.statuses}


#: Stays eager for a side effect, and for what nobody knows (HY358): code from elsewhere gets something from elsewhere.
REFUSED = """\
from elsewhere import score, weights
seen = []
def step(x, w):
    seen.append(1)
    return tf.reduce_sum(x) + score(w)
for i in range(9):
    step(tf.ones(3), weights())
"""


def reasons(folder: Path, source: str, *, every: bool = False) -> tuple[list[str], list[str]]:
    """The codes of what keeps `step` eager: what is told, and all of it."""
    (folder / "main.py").write_text(TF + source, "utf-8")
    report = analyze([folder], Config(all_information=every, jobs=1, cache=False), repairs=False)
    (step,) = (f for f in report.functions if f.facts.qualname == "step")
    return [s.code for s in step.told], [s.code for s in step.statuses]


def test_a_certain_reason_is_told_without_those_in_doubt(tmp_path: Path) -> None:
    assert reasons(tmp_path, REFUSED) == (["HY003"], ["HY003", "HY358"])
    assert reasons(tmp_path, REFUSED, every=True) == (["HY003", "HY358"], ["HY003", "HY358"])


def test_where_all_reasons_are_in_doubt_all_are_told(tmp_path: Path) -> None:
    assert reasons(tmp_path, REFUSED.replace("    seen.append(1)\n", "")) == (["HY358"], ["HY358"])


def test_what_a_comment_silences_does_not_decide(tmp_path: Path) -> None:
    silenced = REFUSED.replace("seen.append(1)", "seen.append(1)  # hybridize: ignore[HY003]")
    assert reasons(tmp_path, silenced)[0] == ["HY358"]


def test_what_runs_in_graphs_is_told_of_the_graphs(tmp_path: Path) -> None:
    inner = "def step(x):\n    return tf.constant(tf.abs(x).numpy())\n"
    source = f"{inner}@tf.function\ndef outer(x):\n    return step(x)\nouter(tf.ones(3))\n"
    assert reasons(tmp_path, source) == (["HY301", "HY010"], ["HY301", "HY346", "HY010"])
    assert told(tmp_path, source, "HY346")  # of the graph
