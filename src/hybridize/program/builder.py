"""What lowering of statements and expressions shares: slots, constants, the environment, joins of environments."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TypeAlias

from hybridize.domain.objects import Value, literal
from hybridize.program import ir
from hybridize.program.code import Code, CodeKind
from hybridize.program.ir import ALWAYS, Instr
from hybridize.program.scopes import Scope, Scopes

Env: TypeAlias = dict[str, int]
#: An edge into a join, with the versions that it brings.
Incoming: TypeAlias = tuple[int, Env]


def position(node: ast.AST) -> int:
    """The position of a node: line and column packed in one int."""
    column: int = node.col_offset  # type: ignore[attr-defined]
    line: int = node.lineno  # type: ignore[attr-defined]
    return line << 16 | (column if column < 0xFFFF else 0xFFFF)


class Builder:
    """Builds the code of one scope. `env` maps each local variable to the slot of its present version.

    `log` remembers what the present branch overwrote, so that the branch can be undone; `recorders` collect every
    version that an open `try` body makes, because its handlers may see any of them.
    """

    def __init__(self, code: Code, scope: Scope, scopes: Scopes) -> None:
        self.code = code
        self.scope = scope
        self.scopes = scopes
        self.env: Env = {}
        self.log: list[tuple[str, int | None]] = []
        self.recorders: list[dict[str, list[int]]] = []
        self.out: list[Instr] = []
        self.template: list[Value | None] = code.template
        self.constants: dict[tuple[str, object], int] = {}
        self.edges = 0
        self.nesting = 0  # branches that are open
        self.dead: frozenset[tuple[str, int]] = frozenset()  # stores that nobody else sees (`program.overwritten`)
        self.own_fields: dict[str, tuple[int, int]] = {}  # by name, the lines where only the constructor has a value
        self.is_module = scope.kind is CodeKind.MODULE
        self.is_class = scope.kind is CodeKind.CLASS
        self.unsettled = scopes.global_writes if self.is_module else scope.rewritten

    def slot(self) -> int:
        """A fresh slot."""
        self.template.append(None)
        return len(self.template) - 1

    def edge(self) -> int:
        """A fresh edge."""
        self.edges += 1
        return self.edges - 1

    def constant(self, const: object) -> int:
        """The slot of a constant; one slot for each distinct constant of the code."""
        key = (type(const).__name__, repr(const) if isinstance(const, (float, complex)) else const)
        found = self.constants.get(key)
        if found is None:
            self.template.append(literal(const).value)
            found = self.constants[key] = len(self.template) - 1
        return found

    def emit(self, instr: Instr) -> None:
        """Appends an instruction to the present block."""
        self.out.append(instr)

    def assign(self, name: str, slot: int) -> None:
        """Makes `slot` the present version of a local variable, without any store to the heap."""
        self.log.append((name, self.env.get(name)))
        self.env[name] = slot
        for recorder in self.recorders:
            recorder.setdefault(name, []).append(slot)

    def store(self, name: str, slot: int, pos: int, *, comprehension: bool = False) -> None:
        """Binds a name as an assignment does: a new version, and a store where others can see the variable."""
        scope = self.scope
        if name in scope.globals:
            self.emit(ir.SetGlobal(pos, name, slot))
            return
        if name in scope.nonlocals:
            self.emit(ir.SetCell(pos, name, slot))
            return
        if slot not in self.code.slot_names:
            self.code.slot_names[slot] = name
        self.assign(name, slot)
        if self.is_class:
            self.emit(ir.SetName(pos, self.mangle(name), slot))
        elif self.is_module:
            if not comprehension:
                self.emit(ir.SetGlobal(pos, name, self._shared(name, slot, pos)))
        elif name in scope.captured:
            self.emit(ir.SetCell(pos, name, self._shared(name, slot, pos)))

    def _shared(self, name: str, slot: int, pos: int) -> int:
        """What others see of a store: nothing, where none of them can look before the next one."""
        return self.slot() if (name, pos) in self.dead else slot

    def mangle(self, name: str) -> str:
        """Private names (`__x`) of a class, as Python mangles them."""
        if name.startswith("__") and not name.endswith("__"):
            code: Code | None = self.code
            while code is not None:
                if code.is_class:
                    return f"_{code.name.lstrip('_')}{name}"
                code = code.parent
        return name

    def load(self, name: str, pos: int) -> int:
        """The slot of a name's value where it is read."""
        scope = self.scope
        if name not in scope.globals and name not in self.unsettled:
            found = self.env.get(name)
            if found is not None:
                return found
        dst = self.slot()
        if name in scope.free or (name in scope.bound and scope.kind is CodeKind.FUNCTION and name in scope.captured):
            self.emit(ir.Cell(pos, dst, name))
        elif scope.kind is CodeKind.FUNCTION and name in scope.bound:
            return dst  # not bound on any path to here: the slot stays empty
        else:
            self.emit(ir.Global(pos, dst, name))
            self.scopes.global_reads.add(name)
        return dst

    def unset(self, name: str) -> None:
        """Forgets a variable (`del`)."""
        if name in self.env:
            self.log.append((name, self.env.pop(name)))

    def undo(self, mark: int) -> Env:
        """Takes back every assignment since `mark`; returns the versions that were current."""
        changed: Env = {}
        log, env = self.log, self.env
        while len(log) > mark:
            name, old = log.pop()
            if name not in changed and name in env:
                changed[name] = env[name]
            if old is None:
                env.pop(name, None)
            else:
                env[name] = old
        return changed

    def join(self, incoming: list[Incoming], pos: int) -> None:
        """Joins branches: a PHI for each variable whose version differs between them.

        Each environment holds the versions that differ from the present one.
        """
        names: dict[str, None] = {}
        for _, changes in incoming:
            names.update(dict.fromkeys(changes))
        for name in names:
            operands = []
            for edge, changes in incoming:
                version = changes.get(name, self.env.get(name))
                if version is not None:
                    operands.append((edge, version))
            versions = {version for _, version in operands}
            if not versions:
                continue
            if len(versions) == 1 and len(operands) == len(incoming):
                if self.env.get(name) not in versions:
                    self.assign(name, operands[0][1])
                continue
            dst = self.slot()
            self.emit(ir.Phi(pos, dst, tuple(operands)))
            self.code.slot_names[dst] = name
            self.assign(name, dst)

    def handler_phis(self, before: Env, versions: dict[str, list[int]], pos: int) -> ir.Joins:
        """PHIs at the head of a handler: a variable may hold its old version or any that the body made."""
        phis: list[ir.Phi] = []
        for name, slots in versions.items():
            operands = [(ALWAYS, slot) for slot in dict.fromkeys(slots)]
            if name in before:
                operands.insert(0, (ALWAYS, before[name]))
            dst = self.slot()
            phis.append(ir.Phi(pos, dst, tuple(operands)))
            self.assign(name, dst)
        return tuple(phis)

    def snapshot(self, names: Iterable[str]) -> Env:
        """The present versions of some variables."""
        env = self.env
        return {name: env[name] for name in names if name in env}
