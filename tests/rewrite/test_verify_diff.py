"""The post-condition finds what an edit should not have done; the diff shows what it did."""

# ruff: noqa: E501 (before and after stand side by side)

from __future__ import annotations

import difflib

import pytest

from hybridize.rewrite import unified_diff, verify

from .helpers import change, plan

SOURCE = b"import tensorflow as tf\ndef f(x): return x\ndef g(x): return 1\n"


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        (b"import tensorflow as tf\n@tf.function\ndef f(x): return x\ndef g(x): return 1\n", None),
        (b"import tensorflow as tf\n@tf.function\ndef f(x): return x\ndef g(x): return 2\n", "differs from the plan"),
        (b"import tensorflow as tf\n@tf.function\ndef f(x): return x\ndef g(x): return 1.0\n", "differs from the plan"),
        (b"import tensorflow as tf\n@tf.function\ndef f(y): return x\ndef g(x): return 1\n", "differs from the plan"),
        (b"import tensorflow as tf\n@tf.function\ndef f(x): return x\n@b\ndef g(x): return 1\n", "differs from the plan"),
        (b"import tensorflow as tf\n@tf.functions\ndef f(x): return x\ndef g(x): return 1\n", "is not tf.function"),
        (b"import tensorflow as tf\n@tf.function(a=1)\ndef f(x): return x\ndef g(x): return 1\n", "arguments"),
        (b"import tensorflow as tf\n@a\n@tf.function\ndef f(x): return x\ndef g(x): return 1\n", "f: "),
        (b"import tensorflow as tf\ndef f(x): return x\ndef g(x): return 1\n", "not where it was planned"),
        (b"import tensorflow as tf\nimport os\n@tf.function\ndef f(x): return x\ndef g(x): return 1\n", "other statements"),
        (b"import tensorflow as tf\n@tf.function\n def f(x): return x\n", "does not parse"),
    ],
)  # fmt: skip
def test_anything_but_the_planned_change_is_found(new: bytes, problem: str | None) -> None:
    found = verify(SOURCE, new, [change(SOURCE, "f")])
    assert (found is None) if problem is None else (found is not None and problem in found)


def test_the_diff_of_a_latin_1_file_with_windows_line_ends() -> None:
    source = "# coding: latin-1\r\nimport tensorflow as tf\r\n\r\n# é\r\ndef f(): pass".encode("latin-1")
    assert unified_diff(plan(source, "f")) == (
        "--- pkg/model.py\n+++ pkg/model.py\n@@ -2,4 +2,5 @@\n import tensorflow as tf\r\n \r\n # é\r\n"
        "+@tf.function\r\n def f(): pass\n\\ No newline at end of file\n"
    )


def test_hunks_far_apart_are_counted_as_difflib_does() -> None:
    body = "".join(f"def f{n}(x):\n    a = x\n    return a\n\n" + "x\n" * (n % 9) for n in range(12))
    result = plan(body, "f0", "f1", "f5", "f6", "f11")
    lines = [data.decode().splitlines(keepends=True) for data in (result.original, result.new)]
    assert unified_diff(result) == "".join(difflib.unified_diff(*lines, "pkg/model.py", "pkg/model.py"))


def test_no_change_no_diff() -> None:
    assert unified_diff(plan("x = 1\n")) == ""
