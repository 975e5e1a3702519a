"""How loudly hits are told of hybrid functions: errors and warnings are what somebody can act on, the rest informs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

TF = "import tensorflow as tf\n"


def told(folder: Path, source: str, code: str, **files: str) -> list[str]:
    """The severities of a rule's findings in a program; more files by their names, `_` for `/` and `.`."""
    (folder / "main.py").write_text(TF + source, "utf-8")
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return [f.severity.value for f in analyze([folder], Config()).findings if f.code == code]


def said(folder: Path, source: str, code: str) -> str:
    """What all findings of a rule in a program say."""
    (folder / "main.py").write_text(TF + source, "utf-8")
    return "\n".join(f.message for f in analyze([folder], Config()).findings if f.code == code)


RATE = """\
class Model:
    def __init__(self):
        self.rate = 1.0
    @tf.function
    def step(self, x):
        return x * self.rate
    def decay(self):
        self.rate = self.rate / 2.0
m = Model()
"""


def test_state_that_a_run_changes_between_calls_is_an_error(tmp_path: Path) -> None:
    run = "for i in range(9):\n    m.step(tf.ones(3))\n    m.decay()\n"
    assert told(tmp_path, RATE + run, "HY602") == ["error"]


def test_a_cause_is_told_once_of_each_hybrid_function(tmp_path: Path) -> None:
    source = RATE.replace("x * self.rate", "x * self.rate + self.rate - self.rate")
    run = "for i in range(9):\n    m.step(tf.ones(3))\n    m.decay()\n"
    assert told(tmp_path, source + run, "HY602") == ["error"]


def test_a_finding_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(TF + RATE + "for i in range(9):\n    m.step(tf.ones(3))\n    m.decay()\n")
    (found,) = (f for f in analyze([tmp_path], Config()).findings if f.code == "HY602")
    order = "(`decay` changes it at main.py:9, and then `step` is called again at main.py:12)"
    assert found.message.startswith(f"reads `rate`, which changes between calls {order}: the graph keeps")
    assert "tf.Variable" in found.message


def test_a_setter_that_only_strangers_call_may_change_it(tmp_path: Path) -> None:
    of_library = RATE.removesuffix("m = Model()\n")
    assert told(tmp_path, of_library, "HY602") == ["info"]  # of a program: nobody calls it there
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text(TF + of_library, "utf-8")
    setup = "from setuptools import setup\nsetup(name='lib')\n"
    assert told(tmp_path, "", "HY602", setup_dot_py=setup) == ["info"]  # nothing is seen to call `step` at all


FILLED = """\
import yaml
def describe(options):
    for key, value in yaml.safe_load(open("more.yaml").read()).items():
        options[key] = value
class Model:
    def __init__(self, options):
        self.options = options
        self.first = describe(options["source"])
    @tf.function
    def step(self, x):
        return x * self.options["rate"]
    def train(self):
        for _ in range(100):
            self.step(tf.ones(2))
def run(source, rate):
    options = yaml.safe_load(open("options.yaml").read())
    options["rate"] = rate
    options["source"] = source if source else {"shape": "a"}
    Model(options).train()
"""


def test_who_fills_any_dictionary_is_no_setter_of_one(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text(TF + FILLED, "utf-8")
    setup = "from setuptools import setup\nsetup(name='lib', packages=['lib'])\n"
    assert set(told(tmp_path, "", "HY602", setup_dot_py=setup)) <= {"info"}


LOADED = """\
class Model:
    def __init__(self):
        self.a, self.b, self.c, self.d = 1.0, 2.0, 3.0, 4.0
    @tf.function
    def step(self, x):
        return x * self.a
    def restore(self, saved):
        self.a = saved[0] + 1.0
        self.b = saved[1] + 1.0
        self.c = saved[2] + 1.0
        self.d = saved[3] + 1.0
"""


def test_who_fills_a_whole_object_is_no_setter(tmp_path: Path) -> None:
    assert told(tmp_path, LOADED, "HY602") == ["info"]


def test_what_each_call_writes_before_it_reads_is_its_own(tmp_path: Path) -> None:
    source = """\
class Net(tf.Module):
    def split(self, x):
        self.size = tf.shape(x)[0] if self.dynamic else 3
        return tf.reshape(x, [self.size, -1])
    @tf.function
    def traced(self, x):
        return self.split(x)
n = Net()
n.dynamic = False
for i in range(3):
    n.traced(tf.ones(6))
    n.dynamic = False
    n.split(tf.ones(6))
"""
    assert "error" not in told(tmp_path, source, "HY602")


def test_a_graph_that_is_made_anew_with_each_change_is_not_stale(tmp_path: Path) -> None:
    source = """\
class Model:
    def __init__(self):
        self.rate = 1.0
        self.wrap()
    def wrap(self):
        self.step = tf.function(self._step)
    def _step(self, x):
        return x * self.rate
    def change(self, rate):
        self.rate = rate
        self.wrap()
m = Model()
for i in range(9):
    m.step(tf.ones(3))
    m.change(float(i))
"""
    assert told(tmp_path, source, "HY602") == ["info"]
    assert told(tmp_path, source.replace("        self.wrap()\nm =", "m ="), "HY602") == ["error"]


def test_what_only_tests_change_is_no_evidence(tmp_path: Path) -> None:
    test = """\
import tensorflow as tf
from main import m
def test_it():
    m.step(tf.ones(3))
    m.rate = 5.0
    m.step(tf.ones(3))
"""
    source = RATE.replace("    def decay(self):\n        self.rate = self.rate / 2.0\n", "") + "m.step(tf.ones(3))\n"
    assert set(told(tmp_path, source, "HY602", test_it_dot_py=test)) <= {"info"}


def test_a_tensor_in_a_field_matters_where_other_code_reads_it(tmp_path: Path) -> None:
    source = """\
class Net:
    @tf.function
    def call(self, x):
        self.last = x * 2.0
        return self.last + 1.0
n = Net()
for i in range(9):
    n.call(tf.ones(3))
"""
    assert "read outside of the graph" not in said(tmp_path, source, "HY601")
    assert "read outside of the graph" in said(tmp_path, source + "print(n.last)\n", "HY601")


def test_a_tensor_that_the_next_trace_reads_is_told_with_that_call(tmp_path: Path) -> None:
    source = """\
class Net:
    def __init__(self):
        self.state = tf.zeros(3)
    @tf.function
    def call(self, x):
        y = x + self.state
        self.state = y
        return y
n = Net()
for i in range(9):
    n.call(tf.ones(3))
"""
    assert "reads what this one has left" in said(tmp_path, source, "HY601")


@pytest.mark.parametrize(("call", "severity"), [("x.numpy()", "error"), ("tf.unstack(x, num=x[0])", None)])
def test_what_raises_far_from_the_function_informs(call: str, severity: str | None, tmp_path: Path) -> None:
    source = f"def f(x):\n    return {call}\n@tf.function\ndef g(x):\n    return f(x)\ng(tf.ones(3))\n"
    (tmp_path / "main.py").write_text(TF + source)
    found = [f.severity.value for f in analyze([tmp_path], Config()).findings if f.function == "main:g"]
    assert found == [severity or "info"]


def test_a_value_that_is_a_tensor_in_some_calls_only_is_in_doubt(tmp_path: Path) -> None:
    source = """\
class Net:
    def __init__(self, sizes):
        self.sizes = sizes
    @tf.function
    def call(self, x):
        return [list(range(3))[size] for size in self.sizes] or x
nets = [Net([1, 2]), Net([tf.constant(1)])]
for n in nets:
    n.call(tf.ones(3))
"""
    assert "error" not in told(tmp_path, source, "HY341")


LAYER = """\
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)
    @tf.function
    def call(self, x):
        return self.dense(x)
Net()(tf.ones((2, 2)))
"""


@pytest.mark.parametrize(("needs", "severity"), [(">=2.4", "info"), (">=2.16", "info")])
def test_what_only_keras_3_does_counts_where_nothing_else_is_allowed(needs: str, severity: str, tmp_path: Path) -> None:
    assert told(tmp_path, LAYER, "HY401", requirements_dot_txt=f"tensorflow{needs}\n") == [severity]


def test_a_switch_for_debugging_in_tests_informs(tmp_path: Path) -> None:
    switch = "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\ndef test_it():\n    pass\n"
    assert told(tmp_path, "x = 1\n", "HY501", test_it_dot_py=switch) == ["info"]
    used = "tf.config.run_functions_eagerly(True)\ntf.function(lambda x: x)(tf.ones(2))\n"
    assert told(tmp_path, used, "HY501") == ["warning", "info"]


def test_a_switch_in_a_script_beside_the_tests_informs(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "look.py").write_text("import tensorflow as tf\ntf.config.run_functions_eagerly(True)\n")
    assert told(tmp_path, "x = 1\n", "HY501") == ["info"]


def test_a_switch_that_a_parameter_asks_for_informs(tmp_path: Path) -> None:
    asked = "def debug(on):\n    if on:\n        tf.config.run_functions_eagerly(True)\ndebug(True)\n"
    asked += "tf.function(lambda x: x)(tf.ones(2))\n"
    assert told(tmp_path, asked, "HY501") == ["info"]


EAGER = """\
def eager(on=False, other=True):
    if on:
        tf.config.run_functions_eagerly(True)
def configure(fast):
    eager(not fast)
@tf.function
def step(x):
    return x.numpy()
SWITCH
step(tf.ones(3))
"""


@pytest.mark.parametrize(
    ("switch", "severity"),
    [
        ("eager(True)", "info"),
        ("eager(on=True)", "info"),
        ("eager(other=True)", "error"),  # by default it is off
        ("eager(False)", "error"),
        ("eager(bool(input()))", "error"),
        ("for on in [True, False]:\n    eager(on)", "error"),
        ("configure(False)", "info"),
        ("configure(True)", "error"),
        ("configure(bool(input()))", "error"),
    ],
)
def test_a_switch_is_followed_to_what_the_calls_of_a_helper_say(switch: str, severity: str, tmp_path: Path) -> None:
    assert told(tmp_path, EAGER.replace("SWITCH", switch), "HY301") == [severity]
    without = EAGER.replace("if on:", "if not on:\n        pass\n    else:").replace("SWITCH", switch)
    assert told(tmp_path, without, "HY301") == [severity]


def test_what_another_program_says_to_a_helper_counts_there_only(tmp_path: Path) -> None:
    helper = EAGER.split("def configure")[0].replace("def eager(on=False", "import tensorflow as tf\ndef eager(on")
    program = (
        "from helper import eager\n@tf.function\ndef step(x):\n    return x.numpy()\neager(SWITCH)\nstep(tf.ones(3))\n"
    )
    other = TF + program.replace("SWITCH", "False")
    files = {"helper_dot_py": helper.replace(", other=True", ""), "other_dot_py": other}
    assert sorted(told(tmp_path, program.replace("SWITCH", "True"), "HY301", **files)) == ["error", "info"]
    assert sorted(told(tmp_path, program.replace("SWITCH", "False"), "HY301", **files)) == ["error", "error"]


@pytest.mark.parametrize(
    "condition",
    ["tf.executing_eagerly() and flag", "flag and tf.executing_eagerly()", "not (tf.inside_function() or flag)"],
)
def test_what_stands_under_a_question_for_the_mode_among_others_is_never_traced(condition: str, tmp_path: Path) -> None:
    source = f"""\
def report(x, flag):
    if {condition}:
        print(x.numpy())
    return x
@tf.function
def step(x, flag):
    return report(x, flag) * 2.0
for flag in [True, False]:
    step(tf.ones(3), flag)
"""
    assert told(tmp_path, source, "HY301") == []
    assert told(tmp_path, source.replace(condition, "flag"), "HY301") == ["error"]
    either = "tf.executing_eagerly() or flag"
    assert told(tmp_path, source.replace(condition, either), "HY301") == ["info"]  # for some settings


def test_what_only_arrays_get_to_is_in_doubt(tmp_path: Path) -> None:
    source = """\
def keep(x, flag):
    is_tensor = tf.is_tensor(flag)
    y = x * 2.0
    if not is_tensor:
        y = y.numpy()
    return y
@tf.function
def step(x, flag):
    return keep(x, flag)
for i in range(3):
    step(tf.ones(3), True)
"""
    assert told(tmp_path, source, "HY301") == ["info"]
    assert told(tmp_path, source.replace("not is_tensor", "flag"), "HY301") == ["error"]


def test_state_of_an_object_that_the_call_makes_is_its_own(tmp_path: Path) -> None:
    source = """\
class State:
    def __init__(self, size):
        self.size = size
def make(size):
    return State(size)
@tf.function
def step(x):
    state = make(2.0)
    return x * state.size
other = make(3.0)
for i in range(3):
    step(tf.ones(3))
    other.size = float(i)
"""
    assert "error" not in told(tmp_path, source, "HY602")


def test_a_program_that_switches_graphs_off_may_mean_what_it_does(tmp_path: Path) -> None:
    run = "for i in range(9):\n    m.step(tf.ones(3))\n    m.decay()\n"
    switch = "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\nimport main\n"
    assert told(tmp_path, RATE + run, "HY602", fit_dot_py=switch) == ["info"]


def test_blocks_of_a_list_write_each_its_own(tmp_path: Path) -> None:
    source = """\
class Block(tf.Module):
    def __call__(self, x):
        self.kept = x * 2.0
        return self.kept + 1.0
class Net(tf.Module):
    def __init__(self):
        self.blocks = [Block(), Block()]
    @tf.function
    def call(self, x):
        for block in self.blocks:
            x = block(x)
            x = x + block.kept
        return x
n = Net()
for i in range(9):
    n.call(tf.ones(3))
"""
    assert set(told(tmp_path, source, "HY601")) == {"info"}


FACTORY = """\
def factory(scale):
    rate = scale * 2.0
    @tf.function
    def step(x):
        return x * rate
    return step
for scale in range(9):
    step = factory(float(scale))
    step(tf.ones(3))
    step(tf.ones(3))
"""


def test_each_closure_finds_what_was_bound_before_it_was_made(tmp_path: Path) -> None:
    assert set(told(tmp_path, FACTORY, "HY602")) <= {"info"}
    later = FACTORY.replace("    return step\n", "    step(tf.ones(3))\n    rate = 5.0\n    return step\n")
    assert told(tmp_path, later, "HY602") == ["error"]


FIT = """\
class Model:
    def __init__(self):
        self.rate = None
    def prepare(self, rate):
        self.rate = rate
    def fit(self, x):
        @tf.function
        def step(x):
            return x * self.rate
        for _ in range(9):
            x = step(x)
        return x
m = Model()
for i in range(9):
    m.prepare(float(i))
    m.fit(tf.ones(3))
"""


def test_a_graph_that_ends_with_the_call_that_makes_it_meets_no_later_change(tmp_path: Path) -> None:
    assert set(told(tmp_path, FIT, "HY602")) <= {"info"}
    kept = FIT.replace("        for _", "        self.step = step\n        for _")
    once = (
        kept.split("for i in")[0]
        + "m.prepare(1.0)\nm.fit(tf.ones(3))\nfor i in range(9):\n    m.prepare(float(i))\n    m.step(tf.ones(3))\n"
    )
    assert told(tmp_path, once, "HY602") == ["error"]
    within = FIT.replace("x = step(x)", "x = step(x)\n            self.prepare(3.0)")
    assert told(tmp_path, within, "HY602") == ["error"]


REGISTER = """\
class Net:
    def __init__(self):
        self.mode = ""
    @tf.function
    def call(self, x):
        self.mode = "sum" if x.shape[0] > 2 else "mean"
        return tf.reduce_sum(x) if self.mode == "sum" else tf.reduce_mean(x)
n = Net()
for i in range(9):
    n.call(tf.ones(3))
"""


def test_state_that_only_the_same_call_reads_informs(tmp_path: Path) -> None:
    assert set(told(tmp_path, REGISTER, "HY206")) <= {"info"}
    assert told(tmp_path, REGISTER + "    print(n.mode)\n", "HY206") == ["error"]


BEGINNER = {
    "returns an object": (
        "class Result:\n    def __init__(self, loss):\n        self.loss = loss\n"
        "@tf.function\ndef f(x):\n    return Result(tf.reduce_sum(x))\n",
        "f(tf.ones(3))\n",
        "HY350",
    ),
    "is given what builds a model": (
        "layer = tf.keras.layers.Dense(2)\n@tf.function\ndef f(x):\n    return layer(x)\n",
        "f(tf.keras.Input((3,)))\n",
        "HY304",
    ),
    "uses a method of arrays": (
        "import numpy as np\n@tf.function\ndef f(x):\n    y = x.astype('float32')\n    return y * 2\n",
        "f(np.ones(3))\n",
        "HY347",
    ),
}


@pytest.mark.parametrize(("source", "call", "code"), BEGINNER.values(), ids=BEGINNER)
def test_what_raises_at_each_call_of_the_program_is_an_error(source: str, call: str, code: str, tmp_path: Path) -> None:
    assert told(tmp_path, source + call, code) == ["error"]
    assert set(told(tmp_path, source + f"def test_f():\n    {call}", code)) <= {"info"}
    asked = source.replace("def f(x):\n", "def f(x, full=False):\n    if not full:\n        return x\n")
    assert set(told(tmp_path, asked + call, code)) <= ({"error", "info"} if code == "HY304" else {"info"})


@pytest.mark.parametrize(
    ("text", "severities"),
    [
        ('"loss", x', ["info"]),
        ('f"loss {x}"', ["info"]),
        ('"Tracing with", x', []),
        ('f"retracing for {x}"', []),
        ('"traced with {}".format(x)', []),
    ],
)
def test_a_message_about_tracing_is_meant_to_show_it(text: str, severities: list[str], tmp_path: Path) -> None:
    source = f"@tf.function\ndef f(x):\n    print({text})\n    return x\nf(tf.ones(3)), f(tf.ones(3))\n"
    assert told(tmp_path, source, "HY201") == severities


def test_a_handler_that_raises_again_changes_only_the_text(tmp_path: Path) -> None:
    source = """\
@tf.function
def f(x):
    try:
        y = tf.linalg.cholesky(x)
    except tf.errors.InvalidArgumentError:
        HANDLE
    return y
f(tf.eye(3))
"""
    assert told(tmp_path, source.replace("HANDLE", "y = x"), "HY319") == ["warning"]
    assert told(tmp_path, source.replace("HANDLE", "raise ValueError('not positive')"), "HY319") == ["info"]


@pytest.mark.parametrize(
    ("handler", "severity"),
    [
        ("except:\n        pass", "info"),
        ("except Exception as e:\n        print(e)", "info"),
        ("except (TypeError, AttributeError):\n        return x", "info"),
        ("except ValueError:\n        pass", "error"),  # not what `.numpy()` raises
        ("except NotImplementedError:\n        pass", "error"),
        ("except AttributeError:\n        raise\n    except Exception:\n        pass", "error"),
        ("except Exception as e:\n        print(e)\n        raise RuntimeError from e", "error"),
        ("except Exception:\n        raise SystemExit", "error"),
        ("except Exception:\n        exit(1)", "error"),
        ("finally:\n        print(1)", "error"),
    ],
)
def test_what_a_handler_in_the_graph_passes_over_informs(handler: str, severity: str, tmp_path: Path) -> None:
    source = f"""\
def show(x):
    print(x.numpy())
def report(x):
    try:
        CALL
    {handler}
    return x
@tf.function
def step(x):
    return report(x) * 2.0
step(tf.ones(3))
"""
    here = source.replace("CALL", "print(x.numpy())")
    assert told(tmp_path, here, "HY301") == [severity]
    assert told(tmp_path, source.replace("CALL", "show(x)"), "HY301") == [severity]
    if severity == "info":
        exec(TF + here, {})
    else:
        with pytest.raises((AttributeError, RuntimeError, SystemExit)):
            exec(TF + here, {})


def test_a_handler_around_the_call_of_a_graph_passes_nothing_over(tmp_path: Path) -> None:
    source = (
        "@tf.function\ndef step(x):\n    return x.numpy()\ntry:\n    step(tf.ones(3))\nexcept Exception:\n    pass\n"
    )
    assert told(tmp_path, source, "HY301") == ["error"]
    after = """\
@tf.function
def step(x):
    try:
        y = x * 2.0
    except Exception:
        y = x
    else:
        print(y.numpy())
    return y
step(tf.ones(3))
"""
    assert told(tmp_path, after, "HY301") == ["error"]


LEVELS = """\
@tf.function
def total(maps):
    return tf.add_n([tf.reduce_sum(m) for m in maps])
def levels(maps):
    for i in range(100):
        total([maps[j][i] for j in range(len(maps))])
"""


def test_as_many_as_a_model_has_levels_are_few(tmp_path: Path) -> None:
    few = "levels([tf.ones([100, 8 // 2 ** i]) for i in range(3)])\n"
    assert told(tmp_path, LEVELS + few, "HY104") == []
    rows = LEVELS.replace("total([maps[j][i] for j in range(len(maps))])", "total([row for row in maps])")
    assert told(tmp_path, rows + "levels(tf.ones([100, 8]))\n", "HY104") == ["warning"]


OPTIMIZER = """\
w = tf.Variable(1.0)
@tf.function
def step(optimizer, x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
def main(fast):
    MAKE
    for i in range(10):
        step(optimizer, tf.constant(1.0))
main(bool(input()))
"""


def test_one_of_two_optimizers_that_a_condition_chooses_is_one(tmp_path: Path) -> None:
    chosen = "if fast:\n        optimizer = tf.keras.optimizers.SGD(1.0)\n    else:\n"
    chosen += "        optimizer = tf.keras.optimizers.Adam(1.0)"
    assert told(tmp_path, OPTIMIZER.replace("MAKE", chosen), "HY256") == []
    both = "optimizer = tf.keras.optimizers.SGD(1.0)\n    step(optimizer, tf.constant(2.0))\n"
    both += "    optimizer = tf.keras.optimizers.Adam(1.0)"
    assert told(tmp_path, OPTIMIZER.replace("MAKE", both), "HY256") == ["info"]


def test_what_a_call_writes_into_its_own_dictionary_is_no_argument(tmp_path: Path) -> None:
    source = """\
@tf.function
def advance(state):
    new = {"x": state["x"] * 2.0}
    for i in range(2):
        WRITE[f"y{i}"] = state["x"] + i
    return new
state = {"x": tf.ones(3)}
for i in range(10):
    state = advance(state)
"""
    assert told(tmp_path, source.replace("WRITE", "new"), "HY205") == []
    assert told(tmp_path, source.replace("WRITE", "state"), "HY205")


MODES = """\
class Towers(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.parts = [INNER, tf.keras.layers.Flatten()]
    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x
class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.towers = Towers()
    @tf.function
    def call(self, x):
        return self.towers(x)
model = Model()
for i in range(10):
    model(tf.ones([2, 3]), training=True)
    model(tf.ones([2, 3]), training=False)
"""


def test_a_layer_with_a_call_of_its_own_has_the_modes_of_what_it_runs(tmp_path: Path) -> None:
    assert told(tmp_path, MODES.replace("INNER", "tf.keras.layers.Dense(2)"), "HY606") == []
    assert told(tmp_path, MODES.replace("INNER", "tf.keras.layers.Dropout(0.5)"), "HY606") == ["info"]


def test_what_a_layer_calls_as_its_activation_is_given_a_tensor(tmp_path: Path) -> None:
    source = """\
@tf.function
def softer(x):
    return tf.nn.softplus(x) + 1.0
def main():
    inputs = tf.keras.Input((3,))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(2, activation=softer)(inputs))
    softer(tf.ones(3))
main()
"""
    assert set(told(tmp_path, source, "HY304")) <= {"info"}


#: A graph gets one number after the other, and changes a list in a loop; only a function that nobody runs calls it.
UNUSED = """
@tf.function
def rows(x, size):
    seen = []
    for row in x:
        seen.append(row * size)
    return tf.stack(seen)
def each():
    for size in range(1, 100):
        print(rows(tf.ones([3, 2]), size))
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "error"),  # nobody knows who runs it
        ({"other.py": "def run(x):\n    return x\nprint(run(1))\n"}, "info"),  # the program does not
        ({"other.py": "import main\nmain.each()\n"}, "error"),
    ],
)
def test_what_stands_in_a_file_that_no_program_imports_informs(
    files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(TF + UNUSED, "utf-8")
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    found = {f.code: f.severity.value for f in analyze([tmp_path], Config()).findings}
    assert found["HY318"] == expected
    assert found["HY101"] == ("info" if expected == "info" else "warning")


@pytest.mark.parametrize("behaves", [False, True])
def test_a_tensor_that_behaves_as_an_array_is_asked_for_its_mean(behaves: bool, tmp_path: Path) -> None:
    """`np.mean(x)` calls `x.mean()` (measured with 2.15 and 2.21); it keeps a function eager all the same."""
    switch = "np_config.enable_numpy_behavior()\n" if behaves else ""
    source = (
        "import numpy as np\nimport tensorflow as tf\nfrom tensorflow.python.ops.numpy_ops import np_config\n"
        f"{switch}@tf.function\ndef step(x):\n    return x - np.mean(x)\nstep(tf.ones(3))\n"
    )
    (tmp_path / "main.py").write_text(source)
    found = [each for each in analyze([tmp_path], Config()).findings if each.code == "HY340"]
    assert [each.severity.value for each in found] == ["info" if behaves else "error"]


def test_what_a_host_function_gives_of_a_tensor_is_told_once(tmp_path: Path) -> None:
    """`np.array` raises: `np.mean` and `float` around it never get anything."""
    source = (
        "import numpy as np\n@tf.function\ndef step(x):\n"
        "    return x - float(np.mean(np.array([x, x])))\nstep(tf.ones(3))\n"
    )
    (tmp_path / "main.py").write_text(TF + source, "utf-8")
    found = [each.message for each in analyze([tmp_path], Config()).findings if each.code == "HY340"]
    assert len(found) == 1
    assert "`np.array`" in found[0]


def test_what_a_host_function_makes_of_a_tensor_without_raising_goes_on(tmp_path: Path) -> None:
    """Where tensors behave as arrays, `round` of one is one: it is `np.sum` that raises (2.15 and 2.21)."""
    source = (
        "import numpy as np\nfrom tensorflow.python.ops.numpy_ops import np_config\n"
        "np_config.enable_numpy_behavior()\n@tf.function\ndef step(x):\n"
        "    return x - np.sum(round(x))\nstep(tf.ones(3))\n"
    )
    (tmp_path / "main.py").write_text(TF + source, "utf-8")
    found = [each for each in analyze([tmp_path], Config()).findings if each.code == "HY340"]
    assert [each.severity.value for each in found] == ["error"]
    assert "`np.sum`" in found[0].message


@pytest.mark.parametrize("writes", ['print("tracing step")', 'log.debug("`step` was traced for %s", x.shape)'])
def test_a_message_beside_one_about_tracing_is_told(writes: str, tmp_path: Path) -> None:
    head = "import logging\nlog = logging.getLogger()\n@tf.function\ndef step(x):\n"
    run = "    return x + 1\nfor n in range(3):\n    step(tf.ones(3))\n"
    assert not told(tmp_path, f"{head}    {writes}\n{run}", "HY201")
    assert told(tmp_path, f"{head}    {writes}\n    {writes.replace('trac', 'plac')}\n{run}", "HY201") == ["info"]
