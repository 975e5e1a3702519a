"""What findings of HY1xx and HY2xx are warnings of: what somebody can act on. The rest is information."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = "import tensorflow as tf\n"


def told(tmp_path: Path, **files: str) -> dict[str, str]:
    """The severities of all findings, by code."""
    for name, text in files.items():
        path = tmp_path / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + dedent(text))
    found = analyze([tmp_path], Config()).findings
    severe = [f for f in found if f.severity.value != "info"]
    return {f.code: f.severity.value for f in (*(f for f in found if f not in severe), *severe)}


STATE = """
    class Model:
        def __init__(self):
            self.called = False
            self.steps = 0
            self.rate = tf.Variable(0.1)
            self.drop = tf.keras.layers.Dropout(0.1)
            self.first = tf.Variable(1.0)
            self.seen = []

        @tf.function
        def step(self, x):
            {change}
            return x * 2.0

    model = Model()
    for _ in range(10):
        model.step(tf.ones(3))
    print(model.steps, model.seen)
"""


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ("self.steps += 1", "error"),
        ("self.seen.append(1)", "error"),
        ("self.drop.rate = self.rate", "info"),  # a variable: every call would put it there
        ("self.both = [self.rate] + [self.first]", "info"),
        ("self.ends = {}", "info"),
    ],
)
def test_what_every_call_would_write_again_is_information(change: str, severity: str, tmp_path: Path) -> None:
    assert told(tmp_path, main=STATE.format(change=change)).get("HY206") == severity


@pytest.mark.parametrize(
    ("shown", "is_value"),
    [
        ("print('x', x)", True),
        ("print(f'x is {x}')", True),
        ("print('x is {}'.format(x))", True),
        ("print('x', x.shape, x.dtype)", False),
        ("print(f'shape {x.shape}')", False),
        ("print('once')", False),
        ("print(x.shape); print(x)", True),  # any of them
    ],
)
def test_output_says_where_it_shows_a_tensor_in_the_place_of_a_value(
    shown: str, is_value: bool, tmp_path: Path
) -> None:
    source = f"@tf.function\ndef step(x):\n    {shown}\n    return x * 2.0\nstep(tf.ones(3))\n"
    (tmp_path / "main.py").write_text("import tensorflow as tf\n" + source)
    found = [f for f in analyze([tmp_path], Config()).findings if f.code == "HY201"]
    assert [str(f.severity) for f in found] == ["info"]
    assert ("symbolic tensor" in found[0].message) is is_value


def test_the_state_of_a_test_is_information(tmp_path: Path) -> None:
    source = """
        calls = []
        def test_step():
            @tf.function
            def step(x):
                calls.append(1)
                return x * 2.0
            step(tf.ones(3))
            assert len(calls) == 1
    """
    assert set(told(tmp_path, test_main=source).values()) <= {"info"}


MADE = """
    def fit(data):
        @tf.function
        def step(x):
            return x * 2.0
        return step(data)
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("for _ in range(10):\n    fit(tf.ones(3))", "warning"),
        ("fit(tf.ones(3))\nfit(tf.ones(4))", "info"),  # a trace for each model is what one has to pay
    ],
)
def test_a_function_that_is_made_hybrid_a_few_times_is_information(calls: str, severity: str, tmp_path: Path) -> None:
    assert told(tmp_path, main=dedent(MADE) + calls).get("HY102", "info") == severity


def test_other_scripts_make_functions_and_writers_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        dedent("""
        import tensorflow as tf
        @tf.function
        def note(x):
            tf.summary.scalar("x", x, step=0)
            return x * 2.0
        """)
    )
    script = """
        import tools
        with tf.summary.create_file_writer("{0}").as_default():
            tools.note(tf.constant(1.0))
    """
    assert "HY254" not in told(tmp_path, one=script.format("a"), two=script.format("b"))
    both = dedent(script.format("a")) + dedent(script.format("b"))
    assert told(tmp_path, one=both, two="")["HY254"] == "error"


@pytest.mark.parametrize(
    ("argument", "calls", "severity"),
    [
        ("step", "for step in range(100):\n    f(tf.ones(2), step)", "warning"),
        ("mode", "\n".join(f"f(tf.ones(2), '{mode}')" for mode in "abcdefgh"), "info"),
    ],
)
def test_a_few_constants_are_a_few_graphs(argument: str, calls: str, severity: str, tmp_path: Path) -> None:
    source = f"@tf.function\ndef f(x, {argument}):\n    return x * 2.0\n{calls}\n"
    assert told(tmp_path, main=source).get("HY101", "info") == severity


def test_a_graph_that_passes_numbers_on_is_traced_once(tmp_path: Path) -> None:
    source = """
        @tf.function
        def part(x, i):
            return x * i

        @tf.function
        def whole(x):
            for i in range(100):
                x = part(x, i)
            return x

        for _ in range(10):
            whole(tf.ones(3))
    """
    assert told(tmp_path, main=source).get("HY101", "info") == "info"


def test_what_tf_function_is_given_stays_a_python_function(tmp_path: Path) -> None:
    source = """
        class Model:
            def __init__(self):
                self.count = self.compute.__code__.co_argcount
                self.run = tf.function(self.compute)

            def compute(self, x):
                return x * 2.0

        @tf.function
        def f(x):
            return x + 1.0

        Model().run(tf.ones(3))
        f(tf.ones(3))
        tf.autograph.to_code(f.python_function)
    """
    assert "HY265" not in told(tmp_path, main=source)
    assert told(tmp_path, main=dedent(source) + "print(f.__code__)")["HY265"] in ("info", "error")


def test_an_iterator_of_which_nothing_is_known_is_no_python_iterator(tmp_path: Path) -> None:
    source = """
        @tf.function
        def step(iterator):
            return next(iterator)["x"] * 2.0

        def main(load):
            iterator = iter(load("train"))
            for _ in range(10):
                step(iterator)
    """
    assert "HY231" not in told(tmp_path, main=source)


def test_an_array_that_arrives_as_a_tensor_is_not_changed(tmp_path: Path) -> None:
    source = """
        import numpy as np

        @tf.function
        def step(x):
            x /= 2.0
            return x

        step(np.ones(3))
    """
    assert told(tmp_path, main=source).get("HY205", "info") == "info"


def test_what_has_one_cause_is_told_once(tmp_path: Path) -> None:
    source = """
        def note(x):
            tf.summary.scalar("x", x, step=0)
            tf.summary.scalar("y", x * 2.0, step=0)

        @tf.function
        def step(x):
            note(x)
            return x * 2.0

        with tf.summary.create_file_writer("a").as_default():
            step(tf.constant(1.0))
        with tf.summary.create_file_writer("b").as_default():
            step(tf.constant(1.0))
    """
    (tmp_path / "main.py").write_text(HEAD + dedent(source))
    found = [f for f in analyze([tmp_path], Config()).findings if f.code == "HY254"]
    assert sorted(f.severity.value for f in found) == ["error", "info"]


ASKS = """
    class Log:
        def __init__(self):
            self.closed = ""

        def fill(self, x):
            self.closed = input()
            return x * 2.0

    class Model:
        def __init__(self):
            self.closed = input()
            self.rows = self.size = 0
            self.log = Log()

        @tf.function
        def step(self, x):
            if {asked}:
                raise ValueError("not now")
            self.size = self.rows + 1
            return self.log.fill(x)

    model = Model()

    def main():
        for _ in range(9):
            model.rows += 1
            model.step(tf.ones([3]))

    main()
"""


@pytest.mark.parametrize(("asked", "severity"), [("self.closed", "info"), ("self.size", "error")])
def test_the_next_call_reads_what_its_own_condition_asks_for(asked: str, severity: str, tmp_path: Path) -> None:
    """A condition on `closed` asks for no `size`, though the code behind it writes a `closed` of another object."""
    assert told(tmp_path, main=ASKS.format(asked=asked)).get("HY206") == severity
