"""Lists that a function makes and then fills by `append` or `+=`: `xs = []; for ...: xs.append(x)`.

Found while statements are lowered: an append counts where it runs exactly once for each turn of the `for` loops between
it and the list's making, and where nothing looks at the list before the last append. The engine may then keep the
elements by position where it follows the loops turn by turn (see `flow.turns`), and else at least knows how many they
are. An append in a branch keeps its position where the branch is decided in each turn; a list whose elements are read
one by one between appends has a length only.
"""

from __future__ import annotations

import ast

from hybridize.program.builder import position
from hybridize.program.expressions import ExpressionLowering
from hybridize.program.ir import Growth


class OpenFor:
    """A loop that is being lowered, as far as counting is concerned: `jumps` where it may skip a part of a turn."""

    __slots__ = ("counts", "jumps")

    def __init__(self, counts: bool) -> None:
        self.counts = counts
        self.jumps = False


class _List:
    """A list literal that a local variable holds, and the appends to it so far."""

    __slots__ = ("appends", "bad", "closed", "depth", "keeps", "level", "peeked", "waits")

    def __init__(self, depth: int, level: int) -> None:
        self.depth = depth  # loops around it
        self.level = level  # branches around it
        self.appends: list[tuple[int, tuple[OpenFor, ...], bool]] = []  # the last: in a branch of its own
        self.closed = False  # it was looked at: further appends are not counted
        self.bad = False
        self.keeps = False  # the next store is that of `xs += [...]`
        self.peeked = False  # single elements were read before the last append
        self.waits = False  # the next load is that of an append


class GrowthLowering(ExpressionLowering):
    """The part of lowering that watches lists."""

    open_fors: list[OpenFor]
    lists: dict[str, _List]
    finished: list[tuple[str, _List]]

    def watch(self, node: ast.Assign) -> None:
        """Begins to watch a list that an assignment makes."""
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        if target is None or self.is_class:
            return
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            if any(isinstance(part, ast.Starred) for part in (*target.elts, *node.value.elts)):
                return
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        for part, value in pairs:
            name = self._spelled(part)
            if name is not None and isinstance(value, (ast.List, ast.ListComp)):
                if name in self.lists:
                    self._end(name)
                self.lists[name] = _List(len(self.open_fors), self.level)

    def _spelled(self, node: ast.expr) -> str | None:
        """A local variable, or an attribute of the first parameter, as the lists are named."""
        scope = self.scope
        match node:
            case ast.Name(id=name):
                shared = name in scope.globals or name in scope.nonlocals or name in scope.captured
                return None if shared or name in self.unsettled else name
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                params = self.code.params
                return f"{owner}.{attribute}" if params and params[0].name == owner else None
        return None

    @property
    def level(self) -> int:
        """How many branches are open that may not run, or not once for each turn."""
        return self.nesting - sum(loop.counts for loop in self.open_fors)

    def appending(self, node: ast.stmt) -> None:
        """Notes a statement that is an append to a watched list, before it is lowered."""
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[arg], keywords=[]) as grows
            ) if not isinstance(arg, ast.Starred):
                self._grow(owner, position(grows))
            case ast.AugAssign(target=ast.Name() as owner, op=ast.Add(), value=ast.List(elts=elements)):
                if not any(isinstance(element, ast.Starred) for element in elements):
                    self._grow(owner, position(node), keeps=True)

    def _grow(self, owner: ast.expr, pos: int, *, keeps: bool = False) -> None:
        found = self.lists.get(self._spelled(owner) or "")
        if found is None:
            return
        if found.closed:
            found.bad = True
            return
        found.waits, found.keeps = True, keeps
        found.appends.append((pos, tuple(self.open_fors), found.level != self.level))

    def store(self, name: str, slot: int, pos: int, *, comprehension: bool = False) -> None:
        found = self.lists.get(name)
        if found is not None and found.keeps:
            found.keeps = False
        elif found is not None:
            self._end(name)
        super().store(name, slot, pos, comprehension=comprehension)

    def _end(self, name: str) -> None:
        found = self.lists.pop(name)
        if found.appends and not found.bad and len(self.open_fors) <= found.depth:
            self.finished.append((name, found))

    def load(self, name: str, pos: int) -> int:
        if self.lists:
            self._looked_at(name)
        return super().load(name, pos)

    def attribute(self, node: ast.Attribute) -> int:
        if self.lists:
            self._looked_at(self._spelled(node) or "")
        return super().attribute(node)

    def subscript(self, node: ast.Subscript) -> int:
        found = self.lists.get(self._spelled(node.value) or "") if self.lists else None
        if found is not None and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            found.peeked = found.waits = True
        return super().subscript(node)

    def _looked_at(self, name: str) -> None:
        found = self.lists.get(name)
        if found is None:
            return
        if found.waits:
            found.waits = False
            return
        found.closed = True
        inner = self.open_fors[found.depth :]
        found.bad = found.bad or any(loop in loops for _, loops, _ in found.appends for loop in inner)

    def count_appends(self) -> None:
        """At the end of a scope: the appends that count, with the loops around each."""
        for name in list(self.lists):
            self._end(name)
        for name, found in self.finished:
            if self.is_module and name in self.scopes.global_reads:
                continue
            loops = {loop for _, around, _ in found.appends for loop in around[found.depth :]}
            if not any(loop.jumps for loop in loops):
                for pos, around, guarded in found.appends:
                    self.code.appends[pos] = Growth(found.depth, len(around), guarded, found.peeked)
