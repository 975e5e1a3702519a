"""What is a Python side effect and what is not, one small program each.

A program defines one function `f`. Where a line is marked `# <-`, `f` has a Python side effect and its evidence names
that line; `# <?` marks one because of which nobody knows; where none is marked, `f` has none. The programs of a file
are analyzed in one run, each as a module.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from ..support import Json, functions_by_key, run_check
from .effect_programs import PROGRAMS

MARK: Final = "# <-"
UNKNOWN: Final = "# <?"
FOLDER: Final = Path(__file__).parent / "effect_cases"


def read_programs(path: Path) -> dict[str, str]:
    """The programs of a file of cases: each begins with a line `### name`."""
    parts = re.split(r"^### (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


GROUPS: Final[dict[str, dict[str, str]]] = {
    "basics": {name: textwrap.dedent(source).lstrip() for name, source in PROGRAMS.items()},
    **{path.stem: read_programs(path) for path in sorted(FOLDER.glob("*.txt"))},
}


@cache
def functions_of(group: str) -> dict[str, Json]:
    """The functions of all programs of a group, by path and name."""
    with TemporaryDirectory() as made:
        for name, source in GROUPS[group].items():
            (Path(made) / f"{name}.py").write_text(source, encoding="utf-8")
        assumed = (
            ["--all-safe"] if group == "scratch" else []
        )  # only there it is assumed of fields that nobody reads them
        return functions_by_key(run_check(Path(made), *assumed))


@pytest.mark.parametrize(("group", "name"), [(g, n) for g, programs in GROUPS.items() for n in programs])
def test_side_effects(group: str, name: str) -> None:
    found = functions_of(group)
    function = next(value for key, value in found.items() if re.fullmatch(rf"{name}\.py:(.*\.)?f", key))
    fact = function["facts"]["python_side_effects"]
    lines = GROUPS[group][name].splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.endswith(MARK)]
    shown = f"{fact['value']} {[(e['line'], e['message']) for e in fact['evidence']]}"
    doubted = [number for number, line in enumerate(lines, 1) if line.endswith(UNKNOWN)]
    assert fact["value"] == ("yes" if marked else "unknown" if doubted else "no"), shown
    marked += doubted
    assert set(marked) <= {e["line"] for e in fact["evidence"]}, shown


@pytest.mark.parametrize("name", ["update", "write_all", "apply", "_x"])
def test_what_is_called_for_its_result_is_assumed_harmless_whatever_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        f"import nosuch\ndef result(x):\n    return nosuch.{name}(x)\n"
        f"def effect(x):\n    nosuch.{name}(x)\n    return x\n"
        "result(1), effect(1)\n"
    )
    found = {
        key.partition(":")[2]: f["facts"]["python_side_effects"]
        for key, f in functions_by_key(run_check(tmp_path)).items()
    }
    assert (found["result"]["value"], found["effect"]["value"]) == ("no", "unknown")
