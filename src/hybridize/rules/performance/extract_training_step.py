"""HY110: a training step written into a loop of code that cannot become a graph as a whole."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from hybridize.domain.places import line_words
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.library.costs import applies, differentiates
from hybridize.program.index import index_of
from hybridize.records import dataclass
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source.bindings import reads
from hybridize.source.syntax import walk
from hybridize.tracing.views import ProjectView

_UPDATES: Final = (".assign", ".assign_sub", ".assign_add")
_MOST_NAMES: Final = 6
#: What a graph may do: it makes no difference where a step stands.
_IN_GRAPHS: Final = "create_variable"
#: Lines from, to.
Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """The statements of a training step: lines, what they need from the loop around, what later code uses of them.

    `without` are the lines among them that Python does, and which stay in the loop.
    """

    first: int
    last: int
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    without: tuple[Span, ...] = ()


def scan(project: ProjectView) -> Iterator[Hit]:
    """Gradients that are computed and applied by a loop's own body; which functions stay eager, the plan knows."""
    seen: set[tuple[str, int]] = set()
    for code, frames in project.solution.frames.items():
        if code.is_class or code in project.solution.world.hybrids:
            continue
        for frame in frames:
            for start in _gradients(frame):
                if (code.path, start) not in seen:
                    seen.add((code.path, start))
                    yield from _hit(project, frame, start)


def _gradients(frame: Frame) -> list[int]:
    """The positions in loops where gradients are computed, in functions that update variables in loops, too."""
    looped = index_of(frame.code).looped if frame.ops else frozenset()
    inside = [(pos, name) for pos, name in frame.ops.items() if pos in looped]
    if not any(applies(name) or name.endswith(_UPDATES) for _, name in inside):
        return []
    return sorted(pos for pos, name in inside if differentiates(name))


def _hit(project: ProjectView, frame: Frame, pos: int) -> Iterator[Hit]:
    tree = project.module(frame.code.path)
    updates = [p >> 16 for p, name in frame.ops.items() if applies(name) or name.endswith(_UPDATES)]
    step = _step(tree, pos >> 16, updates, frame) if tree is not None else None
    if step is None:
        return
    cells = project.cells(frame.code.path)
    lines = line_words(step.first, step.last, cells)
    if step.without:
        lines += f" without {' and '.join(line_words(*span, cells) for span in step.without[:_MOST_NAMES])}"
    signature = f"train_step({', '.join(step.takes[:_MOST_NAMES])})"
    returned = f" and returns `{', '.join(step.gives[:_MOST_NAMES])}`" if step.gives else ""
    message = f"a training step runs eagerly: move {lines} into a hybrid function `{signature}`"
    said = Evidence(
        f"`{signature}` holds {lines}{returned}; decorate it with `tf.function`", frame.code.path, step.first
    )
    yield Hit(step.first << 16, message, evidence=(said,), path=frame.code.path, end=step.last << 16)


def _step(tree: ast.Module, line: int, updates: Sequence[int], frame: Frame) -> Step | None:
    """The statements around a gradient, in the innermost loop that also updates variables."""
    found: Step | None = None
    outer: list[ast.For | ast.While] = []
    for node in walk(tree):  # outer loops come before inner ones
        if isinstance(node, (ast.For, ast.While)) and _holds(node, line):
            inside = [u for u in updates if _holds(node, u) and u >= line]
            if inside:
                outer.append(node)
                found = _cut(node, outer, (line, min(inside)), tree, frame) or found
    return found


def _cut(
    loop: ast.For | ast.While, loops: list[ast.For | ast.While], places: Span, tree: ast.Module, frame: Frame
) -> Step | None:
    block = _block(loop.body, *places)
    if block is None:
        return None
    begin, end = block[0].lineno, block[-1].end_lineno or block[-1].lineno
    left = _left(block, frame)
    without = tuple(_joined((each.lineno, each.end_lineno or each.lineno) for each in left))
    around = dict.fromkeys(
        name.id
        for each in loops
        for name in walk(each)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and not begin <= name.lineno <= end
    )
    needed, stays = reads(block).needed, {node for each in left for node in walk(each)}
    moved = [n for s in block for n in walk(s) if n not in stays]
    takes = tuple(name for name in _in_order(moved) if name in around and name in needed)
    later = {
        n.id
        for n in walk(tree)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and (n.lineno > end or n in stays)
    }
    gives = tuple(name for name in _in_order(moved, ast.Store) if name in later)
    return Step(begin, end, takes, gives, without)


def _left(block: Sequence[ast.stmt], frame: Frame) -> list[ast.stmt]:
    """The largest statements of a step that only do what a graph cannot: they compute nothing with tensors."""
    computed = {pos >> 16 for pos in frame.ops}
    effects = {effect.position >> 16 for effect in frame.effects.values() if effect.kind != _IN_GRAPHS}
    found: dict[ast.stmt, None] = {}
    for line in sorted(effects):
        around = [n for s in block if _holds(s, line) for n in walk(s) if isinstance(n, ast.stmt) and _holds(n, line)]
        alone = (n for n in around if not any(_holds(n, each) for each in computed))
        found |= dict.fromkeys(around and [next(alone, around[-1])])
    return list(found)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Lines in order, those that touch each other as one."""
    last: Span | None = None
    for span in sorted(spans):
        if last is not None and span[0] > last[1] + 1:
            yield last
            last = None
        last = span if last is None else (last[0], max(last[1], span[1]))
    if last is not None:
        yield last


def _block(body: Sequence[ast.stmt], line: int, update: int) -> Sequence[ast.stmt] | None:
    """The statements from what records a gradient to an update, in a block or in that of a condition within it."""
    first = next((i for i, s in enumerate(body) if _holds(s, line)), None)
    last = next((i for i, s in enumerate(body) if _holds(s, update)), None)
    if first is None or last is None:
        return None
    only = body[first]
    if first == last and isinstance(only, ast.If):
        inner = (_block(each, line, update) for each in (only.body, only.orelse))
        found = next((each for each in inner if each is not None), None)
        if found is not None:
            return found
    while first > 0 and not any(_records(s) for s in body[first : last + 1]):
        first -= 1
    block = body[first : last + 1]
    return block if any(map(_records, block)) else None


def _in_order(nodes: Iterable[ast.AST], context: type[ast.expr_context] = ast.expr_context) -> list[str]:
    """The names among some nodes, in the order in which each stands first."""
    names = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, context)]
    return list(dict.fromkeys(name.id for name in sorted(names, key=lambda n: (n.lineno, n.col_offset))))


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _records(statement: ast.stmt) -> bool:
    """Whether a statement opens a gradient tape or hands the loss to an optimizer."""
    return any(isinstance(n, ast.Attribute) and n.attr in ("GradientTape", "minimize") for n in walk(statement)) or any(
        isinstance(n, ast.Name) and n.id == "GradientTape" for n in walk(statement)
    )


RULE = Rule(
    code="HY110",
    name="extract-training-step",
    category=Category.PERFORMANCE,
    outcome=Outcome.SLOWS,
    summary="A training step is written into a loop at module level or in a function that cannot become a graph.",
    details="""The training step is where a graph gains most: forward pass, gradients and updates are many small
operations. In the body of a loop, among printing and logging, nothing can be decorated. Move the lines into a
function of their own that takes the batch and returns the loss, decorate that function, and call it in the loop.
What Python does among them (`.numpy()`, messages, lists that grow) stays in the loop.
`fix` does so (HY818) in functions that are called
once, where nobody can see a difference, `fix --unsafe-fixes` elsewhere.""",
    level=Level.INFO,
    blocks=frozenset(),
    project=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.1)
for x in tf.data.Dataset.range(3):
    x = tf.cast(x, tf.float32)
    with tf.GradientTape() as tape:
        loss = tf.square(w * x - 1.0)
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))
    print(float(loss))
""",
            line=6,
            outcome=Outcome.SLOWS,
        ),
        Example(
            """\
import tensorflow as tf
def main(steps):
    w = tf.Variable(1.0)
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.square(w - 1.0)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        print(step, float(loss))
main(3)
""",
            target="train_step",
            line=5,
            outcome=Outcome.SLOWS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
w = tf.Variable(1.0)
def target(x):
    with tf.GradientTape() as tape:
        loss = tf.square(w * x - 1.0)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss
for x in tf.data.Dataset.range(3):
    print(float(target(tf.cast(x, tf.float32))))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    w = x
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.square(w - 1.0)
        w = w - 0.1 * tape.gradient(loss, w)
    return w
r = target(tf.constant(3.0))
"""
        ),
    ),
    reference="semantics.md, What is worth decorating",
)
