"""Uses are found in syntax trees: decorators, wrapping calls, aliases; not in comments, strings or namesakes."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridize.study.keyword import DEFAULT, Keyword
from hybridize.study.profile import for_keyword
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import FileUses


def uses(source: str, keyword: Keyword = DEFAULT) -> FileUses:
    return find_uses(textwrap.dedent(source), keyword)


def found(source: str) -> list[tuple[str, str]]:
    return [(use.role, use.owner) for use in uses(source).uses]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tensorflow as tf\n@tf.function\ndef f(): pass", [("decorator", "f")]),
        ("import tensorflow\n@tensorflow.function\ndef f(): pass", [("decorator", "f")]),
        ("import tensorflow as t\n@t.function()\ndef f(): pass", [("decorator", "f")]),
        ("import tensorflow.compat.v2 as tf\n@tf.function\ndef f(): pass", [("decorator", "f")]),
        ("from tensorflow.compat import v2 as tf\n@tf.function\ndef f(): pass", [("decorator", "f")]),
        ("from tensorflow import function\n@function\ndef f(): pass", [("decorator", "f")]),
        ("from tensorflow import function as g\n@g(autograph=False)\nasync def f(): pass", [("decorator", "f")]),
        ("@tf.function\ndef f(): pass", [("decorator", "f")]),  # no import in sight: taken at its word
        ("class A:\n  @tf.function\n  def f(self): pass", [("decorator", "A.f")]),
        ("def g():\n  @tf.function\n  def f(): pass", [("decorator", "g.f")]),
        ("def f(): pass\n@tf.function\ndef f(): pass", [("decorator", "f#2")]),
        ("@functools.partial(tf.function, autograph=False)\ndef f(): pass", [("decorator", "f")]),
        ("jit = tf.function(autograph=False)\n@jit\ndef f(): pass", [("alias", "jit"), ("decorator", "f")]),
        ("jit = tf.function if x else lambda f: f\n@jit\ndef f(): pass", [("alias", "jit"), ("decorator", "f")]),
        ("def jit(g):\n  return tf.function(g)\n@jit\ndef f(): pass", [("wrap", "g"), ("decorator", "f")]),
        ("def jit(g):\n  h = tf.function(g)\n  return h\nk = jit(f)\ndef f(): pass", [("wrap", "g"), ("wrap", "f")]),
        (
            "def jit(**k):\n  def inner(g):\n    return tf.function(g, **k) if on else g\n  return inner\n"
            "@jit(autograph=False)\ndef f(): pass",
            [("wrap", "g"), ("decorator", "f")],
        ),
        (
            "def jit(*a, **k):\n  return tf.function(*a, **k)\n@jit()\ndef f(): pass",
            [("mention", "tf.function(*a, **k)"), ("decorator", "f")],
        ),
        ("def train(g):\n  step = tf.function(g)\n  step()\n@train\ndef f(): pass", [("wrap", "g")]),
        ("def f(): pass\ng = tf.function(f)", [("wrap", "f")]),
        ("g = tf.function(f)\ndef f(): pass", [("wrap", "f")]),
        ("g = tf.function(autograph=False)(f)\ndef f(): pass", [("wrap", "f")]),
        ("class A:\n  def __init__(self): self.g = tf.function(self.f)\n  def f(self): pass", [("wrap", "A.f")]),
        ("tf.function(model.call)", [("wrap", "model.call")]),
        ("tf.function(lambda x: x)", [("wrap", "<lambda>")]),
        ("tf.function(tf.function(f))\ndef f(): pass", [("wrap", "f"), ("wrap", "tf.function(f)")]),
        ("if a:\n  try:\n    pass\n  finally:\n    tf.function(f)", [("wrap", "f")]),
        ("def f(): return tf.function\ng(tf.function)", [("mention", "tf.function")] * 2),
        ("def f(): return tf.function", [("mention", "tf.function")]),
    ],
)
def test_a_use_is_found(source, expected):
    assert sorted(found(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        "# @tf.function\ndef f(): pass",
        "def f():\n  '''Wrap me in tf.function(f).'''",
        "x = '@tf.function'",
        "f'{1} tf.function {2}'",
        "from tensorflow.python.framework import function\n@function.Defun()\ndef f(): pass",
        "import other as tf\n@tf.function.Defun\ndef f(): pass",
        "@tf.function_like\ndef f(): pass",
        "@my.tf.function\ndef f(): pass",
        "from zfit import z\n@z.function\ndef f(): pass",
        "import torch as tf\n@tf.function\ndef f(): pass",
        "@pytest.mark.parametrize('f', [tf.function, tf.function(g)])\ndef t(f): pass",
        "@parameterized.named_parameters(('graph', tf.function))\ndef t(self, f): pass",
        "def make() -> tf.function:\n  pass",
        "def run(step: tf.function): pass",
        "step: tf.function = None",
    ],
)
def test_a_namesake_is_no_use(source):
    assert found(source) == []


def test_arguments_are_normalized_and_variables_resolved():
    source = """
        import tensorflow as tf
        SIGNATURE = (tf.TensorSpec([None], tf.float32),)
        class A:
            spec = [tf.TensorSpec( [1],  tf.int32 )]
            @tf.function(input_signature=SIGNATURE, jit_compile = True)
            def f(self): pass
            @tf.function(input_signature=spec)
            def g(self): pass
    """
    first, second = uses(source).uses
    assert first.arguments == (
        ("input_signature", "[tf.TensorSpec([None], tf.float32)]"),
        ("jit_compile", "True"),
    )
    assert second.argument("input_signature") == "[tf.TensorSpec([1], tf.int32)]"


def test_an_explicit_none_is_no_signature():
    (use,) = uses("@tf.function(input_signature=None)\ndef f(): pass").uses
    assert use.argument("input_signature") is None


def test_a_maker_of_another_file_counts_and_brings_its_arguments():
    source = "from .compat import jit\nfrom . import c\n@jit\ndef f(): pass\n@c.jit(jit_compile=True)\ndef g(): pass"
    bound = (("autograph", "False"),)
    found = find_uses(source, outside=(("jit", bound), ("c.jit", bound)))
    assert [(u.owner, u.arguments) for u in found.uses] == [("f", bound), ("g", (*bound, ("jit_compile", "True")))]
    assert find_uses(source).uses == ()


def test_what_a_file_offers_to_others():
    source = """
        import tensorflow as tf
        function = tf.function(autograph=False)
        step = tf.function(lambda x: x)
        def jit(f, compile=True):
            return tf.function(f, jit_compile=compile, reduce_retracing=True)
        def inside():
            local = tf.function
        class A:
            def method(self, f): return tf.function(f)
    """
    assert uses(source).makers == (("function", (("autograph", "False"),)), ("jit", (("reduce_retracing", "True"),)))


def test_an_alias_brings_its_arguments():
    source = "jit = tf.function(reduce_retracing=True)\n@jit(autograph=False)\ndef f(): pass"
    assert uses(source).of("f")[0].arguments == (("autograph", "False"), ("reduce_retracing", "True"))


def test_spans_include_decorators():
    function = uses("\n@other\n@tf.function\ndef f():\n  pass\n").functions["f"]
    assert (function.line, function.def_line, function.end_line) == (2, 4, 5)


@pytest.mark.parametrize(
    ("source", "method"),
    [
        ("print 'x'\n", "tokens"),
        ("exec 'x'\n", "tokens"),
        ("<<<<<<< HEAD\nx = 1\n=======\n>>>>>>> other\n", "tokens"),
        ("%matplotlib inline\n", "tokens"),
        ("x = 'unclosed\n", "text"),
    ],
)
def test_what_does_not_parse_is_scanned(source, method):
    code = """class A:
    @tf.function(autograph=False,
                 jit_compile=True)
    def f(self):
        # tf.function
        return "tf.function"

    @other
    def g(self):
        return tf.function(self.f)
"""
    result = find_uses(code + source)
    assert result.method == method
    assert [(use.role, use.owner, use.scope) for use in result.uses] == [
        ("decorator", "A.f", "A"),
        ("mention", "tf.function(self.f)", "A.g"),
    ]
    assert result.of("A.f")[0].arguments == (("autograph", "False"), ("jit_compile", "True"))
    assert result.functions["A.g"].line == 8


def test_other_frameworks_have_other_names():
    source = "import jax\n@jax.jit\ndef f(): pass\n@tf.function\ndef g(): pass"
    assert [use.owner for use in uses(source, Keyword(for_keyword("jax.jit"))).uses] == ["f"]


@pytest.mark.parametrize(
    ("name", "source", "owners"),
    [
        ("tf.py_function", "import tensorflow as tf\ny = tf.py_function(f, [x], tf.int32)\n", ["f"]),
        ("tf.py_function", "from tensorflow import py_function\ny = py_function(func=f, inp=[x])\n", ["f"]),
        ("tf.py_function", "import mine as tf\ny = tf.py_function(f)\n", []),
        ("mx.compile", "import mlx.core as mx\ng = mx.compile(f)\n", ["f"]),
        ("nn.jit", "from flax import linen as nn\n@nn.jit\ndef f(x): pass\n", ["f"]),
    ],
)
def test_a_keyword_without_a_profile_goes_by_its_customary_name(name, source, owners):
    assert [use.owner for use in find_uses(source, Keyword(for_keyword(name))).uses] == owners


@pytest.mark.parametrize("text", ["function", "tf.", "tf.a b", "", ".x"])
def test_a_keyword_is_a_dotted_name(text):
    with pytest.raises(ValueError, match="not a dotted name"):
        for_keyword(text)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("use tf.function here", True),
        ("`@tf.function`", True),
        ("tf.functions retrace", True),
        ("TF.Function", True),
        ("tf function", False),
        ("a tf-function", False),
        ("self.tf.function", False),
        ("tf.functional", False),
    ],
)
def test_the_literal_has_its_period(text, there):
    assert bool(DEFAULT.literal_pattern.search(text)) is there


DECORATORS = st.sampled_from(["@tf.function", "@tf.function(autograph=False)", "@other", "# @tf.function", "@jit"])
HEADER = "import tensorflow as tf\njit = tf.function(jit_compile=True)\n\n"


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A module and the qualified names of its hybrid functions."""
    lines: list[str] = []
    hybrid: list[str] = []

    def define(prefix: str, indent: int, depth: int) -> None:
        for number in range(draw(st.integers(0, 2)) if depth < 3 else 0):
            name = f"n{depth}_{number}"
            pad = "    " * indent
            if draw(st.booleans()) and depth < 2:
                lines.append(f"{pad}class {name}:")
            else:
                decorator = draw(DECORATORS)
                lines.append(pad + decorator)
                lines.append(f"{pad}def {name}(self):")
                lines.append(f'{pad}    """tf.function(self)"""')
                if decorator.startswith(("@tf", "@jit")):
                    hybrid.append(prefix + name)
            lines.append(f"{pad}    pass")
            define(f"{prefix}{name}.", indent + 1, depth + 1)

    define("", 0, 0)
    return HEADER + "\n".join(lines) + "\n", hybrid


@given(modules())
def test_exactly_the_decorated_functions_are_hybrid(case):
    source, hybrid = case
    result = find_uses(source)
    assert [use.owner for use in result.uses if use.role == "decorator"] == hybrid


@given(modules())
def test_tokens_agree_with_trees_where_aliases_play_no_part(case):
    source, _ = case
    source = source.replace(HEADER, "import tensorflow as tf\n").replace("@jit", "@other")
    tree, tokens = find_uses(source), find_uses(source + "print 'broken'\n")
    assert [(u.owner, u.line, u.arguments) for u in tokens.uses] == [(u.owner, u.line, u.arguments) for u in tree.uses]
    assert tokens.functions.keys() == tree.functions.keys()


@given(modules())
def test_formatting_changes_no_use(case):
    source, _ = case
    again = find_uses(ast.unparse(ast.parse(source)))
    assert [(u.owner, u.arguments) for u in again.uses] == [(u.owner, u.arguments) for u in find_uses(source).uses]


@given(st.text(alphabet=st.sampled_from(list("tf.function@()\n \t'\"#:=,deflasx\\\r\x0c\0é")), max_size=80))
def test_no_source_makes_it_raise(source):
    find_uses(source)


@given(modules(), st.integers(0, 200))
def test_equal_skeletons_mean_equal_uses(case, position):
    source, _ = case
    lines = source.split("\n")
    lines.insert(position % (len(lines) + 1), "")
    changed = "\n".join(lines)
    if DEFAULT.skeleton(changed) == DEFAULT.skeleton(source):
        assert [u.owner for u in find_uses(changed).uses] == [u.owner for u in find_uses(source).uses]


@pytest.mark.parametrize(
    ("source", "condition"),
    [
        ("if jit:\n  g = tf.function(f)", "jit"),
        ("if jit:\n  pass\nelse:\n  g = tf.function(f)", "not (jit)"),
        ("g = tf.function(f) if jit else f", "jit"),
        ("if a:\n  if b:\n    @tf.function\n    def f(): pass", "a and b"),
        ("if a:\n  class C:\n    @tf.function\n    def f(self): pass", ""),
        ("if __name__ == '__main__':\n  g = tf.function(f)", ""),
        ("g = tf.function(f)", ""),
    ],
)
def test_a_use_knows_under_which_condition_it_stands(source, condition):
    (use,) = uses(source).uses
    assert use.condition == condition
