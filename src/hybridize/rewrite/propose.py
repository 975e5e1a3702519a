"""One file's changes -> edits, not yet verified."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable

from hybridize.records import dataclass, field
from hybridize.rewrite.decorator_bytes import (
    arguments_edit,
    decorator_source,
    decorator_span,
    definition_start,
    insertion,
    removal,
)
from hybridize.rewrite.imports import import_edit
from hybridize.rewrite.locate import Site
from hybridize.rewrite.model import DecoratorChange, Edit, KnownNames
from hybridize.rewrite.scopes import Names
from hybridize.rewrite.sections import NOWHERE, Around
from hybridize.rewrite.spelling import denotes_decorator, denotes_outermost, is_partial, spell
from hybridize.rewrite.text import SourceText


class ParsedFile:
    """A file's bytes, tree and names; raises SyntaxError or ValueError for what Python does not accept."""

    __slots__ = ("around", "by_line", "names", "text", "tree")

    def __init__(self, source: bytes, known: KnownNames = (), around: Around = NOWHERE) -> None:
        """Parses once."""
        self.around = around
        self.text = SourceText(source)
        self.tree = parse(source)
        self.names = Names(self.tree, source, known)
        self.by_line = {site.node.lineno: site for site in self.names.sites}


@dataclass(slots=True)
class Proposal:
    """The edits for some changes, in file order, and what could not be planned."""

    edits: list[Edit] = field(default_factory=list)
    planned: list[DecoratorChange] = field(default_factory=list)
    unchanged: list[DecoratorChange] = field(default_factory=list)
    dropped: list[tuple[DecoratorChange, str]] = field(default_factory=list)


class _Dropped(Exception):
    """A change can't be made; the argument says why."""


def parse(source: bytes | str) -> ast.Module:
    """The tree; the warnings that old string escapes cause are not ours to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError("nested too deeply") from error


def propose(file: ParsedFile, changes: Iterable[DecoratorChange]) -> Proposal:
    """Plans each change on its own, then the imports that they need together."""
    proposal = Proposal()
    imports: dict[str, tuple[list[str], int]] = {}
    seen: set[int] = set()
    edits: list[Edit] = []
    for change in sorted(changes, key=lambda change: change.line):
        try:
            site = _find(file, change)
            if change.line in seen:
                raise _Dropped("another change of the same function comes first")
            seen.add(change.line)
            made, alias = _plan(file, site, change)
        except _Dropped as reason:
            proposal.dropped.append((change, str(reason)))
            continue
        if not made:
            proposal.unchanged.append(change)
            continue
        edits += made
        proposal.planned.append(change)
        if alias:
            aliases, first = imports.get(change.dialect.module, ([], len(file.tree.body)))
            imports[change.dialect.module] = ([*dict.fromkeys([*aliases, alias])], min(first, site.trail[0].index))
    new = [import_edit(file.text, file.tree, module, *needed, file.around) for module, needed in imports.items()]
    # A stable sort: an import at the byte of a decorator comes first.
    proposal.edits = sorted([*new, *edits], key=lambda edit: edit.start)
    return proposal


def _find(file: ParsedFile, change: DecoratorChange) -> Site:
    site = file.by_line.get(change.line)
    if site is None:
        raise _Dropped(f"no function is defined on line {change.line}")
    if change.qualname and change.qualname.replace("<locals>.", "") != site.qualname:
        raise _Dropped(f"line {change.line} defines {site.qualname}, not {change.qualname}")
    return site


def _plan(file: ParsedFile, site: Site, change: DecoratorChange) -> tuple[list[Edit], str | None]:
    """The edits of one change, and the alias of a new import that they need."""
    for name, source in change.arguments:
        try:
            parse_argument(name, source)
        except (SyntaxError, ValueError):
            raise _Dropped(f"the argument {name}={source} is not an expression") from None
    try:
        if change.action == "add":
            return _add(file, site, change)
        return (_remove if change.action == "remove" else _replace)(file, site, change), None
    except UnicodeEncodeError:
        raise _Dropped(f"the arguments can't be written in the file's encoding ({file.text.encoding})") from None


def parse_argument(name: str, source: str) -> ast.expr:
    """The argument's value; SyntaxError if the name or the text is not one."""
    if not name.isidentifier():
        raise SyntaxError(name)
    return ast.parse(source, mode="eval").body


def _add(file: ParsedFile, site: Site, change: DecoratorChange) -> tuple[list[Edit], str | None]:
    if _existing(file, site, change):
        return [], None
    spelling = spell(file.names, site, change.dialect, change.arguments)
    if isinstance(spelling, str):
        raise _Dropped(spelling)
    offset = definition_start(file.text, site.node)
    index = insertion_index(file, site, change)
    if index < len(site.node.decorator_list):
        span = decorator_span(file.text, site.node, index)
        if span is None:
            raise _Dropped(_UNCLEAR)
        offset = span.at
    source = decorator_source(spelling.text, spelling.arguments)
    return [insertion(file.text, offset, source.encode(file.text.encoding))], spelling.new_alias


def insertion_index(file: ParsedFile, site: Site, change: DecoratorChange) -> int:
    """The new decorator's place among the function's: next to `def`, but above one that must stay inside."""
    for index, node in enumerate(site.node.decorator_list):
        if denotes_outermost(file.names, node, site, change.dialect):
            return index
    return len(site.node.decorator_list)


def _existing(file: ParsedFile, site: Site, change: DecoratorChange) -> list[int]:
    """The indices of the function's decorators that denote the dialect's."""
    return [
        index
        for index, node in enumerate(site.node.decorator_list)
        if denotes_decorator(file.names, node, site, change.dialect)
    ]


def target_index(file: ParsedFile, site: Site, change: DecoratorChange) -> int | None:
    """The decorator that the change means: the one on the line that it names, else the first of its kind."""
    if change.decorator_line is not None:
        above = 0
        for index, node in enumerate(site.node.decorator_list):
            if above < change.decorator_line <= (node.end_lineno or node.lineno):
                return index
            above = node.end_lineno or node.lineno
        return None
    found = _existing(file, site, change)
    return found[0] if found else None


def removed_indices(file: ParsedFile, site: Site, change: DecoratorChange) -> list[int]:
    """All decorators to remove: a second one of the same kind would leave the function hybrid."""
    named = target_index(file, site, change)
    return sorted({*_existing(file, site, change), *([] if named is None else [named])})


def _remove(file: ParsedFile, site: Site, change: DecoratorChange) -> list[Edit]:
    edits: list[Edit] = []
    for index in removed_indices(file, site, change):
        span = decorator_span(file.text, site.node, index)
        if span is None:
            raise _Dropped(_UNCLEAR)
        edits.append(removal(file.text, span))
    return edits


def _replace(file: ParsedFile, site: Site, change: DecoratorChange) -> list[Edit]:
    index = target_index(file, site, change)
    if index is None:
        raise _Dropped(f"it has no {change.dialect.name} decorator to change")
    node = site.node.decorator_list[index]
    spelling = spell(file.names, site, change.dialect, change.arguments)
    if isinstance(spelling, str) or (spelling.new_alias and spelling.arguments != change.arguments):
        raise _Dropped(f"no name for {change.dialect.module} is in force for the arguments")
    edits = arguments_edit(file.text, node, spelling.arguments, int(is_partial(file.names, node, site)))
    if edits is None:
        raise _Dropped(_UNCLEAR)
    return edits


_UNCLEAR = "the decorator's place in the text is not clear"
