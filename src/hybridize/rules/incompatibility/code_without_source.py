"""HY323: functions that `exec` or `eval` made, whose source AutoGraph cannot read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Unknown
from hybridize.domain.unknowns import Why
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import arguments
from hybridize.regex import regex
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.source.syntax import walk
from hybridize.tracing.views import FrameView, ProjectView

_IMPORTS: Final = ("from ", "import ")
_RUN: Final = frozenset({"exec", "eval"})
_DEFINITION: Final = regex(r"\b(?:lambda|def)\b")


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call of such a function with a symbolic tensor."""
    for obj in view.value(instr.function):
        if not isinstance(obj, Unknown):
            continue
        made = obj.why is Why.EXECUTED or (obj.why is Why.EVALUATED and bool(_defining(view.project)))
        if made or (obj.why is Why.UNDEFINED and _defines(view)):
            needs = 0
            for slot in arguments(instr):
                needs |= view.symbolic(slot)
            yield Hit(
                instr.position, "calls a function made by `exec` or `eval`: AutoGraph has no source to convert", needs
            )
            return


def _defines(view: FrameView) -> bool:
    """Whether the module runs code that the analysis does not see and that may define functions: imports do not."""
    code = view.frame.module.code
    if not any(i.name == "exec" for i in index_of(code).of(ir.Global)):
        return False
    texts = _texts(view.project, code.path)
    return code.path in _defining(view.project) or not any(text.lstrip().startswith(_IMPORTS) for text in texts)


def _defining(project: ProjectView) -> frozenset[str]:
    """The files that run `exec` or `eval`, and hold texts that define functions: other texts name what has a source."""
    return project.shared("defining texts", lambda: frozenset(_find_defining(project)))


def _find_defining(project: ProjectView) -> Iterator[str]:
    for code in project.solution.frames:
        texts = _texts(project, code.path) if any(i.name in _RUN for i in index_of(code).of(ir.Global)) else ()
        if any(_DEFINITION.search(text) for text in texts):
            yield code.path


def _texts(project: ProjectView, path: str) -> list[str]:
    """The texts in a file's code, docstrings left out."""
    module = project.module(path)
    nodes = walk(module) if module is not None else []
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in found if isinstance(node.value, str)]


RULE = Rule(
    code="HY323",
    name="code-without-source",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Calls a function that `exec` or `eval` made with a tensor.",
    details="""AutoGraph converts a function by its source. Code made by `exec` or `eval` has none, so it runs as it is
while tracing: a condition or loop on a tensor in it raises. Write the function down, or use `tf.cond` and
`tf.while_loop` in it.""",
    level=Level.WARNING,
    triggers={ir.Call: Where(scan, values=lambda _, value: any(isinstance(o, Unknown) for o in value))},
    bad=(
        Example(
            """\
import tensorflow as tf
exec("def clip(v):\\n    return v if v > 0 else -v")
def target(x):
    return clip(x) * 2
r1 = target(tf.constant(1))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
clip = eval("lambda v: v if v > 0 else -v")
def target(x):
    return clip(x + 1) * 2
r1 = target(tf.constant(1))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
exec("from tensorflow import " + "abs as size")
def target(x):
    return size(x) * 2
r1 = target(tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
def clip(v):
    return v if v > 0 else -v
def target(x):
    return clip(x) * 2
r1 = target(tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
scale = eval("lambda k: k * 2")
def target(x):
    return x * scale(3)
r1 = target(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md R13",
)
