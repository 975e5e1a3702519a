"""Where the decorator goes, how it is spelled, and what stays as it is."""

# ruff: noqa: E501 (before and after stand side by side)

from __future__ import annotations

import pytest

from .helpers import at_line, check, check_dropped, check_noop, plan

IMPORT = "import tensorflow as tf\n\n"


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("def f(x): return x\n", "@tf.function\ndef f(x): return x\n", "f"),
        ("def f(x): return x", "@tf.function\ndef f(x): return x", "f"),
        ("async def f(x):\n    pass\n", "@tf.function\nasync def f(x):\n    pass\n", "f"),
        (
            "class A:\n\n    # says hello\n    def f(self):\n        pass\n",
            "class A:\n\n    # says hello\n    @tf.function\n    def f(self):\n        pass\n",
            "A.f",
        ),
        ("class A:\n\tdef f(self):\n\t\tpass\n", "class A:\n\t@tf.function\n\tdef f(self):\n\t\tpass\n", "A.f"),
        (
            "def g():\n    x = 1\n    def f():\n        return x\n    return f\n",
            "def g():\n    x = 1\n    @tf.function\n    def f():\n        return x\n    return f\n",
            "g.f",
        ),
        ("if a:\n  def f(): pass\nelse:\n  b\n", "if a:\n  @tf.function\n  def f(): pass\nelse:\n  b\n", "f"),
        ("\x0cdef f():\n    pass\n", "\x0c@tf.function\ndef f():\n    pass\n", "f"),
        ("def \\\n  f(): pass\n", "@tf.function\ndef \\\n  f(): pass\n", "f"),
        (
            "if a:\n    \\\n  def f(): pass\n    x\n",
            "if a:\n    \\\n  @tf.function\n    def f(): pass\n    x\n",
            "f",
        ),
        ("class A:\n    x = 1; y = 2\n    def f(): 0\n", "class A:\n    x = 1; y = 2\n    @tf.function\n    def f(): 0\n", "A.f"),
        ("try:\n    a\nexcept B:\n    def f(): 0\n", "try:\n    a\nexcept B:\n    @tf.function\n    def f(): 0\n", "f"),
        ("match a:\n  case 1:\n    def f(): 0\n", "match a:\n  case 1:\n    @tf.function\n    def f(): 0\n", "f"),
    ],
)  # fmt: skip
def test_the_decorator_stands_directly_above_def(before: str, after: str, name: str) -> None:
    check(IMPORT + before, IMPORT + after, name)


@pytest.mark.parametrize(
    "decorators",
    [
        "@staticmethod",
        "@classmethod",
        "@property",
        "@x.setter",
        "@abc.abstractmethod",
        "@functools.wraps(\n    g,  # the original\n)",
        "@unknown.wrapper(1)\n# a comment in between\n\n",
        "@(tf.Module\n.with_name_scope)",
    ],
)
def test_it_goes_below_every_other_decorator(decorators: str) -> None:
    check(f"{IMPORT}{decorators}\ndef f(): pass\n", f"{IMPORT}{decorators}\n@tf.function\ndef f(): pass\n", "f")


def test_it_goes_above_custom_gradient_but_below_staticmethod() -> None:
    check(
        f"{IMPORT}class A:\n    @staticmethod\n    @tf.custom_gradient  # dy\n    def f(x): pass\n",
        f"{IMPORT}class A:\n    @staticmethod\n    @tf.function\n    @tf.custom_gradient  # dy\n    def f(x): pass\n",
        "A.f",
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_survive(newline: str) -> None:
    before = "import tensorflow as tf\nclass A:\n    def f(x): pass\n"
    after = "import tensorflow as tf\nclass A:\n    @tf.function\n    def f(x): pass\n"
    check(before.replace("\n", newline).encode(), after.replace("\n", newline).encode(), "A.f")


def test_mixed_line_ends_take_that_of_the_line() -> None:
    check(
        b"import tensorflow as tf\r\n\rdef f(x):\n    pass\r\ndef g():\r\n  pass",
        b"import tensorflow as tf\r\n\r@tf.function\ndef f(x):\n    pass\r\n@tf.function\r\ndef g():\r\n  pass",
        "f",
        "g",
    )


@pytest.mark.parametrize(
    ("encoding", "cookie"),
    [("latin-1", "# -*- coding: latin-1 -*-"), ("utf-8-sig", "#"), ("utf-8", "#"), ("cp1252", "# vim: fileencoding=cp1252")],
)  # fmt: skip
def test_encodings_and_byte_order_marks_survive(encoding: str, cookie: str) -> None:
    before = f"{cookie}\nimport tensorflow as tf\nclass É:\n    @dé('ü')\n    def f(x): return 'ß'\n"
    after = before.replace("    def f", "    @tf.function\n    def f")
    check(before.encode(encoding), after.encode(encoding), "É.f")


def test_a_bom_directly_before_def_stays_in_front() -> None:
    check(
        b"\xef\xbb\xbfdef f(x): pass\n",
        b"\xef\xbb\xbfimport tensorflow as tf\n\n\n@tf.function\ndef f(x): pass\n",
        "f",
    )


@pytest.mark.parametrize(
    ("imports", "spelled"),
    [
        ("import tensorflow as tf", "tf.function"),
        ("import tensorflow", "tensorflow.function"),
        ("import tensorflow.keras", "tensorflow.function"),
        ("import tensorflow.compat.v2 as tf", "tf.function"),
        ("import tensorflow.compat.v1 as tf", "tf.function"),
        ("from tensorflow.compat import v2 as T", "T.function"),
        ("from tensorflow import function", "function"),
        ("from tensorflow import function as g", "g"),
        ("import tensorflow as tf; import tensorflow", "tf.function"),
        ("from tensorflow import function\nimport tensorflow as tf", "tf.function"),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    raise SystemExit", "tf.function"),
        (
            "try:\n    import tensorflow.compat.v2 as tf\nexcept ImportError:\n    import tensorflow as tf",
            "tf.function",
        ),
        ("if v:\n    import tensorflow as tf\nelse:\n    import tensorflow.compat.v2 as tf", "tf.function"),
        ("with quiet():\n    import tensorflow as tf", "tf.function"),
        ("import tensorflow as tf\ntf = tf.compat.v1", "tf.function"),
        ("import tensorflow as tf\ngraph = tf.function", "tf.function"),
        ("import tensorflow as tf\ndef g(tf):\n    tf = 1\nclass B:\n    tf = 2", "tf.function"),
    ],
)
def test_a_name_in_force_is_used(imports: str, spelled: str) -> None:
    check(f"{imports}\n\ndef f(): pass\n", f"{imports}\n\n@{spelled}\ndef f(): pass\n", "f")


def test_an_import_in_the_enclosing_function_serves_the_nested_one() -> None:
    check(
        "def main():\n    import tensorflow as tf\n    def step(x): pass\n",
        "def main():\n    import tensorflow as tf\n    @tf.function\n    def step(x): pass\n",
        "main.step",
    )


def test_a_nested_function_may_use_an_import_below() -> None:
    check(
        "def main():\n    def step(x): pass\n\nimport tensorflow as tf\n",
        "def main():\n    @tf.function\n    def step(x): pass\n\nimport tensorflow as tf\n",
        "main.step",
    )


@pytest.mark.parametrize(
    ("known", "spelled"),
    [((("tf", "tensorflow"),), "tf.function"), ((("graph", "tensorflow.function"),), "graph")],
)
def test_names_from_other_files_are_used_when_told(known: tuple[tuple[str, str], ...], spelled: str) -> None:
    before = "from common import *\n\ndef f(): pass\n"
    check(before, before.replace("def", f"@{spelled}\ndef"), "f", known=known)
    before = f"from .common import {known[0][0]}\n\ndef f(): pass\n"
    check(before, before.replace("def", f"@{spelled}\ndef"), "f", known=known)


@pytest.mark.parametrize(
    ("imports", "after_imports", "spelled"),
    [
        # shadowed in the module: another alias
        ("import tensorflow as tf\ntf = 1", "import tensorflow as _tf\nimport tensorflow as tf\ntf = 1", "_tf.function"),
        ("import tensorflow as tf\nfor tf in a: pass", "import tensorflow as _tf\nimport tensorflow as tf\nfor tf in a: pass", "_tf.function"),
        ("import tensorflow as tf\ndef g():\n    global tf\n    tf = 1", "import tensorflow as _tf\nimport tensorflow as tf\ndef g():\n    global tf\n    tf = 1", "_tf.function"),
        ("import tensorflow as tf\nprint(tf := 1)", "import tensorflow as _tf\nimport tensorflow as tf\nprint(tf := 1)", "_tf.function"),
        ("import tifffile as tf", "import tensorflow as _tf\nimport tifffile as tf", "_tf.function"),
        ("import tifffile as tf\n_tf = 0", "import tensorflow as _tensorflow\nimport tifffile as tf\n_tf = 0", "_tensorflow.function"),
        # bound too late or only sometimes: imported again
        ("if TYPE_CHECKING:\n    import tensorflow as tf", "import tensorflow as tf\n\nif TYPE_CHECKING:\n    import tensorflow as tf", "tf.function"),
        ("def g():\n    import tensorflow as tf", "import tensorflow as tf\n\n\ndef g():\n    import tensorflow as tf", "tf.function"),
        # a wildcard whose names nobody knows
        ("from common import *\ntf.x", "import tensorflow as _tf\nfrom common import *\ntf.x", "_tf.function"),
        ("from common import *", "import tensorflow as _tf\nfrom common import *", "_tf.function"),
    ],
)  # fmt: skip
def test_a_name_that_may_mean_something_else_is_not_used(imports: str, after_imports: str, spelled: str) -> None:
    check(f"{imports}\n\ndef f(): pass\n", f"{after_imports}\n\n@{spelled}\ndef f(): pass\n", "f")


@pytest.mark.parametrize("shadow", ["def g(tf):", "def g():\n    tf = 1", "class g:\n    tf = 1"])
def test_a_name_that_an_enclosing_scope_shadows_is_not_used(shadow: str) -> None:
    check(
        f"import tensorflow as tf\n{shadow}\n    def f(): pass\n",
        f"import tensorflow as _tf\nimport tensorflow as tf\n{shadow}\n    @_tf.function\n    def f(): pass\n",
        "g.f",
    )


def test_a_class_attribute_does_not_shadow_inside_its_methods() -> None:
    check(
        "import tensorflow as tf\nclass A:\n    tf = 1\n    def m(self):\n        def f(): pass\n",
        "import tensorflow as tf\nclass A:\n    tf = 1\n    def m(self):\n        @tf.function\n        def f(): pass\n",
        "A.m.f",
    )


@pytest.mark.parametrize(
    "optional",
    [
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n",
        "tf = None\ntry:\n    import tensorflow as tf\nexcept ImportError:\n    pass\n",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\n",
        "try:\n    import tensorflow as tf\nexcept (ImportError, OSError):\n    print('without')\n",
        "has = True\ntry:\n    import tensorflow as tf\n    from tensorflow import keras\nexcept Exception:\n    has = False\n",
        "import os\nif os.environ.get('BACKEND') == 'tf':\n    import tensorflow as tf\nelse:\n    import numpy as np\n",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\nones = lambda: tf.ones(3)\n",
    ],
)
def test_a_module_that_lives_without_tensorflow_is_left_alone(optional: str) -> None:
    check_dropped(f"{optional}\ndef f(): pass\n", "tensorflow is optional in this file (line", "f")


@pytest.mark.parametrize(
    "needed",
    [
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    raise ImportError('no') from None\n",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    print('no')\n    raise\n",
        "import sys\ntry:\n    import tensorflow as tf\nexcept ImportError:\n    sys.exit(1)\n",
        "try:\n    import tensorflow as tf\nexcept ValueError:\n    pass\n",
        "try:\n    import tensorflow as tf\nfinally:\n    print('done')\n",
        "import tensorflow as tf\ntry:\n    from tensorflow.keras import mixed_precision\nexcept ImportError:\n    pass\n",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\nclass Layer(tf.Module): pass\n",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\nONE = tf.constant(1)\n",
        "import os\nif os.name:\n    import tensorflow as tf\nelse:\n    import tensorflow as tf\n",
    ],
)
def test_a_module_that_needs_tensorflow_gets_the_decorator(needed: str) -> None:
    check(f"{needed}\ndef f(): pass\n", f"{needed}\n@tf.function\ndef f(): pass\n", "f")


def test_what_is_made_by_calls_needs_it_anyway() -> None:
    before = "try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\ndef g():\n{}    def f(): pass\n"
    check(before.format(""), before.format("    @tf.function\n"), "g.f")


@pytest.mark.parametrize(
    "decorator",
    [
        "import tensorflow as tf\n@tf.function",
        "import tensorflow as tf\n@tf.function(\n    autograph=False,\n)\n@other",
        "from tensorflow import function as fn\n@fn",
        "from tensorflow.python.eager import def_function\n@def_function.function",
        "import functools\nimport tensorflow as tf\n@functools.partial(tf.function, autograph=False)",
        "from functools import partial as p\nimport tensorflow.compat.v1 as tf\n@p(tf.compat.v2.function)",
        "import tensorflow as tf\ngraph = tf.function\n@graph",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n@tf.function",
        "from tensorflow import *\n@function",
        "from common import *\n@tf.function()",
    ],
)
def test_a_function_that_has_the_decorator_stays(decorator: str) -> None:
    check_noop(f"{decorator}\ndef f(): pass\n", "f")


def test_arguments_are_written_and_use_the_name_in_force() -> None:
    check(
        "import tensorflow as tf\ndef f(x): pass\n",
        "import tensorflow as tf\n@tf.function(input_signature=[tf.TensorSpec([None])], autograph=False)\ndef f(x): pass\n",
        "f",
        input_signature="[tf.TensorSpec([None])]",
        autograph="False",
    )
    check(
        "import tensorflow\ndef f(x): pass\n",
        "import tensorflow\n@tensorflow.function(input_signature=[tensorflow.TensorSpec(None, tensorflow.int32)])\n"
        "def f(x): pass\n",
        "f",
        input_signature="[tf.TensorSpec(None, tf.int32)]",
    )
    check(
        "from tensorflow import function\ndef f(x): pass\n",
        "import tensorflow as tf\nfrom tensorflow import function\n"
        "@tf.function(input_signature=[tf.TensorSpec(None)])\ndef f(x): pass\n",
        "f",
        input_signature="[tf.TensorSpec(None)]",
    )


@pytest.mark.parametrize("argument", ["1)", "", "1 # comment", "a b", "yield"])
def test_an_argument_that_is_no_expression_drops_its_change_alone(argument: str) -> None:
    source = b"import tensorflow as tf\ndef f(): pass\ndef g(): pass\n"
    changes = [at_line(source, 2, arguments=(("autograph", argument),)), at_line(source, 3)]
    from hybridize.rewrite import plan_edits

    result = plan_edits(source, changes)
    if argument not in ("yield",):
        assert [change.line for change, _ in result.dropped] == [2]
        assert result.new == b"import tensorflow as tf\ndef f(): pass\n@tf.function\ndef g(): pass\n"


def test_an_argument_that_the_encoding_lacks_is_dropped() -> None:
    source = "# coding: latin-1\nimport tensorflow as tf\ndef f(): pass\n"
    check_dropped(source, "can't be written in the file's encoding", "f", experimental_implements="'✓'")


def test_changes_that_name_no_function_are_dropped() -> None:
    from hybridize.rewrite import plan_edits

    source = b"def f(): pass\n"
    missing = plan_edits(source, [at_line(source, 7)])
    other = plan_edits(source, [at_line(source, 1, qualname="g")])
    twice = plan_edits(source, [at_line(source, 1), at_line(source, 1, action="remove")])
    assert [why for _, why in missing.dropped] == ["no function is defined on line 7"]
    assert [why for _, why in other.dropped] == ["line 1 defines f, not g"]
    assert len(twice.dropped) == 1
    assert len(twice.applied) == 1


@pytest.mark.parametrize("source", [b"def f(:\n", b"def f(): '\xe9'\n", b"def f(): 0\n\x00"])
def test_what_does_not_parse_is_left_alone(source: bytes) -> None:
    from hybridize.rewrite import plan_edits

    result = plan_edits(source, [at_line(source, 1)])
    assert result.new == source
    assert "does not parse" in result.dropped[0][1]


def test_no_changes_no_edits() -> None:
    assert not plan("x = 1\n").changed
