"""HY372: a sparse tensor times a number, in a graph that a tape outside of it differentiates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import SPARSE
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.gradients.tapes import opening_tapes
from hybridize.tracing.views import FunctionView, ProjectView

_SCALES: Final = frozenset({"*", "/"})
_Scaling: TypeAlias = ir.Operator


def scan(function: FunctionView) -> Iterator[Hit]:
    """The scalings in the extent of a function that is called under tapes of others."""
    project = function.project
    if not function.facts.may_be_hybrid:
        return
    scaling = project.shared("scaled sparse tensors", lambda: _scalings(project))
    opening = opening_tapes(project) if scaling else []
    for frame in function.frames if opening else ():
        extent = project.extents.of(frame)
        tape = next((o for o in opening if _is_around(project, o, frame, extent)), None)
        if tape is None:
            continue
        for each in sorted(project.extents.frames(extent), key=lambda f: f.uid):
            for instr in scaling.get(each, ()):
                if project.symbolic.mask(each, instr.left):
                    said = "scales a sparse tensor by a number, of which no gradient can be computed"
                    here = Evidence(said, each.code.path, instr.position >> 16)
                    around = Evidence("a tape is open around the call", tape.code.path, tape.code.position >> 16)
                    yield Hit(instr.position, said, path=each.code.path, evidence=(here, around))


def _scalings(project: ProjectView) -> dict[Frame, list[_Scaling]]:
    found: dict[Frame, list[_Scaling]] = {}
    for code, frames in project.solution.frames.items():
        index = index_of(code)
        instrs: list[_Scaling] = [*index.of(ir.Binary), *index.of(ir.Inplace)]
        instrs = [i for i in instrs if i.operator in _SCALES]
        for frame in frames if instrs else ():
            scaled = [i for i in instrs if _is_sparse(frame, i.left) and _may_be_number(frame, i.right)]
            if scaled:
                found[frame] = scaled
    return found


def _is_sparse(frame: Frame, slot: int) -> bool:
    return any(isinstance(o, Tensor) and o.kind == SPARSE for o in frame.vals[slot] or ())


def _may_be_number(frame: Frame, slot: int) -> bool:
    return any(not isinstance(o, Tensor) or o.shape == () for o in frame.vals[slot] or ())


def _is_around(project: ProjectView, opener: Frame, frame: Frame, extent: int) -> bool:
    """Whether a function that opens a tape runs another, and is not run by it."""
    extents = project.extents
    return extents.has(extents.of(opener), frame) and not extents.has(extent, opener)


RULE = Rule(
    code="HY372",
    name="scaled-sparse",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A sparse tensor times a number, in a graph that a tape outside of it differentiates: the gradient fails.",
    act="scale the values: `tf.sparse.map_values(tf.multiply, x, scale)`, or `x.with_values(x.values * scale)`",
    details="""TensorFlow's gradient of `SparseTensor * number` (and `/`) fails: it looks the number up by the indices
of the sparse tensor. Eagerly a tape asks for it only if the sparse tensor depends on a variable, which features and
adjacency matrices do not. Of a graph that a tape has called, gradients are computed for all that came in, these
too: `params must be at least a vector`. Where the tape is opened inside of the graph nothing changes.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def target(x):
    return tf.sparse.sparse_dense_matmul(x * 0.5, w)
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(target(x))
    return tape.gradient(loss, w)
r1 = train(tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]]))
""",
            line=4,
        ),
        Example(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
class Model:
    def dropped(self, x, rate):
        kept = tf.sparse.retain(x, [True, False])
        return kept / (1.0 - rate)
    def __call__(self, x):
        return tf.sparse.sparse_dense_matmul(self.dropped(x, 0.5), w)
model = Model()
def target(x):
    return model(x)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(target(tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])))
r1 = tape.gradient(loss, w)
""",
            line=6,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def target(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sparse.sparse_dense_matmul(x * 0.5, w))
    return tape.gradient(loss, w)
r1 = target(tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]]))
"""
        ),
        Example(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def target(x):
    return tf.sparse.sparse_dense_matmul(tf.sparse.map_values(tf.multiply, x, 0.5), w)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(target(tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])))
r1 = tape.gradient(loss, w)
"""
        ),
    ),
    known_problems="""Any call in a function that opens a tape counts as made under it.""",
    reference="measured with TensorFlow 2.15 and 2.21 (`SparseDenseCwiseMul`)",
)
