"""Lists that a function makes and then fills by `append` or `+=`: `xs = []; for ...: xs.append(x)`.

Found while statements are lowered: an append counts where it runs exactly once for each turn of the `for` loops between
it and the list's making, and where nothing looks at the list before the last append. The engine may then keep the
elements by position where it follows the loops turn by turn (see `flow.turns`), and else at least knows how many they
are. An append in a branch keeps its position where the branch is decided in each turn; a list whose elements are read
one by one between appends has a length only.
"""

from __future__ import annotations

import ast

from hybridize.program.builder import Builder, position
from hybridize.program.code import Growth


class OpenFor:
    """A loop that is being lowered, as far as counting is concerned: `jumps` where it may skip a part of a turn."""

    __slots__ = ("counts", "jumps")

    def __init__(self, counts: bool) -> None:
        self.counts = counts
        self.jumps = False


class _List:
    """A list literal that a local variable holds, and the appends to it so far."""

    __slots__ = ("appends", "bad", "closed", "depth", "keeps", "level", "peeked", "read", "waits")

    def __init__(self, depth: int, level: int) -> None:
        self.depth = depth  # loops around it
        self.level = level  # branches around it
        self.appends: list[tuple[int, tuple[OpenFor, ...], bool]] = []  # the last: in a branch of its own
        self.closed = False  # it was looked at: further appends are not counted
        self.bad = False
        self.keeps = False  # the next store is that of `xs += [...]`
        self.read = False  # single elements were read
        self.peeked = False  # that was before the last append
        self.waits = False  # the next load is that of an append


class Lists:
    """The lists that a scope makes, while it is lowered."""

    def __init__(self) -> None:
        self.open_fors: list[OpenFor] = []
        self.watched: dict[str, _List] = {}
        self.finished: list[tuple[str, _List]] = []

    def watch(self, low: Builder, node: ast.Assign) -> None:
        """Begins to watch a list that an assignment makes."""
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        if target is None or low.is_class:
            return
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            if any(isinstance(part, ast.Starred) for part in (*target.elts, *node.value.elts)):
                return
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        for part, value in pairs:
            name = self._spelled(low, part)
            if name is not None and isinstance(value, (ast.List, ast.ListComp)):
                if name in self.watched:
                    self._end(name)
                self.watched[name] = _List(len(self.open_fors), self.level(low))

    def _spelled(self, low: Builder, node: ast.expr) -> str | None:
        """A local variable, or an attribute of the first parameter, as the lists are named."""
        scope = low.scope
        match node:
            case ast.Name(id=name):
                shared = name in scope.globals or name in scope.nonlocals or name in scope.captured
                return None if shared or name in low.unsettled else name
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                params = low.code.params
                return f"{owner}.{attribute}" if params and params[0].name == owner else None
        return None

    def level(self, low: Builder) -> int:
        """How many branches are open that may not run, or not once for each turn."""
        return low.nesting - sum(loop.counts for loop in self.open_fors)

    def appending(self, low: Builder, node: ast.stmt) -> None:
        """Notes a statement that is an append to a watched list, before it is lowered."""
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[arg], keywords=[]) as grows
            ) if not isinstance(arg, ast.Starred):
                self._grow(low, owner, position(grows))
            case ast.AugAssign(target=ast.Name() as owner, op=ast.Add(), value=ast.List(elts=elements)):
                if not any(isinstance(element, ast.Starred) for element in elements):
                    self._grow(low, owner, position(node), keeps=True)

    def _grow(self, low: Builder, owner: ast.expr, pos: int, *, keeps: bool = False) -> None:
        found = self.watched.get(self._spelled(low, owner) or "")
        if found is None:
            return
        if found.closed:
            found.bad = True
            return
        found.waits, found.keeps = True, keeps
        found.peeked = found.peeked or found.read
        found.appends.append((pos, tuple(self.open_fors), found.level != self.level(low)))

    def stored(self, name: str) -> None:
        """A variable is bound."""
        found = self.watched.get(name)
        if found is not None and found.keeps:
            found.keeps = False
        elif found is not None:
            self._end(name)

    def _end(self, name: str) -> None:
        found = self.watched.pop(name)
        if found.appends and not found.bad and len(self.open_fors) <= found.depth:
            self.finished.append((name, found))

    def attribute_read(self, low: Builder, node: ast.Attribute) -> None:
        """An attribute is read."""
        self.read(self._spelled(low, node) or "")

    def item_read(self, low: Builder, node: ast.Subscript) -> None:
        """An item is read: a single element does not show how many there are."""
        found = self.watched.get(self._spelled(low, node.value) or "")
        if found is not None and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            found.read = found.waits = True
            found.peeked = found.peeked or self._is_filled_around(found)

    def read(self, name: str) -> None:
        """A variable, or an attribute of the first parameter, is read."""
        found = self.watched.get(name)
        if found is None:
            return
        if found.waits:
            found.waits = False
            return
        found.closed = True
        found.bad = found.bad or self._is_filled_around(found)

    def _is_filled_around(self, found: _List) -> bool:
        """Whether a loop that is open here appends to a list that was made before it."""
        inner = self.open_fors[found.depth :]
        return any(loop in loops for _, loops, _ in found.appends for loop in inner)

    def count_appends(self, low: Builder) -> None:
        """At the end of a scope: the appends that count, with the loops around each."""
        for name in list(self.watched):
            self._end(name)
        for name, found in self.finished:
            if low.is_module and name in low.scopes.global_reads:
                continue
            loops = {loop for _, around, _ in found.appends for loop in around[found.depth :]}
            if not any(loop.jumps for loop in loops):
                for pos, around, guarded in found.appends:
                    low.code.appends[pos] = Growth(found.depth, len(around), guarded, found.peeked)
