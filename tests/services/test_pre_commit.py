"""The hooks, run by pre-commit itself, which installs them from a clone of this repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
PROGRAM = """\
import tensorflow as tf


def double(x):
    return tf.exp(x) * 2.0


double(tf.ones(3))
"""
yaml = pytest.importorskip("yaml")


def test_the_hooks_are_commands_that_there_are() -> None:
    hooks = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["hybridize-check", "hybridize-fix"]
    for hook in hooks:
        command = [*hook["entry"].split(), *hook.get("args", [])]
        assert command[0] == "hybridize"
        asked = [sys.executable, "-m", *command, "--help"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        assert subprocess.run(asked, capture_output=True, check=False, env=environ).returncode == 0


def test_pre_commit_accepts_the_file() -> None:
    pytest.importorskip("pre_commit")
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *who, "-C", str(folder), *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with what the package is built of, as it is in this working folder."""
    folder = tmp_path / "hybridize"
    folder.mkdir()
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE", HOOKS.name):
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", "as it is")
    return folder


@pytest.mark.slow
def test_pre_commit_runs_the_hooks(clone: Path, tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    project = tmp_path / "project"
    project.mkdir()
    hooks = "".join(f"      - id: {name}\n" for name in ("hybridize-check", "hybridize-fix"))
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {clone.as_uri()}\n    rev: {git(clone, 'rev-parse', 'HEAD').strip()}\n    hooks:\n{hooks}"
    )
    (project / "train.py").write_text(PROGRAM)
    (project / "pyproject.toml").write_text("[tool.hybridize]\nall-safe = true\n")
    (project / "notes.txt").write_text("not Python\n")
    git(project, "init", "--quiet")
    git(project, "add", ".")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    environ |= {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PRE_COMMIT_COLOR": "never"}

    def pre_commit(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pre_commit", *arguments]
        asked = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=environ)
        return asked.returncode, asked.stdout + asked.stderr

    code, said = pre_commit("install-hooks")
    if code:
        if re.search("No matching distribution|Could not find a version|Connection|Network|Temporary failure", said):
            pytest.skip(f"pip cannot install what the package needs: {said.strip()[-300:]}")
        raise AssertionError(said)

    code, said = pre_commit("run", "hybridize-check", "--all-files")
    assert code == 1, said
    assert "train.py" in said
    assert "double" in said
    code, said = pre_commit("run", "hybridize-fix", "--all-files")
    assert code == 1
    assert "files were modified by this hook" in said
    assert "@tf.function\ndef double" in (project / "train.py").read_text()
    git(project, "add", ".")
    code, said = pre_commit("run", "--all-files")
    assert code == 0, said
    git(project, "rm", "--force", "--quiet", "train.py")
    code, said = pre_commit("run", "--all-files")
    assert (code, "no files to check" in said) == (0, True)
