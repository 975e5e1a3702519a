"""HY502: a `@tf.function` that was commented out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridize.regex import regex
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.views import ProjectView

_COMMENT: Final = regex(r"^[ \t]*#+[ \t]*@[ \t]*(?:tf|tensorflow)\.function\b.*$", re.M)
_FOLLOWS: Final = regex(r"(?:[ \t]*(?:#.*|@.*)?\n)*[ \t]*(?:async[ \t]+)?def\b")


def scan(project: ProjectView) -> Iterator[Hit]:
    """Comments that look like the decorator, above a `def`."""
    for module in project.solution.program.modules.values():
        text = module.text.text if module.text is not None else ""
        if "function" not in text or "# @tf" not in text.replace("#@", "# @").replace("tensorflow", "tf"):
            continue
        for found in _COMMENT.finditer(text):
            if _FOLLOWS.match(text, found.end() + 1):
                line = text.count("\n", 0, found.start()) + 1
                column = len(found.group()) - len(found.group().lstrip())
                yield Hit(line << 16 | column, "`tf.function` was commented out here", path=module.code.path)


RULE = Rule(
    code="HY502",
    name="commented-decorator",
    category=Category.DEBUGGABILITY,
    outcome=Outcome.SLOWS,
    summary="A `@tf.function` is commented out, as left over from debugging.",
    details="""Functions are often made eager to look inside, and forgotten so. If the function is safe as a
graph, put the decorator back; if it is not, remove the comment or say why.""",
    level=Level.INFO,
    blocks=frozenset(),
    project=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
# @tf.function
def target(x):
    return x * 2
r1 = target(tf.constant(1))
""",
            line=2,
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.Module):
    #@tf.function(jit_compile=True)
    def target(self, x):
        return x * 2
r1 = Net().target
""",
            target="Net.target",
            line=3,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
# tf.function would trace this for every size
def target(x):
    return x * 2
r1 = target(tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function  # @tf.function was missing here
def target(x):
    return x * 2
r1 = target(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md, Issue threads",
)
