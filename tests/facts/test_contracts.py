"""Who else has a say in a function: what a library that is overridden, a file or a class elsewhere makes of it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Final

import pytest

from hybridize.api import inputs_of
from hybridize.config import Config
from hybridize.facts.unknown.contracts import Contracts
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program

#: A program each that defines `f`, with words of the evidence that speaks against a graph; None where nothing does.
PROGRAMS: Final = {
    "a_function": ("def f(x): return x * 2\nf(tf.ones(2))", None),
    "a_method": ("class A:\n def f(self, x): return x * 2\nA().f(tf.ones(2))", None),
    "a_helper_of_a_model": ("class A(tf.keras.Model):\n def f(self, x): return x * 2", None),
    "call": ("class A(tf.keras.Model):\n def f(self, x): return x * 2\n call = f", None),
    "build": ("class A(tf.keras.layers.Layer):\n def f(self, x): return x * 2\n build = f", "Keras calls once"),
    "inside_of_build": (
        "class A(tf.keras.layers.Layer):\n def build(self, shape):\n  def f(x): return x * 2\n  self.w = f(tf.ones(2))",
        "a part of what overrides",
    ),
    "a_mixin": (
        "class A:\n def f(self, x): return x * 2\n build = f\nclass B(A, tf.keras.layers.Layer): pass",
        "overrides `keras.layers.Layer.build`",
    ),
    "no_mixin": ("class A:\n def f(self, x): return x * 2\nclass B(tf.keras.layers.Layer, A): pass", None),
    "an_unknown_base": ("from lib import Base\nclass A(Base):\n def f(self, x): return x * 2", "`lib.Base`"),
    "a_base_that_is_made": ("import lib\nclass A(lib.make()):\n def f(self, x): return x", "not known"),
    "its_own_name": (
        "from lib import Base\nclass A(Base):\n def __f(self, x): return x * 2\n def g(self, x): return self.__f(x)",
        None,
    ),
    "a_library_that_may_be_missing": (
        "try:\n from lib import Base\nexcept ImportError:\n Base = object\nclass A(Base):\n def f(self, x): return x",
        "`lib.Base`",
    ),
    "abstract": ("import abc\nclass A(abc.ABC):\n @abc.abstractmethod\n def f(self, x): return x * 2", "abstract"),
    "a_template": (
        "class A:\n def f(self, x): return self.g(x) * 2\n def g(self, x): raise NotImplementedError",
        "calls `g`",
    ),
    "a_template_that_is_filled": (
        "class A:\n def f(self, x): return self.g(x) * 2\n def g(self, x): raise NotImplementedError\n"
        "class B(A):\n def g(self, x): return x\nB().f(tf.ones(2))",
        None,
    ),
    "on_the_host": ("def f(x): return x * 2\ntf.py_function(f, [tf.ones(2)], tf.float32)", "as Python"),
    "a_gradient": (
        "@tf.custom_gradient\ndef g(x):\n def f(dy): return dy * x\n return x * 2, f\ng(tf.ones(2))",
        "for gradients",
    ),
    "given_away": ("import lib\ndef f(x): return x * 2\nlib.made().use(f)", "given to code"),
    "an_activation": ("def f(x): return x * 2\ntf.keras.layers.Dense(2, activation=f)", "keeps it"),
    "registered": ("@tf.keras.utils.register_keras_serializable()\ndef f(x): return x * 2", "names it for files"),
    "custom_objects": (
        "def f(x): return x * 2\nk = {'f': f}\ntf.keras.models.load_model('m.keras', custom_objects=k)",
        "names it for files",
    ),
    "get_custom_objects": (
        "def f(x): return x * 2\ntf.keras.utils.get_custom_objects()['f'] = f",
        "names it for files",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_speaks_against_a_graph(name: str, tmp_path: Path) -> None:
    source, words = PROGRAMS[name]
    (tmp_path / "program.py").write_text(f"import tensorflow as tf\n{textwrap.dedent(source)}\n")
    inputs = inputs_of([tmp_path], Config())
    program = build_program(inputs.files, inputs.imports, read=inputs.read)
    solver = Solver(program, FlowOptions(False, True, True))
    first = solver.solve_entries()
    code = next(code for _, code in program.functions() if code.name.strip("_") == "f")
    solution = first if code in first.reached else solver.solve_rest(first)
    found = Contracts(solution, 3).unproven(code, solution.frames.get(code, []))
    if words is None:
        assert found is None
    else:
        assert found is not None
        assert words in found.message
