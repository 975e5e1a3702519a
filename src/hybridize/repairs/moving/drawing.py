"""Where a function draws random numbers that a graph would not draw, itself or by a function that does nothing else."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from hybridize.domain.calls import NOT_TRACED
from hybridize.domain.objects import Lib
from hybridize.facts.state.reasons import fills_own
from hybridize.flow.frames import Frame
from hybridize.library.builtin_names import BUILTINS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.repairs.moving.loop_behind import is_fixed
from hybridize.repairs.source.bench import Bench
from hybridize.source.bindings import bound_in
from hybridize.source.syntax import walk
from hybridize.tracing.running.seeded import draws, is_seeded
from hybridize.tracing.views import FrameView


def draws_in(bench: Bench, code: Code) -> dict[int, frozenset[str]]:
    """The positions in a function that draw random numbers of the host, or what only the global seed determines.

    Each has the names of the module that a function of the project which is called there, and draws, reads.
    """
    own = {
        effect.position
        for frame in bench.frames(code)
        for effect in frame.effects.values()
        if effect.kind == "random" and effect.position
    }
    own |= {position for frame in bench.frames(code) for position in _seeded(bench, frame)}
    return {**_by_others(bench, code), **dict.fromkeys(own, frozenset())}


def _seeded(bench: Bench, frame: Frame) -> set[int]:
    view = FrameView(bench.project, frame)
    return {call.position for call in index_of(frame.code).of(ir.Call) if draws(view, call) and is_seeded(view)}


def _by_others(bench: Bench, code: Code) -> Mapping[int, frozenset[str]]:
    """The calls of functions of the project that draw, and do nothing else."""
    found: dict[int, frozenset[str] | None] = {}
    for frame in bench.frames(code):
        for position, callee, how in bench.project.extents.calls(frame):
            reads = _drawer(bench, callee) if how not in NOT_TRACED else None
            before = found.get(position, frozenset())
            found[position] = before | reads if before is not None and reads is not None else None
    return {position: reads for position, reads in found.items() if reads is not None}


def _drawer(bench: Bench, callee: Frame) -> frozenset[str] | None:
    """What a function that draws reads of its module, all of it fixed; None where it does anything else."""
    node = bench.function_node(callee.code)
    effects = {
        reason.effect.kind for reason in bench.project.effects.of(callee).values() if not fills_own(callee, reason)
    }
    if not isinstance(node, ast.FunctionDef) or effects - {"random"} or not (effects or _seeded(bench, callee)):
        return None
    if node.decorator_list or callee.code.in_class or callee.code.in_function or _gives_way(node):
        return None
    loaded = {n.id for s in node.body for n in walk(s) if isinstance(n, ast.Name)} - bound_in(node)
    read = frozenset(loaded - BUILTINS)
    return read if all(_is_constant(bench, callee, name) for name in read) else None


def _is_constant(bench: Bench, frame: Frame, name: str) -> bool:
    """Whether a name of the module of a function is a library, or bound once, to what nothing changes."""
    cell, file = frame.module.fields.get(name), bench.file(frame.code.path)
    if cell is None or file is None or not cell.value:
        return False
    if all(isinstance(o, Lib) for o in cell.value):
        return True
    bound = file.bound.get(name, ())
    return is_fixed(cell.value) and len(bound) == 1 and file.statement(bound[0]) in file.tree.body


def _gives_way(node: ast.FunctionDef) -> bool:
    """Whether a function yields, or names what is not its own."""
    odd = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)
    return any(isinstance(each, odd) for s in node.body for each in walk(s))
