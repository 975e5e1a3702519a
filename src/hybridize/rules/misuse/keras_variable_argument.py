"""HY257: variables of Keras 3 as arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Inst, LibInst, Obj
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.model import Evidence
from hybridize.facts.origins import definitions
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.library.dialect import ASSIGNS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.running.processes import may_have_keras_3, some_may_have_keras_3
from hybridize.tracing.views import FunctionView, ProjectView

#: Attributes of layers, models and optimizers that give their variables.
_VARIABLES: Final = frozenset(
    "variables trainable_variables non_trainable_variables weights trainable_weights non_trainable_weights kernel bias "
    "embeddings gamma beta".split()
)
_ASSIGNS: Final = ASSIGNS | {"apply_gradients", "apply"}
_STEPS: Final = 8


def scan(function: FunctionView) -> Iterator[Hit]:
    """Calls that pass variables of a Keras object, where the function assigns to them or a graph calls it."""
    if not some_may_have_keras_3(function.project):
        return
    changes = any(_assigns(frame) for frame in function.frames)
    hybrid = function.project.solution.world.hybrids
    for caller, pos, frame in function.called_by(DIRECT):
        if not (changes or caller.code in hybrid):
            continue
        bound = function.facts.kind.is_bound
        for i, param in enumerate(frame.code.params):
            if bound and i == 0:
                continue
            slot = argument_slot(caller, pos, i, param.name, bound=bound)
            if slot >= 0 and _from_keras(function.project, caller, slot):
                if not may_have_keras_3(function):
                    return
                said = f"`{param.name}` receives variables of Keras 3: in a graph they are only their values"
                here = Evidence(said, frame.code.path, frame.code.line)
                called = Evidence("called here", caller.code.path, pos >> 16)
                yield Hit(frame.code.position, said, evidence=(here, called))
                return


def _assigns(frame: Frame) -> bool:
    return not index_of(frame.code).attributes.keys().isdisjoint(_ASSIGNS)


def _from_keras(project: ProjectView, frame: Frame, slot: int) -> bool:
    known = definitions(frame.code)
    for _ in range(_STEPS):
        instr = known.get(slot)
        if instr is None:
            return _stored_from_keras(project, frame, slot)
        match instr:
            case ir.Copy() | ir.Item() | ir.Iter():
                slot = instr.source
            case ir.Global():
                return _stored_from_keras(project, frame, slot, instr.name)
            case ir.Attr():
                owners = frame.vals[instr.owner] or ()
                return instr.name in _VARIABLES and any(_is_keras(project, o) for o in owners)
            case _:
                return False
    return False


def _stored_from_keras(project: ProjectView, frame: Frame, slot: int, name: str = "") -> bool:
    """Whether the function stores variables of a Keras object in the global that it reads."""
    for instr in index_of(frame.code).flat if name else ():
        if isinstance(instr, ir.SetGlobal) and instr.name == name and instr.value != slot:
            made = definitions(frame.code).get(instr.value)
            if isinstance(made, ir.Attr) and made.name in _VARIABLES:
                return any(_is_keras(project, o) for o in frame.vals[made.owner] or ())
    return False


def _is_keras(project: ProjectView, obj: Obj) -> bool:
    if not isinstance(obj, (Inst, LibInst)):
        return False
    return any(name.startswith("keras.") for name in registry.mro_names(obj))


RULE = Rule(
    code="HY257",
    name="keras-variable-argument",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="let the function capture the layer or model instead, or pass `variable.value`",
    summary="A variable of Keras 3 as an argument is only its value within the graph.",
    details="""`tf.function` knows the variables of TensorFlow; those of Keras 3 (`layer.kernel`,
`model.trainable_variables`) it turns into tensors. `assign` on one raises, so does `apply_gradients`, and so does
passing them from one graph to another. Pass the layer or model, or use the variables from outside.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
layer = tf.keras.layers.Dense(1)
layer.build((None, 2))
def target(v):
    v.assign_add(tf.ones_like(v))
    return tf.reduce_sum(v) * 0.0
r1 = target(layer.kernel)
""",
            line=4,
            outcome=Outcome.RAISES,
            needs="keras>=3",
        ),
        Example(
            """\
import tensorflow as tf
layer = tf.keras.layers.Dense(1)
layer.build((None, 2))
def target(variables, x):
    for v in variables:
        v.assign(v * x)
    return x
def main():
    return target(layer.trainable_variables, tf.constant(2.0))
r1 = main()
""",
            line=4,
            outcome=Outcome.RAISES,
            needs="keras>=3",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
def target(v):
    v.assign_add(1.0)
    return v + 0.0
r1 = target(v)
"""
        ),
        Example(
            """\
import tensorflow as tf
layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
layer.build((None, 2))
def target(variables):
    return tf.add_n([tf.nn.l2_loss(v) for v in variables])
r1 = target(layer.trainable_variables)
"""
        ),
    ),
    known_problems="""It is information: of the two findings in projects that nobody had looked at one was wrong,
one overstated.""",
    reference="semantics.md R7; Keras 3",
)
