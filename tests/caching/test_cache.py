"""What is kept answers only for the same inputs, and whatever happens to the file costs nothing but time."""

import io
import os
import pickle
import sqlite3
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hybridize
from hybridize import analysis, api
from hybridize.caching.packing import Damaged, pack, unpack
from hybridize.caching.store import NAME, Store
from hybridize.cli import main
from hybridize.config import Config
from hybridize.decide.model import Report

STEP = """\
import tensorflow as tf

def step(x):
    print('step')
    return x * 2.0

for _ in range(9):
    step(tf.ones([3]))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "one.py").write_text(STEP)
    (folder / "two.py").write_text("import help\n" + STEP)
    (folder / "help.py").write_text("def f():\n    return 1\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kept")


@pytest.fixture
def analyzed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that are analyzed, as they are."""
    found: list[str] = []
    original = analysis.Analysis._part

    def part(self: Any, part: Any, progress: Any) -> Any:
        found.append(" ".join(ref.relative for ref in part.files))
        return original(self, part, progress)

    monkeypatch.setattr(analysis.Analysis, "_part", part)
    return found


def timeless(report: Report) -> dict[str, Any]:
    data = hybridize.to_dict(report)
    data["project"].pop("seconds")
    return data


def test_what_is_unchanged_is_not_analyzed_again(project: Path, store: Store, analyzed: list[str]) -> None:
    cold = timeless(api.analyze([project], Config()))
    assert sorted(analyzed) == ["help.py two.py", "one.py"]
    for _ in range(2):
        assert timeless(api.analyze([project], Config(), store=store)) == cold
    assert sorted(analyzed) == sorted(["help.py two.py", "one.py"] * 2)
    assert timeless(api.analyze([project], Config(), repairs=False, store=store)) == timeless(
        api.analyze([project], Config(), repairs=False)
    )


CHANGES: dict[str, tuple[Callable[[Path], object], Config, list[str]]] = {
    "one file": (lambda p: (p / "one.py").write_text(STEP + "step(1.0)\n"), Config(), ["one.py"]),
    "a file that another imports": (
        lambda p: (p / "help.py").write_text("def f():\n    return 2\n"),
        Config(),
        ["help.py two.py"],
    ),
    "a new file that an import means": (
        lambda p: (p / "tensorflow.py").write_text(""),
        Config(),
        ["help.py one.py tensorflow.py two.py"],
    ),
    "a file less": (lambda p: (p / "one.py").unlink(), Config(), ["help.py two.py"]),
    "the release": (
        lambda p: (p / "requirements.txt").write_text("tensorflow==2.8\n"),
        Config(),
        ["help.py two.py", "one.py"],
    ),
    "what it is": (lambda p: None, Config(world="open"), ["help.py two.py", "one.py"]),
    "an option": (lambda p: None, Config(speculate=False), ["help.py two.py", "one.py"]),
    "what is shown": (lambda p: None, Config(select=("HY301",)), []),
    "how fast": (lambda p: None, Config(jobs=2), []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_is_analyzed_again(name: str, project: Path, store: Store, analyzed: list[str]) -> None:
    change, config, expected = CHANGES[name]
    api.analyze([project], Config(), store=store)
    change(project)
    analyzed.clear()
    warm = timeless(api.analyze([project], config, store=store))
    assert sorted(analyzed) == expected
    assert warm == timeless(api.analyze([project], config))


def test_contents_in_memory_are_inputs_too(project: Path, store: Store, analyzed: list[str]) -> None:
    api.analyze([project], Config(), store=store)
    contents = {"one.py": STEP.replace("    print('step')\n", "").encode()}
    analyzed.clear()
    for _ in range(2):
        report = api.analyze([project], Config(), contents=contents, store=store)
        assert timeless(report) == timeless(api.analyze([project], Config(), contents=contents))
    assert analyzed.count("one.py") == 3


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": lambda f: f.write_bytes(f.read_bytes()[:3000]),
    "zeros": lambda f: f.write_bytes(bytes(8192)),
    "text": lambda f: f.write_text("nothing of ours"),
    "empty": lambda f: f.write_bytes(b""),
    "a flipped bit in each page": lambda f: f.write_bytes(
        bytes(b ^ (i % 1024 == 700) for i, b in enumerate(f.read_bytes()))
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_costs_time_only(name: str, project: Path, store: Store) -> None:
    cold = timeless(api.analyze([project], Config(), store=store))
    DAMAGES[name](store.file)
    for _ in range(3):
        assert timeless(api.analyze([project], Config(), store=Store(store.file.parent))) == cold


def test_rows_of_somebody_else_are_refused(project: Path, store: Store) -> None:
    """What a project brings in its own `cache-dir` is data, or nothing."""
    cold = timeless(api.analyze([project], Config(), store=store))
    mark = project.parent / "ran"

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(mark),)

    with sqlite3.connect(store.file) as db:
        db.execute("UPDATE result SET data = ?", (pack(Bomb()),))
    assert timeless(api.analyze([project], Config(), store=store)) == cold
    assert not mark.exists()
    for wrong in (b"", b"x" * 40, pack(Bomb()), zlib.compress(pickle.dumps(1)), pack(io.BytesIO), pack(Config)):
        with pytest.raises(Damaged):
            unpack(wrong)


def test_several_at_once(project: Path, store: Store) -> None:
    expected = timeless(api.analyze([project], Config()))
    found: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(timeless(api.analyze([project], Config(), store=Store(store.file.parent))))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_longest_unused_goes_first(tmp_path: Path) -> None:
    small = Store(tmp_path, limit=1000)
    for i in range(5):
        small.put({bytes([i]): bytes(300)})
        if i == 2:
            with sqlite3.connect(small.file) as db:
                db.execute("UPDATE result SET used = used - 10000 WHERE key != ?", (bytes([0]),))
    assert sorted(small.get(bytes([i]) for i in range(5))) == [bytes([3]), bytes([4])] or bytes([0]) in small.get(
        [bytes([0])]
    )
    assert sum(map(len, small.get(bytes([i]) for i in range(5)).values())) <= 1000


@pytest.mark.skipif(os.name != "posix", reason="a file in place of a folder")
def test_a_place_that_cannot_be_used_is_one_line(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    code = main(["check", str(project), "--cache-dir", str(tmp_path / "file" / "kept"), "--output-format", "concise"])
    output = capsys.readouterr()
    assert code == 0
    assert output.out
    assert output.err.count("\n") == 1
    assert "no results are kept here" in output.err


def test_the_command_line_keeps_and_cleans(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    main(["check", str(project), "--cache-dir", str(kept), "--no-cache"])
    assert not kept.exists()
    main(["check", str(project), "--cache-dir", str(kept)])
    assert (kept / NAME).exists()
    assert (kept / ".gitignore").read_text() == "*\n"
    capsys.readouterr()
    assert main(["clean", "--cache-dir", str(kept)]) == 0
    assert "removed" in capsys.readouterr().out
    assert not (kept / NAME).exists()
    assert main(["clean", "--cache-dir", str(kept)]) == 0
    assert "nothing to remove" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forks")
def test_jobs_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_FEW", 1)
    monkeypatch.setattr(analysis, "can_fork", lambda: True)  # pytest's own threads wait for messages only
    for i in range(5):
        (tmp_path / f"p{i}.py").write_text(STEP * (i + 1))
    (tmp_path / "broken.py").write_text("def")
    reports = [timeless(api.analyze([tmp_path], Config(jobs=jobs))) for jobs in (1, 2, 4)]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["errors"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forks")
def test_a_part_whose_process_dies_is_an_error_and_is_not_kept(
    project: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "_FEW", 1)
    monkeypatch.setattr(analysis, "can_fork", lambda: True)  # pytest's own threads wait for messages only
    original = analysis.Analysis._part

    def part(self: Any, part: Any, progress: Any) -> Any:
        if part.files[0].relative == "one.py":
            os._exit(9)
        return original(self, part, progress)

    with monkeypatch.context() as patch:
        patch.setattr(analysis.Analysis, "_part", part)
        report = api.analyze([project], Config(jobs=2), store=store)
    assert [error.path for error in report.errors] == ["one.py"]
    assert {function.facts.path for function in report.functions} == {"help.py", "two.py"}
    assert timeless(api.analyze([project], Config(), store=store)) == timeless(api.analyze([project], Config()))
