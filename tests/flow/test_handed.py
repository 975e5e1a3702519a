"""What a function gives back as it came: each caller has its own again, however many call it."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport

MANY = 60  # more than a value holds apart


def decided(folder: Path, text: str) -> dict[str, FunctionReport]:
    """The reports on the functions of a program, by name."""
    (folder / "main.py").write_text(text, "utf-8")
    return {f.facts.qualname: f for f in analyze([folder], Config()).functions}


def steps(decorator: str) -> str:
    """Many decorated classes, and one that derives from the first and calls its method."""
    classes = "".join(
        f"@{decorator}\nclass Step{n}:\n    def run(self, x):\n        return tf.math.sin(x) * {n}\n"
        for n in range(MANY)
    )
    return f"""{classes}
class Own(Step0):
    def run(self, x):
        return super().run(x) + 1

own = Own()
own.run(tf.ones((2, 3)))
"""


def test_a_class_that_a_decorator_registers_stays_itself(tmp_path: Path) -> None:
    text = """
import tensorflow as tf
registry = {}
def register(cls):
    registry[cls.__name__] = cls
    return cls
"""
    found = decided(tmp_path, text + steps("register"))
    assert found["Own.run"].decision.precondition == "P1"
    assert [t.shape for t in found["Step0.run"].facts.parameters[1].tensor_types] == [(2, 3)]


def test_a_class_goes_through_a_wrapper_of_such_a_decorator(tmp_path: Path) -> None:
    text = """
import tensorflow as tf
def with_arguments(decorator):
    def given(*args, **kwargs):
        return lambda x: decorator(x, *args, **kwargs)
    return given
@with_arguments
def exported(cls, names):
    names.append(cls.__name__)
    return cls
names = []
export = exported(names)
"""
    found = decided(tmp_path, text + steps("export"))
    assert found["Own.run"].decision.precondition == "P1"


def test_what_may_give_back_something_else_is_not_taken_for_its_argument(tmp_path: Path) -> None:
    text = """
import os
import tensorflow as tf
log = []
class Loud:
    def run(self, x):
        log.append(1)
        return x * 2
def chosen(cls):
    if os.environ.get("LOUD"):
        return Loud
    return cls
@chosen
class Step:
    def run(self, x):
        return tf.math.sin(x) * 2
def use(x):
    return Step().run(x)
use(tf.ones((2, 3)))
"""
    assert "python-side-effects" in [s.name for s in decided(tmp_path, text)["use"].statuses]
