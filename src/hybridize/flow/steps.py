"""Instructions that are executed again only where what they rest on has changed.

A frame runs again whenever something that it has read is no longer as it was, which mostly concerns one instruction of
many. Those that may take long have a step (`flow.frames.Step`): it keeps what the instruction was given, what came of
it and what it noted in the frame. The cells that it reads and the functions that it calls know the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hybridize.flow.engine import Engine, Handler
from hybridize.flow.frames import CALLED, COMPUTED, EFFECT, NOTHING, Frame, Step
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.program.operands import reader, roles

Operation = TypeVar("Operation", bound=Instr)


def on(
    operation: type[Operation], handler: Callable[[Engine, Frame, list[Any], Operation], bool | None]
) -> tuple[type[Instr], Handler]:
    """An operation with what it does."""
    return operation, handler


def kept(
    operation: type[Operation],
    handler: Callable[[Engine, Frame, list[Any], Operation], bool | None],
    inputs_of: Callable[[list[Any], Operation], Any] | None = None,
) -> tuple[type[Instr], Handler]:
    """The same of one that never ends its block and may take long: with a step.

    `inputs_of` gives the values of the slots that an instruction looks at, by default those of all that it reads.
    """
    return operation, keeping(handler, inputs_of or reader(operation), assigns="Target" in roles(operation).values())


def keeping(
    handler: Callable[[Engine, Frame, list[Any], Operation], bool | None],
    inputs_of: Callable[[list[Any], Operation], Any],
    *,
    assigns: bool = True,
) -> Callable[[Engine, Frame, list[Any], Operation], bool | None]:
    """A handler with a step; `assigns`: the instruction has a destination slot."""

    def perform(engine: Engine, frame: Frame, vals: list[Any], instr: Operation) -> None:
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
                vals[instr.target] = step.result
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
        step.result = vals[instr.target] if assigns else None
        step.log = frame.log[noted:] if len(frame.log) > noted else ()

    return perform


def _note_again(engine: Engine, frame: Frame, step: Step) -> None:
    """Notes what a step noted when it was executed."""
    for kind, key, what in step.log:
        if kind == CALLED:
            pos, callee = key
            engine.functions.note_call(frame, pos, callee, what)
        elif kind == EFFECT:
            frame.effects[key] = what
        elif kind == COMPUTED:
            frame.ops[key] = what
        else:
            frame.ops.setdefault(key, what)


def refined(vals: list[Any], instr: ir.Refine) -> Any:
    """The inputs of a condition on a value."""
    return (vals[instr.source], vals[instr.classes]) if instr.kind == "isinstance" else vals[instr.source]


def called(vals: list[Any], instr: ir.Call) -> Any:
    """The inputs of a call."""
    func, args, keywords = instr.function, instr.arguments, instr.keywords
    if keywords:
        return [vals[func], *[vals[slot] for slot, _ in args], *[vals[slot] for _, slot in keywords]]
    if len(args) == 1:  # as most calls: nothing to go through
        return vals[func], vals[args[0][0]]
    return [vals[func], *[vals[slot] for slot, _ in args]] if args else vals[func]
