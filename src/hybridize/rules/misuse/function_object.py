"""HY265: functions that are looked at as objects of Python."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.model import Evidence
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.callers.observers import COMPILED, observed
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The first places that look at the function as an object, or at what `tf.function` has made of a hybrid one."""
    if not function.facts.may_be_hybrid:
        return
    for place in observed(function.project, hybrid=function.is_hybrid).get(function.code, ())[:3]:
        message = f"is looked at as an object: {place.message}"
        here = Evidence(message, function.code.path, function.code.line)
        # Models that are compiled with a graph are most often saved by their weights, which is fine.
        level = Level.INFO if function.is_hybrid and place.subject == COMPILED else None
        yield Hit(place.line << 16, message, path=place.path, evidence=(here, place), level=level)


RULE = Rule(
    code="HY265",
    name="function-object",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="look at `f.python_function`, or decorate a function that nobody looks at",
    summary="The function is pickled, copied, saved by name or asked for what only a Python function has.",
    details="""A decorated function is an object of TensorFlow's, not a Python function. It has no `__code__`,
`__defaults__`, `__closure__`, `__globals__` or `__annotations__`, and as a method no `__self__` and `__func__`, nor
attributes that were set on it in the class; `inspect.isfunction`, `inspect.ismethod` and
`isinstance(f, types.FunctionType)` say no, and `typing.get_type_hints` finds none. It cannot be pickled
(`multiprocessing` and `joblib` do that), nor deeply copied with the object that holds it. Keras saves activations,
initializers and losses by class and name, and cannot load that again. Calling it, `__name__`, `inspect.signature`,
`functools.wraps` and `functools.partial` work. Decorate a function that nobody looks at, one that this one calls.""",
    root=scan,
    bad=(
        Example(
            """\
import copy
import tensorflow as tf
class Settings:
    def __init__(self, scale):
        self.scale = scale
def target(x):
    return x * 2.0
settings = Settings(target)
r1 = settings.scale(tf.constant(1.0))
r2 = copy.deepcopy(settings).scale(tf.constant(1.0))
""",
            line=10,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale=2.0):
    return x * scale
r1 = target(tf.constant(1.0))
r2 = target.__code__.co_argcount
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import inspect
import tensorflow as tf
class Model:
    def target(self, x):
        return x * 2.0
model = Model()
r1 = model.target(tf.constant(1.0))
r2 = [name for name, _ in inspect.getmembers(model, inspect.ismethod)]
""",
            target="Model.target",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2.0
layer = tf.keras.layers.Dense(1, activation=target)
r1 = layer(tf.ones((1, 2))).shape
saved = layer.get_config()
with tf.keras.utils.custom_object_scope({"target": target}):
    r2 = tf.keras.layers.Dense.from_config(saved).units
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import functools
import inspect
import tensorflow as tf
def logged(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner
def target(x, scale=2.0):
    return x * scale
def outer():
    calls = {target: logged(target)}
    return calls[target]
r1 = outer()(tf.constant(1.0))
r2 = outer().__name__, str(inspect.signature(target)), callable(target)
r3 = functools.partial(target, scale=3.0)(tf.constant(1.0))
"""
        ),
        Example(
            """\
import copy
import tensorflow as tf
class Model:
    def __init__(self):
        self.scale = 2.0
    def target(self, x):
        return x * self.scale
model = Model()
r1 = model.target(tf.constant(1.0))
copied = copy.deepcopy(model)
r2 = copied.target(tf.constant(1.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2.0
layer = tf.keras.layers.Dense(1, activation=target, kernel_initializer="ones")
r1 = target(tf.constant(1.0))
r2 = layer(tf.ones((1, 2)))
"""
        ),
    ),
    reference="",
)
