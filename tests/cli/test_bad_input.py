"""Bad input, through the real engine: a clear line for each bad file, the promised exit code, all else done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hybridize.cli import main

GOOD = (
    "import tensorflow as tf\n\n\ndef step(x):\n    return tf.matmul(x, x) + tf.nn.relu(x)\n\n\nstep(tf.ones((2, 2)))\n"
)
FIXED = GOOD.replace("def ", "@tf.function\ndef ")
ARGUMENTS = ("--all-safe", "--isolated", "--output-format", "concise")

Spoil = Callable[[Path], object]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file that has something to convert."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "good.py").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return folder


def errors_of(output: str) -> list[str]:
    """The lines of a report that tell of errors."""
    return [line for line in output.splitlines() if line.startswith("error: ")]


def contents(folder: Path) -> dict[str, bytes]:
    """Every regular file below a folder, so that half-written and temporary ones show."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and not p.is_symlink()}


UNREADABLE: dict[str, tuple[Spoil, str]] = {
    "syntax error": (
        lambda p: p.write_text("x = 1\ndef f(:\n    pass\n"),
        "bad.py:2: cannot be parsed: invalid syntax",
    ),
    "Latin-1 without a declaration": (
        lambda p: p.write_bytes(b"import os\n# caf\xe9\n"),
        "bad.py:2: cannot be decoded: byte 0xe9 is not UTF-8, and no other encoding is declared",
    ),
    "null byte": (lambda p: p.write_bytes(b"x = 1\n\0\n"), "bad.py:2: holds a null byte, which Python does not accept"),
    "nested too deeply": (lambda p: p.write_text("x = " + "(" * 5000 + ")" * 5000), "bad.py:1: cannot be parsed: "),
    "link to nothing": (lambda p: p.symlink_to("nowhere.py"), "bad.py:1: cannot be read: no such file or directory"),
    "link to itself": (lambda p: p.symlink_to(p.name), "bad.py:1: cannot be read: too many levels of symbolic links"),
}


@pytest.mark.parametrize(("spoil", "line"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_bad_file_is_one_line_and_stops_nothing_else(
    project: Path, capsys: pytest.CaptureFixture[str], spoil: Spoil, line: str
) -> None:
    spoil(project / "bad.py")
    before = contents(project)

    assert main(["check", *ARGUMENTS]) == 1
    output = capsys.readouterr()
    assert "good.py:4" in output.out
    assert len(hits := [text for text in (output.out + output.err).splitlines() if "bad.py" in text]) == 1
    place, _, message = line.partition(": ")
    assert hits[0].startswith(f"{place}:")
    assert message in hits[0]

    assert main(["fix", *ARGUMENTS]) == 1
    output = capsys.readouterr()
    assert len(errors := errors_of(output.out)) == 1
    assert errors[0].startswith(f"error: {line}")
    assert output.err == ""
    assert contents(project) == before | {"good.py": FIXED.encode()}


def test_a_missing_path_is_named_and_the_others_are_done(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "fix"):
        assert main([command, "nowhere", "good.py", *ARGUMENTS]) == 2
        output = capsys.readouterr()
        assert output.err == "hybridize: error: no such file or directory: nowhere\n"
        assert "good.py:4" in output.out
    assert contents(project) == {"good.py": FIXED.encode()}


@pytest.mark.parametrize("command", ["check", "fix"])
def test_a_folder_without_python_is_worth_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "notes.txt").write_text("nothing here")
    assert main([command, str(tmp_path), *ARGUMENTS]) == 0
    assert capsys.readouterr().err == f"hybridize: warning: no Python files in {tmp_path}\n"


@pytest.mark.parametrize("name", ["folder.py", "pipe.py"])
def test_what_only_looks_like_a_python_file_is_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    if name == "folder.py":
        (project / name).mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(project / name)
    else:
        pytest.skip("no named pipes here")
    assert main(["fix", *ARGUMENTS]) == 0
    assert errors_of(capsys.readouterr().out) == []
    assert contents(project) == {"good.py": FIXED.encode()}


def test_loops_of_links_are_followed_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = project / "inner"
    inner.mkdir()
    (project / "loop").symlink_to(".")
    (inner / "up").symlink_to("..")
    (inner / "self").symlink_to("self")
    assert main(["fix", *ARGUMENTS]) == 0
    output = capsys.readouterr()
    assert output.out.count("step") == 1
    assert output.err == ""
    assert contents(project) == {"good.py": FIXED.encode()}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads and enters everything")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_read(project: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    secret = project / ("secret.py" if what == "file" else "secret")
    secret.touch() if what == "file" else secret.mkdir()
    secret.chmod(0)
    try:
        assert main(["fix", *ARGUMENTS]) == 1
    finally:
        secret.chmod(0o700)
    assert errors_of(capsys.readouterr().out) == [f"error: {secret.name}:1: cannot be read: permission denied"]
    assert (project / "good.py").read_text() == FIXED


def _immutable(path: Path) -> bool:
    """Set the attribute that stops even root; False where that cannot be done."""
    if shutil.which("chattr") is None:
        return False
    return subprocess.run(["chattr", "+i", str(path)], capture_output=True).returncode == 0


@pytest.fixture(params=["mode", "folder", "attribute"])
def read_only(request: pytest.FixtureRequest, project: Path) -> Iterator[Path]:
    """A file with something to convert that must not be written: by its mode, its folder's, or an attribute."""
    folder = project / "locked"
    folder.mkdir()
    path = folder / "fixed.py"
    path.write_text(GOOD, encoding="utf-8")
    if request.param == "mode":
        path.chmod(0o444)
    elif request.param == "folder":
        folder.chmod(0o555)
    elif not _immutable(path):
        pytest.skip("files cannot be made immutable here")
    yield path
    if request.param == "attribute":
        subprocess.run(["chattr", "-i", str(path)], check=True)
    folder.chmod(0o755)


def test_a_read_only_file_is_named_and_the_others_are_written(
    read_only: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix", *ARGUMENTS]) == 1
    (line,) = errors_of(capsys.readouterr().out)
    assert line.startswith("error: locked/fixed.py: not written: the ")
    assert line.endswith(" is read-only")
    assert contents(project) == {"good.py": FIXED.encode(), "locked/fixed.py": GOOD.encode()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["assignments", "one literal"])
def test_a_generated_file_of_five_megabytes(project: Path, kind: str) -> None:
    if kind == "assignments":
        text = "".join(f"variable_number_{i:06} = {i} + some_function_call({i})\n" for i in range(100_000))
    else:
        text = "D = {\n" + "".join(f"    'key_{i:06}': ['value', {i}, (1.5, 'x')],\n" for i in range(120_000)) + "}\n"
    (project / "generated.py").write_text(text, encoding="utf-8")
    assert len(text) > 5_000_000
    assert main(["fix", *ARGUMENTS]) == 0
    assert contents(project) == {"good.py": FIXED.encode(), "generated.py": text.encode()}


def test_the_name_of_a_file_steers_no_terminal_and_makes_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a\n\x1b[31mb.py").write_text(
        "import tensorflow as tf\n@tf.function\ndef f(x, y):\n    return x\nf(tf.ones(2), 1)\n"
    )
    main(["check", "--no-cache", "--output-format", "concise"])
    places = [line for line in capsys.readouterr().out.splitlines() if ".py:" in line]
    assert places
    assert all(line.startswith("a\\x0a\\x1b[31mb.py:") for line in places)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_no_mistake_of_ours() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hybridize", "rules"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "hybridize: error: the output cannot be written: no space left on device\n"
