"""Every command that the documentation shows runs: `console` blocks in the order of their page, a folder for each page.

    <!-- not run: needs the network -->                  before a block: why its commands are not run here
    <!-- run by: tests/services/test_ci_page.py -->      which test (or script of CI) runs them instead

A page in `examples/` runs in a copy of its own folder, any other in one that holds `examples/`. A command of ours may
find something (exit code 1), any other must succeed. What stands below a command is what it prints, `...` any lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
    *sorted((ROOT / "benchmarks").rglob("*.md")),
    *sorted((ROOT / "editors").glob("*/README.md")),
]
BLOCK = re.compile(
    r"(?:<!-- (?P<how>not run|run by): (?P<why>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
#: Whoever shows a command does so in a `console` block; what has brackets or dots shows a form, not a command.
LOOSE = re.compile(r"^(?: {4,}|\t)(?:\$ .*|(?:hybridize|pip|git|npm|code|mkdocs) (?!.*(?:\[|\.\.\.)).*)$", re.M)
#: Pages whose commands are tested by their own rooms; the tutorials of the study clone from the network.
APART = ("docs/study*.md", "docs/evaluation*.md", "docs/human-fixes.md", "docs/reference.md", "docs/rules/*.md")
SEPARATOR = "=====next====="


@dataclass(frozen=True)
class Command:
    line: str
    printed: str | None


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[re.Match[str]]:
    return [
        found
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
        if found["kind"] in ("console", "sh", "bash")
    ]


def commands(text: str) -> list[Command]:
    found = []
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, printed = part.partition("\n")
        while line.endswith("\\"):
            more, _, printed = printed.partition("\n")
            line = line[:-1] + more
        found.append(Command(line, printed or None))
    return found


RUN = [page for page in PAGES if any(not block["how"] for block in blocks(page))]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`hybridize` is this tree; what it keeps is kept for all pages."""
    folder = tmp_path_factory.mktemp("bin")
    shim = folder / "hybridize"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybridize "$@"\n')
    shim.chmod(0o755)
    path = f"{folder}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = tmp_path_factory.mktemp("cache")
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(kept), "COLUMNS": "80"}


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_commands_of_a_page(page: Path, environ: dict[str, str], tmp_path: Path) -> None:
    apart = shutil.ignore_patterns("__pycache__")
    if page.is_relative_to(ROOT / "examples"):
        shutil.copytree(page.parent, tmp_path, dirs_exist_ok=True, ignore=apart)
    else:
        shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=apart)
    for block in blocks(page):
        if block["how"]:
            continue
        shown = commands(block["text"])
        assert shown, f"{name_of(page)}: a block without a command:\n{block[0]}"
        script = "\n".join(
            f"{command.line}\nstatus=$?; if [ $status -gt {int('hybridize ' in command.line)} ]; then exit $status; fi"
            f"\necho; echo {SEPARATOR}"
            for command in shown
        )
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        outputs = done.stdout.split(f"\n{SEPARATOR}\n")
        failed = shown[min(len(outputs), len(shown)) - 1].line
        assert done.returncode == 0, f"{name_of(page)}: `{failed}` ended with {done.returncode}: {done.stderr[-1500:]}"
        for command, output in zip(shown, outputs, strict=False):
            if command.printed is not None:
                assert fnmatchcase(output.strip(), command.printed.strip().replace("[", "[[]").replace("...", "*"))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_command_is_shown_as_one(page: Path) -> None:
    if any(fnmatchcase(name_of(page), pattern) for pattern in APART):
        return
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert LOOSE.findall(text) == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b["how"] == "run by" for b in blocks(page))], ids=name_of
)
def test_who_runs_the_others_speaks_of_them(page: Path) -> None:
    """The test names the page, or the words of the command that matter."""
    for block in blocks(page):
        if block["how"] == "run by":
            runner = (ROOT / block["why"]).read_text(encoding="utf-8")
            words = {word for command in commands(block["text"]) for word in command.line.split() if len(word) > 3}
            assert page.name in runner or len([word for word in words if word.strip('"') in runner]) * 3 >= len(words)
