"""Python values that are new at each call of a function, where the program has so few calls that all are known."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import BOTTOM, NONE, Container, Func, Inst, Lit, Obj, Tup, Value, Wrapper, lib
from hybridize.facts.origins import calls_at, definitions
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.operands import arguments
from hybridize.tracing.running.loops import runs_often
from hybridize.tracing.views import FunctionView

#: So many calls are enough to say that each traces anew.
ENOUGH: Final = 3
_DEPTH: Final = 3
#: So deeply what a caller makes is looked into.
_INSIDE: Final = 4


def new_each_call(function: FunctionView) -> tuple[str, list[tuple[str, int]]] | None:
    """A parameter that gets a value of its own at every call of the program, and the places of the calls.

    Only calls that run once count, and rounds of one loop over a display. None where a call is of another kind.
    """
    for index, param in enumerate(function.code.params):
        seen: set[Hashable] = set()
        places: dict[tuple[str, int], None] = {}
        count = 0
        for caller, pos, args in _calls(function):
            keys = _keys(caller, pos, args[index])
            if keys is None:
                break
            count += len(keys)
            seen |= keys
            places[caller.code.path, pos] = None
        else:
            if count >= ENOUGH and len(seen) == count:
                return param.name, list(places)
    return None


def _calls(function: FunctionView) -> Iterator[tuple[Frame, int, tuple[Value, ...]]]:
    """The calls of the program, each once with what its frames get."""
    found: dict[tuple[Frame, int], list[Value]] = {}
    for frame in function.frames:
        for caller, pos, args in frame.seen_calls():
            known = found.setdefault((caller, pos), list(args))
            known[:] = [a | b for a, b in zip(known, args, strict=False)]
    for (caller, pos), values in found.items():
        yield caller, pos, tuple(values)


def _keys(caller: Frame, pos: int, value: Value) -> set[Hashable] | None:
    """What tells the values of a call apart: of one value, or of the rounds of the loop around it."""
    keys = [_key(obj, 0) for obj in value]
    if not keys or None in keys or (len(keys) > 1 and not _goes_through(caller, pos, value)):
        return None
    if len(keys) == 1 and (runs_often(caller, pos) or caller.code.is_generator or _is_left_to_others(caller)):
        return None
    return set(keys) if len(set(keys)) == len(keys) else None


def _is_left_to_others(frame: Frame) -> bool:
    """Whether a frame is run by callers whom nobody sees, or by what they run: as often as they like."""
    run = closure([frame], lambda each: [] if each.code.is_body else each.callers)
    functions = (each for each in run if not each.code.is_body)
    return any(c is not None and each.started_by(c, pos) for each in functions for c, pos in each.incoming)


def _key(obj: Obj, depth: int) -> Hashable:
    """What a trace is chosen by; None where it is not known, or is no more than a tensor's dtype and shape."""
    if isinstance(obj, Lit):
        return None if obj is NONE else (obj.const,)
    if isinstance(obj, (Func, Wrapper, Inst)):
        return obj
    if isinstance(obj, Tup):
        items: list[Value] = list(obj.items)
    elif isinstance(obj, Container) and obj.exact and obj.rest is None and obj.kind in ("list", "dict"):
        items = [cell.value for cell in obj.fields.values()]
    else:
        return None
    parts = [_key(next(iter(item)), depth + 1) if len(item) == 1 and depth < _DEPTH else None for item in items]
    return None if None in parts else tuple(parts)


def _goes_through(caller: Frame, pos: int, value: Value) -> bool:
    """Whether a loop that runs once takes a call through the elements of a display."""
    around = [
        instr
        for instr in index_of(caller.code).of(ir.Loop)
        if any(each.position == pos for part in (instr.test, instr.body) for each in instructions(part))
    ]
    if not caller.code.is_module or len(around) != 1:
        return False
    for call in calls_at(caller.code, pos):
        for slot in arguments(call):
            made = definitions(caller.code).get(slot) if slot >= 0 and caller.vals[slot] == value else None
            if isinstance(made, ir.Unpack):
                made = definitions(caller.code).get(made.source)
            if isinstance(made, ir.Iter):
                return all(isinstance(o, (Tup, Container)) for o in caller.vals[made.source] or ())
    return False


def held_by(caller: Frame, pos: int, args: list[Value]) -> Iterator[Container]:
    """The lists and dictionaries that a call passes: themselves, in others, taken apart by stars."""
    calls = index_of(caller.code).calls.get(pos, ())
    starred = [slot for call in calls for name, slot in call.keywords if name is None]
    starred += [slot for call in calls for slot, star in call.arguments if star]
    given = [o for value in (*args, *(caller.vals[slot] or BOTTOM for slot in starred)) for o in value]
    every = closure(
        [o for o in given if isinstance(o, (Container, Tup))],
        lambda obj: [o for value in parts(obj) for o in value if isinstance(o, (Container, Tup))],
    )
    yield from (obj for obj in every if isinstance(obj, Container))


def elements(caller: Frame, slot: int, depth: int = _INSIDE) -> Iterator[int]:
    """The slots of what is in a dictionary, list or tuple that the caller makes."""
    made = index_of(caller.code).source(slot) if depth else None
    if isinstance(made, ir.Dict):
        inner = [value for _, value in made.entries]
    elif isinstance(made, (ir.List, ir.Tuple)):
        inner = [each for each, starred in made.elements if not starred]
    elif isinstance(made, ir.Call) and lib("builtins.dict").value == caller.vals[made.function]:
        inner = [each for name, each in made.keywords if name is not None]
    else:
        inner = []
    yield from inner
    for each in [each for _, each in made.incoming] if isinstance(made, ir.Phi) else inner:
        yield from elements(caller, each, depth - 1)
