"""HY375: the mask of Keras on a tensor that a function gets or gives, which a graph loses."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.keras.masks import is_supporting, masks
from hybridize.tracing.returns.results import returns, site
from hybridize.tracing.views import FrameView, FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """A mask that somebody made and somebody else reads, with the border of the graph between them."""
    known = masks(function.project)
    if not function.facts.may_be_hybrid or not known.any:
        return
    for view in function.views():
        hit = _gets(function, view) or _gives(function, view)
        if hit is not None:
            yield hit
            return


def _gets(function: FunctionView, view: FrameView) -> Hit | None:
    """What reads the mask of an argument."""
    known = masks(function.project)
    for token, read in known.read(view.frame).items():
        if isinstance(token, int):
            made = known.maker(view.frame, token)
            opened = _is_open(function, view) and any(map(is_supporting, view.frame.args[0]))
            if made is not None or opened:
                name = function.code.params[token].name
                message = (
                    f"`{name}` {'carries' if made is not None else 'may carry'} a mask of Keras: a graph gets none"
                )
                return Hit(function.code.line << 16, message, evidence=(made, read) if made is not None else (read,))
    return None


def _gives(function: FunctionView, view: FrameView) -> Hit | None:
    """What reads the mask of the result."""
    known = masks(function.project)
    for instr in returns(view.frame, view):
        made = next(filter(None, (known.maker(view.frame, t) for t in known.carried(view.frame, instr.value))), None)
        read = known.reader(view.frame) if made is not None else None
        if made is not None and (read is not None or _is_open(function, view)):
            message = "returns a tensor with a mask of Keras: a graph gives none"
            steps = (site(view, instr, message), made, *((read,) if read is not None else ()))
            return Hit(instr.position, message, evidence=steps)
    return None


def _is_open(function: FunctionView, view: FrameView) -> bool:
    """Whether others call a layer or model, on what they like, and train it."""
    frame = view.frame
    others = any(caller is None or (pos, frame) not in caller.calls for caller, pos in frame.incoming)
    return others and function.project.contracts.override(function.code) is not None


RULE = Rule(
    code="HY375",
    name="lost-mask",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Gets or gives a tensor with a mask of Keras, which is lost at the border of a graph.",
    act="pass the mask as an argument (`mask=`), or decorate what makes it and reads it together",
    details="""`Embedding(mask_zero=True)` and `Masking` put a mask on the tensor that they give, other layers hand it
on, and recurrent layers, attention, average pooling and losses read it. It is an attribute of that very tensor. A graph
computes on tensors of its own and gives back new ones, so that the mask gets neither in nor out: padding is computed
with like data, and nothing says so. Inside of one graph masks work as in eager code. `fit` and `evaluate` read the mask
of what a model returns, for the loss. A layer with `supports_masking = True` gets the mask of its own input back on its
result, where Keras calls it.""",
    level=Level.WARNING,
    root=scan,
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
embed = tf.keras.layers.Embedding(3, 1, mask_zero=True)
embed.build([None])
embed.set_weights([np.array([[5.0], [1.0], [2.0]])])
pool = tf.keras.layers.GlobalAveragePooling1D()
def target(x):
    return pool(x)
r1 = target(embed(tf.constant([[1, 2, 0]])))
""",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
embed = tf.keras.layers.Embedding(3, 1, mask_zero=True)
embed.build([None])
embed.set_weights([np.array([[5.0], [1.0], [2.0]])])
double = tf.keras.layers.Activation(lambda x: x * 2.0)
pool = tf.keras.layers.GlobalAveragePooling1D()
def target(ids):
    return double(embed(ids))
r1 = pool(target(tf.constant([[1, 2, 0]])))
""",
            line=9,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
embed = tf.keras.layers.Embedding(3, 1, mask_zero=True)
embed.build([None])
embed.set_weights([np.array([[5.0], [1.0], [2.0]])])
pool = tf.keras.layers.GlobalAveragePooling1D()
def target(ids):
    return pool(embed(ids))
r1 = target(tf.constant([[1, 2, 0]]))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
embed = tf.keras.layers.Embedding(3, 1, mask_zero=True)
embed.build([None])
embed.set_weights([np.array([[5.0], [1.0], [2.0]])])
pool = tf.keras.layers.GlobalAveragePooling1D()
def target(x, mask):
    return pool(x, mask=mask)
ids = tf.constant([[1, 2, 0]])
r1 = target(embed(ids), tf.not_equal(ids, 0))
"""
        ),
    ),
)
