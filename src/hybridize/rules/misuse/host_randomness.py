"""HY203: Python's and NumPy's random numbers, drawn once per trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit
from hybridize.facts.model import Evidence
from hybridize.facts.state.guards import regions
from hybridize.facts.state.reasons import Reason, describe, kind_of
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.optional import answered, conditional
from hybridize.tracing.failing.behind import is_dead
from hybridize.tracing.harm.witness import is_called_again
from hybridize.tracing.returns.unused import is_unused
from hybridize.tracing.running.data_functions import given_to_data_sets
from hybridize.tracing.state.effects import hit, reasons
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: What seeds the numbers of a module, by the beginning of its functions' names.
_SEEDS: Final = {"np.random.seed": "np.random.", "random.seed": "random."}
#: What seeds operations, which draw on at each call.
_OPERATIONS: Final = ("tf.", "keras.")


def scan(function: FunctionView) -> Iterator[Hit]:
    """Draws that something uses.

    After a fixed seed in the function itself they come out the same, but what others draw then does not. One call draws
    what eager code would.
    """
    once = function.is_hybrid and not is_called_again(function)
    seeds: dict[Frame, list[tuple[int, str]]] = {}
    used = [(f, r) for f, r in reasons(function) if kind_of(r.effect) == "random" and not _is_unused(function, f, r)]
    drawn = [reason.effect.detail for _, reason in used if reason.effect.detail not in _SEEDS]
    for frame, reason in used:
        family = _SEEDS.get(reason.effect.detail) if function.is_hybrid else None
        if family is not None and any(detail.startswith(family) for detail in drawn):
            continue  # what comes of it is told
        if frame not in seeds:
            seeds[frame] = list(_seeded(FrameView(function.project, frame)))
        fixed = _is_fixed(reason, seeds[frame])
        if not function.is_hybrid or not reason.effect.detail.startswith(_OPERATIONS):  # else HY385
            yield hit(reason, Level.INFO if once else Level.WARNING if fixed else None)


def of_data_sets(project: ProjectView) -> Iterator[Hit]:
    """Draws in functions that nobody has decorated, and data sets make graphs of: all elements get the same numbers.

    A function that is hybrid, or has a hybrid one draw, is told of as such.
    """
    hybrids, doubtful, answers = project.solution.world.hybrids, conditional(project), answered(project)
    for frame, caller, pos in given_to_data_sets(project):
        for reason in project.effects.of(frame).values():
            effect = reason.effect
            drawn = kind_of(effect) == "random" and effect.detail not in _SEEDS and not reason.latent
            if not drawn or not reason.sure or {frame.code, reason.frame.code} & hybrids.keys():
                continue
            if not is_unused(project, reason.frame, effect.position, frame):
                given = Evidence("given to a data set here", caller.code.path, pos >> 16)
                found = hit(reason, None, f"{describe(effect)} in the graph that a data set makes")
                way = (given, *found.evidence)
                fixed = _is_fixed(reason, list(_seeded(FrameView(project, frame))))
                open_ = any(step.line in doubtful.get(step.path, ()) for step in way)
                asked = any(step.line in answers.get(step.path, ()) for step in way)
                idle = fixed or asked or is_dead(project, caller, pos)
                yield replace(found, evidence=way, level=Level.INFO if idle else Level.WARNING if open_ else None)


def _seeded(view: FrameView) -> Iterator[tuple[int, str]]:
    """Where each call of a function seeds random numbers by a constant, and whose."""
    index = index_of(view.code)
    for call in index.of(ir.Call):
        for name in view.names(call.function):
            plain = name in _SEEDS and not regions(view.code).get(call.position) and call.position not in index.looped
            value = view.value(call.arguments[0][0]) if plain and len(call.arguments) == 1 else frozenset()
            if len(value) == 1 and all(isinstance(o, Lit) and isinstance(o.const, int) for o in value):
                yield call.position, _SEEDS[name]


def _is_unused(function: FunctionView, frame: Frame, reason: Reason) -> bool:
    """Whether no call computes with what is drawn: that its generator goes on is a side effect, and told as such."""
    return is_unused(function.project, reason.frame, reason.effect.position, frame)


def _is_fixed(reason: Reason, seeds: list[tuple[int, str]]) -> bool:
    """Whether a draw comes after a fixed seed of the same generator, or is that seed."""
    position = reason.path[0][1] if reason.path else reason.effect.position
    return any(position >= at and reason.effect.detail.startswith(family) for at, family in seeds)


RULE = Rule(
    code="HY203",
    name="host-randomness",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="tracing draws once, and every call computes with the same numbers; use `tf.random`",
    summary="Random numbers of Python or NumPy are drawn once per trace and then constants of the graph.",
    details="""`random`, `np.random`, `uuid` and `os.urandom` run while the function is traced: every call then uses
the same numbers, and a branch on them is taken for good. So it is in what a data set is given (`Dataset.map(augment)`):
that makes a graph of each function, decorated or not, and all elements of all epochs are changed alike. Draw with
`tf.random` or a `tf.random.Generator` that was made outside, or pass the numbers in as tensors. Numbers that nothing
uses are not told of: no call computes with them; nor are seeds of operations that draw anew at each call all the same
(`tf.nn.dropout(x, 0.5, seed=...)`) and names. Under a setting of the program it is a warning: no run shows it. Of a
function that the program calls once, under what a call answers (`if not os.path.exists(path)`) and behind an early
return it is information.""",
    blocks=frozenset(),
    root=scan,
    project=of_data_sets,
    bad=(
        Example(
            """\
import random
import tensorflow as tf
def target(x):
    return x * random.random()
r = [float(target(tf.constant(1.0))) for _ in range(10)]
distinct = len(set(r)) > 1
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def noise(shape):
    return np.random.normal(size=shape).astype("float32")
def target(x):
    return x + noise((2,))
r = [float(target(tf.zeros([2]))[0]) for _ in range(10)]
distinct = len(set(r)) > 1
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + tf.random.normal([2])
r = target(tf.zeros([2])).shape
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, noise):
    return x + noise
np.random.seed(0)
r = [float(target(tf.constant(0.0), tf.constant(np.random.rand()))) for _ in range(3)]
"""
        ),
    ),
    known_problems="""Numbers that are meant to be drawn once (a fixed projection, an initial value) look like all
others, and are reported.""",
    reference="semantics.md R5",
)
