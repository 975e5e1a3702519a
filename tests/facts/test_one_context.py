"""What a call reads and changes is known whatever way it takes, though contexts were merged.

Every program here is solved with one context for each function, as large programs are: what its calls pass is joined.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_SETUP = """\
import functools
import tensorflow as tf


class Gain:
    def __init__(self, value):
        self.value = value

    @property
    def now(self):
        return self.value

    def times(self, x):
        return x * self.value

    def raised(self, x):
        return self.times(x)


def scaled(x, gain=None, twice=None):
    if gain is None and twice is None:
        return tf.exp(x) * 0.5
    elif gain is not None:
        return x * gain.value
    return x * twice.value * 2.0


def applied(gain, x):
    return gain.raised(x)


fixed = Gain(2.0)
moving = Gain(3.0)
"""

_DRIVER = """

def drive(target):
    x = tf.ones([3])
    found = [float(tf.reduce_sum(target(x)))]
    moving.value = 5.0
    found.append(float(tf.reduce_sum(target(x))))
    return found


others = [scaled(tf.ones([3]), moving), scaled(tf.ones([3]), None, moving), applied(moving, tf.ones([3]))]
"""

#: Each reads what changes: by the same functions, called in ways that are easily mistaken.
_TOGETHER = {
    "the object itself": "    return moving.times(x)",
    "an argument": "    return applied(moving, x)",
    "by keyword": "    return scaled(x, twice=moving)",
    "by default": "    def inner(y, gain=moving):\n        return gain.times(y)\n    return inner(x)",
    "in a tuple": "    for gain in (fixed, moving):\n        x = applied(gain, x)\n    return x",
    "in a list": "    for gain in [fixed, moving]:\n        x = gain.raised(x)\n    return x",
    "in a tuple, first": "    return sum([gain.raised(x) for gain in (moving, fixed)])",
    "in a list, first": "    return sum([applied(gain, x) for gain in [moving, fixed]])",
    "in turn": (
        "    found = x\n    for gain in (moving, fixed):\n        found = found + gain.raised(x)\n    return found"
    ),
    "as one of two": "    gain = moving if x.shape else fixed\n    return gain.raised(x)",
    "to a callback, first": "    return tf.nest.map_structure(lambda g: applied(g, x), [moving, fixed])[0]",
    "in a dict": "    return applied({'a': fixed, 'b': moving}['b'], x)",
    "unpacked": "    gain, _ = moving, fixed\n    return gain.raised(x)",
    "starred": "    return applied(*(moving, x))",
    "two stars": "    return scaled(**{'x': x, 'gain': moving})",
    "a partial": "    return functools.partial(applied, moving)(x)",
    "a lambda": "    return (lambda g: g.raised(x))(moving)",
    "a closure": "    gain = moving\n    def inner():\n        return gain.raised(x)\n    return inner()",
    "a bound method": "    act = moving.raised\n    return act(x)",
    "a property": "    return x * moving.now",
    "a callback": "    return list(map(lambda g: applied(g, x), [fixed, moving]))[1]",
    "getattr": "    return getattr(moving, 'raised')(x)",
    "chosen by a default": "    gain = None or moving\n    return applied(gain, x)",
    "chosen by a condition": "    return scaled(x, moving if len(x.shape) else None)",
    "a while": (
        "    n = 0\n    while n < 2:\n        gain = moving if n else fixed\n"
        "        x, n = gain.raised(x), n + 1\n    return x"
    ),
    "by a name that is bound again": "    gain = fixed\n    gain = moving\n    return applied(gain, x)",
    "after an exception": (
        "    gain = fixed\n    try:\n        gain = moving\n        gain.missing\n"
        "    except AttributeError:\n        return applied(gain, x)\n    return x"
    ),
    "out of a function": (
        "    def give(which):\n        return moving if which else fixed\n    return applied(give(True), x)"
    ),
    "out of a generator": (
        "    def give():\n        yield fixed\n        yield moving\n    return [applied(g, x) for g in give()][1]"
    ),
}


@pytest.fixture(autouse=True)
def _one_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridize.flow.solve.SMALL_LIMIT", 1)
    monkeypatch.setattr("hybridize.flow.contexts.SLOTS_BY_RECEIVER", 0)


def _program(body: str) -> str:
    return f"{_SETUP}\n\ndef target(x):\n{body}\n{_DRIVER}\n"


def _codes(tmp_path: Path, text: str, name: str = "target") -> set[str]:
    (tmp_path / "main.py").write_text(text)
    (found,) = [f for f in analyze([tmp_path], Config(jobs=1)).functions if f.facts.qualname == name]
    return {status.code for status in found.statuses}


@pytest.mark.parametrize("case", _TOGETHER)
def test_what_a_call_reads_in_any_way_is(tmp_path: Path, case: str) -> None:
    assert "HY602" in _codes(tmp_path, _program(_TOGETHER[case]) + "print(drive(target))\n")


@pytest.mark.tensorflow
@pytest.mark.parametrize("case", _TOGETHER)
def test_tensorflow_says_the_same(case: str) -> None:
    tf = pytest.importorskip("tensorflow")
    names: dict[str, Any] = {}
    exec(compile(_program(_TOGETHER[case]), "main.py", "exec"), names)
    eager = names["drive"](names["target"])
    names["moving"].value = 3.0
    graph = names["drive"](tf.function(names["target"]))
    assert eager != graph


_WALKS = """\
import tensorflow as tf

seen = []


def walk(tree, x, verbose=False):
    if verbose:
        seen.append(tree)
    for part in tree if isinstance(tree, tuple) else ():
        x = walk(part, x, not verbose)
    return tf.exp(x) * 2.0


def target(x):
    return walk(("a", ("b", "c")), x)


print(walk("d", tf.ones([3]), True), target(tf.ones([3])))
"""


def test_a_call_may_come_to_a_place_by_calls_of_the_same_function(tmp_path: Path) -> None:
    assert "HY003" in _codes(tmp_path, _WALKS)


_ASKS = """\
import numpy as np
import tensorflow as tf


def doubled(part):
    if isinstance(part, np.ndarray):
        return tf.exp(part) * 2.0
    return tf.exp(part) * 3.0


def both(first, second):
    return tf.nest.map_structure(doubled, [first, second])


def target(x):
    y = both({parts})
    return tf.sin(y[0]) + tf.cos(y[1]) + tf.exp(y[0] - y[1])


print(both(tf.ones([3]), tf.ones([3])), target(np.ones([3])))
"""


@pytest.mark.parametrize("parts", ["x, tf.ones([3])", "tf.ones([3]), x"])
def test_what_a_library_calls_for_each_part_is_asked_of_each(tmp_path: Path, parts: str) -> None:
    assert "HY347" in _codes(tmp_path, _ASKS.format(parts=parts))


_NOTES = """\
import tensorflow as tf

seen = []


def note(flag):
    if flag:
        seen.append(1)
    return 1.0


def target(x):
    return tf.exp(x) * tf.nest.map_structure(note, [{flags}])[0]


print(note(False), target(tf.ones([3])))
"""


@pytest.mark.parametrize("flags", ["True, False", "False, True", "True, True"])
def test_a_place_that_calls_several_times_gets_to_what_any_of_these_calls_does(tmp_path: Path, flags: str) -> None:
    assert "HY003" in _codes(tmp_path, _NOTES.format(flags=flags))


def test_and_to_nothing_that_none_of_them_does(tmp_path: Path) -> None:
    text = _NOTES.format(flags="False, False").replace("print(note(False)", "print(note(True)")
    assert "HY003" not in _codes(tmp_path, text)


_CHOICE = """\
import tensorflow as tf

seen = []


def build(n, given=None, other=None, deep=False):
    found = [] if given is None else [given]
    if other is not None:
        found = found + [other]
    if {condition}:
        parts = [tf.ones([3]) for _ in range(n)]
    else:
        seen.append(n)
        parts = [other if given is None else given, tf.ones([3])][other is None and given is None :]
    return tf.add_n(parts)


def target(x):
    return tf.exp(x) * build({passed}) + tf.sin(x)


print(build(2, tf.ones([3])), build(2, None, tf.ones([3]), True), target(tf.ones([3])), seen)
"""
#: A condition, and what a call passes: none of these runs what stands under its other answer.
_AWAY = {
    "both are None": ("(given is None) and (other is None)", "2"),
    "the first decides": ("given is None or other == 3", "2"),
    "neither is given": ("not (given is not None or other is not None)", "2, None"),
    "three of them": ("given is None and other is None and not deep", "2, deep=False"),
    "nested": ("given is None and (other is None or deep)", "2, None, None, True"),
    "one or the other": ("(given is None) if other is None else deep", "2"),
    "asked before": ("not (other is not None) and other is None", "2"),
}
#: Of these each may run it, and does.
_THERE = {
    "one is given": ("(given is None) and (other is None)", "2, None, x"),
    "the first decides": ("(given is None) and (other is None)", "2, x"),
    "another question": ("given is None and n == 3", "2"),
    "a flag": ("given is None and not deep", "2, deep=True"),
    "a list that grows": ("not found or (found.append(1) and deep)", "2, x"),
    "one or the other": ("(given is None) if other is None else deep", "2, None, x"),
    "negated": ("not (given is None and other is None)", "2"),
}


@pytest.mark.parametrize("case", _AWAY)
def test_a_call_stays_away_from_what_conditions_on_several_arguments_rule_out(tmp_path: Path, case: str) -> None:
    condition, passed = _AWAY[case]
    assert "HY003" not in _codes(tmp_path, _CHOICE.format(condition=condition, passed=passed))


@pytest.mark.parametrize("case", _THERE)
def test_and_gets_to_what_they_leave_open(tmp_path: Path, case: str) -> None:
    condition, passed = _THERE[case]
    assert "HY003" in _codes(tmp_path, _CHOICE.format(condition=condition, passed=passed))


_GROWS = """\
import tensorflow as tf

seen = []


def build(x, parts):
    if parts:
        parts.pop()
        if parts:
            return tf.exp(x)
        seen.append(1)
    return tf.exp(x) * 2.0


def target(x):
    return build(x, [1])


print(build(tf.ones([3]), []), target(tf.ones([3])), seen)
"""


def test_what_held_before_may_not_hold_again(tmp_path: Path) -> None:
    assert "HY003" in _codes(tmp_path, _GROWS)
