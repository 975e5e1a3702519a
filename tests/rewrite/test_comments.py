"""Comments that silence codes: where they go, and what stays as it is."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridize.rewrite.comments import Commented, plan_comments
from hybridize.source.model import FileRef, SourceText
from hybridize.source.reading import decode_source
from hybridize.source.suppressions import find_suppressions


def source_of(data: bytes, name: str = "a.py") -> SourceText:
    found = decode_source(FileRef(name, name), data)
    assert isinstance(found, SourceText)
    return found


def commented(text: str | bytes, line: int, *codes: str, reason: str = "") -> Commented:
    data = text.encode() if isinstance(text, str) else text
    return plan_comments(source_of(data), {line: codes or ("HY301",)}, reason)


def after(text: str, line: int, *codes: str, reason: str = "") -> str:
    done = commented(text, line, *codes, reason=reason)
    assert not done.refused
    return done.result.new.decode()


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("x = 1\n", "x = 1  # hybridize: ignore[HY301]\n"),
        ("x = 1", "x = 1  # hybridize: ignore[HY301]"),
        ("x = 1\r\ny = 2\r\n", "x = 1  # hybridize: ignore[HY301]\r\ny = 2\r\n"),
        ("x = 1\ry = 2\r", "x = 1  # hybridize: ignore[HY301]\ry = 2\r"),
        ("x = 1 \n", "x = 1  # hybridize: ignore[HY301]\n"),
        ("x = 1\t  \n", "x = 1\t  # hybridize: ignore[HY301]\n"),
        ("x = 1  # noqa: E501\n", "x = 1  # noqa: E501  # hybridize: ignore[HY301]\n"),
        ("x = 1  # type: ignore[x]\n", "x = 1  # type: ignore[x]  # hybridize: ignore[HY301]\n"),
        ("x = 1  # a \\\n", "x = 1  # a \\  # hybridize: ignore[HY301]\n"),
        ("x = '''a'''\n", "x = '''a'''  # hybridize: ignore[HY301]\n"),
        ("x = (\n    1\n)\n", "x = (  # hybridize: ignore[HY301]\n    1\n)\n"),
        ("größe = 'größe'\n", "größe = 'größe'  # hybridize: ignore[HY301]\n"),
        ("x = 1  # hybridize: ignore[HY206]\n", "x = 1  # hybridize: ignore[HY206, HY301]\n"),
        ("x = 1  # hybridize: ignore[] -- y\n", "x = 1  # hybridize: ignore[HY301] -- y\n"),
        ("x = 1  # hybridize: ignore[a] -- y # noqa\n", "x = 1  # hybridize: ignore[a, HY301] -- y # noqa\n"),
        ("x = 1  # hybridize: ignore[HY301]\n", "x = 1  # hybridize: ignore[HY301]\n"),
        ("x = 1  # hybridize: ignore\n", "x = 1  # hybridize: ignore\n"),
    ],
)
def test_behind_a_line(before: str, expected: str) -> None:
    assert after(before, 1) == expected


@pytest.mark.parametrize("code", ["x = '''a\nb'''\n", "x = f'''a\n{b}'''\n", "x = 1 + \\\n    2\n", "f('''\n''', 2)\n"])
def test_above_a_line_that_goes_on(code: str) -> None:
    text = f"import a\nif a:\n    {code}"
    new = after(text, 3, reason="why")
    assert new == f"import a\nif a:\n    # hybridize: ignore[HY301] -- why\n    {code}"
    assert find_suppressions(new)[3].first == 4
    assert commented(new, 4).result.new.decode() == new  # a second run adds nothing
    assert after(new, 4, "HY1") == new.replace("[HY301]", "[HY301, HY1]")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("x = 1\ny = '''a\nb\nc'''\n", 3, "behind this line, nor above it"),
        ("x = 1\ny = 1 + \\\n    2 + \\\n    3\n", 3, "behind this line, nor above it"),
        ("x = '''a\n'''\n", 1, "would hold for the whole file"),
    ],
)
def test_where_no_comment_can_stand(text: str, line: int, why: str) -> None:
    done = commented(text, line)
    assert not done.result.changed
    ((where, said),) = done.refused
    assert where == line
    assert why in said


def test_encodings() -> None:
    head = "# -*- coding: latin-1 -*-\n"
    data = f"{head}x = 'größe'\n".encode("latin-1")
    assert commented(data, 2, reason="Größe").result.new == (
        f"{head}x = 'größe'  # hybridize: ignore[HY301] -- Größe\n".encode("latin-1")
    )
    assert commented(data, 2, reason="日本").refused == ((2, "the reason cannot be written in iso-8859-1"),)
    marked = b"\xef\xbb\xbfx = 1\n"
    assert commented(marked, 1).result.new == b"\xef\xbb\xbfx = 1  # hybridize: ignore[HY301]\n"


@pytest.mark.parametrize("as_list", [True, False])
def test_cells_of_a_notebook(as_list: bool) -> None:
    texts = ["import a\nx = 1", "%matplotlib inline\ny = '''b\nc'''\nz = 3"]
    cells = [
        {"cell_type": "code", "id": str(n), "metadata": {}, "outputs": [], "execution_count": n,
         "source": text.splitlines(keepends=True) if as_list else text}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()
    source = source_of(data, "a.ipynb")
    done = plan_comments(source, {2: ["HY1"], 4: ["HY2"], 6: ["HY3"]}, "why")
    assert (len(done.added), done.refused) == (3, ())
    notebook = json.loads(done.result.new)
    assert ["".join(cell["source"]) for cell in notebook["cells"]] == [
        "import a\nx = 1  # hybridize: ignore[HY1] -- why",
        "%matplotlib inline\n# hybridize: ignore[HY2] -- why\ny = '''b\nc'''\n"
        "z = 3  # hybridize: ignore[HY3] -- why",
    ]  # fmt: skip
    again = plan_comments(source_of(done.result.new, "a.ipynb"), {2: ["HY1"], 5: ["HY2"], 7: ["HY3"]})
    assert not again.result.changed


LINES = st.sampled_from(
    [
        *("x = 1", "x = (1,", "     2)", "y = '''a", "b'''", "'''", "w = f'''{1}", "def f(a,", "      b):"),
        *("    pass  # noqa", "z = 1 + \\", "  2", "", "# c", "# hybridize: ignore[HY9]"),
    ]
)


@given(lines=st.lists(LINES, max_size=12), wanted=st.sets(st.integers(1, 12)), newline=st.sampled_from(["\n", "\r\n"]))
def test_the_program_stays_the_same(lines: list[str], wanted: set[int], newline: str) -> None:
    text = newline.join(lines) + newline
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    planned = {line: ["HY301"] for line in wanted if line <= len(lines) and lines[line - 1]}
    done = plan_comments(source_of(text.encode()), planned)
    new = done.result.new.decode()
    assert ast.dump(ast.parse(new)) == ast.dump(tree)
    for line in done.result.edits:
        assert line.start == line.end  # nothing goes away
