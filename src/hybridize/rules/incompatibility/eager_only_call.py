"""HY301: calls that work only on concrete tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Tensor, Value
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.facts.model import Evidence
from hybridize.facts.symbolic import OPERATION
from hybridize.library.dialect import ASSIGNS
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.returns.results import consumers, display, returns, site, taken
from hybridize.tracing.values import argument, own
from hybridize.tracing.views import FrameView, FunctionView

#: Methods of eager tensors that read their value.
_METHODS: Final = frozenset({"numpy", "item", "tolist", "to_list", "_numpy", "__array__", "cpu", "gpu"})
#: Functions that read the tensors they are given.
_FUNCTIONS: Final = frozenset(
    {
        "tf.make_tensor_proto",
        "keras.backend.get_value",
        "keras.ops.convert_to_numpy",
        "keras.utils.to_categorical",
        "keras.utils.array_to_img",
        "keras.utils.save_img",
    }
)
#: Calls that ask for eager execution, or do work of the host, whatever they are given.
_ALWAYS: Final = frozenset(
    {f"tf.train.Checkpoint.{name}" for name in ("save", "restore", "read", "write")}
    | {f"tf.train.CheckpointManager.{name}" for name in ("save", "restore_or_initialize")}
    | {f"keras.Model.{name}" for name in ("save_weights", "load_weights", "save", "export")}
    | {"keras.saving.save_model", "keras.saving.load_model", "tf.saved_model.save", "tf.saved_model.load"}
    | {"tf.data.Dataset.as_numpy_iterator", "keras.optimizers.Optimizer.set_weights"}
)
#: What makes an array of the value that it assigns.
_SETS: Final = "keras.backend.set_value"
#: Under Keras 3 these work in a graph in simple cases.
_SOMETIMES: Final = ("set_weights", "train_on_batch", "test_on_batch", "get_value")


#: Functions that assign to what they are given, as its own methods do.
_ASSIGNING: Final = frozenset(f"tf.compat.v1.{name}" for name in ASSIGNS)


def root(function: FunctionView) -> Iterator[Hit]:
    """A part of a variable (`v[0]`) that callers pass or get is assigned to: what a graph has of it knows none."""
    for view in function.views() if function.facts.may_be_hybrid else ():
        index, arrived = index_of(view.code), {param.slot for param in view.code.params}
        for instr in index.of(ir.Call):
            made = view.definition(instr.function)
            into = made.owner if isinstance(made, ir.Attr) and made.name in ASSIGNS else -1
            if not _ASSIGNING.isdisjoint(view.names(instr.function)):
                into = argument(instr, 0, "ref")
            kinds = {o.kind for o in view.value(into) if isinstance(o, Tensor)} - {VARIABLE}
            if index.original(into) in arrived and not kinds <= {NDARRAY}:
                said = "assigns to a part of a variable that its caller passes, which works only eagerly"
                yield Hit(instr.position, said, error="AttributeError")
        for given in returns(view.frame, view):
            for path, slot in display(view, given.value):
                use = _assigned(function, path) if _is_part(view, slot) else None
                if use is not None:
                    said = "returns a part of a variable, and a caller assigns to it, which works only eagerly"
                    yield Hit(given.position, said, error="AttributeError", evidence=(use,))


def _is_part(view: FrameView, slot: int) -> bool:
    """Whether a slot holds `v[i]` of a variable."""
    part = view.definition(index_of(view.code).original(slot))
    whole = view.value(part.source) if isinstance(part, ir.Item) else frozenset()
    return any(isinstance(o, Tensor) and o.kind == VARIABLE for o in whole)


def _assigned(function: FunctionView, path: tuple[object, ...]) -> Evidence | None:
    """Where a caller assigns to a part of the result."""
    for view, call, _ in consumers(function) or ():
        for use, slot, exact in taken(view, call.target, path):
            if isinstance(use, ir.Call):
                assigns = slot == argument(use, 0, "ref") and not _ASSIGNING.isdisjoint(view.names(use.function))
            else:
                assigns = isinstance(use, ir.Attr) and use.name in ASSIGNS
            if exact and assigns:
                return site(view, use, "a caller assigns to it here")
    return None


def _reads(index: Index, call: ir.Call) -> bool:
    """Whether a call is that of a method which reads the value of a tensor."""
    made = index.definitions.get(call.function)
    return isinstance(made, ir.Attr) and made.name in _METHODS


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A method or function that reads the value of a tensor that tracing makes symbolic."""
    func = instr.function
    made = view.definition(func)
    if isinstance(made, ir.Attr) and made.name in _METHODS:
        needs = own(view, made.owner, arrays=False, certain=False)
        if needs:
            said = f"uses `.{made.name}()`, which works only eagerly"
            yield Hit(instr.position, said, needs, end=made.position, error=_error(view.value(made.owner)))
        return
    for name in view.names(func):
        if name in _ALWAYS:
            yield Hit(instr.position, f"uses `{name}`, which works only eagerly")
            return
        if name in _FUNCTIONS:
            needs = 0
            for slot, _ in instr.arguments:
                needs |= view.symbolic(slot)
            if needs:
                yield Hit(instr.position, f"uses `{name}`, which works only eagerly", needs)
            return


def _error(owner: Value) -> str:
    """What a method that only eager tensors have raises: a variable has it in a graph, too."""
    kinds = {o.kind == VARIABLE for o in owner if isinstance(o, Tensor)}
    return "" if len(kinds) != 1 else "NotImplementedError" if kinds.pop() else "AttributeError"


def scan(view: FrameView) -> Iterator[Hit]:
    """What library models note as eager-only whatever it is given: Keras' loops, `get_weights` and the like."""
    for effect in view.frame.effects.values():
        if effect.kind == "eager_only" and not isinstance(effect.target, Tensor):
            mild = not view.project.versions.may_have_keras(2) and effect.detail.endswith(_SOMETIMES)
            level = Level.WARNING if mild else None
            hit = Hit(effect.position, f"uses `{effect.detail}`, which works only eagerly", OPERATION, level=level)
            if effect.detail != _SETS:
                yield hit
                continue
            needs = 0
            for instr in index_of(view.code).calls.get(effect.position, ()):
                needs |= view.symbolic(argument(instr, 1, "value"))
            if needs:
                yield replace(hit, needs=needs)
            if not needs & OPERATION:  # a number is assigned at each call, the one of the trace
                yield replace(hit, level=Level.INFO, subject=_SETS)


RULE = Rule(
    code="HY301",
    name="eager-only-call",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Uses something that works only eagerly.",
    act="tracing raises there; do this with what the function returns, outside of it",
    details="""A traced function computes on symbolic tensors: they have no value yet, so `.numpy()`, NumPy
functions, `list(t)` and the like raise, and so do Keras' own loops (`fit`, `predict`) and `get_weights`. Tensors
that existed before the trace stay concrete and are no problem. A part of a variable that is passed (`put(v[0], x)`) or
returned is a tensor, to which only eager code can assign: pass the variable and the index. A number that
`keras.backend.set_value` is given is assigned at each call, which is information. Compute with TensorFlow's
functions inside, and convert outside.""",
    triggers={ir.Call: Where(call, _reads, (_ALWAYS | _FUNCTIONS).__contains__)},
    frame=scan,
    root=root,
    bad=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable([1.0, 2.0])
def target(x):
    v.assign_add([x, x])
    return v[0]
target(tf.constant(3.0)).assign(5.0)
r1 = v.numpy()
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable([1.0, 2.0])
def target(part, x):
    part.assign(x * 2.0)
target(v[0], tf.constant(3.0))
r1 = v.numpy()
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.constant(float(x.numpy().sum()))
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def total(values):
    return values.numpy()
def target(x):
    doubled = x * 2
    return x + total(doubled)
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable([1.0, 2.0])
def target(x):
    v.assign_add([x, x])
    return v[0]
r1 = target(tf.constant(3.0)) * 2.0
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable([1.0, 2.0])
def target(whole, x):
    whole[0].assign(x * 2.0)
    whole.assign_add([0.0, 1.0])
target(v, tf.constant(3.0))
r1 = v.numpy()
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.reduce_sum(x)
r1 = target(tf.constant([1.0, 2.0])).numpy()
"""
        ),
        Example(
            """\
import tensorflow as tf
SIZES = tf.constant([2, 3])
def target(x):
    return x * SIZES.numpy()[0]  # a constant that existed before the trace
r1 = target(tf.constant([1, 2]))
"""
        ),
    ),
    known_problems="""Whether graphs are switched off (`tf.config.run_functions_eagerly`) is asked of the project's
own programs. A switch outside of it is not seen.""",
    reference="semantics.md R8",
)
