"""Output that says itself that it is about tracing: it is meant to show when that happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lib, Lit
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.regex import regex

#: So deep what a text is made of is looked into.
DEPTH: Final = 6
_TRACES: Final = regex(r"\b(re-?)?trac(e|es|ed|ing|ings)\b", re.IGNORECASE)
#: Arguments that say how and where something is written.
_LAYOUT: Final = frozenset({"sep", "end", "file", "flush", "exc_info", "stacklevel", "category"})
#: What shows as much of a value as the value itself.
_SHOWS: Final = (ir.Copy, ir.Phi, ir.Attr, ir.Item, ir.Compare, ir.Format, ir.Binary, ir.Sequence, ir.Outer)
_COUNTS: Final = frozenset({"builtins.len", "builtins.sum", "builtins.int"})


def shown(call: ir.Call) -> Iterator[int]:
    """What a call gets, with what a text that `format` or `join` makes is made of."""
    yield from (slot for slot, _ in call.arguments)
    yield from (slot for name, slot in call.keywords if name not in _LAYOUT)


def speaks_of_traces(frame: Frame, slot: int, depth: int) -> bool:
    """Whether a text says itself that it is written while tracing: it is meant to show when that happens."""
    if any(isinstance(o, Lit) and isinstance(o.const, str) and _TRACES.search(o.const) for o in frame.vals[slot] or ()):
        return True
    made = index_of(frame.code).source(slot) if depth else None
    if isinstance(made, ir.Format) and any(text and _TRACES.search(text) for text in made.texts):
        return True
    return made is not None and any(speaks_of_traces(frame, part, depth - 1) for part in parts(frame, made))


def parts(frame: Frame, made: Instr) -> list[int]:
    """What a text is made of."""
    match made:
        case ir.Format():
            return list(made.values)
        case ir.Binary() if made.operator in ("+", "%"):
            return [made.left, made.right]
        case ir.Sequence():
            return [slot for slot, _ in made.elements]
        case ir.Call():
            called = index_of(frame.code).source(made.function)
            if called is not None and _makes_text(called):
                return [*shown(made), *([called.owner] if isinstance(called, ir.Attr) else [])]
    return []


def _makes_text(called: Instr) -> bool:
    return (isinstance(called, ir.Attr) and called.name in ("format", "join")) or (
        isinstance(called, ir.Global) and called.name in ("str", "repr", "format")
    )


def only_tells_traces(frame: Frame, position: int) -> bool:
    """Whether what is read at a place goes into assertions and messages about tracing alone: who counts traces."""
    index = index_of(frame.code)
    todo, seen, told = list(index.at(position)), set[Instr](), False
    while todo:
        instr = todo.pop()
        if instr in seen:
            continue
        seen.add(instr)
        if isinstance(instr, ir.Assert) or _is_message(frame, instr):
            told = True
        elif isinstance(instr, _SHOWS) or (isinstance(instr, ir.Call) and _only_counts(frame, instr)):
            todo += index.uses.get(instr.target, ())
        else:
            return False
    return told


def _is_message(frame: Frame, instr: Instr) -> bool:
    """Whether a call writes a message about tracing."""
    if not isinstance(instr, ir.Call) or not any(speaks_of_traces(frame, slot, DEPTH) for slot in shown(instr)):
        return False
    return any(each.kind == "print" and each.position == instr.position for each in frame.effects.values())


def _only_counts(frame: Frame, call: ir.Call) -> bool:
    called = index_of(frame.code).source(call.function)
    if called is not None and _makes_text(called):
        return True
    value = frame.vals[call.function] or ()
    return bool(value) and all(isinstance(o, Lib) and o.name in _COUNTS for o in value)
