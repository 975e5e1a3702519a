"""HY501: `run_functions_eagerly(True)` left in a program."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source.roles import is_test_path
from hybridize.tracing.failing.behind import is_dead
from hybridize.tracing.running.switches import SWITCHES, debugs, is_asked_for, loses_nothing, switches
from hybridize.tracing.views import ProjectView


def scan(project: ProjectView) -> Iterator[Hit]:
    """Calls that switch graphs off, in modules that never switch them on again."""
    on, off = switches(project)
    for path, places in on.items():
        for frame, pos, name in places if path not in off else ():
            idle = is_asked_for(frame, pos) or is_dead(project, frame, pos) or loses_nothing(project, frame, name)
            idle = idle or debugs(frame)
            asked = is_test_path(path) or project.roles.is_test(path) or idle
            level = Level.INFO if asked else None
            said = f"`{name}` runs {SWITCHES[name]} eagerly; one that does not work as a graph raises without it"
            yield Hit(pos, said, path=path, level=level)


RULE = Rule(
    code="HY501",
    name="eager-switch",
    category=Category.DEBUGGABILITY,
    outcome=Outcome.SLOWS,
    summary="`run_functions_eagerly(True)` is left in the program: no function runs as a graph.",
    act="mend what does not work as a graph, then remove it, or switch it off again where the debugging ends",
    details="""The switch is meant for debugging. It makes every `tf.function` of the process run line by line, so all
that graphs gain is lost, and nothing says so. It is also left where a function does not work as a graph (`.numpy()`,
Python lists in loops, shapes that only a run knows): that raises without it, so look at the findings of the hybrid
functions first, or take their decorators away. Otherwise remove it, or switch it off again when the debugging is
done. Where the program is seen to have nothing that would run as a graph it is information (of code that cannot be
followed nobody knows), and where it stops in a debugger beside the switch; a saved model that it loads runs its
graphs in any case, and `get_concrete_function` makes one. `tf.data.experimental.enable_debug_mode()` does the same to
what datasets are given, and to these alone.""",
    level=Level.WARNING,
    blocks=frozenset(),
    project=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
tf.config.run_functions_eagerly(True)
@tf.function
def target(x):
    return x * 2
r1 = target(tf.constant(1))
""",
            line=2,
        ),
        Example(
            """\
import tensorflow as tf
def main():
    tf.config.experimental_run_functions_eagerly(True)
    return target(tf.constant(1))
@tf.function
def target(x):
    return x * 2
r1 = main()
""",
            line=3,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
tf.config.run_functions_eagerly(False)
@tf.function
def target(x):
    return x * 2
r1 = target(tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    return x * 2
tf.config.run_functions_eagerly(True)
r1 = target(tf.constant(1))
tf.config.run_functions_eagerly(False)
"""
        ),
    ),
    known_problems="""A switch that is meant to stay is reported as well: all four findings of one sample were of
that kind, and in five of eight of another it works around code that a graph refuses; which it is, is not looked at.""",
    reference="semantics.md, Issue threads; the study: debuggability",
)
