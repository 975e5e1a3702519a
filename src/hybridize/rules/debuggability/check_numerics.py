"""HY503: `enable_check_numerics()` left in a program."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.behind import is_dead
from hybridize.tracing.switches import is_asked_for
from hybridize.tracing.views import FrameView, ProjectView

_ON = "tf.debugging.enable_check_numerics"
_OFF = "tf.debugging.disable_check_numerics"
_WORDS = frozenset({"enable_check_numerics", "disable_check_numerics"})


def scan(project: ProjectView) -> Iterator[Hit]:
    """Calls that nothing asks for, in files that never take them back."""
    found: dict[tuple[str, int], Hit] = {}
    off: set[str] = set()
    for code, frames in project.solution.frames.items():
        index = index_of(code)
        spelled = not (_WORDS.isdisjoint(index.attributes) and _WORDS.isdisjoint(index.names))
        calls = index.of(ir.Call) if spelled else ()
        for frame in frames if calls else ():
            view = FrameView(project, frame)
            for call in calls:
                names = view.names(call.function)
                if _OFF in names:
                    off.add(code.path)
                elif _ON in names and not (
                    is_asked_for(frame, call.position) or is_dead(project, frame, call.position)
                ):
                    said = f"`{_ON}` has every operation look for NaN and infinity, in graphs, too"
                    found[code.path, call.position] = Hit(call.position, said, path=code.path)
    yield from (hit for (path, _), hit in found.items() if path not in off and not project.roles.is_test(path))


RULE = Rule(
    code="HY503",
    name="check-numerics",
    category=Category.DEBUGGABILITY,
    outcome=Outcome.SLOWS,
    summary="`enable_check_numerics()` is left in the program: every operation is followed by a check.",
    act="remove it, or put it under an option, once the NaN is found",
    details="""The switch is meant for debugging: behind each operation that gives floats, eager or in a graph, it puts
one more that looks for NaN and infinity. A small training step of eight layers took 2 to 3.5 times as much processor
time with it (TensorFlow 2.15 and 2.21). Call it where an option of the program asks for it, or check what matters:
`tf.debugging.check_numerics(loss, "loss")` looks at one tensor.""",
    level=Level.INFO,
    blocks=frozenset(),
    project=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
tf.debugging.enable_check_numerics()
@tf.function
def target(x):
    return x * 2.0
r1 = target(tf.constant(1.0))
""",
            line=2,
        ),
        Example(
            """\
import tensorflow as tf
def main():
    tf.debugging.enable_check_numerics(stack_height_limit=10)
    return target(tf.constant(1.0))
@tf.function
def target(x):
    return x * 2.0
r1 = main()
""",
            line=3,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    return x * 2.0
tf.debugging.enable_check_numerics()
r1 = target(tf.constant(1.0))
tf.debugging.disable_check_numerics()
"""
        ),
        Example(
            """\
import os
import tensorflow as tf
if os.environ.get("DEBUG"):
    tf.debugging.enable_check_numerics()
@tf.function
def target(x):
    return tf.debugging.check_numerics(x * 2.0, "x")
r1 = target(tf.constant(1.0))
"""
        ),
    ),
    known_problems="""A switch that is meant to stay, so that a run ends at the first NaN, is reported as well.""",
    reference="tf.debugging.enable_check_numerics",
)
