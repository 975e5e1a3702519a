"""The intermediate representation as text, for people who work on hybridize."""

from __future__ import annotations

from hybridize.program.ir import Block, Code, Instr, Loop, Op, Try


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
    lines: list[str] = []
    for instr in block:
        lines += _instruction(instr, depth)
    return lines


def _instruction(instr: Instr, depth: int) -> list[str]:
    pad = "  " * depth
    op = instr[0]
    line = instr[-1] >> 16
    if op == Op.IF:
        out = [f"{pad}{line}: IF %{instr[2]}", *_block(instr[3], depth + 1)]
        return out + ([f"{pad}ELSE", *_block(instr[4], depth + 1)] if instr[4] else [])
    if op == Op.LOOP:
        loop: Loop = instr[2]
        head = f"{pad}{line}: {'FOR' if loop.is_for else 'WHILE'}"
        out = [head, *_block(loop.phis, depth + 1), *_block(loop.test, depth + 1), f"{pad}DO"]
        out += _block(loop.body, depth + 1)
        return out + ([f"{pad}ELSE", *_block(loop.orelse, depth + 1)] if loop.orelse else [])
    if op == Op.TRY:
        statement: Try = instr[2]
        out = [f"{pad}{line}: TRY", *_block(statement.body, depth + 1)]
        for handler in statement.handlers:
            out += [f"{pad}EXCEPT", *_block(handler.phis + handler.catches + handler.body, depth + 1)]
        for name, part in (("ELSE", statement.orelse), ("JOIN", statement.join), ("FINALLY", statement.final)):
            out += [f"{pad}{name}", *_block(part, depth + 1)] if part else []
        return out
    dst = instr[1]
    target = "" if dst == -1 else f"%{dst} = "
    operands = " ".join(_operand(o) for o in instr[2:-1])
    return [f"{pad}{line}: {target}{Op(op).name} {operands}".rstrip()]


def _operand(operand: object) -> str:
    if isinstance(operand, Code):
        return operand.qualname
    return repr(operand) if isinstance(operand, (str, tuple, bool)) else f"%{operand}"
