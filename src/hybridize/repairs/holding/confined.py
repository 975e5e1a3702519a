"""Whether what a function writes into a field is confined to the call: nobody outside of it looks at it again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from hybridize.domain.objects import Heap, Inst
from hybridize.facts.calls.callgraph import reachable
from hybridize.program import ir
from hybridize.records import dataclass
from hybridize.repairs.holding.field_reads import all_uses, is_hook, looked_through, owner_at, require_plain
from hybridize.repairs.holding.fields import Use, is_constructor
from hybridize.repairs.holding.written_before import WRITES, Order, field_owner
from hybridize.repairs.model import NotOffered
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import FunctionNode
from hybridize.tracing.control import control
from hybridize.tracing.views import position_of

_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Confined:
    """A field that only the call which writes it reads; `getters` are functions that hand it out and nobody calls."""

    uses: tuple[Use, ...]
    getters: tuple[str, ...] = ()


def confined(bench: Bench, owner: Inst, name: str) -> Confined:
    """How a field is used, where no use comes from outside of the call; raises NotOffered where one does, or may."""
    return _confined(bench, owner, name, (), copied=False)


def _confined(bench: Bench, owner: Inst, name: str, known: tuple[str, ...], *, copied: bool) -> Confined:
    owners = bench.instances(owner)
    require_plain(bench, owners, name)
    uses = all_uses(bench, owners, name)
    order = Order(bench, owners, uses)
    getters: list[str] = []
    for group in _by_function(uses):
        if not any(use.kind not in WRITES for use in group) or all(map(_is_made, group)):
            continue
        rest = [u for u in group if u.kind not in WRITES and not _is_copied_in_vain(bench, u, (*known, name))]
        if not rest or (not copied and order.is_own(group, rest)):
            continue
        if not _is_unused_getter(bench, owners, rest, uses):
            first = min(rest, key=lambda u: u.node.lineno)
            raise NotOffered(f"`{name}` is read at {first.file.path}:{first.node.lineno}")
        getters.append(getattr(rest[0].function, "name", ""))
    seen = looked_through(bench, owners, name)
    if seen:
        raise NotOffered(f"all fields are read ({seen})")
    return Confined(tuple(uses), tuple(dict.fromkeys(getters)))


def stands_on_a_way(bench: Bench, uses: Iterable[Use]) -> bool:
    """Whether AutoGraph may make a write part of a branch or loop of the graph, which then takes in the old value."""
    for use in uses:
        if use.kind == "read" or is_constructor(use):
            continue
        for view in bench.views(use.code):
            flow = control(view)
            stores = [s for s in flow.structure.of(ir.SetAttr) if s.instr.position == position_of(use.node)]
            if any(True for site in stores for _ in flow.guards(site)):
                return True
            ways = [site for site, mask in (*flow.branches, *flow.loops) if mask]
            if any(isinstance(inner.instr, ir.Return) for way in ways for inner in flow.structure.within(way)):
                return True
    return False


# Reads that are no matter --------------------------------------------------------------------------------------------


def _by_function(uses: Iterable[Use]) -> list[list[Use]]:
    groups: dict[ast.AST, list[Use]] = {}
    for use in uses:
        groups.setdefault(use.function or use.file.tree, []).append(use)
    return list(groups.values())


def _is_made(use: Use) -> bool:
    """Whether a use is in the constructor of the object itself."""
    function = use.function
    first = function.args.args[0].arg if isinstance(function, FunctionNode) and function.args.args else ""
    return is_constructor(use) and isinstance(use.node, ast.Attribute) and field_owner(use) == first


def _is_copied_in_vain(bench: Bench, use: Use, known: tuple[str, ...]) -> bool:
    """Whether a read only goes into a field that nobody reads in turn (`self.attn = self.inner.attn`)."""
    statement = use.statement
    if use.kind != "read" or not isinstance(statement, ast.Assign) or statement.value is not use.node:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Attribute) or len(known) > _MOST:
        return False
    owners = owner_at(bench, use.code, target)
    if not owners or not all(isinstance(o, Inst) for o in owners):
        return False
    try:
        for each in owners:
            if isinstance(each, Inst):
                _confined(bench, each, target.attr, known, copied=True)
    except NotOffered:
        return False
    return True


def _is_unused_getter(bench: Bench, owners: set[Heap], rest: Sequence[Use], uses: list[Use]) -> bool:
    """Whether reads are in a method that only hands out what the object has, and that nobody in the project calls."""
    function = rest[0].function
    if not isinstance(function, ast.FunctionDef) or any(use.kind != "read" for use in rest):
        return False
    args = function.args
    required = len(args.posonlyargs) + len(args.args) - len(args.defaults)
    if required != 1 or not isinstance(rest[0].file.parents[function], ast.ClassDef) or is_hook(owners, function.name):
        return False
    code = bench.code(rest[0].file.path, function)
    calls = (
        {pos for frame in bench.frames(code) for caller, pos in frame.incoming if caller} if code is not None else {0}
    )
    if code is None or calls - {code.position}:  # what nobody calls is entered at its own place
        return False
    writers = {use.code for use in uses if use.kind in WRITES and not is_constructor(use)}
    if any(each.code in writers for frame in bench.frames(code) for each in reachable(frame)):
        return False
    try:
        return not all_uses(bench, owners, function.name)
    except NotOffered:
        return False
