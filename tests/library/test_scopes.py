"""What `with` binds for TensorFlow's scopes, as 2.15 and 2.21 do: the name of a name scope, nothing of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_PROGRAM = """\
import tensorflow as tf
from tensorflow.python.framework import ops


class Part(tf.Module):
    @tf.function
    def run(self, x):
        with {scope} as found:
            return tf.exp(x), found


part = Part(name="a")
print(part.run(tf.ones([2]))[1].upper())
"""
SCOPES = {
    'tf.name_scope("a")': "str",
    'tf.compat.v1.name_scope("a")': "str",
    'tf.keras.backend.name_scope("a")': "str",
    'ops.name_scope("a")': "str",
    'tf.device("/cpu:0")': None,
    "tf.control_dependencies([])": None,
    "tf.init_scope()": None,
}


@pytest.mark.parametrize("scope", SCOPES)
def test_what_a_scope_binds(tmp_path: Path, scope: str) -> None:
    (tmp_path / "main.py").write_text(_PROGRAM.format(scope=scope))
    found = analyze([tmp_path], Config(jobs=1, cache=False)).findings
    told = [each.message for each in found if each.code in ("HY349", "HY350")]
    assert [said for said in told if "str" in said] == told
    assert bool(told) is (SCOPES[scope] == "str")
