"""Decorators are put on as `fix` would, and where it would not, as written."""

import pytest

from harness import Program, TargetError, add_decorator, decorated

CLASS = """import tensorflow as tf
class M:
    @staticmethod
    def target(x):
        return x
def outer():
    def target(x):
        return x
    return target
"""


def test_directly_above_def_and_outermost() -> None:
    assert "@staticmethod\n    @tf.function\n    def target" in add_decorator(CLASS, "M.target", "tf.function")
    outermost = add_decorator(CLASS, "M.target", "tf.function", outermost=True)
    assert "    @tf.function\n    @staticmethod\n" in outermost


def test_a_bare_name_is_the_first_one_so_called_and_a_path_is_exact() -> None:
    assert add_decorator(CLASS, "target", "tf.function") == add_decorator(CLASS, "M.target", "tf.function")
    assert "    @tf.function\n    def target(x):\n        return x\n    return" in add_decorator(
        CLASS, "outer.target", "tf.function"
    )


def test_arguments_are_kept() -> None:
    assert "@tf.function(jit_compile=True)\n" in add_decorator(CLASS, "outer", "tf.function(jit_compile=True)")


def test_several_targets_in_several_files_and_twice() -> None:
    program = Program(
        (("main.py", "import lib\n"), ("lib.py", CLASS)),
        "main.py",
        ("lib.py:M.target", "lib.py:outer.target"),
        "tf.function; tf.function",
    )
    assert dict(decorated(program).files)["lib.py"].count("@tf.function\n") == 4


@pytest.mark.parametrize("name", ["absent", "M.absent", "M"])
def test_what_is_not_there_is_said(name: str) -> None:
    with pytest.raises(TargetError, match=name):
        add_decorator(CLASS, name, "tf.function")
