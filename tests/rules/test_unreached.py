"""Findings about what no trace comes to: another branch, a switch, a wrapper that nobody uses, a lesson."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config


def told(folder: Path, source: str, code: str) -> dict[int, str]:
    """The severity of each finding of a rule, by its line (from 1, below the two imports)."""
    (folder / "main.py").write_text("import numpy as np\nimport tensorflow as tf\n" + source, "utf-8")
    return {f.line - 2: f.severity.value for f in analyze([folder], Config()).findings if f.code == code}


WHEN = """\
def when(decorator, condition):
    def apply(function):
        return decorator(function) if condition else function
    return apply
def train(config, steps):
    @when(tf.function, {condition})
    def step(x):
        if {branch}:
            return x.numpy()
        return x * 2.0
    for i in range(steps):
        step(tf.ones([]) * i)
class Settings:
    pass
settings = Settings()
settings.mode = "fast" if input() else "slow"
settings.graph = bool(input())
train(settings, 10)
"""


@pytest.mark.parametrize(
    ("condition", "branch", "severity"),
    [
        ('config.mode in ("fast", "faster")', 'config.mode == "slow"', "info"),
        ('config.mode in ("fast", "faster")', 'config.mode not in ("fast", "faster", "none")', "info"),
        ('config.mode != "slow"', 'config.mode == "slow"', "info"),
        ("config.graph", "not config.graph", "info"),
        ("config.graph and steps > 3", "not config.graph", "info"),
        ('config.mode in ("fast", "faster")', 'config.mode == "fast"', "error"),
        ('config.mode in ("fast", "faster")', 'config.mode != "faster"', "error"),
        ("config.graph", "config.graph", "error"),
        ("config.graph", 'config.mode == "slow"', "error"),
    ],
)
def test_a_branch_that_the_condition_of_the_decorator_rules_out(
    condition: str, branch: str, severity: str, tmp_path: Path
) -> None:
    source = WHEN.format(condition=condition, branch=branch)
    assert told(tmp_path, source, "HY301") == {9: severity}


def test_a_branch_that_the_arguments_of_this_call_rule_out(tmp_path: Path) -> None:
    source = """\
class Data:
    def __init__(self, rows):
        self.rows = rows
    def order(self, size, shuffle=False):
        if size == -1:
            return self.rows
        if shuffle:
            return np.random.permutation(self.rows)
        return self.rows[:size]
class Model:
    def total(self, data, size=-1):
        return tf.reduce_sum(tf.gather(self.w, data.order(size)))
    def fit(self, data, size):
        for i in range(10):
            self.w = self.w + tf.cast(data.order(size, shuffle=True)[0], tf.float32)
    def __init__(self):
        self.w = tf.ones([100])
model, data = Model(), Data(np.arange(100))
@tf.function
def quiet(x):
    return x + model.total(data, 8)
@tf.function
def loud(x):
    return x + tf.reduce_sum(data.order(8, shuffle=True))
model.fit(data, 16)
for i in range(10):
    quiet(1.0), loud(1)
"""
    (tmp_path / "main.py").write_text("import numpy as np\nimport tensorflow as tf\n" + source, "utf-8")
    found = [(f.function, f.severity.value) for f in analyze([tmp_path], Config()).findings if f.code == "HY203"]
    assert ("main:loud", "error") in found
    assert ("main:quiet", "error") not in found


READS = "@tf.function\ndef f(x):\n    return x.numpy()\n"


def test_a_program_without_graphs_has_no_use_for_what_graphs_do(tmp_path: Path) -> None:
    assert told(tmp_path, READS + "f(tf.ones(3))\n", "HY301") == {3: "error"}
    source = READS + "tf.config.run_functions_eagerly(True)\nf(tf.ones(3))\n"
    assert told(tmp_path, source, "HY301") == {3: "info"}
    assert told(tmp_path, source, "HY501") == {4: "warning"}


def test_a_switch_of_one_program_is_none_of_another(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import tensorflow as tf\n" + READS, "utf-8")
    debug = "import tensorflow as tf\nfrom model import f\ntf.config.run_functions_eagerly(True)\nf(tf.ones(3))\n"
    (tmp_path / "debug.py").write_text(debug, "utf-8")
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom model import f\nf(tf.ones(3))\n", "utf-8")
    assert [f.severity.value for f in analyze([tmp_path], Config()).findings if f.code == "HY301"] == ["error"]
    (tmp_path / "main.py").unlink()
    assert [f.severity.value for f in analyze([tmp_path], Config()).findings if f.code == "HY301"] == ["info"]


MADE = """\
class Policy:
    def act(self, x):
        return x.numpy()
def traced(policy):
    return tf.function(policy.act)
policy = Policy()
policy.act(tf.ones(3))
"""


def test_a_graph_that_only_unused_code_makes_is_not_made(tmp_path: Path) -> None:
    unused = MADE.replace("def traced(policy):", "def traced(policy: Policy):")
    assert "error" not in told(tmp_path, unused, "HY301").values()
    assert told(tmp_path, MADE + "traced(policy)(tf.ones(3))\n", "HY301") == {3: "error"}


SHOWN = """\
import contextlib
@contextlib.contextmanager
def shown(kind):
    try:
        yield
    except kind as error:
        print("as expected", error)
@tf.function
def f(x):
    return x.numpy()
def apply(function, x):
    return function(x)
"""


def test_what_is_shown_to_raise_is_a_lesson(tmp_path: Path) -> None:
    assert told(tmp_path, SHOWN + "f(tf.ones(3))\n", "HY301") == {10: "error"}
    assert told(tmp_path, SHOWN + "with shown(AttributeError):\n    f(tf.ones(3))\n", "HY301") == {10: "info"}
    assert told(tmp_path, SHOWN + "with shown(AttributeError):\n    apply(f, tf.ones(3))\n", "HY301") == {10: "info"}


def test_a_context_that_handles_nothing_expects_nothing(tmp_path: Path) -> None:
    timed = SHOWN.replace("    except kind as error:\n", "    finally:\n").replace(", error)", ")")
    assert told(tmp_path, timed + "with shown(1):\n    f(tf.ones(3))\n", "HY301") == {10: "error"}


LATER = READS.replace("x.numpy()", "tf.abs(x).numpy()")


def test_what_a_program_that_runs_other_functions_never_runs_is_no_error(tmp_path: Path) -> None:
    assert told(tmp_path, LATER, "HY301") == {3: "error"}
    assert told(tmp_path, LATER + "def main():\n    print(tf.ones(3))\nmain()\n", "HY301") == {3: "info"}
    assert told(tmp_path, LATER + "def main():\n    print(f(tf.ones(3)))\nmain()\n", "HY301") == {3: "error"}


def test_what_a_library_exports_others_run(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "package"\n', "utf-8")
    (tmp_path / "package").mkdir()
    main = "def main():\n    print(tf.ones(3))\nmain()\n"
    (tmp_path / "package" / "__init__.py").write_text("import tensorflow as tf\n" + LATER + main, "utf-8")
    assert [f.severity.value for f in analyze([tmp_path], Config()).findings if f.code == "HY301"] == ["error"]


def test_a_switch_that_an_import_turns(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(
        "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\ndef layer():\n    return 1\n", "utf-8"
    )
    (tmp_path / "model.py").write_text("import tensorflow as tf\nfrom layers import layer\n" + READS, "utf-8")
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom model import f\nf(tf.ones(3))\n", "utf-8")
    assert [f.severity.value for f in analyze([tmp_path], Config()).findings if f.code == "HY301"] == ["info"]
