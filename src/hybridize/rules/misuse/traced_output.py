"""HY201: output that happens once per trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit
from hybridize.facts.guards import holds_plain_tensor
from hybridize.facts.model import Ternary
from hybridize.facts.origins import calls_at
from hybridize.facts.reasons import Reason, describe
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.records import replace
from hybridize.regex import regex
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.effects import hit, reasons
from hybridize.tracing.views import FunctionView, ProjectView

_DEPTH: Final = 6
_TRACES: Final = regex(r"\b(re-?)?trac(e|ed|ing)\b", re.IGNORECASE)
_SAID: Final = (
    "while tracing only, and shows a symbolic tensor in the place of its value: `tf.print` shows it at every call"
)
_INFO: Final = "while tracing only, not at every call"
#: Arguments that say how and where something is written.
_LAYOUT: Final = frozenset({"sep", "end", "file", "flush", "exc_info", "stacklevel", "category"})


def scan(function: FunctionView) -> Iterator[Hit]:
    """Printing, logging and warnings: of values of tensors they show none; of all else, what holds for the trace.

    Where only graphs (of a data set, say) call the function, it is traced with its decorator and without, and who has
    written that has seen what is printed: mostly it is to show what shape and type an element has.
    """
    told = (reason for _, reason in reasons(function) if reason.effect.kind == "print")
    found = [reason for reason in told if not _is_of_traces(reason)]
    covered = function.is_hybrid and function.facts.covered_by_hybrid_callers.value is Ternary.YES
    level = Level.INFO if covered else None
    for reason in found:
        shown = _shows_tensor(function.project, reason, level)
        yield hit(reason, Level.INFO, f"{describe(reason.effect)} {_INFO}") if shown is None else shown


def _shows_tensor(project: ProjectView, reason: Reason, level: Level | None) -> Hit | None:
    """A hit where what is written may hold a symbolic tensor; none where it is the shape of one, or a constant.

    One effect stands for all that a function writes in the same way: any of them may show a tensor.
    """
    frame = reason.frame
    for effect in frame.effects.values():
        if effect.kind == "print" and effect.detail == reason.effect.detail:
            slots = [slot for call in calls_at(frame.code, effect.position) for slot in _shown(call)]
            if any(_speaks_of_traces(frame, slot, _DEPTH) for slot in slots):
                continue
            if any(_is_symbolic(project, frame, slot, _DEPTH) for slot in slots):
                there = replace(reason, effect=effect)
                return hit(there, level, f"{describe(effect)} {_SAID}")
    return None


def _is_of_traces(reason: Reason) -> bool:
    """Whether all that is written in one way says itself that it is written while tracing: it is meant so."""
    frame, same = reason.frame, reason.effect
    written = [each for each in frame.effects.values() if (each.kind, each.detail) == (same.kind, same.detail)]
    calls = [call for each in written for call in calls_at(frame.code, each.position)]
    return bool(calls) and all(any(_speaks_of_traces(frame, s, _DEPTH) for s in _shown(call)) for call in calls)


def _shown(call: ir.Call) -> Iterator[int]:
    """What a call gets, with what a text that `format` or `join` makes is made of."""
    yield from (slot for slot, _ in call.arguments)
    yield from (slot for name, slot in call.keywords if name not in _LAYOUT)


def _speaks_of_traces(frame: Frame, slot: int, depth: int) -> bool:
    """Whether a text says itself that it is written while tracing: it is meant to show when that happens."""
    if any(isinstance(o, Lit) and isinstance(o.const, str) and _TRACES.search(o.const) for o in frame.vals[slot] or ()):
        return True
    made = index_of(frame.code).source(slot) if depth else None
    if isinstance(made, ir.Format) and any(text and _TRACES.search(text) for text in made.texts):
        return True
    return made is not None and any(_speaks_of_traces(frame, part, depth - 1) for part in _parts(frame, made))


def _is_symbolic(project: ProjectView, frame: Frame, slot: int, depth: int) -> bool:
    """Whether a slot holds a symbolic tensor, or a text that was made of one."""
    if slot < 0 or not depth:
        return False
    value = frame.vals[slot] or frozenset()
    if holds_plain_tensor(value) and project.symbolic.mask(frame, slot):
        return True
    made = index_of(frame.code).source(slot)
    if made is None:
        return False
    return any(_is_symbolic(project, frame, part, depth - 1) for part in _parts(frame, made))


def _parts(frame: Frame, made: Instr) -> list[int]:
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
                return [*_shown(made), *([called.owner] if isinstance(called, ir.Attr) else [])]
    return []


def _makes_text(called: Instr) -> bool:
    return (isinstance(called, ir.Attr) and called.name in ("format", "join")) or (
        isinstance(called, ir.Global) and called.name in ("str", "repr", "format")
    )


RULE = Rule(
    code="HY201",
    name="traced-output",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Printing, logging and warnings happen once per trace, not once per call.",
    details="""A traced function runs its Python code only while it is traced: `print`, `logging` and `warnings` speak
once for each new graph, and show symbolic tensors instead of values. `tf.print` is part of the graph and
speaks at every call. What shows no tensor (a constant, a shape, a Python value) is reported as information only: it is
the usual way to see when tracing happens, and holds for the whole graph. So is what is printed in a function that only
graphs call (one for `Dataset.map`, or a part of another hybrid function): without its decorator it would print the
same. A message that speaks of tracing itself is not reported.""",
    level=Level.WARNING,
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
