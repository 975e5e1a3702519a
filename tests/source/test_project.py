"""Which project a path belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.source.project import project_folder, project_folders


def make(folder: Path, *files: str) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py", "setup.cfg", ".git"])
def test_the_nearest_mark_above(tmp_path: Path, mark: str) -> None:
    make(tmp_path, "top/.git", f"top/inner/{mark}", "top/inner/deep/er/x.py", "top/y.py")
    for path in ("top/inner", "top/inner/deep", "top/inner/deep/er/x.py", "top/inner/deep/er/new.py"):
        assert project_folder(tmp_path / path) == str(tmp_path / "top" / "inner")
    assert project_folder(tmp_path / "top" / "y.py") == str(tmp_path / "top")


def test_without_a_mark_requirements_say_so(tmp_path: Path) -> None:
    make(tmp_path, "top/requirements.txt", "top/deep/x.py")
    assert project_folder(tmp_path / "top" / "deep") == str(tmp_path / "top")
    assert project_folder(tmp_path / "top" / "deep" / "x.py") == str(tmp_path / "top")


def test_without_anything_a_folder_is_itself_and_a_file_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a/deep/x.py", "b/y.py")
    monkeypatch.chdir(tmp_path / "a")
    assert project_folder("deep") == str(tmp_path / "a" / "deep")
    assert project_folder("deep/x.py") == str(tmp_path / "a")
    assert project_folder("../b/y.py") == str(tmp_path / "b")


def test_the_home_folder_is_nobodys_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "home/.git", "home/notes/x.py")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "home")
    assert project_folder("notes/x.py") == str(tmp_path / "home" / "notes")
    assert project_folder(".") == str(tmp_path / "home")


def test_what_tools_fill_is_no_part_of_the_project_around_it(tmp_path: Path) -> None:
    make(tmp_path, "top/.git", "top/env/pyvenv.cfg", "top/env/lib/x.py", "top/build/lib/y.py")
    assert project_folder(tmp_path / "top" / "env" / "lib") == str(tmp_path / "top" / "env" / "lib")
    assert project_folder(tmp_path / "top" / "build" / "lib") == str(tmp_path / "top" / "build" / "lib")


def test_each_project_once(tmp_path: Path) -> None:
    make(tmp_path, "a/setup.py", "a/x.py", "a/y.py", "b/setup.py")
    found = project_folders([tmp_path / "a" / "x.py", tmp_path / "b", tmp_path / "a" / "y.py"])
    assert found == [str(tmp_path / "a"), str(tmp_path / "b")]
