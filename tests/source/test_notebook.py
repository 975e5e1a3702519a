"""Notebooks: one text for all code cells, whose lines lead back to the cells."""

import ast
import json
from typing import Any

import pytest

from hybridize.source import FileRef, SourceError, SourceText, parse
from hybridize.source.reading import decode_source

REF = FileRef("/project/n.ipynb", "n.ipynb")


def code(source: str | list[str], **extra: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": [], "metadata": {}, **extra}


def notebook(*cells: dict[str, Any], **metadata: Any) -> SourceText:
    data = json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
    result = decode_source(REF, data.encode())
    assert isinstance(result, SourceText), result
    return result


def masked_lines(source: str) -> list[str]:
    text = notebook(code(source)).text
    assert text.count("\n") == len(source.rstrip("\n").split("\n"))
    return text.splitlines()


def test_code_cells_make_one_text() -> None:
    source = notebook(
        {"cell_type": "markdown", "source": "# Title\nnot python"},
        code(["import a\n", "\n", "x = 1"], id="first"),
        code(""),
        code("def f():\n    return x\n", id="second"),
    )
    assert source.text == "import a\n\nx = 1\ndef f():\n    return x\n"
    assert source.cells is not None
    assert [(cell.index, cell.id, cell.first_line, cell.line_count) for cell in source.cells.cells] == [
        (1, "first", 1, 3),
        (3, "second", 4, 2),
    ]


def test_lines_lead_to_cells_and_back() -> None:
    source = notebook(code("a = 1\nb = 2"), code("c = 3"))
    cells = source.cells
    assert cells is not None
    assert [(cells.locate(line)[0].index, cells.locate(line)[1]) for line in (1, 2, 3)] == [(0, 1), (0, 2), (1, 1)]
    for line in (1, 2, 3):
        cell, inner = cells.locate(line)
        assert cells.line_of(cell.index, inner) == line
        assert cell.source.split("\n")[inner - 1] == source.text.split("\n")[line - 1]
    for line in (0, 4):
        with pytest.raises(LookupError):
            cells.locate(line)
    with pytest.raises(LookupError):
        cells.line_of(1, 2)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%matplotlib inline\nx = 1", ["pass", "x = 1"]),
        ("if gpu:\n    !pip install tensorflow", ["if gpu:", "    pass"]),
        ("files = !ls *.py\nt = %timeit -o f()", ["files = get_ipython()", "t = get_ipython()"]),
        ("model.fit?\n?model\nmodel??", ["pass", "pass", "pass"]),
        ("%%time\nx = 1", ["pass", "x = 1"]),
        ("%%capture out --no-stderr\n!ls\nx = 1", ["pass", "pass", "x = 1"]),
        ("%%bash\necho 'x\nls", ["pass", "", ""]),
        ("!pip install a \\\n  b\nx = 1", ["pass", "", "x = 1"]),
        ("%time\nx = (1\n % 2)\ns = '''\n!no magic\n'''", ["pass", "x = (1", " % 2)", "s = '''", "!no magic", "'''"]),
        ("!ls\nx = 1 \\\n  % 2", ["pass", "x = 1 \\", "  % 2"]),
        ("!ls\nx = '#' # it's (\n%cd ..", ["pass", "x = '#' # it's (", "pass"]),
    ],
)
def test_ipython_syntax_is_masked_line_by_line(source: str, expected: list[str]) -> None:
    assert masked_lines(source) == expected


def test_plain_python_is_never_touched() -> None:
    source = "x = 5\ny = (x\n% 3)\nz = '''\n%magic?\n'''"
    result = notebook(code(source))
    assert result.text == source + "\n"
    assert result.cells is not None
    assert result.cells.cells[0].masked == frozenset()


def test_masked_lines_are_known() -> None:
    result = notebook(code("!ls\nx = 1\n%cd"))
    assert result.cells is not None
    assert result.cells.cells[0].masked == {1, 3}


def test_a_cell_that_is_no_python_is_named_and_stops_no_other() -> None:
    result = notebook(code("x = 1"), code("!ls\ndef f(:\n  pass"), code("y = 2"))
    assert result.text == "x = 1\npass\n\n\ny = 2\n"
    assert [(p.path, p.line, p.message) for p in result.problems] == [
        ("n.ipynb", 3, "cell 2: cannot be parsed: invalid syntax")
    ]
    assert isinstance(parse(result), ast.Module)


def test_await_outside_a_function_is_fine() -> None:
    assert notebook(code("r = await f()")).problems == ()


def test_notebooks_in_other_languages_hold_no_python() -> None:
    assert notebook(code("x <- 1"), kernelspec={"language": "R"}).text == ""
    assert notebook(code("x = 1"), kernelspec={"language": "python3"}).text == "x = 1\n"


def test_format_3() -> None:
    data = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}]}]}
    result = decode_source(REF, json.dumps(data).encode())
    assert isinstance(result, SourceText)
    assert result.text == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("data", "line"),
    [(b'{"cells": [\n}', 2), (b"", 1), (b"[]", 1), (b'{"cells": 3}', 1), (b'{\n"\xff"}', 2), (b"[" * 100_000, 1)],
)
def test_what_is_no_notebook(data: bytes, line: int) -> None:
    result = decode_source(REF, data)
    assert isinstance(result, SourceError)
    assert (result.path, result.line) == ("n.ipynb", line)
    assert result.message.startswith("is no notebook: ")
