"""Lists that a function makes and then fills by `append`: `xs = []; for ...: xs.append(x)`.

Found while statements are lowered: an append counts where it runs exactly once for each turn of the `for` loops between
it and the list's making, and where nothing looks at the list before the last append. The engine may then keep the
elements by position (see `flow.turns`).
"""

from __future__ import annotations

import ast

from hybridize.program.builder import position
from hybridize.program.expressions import ExpressionLowering


class OpenFor:
    """A loop that is being lowered, as far as counting is concerned: `jumps` where it may skip a part of a turn."""

    __slots__ = ("counts", "jumps")

    def __init__(self, counts: bool) -> None:
        self.counts = counts
        self.jumps = False


class _List:
    """A list literal that a local variable holds, and the appends to it so far."""

    __slots__ = ("appends", "bad", "closed", "depth", "level", "waits")

    def __init__(self, depth: int, level: int) -> None:
        self.depth = depth  # loops around it
        self.level = level  # branches around it
        self.appends: list[tuple[int, tuple[OpenFor, ...]]] = []
        self.closed = False  # it was looked at: further appends are not counted
        self.bad = False
        self.waits = False  # the next load is that of an append


class GrowthLowering(ExpressionLowering):
    """The part of lowering that watches lists."""

    open_fors: list[OpenFor]
    lists: dict[str, _List]
    finished: list[tuple[str, _List]]

    def watch(self, node: ast.Assign) -> None:
        """Begins to watch a list that an assignment makes."""
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        if not isinstance(node.value, ast.List | ast.ListComp) or target is None or self.is_class:
            return
        name = self._spelled(target)
        if name is not None:
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

    def appending(self, node: ast.expr) -> None:
        """Notes a statement that is an append to a watched list, before it is lowered."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[arg], keywords=[]):
                found = self.lists.get(self._spelled(owner) or "")
                if found is None or isinstance(arg, ast.Starred):
                    return
                if found.closed or found.level != self.level:
                    found.bad = True
                    return
                found.waits = True
                found.appends.append((position(node), tuple(self.open_fors)))

    def store(self, name: str, slot: int, pos: int, *, comprehension: bool = False) -> None:
        if name in self.lists:
            self._end(name)
        super().store(name, slot, pos, comprehension=comprehension)

    def _end(self, name: str) -> None:
        found = self.lists.pop(name)
        if found.appends and not found.bad and len(self.open_fors) <= found.depth:
            self.finished.append((name, found))

    def load(self, name: str, pos: int) -> int:
        self._looked_at(name)
        return super().load(name, pos)

    def attribute(self, node: ast.Attribute) -> int:
        if self.lists:
            self._looked_at(self._spelled(node) or "")
        return super().attribute(node)

    def _looked_at(self, name: str) -> None:
        found = self.lists.get(name)
        if found is None:
            return
        if found.waits:
            found.waits = False
            return
        found.closed = True
        inner = self.open_fors[found.depth :]
        found.bad = found.bad or any(loop in loops for _, loops in found.appends for loop in inner)

    def count_appends(self) -> None:
        """At the end of a scope: the appends that count, with the loops around each."""
        for name in list(self.lists):
            self._end(name)
        for name, found in self.finished:
            if self.is_module and name in self.scopes.global_reads:
                continue
            loops = {loop for _, around in found.appends for loop in around[found.depth :]}
            if not any(loop.jumps for loop in loops):
                self.code.appends.update((pos, len(around)) for pos, around in found.appends)
