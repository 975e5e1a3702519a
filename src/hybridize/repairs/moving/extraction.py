"""Moves a run of statements into a function of its own, in text: what it takes, what it returns, where it stands."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from hybridize.records import dataclass, replace
from hybridize.repairs.model import NotOffered
from hybridize.repairs.moving.flow_of_names import forbidden, is_bound_by, used_later
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import scopes_around
from hybridize.repairs.source.printing import laid_out
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, first_line, start
from hybridize.source.bindings import bound_by, bound_in, reads
from hybridize.source.syntax import walk

_MOST = 12  # parameters
#: Statements that bind a name in some runs only.
_MAYBE = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try, ast.Match)
#: How comments begin that open cells of a script.
_OPENS = (b"# %%", b"#%%", b"# In[", b"# <")


@dataclass(frozen=True, slots=True)
class Part:
    """A run of statements of a function (`scope`; the module for code at its top).

    `before` is the statement in front of which the new function stands (with `behind`, behind which), `receiver` the
    first parameter where it becomes a method beside the old one (else empty). `fixed` are the names that the new
    function need not be passed. `follows` says that another new function stands right above it.
    """

    file: SourceFile
    scope: FunctionNode | ast.Module
    block: tuple[ast.stmt, ...]
    before: ast.stmt
    receiver: str = ""
    fixed: frozenset[str] = frozenset()
    follows: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Extracted:
    """The edits, the qualified name of the new function, its parameters and what it returns."""

    edits: tuple[TextEdit, ...]
    qualname: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]


def beside(file: SourceFile, own: FunctionNode, block: Sequence[ast.stmt]) -> Part:
    """A part of a function that becomes a function beside it. Raises NotOffered where that can't be told.

    It stands behind the function, which so stays in its place, unless a decorator may call that at once.
    """
    parent = file.parents[own]
    if not isinstance(parent, ast.ClassDef):
        around = {name for scope in scopes_around(file, own) for name in bound_in(scope)}
        fixed = frozenset(around - bound_in(own))
        return Part(file, own, tuple(block), own, fixed=fixed, behind=not own.decorator_list)
    if own.decorator_list or not own.args.args or own.args.posonlyargs:
        raise NotOffered(f"`{own.name}` is no plain method")
    return Part(file, own, tuple(block), own, own.args.args[0].arg, behind=True)


def in_front(
    file: SourceFile, scope: FunctionNode | ast.Module, block: Sequence[ast.stmt], shared: Collection[str] = ()
) -> Part:
    """A part of a loop that becomes a function in front of a loop around it: of the outermost, unless what is to be
    `shared` is bound in there, and in front of a loop within.

    It shares the variables that are bound once, before it; what the loops bind it is passed.
    """
    own = {name for name in shared if name in bound_in(scope)}
    tops = [loop for loop in reversed(list(file.loops_around(block[0]))) if _below(loop, scope, file)]
    first = file.statement(block[0])
    while file.parents[first] is not scope:
        first = file.statement(file.parents[first])
    fitting = (top for top in (first, *tops) if all(_settled(file, scope, name, top) for name in own))
    top = next(fitting, first)
    names = bound_in(scope)
    inside = {name for name in names if not _settled(file, scope, name, top)}
    return Part(file, scope, tuple(block), top, fixed=frozenset(names - inside))


def _settled(file: SourceFile, scope: FunctionNode | ast.Module, name: str, top: ast.stmt) -> bool:
    """Whether a name of a scope is bound once, before a statement of it, in every round of the loops around that."""
    binders = []
    for node in file.bound.get(name, ()):
        if _owner(file, node) is scope:
            binders.append(node)
    if not binders or (len(binders) > 1 and not _is_one_import(binders, name)):
        return False
    node = min(binders, key=start)
    if isinstance(node, ast.arg):
        return True
    around = set(file.around(top))
    looped = any(
        isinstance(n, (ast.For, ast.While)) for n in file.around(node) if n not in around and _below(n, scope, file)
    )
    return not looped and end(node) <= start(top)


def _is_one_import(binders: Sequence[ast.AST], name: str) -> bool:
    """Whether a name is bound by nothing but imports of the same module (`import tensorflow as tf` in many cells)."""
    modules = {
        alias.name if alias.asname else alias.name.partition(".")[0]
        for node in binders
        if isinstance(node, ast.Import)
        for alias in node.names
        if (alias.asname or alias.name.partition(".")[0]) == name
    }
    return all(isinstance(node, ast.Import) for node in binders) and len(modules) == 1


def _below(node: ast.AST, scope: ast.AST, file: SourceFile) -> bool:
    return any(n is scope for n in file.around(node))


def extract(part: Part, name: str, docstring: str = "") -> Extracted:
    """The edits that make the function and call it. Raises NotOffered where the program might do otherwise."""
    file, block = part.file, part.block
    odd = next(forbidden(block), None)
    if odd is not None:
        raise NotOffered(f"line {getattr(odd, 'lineno', 0)} cannot move into another function")
    own = bound_in(part.scope)
    if isinstance(part.scope, FunctionNode):
        freed = {n for each in walk(part.scope) if isinstance(each, (ast.Global, ast.Nonlocal)) for n in each.names}
        if freed & bound_by(block):
            raise NotOffered(f"it writes `{min(freed & bound_by(block))}` from outside")
    stored = bound_by(block)
    found = reads(block)
    gives = used_later(file, part.scope, block, stored)
    forgotten, gone = _forgotten(part, stored - set(gives))
    gives = sorted({*gives, *forgotten})
    # What is not bound in every case must keep what it was bound to before; what was not bound is read as such later.
    likely = reads(block, looped=True).surely
    kept = {each for each in gives if each not in found.surely}
    kept = {each for each in kept if each not in likely or _is_bound_before(part, each, surely=True)}
    takes = ((found.needed & own) | kept) - part.fixed - {part.receiver}
    missing = sorted(each for each in takes if not _is_bound_before(part, each, surely=each not in found.needed))
    if missing:
        raise NotOffered(f"`{missing[0]}` may not be bound where the part begins")
    if len(takes) > _MOST:
        raise NotOffered("it takes too many variables")
    made = _written(part, name, docstring, _ordered(part, takes), tuple(_in_order(block, gives)))
    return replace(made, edits=(*made.edits, *gone))


def _forgotten(part: Part, own: Collection[str]) -> tuple[set[str], list[TextEdit]]:
    """Of some variables that become those of the new function: the edits that take a `del` of them away.

    Those come first of which a `del` must stay. One that forgets what was bound outside of the part is left alone.
    """
    kept: set[str] = set()
    gone: list[TextEdit] = []
    for node in (n for n in walk(part.scope) if isinstance(n, ast.Delete)):
        targets = [t for t in node.targets if isinstance(t, ast.Name) and t.id in own]
        names = {t.id for t in targets if is_bound_by(part.file, part.scope, part.block, t)}
        if not names:
            continue
        edit = part.file.whole_lines(node)
        if edit is None or len(names) < len(node.targets) or len(part.file.block(node)) == 1:
            kept |= names
        else:
            gone.append(edit)
    return kept, gone


def _is_bound_before(part: Part, name: str, *, surely: bool) -> bool:
    """Whether a variable is bound above the part, or is a parameter.

    That a statement in some branch or loop binds it is enough for what the part reads, as it would fail there, too;
    but not for what it is only given to give it back (`surely`).
    """
    file, scope, first = part.file, part.scope, part.block[0]
    if isinstance(scope, FunctionNode) and any(a.arg == name for a in walk(scope.args) if isinstance(a, ast.arg)):
        return True
    around = {first, *file.around(first)}
    for node in file.bound.get(name, ()):
        if start(node) < start(first) and _owner(file, node) is scope:
            statement = file.statement(node)
            if not surely or (not isinstance(statement, _MAYBE) and not around.isdisjoint(file.block(statement))):
                return True
    return False


def _owner(file: SourceFile, node: ast.AST) -> ast.AST | None:
    """The scope whose variable a node binds."""
    if isinstance(node, ast.arg):
        return next((n for n in file.around(node) if isinstance(n, (FunctionNode, ast.Lambda))), None)
    nearest = next(scopes_around(file, node), file.tree)
    body = next((n for n in file.around(node) if isinstance(n, (FunctionNode, ast.ClassDef))), None)
    return body if isinstance(body, ast.ClassDef) and any(n is nearest for n in file.around(body)) else nearest


def _ordered(part: Part, names: Collection[str]) -> tuple[str, ...]:
    """Parameters of the function first, in its order, then as they are used."""
    args = part.scope.args if isinstance(part.scope, FunctionNode) else None
    first = [a.arg for a in walk(args) if isinstance(a, ast.arg) and a.arg in names] if args is not None else []
    return (*first, *(n for n in _in_order(part.block, names) if n not in first))


def _in_order(block: Sequence[ast.stmt], names: Collection[str]) -> list[str]:
    places: dict[str, tuple[int, int]] = {}
    for statement in block:
        for node in walk(statement):
            if isinstance(node, ast.Name) and node.id in names:
                places[node.id] = min(places.get(node.id, start(node)), start(node))
    return sorted(names, key=lambda name: (places.get(name, (0, 0)), name))


def _written(part: Part, name: str, docstring: str, takes: tuple[str, ...], gives: tuple[str, ...]) -> Extracted:
    file, block = part.file, part.block
    indent, outer = file.indentation(block[0]), file.indentation(part.before)
    first, (last, column) = _first_with_comments(file, block[0]), end(block[-1])
    rest = file.lines[last - 1][column:].strip()
    if indent is None or outer is None or (rest and not rest.startswith(b"#")):
        raise NotOffered("its statements share their lines")
    step = "\t" if "\t" in indent else "    "
    body = [_shifted(line.decode(), indent, outer + step) for line in _moved(file, block, first, last)]
    result = f"{outer}{step}return {', '.join(gives)}\n" if gives else ""
    said = f'{outer}{step}"""{docstring}"""\n' if docstring else ""
    head = laid_out(f"def {name}", [part.receiver, *takes] if part.receiver else list(takes), outer)
    made = _placed(part, f"{outer}{head}:\n{said}" + "".join(f"{line}\n" for line in body) + result)
    called = f"{part.receiver}.{name}" if part.receiver else name
    call = laid_out(f"{', '.join(gives)} = {called}" if gives else called, list(takes), indent)
    replaced = TextEdit(file.path, (first, 0), (last, len(file.lines[last - 1])), f"{indent}{call}")
    return Extracted((made, replaced), _qualname(file, part, name), takes, gives)


def _placed(part: Part, text: str) -> TextEdit:
    """The edit that puts the lines of the new function where it stands, apart from what is around it."""
    file, before = part.file, part.before
    if part.behind:
        last = _last_with_comments(file, before)
        place = (last, len(file.lines[last - 1]))
        gap = "\n" * _between(file, before)
        return TextEdit(file.path, place, place, f"\n{gap}{text.removesuffix(chr(10))}")
    line = _first_with_comments(file, before)
    lead = "" if part.follows else _lead(file, before, line)
    return TextEdit(file.path, (line, 0), (line, 0), f"{lead}{text}" + "\n" * _blank_lines(file, before, line))


def _first_with_comments(file: SourceFile, statement: ast.stmt) -> int:
    """The first line of a statement, with the comments right above, of its indentation, that open no cell."""
    first = first_line(statement)
    while first > 1 and not file.opens_cell(first):
        above = file.lines[first - 2]
        text = above.lstrip()
        if not text.startswith(b"#") or text.startswith(_OPENS) or len(above) - len(text) != statement.col_offset:
            break
        first -= 1
    return first


def _last_with_comments(file: SourceFile, statement: ast.stmt) -> int:
    """The last line of a statement, with the comments below that are indented as what is in it."""
    last = end(statement)[0]
    for number in range(last + 1, len(file.lines) + 1):
        line = file.lines[number - 1]
        text = line.lstrip()
        if file.opens_cell(number) or (text and (text[:1] != b"#" or len(line) - len(text) <= statement.col_offset)):
            break
        last = number if text else last
    return last


def _moved(file: SourceFile, block: Sequence[ast.stmt], first: int, last: int) -> list[bytes]:
    for node in (n for statement in block for n in walk(statement)):
        said = isinstance(file.parents[node], ast.Expr)  # read by people alone, as a comment
        if isinstance(node, (ast.JoinedStr, ast.Constant)) and node.lineno != node.end_lineno and not said:
            raise NotOffered("a text over several lines would change")
    return file.lines[first - 1 : last]


def _shifted(line: str, indent: str, wanted: str) -> str:
    """A line with another indentation; one with less than the block has (a comment, say) gets that of the block.

    Blank lines stay as they are.
    """
    if indent == wanted or not line.strip():
        return line
    return f"{wanted}{line[len(indent) :] if line.startswith(indent) else line.lstrip()}"


def _lead(file: SourceFile, before: ast.stmt, line: int) -> str:
    """The blank lines that are missing above the new function at a line, where code stands there that is none."""
    if line == 1 or file.opens_cell(line) or isinstance(before, FunctionNode):
        return ""
    above = file.lines[line - 2].strip()
    return "" if above.startswith((b"#", b"@")) else "\n" * (_apart(file, before) - file.blank_lines_above(line))


def _blank_lines(file: SourceFile, before: ast.stmt, line: int) -> int:
    """How many blank lines keep the new function apart: as many as stand above, one within functions."""
    count = file.blank_lines_above(line)
    compact = line > 1 and not file.lines[line - 2].lstrip().startswith(b"#")
    if isinstance(before, FunctionNode) and compact:
        return count if count or isinstance(file.parents[before], ast.ClassDef) else 0
    return max(count, _apart(file, before))


def _apart(file: SourceFile, before: ast.stmt) -> int:
    """How many blank lines keep functions apart from code: one within functions and cells, else what the
    file has, or two.
    """
    if not isinstance(file.parents[before], ast.Module) or file.cells is not None:
        return 1
    return max(1, _usual(file, file.tree.body, 2))


def _between(file: SourceFile, own: ast.stmt) -> int:
    """How many blank lines stand between a function and the next: as many as above it, or else above its neighbours."""
    parent = file.parents[own]
    body = parent.body if isinstance(parent, (ast.Module, ast.ClassDef, FunctionNode)) else []
    usual = 2 if isinstance(parent, ast.Module) and file.cells is None else 1
    return _usual(file, [own, own] if own in body[1:] else body, usual)


def _usual(file: SourceFile, body: Sequence[ast.stmt], otherwise: int) -> int:
    """How many blank lines stand above functions and classes that are not the first of a body, most often."""
    tops = [node for node in body[1:] if isinstance(node, (FunctionNode, ast.ClassDef))]
    seen = [file.blank_lines_above(_first_with_comments(file, node)) for node in tops]
    return max(seen, key=seen.count) if seen else otherwise


def _qualname(file: SourceFile, part: Part, name: str) -> str:
    """As reports name functions."""
    parts = [name]
    inner: ast.AST = part.before
    for node in file.around(inner):
        if isinstance(node, (FunctionNode, ast.ClassDef)):
            parts.append(node.name)
    return ".".join(reversed(parts))
