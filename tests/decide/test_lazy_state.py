"""State that is made at the first call: as a graph it is made while tracing, and a tensor would be one of the trace."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

_LAYER = """
    import tensorflow as tf
    {imports}

    class Lazy(tf.Module):
        def __init__(self):
            super().__init__()
            self.initialized, self.biases = False, None

        def ensure(self, x):
            if not self.initialized:
                self.initialize(x)
                self.initialized = True

        def initialize(self, x):
            self.biases = {made}

        def __call__(self, x: tf.Tensor):
            self.ensure(x)
            for _ in range(30):
                x = tf.cos(tf.matmul(x, x))
            return x + self.biases

    layer = Lazy()
    for x in tf.data.Dataset.from_tensor_slices(tf.ones([2000, 4, 4])):
        print(layer(x))
    """


@pytest.mark.parametrize(
    ("imports", "made", "hybrid"),
    [
        ("", "tf.Variable(tf.zeros([4]))", True),
        ("", "tf.random.normal([4])", False),
        ("from initializers import normal", "normal(x.dtype)", False),
    ],
)
def test_what_is_kept_at_the_first_call_is_no_tensor(tmp_path: Path, imports: str, made: str, hybrid: bool) -> None:
    """Of a function that nobody can follow, it may be one."""
    source = textwrap.dedent(_LAYER.format(imports=imports, made=made))
    (tmp_path / "main.py").write_text(source, "utf-8")
    report = analyze([tmp_path], Config(all_safe=True))
    (call,) = [f for f in report.functions if f.facts.qualname == "Lazy.__call__"]
    assert (call.decision.action is Action.CONVERT_TO_HYBRID) is hybrid
