"""What is a Python side effect and what is not, one small program each.

A program of the table defines one function `f`. Where a line is marked `# <-`, `f` has a Python side effect and its
evidence names that line; where none is marked, `f` has none. All programs are analyzed in one run, each as a module.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final

import pytest

from ..support import Json, functions_by_key, run_check
from .effect_programs import PROGRAMS

MARK: Final = "# <-"
#: What is not right yet; whoever closes one deletes it here.
GAPS: Final = {
    "through_condition": "a condition does not call `__bool__`",
    "through_format": "an f-string does not call `__format__`",
    "copied_object": "an instance stands for its copy too",
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """The functions of all programs, by path and name."""
    folder: Path = tmp_path_factory.mktemp("programs")
    for name, source in PROGRAMS.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(source).lstrip(), encoding="utf-8")
    return functions_by_key(run_check(folder))


def _cases() -> list[object]:
    gap = pytest.mark.xfail
    return [pytest.param(n, marks=gap(strict=True, reason=GAPS[n])) if n in GAPS else n for n in PROGRAMS]


@pytest.mark.parametrize("name", _cases())
def test_side_effects(name: str, functions: dict[str, Json]) -> None:
    function = next(found for key, found in functions.items() if re.fullmatch(rf"{name}\.py:(.*\.)?f", key))
    fact = function["facts"]["python_side_effects"]
    lines = textwrap.dedent(PROGRAMS[name]).lstrip().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.endswith(MARK)]
    shown = f"{fact['value']} {[(e['line'], e['message']) for e in fact['evidence']]}"
    assert fact["value"] == ("yes" if marked else "no"), shown
    assert set(marked) <= {e["line"] for e in fact["evidence"]}, shown
