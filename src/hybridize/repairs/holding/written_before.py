"""Whether a field is written before it is read, within one call: in the method, its caller, or one called first."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from hybridize.domain.calls import ANY, How
from hybridize.domain.objects import Heap
from hybridize.facts.origins import called_at
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.repairs.holding.field_reads import all_uses
from hybridize.repairs.holding.fields import Use, is_preceded
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import FunctionNode, SourceFile
from hybridize.source.syntax import walk

WRITES: Final = ("write", "unpack")
_MOST: Final = 3
_RUNS: Final = ANY - {How.BUILD}


@dataclass(frozen=True, slots=True)
class Order:
    """All uses of a field of some objects."""

    bench: Bench
    owners: set[Heap]
    uses: list[Use]

    def is_own(self, group: list[Use], rest: Sequence[Use], depth: int = 0) -> bool:
        """Whether a function reads only what its own call, or who calls it, has written to the same object before."""
        texts = {field_owner(use) for use in group}
        if any(use.kind == "other" for use in group):
            return False
        if len(texts) != 1 or "" in texts:
            return all(use.kind == "read" and self._is_read_behind(use) for use in rest)
        writes = [use.statement for use in group if use.kind in WRITES]
        if all(is_preceded(use.file, writes, use.node) for use in rest):
            return True
        function = group[0].function
        if not isinstance(function, FunctionNode) or depth >= _MOST:
            return False
        if all(use.kind == "read" and self._is_read_behind(use) for use in rest):
            return True
        if not function.args.args or texts != {function.args.args[0].arg}:
            return False
        return self._is_called_behind(group[0].code, function.name, depth)

    def _is_read_behind(self, use: Use) -> bool:
        return isinstance(use.node, ast.Attribute) and self._is_behind_call(use.file, use.node.value, use.node)

    def _is_called_behind(self, code: Code, name: str, depth: int) -> bool:
        """Whether a method is called only on objects whose field has been written in the same call by then."""
        sites = self.bench.call_sites(code)
        if sites is None or not self._is_called_only(name, len(sites)):
            return False
        return all(self._is_site_behind(code, site, depth) for site in sites)

    def _is_site_behind(self, code: Code, site: tuple[Code, int], depth: int) -> bool:
        """Whether a call of a method comes behind a write: in the method that calls it, or in one called first."""
        found = self.bench.call_node(*site, code)
        if found is None:
            return False
        file, call = found
        own = file.function(call)
        if not isinstance(own, FunctionNode) or not isinstance(call.func, ast.Attribute):
            return False
        on = call.func.value
        if self._is_behind_call(file, on, call):
            return True
        if not own.args.args or not isinstance(on, ast.Name) or on.id != own.args.args[0].arg:
            return False
        here = [u for u in self.uses if u.function is own and field_owner(u) == on.id]
        if is_preceded(file, [u.statement for u in here if u.kind in WRITES], call):
            return True
        return depth + 1 < _MOST and self._is_called_behind(site[0], own.name, depth + 1)

    def _is_behind_call(self, file: SourceFile, on: ast.expr, node: ast.AST) -> bool:
        """Whether a place follows a call of the very object (`on`) that writes its field, and that makes no graph.

        `y = self.encoder(x)` before `self.encoder.states` or, where the encoder returns itself, `y.states`. It would be
        another matter if the encoder could be a graph by itself: what it leaves in the field could not be used here.
        """
        own = file.function(node)
        text = stable_text(own, on)
        if not isinstance(own, FunctionNode):
            return False
        stored = [n.id for n in walk(own) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        for statement in walk(own):
            if not isinstance(statement, (ast.Assign, ast.Expr)) or not isinstance(statement.value, ast.Call):
                continue
            target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
            same = bool(text) and stable_text(own, statement.value.func) == text
            if isinstance(on, ast.Name) and isinstance(target, ast.Name):
                same = same or (target.id == on.id and stored.count(on.id) == 1)
            if same and is_preceded(file, [statement], node) and self._writes_itself(file, statement.value):
                return True
        return False

    def _writes_itself(self, file: SourceFile, call: ast.Call) -> bool:
        """Whether all that a call may run writes the field of its own object in any case, and returns that object."""
        found = self.bench.call(file, call)
        if found is None:
            return False
        caller, instr = found
        callees = {
            callee.code for frame in self.bench.frames(caller) for callee in called_at(frame, instr.position, _RUNS)
        }
        return bool(callees) and all(self._returns_written(each) for each in callees)

    def _returns_written(self, code: Code) -> bool:
        own, file = self.bench.function_node(code), self.bench.file(code.path)
        if own is None or file is None or not own.args.args:
            return False
        first = own.args.args[0].arg
        writes = [u.statement for u in self.uses if u.function is own and u.kind in WRITES and field_owner(u) == first]
        returns = [n for n in walk(own) if isinstance(n, ast.Return) and file.function(n) is own]
        return (
            bool(returns)
            and isinstance(own.body[-1], ast.Return)
            and stable_text(own, ast.Name(first)) == first
            and all(isinstance(r.value, ast.Name) and r.value.id == first for r in returns)
            and all(is_preceded(file, writes, r) for r in returns)
        )

    def _is_called_only(self, name: str, count: int) -> bool:
        """Whether the calls of a method that were found are all places that say its name; raises NotOffered."""
        return len(all_uses(self.bench, self.owners, name)) <= count


def field_owner(use: Use) -> str:
    """What a field is read from or written to, as text; empty where that may be another object in each turn."""
    return stable_text(use.function, use.node.value) if isinstance(use.node, ast.Attribute) else ""


def stable_text(function: ast.AST | None, node: ast.expr) -> str:
    """The text of a name, or of attributes of one, that stand for one object throughout a function; empty if not so."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not isinstance(function, FunctionNode):
        return ""
    stored = [n for n in walk(function) if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Store)]
    if any(isinstance(n, ast.Name) and n.id == node.id for n in stored):
        return ""
    if any(isinstance(n, ast.Attribute) and n.attr in names for n in stored):
        return ""
    return ".".join([node.id, *reversed(names)])
