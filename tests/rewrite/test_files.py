"""What reaches the disk: all of a file or nothing of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hybridize.rewrite import FileResult, apply

BEFORE, AFTER = b"def f(): pass\r\n", b"@g\r\ndef f(): pass\r\n"


def result(name: str, original: bytes = BEFORE) -> FileResult:
    return FileResult(Path(name), original, AFTER, (), (), (), ())


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(BEFORE)
    file.chmod(0o751)
    (outcome,) = apply([result("a.py")], root=tmp_path)
    assert outcome.written
    assert outcome.error is None
    assert file.read_bytes() == AFTER
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_result_without_a_change_is_not_written(tmp_path: Path) -> None:
    (outcome,) = apply([result("missing.py", AFTER)], root=tmp_path)
    assert not outcome.written
    assert outcome.error is None


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.py").write_bytes(BEFORE)
    (tmp_path / "link.py").symlink_to("real/a.py")
    (outcome,) = apply([result("link.py")], root=tmp_path)
    assert outcome.written
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real/a.py").read_bytes() == AFTER


def test_each_failure_is_one_line_and_the_others_are_written(tmp_path: Path) -> None:
    for name in ("changed.py", "readonly.py", "good.py", "locked/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(BEFORE)
    (tmp_path / "changed.py").write_bytes(b"x = 1\n")
    (tmp_path / "readonly.py").chmod(0o444)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "locked").chmod(0o555)
    names = ["changed.py", "readonly.py", "missing.py", "folder.py", "loop.py", "locked/a.py", "good.py"]
    outcomes = apply([result(name) for name in names], root=tmp_path)
    (tmp_path / "locked").chmod(0o755)
    reasons = {outcome.path.as_posix(): outcome.error for outcome in outcomes}
    assert reasons["changed.py"] == "not written: the file has changed since it was analyzed"
    assert reasons["readonly.py"] == "not written: the file is read-only"
    assert reasons["folder.py"] == "not written: not a regular file"
    assert reasons["locked/a.py"] == "not written: the folder is read-only"
    assert reasons["missing.py"] == "not written: No such file or directory"
    assert reasons["loop.py"] is not None
    assert reasons["good.py"] is None
    assert (tmp_path / "good.py").read_bytes() == AFTER
    assert (tmp_path / "readonly.py").read_bytes() == BEFORE
    assert (tmp_path / "locked/a.py").read_bytes() == BEFORE


def test_nothing_is_left_behind_when_the_replacement_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(BEFORE)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    (outcome,) = apply([result("a.py")], root=tmp_path)
    assert outcome.error == "not written: No space left on device"
    assert os.listdir(tmp_path) == ["a.py"]
    assert (tmp_path / "a.py").read_bytes() == BEFORE
