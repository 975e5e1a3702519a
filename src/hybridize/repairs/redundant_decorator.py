"""HY811: a `tf.function` inside of graphs that has nothing to say goes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.library import costs
from hybridize.program.ir import Code
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.decorators import decorated
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import end, start

#: Microseconds that tracing may take for all the places that a function is called at.
_PATIENCE: Final = 1e6


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """The decorator's own line."""
    found = decorated(bench, cause)
    if found is None:
        return
    file, node, own = found
    decorator = node.decorator_list[own]
    if isinstance(decorator, ast.Call) and any(k.arg == "input_signature" for k in decorator.keywords):
        raise NotOffered("its signature converts what the graphs pass")
    (first, column), (last, behind) = start(decorator), end(decorator)
    if file.lines[first - 1][:column].strip() != b"@" or file.lines[last - 1][behind:].strip():
        raise NotOffered("the decorator does not stand alone on its line")
    edit = TextEdit(file.path, (first, 0), (last + 1, 0), "")
    code = bench.code(file.path, node)
    doubt = _doubt(bench, file.path, code) if code is not None else "its calls are not known"
    span = (file.path, edit.start, edit.end)
    yield Change((edit,), "only graphs call it: its decorator goes", doubt, spans=(span,))


def _doubt(bench: Bench, path: str, code: Code) -> str:
    """What may be lost without the decorator: a graph for who else calls it, or one trace for many places.

    There is always a doubt, for nothing is won: TensorFlow inlines the inner function before it runs the graph.
    """
    private = code.name.startswith("_") or bench.is_script(path)
    if not private or bench.project.public.has(code):
        return f"who else calls `{code.name}` runs it eagerly then"
    work = bench.benefits.work(bench.frames(code))
    sites = {(caller, pos) for frame in bench.frames(code) for caller, pos in frame.incoming if caller is not None}
    copies = sum(bench.benefits.counts.copies(caller, pos) for caller, pos in sites)
    if work is None or copies * work.nodes * costs.TRACE_OPERATION > _PATIENCE:
        return f"its operations are traced at each of about {copies:,.0f} places then, not once"
    return "its graph is no faster without the decorator, which says how it was meant"


REPAIR = Repair(
    code="HY811",
    name="inner-decorator-removed",
    removes=frozenset({"HY105"}),
    summary="The decorator of a function that only graphs call is removed.",
    details="""Inside a graph a hybrid function is traced apart, into a function call that TensorFlow inlines before the
graph runs. Where every call comes from graphs, the decorator adds nothing, and costs next to nothing.""",
    safety="""Never safe, for nothing is won, and it is a matter of taste: somebody else may call the function eagerly,
and without the decorator its operations are traced at each place that calls it.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return tf.sin(x) * 2
@tf.function
def outer(x):
    for _ in range(12):
        x = inner(x) + 1
    return x
for i in range(4):
    r = outer(tf.constant(1.0)).numpy()
""",
            """\
import tensorflow as tf
def inner(x):
    return tf.sin(x) * 2
@tf.function
def outer(x):
    for _ in range(12):
        x = inner(x) + 1
    return x
for i in range(4):
    r = outer(tf.constant(1.0)).numpy()
""",
            function="outer",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
class Net(tf.Module):
    @tf.function
    def part(self, x):
        return tf.tanh(x) * 2.0
    @tf.function
    def forward(self, x):
        for _ in range(6):
            x = self.part(x) + self.part(-x)
        return x
net = Net()
for i in range(4):
    r = net.forward(tf.constant([1.0, 2.0])).numpy()
""",
            """\
import tensorflow as tf
class Net(tf.Module):
    def part(self, x):
        return tf.tanh(x) * 2.0
    @tf.function
    def forward(self, x):
        for _ in range(6):
            x = self.part(x) + self.part(-x)
        return x
net = Net()
for i in range(4):
    r = net.forward(tf.constant([1.0, 2.0])).numpy()
""",
            function="Net.forward",
            output=True,
        ),
    ),
)
