"""Code that runs once, since it takes away the flag that it asks for: a graph does at every call what its trace did.

Each answer is what a run says that compares calls of the method, eager and as a graph, with TensorFlow 2.15 and 2.21.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

_HEAD: Final = """import tensorflow as tf

FIRST = True
ALONE = True
CHOSEN = None

def chosen():
    global CHOSEN
    if CHOSEN is not None:
        return CHOSEN
    CHOSEN = True
    return CHOSEN

def positive(x):
    tf.debugging.assert_positive(x)

class Owner(tf.Module):
    def __init__(self):
        super().__init__()
        self.first = True
        self.v = tf.Variable([0.0])
        self.table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
        self.queue = tf.queue.FIFOQueue(10, [tf.float32])
        self.rng = tf.random.Generator.from_seed(1)
        self.metric = tf.keras.metrics.Mean()
        self.optimizer = tf.keras.optimizers.SGD(1.0)

    def held(self):
        return self.v
"""
_ONCE: Final = """        if self.first:
            {}
            self.first = False
        return tf.exp(x) * tf.sin(x)
"""
#: What happens at each run of the graph, and eagerly once.
_ACTS: Final = {
    "checks": "tf.debugging.assert_equal(x, 1.0)",
    "asserts": "tf.debugging.Assert(tf.reduce_all(x > 0.0), [x])",
    "finite": 'tf.debugging.check_numerics(1.0 / x, "m")',
    "prints": "tf.print(x)",
    "fills_table": "self.table.insert(tf.constant([1], tf.int64), x)",
    "fills_queue": "self.queue.enqueue(x)",
    "draws": "self.rng.normal([2])",
    "assigns": "self.v.assign_add(x)",
    "scatters": "self.v.scatter_add(tf.IndexedSlices(x, tf.constant([0])))",
    "feeds_metric": "self.metric.update_state(x)",
    "host": "tf.py_function(lambda t: t, [x], tf.float32)",
    "applies": "self.optimizer.apply_gradients([(x, self.v)])",
    "file": 'tf.io.write_file("f", tf.io.serialize_tensor(x))',
    "summary": 'tf.summary.scalar("a", tf.reduce_sum(x), step=1)',
    "helper": "positive(x)",
    "getter": "self.held().assign_add(x)",
    "makes_and_prints": "tf.print(x); self.w = tf.Variable(tf.ones([1]))",
    "makes_and_assigns": "self.w = tf.Variable(tf.ones([1])); self.w.assign(x)",
    "dictionary": 'tf.print({"v": self.v}.get("v"))',
}
#: What is decided while tracing, changes nothing, or makes a variable.
_HARMLESS: Final = {
    "rank": "tf.debugging.assert_rank(x, 1)",
    "shapes": 'tf.debugging.assert_shapes([(x, ("N",))])',
    "looks_up": "self.table.lookup(tf.constant([1], tf.int64))",
    "size": "self.size = x.shape[0]",
    "makes": "self.w = tf.Variable(tf.ones([1]))",
}
_OTHERWISE: Final = {
    "other_branch": """        if self.first:
            self.first = False
        else:
            x = x * 2.0
        return tf.exp(x) * tf.sin(x)
""",
    "assigned_later": """        if self.first:
            self.first = False
        else:
            self.v.assign_add(x)
        return tf.exp(x) * tf.sin(x)
""",
    "raises_later": """        if self.first:
            self.first = False
        else:
            raise ValueError
        return tf.exp(x) * tf.sin(x)
""",
    "read_before": """        begins = self.first
        if self.first:
            self.first = False
        if begins:
            x = x * 2.0
        return tf.exp(x) * tf.sin(x)
""",
    "global_read_before": """        global FIRST
        begins = FIRST
        if FIRST:
            FIRST = False
        if begins:
            x = x * 2.0
        return tf.exp(x) * tf.sin(x)
""",
    "asked_before": """        y = x * 2.0 if self.first else x
        if self.first:
            self.first = False
        return tf.exp(x) * tf.sin(y)
""",
    "other_branch_of_variable": """        if self.first is True:
            self.first = tf.Variable(tf.ones([1]))
        else:
            self.first.assign(x)
        return tf.exp(x) * tf.sin(x) * self.first
""",
    "early_return": """        if not self.first:
            return tf.exp(x) * tf.sin(x)
        self.first = False
        return x
""",
}
_THE_SAME: Final = {
    "global_that_the_first_call_chooses": """        return tf.exp(x) * tf.sin(x) if chosen() else x
""",
    "global_alone": """        global ALONE
        if ALONE:
            ALONE = False
        return tf.exp(x) * tf.sin(x)
""",
    "read_after": """        if self.first:
            self.first = False
        if not self.first:
            x = x * 2.0
        return tf.exp(x) * tf.sin(x)
""",
    "given_by_the_state": """        if self.first is True:
            held = self.first = tf.Variable(tf.ones([1]))
        else:
            held = self.first
        return tf.exp(x) * tf.sin(x) * held
""",
}
_BODIES: Final = {
    **{name: _ONCE.format(line) for name, line in (_ACTS | _HARMLESS).items()},
    **_OTHERWISE,
    **_THE_SAME,
}
_RIGHT: Final = [*_HARMLESS, *_THE_SAME]


@cache
def converted() -> frozenset[str]:
    """The methods that become graphs, each of an object of its own that a test calls."""
    methods = "".join(f"\n    def {name}(self, x):\n{body}" for name, body in _BODIES.items())
    calls = "".join(f"\ndef test_{n}():\n    o = Owner()\n    o.{n}(tf.ones([1]))\n" for n in _BODIES)
    with TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text('[project]\nname = "lib"\nversion = "1"\n', "utf-8")
        (Path(folder) / "lib.py").write_text(_HEAD + methods, "utf-8")
        (Path(folder) / "test_lib.py").write_text(f"import tensorflow as tf\nfrom lib import Owner\n{calls}", "utf-8")
        functions = analyze([Path(folder)], Config(all_safe=True)).functions
    return frozenset(
        f.facts.qualname.rpartition(".")[2] for f in functions if f.decision.action is Action.CONVERT_TO_HYBRID
    )


@pytest.mark.parametrize("name", _BODIES)
def test_what_is_meant_for_the_first_call_alone_is_no_graph(name: str) -> None:
    assert (name in converted()) is (name in _RIGHT)
