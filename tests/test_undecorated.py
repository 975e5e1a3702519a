"""`scripts/undecorated.py`: decorators taken away from a small package, and what becomes of its functions."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from textwrap import dedent

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import undecorated

FILES = {
    "pyproject.toml": '[project]\nname = "lib"\ndependencies = ["tensorflow>=2.15"]\n',
    "lib/__init__.py": "",
    "lib/backend.py": """\
        import tensorflow as tf
        traced = tf.function(autograph=False)
        """,
    "lib/core.py": """\
        import functools
        import tensorflow as tf
        from tensorflow import function as graph
        from lib.backend import traced

        @tf.function(
            input_signature=[tf.TensorSpec([None, 4])],  # four columns
        )
        def long(x: tf.Tensor):
            for _ in range(40):
                x = tf.tanh(x) * 2.0
            return x

        @graph
        def prints(x: tf.Tensor):
            print("called")
            for _ in range(40):
                x = tf.tanh(x) * 2.0
            return x

        @traced
        def knows_nothing(n):
            return n

        class Model:
            def __init__(self):
                self.step = tf.function(self.step)

            def step(self, x: tf.Tensor):
                return long(x) + long(x + 1.0)

        @functools.wraps(long)
        def other(x):
            return x
        """,
    "lib/test_core.py": """\
        import tensorflow as tf
        from lib.core import long

        @tf.function
        def helper(x):
            return tf.square(x)

        def test_long():
            assert long(tf.zeros([1, 4])).shape == helper(tf.ones([1, 4])).shape
        """,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    home = tmp_path / "lib"
    for path, text in FILES.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(dedent(text), encoding="utf-8")
    return home


def test_what_makes_functions_hybrid_goes_and_lines_stay(project: Path, tmp_path: Path) -> None:
    places, others = undecorated.copy_stripped(project, tmp_path / "copy")
    before, after = ((home / "lib/core.py").read_text() for home in (project, tmp_path / "copy"))
    assert others == 0
    lines = before.splitlines()
    assert [lines[line - 1].strip() for line in places["lib/core.py"]] == [
        "def long(x: tf.Tensor):",
        "def prints(x: tf.Tensor):",
        "def knows_nothing(n):",
        "def step(self, x: tf.Tensor):",
    ]
    assert "function(" not in after
    assert "@traced" not in after
    assert "self.step = (self.step)" in after
    assert "@functools.wraps(long)" in after
    assert [line for line in after.splitlines() if "def " in line] == [line for line in lines if "def " in line]
    assert len(after.splitlines()) == len(lines)
    ast.parse(after)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("f = tf.function(lambda x: x)\n", "f = (lambda x: x)\n"),
        ("f = tf.function(func=g, jit_compile=True)\n", "f = (g)\n"),
        ("f = tf.function(jit_compile=True)(g)\n", "f = (g)\n"),
        ("f = tf.function(\n    g,\n    autograph=False,\n)\n", "f = (\ng\n\n)\n"),
        ("@(tf.function)\ndef f(): pass\n", "\ndef f(): pass\n"),
        ("@functools.partial(tf.function, autograph=False)\ndef f(): pass\n", "\ndef f(): pass\n"),
        ("class A:\n    @staticmethod\n    @tf.function\n    def f(): pass\n", None),
    ],
)
def test_forms(text: str, left: str | None) -> None:
    made = undecorated.strip(f"import functools\nimport tensorflow as tf\n{text}".encode())
    assert made is not None
    body = made.text.decode().partition("as tf\n")[2]
    assert "tf.function" not in body
    assert body.count("\n") == text.count("\n")
    if left is not None:
        assert body == left


def test_names_that_are_not_tensorflows_stay() -> None:
    assert undecorated.strip(b"import jax as tf\n@tf.function\ndef f(): pass\n") is None
    assert undecorated.strip(b"from theano import function\n@function\ndef f(): pass\n") is None


def test_every_function_falls_into_a_class(project: Path, tmp_path: Path) -> None:
    places, _ = undecorated.copy_stripped(project, tmp_path / "copy")
    found = undecorated.ask(tmp_path / "copy", places)
    groups = {mode: {each.qualname: each.group for each in asked} for mode, asked in found.items()}
    assert groups["all-safe"]["long"] == "converted"
    assert groups["default"]["prints"] == "refused"
    assert groups["default"]["knows_nothing"] == "none"
    helper = next(each for each in found["default"] if each.qualname == "helper")
    assert helper.tested
    line = undecorated.tally("lib", found["default"])
    assert line.startswith("lib: 4 functions: ")
    assert "refused 1 (25%)" in line
    assert "in tests 1" in line


def test_scores_alone_tell_nothing_of_the_contents(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.argv = ["undecorated.py", str(project), "--score-only"]
    assert undecorated.main() == 0
    said = capsys.readouterr().out
    assert "default   lib: 4 functions: " in said
    assert "knows_nothing" not in said
    assert "core.py" not in said
