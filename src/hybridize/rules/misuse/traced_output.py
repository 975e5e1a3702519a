"""HY201: output that happens once per trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.facts.origins import calls_at
from hybridize.facts.state.guards import holds_plain_tensor
from hybridize.facts.state.reasons import Reason, describe
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.running.speaking import DEPTH, parts, shown, speaks_of_traces
from hybridize.tracing.state.effects import hit, reasons
from hybridize.tracing.views import FunctionView, ProjectView

_SAID: Final = (
    "while tracing only, and shows a symbolic tensor in the place of its value: `tf.print` shows it at every call"
)
_INFO: Final = "while tracing only, not at every call"


def scan(function: FunctionView) -> Iterator[Hit]:
    """Printing, logging and warnings: of values of tensors they show none; of all else, what holds for the trace."""
    told = (reason for _, reason in reasons(function) if reason.effect.kind == "print")
    for reason in told:
        if not _is_of_traces(reason):
            there = _shows_tensor(function.project, reason)
            said = f"{describe(reason.effect)} {_INFO}" if there is None else f"{describe(there.effect)} {_SAID}"
            yield hit(there or reason, None, said)


def _shows_tensor(project: ProjectView, reason: Reason) -> Reason | None:
    """What is written that may hold a symbolic tensor; none where it is the shape of one, or a constant.

    One effect stands for all that a function writes in the same way: any of them may show a tensor.
    """
    frame = reason.frame
    for effect in frame.effects.values():
        if effect.kind == "print" and effect.detail == reason.effect.detail:
            slots = [slot for call in calls_at(frame.code, effect.position) for slot in shown(call)]
            if any(speaks_of_traces(frame, slot, DEPTH) for slot in slots):
                continue
            if any(_is_symbolic(project, frame, slot, DEPTH) for slot in slots):
                return replace(reason, effect=effect)
    return None


def _is_of_traces(reason: Reason) -> bool:
    """Whether all that is written in one way says itself that it is written while tracing: it is meant so."""
    frame, same = reason.frame, reason.effect
    written = [each for each in frame.effects.values() if (each.kind, each.detail) == (same.kind, same.detail)]
    calls = [call for each in written for call in calls_at(frame.code, each.position)]
    return bool(calls) and all(any(speaks_of_traces(frame, s, DEPTH) for s in shown(call)) for call in calls)


def _is_symbolic(project: ProjectView, frame: Frame, slot: int, depth: int) -> bool:
    """Whether a slot holds a symbolic tensor, or a text that was made of one."""
    if slot < 0 or not depth:
        return False
    if holds_plain_tensor(frame.vals[slot] or frozenset()) and project.symbolic.mask(frame, slot):
        return True
    made = index_of(frame.code).source(slot)
    return made is not None and any(_is_symbolic(project, frame, part, depth - 1) for part in parts(frame, made))


RULE = Rule(
    code="HY201",
    name="traced-output",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Printing, logging and warnings happen once per trace, not once per call.",
    details="""A traced function runs its Python code only while it is traced: `print`, `logging` and `warnings` speak
once for each new graph, and show symbolic tensors instead of values. `tf.print` is part of the graph and
speaks at every call. The message says whether a symbolic tensor is shown in the place of a value; what shows none (a
constant, a shape, a Python value) is the usual way to see when tracing happens. Published programs mostly mean it so,
and who runs one sees it in the first line: it is information. A message that speaks of tracing itself is not
reported.""",
    level=Level.INFO,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    print("value", x)
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import logging, sys
import tensorflow as tf
logging.basicConfig(stream=sys.stdout, force=True)
def report(x):
    logging.warning("got %s", x)
def target(x):
    report(x)
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    tf.print("value", x)
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + 1
print(target(tf.constant(1.0)))
print(target(tf.constant(2.0)))
"""
        ),
    ),
    known_problems="""Whether a message is meant for the moment of tracing is taken from its words: one that is
meant so and does not say so is reported.""",
    reference="semantics.md R1",
)
