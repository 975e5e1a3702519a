"""`hybridize check`: formats, exit codes, bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.decide.documentation import Doc

from ..report.samples import CLEAN, SAMPLE
from .fake_api import install


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.mark.parametrize(("report", "code"), [(CLEAN, 0), (SAMPLE, 1)], ids=["nothing", "something"])
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, report: object, code: int) -> None:
    install(monkeypatch, report)  # type: ignore[arg-type]
    assert main(["check"]) == code


def test_a_missing_path_is_an_error_but_the_rest_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, SAMPLE)
    assert main(["check", ".", "gone.py"]) == 2
    output = capsys.readouterr()
    assert output.err == "hybridize: error: no such file or directory: gone.py\n"
    assert "Trainer.step" in output.out
    assert "gone.py" not in output.out  # said once


def test_a_folder_without_python(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, replace(CLEAN, project=replace(CLEAN.project, files=0), functions=()))
    assert main(["check", "."]) == 0
    assert capsys.readouterr().err == "hybridize: warning: no Python files in .\n"


@pytest.mark.parametrize("style", ["full", "concise", "json", "json-lines", "github", "sarif"])
def test_every_format_goes_to_stdout_or_a_file(
    style: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, SAMPLE)
    assert main(["check", "--output-format", style]) == 1
    printed = capsys.readouterr().out
    assert "trainer.py" in printed
    assert main(["check", "--output-format", style, "--output-file", "report.out"]) == 1
    assert capsys.readouterr().out == ""
    assert Path("report.out").read_text(encoding="utf-8") == printed


def test_json_is_a_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, SAMPLE)
    main(["check", "--output-format=json", ".", "gone"])
    data = json.loads(capsys.readouterr().out)
    assert data["version"] == 1
    assert len(data["errors"]) == 2


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["version"] == {"const": 1}


def test_an_output_file_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, SAMPLE)
    assert main(["check", "--output-file", "no/such/folder.txt"]) == 2
    assert capsys.readouterr().err == (
        "hybridize: error: no/such/folder.txt: cannot be written: no such file or directory\n"
    )


def test_select_decides_what_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, replace(SAMPLE, errors=()))
    docs = {"TF301": Doc("sample", "the rule of the sample's finding")}
    monkeypatch.setattr("hybridize.report.documentation.STATUS_DOCS", docs)
    assert main(["check", "--ignore", "P1,P2", "--ignore", "TF301", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_options_reach_the_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(monkeypatch, CLEAN)
    Path("pyproject.toml").write_text("[tool.hybridize]\nall-safe = true\nstrict-literals = true\nworld = 'open'\n")
    options = [
        "--no-strict-literals",
        "--boolean-literals",
        "--no-speculate",
        "--tensorflow-version",
        "2.16",
        "--world",
        "closed",
    ]
    assert main(["check", *options, "--exclude", "a", "--exclude", "b*", "."]) == 0
    ((paths, config),) = fake.calls
    assert paths == [Path(".")]
    assert config.all_safe  # from the file
    assert not config.strict_literals  # the command line wins
    assert config.boolean_literals
    assert not config.speculate
    assert (config.tensorflow_version, config.world, config.exclude) == ("2.16", "closed", ("a", "b*"))


def test_isolated_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(monkeypatch, CLEAN)
    Path("pyproject.toml").write_text("[tool.hybridize]\nall-safe = true\n")
    assert main(["check", "--isolated"]) == 0
    assert not fake.calls[0][1].all_safe


def test_another_file_of_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fake = install(monkeypatch, CLEAN)
    Path("other.toml").write_text("[tool.hybridize]\nall-safe = true\n")
    assert main(["check", "--config", "other.toml"]) == 0
    assert fake.calls[0][1].all_safe
    Path("other.toml").write_text("[tool.hybridize]\nall-save = true\n")
    assert main(["check", "--config", "other.toml"]) == 2
    error = capsys.readouterr().err
    assert "other.toml" in error
    assert 'did you mean "all-safe"?' in error


def test_paths_may_stand_among_options(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(monkeypatch, CLEAN)
    for name in ("a", "b", "c"):
        Path(name).mkdir()
    for arguments in (["a", "--quiet", "b", "--all", "c"], ["--quiet", "a", "b", "c"], ["a", "b", "c", "--quiet"]):
        assert main(["check", *arguments]) == 0
    assert [paths for paths, _ in fake.calls] == [[Path("a"), Path("b"), Path("c")]] * 3


def test_debug_is_a_hook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, CLEAN)
    assert main(["check", "--debug", "ir", "x"]) == 0
    assert capsys.readouterr().out == "ir of x\n"


def test_colour_can_be_forced_and_forbidden(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, SAMPLE)
    main(["check"])
    assert "\x1b[" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["check"])
    assert "\x1b[32m" in capsys.readouterr().out
    main(["check", "--output-file", "x"])
    assert "\x1b[" not in Path("x").read_text(encoding="utf-8")
    monkeypatch.setenv("NO_COLOR", "1")
    main(["check"])
    assert "\x1b[" not in capsys.readouterr().out


def test_text_is_as_wide_as_the_terminal_and_80_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, SAMPLE)
    monkeypatch.delenv("COLUMNS", raising=False)

    def widest(*arguments: str) -> int:
        main(["check", "--all", *arguments])
        return max(len(line) for line in capsys.readouterr().out.splitlines() if "hybridize " not in line)

    assert 70 < widest() <= 80
    monkeypatch.setenv("COLUMNS", "50")
    assert 40 < widest() <= 50
    main(["check", "--all", "--output-file", "x"])
    assert 70 < max(map(len, Path("x").read_text(encoding="utf-8").splitlines())) <= 80


def test_assumptions_are_listed_on_demand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, SAMPLE)
    main(["check", "--assumptions"])
    assert "`labels` is a tensor because of its name" in capsys.readouterr().out


def test_the_next_commands_have_the_paths_of_this_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, SAMPLE)
    Path("a b").mkdir()
    main(["check", "a b"])
    assert "hybridize fix --diff 'a b'" in capsys.readouterr().out
