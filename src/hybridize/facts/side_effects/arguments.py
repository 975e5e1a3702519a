"""Containers that a function is given: TensorFlow copies them, and a change of one raises."""

from __future__ import annotations

from hybridize.domain.nesting import held
from hybridize.domain.objects import Container, Obj, Stream, Tensor, Tup, Value
from hybridize.facts.state.guards import CONSTANT, SET_UP, parts
from hybridize.facts.state.reasons import Reason
from hybridize.flow.frames import Frame

#: A container in a container in an argument: looked into so deeply.
_DEPTH = 3


def comes_out_same(frame: Frame, reason: Reason) -> bool:
    """Whether an effect of a function is the same per trace and per call: not on what its own arguments hold."""
    if reason.once not in (SET_UP, CONSTANT):
        return bool(reason.once)
    return not isinstance(reason.effect.target, Container) or argument_name(frame, reason) is None


def argument_name(frame: Frame, reason: Reason) -> str | None:
    """The parameter that brings the container or array which a side effect changes; None where no argument is."""
    target = reason.effect.target
    if isinstance(target, Container):
        for param, value in zip(frame.code.params, frame.args, strict=True):
            if not param.is_starred and within(target, value):
                return param.name
    elif isinstance(target, (Tensor, Stream, Tup)):
        for root in sorted(r for r in reason.roots if isinstance(r, int)):
            return frame.code.params[root].name
    return None


def within(target: Obj, value: Value) -> bool:
    """Whether a container is in a value, as an argument's structure is seen: containers are, objects are not."""
    return target in held(value, _DEPTH, parts)
