"""What changes by people in histories that nobody had read showed to be told wrongly or not: programs of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import ForkServer, Kind, Program
from hybridize.api import analyze
from hybridize.config import Config
from hybridize.library.dialect import NUMBERS_ONLY, SHAPES_ONLY

HEAD = "import numpy as np\nimport tensorflow as tf\n"


def severities(source: str, code: str, folder: Path) -> list[str]:
    """How loudly a rule tells of a program what it finds there."""
    (folder / "main.py").write_text(HEAD + source, encoding="utf-8")
    report = analyze([folder], Config(all_safe=True), repairs=False)
    return [each.severity.value for each in report.findings if each.code == code]


def codes(source: str, function: str, folder: Path) -> set[str]:
    """What keeps a function of a program as it is."""
    (folder / "main.py").write_text(HEAD + source, encoding="utf-8")
    report = analyze([folder], Config(all_safe=True), repairs=False)
    return {s.code for f in report.functions if f.facts.qualname == function for s in f.statuses}


SPEC = """\
import sys
class Integrator:
    def __init__(self, size):
        self.size = size
    def compile(self, integrand):
        self.event = tf.function(integrand, input_signature=[tf.TensorSpec([None, SIZE], tf.float64)])
def volume(points):
    return tf.reduce_sum(points, axis=1) * float(points.shape[-1])
integrator = Integrator(int(sys.argv[1]))
integrator.compile(volume)
integrator.event(tf.zeros([5, integrator.size], tf.float64))
"""


@pytest.mark.parametrize(("size", "is_open"), [("self.size", False), ("2", False), ("None", True)])
def test_a_size_that_a_signature_computes_is_not_left_open(size: str, is_open: bool, tmp_path: Path) -> None:
    assert bool(severities(SPEC.replace("SIZE", size), "HY274", tmp_path)) is is_open


@pytest.mark.parametrize(("asked", "is_read"), [("number is None", False), ("number is not None", True)])
def test_what_no_call_reaches_reads_no_size(asked: str, is_read: bool, tmp_path: Path) -> None:
    source = f"""\
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.float32)])
def scaled(x, number):
    if {asked}:
        number = float(x.shape[0])
    return x * number
scaled(tf.ones([int(input()), 2]), tf.constant(3.0))
"""
    assert bool(severities(source, "HY274", tmp_path)) is is_read


@pytest.mark.parametrize(("given", "is_asked"), [("num=2, axis=1", False), ("2, 1", False), ("axis=1", True)])
def test_who_is_told_how_many_tensors_to_make_asks_for_no_size(given: str, is_asked: bool, tmp_path: Path) -> None:
    source = f"""\
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
def second(x):
    return tf.unstack(x, {given})[1] * 2.0
second(tf.ones([3, int(input())]))
"""
    assert bool(severities(source, "HY274", tmp_path)) is is_asked


@pytest.mark.tensorflow
@pytest.mark.parametrize(("given", "is_asked"), [("num=2, axis=1", False), ("2, 1", False), ("axis=1", True)])
def test_tensorflow_asks_for_the_size_that_it_is_not_told(server: ForkServer, given: str, is_asked: bool) -> None:
    source = f"""\
second = tf.function(
    lambda x: tf.unstack(x, {given})[1] * 2.0, input_signature=[tf.TensorSpec([None, None], tf.float32)]
)
second(tf.ones([3, 2]))
"""
    assert _fails(server, HEAD + source) is is_asked


COMMAND = """\
import click
@click.group()
def main():
    pass
@main.command()
def solve():
    at = tf.random.uniform((3, 3))
    @tf.function
    def determinant():
        return tf.linalg.det(at)
    for _ in range(3):
        print(determinant())
        AFTER
"""


@pytest.mark.parametrize(("after", "is_stale"), [("pass", False), ("at = tf.random.uniform((3, 3))", True)])
def test_what_a_command_writes_before_it_makes_a_graph_stays(after: str, is_stale: bool, tmp_path: Path) -> None:
    assert bool(severities(COMMAND.replace("AFTER", after), "HY602", tmp_path)) is is_stale


TRAINER = """\
import tensorflow as tf
class Trainer:
    def __init__(self, rate):
        self.rate = rate
    @tf.function
    def update(self):
        return tf.constant(1.0) * self.rate
    def _step(self):
        return self.update()
    def step(self):
        return self._step()
"""


@pytest.mark.parametrize(("steps", "is_told"), [(".step()", True), ("", False)], ids=["once each", "by others"])
def test_calls_that_others_make_are_not_counted(steps: str, is_told: bool, tmp_path: Path) -> None:
    makes = "".join(f"Trainer({i}.0){steps}\n" for i in range(3))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("from lib.core import Trainer\n", encoding="utf-8")
    (tmp_path / "lib" / "core.py").write_text(TRAINER, encoding="utf-8")
    if is_told:
        (tmp_path / "program.py").write_text(f"from lib import Trainer\n{makes}", encoding="utf-8")
    else:
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "lib"\nversion = "1"\n', encoding="utf-8")
        (tmp_path / "test_core.py").write_text(f"from lib import Trainer\n{makes}", encoding="utf-8")
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    assert bool([each for each in report.findings if each.code in ("HY101", "HY103")]) is is_told


FLOWS = """\
class Flows:
    def __init__(self, number):
        self.optimizer = tf.keras.optimizers.legacy.Adam(0.1)
        self.models = [tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(3)]) for _ in range(number)]
    DECORATOR
    def step(self, x, model):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    def train(self, x):
        for model in self.models:
            step = STEP
            for _ in range(5):
                step(x, model)
Flows(NUMBER).train(tf.ones((4, 2)))
"""
_STEPS = {
    "one graph": ("@tf.function", "self.step", "3", True),
    "one model": ("@tf.function", "self.step", "1", False),
    "a graph for each": ("", "tf.function(self.step)", "3", False),
}


@pytest.mark.parametrize(("decorator", "step", "number", "is_told"), _STEPS.values(), ids=_STEPS)
def test_one_graph_that_trains_several_models(
    decorator: str, step: str, number: str, is_told: bool, tmp_path: Path
) -> None:
    source = FLOWS.replace("DECORATOR", decorator).replace("STEP", step).replace("NUMBER", number)
    assert severities(source, "HY259", tmp_path) == (["info"] if is_told else [])


PART = """\
import elsewhere
def step(x: tf.Tensor, seen):
    y = tf.tanh(x)
    if ASKED == 0:
        y = y + 1.0
    return y
for seen in elsewhere.load():
    step(tf.ones(3), seen)
"""


@pytest.mark.parametrize(
    ("asked", "is_refused"),
    [("seen[0].item()", True), ('seen["a"].any()', True), ("(seen - 1).sum()", True), ("len(seen[0])", False)],
)
def test_a_part_of_what_may_be_an_array_is_none_in_a_graph(asked: str, is_refused: bool, tmp_path: Path) -> None:
    assert ("HY358" in codes(PART.replace("ASKED", asked), "step", tmp_path)) is is_refused


@pytest.mark.tensorflow
@pytest.mark.parametrize("asked", ["seen[0].item()", "(seen - 1).sum()"])
def test_tensorflow_refuses_the_parts_of_arrays(server: ForkServer, asked: str) -> None:
    program = HEAD + PART.replace("import elsewhere\n", "").replace("ASKED", asked).split("for seen")[0]
    call = "step(tf.ones(3), np.zeros(2))\n"
    assert _fails(server, program + call) is False
    assert _fails(server, f"{program}step = tf.function(step)\n{call}") is True


DATA = """\
import yaml
class Encoding(tf.keras.layers.Layer):
    def __init__(self, settings):
        super().__init__()
        self.kept = settings["kept"]
    def call(self, x):
        return tf.cast(READ, tf.float32) * tf.tanh(x)
def part(x, kept):
    return READ_PART + tf.tanh(x)
def main(path):
    settings = yaml.safe_load(open(path))
    settings["other"]["done"] = True
    layer = Encoding(settings)
    for _ in range(9):
        layer(tf.ones((2, 3)))
        part(tf.ones((2, 3)), layer.kept)
        settings["other"]["turn"] = 1
main("settings.yaml")
"""
_READS = {
    "a factor": ("2 * self.kept", "2.0 * kept", False),
    "an argument": ("tf.fill([], self.kept)", "tf.cast(kept, tf.float32)", False),
    "a size": ("tf.zeros([self.kept, 1])", "tf.reduce_sum(tf.zeros((2, kept)))", False),
    "an entry": ('self.kept["turn"]', 'kept["turn"]', True),
    "all of it": ("len([key for key in self.kept])", "len(list(kept))", True),
}


@pytest.mark.parametrize(("read", "part", "is_dict"), _READS.values(), ids=_READS)
def test_a_number_of_a_file_is_no_dict_that_changes(read: str, part: str, is_dict: bool, tmp_path: Path) -> None:
    source = DATA.replace("READ_PART", part).replace("READ", read)
    assert ("HY602" in codes(source, "Encoding.call", tmp_path)) is is_dict
    assert ("HY359" in codes(source, "part", tmp_path)) is is_dict


#: Arguments that each of the functions takes.
_TAKEN: dict[str, str] = {
    "tf.cast": "x, 'float32'",
    "tf.reshape": "x, [4]",
    "tf.one_hot": "[0, 1], 3",
    "tf.range": "0, 3, 1",
    "tf.fill": "[2], 1.0",
    "tf.tile": "x, [1, 2]",
    "tf.expand_dims": "x, 0",
    "tf.broadcast_to": "x, [2, 2]",
    "tf.eye": "2, 2",
    "tf.clip_by_value": "x, 0.0, 1.0",
    "tf.split": "x, 2, 0",
    "tf.random.uniform": "[2], 0.0, 1.0",
    "tf.random.normal": "[2], 0.0, 1.0",
    "tf.random.truncated_normal": "[2], 0.0, 1.0",
    "tf.nn.dropout": "x, 0.5",
    "tf.math.top_k": "x, 1",
    "tf.image.resize": "tf.ones((2, 2, 1)), [2, 2]",
    "tf.linspace": "0.0, 1.0, 3",
    "tf.roll": "x, 1, 0",
    "tf.repeat": "x, 2, 0",
    "tf.gather": "x, [0]",
    "tf.transpose": "x, [0, 1]",
    "tf.pad": "x, [[1, 1], [1, 1]]",
    "tf.zeros": "[2]",
    "tf.ones": "[2]",
    **dict.fromkeys(("tf.math.sqrt", "tf.math.l2_normalize", "tf.squeeze", "tf.constant", "tf.convert_to_tensor"), "x"),
}

ORACLE = """\
import math
x = tf.ones((2, 2))
def refuses(call, arguments):
    try:
        call(*arguments)
    except (TypeError, ValueError, AttributeError, tf.errors.OpError):
        return True
    return False
for name, given, whole in CASES:
    call = eval(name.removeprefix("builtins."))
    arguments = list(eval(f"({given},)"))
    for i, each in enumerate(arguments):
        for bad in ({"a": 1, "b": 2}, {}):
            replaced = [bad] * whole + ([[bad] * len(each)] if isinstance(each, list) else [])
            for one in replaced:
                assert refuses(call, [*arguments[:i], one, *arguments[i + 1:]]), (name, i, one)
"""


@pytest.mark.tensorflow
def test_tensorflow_refuses_a_dict_in_every_place(server: ForkServer) -> None:
    builtins = {name: "2" for name in NUMBERS_ONLY if name.startswith("builtins.")}
    cases = [
        (name, _TAKEN.get(name) or builtins.get(name) or "x, x", name in NUMBERS_ONLY) for name in sorted(SHAPES_ONLY)
    ]
    assert _fails(server, HEAD + ORACLE.replace("CASES", repr(cases))) is False


def _fails(server: ForkServer, program: str) -> bool:
    """Whether a program raises."""
    return server.run(Program.single(program)).kind is Kind.RAISES


CUTS = """
def half(x):
    y = x[: tf.cast(x.shape[0] / 2, tf.int32)]
    return tf.range(y.shape[0])
def more(x):
    return tf.zeros(tf.range(tf.cast(5 / 2, tf.int32) + 1).shape[0])
def rings(x):
    a, b = np.indices([x.shape[0], x.shape[0]])
    far = tf.cast(tf.sqrt(a ** 2.0 + b ** 2.0), tf.int32)
    return tf.range(tf.math.bincount(tf.reshape(far, [-1])).shape[0])
def counts(x):
    return tf.range(tf.math.bincount(tf.cast(x, tf.int32)).shape[0])
def given(x):
    y = x[: tf.cast(x[0], tf.int32)]
    return tf.range(y.shape[0])
def most(x):
    return tf.zeros(tf.range(tf.cast(tf.reduce_max(x), tf.int32)).shape[0])
for _ in range(3):
    x = tf.ones([8])
    half(x), more(x), given(x), most(x), rings(x), counts(x)
"""


def test_a_size_that_tensors_of_pythons_numbers_say_is_known(tmp_path: Path) -> None:
    # Measured with TensorFlow 2.15 and 2.21: shape inference computes what comes of constants, not what a run brings.
    told = {
        name for name in ("half", "more", "rings", "given", "most", "counts") if "HY354" in codes(CUTS, name, tmp_path)
    }
    assert told == {"given", "most", "counts"}


FED = """
@tf.function
def step(*data):
    return tf.add_n([tf.reduce_sum(each) for each in data])
def parse(feed, names):
    data = dict()
    for name in feed:
        if name in names:
            data[name] = tf.convert_to_tensor(feed[name])
    return data
def train(feed, names):
    return step(*list(parse(feed, names).values()))
names = open("names.txt").read().split()
for i in range(100):
    train({name: np.ones([3], "float32") for name in names}, names)
"""
ROWS = """
@tf.function
def step(*data):
    return tf.add_n([tf.reduce_sum(each) for each in data])
table = np.ones([int(open("size.txt").read()), 4], "float32")
for i in range(100):
    step(*list(table))
"""


def test_values_of_a_dictionary_are_as_many_as_its_keys(tmp_path: Path) -> None:
    assert severities(ROWS, "HY104", tmp_path)
    assert not severities(FED, "HY104", tmp_path)
