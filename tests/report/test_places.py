"""How places are shown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridize.report.paths import Places, line_of, place, shown_from
from hybridize.rewrite.cell_lines import json_position
from hybridize.source import FileRef, SourceText, decode_source


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/work/here/a.py", "a.py"),
        ("/work/here/sub/a.py", "sub/a.py"),
        ("/work/here/..odd/a.py", "..odd/a.py"),
        ("/work/other/a.py", "/work/other/a.py"),
        ("/work/hereafter/a.py", "/work/hereafter/a.py"),
        ("/work/here/sub/../../a.py", "/work/a.py"),
    ],
)
def test_inside_relative_outside_absolute(path: str, expected: str) -> None:
    assert shown_from("/work/here", path) == expected.replace("/", os.sep)


def test_a_link_to_the_working_folder_is_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert shown_from(str(tmp_path / "real"), str(tmp_path / "link" / "a.py")) == "a.py"


def test_a_place_by_anything_that_shows_paths() -> None:
    assert place(str.upper, "a.py", 3) == "A.PY:3"
    assert place(str.upper, "a.py", 3, 5) == "A.PY:3:5"
    assert line_of(str.upper, "a.py", 3) == "3"
    assert place(Places("/p", here="/"), "a.py", 3, 5) == os.path.join("p", "a.py") + ":3:5"


SOURCES = ["import os\n\n", 'x = "é\\t"\ny = 2\n', "%%bash\nls\n", "z = 3"]
FORMS: dict[str, Callable[[str], object]] = {
    "strings": lambda s: s,
    "lists": lambda s: s.splitlines(keepends=True),
    "one list": lambda s: [s],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
def test_cells_and_their_places_in_json(tmp_path: Path, form: str, ascii_only: bool, indent: int | None) -> None:
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "source": "# x"}]
    cells += [{"cell_type": "code", "source": FORMS[form](source)} for source in SOURCES]
    text = json.dumps({"cells": cells, "nbformat": 4}, indent=indent, ensure_ascii=ascii_only)
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    read = decode_source(FileRef("a.ipynb", "a.ipynb"), text.encode())
    assert isinstance(read, SourceText)
    assert read.cells is not None
    places = Places(str(tmp_path), {"a.ipynb": read.cells}, str(tmp_path))
    lines = read.text.split("\n")
    for wanted, shown in {"import os": "cell 2:1", "y = 2": "cell 3:2", "z = 3": "cell 5:1"}.items():
        line = lines.index(wanted) + 1
        assert places.at("a.ipynb", line, 2) == f"a.ipynb:{shown}:2"
        row, column = places.position("a.ipynb", line, 3)
        assert text.split("\n")[row - 1][column - 1 :].startswith(wanted[2:])
    assert places.line("a.ipynb", 99) == "99"
    assert places.position("b.py", 7, 8) == (7, 8)


def test_a_place_that_a_notebook_does_not_have() -> None:
    data = json.dumps({"cells": [{"cell_type": "code", "source": "x"}]}).encode()
    assert json_position(data, 0, 2, 1) is None
    assert json_position(data, 3, 1, 1) is None
