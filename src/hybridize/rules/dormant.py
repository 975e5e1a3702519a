"""Branches that only another setting, or another argument, takes: dead for the values that the program has.

A field that a constructor takes from its arguments, a constant of a module, an entry of a dictionary of settings: users
change these, and run what the analysis has pruned. So do callers of a library that pass what no call in it does.
`tracing.running.dormant` tells what such code would hold, `rules.breaking` what of it a graph refuses or changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from hybridize.domain.calls import NOT_TRACED
from hybridize.domain.objects import Cell, Container, Inst, Lit, Value
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.calls.callgraph import extent
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.rules.breaking import Breaking
from hybridize.rules.scan import Scanner
from hybridize.tracing.callers.offered import refused_offers
from hybridize.tracing.callers.unseen import Given, unseen
from hybridize.tracing.running.dormant import Dormant, dormant_parts
from hybridize.tracing.views import FunctionView

_FAR: Final = 24
_NO_VALUE: Final[Value] = frozenset()
_NONE_GIVEN: Final[Given] = frozenset()
_SETTING: Final = "another setting"
#: Whether something that is read is a setting.
_Kept: TypeAlias = "Callable[[Frame, ir.Attr | ir.Global | ir.Item], bool]"


def broken_setting(scanner: Scanner, function: FunctionView) -> Evidence | None:
    """What another setting would run that a graph refuses or does otherwise; None where nothing is seen."""
    extended = dict.fromkeys(extent(function.frames, NOT_TRACED), _NONE_GIVEN)

    def said(frame: Frame, part: Dormant) -> str:
        return _SETTING if _is_setting(frame, part.condition, _is_kept) else ""

    return _broken(scanner, Breaking(scanner, function, extended, strict=False), said)


def broken_argument(scanner: Scanner, function: FunctionView) -> Evidence | None:
    """The same of what callers that nobody sees would run, by other arguments or with an object made otherwise."""
    callers = unseen(scanner.project)
    given = callers.within(function.frames)
    public = scanner.project.public

    def is_offered(frame: Frame, made: ir.Attr | ir.Global | ir.Item) -> bool:
        owners = frame.vals[made.owner] if isinstance(made, ir.Attr) else _NO_VALUE
        return _is_kept(frame, made) and any(isinstance(o, Inst) and public.has(o.cls.code) for o in owners)

    def asked(frame: Frame, slot: int) -> list[str]:
        return callers.asked(frame, slot, given[frame])

    def said(frame: Frame, part: Dormant) -> str:
        names = asked(frame, part.condition)
        if names:
            return _other_call(names)
        return _SETTING if _is_setting(frame, part.condition, is_offered) else ""

    hit = next(scanner.hits_for_arrays(function, callers.chosen(function.code)), None)
    if hit is not None:
        return Evidence(f"others may pass arrays: {hit.message}", hit.path, hit.line)
    refused = next(refused_offers(scanner.project, given), None)
    if refused is not None:
        return refused
    breaking = Breaking(scanner, function, given, strict=True)
    for frame in given:
        for names, what, pos in breaking.of_tables(frame, asked):
            return Evidence(f"{_other_call(names)} {what}", frame.code.path, pos >> 16)
    return _broken(scanner, breaking, said)


def _other_call(names: list[str]) -> str:
    return f"a call with another {' or '.join(f'`{name}`' for name in names)}"


def _broken(scanner: Scanner, breaking: Breaking, who: Callable[[Frame, Dormant], str]) -> Evidence | None:
    """The first thing that breaks in what no frame runs and somebody else would; `who` says who, if anybody."""
    found: dict[Code, list[Frame]] = {}
    for frame in breaking.given:
        found.setdefault(frame.code, []).append(frame)
    for each, of_code in found.items():
        for part in dormant_parts(scanner.project, of_code):
            for frame in of_code:
                taker = who(frame, part)
                said = next(breaking.of(frame, part), None) if taker else None
                if said is not None:
                    return Evidence(f"{taker} takes a branch that {said[0]}", each.path, said[1] >> 16)
    return None


def _is_setting(frame: Frame, slot: int, kept: _Kept) -> bool:
    """Whether settings alone, constants for this program, decide a condition."""
    index = index_of(frame.code)
    todo, seen, some = [slot], set[int](), False
    while todo:
        slot = index.original(todo.pop())
        if slot in seen:
            continue
        seen.add(slot)
        made = index.definitions.get(slot)
        if len(seen) > _FAR:
            return False
        if made is None or isinstance(made, (ir.Global, ir.Attr, ir.Item)):
            value = frame.vals[slot] or _NO_VALUE
            if made is None and _is_literal(value) and all(p.slot != slot for p in frame.code.params):
                continue  # a constant in the text
            if made is None or not _is_literal(value) or not kept(frame, made):
                return False
            some = True
        elif isinstance(made, (ir.Compare, ir.Unary, ir.Binary, ir.BoolOp, ir.Phi)):
            todo += operands(made)
        else:
            return False
    return some


def _is_literal(value: Value) -> bool:
    return bool(value) and all(isinstance(o, Lit) and not o.varies for o in value)


def _is_kept(frame: Frame, made: ir.Attr | ir.Global | ir.Item) -> bool:
    """Whether something is kept that whoever starts the program, or makes the object, has chosen."""
    if isinstance(made, ir.Global):
        cell = frame.module.fields.get(made.name)
        return cell is not None and len(cell.writes) == 1 and all(c.is_module for c, _ in cell.writes)
    owners = frame.vals[made.owner if isinstance(made, ir.Attr) else made.source] or _NO_VALUE
    if isinstance(made, ir.Item):
        return any(isinstance(o, Container) and o.kind == "dict" for o in owners)
    cells = [o.fields[made.name] for o in owners if isinstance(o, Inst) and made.name in o.fields]
    return bool(cells) and all(_is_chosen(cell) for cell in cells)


def _is_chosen(cell: Cell) -> bool:
    """Whether a field is written by constructors only, from what these are given."""
    return bool(cell.writes) and all(c.name in CONSTRUCTORS and _from_outside(c, pos) for c, pos in cell.writes)


def _from_outside(code: Code, pos: int) -> bool:
    """Whether what a constructor stores follows from its parameters."""
    index = index_of(code)
    given = {p.slot for p in code.params[1:]}
    stored = [i.value for i in index.at(pos) if isinstance(i, ir.SetAttr)]
    sources = index.upstream(stored, lambda made: () if isinstance(made, (ir.Call, ir.Func)) else operands(made), _FAR)
    return any(slot in given for slot, _ in sources)
