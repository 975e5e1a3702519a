"""Wrappers of `tf.function`: the wrapped body is what is traced, and gets no second decorator."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, Report
from hybridize.facts.model import Mode

from .wrapper_programs import PROGRAMS

_OBSERVED = re.compile(r"\n *TRACES\.append\(tf\.executing_eagerly\(\)\)")


def checked(folder: Path, text: str, *, all_safe: bool = False) -> Report:
    (folder / "main.py").write_text(text, "utf-8")
    return analyze([folder], Config(all_safe=all_safe), repairs=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_wrapped_function_is_hybrid_and_nothing_else(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    report = checked(tmp_path, _OBSERVED.sub("", program.text), all_safe=program.hybrid)
    (step,) = [f for f in report.functions if f.facts.qualname.endswith("step")]
    made = step.facts.hybridization
    assert (step.facts.mode is Mode.HYBRID) is program.hybrid
    assert (made is not None and made.conditional) is program.conditional
    assert (() if made is None else made.given) == program.given
    assert [f.facts.qualname for f in report.functions if f.decision.action is not Action.KEEP] == []
    assert [f.facts.qualname for f in report.functions if f.facts.mode is Mode.HYBRID] == [step.facts.qualname][
        : program.hybrid
    ]
    assert report.findings == ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_surprises_in_the_body_is_told(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    codes = {found.code for found in checked(tmp_path, program.text).findings}
    assert codes == ({"HY206", "HY345"} if program.hybrid else set())


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS)
def test_tensorflow_agrees(name: str) -> None:
    program = PROGRAMS[name]
    scope: dict[str, object] = {"__name__": "wrapped"}
    file = f"<{name}>"
    linecache.cache[file] = (len(program.text), None, program.text.splitlines(keepends=True), file)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program.text, file, "exec"), scope)
    assert scope["TRACES"] == ([False] if program.hybrid else [True] * 3)


RETRACED = """\
import tensorflow as tf
def jit(f):
    return tf.function(f)
@jit
def f(x, n):
    return tf.matmul(x, x, transpose_b=True) * n
for n in range(50):
    f(tf.ones([2, 3]), n)
"""
REJECTED = """\
import tensorflow as tf
def jit(**kw):
    return lambda f: tf.function(f, **kw)
@jit(input_signature=[tf.TensorSpec([None, 3])])
def f(x):
    return tf.matmul(x, x, transpose_b=True) * 2
f(tf.ones([4, 4]))
"""
POINTLESS = """\
import functools
import tensorflow as tf
jit = functools.partial(tf.function, input_signature=[tf.TensorSpec([None, 3])])
@jit
def f(x):
    return 3
f([[1., 2., 3.]])
"""


def test_findings_are_told_with_the_options_of_the_wrapper(tmp_path: Path) -> None:
    assert [f.code for f in checked(tmp_path, RETRACED).findings] == ["HY101"]
    assert [f.code for f in checked(tmp_path, REJECTED).findings] == ["HY270"]


def test_a_decorator_whose_wrapper_gives_a_signature_is_not_removed(tmp_path: Path) -> None:
    (report,) = checked(tmp_path, POINTLESS, all_safe=True).functions
    assert (report.decision.action, [s.name for s in report.statuses]) == (Action.KEEP, ["graph-dependants"])


def test_a_decorator_under_a_condition_is_not_removed(tmp_path: Path) -> None:
    text = "import os\nimport tensorflow as tf\njit = tf.function if os.environ.get('G') else (lambda g: g)\n"
    text += "@jit\ndef f(n):\n    return tf.ones([3]) * n\nfor i in range(30):\n    f(i)\n"
    found = {f.facts.qualname: f for f in checked(tmp_path, text, all_safe=True).functions}
    assert (found["f"].decision.action, [s.name for s in found["f"].statuses]) == (Action.KEEP, ["explicit-hybrid"])


def test_many_functions_under_a_stand_in_are_told_apart(tmp_path: Path) -> None:
    use = "@jit\ndef f{0}(x):\n    return tf.nn.relu(x @ x)\n@jit\ndef g{0}(x):\n    return f{0}(x) ** 2\n"
    text = PROGRAMS["a stand-in for the first TensorFlow"].text.partition("@jit")[0]
    text += "".join(map(use.format, range(40))) + "for _ in range(9):\n    g3(tf.ones([4, 4]))\n"
    found = [f for f in checked(tmp_path, text).functions if f.facts.mode is Mode.HYBRID]
    assert len(found) == 80
    assert not [s.name for f in found for s in f.statuses if s.name in ("recursive", "python-side-effects")]
