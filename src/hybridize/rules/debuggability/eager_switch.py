"""HY501: `run_functions_eagerly(True)` left in a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lib, Lit
from hybridize.program.ir import Op
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.views import ProjectView

_SWITCHES: Final = frozenset(
    {
        "tf.config.run_functions_eagerly",
        "tf.config.experimental_run_functions_eagerly",
        "tf.data.experimental.enable_debug_mode",
    }
)


def scan(project: ProjectView) -> Iterator[Hit]:
    """Calls that switch graphs off, in modules that never switch them on again."""
    for frames in project.solution.frames.values():
        for frame in frames:
            on: list[tuple[int, str]] = []
            off = False
            for instr in project.symbolic.instructions(frame.code):
                if instr[0] != Op.CALL:
                    continue
                for obj in frame.vals[instr[2]] or ():
                    if isinstance(obj, Lib) and obj.name in _SWITCHES:
                        slot = instr[3][0][0] if instr[3] else dict(instr[4]).get("run_eagerly", -1)
                        const = {o.const for o in frame.vals[slot] or () if isinstance(o, Lit)} if slot >= 0 else {True}
                        off = off or const == {False}
                        if const == {True}:
                            on.append((instr[-1], obj.name))
            for pos, name in on if not off else ():
                yield Hit(pos, f"`{name}` runs every hybrid function eagerly", path=frame.code.path)


RULE = Rule(
    code="HY501",
    name="eager-switch",
    category=Category.DEBUGGABILITY,
    outcome=Outcome.SLOWS,
    summary="`run_functions_eagerly(True)` is left in the program: no function runs as a graph.",
    details="""The switch is meant for debugging. It makes every `tf.function` of the process run line by line,
so all that graphs gain is lost, and nothing says so. Remove it, or switch it off again when the debugging is
done.""",
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
    reference="rules.md 21; the study: debuggability",
)
