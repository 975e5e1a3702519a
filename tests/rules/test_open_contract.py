"""What a caller that is not seen could tell a graph by: evidence for how sure a conversion is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize import api
from hybridize.config import Config
from hybridize.facts.model import FunctionFacts
from hybridize.flow.frames import Frame
from hybridize.program.ir import Code
from hybridize.rules.scan import Scanner
from hybridize.tracing.callers.contract import open_contract
from hybridize.tracing.views import FunctionView

OPEN = {
    "another exception": (
        """\
def target(x, k=0):
    if k > 3:
        raise IndexError(k)
    return x * 2.0
""",
        "raises `IndexError`, which comes out of a graph as a `StagingError`",
    ),
    "a helper's exception": (
        """\
class Wrong(Exception):
    def __init__(self, k, want):
        super().__init__(k)
def check(k):
    if k > 3:
        raise Wrong(k, 3)
def target(x, k=0):
    check(k)
    return x * 2.0
""",
        "raises `Wrong`, which comes out of a graph as a `StagingError`",
    ),
    "a Python number": (
        """\
def target(x, k=0):
    return x * 2.0, 3
""",
        "returns a Python int, of which a tensor comes back",
    ),
    "its own list": (
        """\
rows = []
def target(x, k=0):
    y = x * 2.0
    return y, rows
""",
        "returns a container that existed before, of which another one comes back",
    ),
    "a layer": (
        """\
layer = tf.keras.layers.Dense(2)
def target(x, k=0):
    return layer(x) * 2.0
""",
        "gives its argument to a layer: with a symbolic tensor it builds a model",
    ),
    "a list and what may be an element of it": (
        """\
def target(x, k=(tf.ones(()), tf.zeros(()))):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * k[0] + k[1]
    return tape.gradient(y, x)
""",
        "derives by an argument what is computed from another one, which may hold the same tensor",
    ),
}
CLOSED = {
    "two tensors": """\
def target(x, k=tf.ones(())):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * k
    return tape.gradient(y, x)
""",
    "an exception that is kept": """\
def target(x, k=0):
    if k > 3:
        raise ValueError(k)
    return x * 2.0
""",
    "an exception that the function handles": """\
def target(x, k=0):
    try:
        if k > 3:
            raise IndexError(k)
    except IndexError:
        return x
    return x * 2.0
""",
    "a list that it makes": """\
def target(x, k=0):
    return [x * 2.0, None], {"a": x}
""",
}


def contract_of(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What `open_contract` says of the function `target` of a program."""
    found: list[str | None] = []
    view = Scanner.view

    def spied(self: Scanner, code: Code, frames: list[Frame], facts: FunctionFacts) -> FunctionView:
        made = view(self, code, frames, facts)
        if code.name == "target":
            said = open_contract(made)
            found.append(said.message if said is not None else None)
        return made

    monkeypatch.setattr(Scanner, "view", spied)
    (tmp_path / "program.py").write_text(f"import tensorflow as tf\n{source}r = target(tf.ones((2, 2)))\n")
    api.analyze([tmp_path], Config(all_safe=True), repairs=False)
    assert found
    return found[0]


@pytest.mark.parametrize(("source", "said"), OPEN.values(), ids=OPEN.keys())
def test_an_open_contract_is_told(source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert contract_of(source, tmp_path, monkeypatch) == said


@pytest.mark.parametrize("source", CLOSED.values(), ids=CLOSED.keys())
def test_a_closed_one_is_not(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert contract_of(source, tmp_path, monkeypatch) is None
