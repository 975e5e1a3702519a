"""What is saved of a run: of all that its callers do, with the graphs of the others."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

#: Trains in eager mode, since each step writes a list; `{after}` stands behind each epoch, `{end}` behind all.
PROGRAM = """
import sys
import tensorflow as tf
from data import batches
w = tf.Variable(tf.ones([8, 8]))
history = []
def sample(x):
    for _ in range(20):
        x = tf.sin(tf.matmul(x, w)) + x
    return x
def step(x):
    with tf.GradientTape() as tape:
        h = x
        for _ in range(10):
            h = tf.nn.relu(tf.matmul(h, w)) + tf.sin(h)
        loss = tf.reduce_mean(h)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    history.append(float(loss))
data = tf.data.Dataset.from_tensor_slices(tf.ones([1000, 4, 8]))
for epoch in range(int(sys.argv[1])):
    for x in data:
        step(x)
    {after}
{end}
"""


def chosen(folder: Path, source: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "main.py").write_text(textwrap.dedent(source), "utf-8")
    report = analyze([folder], Config())
    return [f.facts.qualname for f in report.functions if f.decision.action is Action.CONVERT_TO_HYBRID]


def _made(tmp_path: Path, after: str = "pass", end: str = "pass") -> list[str]:
    return chosen(tmp_path, PROGRAM.replace("{after}", after).replace("{end}", end))


def test_what_runs_once_an_epoch_beside_a_thousand_steps_is_not_noticed(tmp_path: Path) -> None:
    assert _made(tmp_path, after="print(sample(tf.ones([4, 8])).numpy())") == []


def test_what_runs_for_each_example_of_an_epoch_is(tmp_path: Path) -> None:
    assert _made(tmp_path, after="for x in data: print(sample(x).numpy())") == ["sample"]


@pytest.mark.parametrize(
    ("end", "made"),
    [
        ("print(sample(tf.ones([4, 8])).numpy())", []),
        ("for x in data: print(sample(x).numpy())", ["sample"]),
        ("for _ in range(20): print(sample(tf.ones([4, 8])).numpy())", []),
    ],
)
def test_a_loop_beside_the_training_is_a_run_of_its_own(tmp_path: Path, end: str, made: list[str]) -> None:
    assert _made(tmp_path, end=end) == made


def test_a_step_that_is_a_graph_takes_less_of_the_run(tmp_path: Path) -> None:
    """Beside a step of a millisecond, and a game, a call of a network is much; beside an eager step it is not."""
    source = """
        import tensorflow as tf
        from games import new_game
        w, history = tf.Variable(tf.ones([8, 8])), []
        def act(x):
            for _ in range(60):
                x = tf.nn.relu(tf.matmul(x, w))
            return x
        def train(x):
            with tf.GradientTape() as tape:
                h = x
                for _ in range(80):
                    h = tf.nn.relu(tf.matmul(h, w)) + tf.sin(h)
                loss = tf.reduce_mean(h)
            w.assign_sub(0.1 * tape.gradient(loss, w)){effect}
        game = new_game()
        while game.goes_on():
            game.move(act(tf.ones([1, 8])).numpy())
            train(tf.ones([4, 8]))
        """
    assert chosen(tmp_path / "graph", source.replace("{effect}", "")) == ["act", "train"]
    assert chosen(tmp_path / "eager", source.replace("{effect}", "; history.append(float(loss))")) == []


_NETWORK = """
    import tensorflow as tf
    {imports}
    w = tf.Variable(tf.ones([8, 8]))
    def act(x):
        for _ in range(20):
            x = tf.nn.relu(tf.matmul(x, w))
        return x
"""


@pytest.mark.parametrize(
    ("imports", "turn", "made"),
    [
        ("", "act(tf.ones([1, 8]))", ["act"]),
        ("import games", "games.move(games.look(), act(tf.ones([1, 8])), games.draw(), games.score())", []),
    ],
)
def test_what_nobody_knows_takes_its_time_as_well(tmp_path: Path, imports: str, turn: str, made: list[str]) -> None:
    """Beside simulations and drawings a millisecond less per turn is not noticed."""
    assert chosen(tmp_path, _NETWORK.format(imports=imports) + f"    while True:\n        {turn}\n") == made


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("return act(tf.ones([1, 8])) + 1.0", []),
        ("for x in tf.data.Dataset.from_tensor_slices(tf.ones([9000, 1, 8])): print(act(x))", ["act"]),
    ],
)
def test_of_what_nobody_calls_only_the_loops_are_runs(tmp_path: Path, body: str, made: list[str]) -> None:
    """The program trains, with one call of the network beside each step; a function that is left over calls it, too."""
    step = """
    big = tf.Variable(tf.ones([3000, 3000]))
    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(big, big))
        big.assign_sub(tape.gradient(loss, big))
        print(loss)
    while True:
        train()
        act(tf.ones([1, 8]))
"""
    left = f"    def left_over():\n        {body}\n"
    assert chosen(tmp_path, _NETWORK.format(imports="") + left + step) == made


@pytest.mark.parametrize(
    ("imports", "inputs", "made"),
    [
        ("", "tf.ones([1, 8])", ["act"]),
        ("import games", "games.look()", []),
    ],
)
def test_half_a_millisecond_a_call_counts_where_all_is_known(
    tmp_path: Path, imports: str, inputs: str, made: list[str]
) -> None:
    network = _NETWORK.format(imports=imports).replace("range(20)", "range(16)")
    assert chosen(tmp_path, network + f"    while True:\n        act(tf.cast({inputs}, tf.float32))\n") == made


@pytest.mark.parametrize(("size", "made"), [(3000, []), (3, ["part"])])
def test_the_rows_of_one_batch_are_no_run_where_a_loop_brings_batches(
    tmp_path: Path, size: int, made: list[str]
) -> None:
    """The first call, before the loop, goes over the rows of a batch, too: that is as little of a run as later ones."""
    source = f"""
        import tensorflow as tf
        history, much = [], tf.ones([{size}, {size}])
        def part(x):
            for _ in range(60):
                x = tf.sin(x) + tf.tanh(x)
            return x
        def targets(x):
            return [part(x) for _ in range(int(tf.reduce_sum(x)))]
        def forward(x):
            history.append(float(tf.reduce_sum(much @ much)))
            return targets(x)
        data = tf.data.Dataset.from_tensor_slices(tf.ones([1000, 4, 8]))
        forward(tf.ones([4, 8]))
        for x in data:
            forward(x)
    """
    assert chosen(tmp_path, source) == made


def test_nobody_begins_with_what_keras_calls(tmp_path: Path) -> None:
    """A library's loss runs for a batch: what it is a part of is the step, not what somebody else begins with it."""
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(name='losses', packages=['losses'])\n")
    (tmp_path / "losses").mkdir()
    (tmp_path / "losses" / "__init__.py").write_text(
        textwrap.dedent(
            """
            import tensorflow as tf
            kept = []
            def part(x):
                for _ in range(60):
                    x = tf.sin(x) + tf.tanh(x)
                return x
            class Loss(tf.keras.losses.Loss):
                def call(self, y_true, y_pred):
                    kept.append(1)
                    return tf.reduce_mean(tf.square(part(y_true) - part(y_pred)), axis=-1)
            """
        )
    )
    source = """
        import tensorflow as tf
        from losses import Loss
        loss, much = Loss(), tf.ones([{size}, {size}])
        for x in tf.data.Dataset.from_tensor_slices(tf.ones([1000, 4, 8])):
            print(loss(x, x * 2.0), much @ much)
    """
    assert chosen(tmp_path, source.replace("{size}", "3000")) == []
    assert chosen(tmp_path, source.replace("{size}", "3")) == ["part"]


#: Moves two numbers by gradients, so many times.
TOY = """
import tensorflow as tf
a, b = tf.Variable(0.0), tf.Variable(0.0)
x, y = tf.ones([100]), tf.ones([100])
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((a * x + b - y) ** 2)
    da, db = tape.gradient(loss, [a, b])
    a.assign_sub(0.1 * da)
    b.assign_sub(0.1 * db)
for i in range({steps}):
    step(x, y)
"""


def test_steps_of_training_that_are_counted_must_be_noticed_together(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import tensorflow as tf\nprint(tf.ones([]))\n", "utf-8")  # no demonstration
    assert chosen(tmp_path, TOY.replace("{steps}", "100")) == []
    assert chosen(tmp_path, TOY.replace("{steps}", "20_000")) == ["step"]
    assert chosen(tmp_path, TOY.replace("{steps}", "len(open('steps').readlines())")) == ["step"]
