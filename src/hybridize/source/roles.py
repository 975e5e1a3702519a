"""What a file is there for: part of a library that others import, of a program that is run as it is, or of its tests.

Who calls a function depends on it. In a program what is seen is all there is; what a library exports is called from
elsewhere, too; tests show what is accepted, but neither how often it is called nor what is new at each call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.source.layout import text_of


class Role(StrEnum):
    """What a file is there for."""

    LIBRARY = "library"
    PROGRAM = "program"
    TEST = "test"


#: Files that say that a project is packaged for others, with what they must hold to say so.
_PACKAGED = {
    "setup.py": regex(r"\bsetup\s*\("),
    "setup.cfg": regex(r"^\[metadata\]", 8),
    "pyproject.toml": regex(r"^\[(?:project|tool\.(?:poetry|flit\.metadata))\]", 8),
}
#: What only tests have.
_TESTS = regex(
    r"^[ \t]*(?:def test|async def test|class Test|(?:import|from)[ \t]+(?:pytest|unittest|absl\.testing|nose)\b"
    r"|class \w+\([\w.]*TestCase)",
    8,
)
#: The folders, by name, in which test runners and people keep tests.
_TEST_FOLDERS = frozenset(("test", "tests", "testing"))
#: Folders beside a package whose files are run, not imported.
_APART = frozenset("bin demo demos doc docs example examples notebooks samples scripts tools tutorials".split())


def is_test_path(path: str) -> bool:
    """Whether pytest would look for tests in a file (its path from the root, with `/`)."""
    name = path.rpartition("/")[2]
    return name.startswith("test") or name.endswith(("_test.py", "_tests.py")) or "/tests/" in f"/{path}"


@dataclass(frozen=True, slots=True)
class Roles:
    """The role of each file, by its path from the root; `packaged` names the file that says that it is a library."""

    tests: frozenset[str]
    library: frozenset[str]
    packaged: str = ""

    def of(self, path: str) -> Role:
        """The role of a file."""
        if path in self.tests:
            return Role.TEST
        return Role.LIBRARY if path in self.library else Role.PROGRAM

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to the tests."""
        return path in self.tests


def find_roles(root: Path, texts: Mapping[str, str], world: str | None = None) -> Roles:
    """The roles of a project's files.

    Args:
        root: its folder; metadata of a package is looked for in it and its parents up to a repository's root.
        texts: its sources, by path from the root.
        world: `open` or `closed` where the user says whether others import it; None: what the metadata says.
    """
    tests = _tests(texts)
    packaged = _packaged(root) if world is None else ""
    if world == "closed" or (world is None and not packaged):
        return Roles(tests, frozenset())
    imported = {path for path in texts if path not in tests and not path.endswith(".ipynb")}
    if world is None:
        # What lies beside a package is told by its place in the packaged folder, wherever the analysis begins.
        above = Path(os.path.relpath(root, os.path.dirname(packaged))).parts
        imported = {path for path in imported if _is_imported(root, path, above)}
    return Roles(tests, frozenset(imported), packaged)


def _tests(texts: Mapping[str, str]) -> frozenset[str]:
    """Files that hold tests, and all that lies in a folder for tests that has some."""
    found = {path for path, text in texts.items() if _is_conftest(path) or (is_test_path(path) and _TESTS.search(text))}
    folders = {folder for path in found for folder in _folders(path)}
    return frozenset(found | {path for path in texts if any(folder in folders for folder in _folders(path))})


def _is_conftest(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py"


def _folders(path: str) -> Iterable[str]:
    """The outermost folder for tests that a file lies in, if any."""
    parts = path.split("/")[:-1]
    for i, part in enumerate(parts, 1):
        if part in _TEST_FOLDERS:
            return ["/".join(parts[:i])]
    return ()


def _packaged(root: Path) -> str:
    """The file that says that a project is a package for others; empty where none does."""
    folder = root if root.is_dir() else root.parent
    for place in (folder, *folder.parents):
        for name, pattern in _PACKAGED.items():
            if pattern.search(text_of(place / name)):
                return str(place / name)
        if (place / ".git").exists():
            return ""
    return ""


def _is_imported(root: Path, path: str, above: tuple[str, ...]) -> bool:
    """Whether a file is a module of a package, and not one of the scripts and examples that lie beside it."""
    folders = path.split("/")[:-1]
    if any(part in _APART for part in (*above, *folders)[:1]):
        return False
    return os.path.isfile(os.path.join(root, *folders, "__init__.py"))
