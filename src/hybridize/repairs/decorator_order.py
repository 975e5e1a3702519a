"""HY810: `tf.function` on the wrong side of another decorator."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.decorators import decorated, name_of
from hybridize.repairs.source.text import end, start

#: Decorators that need the Python function: `tf.function` stands above them.
_INNER = frozenset({"custom_gradient"})


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """The decorator moves directly above `def`, or above those that need the Python function."""
    found = decorated(bench, cause)
    if found is None:
        return
    file, node, own = found
    rest = [each for i, each in enumerate(node.decorator_list) if i != own]
    place = next((i for i, each in enumerate(rest) if name_of(each) in _INNER), len(rest))
    order = [*rest[:place], node.decorator_list[own], *rest[place:]]
    if any("\n" in file.source(each) for each in order):
        raise NotOffered("a decorator is spread over lines")
    pairs = [(old, new) for old, new in zip(node.decorator_list, order, strict=True) if old is not new]
    edits = tuple(file.replace(old, file.source(new)) for old, new in pairs)
    first, last = start(node.decorator_list[0]), end(node.decorator_list[-1])
    # As it stands it raises: there is nothing that the change could break.
    said = "`tf.function` stands where the other decorators need it"
    yield Change(edits, said, None, spans=((file.path, first, last),))


REPAIR = Repair(
    code="HY810",
    name="decorators-in-order",
    removes=frozenset({"HY263"}),
    summary="`tf.function` moves to the side of the other decorators where it works.",
    details="""Above `@staticmethod`, `@classmethod` or `@property` the decorator gets what is no function and raises,
and so it does below `@tf.custom_gradient`. The decorators change places; each keeps its arguments.""",
    safety="Always safe: the program raises as it stands.",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
class Model:
    k = tf.constant(3.0)
    @tf.function
    @classmethod
    def scale(cls, x):
        for _ in range(12):
            x = tf.sin(x) * cls.k
        return x
try:
    r = Model.scale(tf.constant(1.0)).numpy()
except (TypeError, AttributeError) as error:
    r = None
""",
            """\
import tensorflow as tf
class Model:
    k = tf.constant(3.0)
    @classmethod
    @tf.function
    def scale(cls, x):
        for _ in range(12):
            x = tf.sin(x) * cls.k
        return x
try:
    r = Model.scale(tf.constant(1.0)).numpy()
except (TypeError, AttributeError) as error:
    r = None
""",
            function="Model.scale",
            output=True,
            changed=("*",),
        ),
        RepairExample(
            """\
import tensorflow as tf
@tf.custom_gradient
@tf.function(autograph=False)
def square(x):
    def grad(dy):
        return dy * 2.0 * x
    return x * x, grad
try:
    r = square(tf.constant(3.0)).numpy()
except Exception as error:
    r = None
""",
            """\
import tensorflow as tf
@tf.function(autograph=False)
@tf.custom_gradient
def square(x):
    def grad(dy):
        return dy * 2.0 * x
    return x * x, grad
try:
    r = square(tf.constant(3.0)).numpy()
except Exception as error:
    r = None
""",
            function="square",
            output=True,
            changed=("*",),
        ),
    ),
)
