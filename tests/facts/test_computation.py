"""Whether functions compute with TensorFlow, where nothing calls them."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import Ternary

SOURCE = """
import functools
import tensorflow as tf

def wave(x, times=0):
    if times > 0:
        x = tf.sin(x)
    return x

def jitter(image, brightness=0, contrast=0):
    changes = []
    if brightness > 0:
        changes.append(functools.partial(tf.image.random_brightness, max_delta=brightness))
    for change in changes:
        image = change(image)
    return image

def named(x, name=None):
    if name is None:
        name = "x"
    return name

def checked(x, times=0):
    if times < 0:
        raise ValueError("{}".format(times))
    return x

def asked(x, times=0):
    if times > 0:
        x = tf.sin(x)
    return x

@tf.function
def relay(x, log=False):
    if log:
        tf.print(x)
    return x

asked(tf.ones(3))
"""


def test_branches_that_no_default_takes_may_compute(tmp_path: Path) -> None:
    (tmp_path / "waves.py").write_text(SOURCE)
    report = analyze([tmp_path], Config(cache=False))
    found = {f.facts.qualname: f for f in report.functions}
    computes = {name: f.facts.tensor_computation.value for name, f in found.items()}
    # Of a function that nothing calls, callers may take what the defaults do not; of one that is called, calls decide.
    assert computes == {
        "wave": Ternary.UNKNOWN,
        "jitter": Ternary.UNKNOWN,
        "named": Ternary.NO,
        "checked": Ternary.NO,
        "asked": Ternary.NO,
        "relay": Ternary.UNKNOWN,
    }
    (said,) = [s.message for s in found["wave"].statuses if s.code == "HY006"]
    assert (
        said == "not known whether it computes with TensorFlow: no call is seen to take this branch, which may compute"
    )
    assert {s.code for s in found["jitter"].statuses}.isdisjoint({"HY005"})
    assert found["relay"].decision.precondition is None  # no removal of what may compute
