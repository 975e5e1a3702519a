"""docs/ci.md: what it shows is there, and its commands do what it says, each run in a repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from hybridize.cli.options import FORMATS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
PROGRAM = """\
import tensorflow as tf


def double(x):
    return tf.exp(x) * 2.0


double(tf.ones(3))
"""
yaml = pytest.importorskip("yaml")


def documents() -> list[dict[Any, Any]]:
    return [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]


def words(value: object) -> Iterator[str]:
    """All texts in a document, in order."""
    if isinstance(value, dict):
        for each in value.values():
            yield from words(each)
    elif isinstance(value, list):
        for each in value:
            yield from words(each)
    elif isinstance(value, str):
        yield value


def commands() -> list[str]:
    """Every command line of ours on the page, in order."""
    found: list[str] = []
    for kind, text in BLOCKS:
        if kind == "yaml":
            found += words(yaml.safe_load(text))
        elif kind == "console":
            found += [line.removeprefix("$ ") for line in text.splitlines()]
        else:
            found += re.findall(r"sh '([^']*)'", text)
    return [line for line in found if line.startswith("hybridize ")]


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a line in a repository whose last commit has a function less than the working folder."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "hybridize"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybridize "$@"\n')
    command.chmod(0o755)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.hybridize]\nall-safe = true\n")
    (folder / "main.py").write_text(PROGRAM)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    environ["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = "HEAD"

    def run(line: str) -> subprocess.CompletedProcess[str]:
        arguments = ["bash", "-c", line]
        return subprocess.run(arguments, cwd=folder, env=environ, capture_output=True, text=True, check=False)

    who = "git -c user.name=A -c user.email=a@example.org -c commit.gpgsign=false"
    made = run(
        f"git init -q -b main && git add . && {who} commit -q -m one && git update-ref refs/remotes/origin/main main"
    )
    assert made.returncode == 0, made.stderr
    (folder / "main.py").write_text(
        f"{PROGRAM}\n\ndef triple(x):\n    return tf.exp(x) * 3.0\n\n\ntriple(tf.ones(3))\n"
    )
    return run


def test_every_format_for_services_is_in_the_table() -> None:
    named = set(re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert named - {"--output-format"} == set(FORMATS) - {"full", "concise"}


def test_what_the_action_is_given_it_takes() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = [step for each in documents() if "jobs" in each for step in each["jobs"]["hybridize"]["steps"]]
    ours = [step for step in steps if step.get("uses", "").startswith("OWNER/hybridize@")]
    assert len(ours) == 2
    assert all(set(step["with"]) <= set(action["inputs"]) for step in ours)
    told = PAGE.partition("Inputs: ")[2].partition("Words of inputs")[0]
    assert set(re.findall(r"`([\w-]+)`", told)) == set(action["inputs"]) | set(action["outputs"])


def test_the_hooks_are_those_that_there_are() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (shown,) = [each["repos"] for each in documents() if "repos" in each]
    assert [hook["id"] for hook in shown[0]["hooks"]] == [hook["id"] for hook in hooks]


def test_the_commands(shell: Callable[[str], subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """In the order of the page: that with a baseline, what was pruned, and the comments follow one another."""
    codes = {}
    for line in commands():
        done = shell(line)
        assert done.returncode in (0, 1), (line, done.stderr)
        codes[line] = done.returncode
    assert [code for line, code in codes.items() if "--since" in line] == [1, 1, 1]
    assert [code for line, code in codes.items() if "--exit-zero" in line] == [0]
    assert [code for line, code in codes.items() if "--baseline" in line] == [0, 0, 0]
    assert [code for line, code in codes.items() if "--output-format" in line and "--exit-zero" not in line] == [1, 1]
    assert codes["hybridize check"] == 0  # after the comments
    project = tmp_path / "project"
    assert "ignore[P1] -- older than our use of hybridize" in (project / "main.py").read_text()
    assert len(json.loads((project / "gl-code-quality-report.json").read_text())) == 2
    assert ET.parse(project / "hybridize.xml").getroot().get("failures") == "2"
    # What the snippets hand over is what the commands write.
    handed = [
        each["hybridize"]["artifacts"]["reports"] for each in documents() if "artifacts" in each.get("hybridize", {})
    ]
    assert handed == [{"codequality": "gl-code-quality-report.json"}]
    assert "junit 'hybridize.xml'" in PAGE
