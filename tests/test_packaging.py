"""The sdist and the wheel that is built of it: all there, and enough for a fresh environment. Needs the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, code: int = 0) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environ |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was made of that."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


def wheel_of(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def test_every_file_of_the_package_is_in_the_wheel(dist: Path) -> None:
    with zipfile.ZipFile(wheel_of(dist)) as wheel:
        names = set(wheel.namelist())
    kept = run("git", "ls-files", "src/hybridize", cwd=ROOT).splitlines()
    assert {name.removeprefix("src/") for name in kept} <= names
    assert any(name.endswith(".data/data/share/man/man1/hybridize.1") for name in names)


def test_the_metadata_can_be_shown(dist: Path) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir(), cwd=dist)


def test_a_fresh_environment_can_do_what_the_quick_start_does(dist: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    shutil.copytree(ROOT / "examples" / "image_classifier", tmp_path / "project")
    bin_ = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    run(bin_ / "python", "-m", "pip", "install", "--quiet", wheel_of(dist), cwd=tmp_path)
    ours, project = bin_ / "hybridize", tmp_path / "project"
    assert "Plan: 2 changes" in run(ours, "check", "--no-cache", cwd=project, code=1)
    run(ours, "report", "--no-cache", "--html", "page.html", cwd=project)
    assert (project / "page.html").stat().st_size > 50_000
    assert "retracing-argument" in run(ours, "explain", "HY101", cwd=project)
    run(ours, "fix", "--no-cache", cwd=project)
    assert "nothing to change" in run(ours, "check", "--no-cache", cwd=project, code=0)
    assert (tmp_path / "env" / "share" / "man" / "man1" / "hybridize.1").is_file()
