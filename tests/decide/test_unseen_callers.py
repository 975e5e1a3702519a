"""What callers of a library that nobody sees get: branches that only the constants of seen calls prune."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

HEAD = "import enum\nimport random\nimport numpy as np\nimport tensorflow as tf\n"
WAVE = "    y = tf.exp(x) * 2.0\n"
USE = "def use():\n    x = tf.ones([3])\n    for _ in range(10_000):\n        {}\nuse()\n"
SETTING = """\
class C:
    def __init__(self, mode="a"):
        self.mode = mode
    def f(self, x):
        if self.mode == "a":
            return tf.exp(x) * 2.0
        return {}
c = C()
"""
#: Each defines `f` (or `C.f`); how the package calls it, how others do, and what is said of that.
BREAKS = {
    "the other side of a condition": (
        'def f(x, mode="a"):\n    if mode == "a":\n        return tf.exp(x)\n    else:\n'
        "        return NotImplemented\n",
        ('f(x, "a")', 'f(x, "b")'),
        "a call with another `mode` takes a branch that returns `NotImplemented`, which a traced function cannot",
    ),
    "what comes after the side that all take": (
        'def f(x, mode="a"):\n    if mode != "b":\n        return tf.exp(x)\n    return NotImplemented\n',
        ("f(x)", 'f(x, "b")'),
        "returns `NotImplemented`",
    ),
    "one side of an expression": (
        "def f(x, number=False):\n    y = tf.reduce_sum(x)\n    return float(y) if number else y\n",
        ("f(x)", "f(x, number=True)"),
        "returns a Python float, of which a tensor comes back",
    ),
    "a name that a branch binds": (
        f'def f(x, mode="a"):\n{WAVE}    if mode == "b":\n        y = lambda z: z\n    return y\n',
        ("f(x)", 'f(x, "b")'),
        "returns a function",
    ),
    "one of two conditions": (
        f'def f(x, mode="a", deep=False):\n{WAVE}    if mode == "b" and deep:\n'
        "        return NotImplemented\n    return y\n",
        ("f(x)", 'f(x, "b", True)'),
        "returns `NotImplemented`",
    ),
    "a default that every call replaces": (
        "def f(x, axis=None):\n    if axis is None:\n        return NotImplemented\n"
        "    return tf.reduce_sum(x, axis)\n",
        ("f(x, 0)", "f(x)"),
        "another `axis`",
    ),
    "what follows from an argument": (
        'def f(x, mode="A"):\n    if mode.lower() in ("a", "c"):\n        return tf.exp(x)\n'
        "    return NotImplemented\n",
        ("f(x)", 'f(x, "b")'),
        "another `mode`",
    ),
    "an argument that is passed on": (
        f'def f(x, mode="a"):\n{WAVE}    return _end(y, how=mode)\n'
        'def _end(y, how):\n    if how == "b":\n        return NotImplemented\n    return y + 1.0\n',
        ("f(x)", 'f(x, "b")'),
        "another `how`",
    ),
    "options that are passed on": (
        f"def f(x, **options):\n{WAVE}    return _end(y, **options)\n"
        'def _end(y, mode="a"):\n    if mode == "b":\n        return NotImplemented\n    return y + 1.0\n',
        ("f(x)", 'f(x, mode="b")'),
        "another `mode`",
    ),
    "a private function that a public one hands its argument": (
        'def g(x, mode="a"):\n    return f(x, mode)\n'
        f'def _f(x, mode):\n{WAVE}    if mode == "b":\n        return NotImplemented\n    return y\nf = _f\n',
        ("g(x)", 'g(x, "b")'),
        "another `mode`",
    ),
    "an argument of the function around": (
        'def f(x, mode="a"):\n    def g(z):\n        if mode == "b":\n            print("b")\n        return z * 2.0\n'
        "    return g(tf.exp(x))\n",
        ("f(x)", 'f(x, "b")'),
        "a call with another `mode` takes a branch that uses `print`, which prints once for each trace",
    ),
    "a match": (
        'def f(x, mode="a"):\n    match mode:\n        case "a":\n            return tf.exp(x)\n        case _:\n'
        "            return NotImplemented\n",
        ("f(x)", 'f(x, "b")'),
        "another `mode`",
    ),
    "a loop over nothing": (
        f"def f(x, hooks=()):\n{WAVE}    for hook in hooks:\n        hook(1.0)\n    return y\n",
        ("f(x)", "f(x, HOOKS)"),
        "another `hooks` takes a branch that calls what it is given, for its effect",
    ),
    "an argument that is changed": (
        f"def f(x, out=None):\n{WAVE}    if out is not None:\n        out.append(1.0)\n    return y\n",
        ("f(x)", "f(x, out=KEPT)"),
        "calls what it is given, for its effect",
    ),
    "a list from outside": (
        f"LIST = []\ndef f(x, keep=False):\n{WAVE}    if keep:\n        LIST.append(1.0)\n    return y\n",
        ("f(x)", "(f(x, keep=True), len(LIST))"),
        "changes a container from outside with `append`",
    ),
    "a field": (
        "class C:\n    calls = 0\n    def f(self, x, count=False):\n        if count:\n            self.calls += 1\n"
        "        return tf.exp(x) * 2.0\nc = C()\n",
        ("c.f(x)", "(c.f(x, count=True), c.calls)"),
        "writes attribute `calls`",
    ),
    "what only eager tensors have": (
        f"def f(x, host=False):\n{WAVE}    if host:\n        return y.numpy()\n    return y\n",
        ("f(x)", "f(x, host=True)"),
        "uses `.numpy()`, which works only eagerly",
    ),
    "a helper that only this branch calls": (
        f"def f(x, host=False):\n{WAVE}    if host:\n        return show(y)\n    return y\n"
        "def show(y):\n    return y.numpy() + 1.0\n",
        ("f(x)", "f(x, host=True)"),
        "calls `show`",
    ),
    "a host function": (
        f"def f(x, exact=False):\n{WAVE}    if exact:\n        y = tf.constant(np.linalg.norm(y))\n    return y\n",
        ("f(x)", "f(x, exact=True)"),
        "gives a tensor to `np.linalg.norm`",
    ),
    "a variable": (
        f"def f(x, more=False):\n{WAVE}    if more:\n        y = y + tf.Variable(1.0)\n    return y\n",
        ("f(x)", "(f(x, more=True), f(x[:2], more=True))"),
        "makes a `tf.Variable` at every call",
    ),
    "chance": (
        f"def f(x, jitter=False):\n{WAVE}    if jitter:\n        y = y + random.random()\n    return y\n",
        ("f(x)", "len({float(f(x, jitter=True)[0]) for _ in range(3)})"),
        "draws one number for each trace",
    ),
    "an object made of it": (
        "class _End:\n    def __init__(self, mode):\n        self.mode = mode\n    def run(self, y):\n"
        '        return NotImplemented if self.mode == "b" else y + 1.0\n'
        'def f(x, mode="a"):\n    return _End(mode).run(tf.exp(x))\n',
        ("f(x)", 'f(x, "b")'),
        "a call with another `_End` takes a branch that returns `NotImplemented`",
    ),
    "a function in a table": (
        "def _one(x):\n    return tf.exp(x)\ndef _two(x):\n    return x.numpy()\n"
        'MODES = {"a": _one, "b": _two}\ndef f(x, mode="a"):\n    return MODES[mode](x)\n',
        ("f(x)", 'f(x, "b")'),
        "a call with another `mode` calls `_two`",
    ),
    "what comes after a try": (
        'def f(x, mode="a"):\n    try:\n        if mode == "a":\n            return tf.exp(x)\n'
        "    except ValueError:\n        raise\n    return NotImplemented\n",
        ("f(x)", 'f(x, "b")'),
        "another `mode`",
    ),
    "the class of an array": (
        "def f(x):\n    if not tf.is_tensor(x):\n        x = x * 3.0\n    return tf.exp(x)\n",
        ("f(x)", "f(np.ones(3, np.float32))"),
        "others may pass arrays: asks for the class",
    ),
    "another size": (
        "def f(x):\n    if x.shape[0] > 4:\n        return NotImplemented\n    return tf.exp(x)\n",
        ("f(x)", "f(tf.ones([5]))"),
        "another `x`",
    ),
    "an array of another dtype": (
        "def f(x):\n    x = tf.convert_to_tensor(x, dtype=tf.float32)\n    return tf.exp(x) * 2.0\n",
        ("f(x)", "f(np.ones(3))"),
        "converts `x` to float32",
    ),
    "an array that a helper converts": (
        "def f(x, y):\n    return _end(tf.exp(x), y)\n"
        "def _end(x, given):\n    return x + tf.convert_to_tensor(given, tf.float32)\n",
        ("f(x, x)", "f(x, np.arange(3))"),
        "converts `given` to float32",
    ),
    "a constant of what comes": (
        f"def f(x, mean=None):\n{WAVE}    if mean is not None:\n        y = y - tf.constant(mean, tf.float32)\n"
        "    return y\n",
        ("f(x)", "f(x, mean=np.ones(3))"),
        "a call with another `mean` takes a branch that makes a constant of what it is given",
    ),
    "a second optimizer": (
        "W = tf.Variable(1.0)\nOWN = tf.keras.optimizers.Adam()\ndef f(x, optimizer):\n"
        "    with tf.GradientTape() as tape:\n        y = tf.reduce_sum(x * W)\n"
        "    optimizer.apply_gradients([(tape.gradient(y, W), W)])\n    return y\n",
        ("f(x, OWN)", "float(f(x, tf.keras.optimizers.Adam())) > 0.0"),
        "makes the variables of `optimizer`",
    ),
    "a setting of the object": (SETTING.format("NotImplemented"), ("c.f(x)", 'other("b").f(x)'), "another setting"),
}
#: Each serves in a graph whatever others pass.
SERVES = {
    "the other side raises": (
        'def f(x, mode="a"):\n    if mode == "a":\n        return tf.exp(x)\n    raise ValueError(mode)\n',
        ("f(x)", 'f(x, "b")'),
    ),
    "the other side computes": (
        'def f(x, mode="a"):\n    if mode == "a":\n        return tf.exp(x)\n    return tf.sin(x) + 1.0\n',
        ("f(x)", 'f(x, "b")'),
    ),
    "another tensor": (
        f"def f(x, mask=None):\n{WAVE}    if mask is not None:\n        y = y * mask\n    return y\n",
        ("f(x)", "f(x, mask=x)"),
    ),
    "a default that is replaced": (
        "def f(x, axis=None):\n    if axis is None:\n        axis = 0\n    return tf.reduce_sum(x, axis)\n",
        ("f(x, 0)", "f(x)"),
    ),
    "an activation": (
        f"def f(x, activation=None):\n{WAVE}    if activation is not None:\n        y = activation(y)\n    return y\n",
        ("f(x)", "f(x, activation=tf.nn.relu)"),
    ),
    "no result": (
        f"def f(x, skip=False):\n    if skip:\n        return None\n{WAVE}    return y\n",
        ("f(x)", "f(x, skip=True)"),
    ),
    "a structure of tensors": (
        f'def f(x, both=False):\n{WAVE}    if both:\n        return y, [x, {{"a": x}}]\n    return y\n',
        ("f(x)", "f(x, both=True)"),
    ),
    "containers of its own": (
        "def f(x, twice=False, **options):\n    ys = [tf.exp(x)]\n    if twice:\n        ys.append(x * 2.0)\n"
        '        options["also"] = []\n        options["also"].append(x)\n    return tf.add_n(ys)\n',
        ("f(x)", "f(x, twice=True)"),
    ),
    "what TensorFlow shows": (
        f"def f(x, name=None):\n{WAVE}    if name is not None:\n        y = tf.identity(y, name=name)\n    return y\n",
        ("f(x)", 'f(x, name="a")'),
    ),
    "sizes": (
        f"def f(x, flat=False):\n{WAVE}    if flat:\n        y = tf.reshape(y, [int(np.prod(y.shape))])\n"
        "    return y\n",
        ("f(x)", "f(x, flat=True)"),
    ),
    "constants of its own": (
        f'def f(x):\n    mode = "a"\n    if mode == "b":\n        return NotImplemented\n{WAVE}    return y\n',
        ("f(x)", "f(x)"),
    ),
    "what a helper is told, which others may tell other things": (
        'def f(x):\n    return g(tf.exp(x), "a") * 2.0\n'
        'def g(y, mode):\n    if mode == "b":\n        return NotImplemented\n    return y + 1.0\n',
        ("f(x)", "f(x)"),
    ),
    "a helper that gives a number": (
        'def f(x, mode="a"):\n    return tf.exp(x) * _size(x, mode)\n'
        'def _size(x, mode):\n    if mode == "b":\n        return 3.0\n    return tf.reduce_sum(x)\n',
        ("f(x)", 'f(x, "b")'),
    ),
    "a table of others": (
        "def _one(x):\n    return tf.exp(x)\ndef _two(x):\n    return x.numpy()\n"
        'MODES = {"a": _one, "b": _two}\ndef f(x):\n    return MODES["a"](x)\n',
        ("f(x)", "f(x)"),
    ),
    "arrays that are converted": (
        "def f(x):\n    if not tf.is_tensor(x):\n        x = tf.constant(x)\n    return tf.exp(x)\n",
        ("f(x)", "f(np.ones(3, np.float32))"),
    ),
    "a constant of a list, as the annotation says": (
        f"def f(x, mean: list[float] | None = None):\n{WAVE}    if mean is not None:\n"
        "        y = y - tf.constant(mean, tf.float32)\n    return y\n",
        ("f(x)", "f(x, mean=[1.0, 2.0, 3.0])"),
    ),
    "arrays and tensors that end as one dtype": (
        "def f(x):\n    if not tf.is_tensor(x):\n        x = tf.convert_to_tensor(x, dtype=tf.float32)\n"
        "    elif x.dtype != tf.float32:\n        x = tf.cast(x, tf.float32)\n"
        "    return tf.matmul(tf.ones([1, 3]), x)\n",
        ("f(tf.ones([3, 1]))", "f(np.ones([3, 1]))"),
    ),
    "arrays that are cast": (
        "def f(x):\n    return tf.exp(tf.cast(x, tf.float32)) * 2.0\n",
        ("f(x)", "f(np.ones(3))"),
    ),
    "arrays of which the dtype is kept": (
        "def f(x):\n    return tf.exp(tf.convert_to_tensor(x)) * 2.0\n",
        ("f(x)", "f(np.ones(3))"),
    ),
    "an optimizer of the object": (
        "class C:\n    def __init__(self):\n        self.w = tf.Variable(1.0)\n"
        "        self.optimizer = tf.keras.optimizers.Adam()\n    def f(self, x):\n"
        "        with tf.GradientTape() as tape:\n            y = tf.reduce_sum(x * self.w)\n"
        "        self.optimizer.apply_gradients([(tape.gradient(y, self.w), self.w)])\n        return y\nc = C()\n",
        ("c.f(x)", "float(other().f(x)) > 0.0"),
    ),
    "a setting of the object": (SETTING.format("tf.sin(x)"), ("c.f(x)", 'other("b").f(x)')),
}
EVERY = {f"breaks {name}": each[:2] for name, each in BREAKS.items()} | {
    f"serves {name}": each for name, each in SERVES.items()
}


def decided(folder: Path, text: str, seen: str, *, package: bool = True, all_safe: bool = True) -> FunctionReport:
    (folder / "waves").mkdir()
    if package:
        (folder / "pyproject.toml").write_text('[project]\nname = "waves"\n')
    (folder / "waves" / "__init__.py").write_text("")
    (folder / "waves" / "core.py").write_text(HEAD + text + USE.format(seen))
    found = {f.facts.qualname: f for f in analyze([folder], Config(all_safe=all_safe), repairs=False).functions}
    return next(found[name] for name in ("_f", "f", "C.f") if name in found)


def is_converted(report: FunctionReport) -> bool:
    return report.decision.action is Action.CONVERT_TO_HYBRID


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_for_others_stays_eager(name: str, tmp_path: Path) -> None:
    text, (seen, _), said = BREAKS[name]
    report = decided(tmp_path, text, seen)
    assert [status.code for status in report.statuses] == ["HY027"]
    assert said in report.statuses[0].message


@pytest.mark.parametrize("name", SERVES)
def test_what_serves_for_others_is_converted(name: str, tmp_path: Path) -> None:
    text, (seen, _) = SERVES[name]
    report = decided(tmp_path, text, seen)
    assert is_converted(report), report.statuses


LEFT = """\
class C:
    def __init__(self):
        self.{0} = None
    def f(self, x):
        self.{0} = tf.exp(x) * 2.0
        return self._g(x) + 1.0
    def _g(self, x):
        return self.{0} * x
c = C()
"""


@pytest.mark.parametrize(("name", "said"), [("scores", "others may read `scores` after a call"), ("_scores", "")])
def test_a_graph_leaves_a_tensor_in_a_public_field(name: str, said: str, tmp_path: Path) -> None:
    report = decided(tmp_path, LEFT.format(name), "c.f(x)")
    assert is_converted(report) == (not said)
    assert said in "".join(status.message for status in report.statuses)


def test_a_private_method_reads_what_each_call_of_a_public_one_writes(tmp_path: Path) -> None:
    """Nobody in the package calls either: the graph of `_g` would keep what the first call of `f` has stored."""
    text = LEFT.format("_scores").replace("def _g(self, x)", "def _g(self, x: tf.Tensor) -> tf.Tensor")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "waves"\n')
    (tmp_path / "waves").mkdir()
    (tmp_path / "waves" / "__init__.py").write_text(HEAD + text)
    found = {f.facts.qualname: f for f in analyze([tmp_path], Config(all_safe=True), repairs=False).functions}
    assert not is_converted(found["C._g"])
    assert "HY602" in {status.code for status in found["C._g"].statuses}


@pytest.mark.parametrize("name", BREAKS)
def test_in_a_program_all_callers_are_seen(name: str, tmp_path: Path) -> None:
    text, (seen, _), _ = BREAKS[name]
    assert is_converted(decided(tmp_path, text, seen, package=False))


def test_nobody_needs_to_call_it(tmp_path: Path) -> None:
    text = 'def f(x: tf.Tensor, mode="a"):\n    if mode == "a":\n        return tf.exp(x)\n    return NotImplemented\n'
    assert not is_converted(decided(tmp_path, text, "pass"))


@pytest.mark.parametrize("asked", ["isinstance(x, np.ndarray)", "not tf.is_tensor(x)"])
def test_a_constant_of_an_array_is_of_the_dtype_that_it_says(asked: str, tmp_path: Path) -> None:
    """The graph gets a tensor of float64, does not ask further, and raises: measured with 2.15 and 2.21."""
    made = f"    if {asked}:\n        x = tf.constant(x, tf.float32)\n    return tf.matmul(tf.ones([1, 3]), x)\n"
    report = decided(tmp_path, f"def f(x: np.ndarray):\n{made}", "pass")
    assert not is_converted(report)
    assert "converts `x` to float32" in report.statuses[0].message


@pytest.mark.parametrize(("other", "converted"), [("NotImplemented", False), ("x + 1.0", True)])
def test_the_default_asks_the_same(other: str, converted: bool, tmp_path: Path) -> None:
    steps = "".join("    x = tf.sin(x) * 2.0 + tf.cos(x)\n" for _ in range(10))
    text = f'def f(x, mode="a"):\n{steps}    if mode == "a":\n        return x\n    return {other}\n'
    for name, all_safe in (("default", False), ("all", True)):
        (tmp_path / name).mkdir()
        assert is_converted(decided(tmp_path / name, text, "f(x)", all_safe=all_safe)) is converted


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", EVERY)
def test_tensorflow_agrees(name: str, tmp_path: Path) -> None:
    text, (_, other) = EVERY[name]
    path = tmp_path / "core.py"
    path.write_text(HEAD + text)
    assert (_ended(path, other, graph=False) != _ended(path, other, graph=True)) is name.startswith("breaks")


def _ended(path: Path, call: str, *, graph: bool) -> Any:
    """What two calls give, print and leave in a list, with the function as a graph or eagerly."""
    import tensorflow as tf

    module = _loaded(path)
    kept: list[object] = []
    owner: Any = getattr(module, "C", module)
    if graph:
        owner.f = tf.function(owner.f)
    space = vars(module) | {
        "x": tf.ones([3]),
        "KEPT": kept,
        "HOOKS": (kept.append,),
        "other": lambda *args: kept_object(module, *args),
    }
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            given = [_plain(eval(call, space)) for _ in range(2)]
    except Exception as error:
        given = [type(error).__name__]
    return given, kept, printed.getvalue()


OBJECTS: list[object] = []


def kept_object(module: ModuleType, *args: object) -> object:
    """An object that stays, as a graph of its method wants it to."""
    OBJECTS.append(module.C(*args))
    return OBJECTS[-1]


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("unseen_core", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["unseen_core"] = module
    spec.loader.exec_module(module)
    return module


def _plain(value: Any) -> object:
    """A value with its kind, so that they can be compared."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if hasattr(value, "numpy"):
        return "tensor", value.numpy().round(3).tolist()
    return type(value).__name__, str(value) if isinstance(value, (int, float)) else ""
