"""Instructions that are executed again only where what they rest on has changed.

A frame runs again whenever something that it has read is no longer as it was, which mostly concerns one instruction of
many. Those that may take long have a step (`flow.frames.Step`): it keeps what the instruction was given, what came of
it and what it noted in the frame. The cells that it reads and the functions that it calls know the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from hybridize.flow.frames import CALLED, COMPUTED, EFFECT, NOTHING, Frame, Step
from hybridize.program.ir import Instr

if TYPE_CHECKING:
    from hybridize.flow.engine import Engine

Handler: TypeAlias = "Callable[[Engine, Frame, list[Any], Instr], bool | None]"
#: The values of the slots that an instruction looks at.
Inputs: TypeAlias = "Callable[[list[Any], Instr], Any]"


def kept(handler: Handler, inputs_of: Inputs, *, assigns: bool = True) -> Handler:
    """The handler of an instruction that never ends its block, with a step; `assigns`: it has a destination slot."""

    def perform(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
        if frame.turn:  # executed several times in one run, with objects of its own for each
            handler(engine, frame, vals, instr)
            return
        inputs = inputs_of(vals, instr)
        steps = frame.steps
        key = id(instr)
        step = steps.get(key)
        if step is None:
            step = steps[key] = Step(frame)
        elif not step.dirty and step.inputs == inputs:
            step.seen = frame.runs
            if assigns:
                vals[instr[1]] = step.result
            if step.log:
                _note_again(engine, frame, step)
            return
        step.dirty = False
        step.inputs = NOTHING
        step.runs = step.seen = frame.runs
        noted = len(frame.log)
        stuck, frame.stuck = frame.stuck, False
        frame.volatile = False
        frame.step = step
        handler(engine, frame, vals, instr)
        frame.step = frame.base
        if frame.stuck or frame.volatile:
            frame.stuck = frame.stuck or stuck
            return
        frame.stuck = stuck
        step.inputs = inputs
        step.result = vals[instr[1]] if assigns else None
        step.log = frame.log[noted:] if len(frame.log) > noted else ()

    return perform


def _note_again(engine: Engine, frame: Frame, step: Step) -> None:
    """Notes what a step noted when it was executed."""
    for kind, key, what in step.log:
        if kind == CALLED:
            pos, callee = key
            engine.note_call(frame, pos, callee, what)
        elif kind == EFFECT:
            frame.effects[key] = what
        elif kind == COMPUTED:
            frame.ops[key] = what
        else:
            frame.ops.setdefault(key, what)


def none(vals: list[Any], instr: Instr) -> Any:
    """The inputs of an instruction that looks at no slot."""
    return ()


def second(vals: list[Any], instr: Instr) -> Any:
    """The input of an instruction whose second field is a slot."""
    return vals[instr[2]]


def two(vals: list[Any], instr: Instr) -> Any:
    """The inputs of an instruction whose second and third fields are slots."""
    return vals[instr[2]], vals[instr[3]]


def operand(vals: list[Any], instr: Instr) -> Any:
    """The input of an operator with one operand."""
    return vals[instr[3]]


def operands(vals: list[Any], instr: Instr) -> Any:
    """The inputs of an operator."""
    return vals[instr[3]], vals[instr[4]]


def refined(vals: list[Any], instr: Instr) -> Any:
    """The inputs of a condition on a value."""
    return (vals[instr[2]], vals[instr[4]]) if instr[3] == "isinstance" else vals[instr[2]]


def several(vals: list[Any], instr: Instr) -> Any:
    """The inputs of an instruction whose second field is a tuple of slots."""
    return [vals[slot] for slot in instr[2]]


def changed_item(vals: list[Any], instr: Instr) -> Any:
    """The inputs of an assignment to an item."""
    return vals[instr[2]], vals[instr[3]], vals[instr[4]]


def changed_attribute(vals: list[Any], instr: Instr) -> Any:
    """The inputs of an assignment to an attribute."""
    return vals[instr[2]], vals[instr[4]]


def called(vals: list[Any], instr: Instr) -> Any:
    """The inputs of a call."""
    _, _, func, args, keywords, _ = instr
    if keywords:
        return [vals[func], *[vals[slot] for slot, _ in args], *[vals[slot] for _, slot in keywords]]
    if len(args) == 1:  # as most calls: nothing to go through
        return vals[func], vals[args[0][0]]
    return [vals[func], *[vals[slot] for slot, _ in args]] if args else vals[func]
