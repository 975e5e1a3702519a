"""`multipledispatch`: a call goes to the functions that the classes of its arguments choose, and to no others."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """
import numpy as np
import tensorflow as tf
from multipledispatch import Dispatcher, dispatch

log = []
class A:
    pass
class B(A):
    pass
"""
PLAIN = "area = Dispatcher('area')\n"
#: A subclass that passes on what it overrides: one method of the project registers for all dispatchers.
DERIVED = """
class Own(Dispatcher):
    def register(self, *types, **kwargs):
        return super().register(*types, **kwargs)
    def dispatch(self, *types):
        return self.funcs[types]
area, other = Own('area'), Own('other')
@other.register(A, tf.Tensor)
def other_a(shape, x):
    log.append(2)
    return x
"""
AREAS = """
@area.register(A, tf.Tensor)
def area_a(shape, x):
    return tf.math.sin(x) * 2
@area.register(B, tf.Tensor)
def area_b(shape, x):
    log.append(1)
    return x * 3
@area.register(A, np.ndarray)
def area_array(shape, x):
    return tf.math.sin(x) * 5
def of_a(x):
    return area(A(), x)
def of_b(x):
    return area(B(), x)
def of_array(x):
    return area(A(), x)
of_a(tf.ones(2)), of_b(tf.ones(2)), of_array(np.ones(2))
"""


def statuses(folder: Path, text: str) -> dict[str, set[str]]:
    """The errors of the functions of a program, and P1 where it passes, by name."""
    (folder / "main.py").write_text(HEAD + text, "utf-8")
    return {
        f.facts.qualname: {s.code for s in f.statuses if s.code != "HY021"} | {f.decision.precondition or "kept"}
        for f in analyze([folder], Config()).functions
    }


def test_the_most_special_function_is_called(tmp_path: Path) -> None:
    found = statuses(tmp_path, PLAIN + AREAS)
    assert found["of_a"] == {"P1"}
    assert found["of_b"] == {"HY003", "kept"}


def test_an_array_becomes_a_tensor_and_chooses_another_function(tmp_path: Path) -> None:
    assert "HY347" in statuses(tmp_path, PLAIN + AREAS)["of_array"]


def test_a_subclass_may_override_what_registers_and_what_chooses(tmp_path: Path) -> None:
    found = statuses(tmp_path, DERIVED + AREAS)
    assert found["of_a"] == {"P1"}
    assert found["of_b"] == {"HY003", "kept"}


def test_add_registers_too(tmp_path: Path) -> None:
    found = statuses(
        tmp_path,
        PLAIN
        + """
def noisy(shape, x):
    log.append(1)
    return x * 3
area.add((B, tf.Tensor), noisy)
def of_b(x):
    return area(B(), x)
of_b(tf.ones(2))
""",
    )
    assert found["of_b"] == {"HY003", "kept"}


def test_functions_of_one_name_are_one(tmp_path: Path) -> None:
    found = statuses(
        tmp_path,
        """
@dispatch(A, tf.Tensor)
def area(shape, x):
    log.append(1)
    return x
@dispatch(str, tf.Tensor)
def area(shape, x):
    return tf.math.sin(x)
def of_a(x):
    return area(A(), x)
def of_text(x):
    return area("unit", x)
of_a(tf.ones(2)), of_text(tf.ones(2))
""",
    )
    assert found["of_a"] == {"HY003", "HY005", "kept"}
    assert found["of_text"] == {"P1"}


def test_what_nothing_is_registered_for_is_not_known(tmp_path: Path) -> None:
    found = statuses(tmp_path, PLAIN + "def use(x):\n    return area(x)\nuse(tf.ones(2))\n")
    assert "HY006" in found["use"]
