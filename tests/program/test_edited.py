"""What an edit of a file changes: the bodies of functions, or more than that."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.program import ir
from hybridize.program.build import ModuleSource, build_program
from hybridize.program.edited import edited
from hybridize.program.index import index_of
from hybridize.program.lowering import walk_codes
from hybridize.records import replace
from hybridize.source import ImportTable, discover, find_src_roots

BEFORE = '''\
import tensorflow as tf

RATE = 0.1


class Model:
    def call(self, x, training=False):
        """Doubles."""
        with tf.name_scope("call"):
            y = x * 2.0
        return y

    @property
    def size(self):
        return 3


def outer(x):
    def inner(y):
        return y + 1

    values = []
    for i in range(3):
        values.append(inner(x))
    return values
'''

#: What is replaced by what, and which functions have other bodies then.
WITHIN = {
    "a number": ("x * 2.0", "x * 3.0", ["Model.call"]),
    "a statement more": ("        return y\n", "        print(y)\n        return y\n", ["Model.call"]),
    "a docstring": ("Doubles.", "Args: x: a list.", ["Model.call"]),
    "a function in a function": ("return y + 1", "return y - 1", ["outer.inner"]),
    "both": ("return y + 1\n\n    values", "return y - 1\n\n    print(x)\n    values", ["outer"]),
    "what a function in a function takes": ("def inner(y):", "def inner(y, z=1):", ["outer"]),
    "a name that an inner function takes": ("return y + 1", "return y + x", ["outer"]),
    "an empty line": ("values = []\n", "\n    values = []\n", []),
    "a comment": ("values = []\n", "values = []  # many\n", []),
    "what a line is broken into": ("x * 2.0", "(\n                x * 2.0\n            )", []),
    "another line in front": ("import tensorflow", "# numbers\nimport tensorflow", []),
}
#: What else changes: the functions with other code, and the scopes.
BEYOND = {
    "a constant of the module": ("RATE = 0.1", "RATE = 0.2", [], ["<module>"]),
    "a parameter": ("def outer(x)", "def outer(x, y)", ["outer"], []),
    "a default": ("training=False", "training=True", ["Model.call"], ["Model"]),
    "a hint": ("def outer(x)", "def outer(x: tf.Tensor)", ["outer"], []),
    "a decorator": ("def outer", "@tf.function\ndef outer", ["outer"], ["<module>"]),
    "a method more": ("    @property", "    def other(self):\n        pass\n\n    @property", [], ["Model"]),
    "a method less": ("    @property\n    def size(self):\n        return 3\n", "", [], ["Model"]),
    "a base": ("class Model:", "class Model(tf.Module):", [], ["<module>"]),
    "a name": ("def outer", "def other", [], ["<module>"]),
    "a module's variable": (
        "    values = []\n",
        "    global COUNT\n    COUNT = values = []\n",
        ["outer"],
        ["<module>"],
    ),
}
WRONG = {
    "no Python": ("x * 2.0", "x *"),
    "what only the compiler refuses": ("return y + 1", "break"),
}


def module(folder: Path, text: str = BEFORE) -> ModuleSource:
    (folder / "main.py").write_text(text)
    found = discover([folder])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    return program.modules["main"]


@pytest.mark.parametrize("name", WITHIN)
def test_other_bodies_are_found(tmp_path: Path, name: str) -> None:
    before = module(tmp_path)
    old, new, changed = WITHIN[name]
    assert before.text is not None
    assert old in BEFORE
    edit = edited(before, replace(before.text, text=BEFORE.replace(old, new, 1)))
    assert edit is not None
    assert [was.qualname for was, _ in edit.functions] == changed
    for was, now in edit.functions:
        assert was.qualname == now.qualname
        assert now.line > edit.first >= was.line
        assert edit.module.text is not None
        lines = edit.module.text.text.split("\n")
        assert lines[now.line - 1].split("(")[0] == lines[was.line - 1].split("(")[0]


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_around_functions_is_told(tmp_path: Path, name: str) -> None:
    before = module(tmp_path)
    old, new, functions, scopes = BEYOND[name]
    assert before.text is not None
    assert old in BEFORE
    known = {code: (code.line, code.end_line) for code in walk_codes(before.code)}
    edit = edited(before, replace(before.text, text=BEFORE.replace(old, new, 1)))
    assert edit is not None
    assert [was.qualname for was, _ in edit.functions] == functions
    assert [was.qualname for was, _ in edit.scopes] == scopes
    for was, now in edit.scopes:
        was.become(now)
    for was, now in edit.functions:
        was.become(now)
    changed = {was for was, _ in (*edit.functions, *edit.scopes)}
    stay = {code for code in walk_codes(before.code) if code in known and code not in changed}
    assert {"Model.call", "Model.size"} - {*functions, *(["Model.size"] if "less" in name else [])} <= {
        code.qualname for code in stay
    }
    for code in stay:
        assert (code.line, code.end_line) == known[code], "what did not change stays where it was"
    for code in walk_codes(before.code):
        assert all(child.parent is code for child in code.children)
        made = [i.code for i in index_of(code).flat if isinstance(i, (ir.Func, ir.Class))]
        assert set(made) == set(code.children)


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_analyzed_is_told(tmp_path: Path, name: str) -> None:
    before = module(tmp_path)
    old, new = WRONG[name]
    assert before.text is not None
    assert edited(before, replace(before.text, text=BEFORE.replace(old, new, 1))) is None


def test_a_text_that_does_not_end_its_last_line(tmp_path: Path) -> None:
    before = module(tmp_path, BEFORE.rstrip())
    assert before.text is not None
    edit = edited(before, replace(before.text, text=BEFORE.rstrip().replace("+ 1", "+ 2")))
    assert edit is not None
    assert [now.line - edit.first for _, now in edit.functions] == [was.line for was, _ in edit.functions]
