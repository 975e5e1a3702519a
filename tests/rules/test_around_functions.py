"""What is around a function and tells a graph from it: tests that expect exceptions or replace things, code that looks
at the function as an object. The programs are several files, as the rules' own examples cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

LIBRARY = """\
import tensorflow as tf
LIMIT = 3
class Wrong(ValueError):
    pass
def scaled(x):
    return x * 2.0
def target(x, k=0):
    if k > LIMIT:
        raise IndexError(k)
    if k < 0:
        raise ValueError(f"negative: {k}")
    if k == 2:
        raise Wrong(k)
    return tf.reduce_sum(scaled(x))
"""
TESTS = {
    # What tests expect
    "another exception": ("with pytest.raises(IndexError):\n    target(x, 5)", "HY356"),
    "given with its arguments": ("pytest.raises(IndexError, target, x, 5)", "HY356"),
    "by a base class": ("with pytest.raises(LookupError):\n    target(x, 5)", "HY356"),
    "a class that derives from a built-in one": ("with pytest.raises(ValueError):\n    target(x, 2)", "HY356"),
    "by a method of unittest": (
        "with unittest.TestCase().assertRaises(IndexError):\n    target(x, 5)",
        "HY356",
    ),
    "by a class that every exception has": ("with pytest.raises(Exception):\n    target(x, 5)", None),
    "an exception that is kept": ("with pytest.raises(ValueError):\n    target(x, -1)", None),
    "with a part of its text": ('with pytest.raises(ValueError, match="negative"):\n    target(x, -1)', None),
    "with the beginning of its text": (
        'with pytest.raises(ValueError, match="^negative"):\n    target(x, -1)',
        "HY356",
    ),
    "of something else": ("with pytest.raises(IndexError):\n    [][1]", None),
    # What tests replace
    "a function that it calls": ('with mock.patch("lib.scaled", return_value=x):\n    target(x)', "HY605"),
    "by an object": ('with mock.patch.object(lib, "scaled", return_value=x):\n    target(x)', "HY605"),
    "a variable that it reads": ('monkeypatch.setattr(lib, "LIMIT", 7)\ntarget(x)', "HY605"),
    "by a text": ('monkeypatch.setattr("lib.LIMIT", 7)\ntarget(x)', "HY605"),
    "a function of TensorFlow": ('with mock.patch("lib.tf.reduce_sum", return_value=x):\n    target(x)', "HY605"),
    "the function itself": ('with mock.patch("lib.target", return_value=x):\n    lib.target(x)', None),
    "what it has no part in": ('monkeypatch.setattr("os.getcwd", lambda: "")\ntarget(x)', None),
    # Who looks at the function
    "a pickle": ("pickle.dumps({'f': target})", "HY265"),
    "processes": ("with multiprocessing.Pool(2) as pool:\n    pool.map(target, [x])", "HY265"),
    "a copy of what holds it": ("copy.deepcopy([target])", "HY265"),
    "its class": ("isinstance(target, (types.FunctionType, type))", "HY265"),
    "its code": ("target.__code__", "HY265"),
    "its code by name": ('getattr(target, "__defaults__", None)', "HY265"),
    "its signature and name": ("inspect.signature(target), target.__name__, callable(target)", None),
    "a dictionary": ("{target: 1}[target], target == target, copy.copy([target])", None),
    "a list that is copied": ("copy.deepcopy([x])", None),
}


@pytest.mark.parametrize(("test", "code"), TESTS.values(), ids=TESTS.keys())
def test_what_is_around_a_function_is_seen(test: str, code: str | None, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(LIBRARY)
    body = "".join(f"    {line}\n" for line in test.splitlines())
    (tmp_path / "test_lib.py").write_text(
        "import copy, inspect, multiprocessing, pickle, types, unittest\n"
        "from unittest import mock\nimport pytest\nimport tensorflow as tf\nimport lib\nfrom lib import target\n"
        f"def test_it(monkeypatch):\n    x = tf.ones(2)\n{body}"
        "def test_plain():\n    target(tf.ones(2))\n"
    )
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    function = next(f for f in report.functions if f.facts.qualname == "target")
    told = {status.code for status in function.statuses} & {"HY356", "HY605", "HY265"}
    assert told == ({code} if code else set()), function.statuses
