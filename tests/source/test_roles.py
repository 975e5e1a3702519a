"""Which files belong to tests, to a library that others import, and to programs that are run as they are."""

from __future__ import annotations

from pathlib import Path

from hybridize.source import Role, find_roles

METADATA = '[project]\nname = "waves"\n'
FILES = {
    "waves/__init__.py": "",
    "waves/filters.py": "def smooth(x): ...\n",
    "waves/filters_test.py": "import unittest\n",
    "tests/test_filters.py": "def test_smooth(): ...\n",
    "tests/helpers/signals.py": "def sine(): ...\n",
    "examples/__init__.py": "",
    "examples/denoise.py": "from waves import filters\n",
    "train.py": "import waves\n",
}


def roles(tmp_path: Path, files: dict[str, str], world: str | None = None) -> dict[str, str]:
    for path, text in files.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = find_roles(tmp_path, {p: t for p, t in files.items() if p.endswith(".py")}, world)
    return {path: found.of(path).value for path in files if path.endswith(".py")}


def test_a_package_with_metadata_is_a_library_and_what_lies_beside_it_is_not(tmp_path: Path) -> None:
    found = roles(tmp_path, {**FILES, "pyproject.toml": METADATA})
    assert [path for path, role in found.items() if role == Role.LIBRARY] == ["waves/__init__.py", "waves/filters.py"]
    assert [p for p, r in found.items() if r == Role.PROGRAM] == [
        "examples/__init__.py",
        "examples/denoise.py",
        "train.py",
    ]


def test_helpers_in_a_folder_of_tests_belong_to_them(tmp_path: Path) -> None:
    found = roles(tmp_path, FILES)
    assert {p for p, r in found.items() if r == Role.TEST} == {
        "waves/filters_test.py",
        "tests/test_filters.py",
        "tests/helpers/signals.py",
    }


def test_scripts_that_are_only_called_tests_are_programs(tmp_path: Path) -> None:
    found = roles(tmp_path, {"tests/train_test.py": "for batch in data: step(batch)\n"})
    assert found == {"tests/train_test.py": "program"}


def test_the_user_knows_best(tmp_path: Path) -> None:
    assert Role.LIBRARY not in roles(tmp_path, {**FILES, "pyproject.toml": METADATA}, "closed").values()
    assert roles(tmp_path / "other", FILES, "open")["train.py"] == "library"


def test_tools_configuration_is_no_metadata(tmp_path: Path) -> None:
    assert (
        roles(tmp_path, {**FILES, "pyproject.toml": "[tool.ruff]\nline-length = 80\n"})["waves/filters.py"] == "program"
    )
