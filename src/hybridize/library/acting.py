"""Operations that do something each time a graph runs, beside what they give.

Source: each run under a flag that its own first call takes away, eagerly and in a graph, with TensorFlow 2.15 and 2.21.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.session import cached
from hybridize.library.costs import applies, assigns

#: Checks that TensorFlow decides while it traces, of the static shape and the type.
_STATIC: Final = ("rank", "scalar", "shapes", "type", "integer", "proper_iterable", "same_float_dtype")
_CHECKS: Final = ("tf.debugging.", "tf.compat.v1.")
_WRITING: Final = ("tf.io.write_", "tf.random.Generator.")
_NAMES: Final = frozenset(
    "tf.print tf.Assert tf.debugging.Assert tf.debugging.check_numerics tf.debugging.assert_all_finite tf.py_function "
    "tf.numpy_function tf.compat.v1.py_func keras.backend.print_tensor tf.summary.scalar tf.summary.histogram "
    "tf.summary.image tf.summary.text tf.summary.audio tf.summary.write tf.summary.flush".split()
)
#: By the beginning of a class's name: the methods that change what it holds.
_METHODS: Final = {
    "tf.lookup.": "insert insert_or_assign remove erase",
    "tf.queue.": "enqueue enqueue_many dequeue dequeue_many dequeue_up_to close",
    "keras.metrics.": "update_state reset_state reset_states __call__",
    "tf.data.": "get_next get_next_as_optional",
}


@cached
def acts(name: str) -> bool:
    """Whether an operation checks, writes, draws or changes something, apart from variables that are assigned."""
    if name in _NAMES or name.startswith(_WRITING) or (applies(name) and not assigns(name)):
        return True
    owner, _, method = name.rpartition(".")
    if name.startswith(_CHECKS) and method.startswith("assert_"):
        return not method.removeprefix("assert_").startswith(_STATIC)
    return any(owner.startswith(of) and method in methods.split() for of, methods in _METHODS.items())
