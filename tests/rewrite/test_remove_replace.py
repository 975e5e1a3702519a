"""Decorators that go, and arguments that change."""

# ruff: noqa: E501 (before and after stand side by side)

from __future__ import annotations

import dataclasses

import pytest

from hybridize.rewrite import plan_edits

from .helpers import change, check, check_dropped, check_noop

IMPORT = "import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@tf.function\ndef f(): pass\n", "def f(): pass\n"),
        ("@ tf . function  # fast\ndef f(): pass", "def f(): pass"),
        ("@tf.function(\n    # why\n    autograph=False,\n)  # end\n# stays\ndef f(): pass\n", "# stays\ndef f(): pass\n"),
        ("@a\n# one\n@tf.function()\n# two\n@b\ndef f(): pass\n", "@a\n# one\n# two\n@b\ndef f(): pass\n"),
        ("@(tf.function)\ndef f(): pass\n", "def f(): pass\n"),
        ("@(  # why\n  tf.function\n)\ndef f(): pass\n", "def f(): pass\n"),
        ("@((tf.function)(autograph=False))\ndef f(): pass\n", "def f(): pass\n"),
        ("@tf.function \\\n\ndef f(): pass\n", "def f(): pass\n"),
        ("\x0c@tf.function\ndef f(): pass\n", "\x0cdef f(): pass\n"),
        ("@tf.function\n\n\n@b\ndef f(): pass\n", "\n\n@b\ndef f(): pass\n"),
        ("@tf.function\n@tf.function(autograph=False)\ndef f(): pass\n", "def f(): pass\n"),
        ("import functools\n@functools.partial(tf.function, autograph=False)\ndef f(): pass\n", "import functools\ndef f(): pass\n"),
        ("@tf.compat.v2.function\ndef f(): pass\n", "def f(): pass\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_whole_decorator_goes_and_nothing_else(before: str, after: str, newline: str) -> None:
    before, after = (IMPORT + before).replace("\n", newline), (IMPORT + after).replace("\n", newline)
    check(before, after, "f", action="remove")


def test_an_import_that_is_no_longer_used_stays() -> None:
    check("from tensorflow import function\n@function\ndef f(): 0\n", "from tensorflow import function\ndef f(): 0\n", "f", action="remove")  # fmt: skip


def test_a_function_without_the_decorator_has_none_to_remove() -> None:
    check_noop("import numba\n@numba.jit\ndef f(): pass\n", "f", action="remove")


def test_the_analysis_may_name_the_line_of_a_decorator_that_this_file_alone_does_not_explain() -> None:
    source = b"from .compat import graph\n@other\n@graph\ndef f(): pass\n"
    wanted = dataclasses.replace(change(source, "f", "remove"), decorator_line=3)
    assert plan_edits(source, [wanted]).new == b"from .compat import graph\n@other\ndef f(): pass\n"


@pytest.mark.parametrize(
    ("before", "after", "arguments"),
    [
        ("@tf.function", "@tf.function(reduce_retracing=True)", {"reduce_retracing": "True"}),
        ("@tf.function()", "@tf.function(reduce_retracing=True)", {"reduce_retracing": "True"}),
        ("@(tf.function)  # c", "@(tf.function(jit_compile=True))  # c", {"jit_compile": "True"}),
        ("@tf.function( jit_compile = True )", "@tf.function( jit_compile = False )", {"jit_compile": "False"}),
        (
            "@tf.function(\n    autograph=False,  # slow\n    jit_compile=(1 > 2),\n)",
            "@tf.function(\n    autograph=False,  # slow\n    jit_compile=(1 > 2), reduce_retracing=True,\n)",
            {"autograph": "False", "jit_compile": "1 > 2", "reduce_retracing": "True"},
        ),
        ("@tf.function(experimental_compile=True)", "@tf.function(jit_compile=True)", {"jit_compile": "True"}),
        ("@tf.function(None, [spec])", "@tf.function(input_signature=[tf.TensorSpec(None)])", {"input_signature": "[tf.TensorSpec(None)]"}),
        ("@tf.function(**options)", "@tf.function(autograph=False)", {"autograph": "False"}),
        ("@tf.function(jit_compile=True)  # c", "@tf.function  # c", {}),
    ],
)  # fmt: skip
def test_only_the_arguments_change(before: str, after: str, arguments: dict[str, str]) -> None:
    rest = "@b\ndef f(): pass\n"
    check(f"{IMPORT}@a\n{before}\n{rest}", f"{IMPORT}@a\n{after}\n{rest}", "f", action="replace", **arguments)


def test_arguments_through_partial() -> None:
    head = "import functools\nimport tensorflow as tf\n"
    check(
        f"{head}@functools.partial(tf.function, autograph=False)\ndef f(): pass\n",
        f"{head}@functools.partial(tf.function, jit_compile=True)\ndef f(): pass\n",
        "f",
        action="replace",
        jit_compile="True",
    )


def test_a_function_without_the_decorator_has_no_arguments_to_change() -> None:
    check_dropped("def f(): pass\n", "it has no tf.function decorator to change", "f", action="replace")
