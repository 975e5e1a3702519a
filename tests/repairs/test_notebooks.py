"""Repairs in notebooks: what they do to a script they do to the same program in cells, and to nothing else."""

from __future__ import annotations

import ast
import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.fixing.planner import Planner
from hybridize.repairs.model import Bundle, Proposed
from hybridize.repairs.source.edits import TextEdit
from hybridize.rewrite.compose import compose
from hybridize.source.model import FileRef, SourceText
from hybridize.source.reading import decode_source

from .support import Case, cases

BY_CODE: dict[str, list[Case]] = defaultdict(list)
for _case in cases():
    BY_CODE[_case.code].append(_case)

LOOP = """\
losses = []
for x in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    losses.append(float(loss))
"""
SET_UP = """\
import tensorflow as tf
w = tf.Variable(tf.ones([2, 1]))
data = [tf.ones([8, 2]) * i for i in range(2_000)]
"""


def in_cells(source: str, cut: Callable[[], bool]) -> list[str]:
    """A program in cells, cut between statements of the module."""
    lines = source.split("\n")
    first = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) for n in ast.parse(source).body]
    cuts = sorted({1, *(line for line in first[1:] if cut())})
    parts = ["\n".join(lines[a - 1 : b - 1]) for a, b in zip(cuts, [*cuts[1:], len(lines) + 1], strict=True)]
    return [part.rstrip("\n") for part in parts if part.strip()]


def notebook(cells: Sequence[str], **dumped: Any) -> str:
    """A notebook with these code cells, each behind one of text."""
    found: list[dict[str, Any]] = []
    for i, source in enumerate(cells):
        found.append({"cell_type": "markdown", "metadata": {}, "source": [f"## Größe {i}\n", "for x in data: pass"]})
        outputs = [{"name": "stdout", "output_type": "stream", "text": ["losses = []\n"]}]
        text = source if i % 3 == 2 else source.splitlines(keepends=True)
        found.append({"cell_type": "code", "execution_count": i, "metadata": {}, "outputs": outputs, "source": text})
    top = {"cells": found, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(top, **({"indent": 1} | dumped))


def fixed(name: str, text: str, folder: Path, *, unsafe: bool = True) -> tuple[bytes, list[str]]:
    """What `fix --unsafe-fixes` makes of a file, and the repairs that it made."""
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "requirements.txt").write_text("tensorflow>=2.9\n", encoding="utf-8")
    config, paths = Config(), [folder / name]
    fixes = Planner(analyze(paths, config), config, lambda c: analyze(paths, config, contents=c), unsafe=unsafe).plan()
    done = [each.code for each, _ in fixes.repaired.done]
    results = [file.result for file in fixes.files if file.path == name and file.result is not None]
    return results[0].new if results else text.encode(), done


def python_of(data: bytes) -> SourceText:
    read = decode_source(FileRef("program.ipynb", "program.ipynb"), data)
    assert isinstance(read, SourceText)
    assert not read.problems
    return read


def code_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def sources(data: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)], ids=("some", "others"))
@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_a_program_in_cells_is_repaired_as_the_script_is(code: str, first: bool, tmp_path: Path) -> None:
    # Of the many that some rules have a part is enough: CI is to answer within 25 minutes.
    for i, case in enumerate(BY_CODE[code][:2] if first else BY_CODE[code][2::3]):
        folders = tmp_path / f"{i}-script", tmp_path / f"{i}-book"
        for folder in folders:
            folder.mkdir()
        rng = random.Random(i)
        cells = in_cells(case.source, lambda rng=rng: rng.random() < 0.5)  # type: ignore[misc]
        script, done = fixed("program.py", "\n".join(cells) + "\n", folders[0])
        book, also = fixed("program.ipynb", notebook(cells), folders[1])
        assert (case.name, sorted(also)) == (case.name, sorted(done))  # in cells there are fewer blank lines
        assert code_lines(python_of(book).text) == code_lines(script.decode()), case.name


MAGICS = ("%matplotlib inline", "!pip install -q tensorflow", "data?", "%timeit 1 + 1", "files = !ls")


@st.composite
def decorated(draw: st.DrawFn) -> tuple[list[str], dict[str, Any]]:
    """The cells of a program that is repaired, with magics around its statements, and how its JSON is written."""
    chosen = [case for found in BY_CODE.values() for case in found[:2]]
    case = draw(st.sampled_from(chosen))
    found: list[str] = []
    for cell in in_cells(case.source, lambda: draw(st.booleans())):
        if draw(st.booleans()):
            found.append(
                draw(st.sampled_from(("%%bash\nfor x in 1; do echo $x; done", "%load_ext tensorboard", "# nothing")))
            )
        lead = draw(st.sampled_from(("", "%%time\n", "%%capture out\n", f"{draw(st.sampled_from(MAGICS))}\n")))
        tail = draw(st.sampled_from(("", f"\n{draw(st.sampled_from(MAGICS))}")))
        found.append(f"{lead}{cell}{tail}{draw(st.sampled_from(('', chr(10))))}")
    written = {"indent": draw(st.sampled_from((None, 1, 4))), "ensure_ascii": draw(st.booleans())}
    return found, written


def magic_lines(cells: Sequence[str]) -> list[str]:
    return [line for cell in cells for line in cell.split("\n") if line.startswith(("%", "!")) or line in MAGICS]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(decorated())
def test_whatever_else_the_cells_hold(tmp_path: Path, made: tuple[list[str], dict[str, Any]]) -> None:
    cells, written = made
    before = notebook(cells, **written)
    after, _ = fixed("program.ipynb", before, tmp_path)
    was, now = json.loads(before), json.loads(after)
    for one, two in zip(was["cells"], now["cells"], strict=True):
        if one["cell_type"] != "code":
            assert one == two
        assert {**one, "source": 0} == {**two, "source": 0}
        assert type(one["source"]) is type(two["source"])
    assert {**was, "cells": 0} == {**now, "cells": 0}
    assert magic_lines(sources(after)) == magic_lines(cells)
    for cell, text in zip(cells, sources(after), strict=True):
        if cell.startswith("%%"):
            assert text.startswith(cell.split("\n")[0])
        assert cell.endswith("\n") == text.endswith("\n")
    python_of(after)  # each cell by itself is Python
    again, _ = fixed("program.ipynb", after.decode(), tmp_path)
    assert again == after


def test_the_function_stands_in_the_cell_of_its_loop(tmp_path: Path) -> None:
    after, done = fixed("a.ipynb", notebook([SET_UP, "%%time\n" + LOOP + "losses[-1]", "print(losses[-1])"]), tmp_path)
    assert done == ["HY818"]
    first, second, third = sources(after)
    assert (first, third) == (SET_UP, "print(losses[-1])")
    assert second.startswith("%%time\nlosses = []\n\n@tf.function\ndef train_step(x):\n")
    assert second.endswith("    losses.append(float(loss))\nlosses[-1]")


def test_a_loop_at_the_beginning_of_a_cell_keeps_its_function_there(tmp_path: Path) -> None:
    loop = LOOP.removeprefix("losses = []\n")
    after, done = fixed("a.ipynb", notebook([SET_UP + "losses = []", loop]), tmp_path)
    assert done == ["HY818"]
    assert sources(after)[0] == SET_UP + "losses = []"
    assert sources(after)[1].startswith("@tf.function\ndef train_step(x):\n")


def test_a_magic_within_the_step_leaves_it_alone(tmp_path: Path) -> None:
    with_magic = LOOP.replace("    w.assign_sub", "    %timeit -n 1 float(loss)\n    w.assign_sub")
    before = notebook([SET_UP, with_magic])
    after, done = fixed("a.ipynb", before, tmp_path)
    assert (after, done) == (before.encode(), [])


def test_what_a_magic_reads_is_still_there(tmp_path: Path) -> None:
    """`out` would become a variable of the new function; a line that is no Python shows it."""
    loop = LOOP.replace(
        "loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))",
        "out = tf.matmul(x, w)\n        loss = tf.reduce_mean(tf.square(out - 1.0))",
    )
    alone, _ = fixed("a.ipynb", notebook([SET_UP, loop]), tmp_path)
    assert "    return loss\n" in sources(alone)[1]
    shown, _ = fixed("b.ipynb", notebook([SET_UP, loop, "%whos out"]), tmp_path)
    assert "    return loss, out\n" in sources(shown)[1] or "    return out, loss\n" in sources(shown)[1]


def edited(cells: list[str], *edits: tuple[tuple[int, int], tuple[int, int], str]) -> tuple[bytes, str]:
    """What some edits of a notebook's text make of it, and why they do not."""
    data = notebook(cells).encode()
    made = tuple(TextEdit("a.ipynb", first, last, text) for first, last, text in edits)
    repair = Proposed("HY801", "x", "a.ipynb", 1, 1, "said", None, made)
    found = compose([Bundle("f", "a.ipynb", 1, "f", (repair,))], lambda _: data)
    return found.files.get("a.ipynb", data), next((why for _, why in found.refused.values()), "")


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (((2, 0), (4, 0), ""), "several cells"),
        (((3, 0), (4, 0), "b = 2\n"), "IPython's syntax"),
        (((5, 0), (6, 0), "c = 3\n"), "show something else"),
        (((1, 0), (2, 0), "if True:\n"), "would differ"),
    ],
)
def test_edits_that_no_cell_takes(edit: tuple[tuple[int, int], tuple[int, int], str], why: str) -> None:
    cells = ["a = 1\na += 1", "%time a\nb = a", "b\n"]
    data, said = edited(cells, edit)
    assert data == notebook(cells).encode()
    assert why in said


def test_lines_behind_the_last_one_of_a_cell_stay_with_it() -> None:
    data, why = edited(["for i in range(3):\n    a = i", "b = a"], ((3, 0), (3, 0), "    c = a\n"))
    assert (sources(data), why) == (["for i in range(3):\n    a = i\n    c = a", "b = a"], "")
    data, why = edited(["a = 1", "b = a"], ((3, 0), (3, 0), "c = b\n"))
    assert (sources(data), why) == (["a = 1", "b = a\nc = b"], "")
