"""State that the code itself takes back: a side effect, but none that tracing alters."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from ..support import Json, functions_by_key, run_check

#: A program each, with whether `f` finds things as they were when it ends.
PROGRAMS: Final = {
    "restored": (
        True,
        """
        class Mode:
            on = False
        def f(x):
            old = Mode.on
            Mode.on = True
            try:
                return x * 2
            finally:
                Mode.on = old
        """,
    ),
    "another_field": (
        False,
        """
        class Mode:
            on, debug = False, False
        def f(x):
            old = Mode.debug
            Mode.on = not old
            try:
                return x * 2
            finally:
                Mode.on = old
        """,
    ),
    "read_too_late": (
        False,
        """
        class Mode:
            on = False
        def f(x):
            Mode.on = not Mode.on
            old = Mode.on
            Mode.on = old
            return x * 2
        """,
    ),
    "counted_down": (
        True,
        """
        depth = 0
        def f(x):
            global depth
            depth += 1
            y = x * depth
            depth -= 1
            return y
        """,
    ),
    "counted_down_less": (
        False,
        """
        depth = 0
        def f(x):
            global depth
            depth += 2
            y = x * depth
            depth -= 1
            return y
        """,
    ),
    "counted_down_sometimes": (
        False,
        """
        depth = 0
        def f(x):
            global depth
            depth += 1
            if x.shape[0] > 1:
                return x
            depth -= 1
            return x * depth
        """,
    ),
    "in_each_turn": (
        True,
        """
        class Part:
            on = False
        parts = [Part(), Part()]
        def f(x):
            for part in parts:
                old = part.on
                part.on = True
                if isinstance(part, int):
                    x = x + 1
                part.on = old
            return x * 2
        """,
    ),
    "in_some_turns": (
        False,
        """
        class Part:
            on = False
        parts = [Part(), Part()]
        def f(x):
            for part in parts:
                old = part.on
                part.on = True
                if len(parts) > 2:
                    continue
                part.on = old
            return x * 2
        """,
    ),
    "before_the_loop": (
        False,
        """
        class Part:
            on = False
        parts = []
        part = Part()
        def f(x):
            global part
            old = part.on
            part.on = True
            for part in parts:
                part.on = old
            return x * 2
        """,
    ),
    "another_turn": (
        False,
        """
        class Part:
            on = False
        parts = [Part(), Part()]
        def f(x):
            old = parts[0].on
            for part in parts:
                part.on = True
                part.on = old
            return x * 2
        """,
    ),
    "a_loop_that_returns": (
        False,
        """
        class Mode:
            on = False
        def f(x):
            old = Mode.on
            Mode.on = True
            for n in range(3):
                if n == x.shape[0]:
                    return x
            Mode.on = old
            return x * 2
        """,
    ),
    "divided": (
        True,
        """
        class Scope:
            names = []
            def __enter__(self):
                Scope.names.append("a")
                return self
            def __exit__(self, *e):
                Scope.names.pop()
        def f(x):
            with Scope():
                return x * len(Scope.names)
        """,
    ),
    "divided_sometimes": (
        False,
        """
        class Scope:
            names = []
            def __enter__(self):
                Scope.names.append("a")
                return self
            def __exit__(self, kind, *e):
                if kind is not None:
                    Scope.names.pop()
        def f(x):
            with Scope():
                return x * len(Scope.names)
        """,
    ),
    "generator": (
        True,
        """
        import contextlib
        scales = [1.0]
        @contextlib.contextmanager
        def scaled(k):
            scales.append(k)
            try:
                yield
            finally:
                scales.pop()
        def f(x):
            with scaled(2.0):
                return x * scales[-1]
        """,
    ),
}


@cache
def functions() -> dict[str, Json]:
    """The functions of all programs, by path and name, from one run."""
    with TemporaryDirectory() as made:
        for name, (_, source) in PROGRAMS.items():
            text = "import tensorflow as tf" + textwrap.dedent(source) + "f(tf.ones([2]))\nf(tf.ones([3]))\n"
            (Path(made) / f"{name}.py").write_text(text, encoding="utf-8")
        return functions_by_key(run_check(Path(made), "--all-safe"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_taken_back_does_not_matter_to_a_trace(name: str) -> None:
    function = next(value for key, value in functions().items() if re.fullmatch(rf"{name}\.py:f", key))
    assert function["facts"]["python_side_effects"]["value"] == "yes"
    kept = any(status["name"] == "python-side-effects" for status in function["statuses"])
    assert kept is not PROGRAMS[name][0], function["statuses"]
