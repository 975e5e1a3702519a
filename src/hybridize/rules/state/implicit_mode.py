"""HY606: layers run in the mode that Keras hands on unseen, and a graph keeps the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.keras.modal import class_of, is_modal, is_told, modes_of, reads_mode, runs_layer, takes_mode
from hybridize.tracing.state.globals import TELLING
from hybridize.tracing.state.staleness import stale
from hybridize.tracing.state.writes import Place, writes_of
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

_PHASE: Final = TELLING["keras.backend.learning_phase"][0]
_SHOWN: Final = 3


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A layer that is called without its mode."""
    if reads_mode(view, instr):
        name = class_of(view.value(instr.function))
        what = f"a `{name}`" if name else "what may be a layer"
        yield Hit(
            instr.position,
            f"calls {what} without `training`: the graph keeps the mode of its first call",
            sure=bool(name),
        )


def passes(view: FrameView, position: int, callee: Frame) -> bool:
    """Whether the caller leaves the mode open, too."""
    return not is_told(view.project, view.frame, position, callee)


def confirm(project: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """The hits on functions that run in more than one mode, or between whose calls the learning phase is set."""
    set_late = bool(writes_of(project).at(_PHASE))
    frames = [_concerned(project, doubt) for doubt in doubts]
    asked: list[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]] = [
        (doubt.function, {_PHASE: each} if set_late and each else {})
        for doubt, each in zip(doubts, frames, strict=True)
    ]
    changed = stale(project, asked)
    answers: list[dict[Hit, Confirmed]] = []
    for doubt, concerned, places in zip(doubts, frames, changed, strict=True):
        evidence = modes_of(project, concerned).differ(seen=doubt.function.is_hybrid) if concerned else []
        unless = places[_PHASE].unless if _PHASE in places else ""
        if not evidence and _PHASE in places:
            where = sorted({(frame.code.path, pos >> 16) for frame, pos in writes_of(project).at(_PHASE)})
            evidence = [Evidence("the learning phase is set here", *each) for each in where[:_SHOWN]]
        answers.append({hit: Confirmed(tuple(evidence), unless) for hit in doubt.hits} if evidence else {})
    return answers


def _concerned(project: ProjectView, doubt: Doubt) -> list[Frame]:
    """The frames of a function that have hits; none where Keras passes it the mode, for which it has a graph each."""
    takes = takes_mode(project, doubt.function.code)
    frames = dict.fromkeys(frame for found in doubt.hits.values() for frame in found)
    return [frame for frame in frames if not (takes and runs_layer(project, frame))]


_IMPORTS: Final = """\
import tensorflow as tf
keras = tf.keras
x = tf.ones([4, 200])
"""
_BLOCK: Final = """\
class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.drop = keras.layers.Dropout(0.5)
    def call(self, x):
        return tf.nn.relu(self.drop(x))
"""
_MODEL: Final = """\
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def call(self, x, training=None):
        return self.block(x)
model = Model()
"""

RULE = Rule(
    code="HY606",
    name="implicit-mode",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    level=Level.INFO,
    summary="Calls layers without `training` where the mode is not always the same: the graph keeps the first one.",
    details="""`layer(x)` without `training=` runs in the mode of the layer around it, which Keras hands on unseen: by
`training=` of the outermost call, by `fit` and `evaluate`, and in Keras 2 by `set_learning_phase`. A graph is found
by the arguments alone, and keeps the mode in which it was traced: dropout stays on in evaluation, or never starts, and
batch normalization uses the wrong statistics. Under Keras 3 the first trace is that of the call which builds the model,
in inference mode. Give `call` a parameter `training`: Keras passes it, and each mode has a graph of its own.""",
    triggers={ir.Call: Where(scan, values=lambda _, value: is_modal(value))},
    passes=passes,
    confirm=confirm,
    bad=(
        Example(
            f"""\
{_IMPORTS}{_BLOCK}{_MODEL}\
r1 = tf.reduce_any(model(x, training=True) == 0.0)
r2 = tf.reduce_any(model(x, training=False) == 0.0)
r3 = tf.reduce_any(model(x, training=True) == 0.0)
""",
            target="Block.call",
            line=9,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            f"""\
{_IMPORTS}{_BLOCK}\
block = Block()
r1 = tf.reduce_any(block(x) == 0.0)
r2 = tf.reduce_any(block(x, training=True) == 0.0)
""",
            target="Block.call",
            line=9,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            f"""\
{_IMPORTS}\
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm = keras.layers.BatchNormalization()
        self.norm.build([None, 200])
    def scaled(self, x):
        return self.norm(x) * 2.0
    def call(self, x, training=None):
        return self.scaled(x)
model = Model()
r1 = model(x + 3.0, training=False)
r2 = model(x + 3.0, training=True)
""",
            target="Model.scaled",
            line=10,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            f"""\
{_IMPORTS}\
model = keras.Sequential([keras.layers.Dropout(0.5)])
def target(x):
    return tf.nn.relu(model(x))
r1 = tf.reduce_any(target(x) == 0.0)
keras.backend.set_learning_phase(1)
r2 = tf.reduce_any(target(x) == 0.0)
keras.backend.set_learning_phase(0)
""",
            line=6,
            outcome=Outcome.DIFFERS,
            needs="keras<3",
        ),
    ),
    good=(
        Example(
            f"""\
{_IMPORTS}{_BLOCK}{_MODEL}\
def target(x, training):
    return tf.reduce_any(model(x, training=training) == 0.0)
r1 = target(x, True)
r2 = target(x, False)
r3 = target(x, True)
"""
        ),
        Example(
            f"""\
{_IMPORTS}{_BLOCK}{_MODEL}\
def target(x):
    return tf.reduce_any(model(x) == 0.0)
r1 = target(x)
r2 = target(x)
"""
        ),
        Example(
            f"""\
{_IMPORTS}\
class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.drop = keras.layers.Dropout(0.5)
    def call(self, x, training=None):
        return tf.nn.relu(self.drop(x))
{_MODEL}\
r1 = tf.reduce_any(model(x, training=True) == 0.0)
r2 = tf.reduce_any(model(x, training=False) == 0.0)
""",
            target="Block.call",
            needs="keras<3",  # Keras 3 makes one more graph to build the layer
        ),
        Example(
            f"""\
{_IMPORTS}{_BLOCK}\
block = Block()
r1 = tf.reduce_any(block(x) == 0.0)
r2 = tf.reduce_any(block(x, training=False) == 0.0)
""",
            target="Block.call",
        ),
    ),
    known_problems="""Which calls share a trace is not looked at: `fit` on batches of unknown shape has another graph
than `evaluate` on known ones, and each is in its own mode. So it is information: of 22 findings that were read as
errors 8 were true, and may be right all the same where no code but tests is seen to call the layer.""",
    reference="semantics.md R22",
)
