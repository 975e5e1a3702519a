"""Patterns of well-tested libraries that once were reported, and what they are not to be mistaken for."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config


def lines(source: str, code: str, folder: Path) -> set[int]:
    """The lines of a program at which a rule reports something."""
    (folder / "main.py").write_text(source, "utf-8")
    return {found.line for found in analyze([folder], Config()).findings if found.code == code}


def test_what_unknown_code_runs_is_not_its_result(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
import somewhere
replicator = somewhere.find()
@tf.function
def forward(x):
    return replicator.run(lambda: x + 1)
@tf.function
def named(x):
    def step():
        return x + 1
    return somewhere.run(step)
@tf.function
def bad(x):
    return lambda: x
@replicator.wraps
def main():
    forward(tf.ones(3)); named(tf.ones(3)); bad(tf.ones(3))
main()
"""
    assert lines(source, "HY350", tmp_path) == {14}


def test_a_function_made_by_the_call_that_writes_its_variable_sees_no_other_value(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
class Sampler:
    def closure(self, y):
        kept = [y]
        if self.split:
            kept = tf.split(y, 2)
        @tf.function
        def gradient(dy):
            return dy * len(kept)
        return y * 2, gradient
    @tf.function
    def scaled(self, y):
        return y * self.scale
    def slower(self):
        self.scale = tf.ones(2)
    def faster(self):
        self.scale = 2 * tf.ones(3)
"""
    assert lines(source, "HY602", tmp_path) == {13}


def test_what_a_call_takes_back_is_no_change(tmp_path: Path) -> None:
    source = """\
import contextvars
from contextlib import contextmanager
import tensorflow as tf
current = contextvars.ContextVar("current")
@contextmanager
def using(value):
    token = current.set(value)
    try:
        yield
    finally:
        current.reset(token)
class Model:
    training = False
    count = 0
    @tf.function
    def predict(self, x):
        before = self.training
        self.training = True
        try:
            with using(3):
                y = x + 1
        finally:
            self.training = before
        return y
    @tf.function
    def bad(self, x):
        self.count = self.count + 1
        current.set(4)
        return x
model = Model()
model.predict(tf.ones(3)); model.bad(tf.ones(3))
"""
    assert lines(source, "HY206", tmp_path) == {27, 28}


def test_what_happens_once_under_a_flag_happens_once_while_tracing(tmp_path: Path) -> None:
    source = """\
import functools, warnings
import tensorflow as tf
def experimental(func):
    warned = False
    @functools.wraps(func)
    def wrapped(*args):
        nonlocal warned
        if not warned:
            name = f"{func.__name__}"
            warnings.warn(name)
            warned = True
        return func(*args)
    return wrapped
@tf.function
@experimental
def step(x):
    return x + 1
seen = set()
@tf.function
def bad(x, key):
    if key not in seen:
        print("new", key)
        seen.add(key)
    return x
step(tf.ones(3)); bad(tf.ones(3), "a")
"""
    assert lines(source, "HY206", tmp_path) == set()
    assert lines(source, "HY201", tmp_path) == {22}


def test_only_calls_of_the_graph_are_traced(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
log = []
def checked(func):
    def wrapped(*args):
        return func(*args)
    return wrapped
@checked
def plain(x):
    log.append(1)
    return x
@checked
def pure(x):
    return x + 1
graph = tf.function(pure)
graph(tf.ones(3)); plain(tf.ones(3)); pure(tf.ones(3))
def scaled(x, k):
    return x * k
fixed = tf.function(scaled, input_signature=[tf.TensorSpec([2]), tf.TensorSpec([])])
fixed(tf.ones(2), tf.constant(2.0))
for i in range(9):
    scaled(tf.ones(3), i + 0.5)
fixed(tf.ones(3), tf.constant(2.0))
"""
    assert lines(source, "HY206", tmp_path) == set()
    assert lines(source, "HY101", tmp_path) == set()
    assert lines(source, "HY270", tmp_path) == {22}


def test_code_that_a_call_switches_off_is_not_in_its_graph(tmp_path: Path) -> None:
    calls = "\n".join(f"size(tf.constant({i}), verbose=True, scale={i}.5)" for i in range(30))
    source = f"""\
import tensorflow as tf
def size(x, verbose=False, scale=None):
    y = x * 2
    if verbose:
        print(y.numpy())
    if scale is None:
        return y
    return y * tf.cast(scale, y.dtype) * int(y.numpy())
@tf.function
def graph(x):
    return size(x)
@tf.function
def loud(x):
    return size(x, verbose=True)
graph(tf.constant(1)); loud(tf.constant(1))
{calls}
"""
    (tmp_path / "main.py").write_text(source, "utf-8")
    found = {(f.line, f.function) for f in analyze([tmp_path], Config()).findings if f.code == "HY301"}
    assert found == {(5, "main:loud")}


def test_a_parameter_that_a_lambda_captures_is_of_its_own_call(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
from somewhere import normalize
def pyramid(image, model):
    image = normalize(image)
    def scaled(i):
        return model(tf.image.resize(image, [8, 8]))
    return tf.map_fn(scaled, tf.range(2), fn_output_signature=tf.float32)
class Extract(tf.Module):
    def __init__(self):
        super().__init__()
        self.conv = tf.keras.layers.Conv2D(4, 3)
    @tf.function(input_signature=[tf.TensorSpec([1, None, None, 3])])
    def features(self, image):
        return pyramid(image, lambda x: self.conv(x))
    @tf.function(input_signature=[tf.TensorSpec([1, None, None, 3])])
    def fixed(self, image):
        return self.features(image)
one, other = Extract(), Extract()
one.features(tf.ones([1, 9, 9, 3])); other.fixed(tf.ones([1, 9, 9, 3])); one.fixed(tf.ones([1, 5, 5, 3]))
"""
    assert lines(source, "HY602", tmp_path) == set()
    assert lines(source, "HY274", tmp_path) == set()


def test_what_one_of_several_functions_does_is_told_of_none(tmp_path: Path) -> None:
    tasks = "\n".join(f"class Task{i}:\n    def __call__(self, x):\n        return x + {i}" for i in range(70))
    fillers = "\n".join(f"def filler{i}(x):\n    return x" for i in range(70))
    made = ", ".join(f"Task{i}()" for i in range(70))
    source = f"""\
import tensorflow as tf
class Plot:
    def __call__(self, x):
        print(x.numpy())
        return x
class Monitor:
    def __init__(self, tasks):
        self.tasks = list(tasks)
    def __call__(self, x):
        for task in self.tasks:
            x = task(x)
        return x
{tasks}
{fillers}
quick = Monitor([{made}])
slow = Monitor([Plot()])
@tf.function
def step(x):
    return quick(x)
@tf.function
def bad(x):
    return Plot()(x)
step(tf.ones(3)); slow(tf.ones(3)); bad(tf.ones(3))
"""
    (tmp_path / "main.py").write_text(source, "utf-8")
    found = {(f.code, f.line, f.function) for f in analyze([tmp_path], Config()).findings}
    assert found >= {("HY301", 4, "main:bad"), ("HY201", 4, "main:bad")}
    assert not any(function == "main:step" for _, _, function in found)


def severities(source: str, folder: Path) -> set[tuple[str, int, str]]:
    """What a program's findings of severity warning and error are: code, line, severity."""
    (folder / "main.py").write_text(source, "utf-8")
    found = {(f.code, f.line, f.severity.value) for f in analyze([folder], Config()).findings}
    return {each for each in found if each[2] != "info"}


def test_what_pays_is_asked_for_or_never_traced_is_no_alarm(tmp_path: Path) -> None:
    source = """\
import argparse
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--debug", action="store_true")
if parser.parse_args().debug:
    tf.config.run_functions_eagerly(True)
def train(data):
    @tf.function
    def step(x):
        return x * 2
    for x in data:
        step(x)
def once(x):
    @tf.function
    def step(z):
        return z * 2
    return step(x)
def check(x):
    if tf.executing_eagerly():
        if not tf.reduce_all(x > 0):
            raise ValueError("bad")
        x.numpy()
@tf.function
def checked(x):
    check(x)
    return x * 2
FLAG = None
def flag():
    global FLAG
    if FLAG is not None:
        return FLAG
    FLAG = True
    return FLAG
@tf.function
def flagged(x):
    return x * 2 if flag() else x
@tf.function
def inner(x, f):
    return f(x)
@tf.function
def outer(x):
    return inner(x, lambda z: z * 2)
data = tf.data.Dataset.from_tensor_slices(tf.ones((100, 3))).batch(10)
for epoch in range(3):
    train(data)
    once(tf.ones(3))
    checked(tf.ones(3))
    flagged(tf.ones(3))
    outer(tf.ones(3))
"""
    found = severities(source, tmp_path)
    assert {(code, line) for code, line, _ in found if code != "HY345"} == {("HY102", 14)}


def test_runs_that_begin_where_nothing_calls_and_defaults_of_classes(tmp_path: Path) -> None:
    """What changes between the calls of an uncalled function is stale; a class's default is read before it is set."""
    source = """\
import tensorflow as tf
class Growing:
    def __init__(self):
        self.scale = 1.0
    def grow(self):
        self.scale = self.scale * 2
    def call(self, x):
        return tf.sin(tf.cos(tf.sin(x))) * self.scale
class Once:
    n = None
    def get(self):
        if self.n is not None:
            return 4
        self.n = 3
        return self.n
    def call(self, x):
        return tf.sin(tf.cos(tf.sin(x))) * self.get()
def run():
    growing, once = Growing(), Once()
    for _ in range(4):
        growing.grow()
        growing.call(tf.ones(3))
        once.call(tf.ones(3))
"""
    (tmp_path / "main.py").write_text(source, "utf-8")
    report = analyze([tmp_path], Config(all_safe=True))
    found = {f.facts.qualname: {s.code for s in f.statuses} for f in report.functions}
    assert "HY602" in found["Growing.call"]
    assert "HY003" in found["Once.call"]


def test_what_is_switched_back_or_only_looked_at_is_no_alarm(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
def before():
    tf.config.run_functions_eagerly(True)
def after():
    tf.config.run_functions_eagerly(False)
def build(f, spec):
    f = tf.function(f)
    return f.get_concrete_function(spec).output_shapes
def double(x):
    return x * 2
before()
after()
for n in range(3):
    build(double, tf.TensorSpec([n]))
"""
    assert not severities(source, tmp_path)


def test_a_function_that_a_loop_makes_reads_what_its_turn_has_bound(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
def test_all():
    for n in (1, 2, 3):
        scale = tf.constant([float(n)])
        @tf.function
        def run(u):
            return u * scale
        run(tf.ones(1))
def late():
    k = 1.0
    @tf.function
    def run(u):
        return u * k
    for n in range(3):
        k = float(n)
        run(tf.ones(1))
test_all()
late()
"""
    assert lines(source, "HY602", tmp_path) == {13}


def test_a_field_that_held_a_list_before_may_hold_the_iterator_of_a_data_set(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
class Trainer:
    def __init__(self, loaders):
        self.loader = loaders
        if isinstance(self.loader, list):
            self.loader = self.loader[0]
    @tf.function
    def step(self, batches):
        return next(batches) * 2.0
    def train(self):
        batches = iter(self.loader)
        for _ in range(3):
            print(self.step(batches))
Trainer([tf.data.Dataset.from_tensor_slices(tf.ones([9, 2]))]).train()
"""
    assert lines(source, "HY231", tmp_path) == set()
    only = source.replace("            self.loader = self.loader[0]\n", "            pass\n").replace(
        "[tf.data.Dataset.from_tensor_slices(tf.ones([9, 2]))]", "[tf.ones(2), tf.ones(2), tf.ones(2)]"
    )
    assert lines(only, "HY231", tmp_path) == {9}


def loud(source: str, code: str, folder: Path) -> set[int]:
    """The lines at which a rule reports more than information."""
    (folder / "main.py").write_text(source, "utf-8")
    found = analyze([folder], Config()).findings
    return {each.line for each in found if each.code == code and each.severity.value != "info"}


def test_random_labels_for_a_batch_are_an_array(tmp_path: Path) -> None:
    source = """\
import numpy as np
import tensorflow as tf
@tf.function
def move(x, y):
    return x * tf.cast(y, tf.float32)[:, None]
@tf.function
def shift(x, y):
    return x + tf.cast(y, tf.float32)
for x in tf.data.Dataset.from_tensor_slices(tf.ones([10, 4])).batch(4):
    move(x, np.random.randint(0, 9, size=x.shape[0]))
    shift(x, np.random.randint(0, 9))
"""
    assert loud(source, "HY101", tmp_path) == {11}


def test_a_number_out_of_settings_that_is_changed_in_place_leaves_the_settings(tmp_path: Path) -> None:
    source = """\
import json
import tensorflow as tf
class Encoder:
    def __init__(self, filters):
        self.layers = []
        for _ in range(3):
            self.layers.append(tf.keras.layers.Conv2D(filters, 3))
            filters *= 2
@tf.function
def step(x, settings):
    return x * settings["weight"]
with open("settings.json") as stream:
    settings = json.load(stream)
for x in tf.data.Dataset.from_tensor_slices(tf.ones([10, 4])).batch(5):
    step(x, settings)
    encoder = Encoder(settings["filters"])
"""
    assert lines(source, "HY101", tmp_path) == set()


def test_a_size_that_only_some_settings_leave_open_is_no_alarm(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
class Trainer:
    def __init__(self, length=None):
        self.length = length
    def make(self):
        signature = [tf.TensorSpec([self.length, 3], tf.float32)]
        def step(x):
            return tf.add_n([x[i] for i in range(x.shape[0] - 1)])
        return step if self.length is None else tf.function(step, input_signature=signature)
@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def total(x):
    return tf.add_n([x[i] for i in range(x.shape[0] - 1)])
for length in (None, 3):
    Trainer(length).make()(tf.ones([3, 3]))
total(tf.ones([3, 3]))
"""
    assert loud(source, "HY274", tmp_path) == {12}


def test_an_iterator_that_the_call_makes_itself_is_no_alarm(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
v = [tf.Variable(1.0), tf.Variable(2.0)]
@tf.function
def update(pairs):
    return [b - a for a, b in pairs]
class First:
    @tf.function
    def step(self, x):
        return update(zip([x, x], v))
class Second:
    @tf.function
    def step(self, x):
        return update(zip([x * 2, x], v))
x = tf.constant(1.0)
First().step(x); Second().step(x)
"""
    assert loud(source, "HY231", tmp_path) == set()


def test_a_field_that_gets_the_same_setting_again_is_no_alarm(tmp_path: Path) -> None:
    source = """\
import argparse
import tensorflow as tf
class Trainer:
    def fit(self, steps, turn):
        self.steps = steps
        self.turn = turn
        for _ in range(3):
            self.step(tf.ones(3))
    @tf.function
    def step(self, x):
        return x / self.steps + self.turn
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    args = parser.parse_args()
    trainer = Trainer()
    for turn in range(5):
        trainer.fit(args.steps, turn)
if __name__ == "__main__":
    main()
"""
    (tmp_path / "main.py").write_text(source, "utf-8")
    found = [each for each in analyze([tmp_path], Config()).findings if each.code == "HY602"]
    assert {each.message.split("`")[1] for each in found if each.severity.value != "info"} == {"turn"}


def test_a_layer_that_nothing_calls_makes_no_weights(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
@tf.function
def parts(x):
    layers = [tf.keras.layers.Dense(3)]
    return x
@tf.function
def whole(x):
    model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    return model(x)
parts(tf.ones([2, 3])); whole(tf.ones([2, 3]))
"""
    assert loud(source, "HY250", tmp_path) == {8}


def test_what_stands_in_an_init_scope_runs_eagerly(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
v = tf.Variable(2.0)
@tf.function
def held(x):
    with tf.init_scope():
        k = v.numpy()
    return x * k
@tf.function
def given(x):
    with tf.init_scope():
        k = x.numpy()
    return x * k
held(tf.ones(2)); given(tf.ones(2))
"""
    assert lines(source, "HY301", tmp_path) == {11}


def test_a_switch_in_a_program_without_graphs_takes_nothing_away(tmp_path: Path) -> None:
    switch = "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\n"
    for name, rest, severity in (
        ("none", "print(tf.reduce_sum(tf.ones(3)))\n", "info"),
        ("hybrid", "f = tf.function(lambda x: x * 2.0)\nf(tf.ones(2))\n", "warning"),
        ("trains", "m = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nm.fit(tf.ones([2, 2]))\n", "warning"),
        ("unknown", "import somewhere\nsomewhere.train()\n", "info"),
        ("given", "import somewhere\n@tf.function\ndef f(x):\n    return x\nsomewhere.train(f)\n", "warning"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "main.py").write_text(switch + rest, "utf-8")
        (found,) = [f for f in analyze([folder], Config()).findings if f.code == "HY501"]
        assert found.severity.value == severity


def test_a_hybrid_method_gets_its_receiver_as_it_is(tmp_path: Path) -> None:
    source = """\
import numpy as np
import tensorflow as tf
class Scheme:
    def __init__(self, stages, start):
        self.weights = np.ones([stages + 1, stages])
        self.start = start
    @tf.function
    def loss(self):
        return tf.reduce_sum(self.advance(tf.ones([2, 3], tf.float64)))
    @tf.function
    def advance(self, x):
        return tf.matmul(x, self.weights.T[:3])
    @tf.function
    def raised(self):
        return self.start.numpy()
@tf.function
def made(x):
    return Scheme(3, x).raised()
print(Scheme(3, 0.0).loss())
made(tf.ones([2]))
"""
    assert lines(source, "HY347", tmp_path) == set()  # an array that no call passes
    assert lines(source, "HY348", tmp_path) == set()
    assert lines(source, "HY301", tmp_path) == {15}  # what an object is made of in the graph is symbolic there


def test_loop_variables_and_results_keep_their_structure(tmp_path: Path) -> None:
    source = """\
from collections import namedtuple
import tensorflow as tf
State = namedtuple("State", "step, parts, rows")
def advance(state):
    total = tf.add_n([part * 2.0 for part in state.parts])
    return [State(state.step + 1, [part + total for part in state.parts], [row + 1.0 for row in state.rows])]
@tf.function
def run(x, count):
    start = State(0, [x * float(n) for n in range(count)], x)
    [end] = tf.while_loop(lambda state: state.step < 3, advance, [start])
    return [part + 1.0 for part in end.parts]
@tf.function
def chosen(x, count):
    parts = tf.cond(tf.reduce_sum(x) > 0.0, lambda: [x] * count, lambda: [-x] * count)
    return [part + 1.0 for part in parts]
@tf.function
def mapped(x, count):
    parts = tf.map_fn(lambda row: tuple(row * n for n in range(count)), x, fn_output_signature=(tf.float32,) * 3)
    return [part + 1.0 for part in parts]
def main(count):
    run(tf.ones([2]), count); chosen(tf.ones([2]), count); mapped(tf.ones([2]), count)
"""
    assert lines(source, "HY310", tmp_path) == {6}  # `rows`, which is a tensor
