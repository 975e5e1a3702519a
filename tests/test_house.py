"""The promises of the repository itself: what the README says is what CI does, and what is packaged is what runs."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hybridize
from hybridize.config import OPTIONS, Config, Option, load_config

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "command", ['pip install -e ".[dev]"', "hybridize check examples/image_classifier", "pytest -q -n 2"]
)
def test_ci_runs_the_commands_of_the_readme(command: str) -> None:
    assert f"{command}\n" in README
    assert command.removeprefix("pip install") in CI


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_has_an_example_that_is_not_its_default(option: Option, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.hybridize]\n{option.name} = {option.example}\n")
    given = load_config([tmp_path]).values()[option.name]
    assert given != Config().values()[option.name]


def test_reference_settings_and_manual_are_what_the_parsers_say() -> None:
    # `python scripts/build_reference.py` writes them anew.
    script = [sys.executable, "scripts/build_reference.py", "--check"]
    result = subprocess.run(script, capture_output=True, text=True, cwd=ROOT)
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


def test_outputs_in_the_documentation_are_what_the_commands_print() -> None:
    # `python scripts/build_outputs.py` writes them anew.
    script = [sys.executable, "scripts/build_outputs.py", "--check"]
    result = subprocess.run(script, capture_output=True, text=True, cwd=ROOT)
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


def test_the_answer_for_the_example_fits_on_a_screen() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"above: begin -->\n```text\n(.*?)```", text, re.DOTALL)
    assert len(shown.splitlines()) <= 45
    first = shown.splitlines()[:10]
    assert "Plan: 2 changes, best gain first" in first


def test_the_version_is_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:\.?\w+)?", hybridize.__version__)
    assert PROJECT["project"]["dynamic"] == ["version"]


def test_nothing_heavy_is_needed() -> None:
    assert [re.split(r"[<>=;\[ ]", name)[0] for name in PROJECT["project"]["dependencies"]] == [
        "pathspec",
        "platformdirs",
    ]


def test_reading_sources_imports_nothing_heavy() -> None:
    script = "import sys, hybridize.source, hybridize.config; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT / "src"
    )
    heavy = {"tensorflow", "numpy", "rich", "pathspec", "tokenize_rt", "libcst", "json", "tomllib", "asyncio"}
    assert heavy.isdisjoint(result.stdout.split())


#: Rooms that `check` does not need.
APART = {"evaluate", "runtime", "study", "server"}


_IS_INSTANCE = re.compile(r"\bisinstance\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def test_what_check_imports_makes_no_unions_of_types_to_ask_for_them() -> None:
    # `isinstance(x, A | B)` makes the union anew at each call: 3% of a check, once.
    package = ROOT / "src" / "hybridize"
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in APART
        for call in _IS_INSTANCE.findall(path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(call) if "|" in call else ast.Module([], []))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
        if len(node.args) == 2 and isinstance(node.args[1], ast.BinOp)
    ]
    assert found == []


def test_what_check_imports_takes_dataclasses_from_us() -> None:
    apart = APART - {"server"}
    package = ROOT / "src" / "hybridize"
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in apart
        and re.search(r"^(?:import dataclasses|from dataclasses import)", path.read_text(encoding="utf-8"), re.M)
    ]
    assert found == ["rules/misuse/unhashable.py"]  # in the text of an example
