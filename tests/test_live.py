"""`hybridize.explain(f)`: a live function says by its code where it was written; nothing of it runs."""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hybridize

# `tf` is none: the functions are defined, and would fail if they ran.
MODULE = """\
import functools
import os
import tensorflow as tf


def logged(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner


@logged
def step(x):
    for _ in range(30):
        x = tf.tanh(x)
    return x


class Model:
    def call(self, x):
        return tf.tanh(x)

    @classmethod
    def made(cls, x):
        return tf.exp(x)

    @staticmethod
    def of(x):
        return tf.sin(x)


short = lambda x: tf.cos(x)


for _ in range(1000):
    if os.environ.get("READY"):
        step(tf.ones([3]))
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, loaded in a Python that has no TensorFlow."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    monkeypatch.delattr(sys.modules["tensorflow"], "x", raising=False)
    (tmp_path / "model.py").write_text(MODULE)
    text = MODULE[: MODULE.index("for _ in range(1000)")]
    made = types.ModuleType("model")
    exec(compile(text, str(tmp_path / "model.py"), "exec"), made.__dict__)
    return made


@pytest.mark.parametrize(
    ("of", "name", "line"),
    [
        (lambda m: m.step, "step", 14),  # through functools.wraps, and past the decorator
        (lambda m: m.Model.call, "Model.call", 21),
        (lambda m: m.Model().call, "Model.call", 21),
        (lambda m: m.Model.made, "Model.made", 25),
        (lambda m: m.Model.__dict__["of"], "Model.of", 29),
        (lambda m: functools.partial(m.Model.of, 1), "Model.of", 29),
        (lambda m: types.SimpleNamespace(python_function=m.Model.of), "Model.of", 29),  # as of `tf.function`
    ],
)
def test_a_function_of_a_file(module: Any, of: Callable[[Any], Any], name: str, line: int) -> None:
    found = hybridize.explain(of(module))
    assert (found.function.facts.qualname, found.function.facts.line) == (name, line)
    assert repr(found).startswith(f"model:{name}\n  model.py:{line}, ")
    assert found._repr_html_().startswith(f"<pre>model:{name}\n")
    (same,) = hybridize.explain(hybridize.check("."), name)
    assert found.text == same.text


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (len, "`len` has no source in Python"),
        (int, "`int` is a class"),
        (3, "`int` has no source in Python"),
        (eval("lambda x: x"), "`<lambda>`: its source is not known (defined in <string>)"),
    ],
)
def test_what_has_no_source_is_told(what: Any, said: str) -> None:
    with pytest.raises(hybridize.TargetError) as problem:
        hybridize.explain(what)
    assert str(problem.value).startswith(said)


def test_a_file_that_has_changed_since(module: Any) -> None:
    Path("model.py").write_text("import tensorflow as tf\n")
    with pytest.raises(hybridize.TargetError, match="the file has changed since it was loaded"):
        hybridize.explain(module.Model.call)


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="IPython is not installed")
def test_importing_us_does_not_import_ipython() -> None:
    import subprocess

    text = "import sys, hybridize; hybridize.explain, hybridize.load_ipython_extension; print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
