"""Changes that may have to be taken back: whatever happens, the originals are there, and nobody else's work is lost."""

from __future__ import annotations

import os
import py_compile
import tempfile
from pathlib import Path

import pytest

from hybridize.rewrite import FileResult
from hybridize.rewrite.journal import NAME, Journal, JournalError, find, recover


def result(path: str, old: bytes, new: bytes) -> FileResult:
    return FileResult(Path(path), old, new, (), (), (), ())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
    for name in "ab":
        (tmp_path / f"{name}.py").write_bytes(name.encode())
    return tmp_path


A, B = result("a.py", b"a", b"A"), result("b.py", b"b", b"B")


def read(root: Path) -> bytes:
    return (root / "a.py").read_bytes() + (root / "b.py").read_bytes()


def test_files_go_from_state_to_state_and_back(root: Path) -> None:
    before = [(root / name).stat() for name in ("a.py", "b.py")]
    journal = Journal.open(root)
    assert journal.switch([A, B], root) == {}
    assert read(root) == b"AB"
    assert journal.switch([B], root) == {}
    assert read(root) == b"aB"
    assert journal.restore() == []
    journal.close()
    after = [(root / name).stat() for name in ("a.py", "b.py")]
    assert [(s.st_mtime_ns, s.st_mode) for s in before] == [(s.st_mtime_ns, s.st_mode) for s in after]
    assert (read(root), sorted(os.listdir(root))) == (b"ab", ["a.py", "b.py"])


def test_what_is_kept_stays(root: Path) -> None:
    journal = Journal.open(root)
    journal.switch([A], root)
    journal.close()
    assert (read(root), find([root])) == (b"Ab", [])


def test_states_within_a_second_never_share_compiled_code(root: Path) -> None:
    journal = Journal.open(root)
    stamps = set()
    for text in (b"A", b"Z", b"A", b"X"):
        journal.switch([result("a.py", b"a", text)], root)
        stamps.add(int((root / "a.py").stat().st_mtime))
    journal.close()
    assert len(stamps) == 4


def test_what_somebody_edits_meanwhile_is_never_overwritten(root: Path) -> None:
    journal = Journal.open(root)
    journal.switch([A, B], root)
    (root / "a.py").write_bytes(b"mine")
    assert journal.edited() == [root / "a.py"]
    assert journal.switch([B], root) == {root / "a.py": "not written: the file has changed since it was analyzed"}
    (left,) = journal.restore()
    journal.close()
    assert read(root) == b"mineb"
    assert (left.path, left.reason, left.original.read_bytes()) == (root / "a.py", "it was edited meanwhile", b"a")


def test_a_file_that_changed_before_is_not_written(root: Path) -> None:
    journal = Journal.open(root)
    assert journal.switch([result("a.py", b"old", b"A"), B], root) == {
        Path("a.py"): "not written: the file has changed since it was analyzed"
    }
    assert read(root) == b"aB"
    journal.restore()
    assert read(root) == b"ab"
    journal.close()


def cut_off(journal: Journal) -> None:
    """As a process ends that is killed: its lock is gone, and nothing else."""
    journal.lock.close()


def test_a_later_run_puts_back_what_a_killed_one_has_left(root: Path) -> None:
    journal = Journal.open(root)
    journal.switch([A], root)
    journal.switch([A, B], root)
    cut_off(journal)
    (root / "sub").mkdir()
    (folder,) = find([root / "sub", root])
    assert recover(folder) == ([root / "a.py", root / "b.py"], [])
    assert (read(root), sorted(os.listdir(root))) == (b"ab", ["a.py", "b.py", "sub"])


def test_a_later_run_leaves_what_was_edited_since_and_says_where_the_original_is(root: Path) -> None:
    journal = Journal.open(root)
    journal.switch([A, B], root)
    cut_off(journal)
    (root / "b.py").write_bytes(b"mine")
    done, (left,) = recover(root / NAME)
    assert (done, left.path, left.original.read_bytes()) == ([root / "a.py"], root / "b.py", b"b")
    assert read(root) == b"amine"


def test_a_run_that_was_killed_before_it_wrote_anything_leaves_nothing_to_do(root: Path) -> None:
    cut_off(Journal.open(root))
    assert recover(root / NAME) == ([], [])
    assert find([root]) == []


def test_two_runs_do_not_meet(root: Path) -> None:
    journal = Journal.open(root)
    with pytest.raises(JournalError, match="at work here"):
        Journal.open(root)
    with pytest.raises(JournalError, match="at work here"):
        find([root])
    journal.close()
    Journal.open(root).close()


def test_compiled_code_of_the_original_is_right_again_afterwards(root: Path) -> None:
    compiled = Path(py_compile.compile(str(root / "a.py"), doraise=True) or "")
    stamp = compiled.read_bytes()[8:12]
    journal = Journal.open(root)
    journal.switch([A], root)
    journal.restore()
    journal.close()
    assert int.from_bytes(stamp, "little") == int((root / "a.py").stat().st_mtime)
