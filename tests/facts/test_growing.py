"""What a loop makes longer is of another size at each call: another Python int, another shape, one trace each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport
from hybridize.facts.model import Ternary

PROGRAM = """\
import tensorflow as tf
def mask(size, x):
    return tf.ones([size]) * tf.cast(x, tf.float32)
def same(size, x):
    return tf.ones([size]) * tf.cast(x, tf.float32)
def generate(prior, length):
    decoded = tf.constant([prior])
    other = tf.constant([prior])
    for i in range(min(2048, length)):
        m = mask(decoded.shape[1], decoded)
        same(other.shape[1], other)
        other = other + 1
        if i > 5:
            decoded = tf.concat([decoded, decoded[:, -1:]], -1)
        else:
            decoded = tf.concat([decoded, tf.cast(m[:, -1:], tf.int32)], -1)
    return decoded
generate([1, 2, 3], 20)
"""


def test_a_growing_dim_retraces(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    found = {f.facts.qualname: f.facts.retraces.value for f in analyze([tmp_path], Config()).functions}
    assert found["mask"] is Ternary.YES
    assert found["same"] is Ternary.NO


BODY = """\
    y = tf.nn.relu(x) * 2.0 + tf.exp(-x)
    for _ in range(12):
        y = tf.tanh(y) * 0.5 + x
    return tf.reduce_mean(y, axis=0, keepdims=True)
"""
ROWS = "tf.TensorSpec([None, 3], tf.float32)"
#: What a loop passes to `step(x)`, and the spec that one graph takes (None: any graph is traced once; "": no graph).
#: TensorFlow 2.21 counted one trace with the spec, and 20 or more with a bare decorator where there is one.
LOOPS: dict[str, tuple[str, str | None]] = {
    "longer by what it gives": ("x = tf.ones([1, 3])\nfor i in range(20):\n    x = tf.concat([x, step(x)], 0)\n", ROWS),
    "in a branch of a while": (
        "x = tf.ones([1, 3])\nwhile True:\n    r = step(x)\n    if float(r[0, 0]) > 5 or x.shape[0] > 20:\n"
        "        break\n"
        "    x = tf.concat((x, r), axis=0)\n",
        ROWS,
    ),
    "through a helper": (
        "def once(x):\n    r = step(tf.cast(x, tf.float32))\n    print(r.numpy()[0, 0])\n    return r\n"
        "x = tf.ones([1, 3])\nfor i in range(20):\n    x = tf.concat([x, once(x)], 0)\n",
        ROWS,
    ),
    "an array": (
        "a = np.ones([1, 3], np.float32)\nfor t in range(20):\n    r = step(tf.constant(a))\n"
        "    a = np.concatenate([a, np.ones([1, 3], np.float32)])\n",
        ROWS,
    ),
    "a stacked list": (
        "rows = [tf.ones([3])]\nfor i in range(20):\n    rows.append(step(tf.stack(rows))[0])\n",
        ROWS,
    ),
    "ever longer prefixes": ("d = tf.random.normal([30, 3])\nfor t in range(1, 30):\n    r = step(d[:t])\n", ROWS),
    "suffixes": (
        "d = tf.random.normal([4, 30])\nfor t in range(29):\n    r = step(d[:, t:])\n",
        "tf.TensorSpec([None, None], tf.float32)",
    ),
    "a body that a loop of operations runs": (
        "def body(i, x):\n    print(int(i))\n    return i + 1, tf.concat([x, step(x)], 0)\n"
        "tf.while_loop(lambda i, x: i < 20, body, [tf.constant(0), tf.ones([1, 3])])\n",
        ROWS,
    ),
    "a window": ("x = tf.ones([4, 3])\nfor i in range(20):\n    x = tf.concat([x[1:], step(x)], 0)\n", None),
    "batches": ("d = tf.random.normal([32, 3])\nfor i in range(0, 32, 4):\n    r = step(d[i:i + 4])\n", None),
    "rows": ("d = tf.random.normal([32, 3])\nfor i in range(32):\n    r = step(d[i])\n", None),
    "the last row": ("x = tf.ones([1, 3])\nfor i in range(20):\n    x = tf.concat([x, step(x[-1:])], 0)\n", None),
    "after the loop": (
        "x = tf.ones([1, 3])\nfor i in range(9):\n    x = tf.concat([x, x[:1]], 0)\nr = step(x)\n",
        None,
    ),
}
#: Functions that one graph cannot serve: they read the size, or take the list itself.
KEPT = {
    "reads the size": (
        "def step(x):\n    x = x + float(x.shape[0])\n" + BODY,
        "x = tf.ones([1, 3])\nfor i in range(1000):\n    x = tf.concat([x, step(x)], 0)\n",
    ),
    "takes the list": (
        "def step(xs):\n    x = tf.add_n(xs)\n" + BODY,
        "xs = [tf.ones([3])]\nfor i in range(1000):\n    xs.append(step(xs))\n",
    ),
}


HEAD = "import numpy as np\nimport tensorflow as tf\n"


def decided(programs: Iterable[str], folder: Path, config: Config) -> list[FunctionReport]:
    """What is said of `step` in each program."""
    for i, program in enumerate(programs):
        (folder / f"p{i:02}.py").write_text(HEAD + program, "utf-8")
    found = {f.facts.path: f for f in analyze([folder], config).functions if f.facts.qualname == "step"}
    return [found[path] for path in sorted(found)]


def test_one_graph_takes_what_a_loop_makes_longer(tmp_path: Path) -> None:
    programs = ["def step(x):\n" + BODY + calls for calls, _ in LOOPS.values()]
    reports = decided(programs, tmp_path, Config(all_safe=True))
    for (name, (_, spec)), report in zip(LOOPS.items(), reports, strict=True):
        arguments = () if spec is None else (("input_signature", f"[{spec}]"),)
        assert (report.decision.action, report.decision.arguments) == (Action.CONVERT_TO_HYBRID, arguments), name


def test_what_no_graph_takes_stays_eager(tmp_path: Path) -> None:
    reports = decided(map("".join, KEPT.values()), tmp_path, Config())
    for name, report in zip(KEPT, reports, strict=True):
        assert report.decision.action is Action.KEEP, name
        told = {s.name: s.message for s in report.statuses}
        assert "traced anew" in told.get("not-worth-it", "") or "many-arguments" in told, name


@pytest.mark.parametrize(
    ("begin", "turn", "grows"),
    [
        ("frames = []", "", True),
        ("frames = deque([], 4)", "", False),
        ("frames = deque([tf.ones(3)] * 4, maxlen=4)", "", False),
        ("frames = []", "if len(frames) == 4: frames.clear()", False),
        ("frames = []", "if len(frames) == 4: frames = []", False),
    ],
)
def test_what_never_holds_more_does_not_grow(tmp_path: Path, begin: str, turn: str, grows: bool) -> None:
    """Of lists that each turn makes longer HY106 is told as a warning; of sizes that nobody knows as information."""
    source = f"""
import tensorflow as tf
import numpy as np
from collections import deque
@tf.function
def step(x):
    for _ in range(20):
        x = tf.tanh(x)
    return x
def main():
    {begin}
    while True:
        frames.append(np.ones(3))
        print(step(np.stack(frames)))
        {turn}
main()
"""
    (tmp_path / "main.py").write_text(source, "utf-8")
    told = [found for found in analyze([tmp_path], Config()).findings if found.code == "HY106"]
    assert any(found.severity.value == "warning" for found in told) is grows
