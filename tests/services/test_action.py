"""action.yml: the steps that it runs, run as GitHub runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import tensorflow as tf


def double(x):
    return tf.exp(x) * 2.0


double(tf.ones(3))
"""
yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


def load() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return data


@dataclass
class Run:
    """What the steps did: the exit code and output of each that ran, and those of other actions that would run."""

    codes: dict[str, int]
    log: str
    used: dict[str, dict[str, str]]
    outputs: dict[str, str]


def run(folder: Path, inputs: Mapping[str, str], *, skip: Mapping[str, Mapping[str, str]] | None = None) -> Run:
    """Runs the action's steps in a folder; those in `skip` are taken as done, with these outputs."""
    action = load()
    given = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()} | dict(inputs)
    assert set(given) == set(action["inputs"])
    outputs: dict[str, dict[str, str]] = {name: dict(values) for name, values in (skip or {}).items()}
    done = Run({}, "", {}, {})

    def value(text: str) -> str:
        def one(match: re.Match[str]) -> str:
            head, _, rest = match[1].partition(".")
            if head == "inputs":
                return given[rest]
            step, name = re.fullmatch(r"([\w-]+)\.outputs\.([\w-]+)", rest).groups()  # type: ignore[union-attr]
            assert head == "steps"
            return outputs.get(step, {}).get(name, "")

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", one, text)

    temporary = folder.parent / "runner"
    temporary.mkdir(exist_ok=True)
    for step in action["runs"]["steps"]:
        if step.get("id") in outputs:
            continue
        wanted = re.fullmatch(r"inputs\.format == '(\w+)' && inputs\.upload == '(\w+)'", step.get("if", ""))
        assert ("if" in step) == (wanted is not None)
        if wanted is not None and wanted.groups() != (given["format"], given["upload"]):
            continue
        if "uses" in step:
            done.used[step["uses"].partition("@")[0]] = {key: value(text) for key, text in step["with"].items()}
            continue
        assert "${{" not in step["run"]  # what an input says never becomes a part of a script
        script, written = temporary / "script.sh", temporary / "output"
        script.write_text(step["run"], encoding="utf-8")
        written.write_text("")
        environ = {
            **os.environ,
            **{key: value(text) for key, text in step.get("env", {}).items()},
            "GITHUB_OUTPUT": str(written),
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(temporary),
        }
        assert step["shell"] == "bash"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        outputs[step["id"]] = dict(line.split("=", 1) for line in written.read_text().splitlines())
        done.codes[step["id"]] = ended.returncode
        done.log += ended.stdout + ended.stderr
        if ended.returncode:
            break
    done.outputs = {name: value(entry["value"]) for name, entry in action["outputs"].items()}
    return done


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, dict[str, str]]:
    """As the first step leaves it, but with the package that is tested."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "hybridize"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybridize "$@"\n')
    command.chmod(0o755)
    return {"install": {"bin": str(folder)}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    folder = tmp_path / "project"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "net.py").write_text(PROGRAM)
    return folder


def test_annotations(project: Path, installed: dict[str, dict[str, str]]) -> None:
    done = run(project, {"args": "--all-safe --isolated"}, skip=installed)
    assert done.codes == {"check": 0, "result": 1}
    assert "::notice file=models/net.py,line=4,endLine=4,col=1,title=hybridize (P1 " in done.log
    assert done.outputs == {"exit-code": "1", "file": ""}


def test_nothing_to_report(project: Path, installed: dict[str, dict[str, str]]) -> None:
    (project / "models" / "net.py").write_text("x = 1\n")
    done = run(project, {}, skip=installed)
    assert (done.codes, done.outputs["exit-code"]) == ({"check": 0, "result": 0}, "0")


def test_a_mistake_ends_the_job(project: Path, installed: dict[str, dict[str, str]]) -> None:
    done = run(project, {"paths": "gone"}, skip=installed)
    assert done.codes == {"check": 2}
    assert "no such file or directory: gone" in done.log


def test_sarif_is_uploaded_before_the_job_fails(project: Path, installed: dict[str, dict[str, str]]) -> None:
    inputs = {"format": "sarif", "args": "--all-safe --isolated", "paths": "models"}
    done = run(project, inputs, skip=installed)
    assert done.codes == {"check": 0, "result": 1}
    assert done.used["github/codeql-action/upload-sarif"]["sarif_file"] == "hybridize.sarif"
    log = json.loads((project / "hybridize.sarif").read_text())
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "models/net.py"
    assert not run(project, {**inputs, "upload": "false"}, skip=installed).used


def test_inputs_are_words_and_no_script(project: Path, installed: dict[str, dict[str, str]]) -> None:
    done = run(project, {"paths": "$(touch mark) *.py ; touch mark"}, skip=installed)
    assert done.codes == {"check": 2}
    assert not (project / "mark").exists()
    assert not (project / "models" / "mark").exists()


def test_since(project: Path, installed: dict[str, dict[str, str]]) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *who, *command], cwd=project, check=True, capture_output=True)
    inputs = {"args": "--all-safe --isolated", "since": "HEAD"}
    assert run(project, inputs, skip=installed).outputs["exit-code"] == "0"
    (project / "models" / "net.py").write_text(PROGRAM.replace("2.0", "3.0"))
    assert run(project, inputs, skip=installed).outputs["exit-code"] == "1"


@pytest.mark.slow
def test_the_whole_action(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the installation, for which pip asks its registry for what the package needs."""
    monkeypatch.delenv("PYTHONPATH")
    done = run(project, {"args": "--all-safe --isolated"})
    if done.codes["install"]:
        pytest.skip(f"pip cannot install what the package needs: {done.log.strip()[-300:]}")
    assert done.codes == {"install": 0, "check": 0, "result": 1}
    assert "::notice file=models/net.py,line=4" in done.log
