"""The post-condition: the trees differ by exactly the planned change, and planning again finds nothing to do."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from hybridize.records import replace
from hybridize.rewrite.locate import Site
from hybridize.rewrite.model import DecoratorChange, KnownNames
from hybridize.rewrite.propose import (
    ParsedFile,
    insertion_index,
    parse_argument,
    propose,
    removed_indices,
    target_index,
)
from hybridize.rewrite.spelling import denotes_decorator, is_partial, spell

_SKIPPED = {"ctx", "type_ignores", "type_comment"}


def verify(original: bytes, new: bytes, changes: Iterable[DecoratorChange], known_names: KnownNames = ()) -> str | None:
    """None if `new` is `original` with these changes and nothing else, else one line that says what is wrong.

    Both are parsed. Apart from the planned decorators and a new import of their module the trees must be equal;
    and the same changes, asked for again, must find everything done.
    """
    try:
        before = ParsedFile(original, known_names)
    except (SyntaxError, ValueError) as error:
        return f"the file does not parse: {error}"
    return verify_against(before, new, changes, known_names)


def verify_against(
    before: ParsedFile, new: bytes, changes: Iterable[DecoratorChange], known_names: KnownNames = ()
) -> str | None:
    """`verify` with the original parsed already."""
    changes = list(changes)
    try:
        after = ParsedFile(new, known_names)
    except (SyntaxError, ValueError) as error:
        return f"the result does not parse: {error}"
    modules = {change.dialect.module for change in changes if change.action == "add"}
    body = _without_new_imports(before.tree.body, after.tree.body, modules)
    if body is None:
        return "the result has other statements than planned"
    if len(before.names.sites) != len(after.names.sites):
        return "the result has other functions than planned"
    places = {site.node.lineno: index for index, site in enumerate(before.names.sites)}
    loose: dict[int, tuple[Site, Site, DecoratorChange]] = {}
    for change in changes:
        index = places.get(change.line)
        if index is None:
            return f"no function is defined on line {change.line}"
        old, now = before.names.sites[index], after.names.sites[index]
        loose[id(old.node)] = (old, now, change)
    if line := _first_difference(before.tree.body, body, {key: now.node for key, (_, now, _) in loose.items()}):
        return f"the result differs from the plan near line {line}"
    for old, now, change in loose.values():
        if problem := _decorators(before, after, old, now, change):
            return f"{change.qualname or old.qualname}: {problem}"
    again = propose(after, [moved(change, now) for _, now, change in loose.values()])
    if again.edits or again.dropped:
        return "a second run would change the result again"
    return None


def moved(change: DecoratorChange, now: Site) -> DecoratorChange:
    """The same change, asked for in the file after it was made."""
    place = change.decorator_line
    if place is not None:
        # It moved with its function; line 0 has none, for one that is gone.
        place = place + now.node.lineno - change.line if change.action == "replace" else 0
    return replace(
        change, line=now.node.lineno, column=now.node.col_offset + 1, qualname=now.qualname, decorator_line=place
    )


def _without_new_imports(old: list[ast.stmt], new: list[ast.stmt], modules: set[str]) -> list[ast.stmt] | None:
    """The new statements without the imports that were added; None if anything else was."""
    extra = len(new) - len(old)
    if not extra:
        return new
    kept: list[ast.stmt] = []
    place = 0
    for node in new:
        added = extra and isinstance(node, ast.Import) and len(node.names) == 1 and node.names[0].name in modules
        if added and (place == len(old) or _first_difference([old[place]], [node], {})):
            extra -= 1
            continue
        kept.append(node)
        place += 1
    return kept if not extra else None


def _decorators(before: ParsedFile, after: ParsedFile, old: Site, now: Site, change: DecoratorChange) -> str | None:
    """What is wrong with the decorators of one changed function."""
    was, has = list(old.node.decorator_list), list(now.node.decorator_list)
    if change.action == "remove":
        gone = removed_indices(before, old, change)
        kept = [node for index, node in enumerate(was) if index not in gone]
        return "another decorator was lost" if len(kept) == len(was) or _first_difference(kept, has, {}) else None
    index = insertion_index(before, old, change) if change.action == "add" else target_index(before, old, change)
    if index is None or index >= len(has):
        return "the decorator is not where it was planned"
    mine = has.pop(index)
    if change.action == "replace":
        same_callee = not _first_difference([_bare(was.pop(index), before, old)], [_bare(mine, after, now)], {})
        if not same_callee:
            return "the decorator itself changed, not only its arguments"
    elif not denotes_decorator(after.names, mine, now, change.dialect):
        return f"the new decorator is not {change.dialect.name}"
    if _first_difference(was, has, {}):
        return "another decorator changed"
    spelling = spell(after.names, now, change.dialect, change.arguments)
    arguments = change.arguments if isinstance(spelling, str) else spelling.arguments
    return None if _has_arguments(mine, arguments, after, now) else "the arguments are not those planned"


def _bare(node: ast.expr, file: ParsedFile, site: Site) -> ast.expr:
    """The decorator without its own arguments."""
    if isinstance(node, ast.Call):
        return node.args[0] if node.args and is_partial(file.names, node, site) else node.func
    return node


def _has_arguments(node: ast.expr, wanted: tuple[tuple[str, str], ...], file: ParsedFile, site: Site) -> bool:
    if not isinstance(node, ast.Call):
        return not wanted
    if len(node.args) != int(is_partial(file.names, node, site)):
        return False
    found = {keyword.arg: keyword.value for keyword in node.keywords}
    expected = {name: parse_argument(name, source) for name, source in wanted}
    return found.keys() == expected.keys() and all(
        not _first_difference([found[name]], [value], {}) for name, value in expected.items()
    )


def _first_difference(old: Iterable[ast.AST], new: Iterable[ast.AST], loose: dict[int, ast.AST]) -> int | None:
    """The line (from 1) of the first node that differs, else None.

    The decorators of the functions in `loose` (by identity) are not compared; each must meet its own new node.
    """
    stack: list[tuple[object, object]] = [(list(old), list(new))]
    line = 1
    while stack:
        one, two = stack.pop()
        if one.__class__ is not two.__class__:
            return line
        if isinstance(one, list):
            assert isinstance(two, list)
            if len(one) != len(two):
                return line
            stack.extend(zip(reversed(one), reversed(two), strict=True))
        elif isinstance(one, ast.AST):
            line = getattr(one, "lineno", line)
            partner = loose.get(id(one))
            if partner is not None and partner is not two:
                return line
            for name in _fields(one.__class__):
                if partner is None or name != "decorator_list":
                    stack.append((getattr(one, name, None), getattr(two, name, None)))
        elif one != two:
            return line
    return None


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields that carry meaning, last first (the stack turns them round)."""
    found = _FIELDS.get(kind)
    if found is None:
        names: Iterator[str] = (name for name in reversed(kind._fields) if name not in _SKIPPED)
        found = _FIELDS[kind] = tuple(names)
    return found
