"""Listings of the intermediate representation, the solved values and the facts (`hybridize check --debug`, hidden)."""

from __future__ import annotations

from hybridize.config import Config
from hybridize.domain.calls import How
from hybridize.domain.objects import show
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import Program
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes
from hybridize.program.printer import print_code


def listing(program: Program, config: Config, what: str) -> str:
    """The listing that is asked for."""
    if what == "ir":
        codes = [code for module in program.modules.values() for code in walk_codes(module.code)]
        return "\n".join(print_code(code) for code in codes)
    solver = Solver(program, FlowOptions.of(config))
    first = solver.solve_entries()
    solution = solver.solve_rest(first)
    lines: list[str] = []
    for _, code in program.functions():
        for frame in solution.frames.get(code, []):
            arguments = ", ".join(f"{p.name}={show(v)}" for p, v in zip(code.params, frame.args, strict=True))
            lines.append(f"{code.path}:{code.line} {code.qualname}({arguments}) -> {show(frame.ret)}")
            lines += [f"    {_call(callee.code, pos, how)}" for (pos, callee), how in frame.calls.items()]
            lines += [f"    effect {e.kind} {e.detail} line {e.position >> 16}" for e in frame.effects.values()]
    return "\n".join(lines) + "\n"


def _call(code: Code, pos: int, how: How) -> str:
    return f"line {pos >> 16}: {how} {code.path}:{code.line} {code.qualname}"
