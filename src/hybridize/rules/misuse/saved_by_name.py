"""HY281: functions that Keras writes to files by their names."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The function is registered for files, or given with one."""
    found = function.project.contracts.saved.get(function.code)
    if found is not None:
        message = (
            f"{found.message}: Keras writes the name of a function, and the insides of a graph, which it cannot read"
        )
        # A helper that is only registered is never written: Keras writes what its objects keep.
        unkept = function.is_hybrid and function.code not in function.project.contracts.made_anew
        yield Hit(function.code.position, message, evidence=(found,), level=Level.INFO if unkept else None)


RULE = Rule(
    code="HY281",
    name="saved-by-name",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="Keras saves this function by its name, which it does not do for a graph.",
    details="""An activation, a loss or a metric that is a function is saved by its name, and found by it again when the
model is loaded: by `register_keras_serializable`, `custom_objects` or `get_custom_objects`. What `tf.function` makes
of it is an object of another class, which Keras writes as `{"module": "tensorflow.python.eager...", "class_name":
"Function"}` and cannot make anew: loading raises. Leave the function as it is; the model that runs it is a graph
already. Of a graph that is registered and that no object of Keras is seen to keep it is information, and of losses and
metrics beside files that are loaded with `compile=False`, or `.h5` files, which name them and nothing more.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.keras.utils.register_keras_serializable("shapes")
def bump(x):
    return tf.exp(-x * x)
layer = tf.keras.layers.Dense(2, activation=bump)
bump(tf.ones(2))
r1 = tf.keras.layers.Dense.from_config(layer.get_config()).units
""",
            target="bump",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tempfile
import tensorflow as tf
def bump(x):
    return tf.exp(-x * x)
layer = tf.keras.layers.Dense(2, activation=bump, kernel_initializer="ones")
model = tf.keras.Sequential([tf.keras.Input((2,)), layer])
bump(tf.ones(2))
path = tempfile.mkdtemp() + "/model.keras"
model.save(path)
r1 = tf.keras.models.load_model(path, custom_objects={"bump": bump})(tf.ones((1, 2)))
""",
            target="bump",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def bump(x):
    return tf.exp(-x * x)
tf.keras.utils.get_custom_objects().update({"bump": bump})
bump(tf.ones(2))
r1 = tf.keras.layers.Dense.from_config(tf.keras.layers.Dense(2, activation=bump).get_config()).units
""",
            target="bump",
            line=2,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def bump(x):
    return tf.exp(-x * x)
r1 = bump(tf.ones(2))
""",
            target="bump",
        ),
        Example(
            """\
import tensorflow as tf
@tf.keras.utils.register_keras_serializable("shapes")
class Scale(tf.keras.layers.Layer):
    def call(self, x):
        return tf.nn.relu(x) * 2.0
r1 = Scale()(tf.ones((1, 2)))
""",
            target="Scale.call",
        ),
    ),
)
