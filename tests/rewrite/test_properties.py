"""Generated modules: the result parses, only the named lines change, a second run does nothing, removing restores."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from hybridize.rewrite import plan_edits, verify
from hybridize.rewrite.dialect import TENSORFLOW
from hybridize.rewrite.locate import functions
from hybridize.rewrite.model import Action, DecoratorChange
from hybridize.rewrite.text import SourceText

from .helpers import PATH

IMPORTS = ["import tensorflow as tf", "import tensorflow", "from tensorflow import function as fn", "import os", ""]
DECORATORS = [
    "@property",
    "@a.b(1)  # why",
    "@wrap(\n{indent}    'é',  # two\n{indent})",
    "@(lambda f: f)",
    "# a comment",
    "",
    "@dé",
]
HEADERS = ["", "#!/usr/bin/env python\n", '"""Döc."""\n', "# coding: {encoding}\n", "\x0c\n", "# Licence é\n\n"]
BODIES = ["return x", "'é'; y = 1", "pass  # ö", "'''two\n lines é'''"]


@st.composite
def _block(draw: st.DrawFn, indent: str, depth: int) -> str:
    """Some definitions and statements with this indentation."""
    unit = draw(st.sampled_from(["  ", "    ", "\t"]))
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["def", "def", "async def", "class", "if", "statement", "one-line"]))
        name = draw(st.sampled_from(["f", "g", "ñ"]))
        lines = draw(st.lists(st.sampled_from(DECORATORS), max_size=3)) if kind in ("def", "async def") else []
        parts += [f"{indent}{line.format(indent=indent)}\n" if line else "\n" for line in lines]
        if kind == "statement" or depth == 0:
            parts.append(f"{indent}{name} = 'é'\n" if not lines else f"{indent}def {name}(): pass\n")
        elif kind == "one-line":
            parts.append(f"{indent}def {name}(x): return 'é'\n")
        else:
            head = {"class": f"class {name}:", "if": "if x:"}.get(kind, f"{kind} {name}(x, *, y='é'):")
            parts.append(f"{indent}{head}\n")
            if kind in ("def", "async def"):
                body = draw(st.sampled_from(BODIES))
                parts.append(f"{indent}{unit}{body}\n")
            parts.append(draw(_block(indent + unit, depth - 1)))
    return "".join(parts)


@st.composite
def modules(draw: st.DrawFn) -> bytes:
    """Bytes of a module: any mix of header, import, decorators, indentation, newlines and encoding."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "cp1252"]))
    header = draw(st.sampled_from(HEADERS))
    if encoding in ("latin-1", "cp1252"):
        header = f"# coding: {encoding}\n{header if 'coding' not in header else ''}"
    header = header.format(encoding="utf-8")
    text = f"{header}{draw(st.sampled_from(IMPORTS))}\n{draw(_block('', 2))}"
    if draw(st.booleans()):
        text = text.rstrip("\n")
    newline = draw(st.sampled_from(["\n", "\r\n", "\r", "mixed"]))
    if newline == "mixed":
        ends = st.sampled_from(["\n", "\r\n", "\r"])
        *lines, last = text.split("\n")
        # A `\r` before a `\n` would be one newline, not two.
        text = "".join(line + (draw(ends) if line else "\r\n") for line in lines) + last
    else:
        text = text.replace("\n", newline)
    return text.encode(encoding)


def _changes(source: bytes, keep: list[bool], action: Action) -> list[DecoratorChange]:
    sites = functions(ast.parse(source))
    chosen = [site for index, site in enumerate(sites) if keep[index % len(keep)]]
    return [
        DecoratorChange(PATH, site.node.lineno, site.node.col_offset + 1, site.qualname, action, TENSORFLOW)
        for site in chosen
    ]


@settings(max_examples=200, deadline=None)
@given(modules(), st.lists(st.booleans(), min_size=1, max_size=5))
def test_adding_then_removing(source: bytes, keep: list[bool]) -> None:
    changes = _changes(source, keep, "add")
    result = plan_edits(source, changes)
    assert not result.dropped
    assert not result.unchanged
    assert verify(source, result.new, changes) is None

    # Every old line is still there, in order; the new ones are decorators, imports and the blanks beside those.
    old, new = (SourceText(data) for data in (source, result.new))
    lines = [old.line(number) for number in range(1, len(old.starts) + 1)]
    place = 0
    for number in range(1, len(new.starts) + 1):
        line = new.line(number)
        if place < len(lines) and line.lstrip(b"\x0c") == lines[place].lstrip(b"\x0c"):
            place += 1
        else:
            bare = line.strip()
            assert not bare or bare.startswith(b"import tensorflow as ") or bare.endswith((b".function", b"@fn"))
    assert place == len(lines)

    again = plan_edits(result.new, _changes(result.new, keep, "add"))
    assert not again.changed

    back = plan_edits(result.new, _changes(result.new, keep, "remove"))
    imports = [edit for edit in result.edits if b"import " in edit.replacement]
    expected = source
    for edit in imports:
        expected = source[: edit.start] + edit.replacement + source[edit.start :]
    assert back.new == expected


@settings(max_examples=100, deadline=None)
@given(modules(), st.sampled_from([(), (("autograph", "False"),), (("jit_compile", "True"), ("name", "'é'"))]))
def test_replacing_arguments_and_back(source: bytes, arguments: tuple[tuple[str, str], ...]) -> None:
    added = plan_edits(source, _changes(source, [True], "add")).new
    changes = [
        DecoratorChange(PATH, site.node.lineno, 1, site.qualname, "replace", TENSORFLOW, arguments)
        for site in functions(ast.parse(added))
    ]
    replaced = plan_edits(added, changes)
    assert not replaced.dropped
    assert plan_edits(replaced.new, _changes(replaced.new, [True], "replace")).new == added
