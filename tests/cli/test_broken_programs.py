"""Programs that crash, are killed, lack an argument or never end: one line says so, and the exit code is 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridize.cli import main

from .test_bench import CHAIN, FAKE

STEP = f"import sys\nimport tensorflow as tf\n\ndef step(x):\n    {CHAIN}\n    return x\n\n\n"
PROGRAMS = {
    "import.py": ("import nosuch", "ended with ModuleNotFoundError: No module named 'nosuch' ("),
    "kill.py": ("import os\nos.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    "crash.py": ("import os\nos.kill(os.getpid(), 11)", "was killed by SIGSEGV"),
    "argument.py": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('data')\nparser.parse_args()",
        "ended with exit code 2",
    ),
    "index.py": ("sys.argv[1]", "ended with IndexError: list index out of range ("),
    "endless.py": ("import time\nwhile True: time.sleep(0.1)", "did not end within 3 s (--timeout)"),
    "code.py": ("sys.exit(3)", "ended with exit code 3"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake = tmp_path / "site" / "tensorflow"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(fake.parent))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_verify_says_why_in_a_line(project: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    text, said = PROGRAMS[name]
    (project / name).write_text(f"import sys\n{text}\n")
    assert main(["verify", "--isolated", "--timeout", "3", name]) == 2
    shown = capfd.readouterr()
    last = shown.err.splitlines()[-1]
    assert last.startswith(f"hybridize: error: the program {said}")
    assert last.endswith(": only what it did until then was compared")
    assert f"program: {said}" in shown.out
    (project / name).write_text("print(1)\n")
    assert main(["verify", "--isolated", name]) == 0


def test_its_json_says_why(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "main.py").write_text("import nosuch\n")
    assert main(["verify", "--isolated", "--output-format", "json", "main.py"]) == 2
    program = json.loads(capfd.readouterr().out)["program"]
    assert (program["exit_code"], program["ended"]) == (1, "exit")
    assert program["failure"].startswith("ended with ModuleNotFoundError")


@pytest.mark.parametrize("name", PROGRAMS)
def test_bench_says_why_in_a_line(project: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    text, said = PROGRAMS[name]
    (project / name).write_text(f"{STEP}for _ in range(30):\n    step(tf.ones(3))\n{text}\n")
    code = main(["bench", "-q", "--isolated", "--runs", "1", "--timeout", "3", name])
    last = capfd.readouterr().err.splitlines()[-1]
    assert code == 2
    said = said if "Error" not in said else "ended with exit code 1"
    assert last.startswith(f"hybridize: error: the program {said}")


@pytest.mark.parametrize("words", [["verify"], ["bench"], ["fix", "--verify"]])
def test_a_program_that_is_not_there(project: Path, capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    (project / "main.py").write_text("print(1)\n")
    options = [words[0], "--isolated", *(["--project", "."] if words[0] != "fix" else []), *words[1:]]
    assert main([*options, "no-such.py"]) == 2
    assert capfd.readouterr().err.splitlines()[-1] == "hybridize: error: no such file: no-such.py"


@pytest.mark.parametrize("command", ["verify", "bench"])
@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_limit_that_is_none(project: Path, capfd: pytest.CaptureFixture[str], command: str, limit: str) -> None:
    (project / "main.py").write_text("print(1)\n")
    assert main([command, "--isolated", f"--timeout={limit}", "main.py"]) == 2
    assert "--timeout is a number of seconds above 0" in capfd.readouterr().err


def test_fix_changes_nothing_for_a_program_that_crashes(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = f"import nosuch\n{STEP}for _ in range(30):\n    step(tf.ones(3))\n"
    (project / "main.py").write_text(text)
    assert main(["fix", "--isolated", "--verify", "main.py"]) == 2
    assert "the program ended with ModuleNotFoundError" in capfd.readouterr().err.splitlines()[-1]
    assert (project / "main.py").read_text() == text
