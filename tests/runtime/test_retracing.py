"""TensorFlow as the oracle of what is said of retracing: how often hybrid functions are traced before and after P4."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.cli import main

pytestmark = pytest.mark.tensorflow

TAIL = "print(target.experimental_get_tracing_count())\n"
#: A program, and the traces before and after `fix`.
PROGRAMS = {
    "sizes": ("    return tf.reduce_sum(x)\nfor n in range(1, 9):\n    target(tf.ones([n]))\n", 8, 1),
    "a dictionary": (
        "    return x['a'] * x['b']\nfor n in range(1, 9):\n    target({'a': tf.ones([n]), 'b': tf.constant(2.0)})\n",
        8,
        1,
    ),
    "a named tuple": (
        "    return x.a * 2.0\nimport collections\nP = collections.namedtuple('P', ['a'])\n"
        "for n in range(1, 9):\n    target(P(tf.ones([n])))\n",
        8,
        2,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fewer_traces(name: str, tmp_path: Path) -> None:
    body, before, after = PROGRAMS[name]
    program = tmp_path / "program.py"
    program.write_text("import tensorflow as tf\n@tf.function\ndef target(x):\n" + body + TAIL)
    assert traces(program) == before
    main(["fix", "-q", str(tmp_path)])
    assert traces(program) == after


def traces(program: Path) -> int:
    """What the program prints."""
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True, timeout=120)
    return int(done.stdout.split()[-1])
