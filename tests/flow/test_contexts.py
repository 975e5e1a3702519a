"""Contexts: what arrives at a function is kept apart for each of its callers where that is affordable."""

from __future__ import annotations

from pathlib import Path

from hybridize.facts.functions.collect import Collector, FactOptions
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program
from hybridize.source import ImportTable, discover, find_src_roots

LAYERS = """
import tensorflow as tf

class Scale(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units))

    def call(self, x):
        return tf.matmul(x, self.w)

"""


def parameter_types(folder: Path, text: str) -> dict[str, list[tuple[int, ...] | None]]:
    """The shapes of the first parameter of every function of a program, by the function's name."""
    (folder / "main.py").write_text(text, "utf-8")
    found = discover([folder])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    collector = Collector(Solver(program, FlowOptions()).solve_entries(), FactOptions())
    return {
        code.name: [t.shape for p in collector.facts(module, code).parameters[:1] for t in p.tensor_types]
        for module, code in program.functions()
    }


def test_many_instances_of_a_layer_have_weights_of_their_own(tmp_path: Path) -> None:
    """Twelve layers of one class, at twelve places, of twelve widths."""
    uses = "".join(f"def use{n}(y):\n    return y\nuse{n}(Scale({n})(tf.ones((2, 3))))\n" for n in range(1, 13))
    shapes = parameter_types(tmp_path, LAYERS + uses)
    assert {n: shapes[f"use{n}"] for n in range(1, 13)} == {n: [(2, n)] for n in range(1, 13)}


def test_a_decorator_keeps_what_it_wraps_apart(tmp_path: Path) -> None:
    """Twelve functions under one decorator of the project: none gets another's arguments."""
    text = """
import functools
import tensorflow as tf

def logged(message):
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapped
    return decorate
"""
    uses = "".join(f"@logged('{n}')\ndef use{n}(y):\n    return y\nuse{n}(tf.ones((2, {n})))\n" for n in range(1, 13))
    shapes = parameter_types(tmp_path, text + uses)
    assert {n: shapes[f"use{n}"] for n in range(1, 13)} == {n: [(2, n)] for n in range(1, 13)}
