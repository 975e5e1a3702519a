"""HY103: how often others call the objects of a class that a library exports is not in the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

SOLVER = """\
import tensorflow as tf
class {name}:
    def __init__(self):
        self.scale = tf.Variable(2.0)
    def target(self, x: tf.Tensor):
        return tf.reduce_sum(tf.exp(x) * self.scale)
def solve(x: tf.Tensor):
    return {name}().target(x)
{more}
"""
LOOP = "for _ in range(50):\n    solve(tf.ones([3]))\n"


def codes(tmp_path: Path, text: str, *, package: bool) -> set[str]:
    """What is said of the function `target`."""
    path = tmp_path / ("waves/__init__.py" if package else "program.py")
    path.parent.mkdir(exist_ok=True)
    if package:
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "waves"\n', encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True), repairs=False).functions
    return {each.code for each in next(f for f in found if f.facts.qualname.endswith("target")).statuses}


@pytest.mark.parametrize(
    ("name", "package", "more", "short"),
    [("Solver", True, "", False), ("_Solver", True, "", True), ("Solver", False, LOOP, True)],
)
def test_objects_that_others_make_may_live_long(
    name: str, package: bool, more: str, short: bool, tmp_path: Path
) -> None:
    assert ("HY103" in codes(tmp_path, SOLVER.format(name=name, more=more), package=package)) is short
