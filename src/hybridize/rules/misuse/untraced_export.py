"""HY275: hybrid functions that a saved model gets without a signature and without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Bound, Class, Container, Func, Inst, Value, Wrapper
from hybridize.facts.model import FunctionKind
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.ir import Code
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import option
from hybridize.tracing.views import FunctionView, ProjectView

_SAVE: Final = "tf.saved_model.save"
#: Where the signatures stand among the arguments.
_SIGNATURES: Final = 2
_DEPTH: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """`tf.saved_model.save` gets the function as a signature, or an object with it that nobody has called."""
    saves = _saves(function.project) if function.is_hybrid else []
    if not saves or option(function, "input_signature"):
        return
    if any(hazard.name == "graph-dependants" for hazard in function.facts.hazards):
        return  # somebody asks for its concrete function
    for frame, call in saves:
        slot = dict(call.keywords).get(
            "signatures", call.arguments[_SIGNATURES][0] if len(call.arguments) > _SIGNATURES else -1
        )
        if slot >= 0 and _holds(frame.vals[slot] or frozenset(), function.code, _DEPTH):
            said = f"`{function.code.name}` becomes a signature, and has no `input_signature`: that raises"
            yield Hit(call.position, said, path=frame.code.path)
        elif (
            call.arguments
            and _is_untraced(function)
            and _has(frame.vals[call.arguments[0][0]] or frozenset(), function.code)
        ):
            said = f"nothing has traced `{function.code.name}`: whoever loads the model cannot call it"
            yield Hit(call.position, said, path=frame.code.path, level=Level.WARNING)


def _saves(project: ProjectView) -> list[tuple[Frame, ir.Call]]:
    """The calls of `tf.saved_model.save` in a program."""
    return project.shared("saved models", lambda: list(_found(project)))


def _found(project: ProjectView) -> Iterator[tuple[Frame, ir.Call]]:
    frames = (frame for frames in project.solution.frames.values() for frame in frames if not frame.gone)
    for frame in frames:
        for position in {e.position for e in frame.effects.values() if e.detail == _SAVE}:
            for call in calls_at(frame.code, position):
                if _SAVE in project.names(frame.vals[call.function] or frozenset()):
                    yield frame, call


def _is_untraced(function: FunctionView) -> bool:
    """Whether no call of a method is seen."""
    if function.facts.kind is not FunctionKind.METHOD or function.code.name.startswith("__"):
        return False
    return not function.is_called


def _has(value: Value, code: Code) -> bool:
    """Whether a function is a method of the objects in a value."""
    classes = (cls for obj in value if isinstance(obj, Inst) for cls in obj.cls.mro)
    return any(isinstance(cls, Class) and code.parent is cls.code for cls in classes)


def _holds(value: Value, code: Code, depth: int) -> bool:
    """Whether a value is a function, bound, wrapped, or in a dictionary of signatures."""
    for obj in value:
        if isinstance(obj, Func) and obj.code is code:
            return True
        inner: list[Value] = []
        if isinstance(obj, Wrapper):
            inner = [obj.inner]
        elif isinstance(obj, Bound) and isinstance(obj.func, (Func, Wrapper)):
            inner = [frozenset((obj.func,))]
        elif isinstance(obj, Container):
            inner = [cell.value for cell in obj.fields.values()]
        if depth and any(_holds(each, code, depth - 1) for each in inner):
            return True
    return False


RULE = Rule(
    code="HY275",
    name="untraced-export",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="A saved model gets a hybrid function that has no signature and no trace.",
    details="""A saved model holds graphs, not Python: of a hybrid function those that were traced before it was saved,
or the one that its `input_signature` describes. Without either, the loaded function raises; one that is given as a
signature must have an `input_signature`, or be the result of `get_concrete_function`. Write
`@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])`.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tempfile
import tensorflow as tf
class Model(tf.Module):
    def __init__(self):
        self.v = tf.Variable(2.0)
    @tf.function
    def serve(self, x):
        return x * self.v
model = Model()
tf.saved_model.save(model, tempfile.mkdtemp(), signatures={"serving_default": model.serve})
r = model.v.numpy()
""",
            target="Model.serve",
            line=10,
        ),
        Example(
            """\
import tempfile
import tensorflow as tf
class Model(tf.Module):
    def __init__(self):
        self.v = tf.Variable(2.0)
    @tf.function
    def serve(self, x):
        return x * self.v
model, folder = Model(), tempfile.mkdtemp()
tf.saved_model.save(model, folder)
r = tf.saved_model.load(folder).serve(tf.constant(3.0))
""",
            target="Model.serve",
            line=10,
        ),
    ),
    good=(
        Example(
            """\
import tempfile
import tensorflow as tf
class Model(tf.Module):
    def __init__(self):
        self.v = tf.Variable(2.0)
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def serve(self, x):
        return x * self.v
model = Model()
tf.saved_model.save(model, tempfile.mkdtemp())
r = model.serve(tf.constant([3.0]))
""",
            target="Model.serve",
        ),
        Example(
            """\
import tempfile
import tensorflow as tf
class Model(tf.Module):
    def __init__(self):
        self.v = tf.Variable(2.0)
    @tf.function
    def serve(self, x):
        return x * self.v
model = Model()
r = model.serve(tf.constant([3.0]))
tf.saved_model.save(model, tempfile.mkdtemp())  # with the graph that the call has made
""",
            target="Model.serve",
        ),
    ),
    reference="TensorFlow's guide on saved models",
)
