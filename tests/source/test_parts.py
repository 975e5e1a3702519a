"""Which files of a project are one program: imports in all their forms, names in texts, pytest's own rule."""

import ast
from pathlib import Path

import pytest

from hybridize.source import ImportTable, SourceError, discover, find_parts, find_src_roots, outline, parse, read_source
from hybridize.source.parts import Outline

PROJECTS = {
    "scripts": ({"a.py": "x = 1", "b.py": "x = 2"}, ["a.py", "b.py"]),
    "import": ({"a.py": "import b", "b.py": "", "c.py": ""}, ["a.py b.py", "c.py"]),
    "from": ({"a.py": "from b import f", "b.py": "def f(): pass"}, ["a.py b.py"]),
    "in a function": ({"a.py": "def f():\n    import b", "b.py": ""}, ["a.py b.py"]),
    "a package": (
        {"p/__init__.py": "", "p/a.py": "", "p/b.py": "", "run.py": "import p.a"},
        ["p/__init__.py p/a.py run.py", "p/b.py"],
    ),
    "relative": ({"p/__init__.py": "", "p/a.py": "from . import b", "p/b.py": ""}, ["p/__init__.py p/a.py p/b.py"]),
    "a submodule by from": (
        {"p/__init__.py": "", "p/b.py": "", "r.py": "from p import b"},
        ["p/__init__.py p/b.py r.py"],
    ),
    "two that share one": ({"a.py": "import u", "b.py": "import u", "u.py": ""}, ["a.py b.py u.py"]),
    "by name": ({"a.py": "import importlib\nimportlib.import_module('b')", "b.py": ""}, ["a.py b.py"]),
    "a text that names a module of other scripts": (
        {"a.py": "import importlib\nimportlib.import_module(f'plugins.{name}')\nprint('replay')", "x/replay.py": ""},
        ["a.py", "x/replay.py"],
    ),
    "an import that means a module of other scripts": (
        {"a.py": "import replay", "x/replay.py": ""},
        ["a.py x/replay.py"],
    ),
    "a name that nobody imports": ({"a.py": "print('b')", "b.py": ""}, ["a.py", "b.py"]),
    "fixtures": (
        {"t/conftest.py": "", "t/test_a.py": "", "t/deep/test_b.py": "", "t/data.py": ""},
        ["t/conftest.py t/deep/test_b.py t/test_a.py", "t/data.py"],
    ),
    "a library of the same name": ({"a.py": "import json", "x/json.py": ""}, ["a.py", "x/json.py"]),
    "what cannot be parsed": ({"a.py": "def", "b.py": "import c", "c.py": ""}, ["a.py", "b.py c.py"]),
}


def outlines(folder: Path) -> tuple[list[str], dict[str, Outline | SourceError]]:
    found = discover([folder])
    table = ImportTable(found.files, find_src_roots(found.root))
    told: dict[str, Outline | SourceError] = {}
    for ref in found.files:
        text = read_source(ref)
        assert not isinstance(text, SourceError)
        tree = parse(text)
        told[ref.relative] = tree if isinstance(tree, SourceError) else outline(tree, text.text)
    parts = find_parts(found.files, table, told)
    return [" ".join(ref.relative for ref in part.files) for part in parts], told


@pytest.mark.parametrize("name", PROJECTS)
def test_parts(name: str, tmp_path: Path) -> None:
    files, expected = PROJECTS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert outlines(tmp_path)[0] == expected


def test_an_outline_counts_functions() -> None:
    assert outline(ast.parse("class A:\n    def f(self):\n        async def g(): pass\n"), "") == ((), 2, None)
