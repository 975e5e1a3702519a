"""The intermediate representation as text, for people who work on hybridize."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from hybridize.program import ir
from hybridize.program.ir import ALWAYS, NO_SLOT, Block, Code, Instr
from hybridize.program.operands import NESTED, roles


def print_code(code: Code) -> str:
    """One code: its parameters, constants and instructions, nested blocks indented."""
    params = ", ".join(f"%{p.slot} {p.name}" for p in code.params)
    lines = [f"{code.kind} {code.path}:{code.line} {code.qualname}({params})"]
    constants = [f"%{slot} = {next(iter(v))!r}" for slot, v in enumerate(code.template) if v]
    if constants:
        lines.append("  constants " + ", ".join(constants))
    lines += _block(code.body, 1)
    return "\n".join(lines) + "\n"


def _block(block: Block, depth: int) -> list[str]:
    return [line for instr in block for line in _instruction(instr, depth)]


def _instruction(instr: Instr | ir.Handler, depth: int) -> list[str]:
    """A line of its own for an instruction, and one for each of its blocks, which follow indented."""
    fields = [(name, role, getattr(instr, name)) for name, role in roles(type(instr)).items()]
    written = [_SHOWN[role](value) for _, role, value in fields if role in ("Target", "Targets")]
    shown = [f"{name}={_SHOWN.get(role, repr)(value)}" for name, role, value in fields if role not in _APART]
    place = f"{instr.position >> 16}: " if isinstance(instr, Instr) else ""
    head = " ".join([type(instr).__name__, *shown])
    lines = ["  " * depth + place + " = ".join([*written, head])]
    for name, role, value in fields if type(instr) in NESTED or isinstance(instr, ir.Handler) else ():
        if role in ("Block", "Joins") and value:
            lines += ["  " * depth + name, *_block(value, depth + 1)]
        elif role == "Handlers":
            lines += [line for handler in value for line in _instruction(handler, depth)]
    return lines


def _slot(slot: int) -> str:
    return "-" if slot == NO_SLOT else f"%{slot}"


def _slots(slots: tuple[int, ...]) -> str:
    return f"({', '.join(map(_slot, slots))})"


def _edge(edge: int) -> str:
    return "always" if edge == ALWAYS else f"@{edge}"


#: Fields that do not stand among the others.
_APART: Final = frozenset({"Position", "Target", "Targets", "Block", "Joins", "Handlers"})
#: How fields are shown, by role; others by `repr`.
_SHOWN: Final[dict[str, Callable[[Any], str]]] = {
    "Target": _slot,
    "Targets": _slots,
    "Slot": _slot,
    "Slots": _slots,
    "Mention": _slot,
    "Starred": lambda given: f"({', '.join('*' * starred + _slot(slot) for slot, starred in given)})",
    "Keyed": lambda given: f"({', '.join((name or '**') + '=' + _slot(slot) for name, slot in given)})",
    "Named": lambda given: f"({', '.join(f'{name}={_slot(slot)}' for name, slot in given)})",
    "Entries": lambda given: f"({', '.join(f'{_slot(key)}: {_slot(value)}' for key, value in given)})",
    "Incoming": lambda given: f"({', '.join(f'{_edge(edge)}: {_slot(slot)}' for edge, slot in given)})",
    "Edge": _edge,
    "Edges": lambda edges: f"({', '.join(map(_edge, edges))})",
    "Code": lambda code: code.qualname,
    "ast.expr": ast.unparse,
}
