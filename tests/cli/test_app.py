"""The command line as a whole: mistakes, failures, terminals, start-up."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import hybridize
from hybridize.cli import main
from hybridize.cli.output import write
from hybridize.cli.progress import Progress
from hybridize.decide.model import FileError

from ..report.samples import CLEAN, SAMPLE
from .fake_api import install

SOURCE = str(Path(hybridize.__file__).parents[1])


def python(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE, **environ}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek"], "unknown command `chek`; did you mean `check`?"),
        (["xyzzy"], "unknown command `xyzzy`"),
        (["rule", "HY817"], "unknown command `rule`; did you mean `hybridize explain CODE`?"),
        (["src/model.py"], "unknown command `src/model.py`; did you mean `hybridize check src/model.py`?"),
        (["--versoin"], "unknown option `--versoin`; did you mean `--version`?"),
        (["check", "--selct", "P1"], "unknown option `--selct`; did you mean `--select`?"),
        (["check", "--selct=P1"], "unknown option `--selct=P1`; did you mean `--select`?"),
        (["fix", "--dif"], "unknown option `--dif`; did you mean `--diff`?"),
        (["check", "--output-format", "jsn"], "did you mean `json`?"),
        (["check", "--quiet", "--verbose"], "not allowed with argument"),
        (["verify", "--max-calls", "many", "x.py"], "invalid int value: 'many'"),
        (["check", "--world", "ajar"], '--world must be "open" or "closed"'),
        (["check", "--jobs", "two"], '--jobs must be a whole number, not "two"'),
        (["check", "--config", "gone.toml"], "gone.toml"),
        (["explain"], "the following arguments are required: TARGET"),
        (["rules", "P77"], "no code starts with `P77`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_answered_with_a_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err.splitlines()[0]
    assert output.err.startswith("hybridize: error: ")
    assert len(output.err.splitlines()) <= 2


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "explain" in capsys.readouterr().out
    assert main(["check", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--no-speculate" in shown
    assert "--debug" not in shown
    assert main([]) == 2


def test_an_internal_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, ZeroDivisionError("deep\ninside"))
    assert main(["check"]) == 2
    assert capsys.readouterr().err == (
        "hybridize: internal error: ZeroDivisionError: deep inside (--verbose shows the traceback; please report it)\n"
    )
    assert main(["check", "--verbose"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, KeyboardInterrupt())
    assert main(["check"]) == 130
    assert capsys.readouterr().err == ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = (
        "import os, sys\n"
        "from hybridize.cli import app\n"
        "app.COMMANDS = {'check': ('flood', '')}\n"
        "import types; flood = types.ModuleType('flood'); sys.modules['flood'] = flood\n"
        "import importlib.machinery; flood.__spec__ = importlib.machinery.ModuleSpec('flood', None)\n"
        "flood.add_parser = lambda s: s.add_parser('check')\n"
        "def run(args):\n"
        "    for _ in range(100000): print('x' * 100)\n"
        "flood.run = run\n"
        "sys.exit(app.run(['check']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_ascii_terminal_does_not_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, replace(SAMPLE, errors=(FileError("caf\xe9\udcff.py", 1, "\u2260"),)))
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", newline="\n"))
    assert main(["check"]) == 1
    sys.stdout.flush()
    assert b"caf\\xe9\\udcff.py:1: \\u2260" in raw.getvalue()


def test_surrogates_of_file_names_can_be_written() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    write("\udcff \xe9\n", stream)
    stream.flush()
    assert raw.getvalue() == b"\\udcff \xc3\xa9\n"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_only_on_a_terminal_and_only_after_a_second() -> None:
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        clock = Clock()
        with Progress(stream, clock) as progress:
            progress("parse", 1, 10)
            assert stream.getvalue() == ""
            clock.now = 1.5
            progress("flow", 1200, 3000)
            assert ("flow 1,200/3,000" in stream.getvalue()) is shown
            progress("flow", 1201, 3000)
            assert "1,201" not in stream.getvalue()  # not more than ten times a second
        assert stream.getvalue().endswith("\r") is shown


def test_the_seconds_go_on_where_nobody_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("hybridize.cli.progress.PATIENCE", 0.0)
    monkeypatch.setattr("hybridize.cli.progress.MOMENT", 0.05)
    with Progress() as progress:
        progress("planning", 0, 0)
        until = time.monotonic() + 0.6
        while time.monotonic() < until:
            pass
    assert len(set(re.findall(r"planning \((\d\.\d) s\)", terminal.getvalue()))) >= 3


def test_without_a_terminal_there_is_no_progress_and_no_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    install(monkeypatch, CLEAN)
    main(["check"])
    output = capsys.readouterr()
    assert output.err == ""
    assert "\x1b" not in output.out


def test_version() -> None:
    result = python("-m", "hybridize", "--version")
    assert (result.returncode, result.stdout) == (0, f"hybridize {hybridize.__version__}\n")


HEAVY = {"argparse", "ast", "dataclasses", "inspect", "json", "pathlib", "pathspec", "re", "tensorflow", "tomllib"}


def test_version_imports_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from hybridize.cli import main; main(['--version'])\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = set(python("-S", "-c", code).stdout.splitlines()[1].split())
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("hybridize")} == {"hybridize", "hybridize.cli"}


@pytest.mark.parametrize("command", ["--help", "check --help", "config", "check --selct"])
def test_commands_that_analyze_nothing_import_no_engine(command: str) -> None:
    rooms = {"source", "program", "domain", "library", "flow", "rewrite", "study", "runtime", "server"}
    heavy = {"tensorflow", "numpy", "pathspec", "rich", "matplotlib"}
    if command == "config":  # reads the sources, for the release of TensorFlow in force
        rooms, heavy = rooms - {"source"}, heavy - {"pathspec"}
    code = (
        "import sys\n"
        f"from hybridize.cli import main; main({command.split()!r})\n"
        f"heavy, rooms = {heavy}, {rooms}\n"
        "bad = [m for m in sys.modules if m in heavy or (m.startswith('hybridize.') and m.split('.')[1] in rooms)]\n"
        "sys.exit(3 if bad and not print(bad, file=sys.stderr) else 0)"
    )
    result = python("-c", code)
    assert result.returncode == 0, result.stderr
