"""Notebooks: only the strings of the changed lines are touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridize.rewrite import FilePlan, FileResult, plan_file
from hybridize.rewrite.model import Action
from hybridize.source.model import FileRef, SourceError
from hybridize.source.reading import decode_source

from .helpers import at_line

NAME = "pkg/a.ipynb"


CELL = r"""  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "c1",
   "metadata": {"z":1, "a" : [ ]},
   "outputs": [{"text": ["\u00e9 é\n"], "output_type": "stream", "name": "stdout"}],
   "source": SOURCE
  }"""
NOTEBOOK = """{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": ["def f(): pass"]},
CELLS
 ],
 "metadata": {},
 "nbformat": 4, "nbformat_minor": 5
}
"""
FORMAT_3 = '{"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [{"cell_type": "code", "input": [SOURCE]}]}]}'


def notebook(*cells: str) -> str:
    """A notebook in the usual form, with outputs, metadata and text that is not ASCII; cells are JSON text."""
    return NOTEBOOK.replace("CELLS", ",\n".join(CELL.replace("SOURCE", cell) for cell in cells))


def lines(*source: str) -> str:
    """A cell's source as Jupyter writes it."""
    return "[\n" + ",\n".join(f"    {line}" for line in source) + "\n   ]"


def plan(data: bytes, name: str = "f", action: Action = "add", **arguments: str) -> FileResult:
    source = decode_source(FileRef(NAME, NAME), data)
    assert not isinstance(source, SourceError)
    numbers = [n for n, line in enumerate(source.text.split("\n"), 1) if line.lstrip().startswith(f"def {name}(")]
    changes = [at_line("", n, action=action, arguments=tuple(arguments.items())) for n in numbers]
    return plan_file(FilePlan(Path(NAME), tuple(changes)), data)


def check(before: str, after: str, action: Action = "add", **arguments: str) -> None:
    for encode in (str.encode, lambda text: text.replace("\n", "\r\n").encode(), lambda text: text.encode("utf-8-sig")):
        result = plan(encode(before), action=action, **arguments)
        assert not result.dropped
        assert result.new == encode(after), result.new.decode()
        assert result.path == Path(NAME)
        json.loads(result.new.decode("utf-8-sig"))
        assert not plan(result.new, action=action, **arguments).changed


TF = lines('"import tensorflow as tf"')


def test_a_decorator_is_one_more_string() -> None:
    check(
        notebook(TF, lines(r'"x = \"\\u00e9\"\n"', r'"\n"', r'"def f(x):\n"', r'"    return x"')),
        notebook(TF, lines(r'"x = \"\\u00e9\"\n"', r'"\n"', r'"@tf.function\n"', r'"def f(x):\n"', r'"    return x"')),
    )


def test_a_function_at_the_start_of_a_cell_and_one_of_a_single_line() -> None:
    check(notebook(TF, lines('"def f(): 0"')), notebook(TF, lines(r'"@tf.function\n"', '"def f(): 0"')))
    check(notebook(TF, '["def f(): 0"]'), notebook(TF, r'["@tf.function\n",' + '"def f(): 0"]'))


def test_a_source_that_is_one_string() -> None:
    check(
        notebook('"import tensorflow as tf"', r'"s = \"é\\u00e9\ud83d\ude00\"\ndef f(): 0\n# \u00e9"'),
        notebook('"import tensorflow as tf"', r'"s = \"é\\u00e9\ud83d\ude00\"\n@tf.function\ndef f(): 0\n# \u00e9"'),
    )


def test_an_import_joins_the_cell_of_the_imports() -> None:
    check(
        notebook(lines('"import os"'), lines(r'"%%time\n"', r'"def f(): 0\n"')),
        notebook(
            lines(r'"import os\n"', r'"\n"', '"import tensorflow as tf"'),
            lines(r'"%%time\n"', r'"@tf.function\n"', r'"def f(): 0\n"'),
        ),
    )
    check(
        notebook(lines(r'"!pip install x\n"', r'"import os\n"', '"y = 1"'), lines('"def f(): 0"')),
        notebook(
            lines(r'"!pip install x\n"', r'"import os\n"', r'"\n"', r'"import tensorflow as tf\n"', r'"\n"', '"y = 1"'),
            lines(r'"@tf.function\n"', '"def f(): 0"'),
        ),
    )


def test_removing() -> None:
    check(
        notebook(TF, lines(r'"@tf.function(\n"', r'"  autograph=False)\n"', '"def f(): 0"')),
        notebook(TF, lines('"def f(): 0"')),
        action="remove",
    )


@pytest.mark.parametrize(("raw", "written"), [("# é", "# é"), (r"# \u00e9", r"# \u00e9")])
def test_a_changed_line_keeps_its_way_of_writing_non_ascii_text(raw: str, written: str) -> None:
    check(
        notebook(TF, lines(rf'"@tf.function  {raw}\n"', '"def f(): 0"')),
        notebook(TF, lines(rf'"@tf.function(jit_compile=True)  {written}\n"', '"def f(): 0"')),
        action="replace",
        jit_compile="True",
    )


def test_windows_line_ends_inside_a_cell() -> None:
    check(
        notebook(TF, lines(r'"x = 1\r\n"', r'"def f(): 0\r\n"')),
        notebook(TF, lines(r'"x = 1\r\n"', r'"@tf.function\r\n"', r'"def f(): 0\r\n"')),
    )


def test_format_3() -> None:
    def old(*source: str) -> str:
        return FORMAT_3.replace("SOURCE", ", ".join(source))

    check(
        old(r'"import tensorflow as tf\n"', '"def f(): 0"'),
        old(r'"import tensorflow as tf\n"', r'"@tf.function\n"', '"def f(): 0"'),
    )


def test_what_is_no_notebook_is_left_alone() -> None:
    result = plan_file(FilePlan(Path(NAME), (at_line("", 1),)), b"[]")
    assert not result.changed
    assert "is no notebook" in result.dropped[0][1]


def test_no_place_for_an_import_is_a_reason() -> None:
    result = plan(notebook(lines(r'"%%time\n"', '"def f(): 0"')).encode())
    assert not result.changed
    assert "no place for an import" in result.dropped[0][1]
