"""TensorFlow as the oracle of what is said of retracing: how often hybrid functions are traced before and after P4."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
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


#: Runs programs one after the other, in one process.
EACH = "import runpy, sys\nfor name in sys.argv[1:]:\n    runpy.run_path(name)\n"


@pytest.mark.slow
def test_fewer_traces(tmp_path: Path) -> None:
    head = "import tensorflow as tf\n@tf.function\ndef target(x):\n"
    files = [tmp_path / f"program{i}.py" for i in range(len(PROGRAMS))]
    for file, (body, _, _) in zip(files, PROGRAMS.values(), strict=True):
        file.write_text(head + body + TAIL)
    assert traces(files) == [before for _, before, _ in PROGRAMS.values()]
    main(["fix", "-q", str(tmp_path)])
    assert traces(files) == [after for _, _, after in PROGRAMS.values()]


def traces(files: Sequence[Path]) -> list[int]:
    """What the programs print."""
    command = [sys.executable, "-c", EACH, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return [int(line) for line in done.stdout.split()]
