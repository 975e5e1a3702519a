"""What an edit of a file changes: functions with other bodies, and what is around them.

The new text is lowered as if it stood below the old one: what is known of all that has not changed keeps its lines, and
of each line it can be told which text it is of. Statements of modules and classes that say what they said keep theirs,
too: what is made there is known by its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from difflib import SequenceMatcher
from typing import Any, Final

from hybridize.program.build import ModuleSource
from hybridize.program.code import Code, Param
from hybridize.program.instruction import Instr
from hybridize.program.ir import Handler
from hybridize.program.lowering import lower_module
from hybridize.program.operands import roles
from hybridize.records import dataclass, field, replace
from hybridize.source import SourceError, SourceText, parse, split_lines
from hybridize.source.syntax import BLOCKS

#: What a code is, but for its body.
_HEAD: Final = ("name", "kind", "occurrence", "is_async")
#: What its body rests on beside its instructions.
_BESIDE: Final = (
    "free",
    "cells",
    "bound",
    "edges",
    "is_generator",
    "abstract",
    "fields",
    "slot_names",
    "template",
)
#: The roles of fields that only say where something stands.
_PLACES: Final = frozenset({"Position", "range"})


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit of a file.

    Attributes:
        module: with both texts, one below the other, and the code as it was.
        first: how many lines the old text has: those of the new one begin behind them.
        functions: each whose body, parameters or decorators are others, as it was and as it is.
        scopes: likewise the module and the classes that do something else when they are run. What is in them as it was,
            or is among the functions, is in both the code that it was.
    """

    module: ModuleSource
    first: int
    functions: list[tuple[Code, Code]] = field(default_factory=list)
    scopes: list[tuple[Code, Code]] = field(default_factory=list)


def edited(module: ModuleSource, text: SourceText) -> Edited | None:
    """What an edit changes; None where the new text cannot be analyzed, or nobody knows how the old one was.

    Args:
        module: as it was analyzed.
        text: its text now.
    """
    tree = parse(text)
    before = module.code.node
    if module.text is None or isinstance(tree, SourceError) or not isinstance(before, ast.Module):
        return None
    old = module.text.text
    first = lines_before(old)
    lines = [*split_lines(f"{old}{_between(old)}")[:first], *split_lines(text.text)]
    ast.increment_lineno(tree, first)
    try:
        code = lower_module(ast.Module(_merged(before.body, tree.body, lines), []), module.code.path, module.info.id)
    except Exception:  # as `program.build`: the parser lets pass what only the compiler refuses
        return None
    module.code.node = ast.Module([*before.body, *tree.body], [])
    both = replace(module.text, text=f"{old}{_between(old)}{text.text}")
    found = Edited(replace(module, text=both), first)
    _compare_scopes(module.code, code, found)
    return found


def lines_before(text: str) -> int:
    """How many lines stand before a text that is put below another."""
    return len(split_lines(text)) - (not _between(text))


def _between(text: str) -> str:
    """What ends the last line of a text."""
    return "" if text.endswith(("\n", "\r")) else "\n"


# Statements -----------------------------------------------------------------------------------------------------------


def _merged(old: Sequence[ast.stmt], new: Sequence[ast.stmt], lines: Sequence[str]) -> list[ast.stmt]:
    """New statements, but for those that are as they were: of these the old ones."""
    was, now = ([_said(each, lines) for each in block] for block in (old, new))
    found: list[ast.stmt] = []
    for kind, i, end, j, stop in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind == "equal":
            found += old[i:end]
        else:
            left = list(old[i:end])
            found += [_inside(each, left, lines) for each in new[j:stop]]
    return found


def _said(statement: ast.stmt, lines: Sequence[str]) -> tuple[object, ...]:
    """What tells a statement from others, wherever it stands."""
    first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    last = statement.end_lineno or first
    return type(statement), statement.col_offset, statement.end_col_offset, *lines[first - 1 : last]


def _inside(new: ast.stmt, left: list[ast.stmt], lines: Sequence[str]) -> ast.stmt:
    """A statement with what is as it was in it, if one of those that were there has the same head; that is taken."""
    blocks = [name for name in BLOCKS if getattr(new, name, None)]
    if not blocks or isinstance(new, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return new
    head = _head(new)
    old = next((each for each in left if type(each) is type(new) and _head(each) == head), None)
    if old is None:
        return new
    left.remove(old)
    made = copy(old)
    for name in BLOCKS:
        if hasattr(new, name):
            setattr(made, name, _merged(getattr(old, name), getattr(new, name), lines))
    return made


def _head(statement: ast.stmt) -> list[str]:
    """What a statement says beside the blocks in it."""
    found: list[str] = []
    for name, value in ast.iter_fields(statement):
        if name not in BLOCKS:
            found += [_dumped(each) for each in (value if isinstance(value, list) else [value])]
    return found


def _dumped(part: object) -> str:
    return ast.dump(part) if isinstance(part, ast.AST) else repr(part)


# Code -----------------------------------------------------------------------------------------------------------------


def _compare_scopes(old: Code, new: Code, found: Edited) -> None:
    """Compares modules or classes, and what is in them."""
    same = not _has_other_body(old, new) and len(old.children) == len(new.children)
    stands: dict[Code, Code] = {}
    for was, now in zip(old.children, new.children, strict=True) if same else _pairs(old, new):
        if now.is_class:
            _compare_scopes(was, now, found)
        elif now.is_function:
            if not _has_same_head(was, now):
                found.functions.append((was, now))
            else:
                _differs(was, now, found.functions)
        elif _differs(was, now, []):
            continue
        stands[now] = was
    if not same:
        new.children = [stands.get(each, each) for each in new.children]
        for instr in _makers(new.body):
            if instr.code in stands:
                object.__setattr__(instr, "code", stands[instr.code])
        found.scopes.append((old, new))


def _pairs(old: Code, new: Code) -> Iterator[tuple[Code, Code]]:
    """The codes in a scope that are the same function or class as before; a lambda has nothing but its place."""

    def name(code: Code) -> object:
        return code.position if code.is_lambda else (code.kind, code.name, code.occurrence)

    known = {name(each): each for each in old.children}
    for each in new.children:
        was = known.get(name(each))
        if was is not None:
            yield was, each


def _makers(held: Any) -> Iterator[Any]:
    """The instructions that make functions and classes, in a block and the blocks in it."""
    if isinstance(held, tuple):
        for each in held:
            yield from _makers(each)
    elif isinstance(held, (Instr, Handler)):
        if isinstance(getattr(held, "code", None), Code):
            yield held
        for name, role in roles(type(held)).items():
            if role not in _PLACES:
                yield from _makers(getattr(held, name))


def _differs(old: Code, new: Code, changed: list[tuple[Code, Code]]) -> bool:
    """Whether what is around a code must be another, too; else the functions that hold the difference are noted."""
    if not _has_same_head(old, new):
        return True
    known = len(changed)
    other = len(old.children) != len(new.children)
    for was, now in zip(old.children, new.children, strict=False):
        other = _differs(was, now, changed) or other
    if not (other or _has_other_body(old, new)):
        return False
    del changed[known:]
    if not old.is_function:
        return True
    changed.append((old, new))
    return False


def _has_same_head(old: Code, new: Code) -> bool:
    return (
        all(getattr(old, name) == getattr(new, name) for name in _HEAD)
        and has_same_parameters(old, new)
        and _is_same_syntax((*old.decorators, old.returns), (*new.decorators, new.returns))
    )


def has_same_parameters(old: Code, new: Code) -> bool:
    """Whether what a function may be given is what it was."""
    return len(old.params) == len(new.params) and all(map(_is_same_parameter, old.params, new.params))


def _is_same_parameter(old: Param, new: Param) -> bool:
    named = (old.name, old.kind, old.slot) == (new.name, new.kind, new.slot)
    return named and _is_same_syntax((old.annotation, old.default), (new.annotation, new.default))


def _is_same_syntax(old: Sequence[ast.expr | None], new: Sequence[ast.expr | None]) -> bool:
    return len(old) == len(new) and all(_dumped(a) == _dumped(b) for a, b in zip(old, new, strict=True))


def _has_other_body(old: Code, new: Code) -> bool:
    if any(getattr(old, name) != getattr(new, name) for name in _BESIDE) or _docstring(old) != _docstring(new):
        return True
    return list(old.appends.values()) != list(new.appends.values()) or not _is_same(old.body, new.body)


def _docstring(code: Code) -> str | None:
    """Types are read in it."""
    documented = isinstance(code.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    return ast.get_docstring(code.node, clean=False) if documented else None  # type: ignore[arg-type]


def _is_same(old: Any, new: Any) -> bool:
    """Whether instructions, or what their fields hold, say the same wherever they stand."""
    if type(old) is not type(new):
        return False
    if isinstance(old, tuple):
        return len(old) == len(new) and all(map(_is_same, old, new))
    if isinstance(old, (Instr, Handler)):
        return all(
            _is_same(getattr(old, name), getattr(new, name))
            for name, role in roles(type(old)).items()
            if role not in _PLACES
        )
    # What a function or class is that an instruction makes is compared by itself.
    return isinstance(old, Code) or bool(old == new)
