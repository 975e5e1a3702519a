"""`hybridize report`: one page, written as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.decide.model import Call

from ..report.samples import SAMPLE
from .fake_api import FakeApi, install

EXAMPLE = Path(__file__).parents[2] / "examples" / "image_classifier"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    monkeypatch.chdir(tmp_path)
    return install(monkeypatch, replace(SAMPLE, project=replace(SAMPLE.project, root=str(tmp_path))))


def test_the_page_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    assert main(["report", "app", "--html", "page.html"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("page.html: 40 functions, ")
    assert output.err == ""
    first = (tmp_path / "page.html").read_bytes()
    assert first.startswith(b"<!doctype html>")
    assert b"<title>app: hybridize</title>" in first
    assert main(["report", "app", "--html", "page.html", "--quiet"]) == 0
    assert (tmp_path / "page.html").read_bytes() == first  # found anew or kept, at whatever time
    assert capsys.readouterr().out == ""


def test_what_there_is_to_report_is_no_failure(api: FakeApi) -> None:
    assert main(["report", "--html", "page.html"]) == 0
    assert main(["check"]) == 1


def test_stdout(api: FakeApi, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["report", "--html", "-"]) == 0
    output = capfdbinary.readouterr().out
    assert output.startswith(b"<!doctype html>")
    assert output.endswith(b"</html>\n")


def test_files_that_could_not_be_read_are_counted_on_stderr(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--html", "page.html"]) == 0
    assert "warning: 1 file could not be read or parsed: the page names them" in capsys.readouterr().err


def test_a_page_without_a_place_is_a_mistake(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "."]) == 2
    assert "--html" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_one_line_and_leaves_nothing(
    api: FakeApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--html", "gone/page.html"]) == 2
    (tmp_path / "folder").mkdir()
    assert main(["report", "--html", "folder"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert lines == [
        "hybridize: error: gone/page.html: cannot be written: no such file or directory",
        "hybridize: error: folder: cannot be written: is a directory",
    ]
    assert os.listdir(tmp_path) == ["folder"]


def test_an_old_page_is_replaced_as_a_whole_and_keeps_its_mode(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("old")
    page.chmod(0o640)
    link.symlink_to(page)
    assert main(["report", "--html", "link.html"]) == 0
    assert link.is_symlink()
    assert stat.S_IMODE(page.stat().st_mode) == 0o640
    before = page.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main(["report", "--html", "page.html"]) == 2
    assert page.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["link.html", "page.html"]


def test_a_project_is_told_what_it_calls(tmp_path: Path) -> None:
    from hybridize import check

    (tmp_path / "app.py").write_text(
        "class A:\n"
        "    def f(self):\n"
        "        return [g(x) for x in (1, 2)]\n"
        "def g(x):\n"
        "    return (lambda: h(x))()\n"
        "def h(x):\n"
        "    return h(x - 1) if x else 0\n"
        "A().f()\n"
    )
    assert check(tmp_path).calls == (
        Call("", "app:A.f", "app.py", 8),
        Call("app:A.f", "app:g", "app.py", 3),
        Call("app:g", "app:h", "app.py", 5),
        Call("app:h", "app:h", "app.py", 7),
    )
