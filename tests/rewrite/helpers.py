"""Before and after, as text or bytes; the changes are named by function, so that a test reads as documentation."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from hybridize.rewrite import DecoratorChange, FileResult, plan_edits
from hybridize.rewrite.dialect import TENSORFLOW
from hybridize.rewrite.locate import functions
from hybridize.rewrite.model import Action, KnownNames

PATH = Path("pkg/model.py")


def change(source: str | bytes, qualname: str, action: Action = "add", **arguments: str) -> DecoratorChange:
    """A change to the only function of that name."""
    (site,) = [site for site in functions(ast.parse(source)) if site.qualname == qualname]
    return DecoratorChange(
        path=PATH,
        line=site.node.lineno,
        column=site.node.col_offset + 1,
        qualname=qualname,
        action=action,
        dialect=TENSORFLOW,
        arguments=tuple(arguments.items()),
    )


def plan(source: str | bytes, *names: str, action: Action = "add", known: KnownNames = (), **args: str) -> FileResult:
    """The result of one action on some functions."""
    data = source.encode() if isinstance(source, str) else source
    return plan_edits(data, [change(data, name, action, **args) for name in names], known_names=known)


def check(
    before: str | bytes,
    after: str | bytes,
    *names: str,
    action: Action = "add",
    known: KnownNames = (),
    **arguments: str,
) -> None:
    """The functions change as asked, nothing else does, and a second run has nothing to do."""
    expected = after.encode() if isinstance(after, str) else after
    result = plan(before, *names, action=action, known=known, **arguments)
    assert not result.dropped
    assert result.new == expected, result.new.decode(errors="replace")
    again = plan(result.new, *names, action=action, known=known, **arguments)
    assert not again.changed
    assert len(again.unchanged) == len(names)


def check_noop(source: str | bytes, *names: str, action: Action = "add", **arguments: str) -> None:
    """The file already is as asked."""
    result = plan(source, *names, action=action, **arguments)
    assert not result.changed
    assert not result.dropped
    assert len(result.unchanged) == len(names)


def check_dropped(source: str | bytes, reason: str, *names: str, action: Action = "add", **arguments: str) -> None:
    """The file stays as it is, and a line says why."""
    result = plan(source, *names, action=action, **arguments)
    assert not result.changed
    assert [reason in why for _, why in result.dropped] == [True] * len(names), result.dropped


def at_line(source: str | bytes, line: int, **fields: object) -> DecoratorChange:
    """A change by line alone."""
    base = DecoratorChange(PATH, line, 1, "", "add", TENSORFLOW)
    return dataclasses.replace(base, **fields)  # type: ignore[arg-type]
