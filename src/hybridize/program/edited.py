"""What an edit of a file changes: the functions whose bodies are others, where that is all.

The new functions are lowered at lines behind those of the old text, as if the new text stood below it: what is known of
all that has not changed keeps its lines, and of each line it can be told which text it is of.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from hybridize.program.build import ModuleSource
from hybridize.program.instruction import Instr
from hybridize.program.ir import Code, Handler, Param
from hybridize.program.lowering import lower_module
from hybridize.program.operands import roles
from hybridize.records import dataclass, replace
from hybridize.source import SourceError, SourceText, parse, split_lines

#: What a code is, but for its body.
_HEAD: Final = ("name", "kind", "occurrence", "is_async")
#: What its body rests on beside its instructions.
_BESIDE: Final = ("free", "cells", "bound", "edges", "is_generator", "abstract", "fields", "slot_names", "template")

#: The roles of fields that only say where something stands.
_PLACES: Final = frozenset({"Position", "range"})


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit within functions.

    Attributes:
        module: with both texts, one below the other, and the code as it was.
        first: how many lines the old text has: those of the new one begin behind them.
        changed: each function whose body is another, as it was and as it is.
    """

    module: ModuleSource
    first: int
    changed: tuple[tuple[Code, Code], ...]


def edited(module: ModuleSource, text: SourceText) -> Edited | None:
    """What an edit changes; None where that is more than the bodies of functions, or the new text cannot be analyzed.

    Args:
        module: as it was analyzed.
        text: its text now.
    """
    if module.text is None:
        return None
    before = module.text.text
    first = lines_before(before)
    tree = parse(text)
    if isinstance(tree, SourceError):
        return None
    ast.increment_lineno(tree, first)
    try:
        code = lower_module(tree, module.code.path, module.info.id)
    except Exception:  # as `program.build`: the parser lets pass what only the compiler refuses
        return None
    changed: list[tuple[Code, Code]] = []
    if _differs(module.code, code, changed):
        return None
    both = replace(module.text, text=f"{before}{_between(before)}{text.text}")
    if isinstance(module.code.node, ast.Module):
        module.code.node = ast.Module([*module.code.node.body, *tree.body], [])
    return Edited(replace(module, text=both), first, tuple(changed))


def lines_before(text: str) -> int:
    """How many lines stand before a text that is put below another."""
    return len(split_lines(text)) - (not _between(text))


def _between(text: str) -> str:
    """What ends the last line of a text."""
    return "" if text.endswith(("\n", "\r")) else "\n"


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
    if old.kind != "function":
        return True
    changed.append((old, new))
    return False


def _has_same_head(old: Code, new: Code) -> bool:
    return (
        all(getattr(old, name) == getattr(new, name) for name in _HEAD)
        and len(old.params) == len(new.params)
        and all(map(_is_same_parameter, old.params, new.params))
        and _is_same_syntax((*old.decorators, old.returns), (*new.decorators, new.returns))
    )


def _is_same_parameter(old: Param, new: Param) -> bool:
    named = (old.name, old.kind, old.slot) == (new.name, new.kind, new.slot)
    return named and _is_same_syntax((old.annotation, old.default), (new.annotation, new.default))


def _is_same_syntax(old: Sequence[ast.expr | None], new: Sequence[ast.expr | None]) -> bool:
    def shown(each: ast.expr | None) -> str | None:
        return None if each is None else ast.dump(each)

    return len(old) == len(new) and all(shown(a) == shown(b) for a, b in zip(old, new, strict=True))


def _has_other_body(old: Code, new: Code) -> bool:
    if any(getattr(old, name) != getattr(new, name) for name in _BESIDE) or _said(old) != _said(new):
        return True
    return list(old.appends.values()) != list(new.appends.values()) or not _is_same(old.body, new.body)


def _said(code: Code) -> str | None:
    """The docstring: types are read in it."""
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
