"""What `--all-safe` leaves eager although it passes P1: what graphs around it, or code that nobody knows, may make wrong."""

from __future__ import annotations

import textwrap
from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport


def functions(tmp_path: Path, source: str) -> dict[str, FunctionReport]:
    (tmp_path / "program.py").write_text(textwrap.dedent(source))
    return {f.facts.qualname: f for f in analyze([tmp_path], Config(all_safe=True)).functions}


def is_converted(function: FunctionReport) -> bool:
    return function.decision.action is Action.CONVERT_TO_HYBRID


PASSED_ON = """
    import tensorflow as tf

    def clipped(x):
        return tf.clip_by_value(tf.abs(x), 0.0, 1.0) * 2.0

    def loss(x):
        return tf.reduce_sum(tf.square(clipped(x)))

    for _ in range(3):
        v = {made}
        with tf.GradientTape() as tape:
            y = loss(v)
"""


def test_a_graph_gets_no_variable_from_another_graph(tmp_path: Path) -> None:
    found = functions(tmp_path, PASSED_ON.format(made="tf.Variable([1.0, 2.0])"))
    assert is_converted(found["loss"])
    assert not is_converted(found["clipped"])
    assert [status.code for status in found["clipped"].statuses] == ["HY010"]


def test_a_graph_may_get_a_tensor_from_another_graph(tmp_path: Path) -> None:
    found = functions(tmp_path, PASSED_ON.format(made="tf.ones([2])"))
    assert is_converted(found["loss"])
    assert is_converted(found["clipped"])


UNFOLLOWED = """
    import tensorflow as tf

    from gates import opened

    def gate(x):
        return {called}(tf.sin(x) + 1.0) * tf.cos(x)

    gate(tf.ones([2]))
"""


def test_a_call_that_nobody_can_follow_keeps_a_function_eager(tmp_path: Path) -> None:
    gate = functions(tmp_path, UNFOLLOWED.format(called="opened"))["gate"]
    assert not is_converted(gate)
    assert [status.code for status in gate.statuses] == ["HY027"]


def test_a_call_that_is_known_does_not(tmp_path: Path) -> None:
    assert is_converted(functions(tmp_path, UNFOLLOWED.format(called="tf.tanh"))["gate"])


def test_a_file_that_keras_may_run_on_another_backend_stays_as_it_is(tmp_path: Path) -> None:
    source = "import keras\n\ndef twice(x):\n    return keras.ops.sin(x) * 2\n\ntwice(keras.ops.ones([2]))\n"
    assert not is_converted(functions(tmp_path, source)["twice"])
