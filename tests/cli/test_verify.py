"""`hybridize verify` and `fix --verify` on whole programs under TensorFlow: verdicts, exit codes, files untouched.

Few processes for many cases: TensorFlow takes seconds to start.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hybridize.cli import main

pytestmark = pytest.mark.tensorflow
SOURCES = Path(__file__).parents[2] / "src"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of `hybridize verify` gave."""

    code: int
    report: dict[str, Any]
    stderr: str

    def __getitem__(self, qualname: str) -> dict[str, Any]:
        (found,) = [f for f in self.report["functions"] if f["qualname"] == qualname]
        return found  # type: ignore[no-any-return]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def command(python: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "hybridize", "verify", "--python", python, "--isolated", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCES), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def verify(folder: Path, python: str, *words: str) -> Run:
    done = subprocess.run(
        command(python, "--output-format", "json", *words),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return Run(done.returncode, json.loads(done.stdout), done.stderr)


MANY = """
import random
import sys

import numpy as np
import tensorflow as tf

from pkg.library import Counter, scale

random.seed(3)
weight = tf.Variable([1.0, 2.0])
log = []
factor = 2.0


def equal(x):
    total = tf.zeros([])
    for i in tf.range(3):
        total += tf.reduce_sum(x) * tf.cast(i, tf.float32)
    return {"total": total, "parts": [x, x + 1]}


def stale(x):
    return x * factor


def effect(x):
    log.append(1)
    return x + 1


def prints(x):
    print("printed")
    return x


def numpys(x):
    return x.numpy() + 1


def asserts(x):
    if tf.reduce_sum(x) > 1e9:
        raise ValueError("never")
    return x


def number(x):
    return float(len(x.shape))


def hosted(x):
    return x * random.random()


def retraced(x, n):
    return x * n


def noisy(x):
    return x + tf.random.normal(tf.shape(x))


def drawn_and_counted(x):
    log.append(2)
    return x + tf.random.uniform(tf.shape(x))


def unreached(x):
    return x


def helper(x):
    print("helper")
    return x


def through(x):
    return helper(x) * 2


def innocent(x):
    return size(x) * x


def size(x):
    return int(x.shape[0])


def factorial(n):
    if n <= 1:
        return tf.constant(1)
    return n * factorial(n - 1)


def mapped(x):
    return x + 1


def generated(n):
    yield tf.constant(n)


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.dense = None
        self.calls = 0

    def __call__(self, x):
        if self.dense is None:
            self.dense = tf.Variable(tf.ones([2, 1]))
        return x @ self.dense

    def loss(self, x):
        return tf.reduce_mean(self(x) ** 2)

    def counted(self, x):
        self.calls += 1
        return x

    @staticmethod
    def static(x):
        return x * 2

    @classmethod
    def of_class(cls, x):
        return x * 3


def forward(x):
    return tf.reduce_sum(weight * x)


def step(optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((weight * x - 1.0) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
    return loss


def iterated(iterator):
    return next(iterator) * 2


def written(x):
    with open("log.txt", "a") as file:
        file.write("x")
    return x


def main():
    global factor
    model, other = Model(), Model()
    optimizer = tf.keras.optimizers.Adam(0.1)
    iterator = iter(tf.data.Dataset.range(8).shuffle(8, seed=1))
    items = iter([1.0, 2.0, 3.0, 4.0])
    seen = []
    for i in range(4):
        x = tf.constant([1.0, 2.0 + i])
        for f in (equal, effect, prints, asserts, hosted, noisy, drawn_and_counted, through, innocent, written):
            f(x)
        seen.append(number(x))
        numpys(x)
        seen.append(float(stale(x)[0]))
        factor += 1
        retraced(x, i)
        factorial(tf.constant(3)) if i > 9 else factorial(3)
        with tf.GradientTape() as tape:
            y = forward(x)
        tape.gradient(y, weight)
        for m in (model, other):
            m.loss(x[None]), m.counted(x), m.static(x), m.of_class(x)
        step(optimizer, x)
        seen.append(int(iterated(iterator)))
        list(generated(1))
        scale(x)
    list(tf.data.Dataset.range(3).map(mapped))
    counter = Counter()
    try:
        counter.fail(tf.constant(1.0), "b")
    except KeyError as error:
        seen.append(str(error))
    print("seen", seen, len(log), [float(v) for v in weight], model.calls, next(items), open("log.txt").read())


if __name__ == "__main__":
    main()
    sys.exit(5)
"""

LIBRARY = """
import tensorflow as tf


def scale(x):
    return x * 2


class Counter:
    def fail(self, x, key):
        return {"a": x}[key]
"""


@pytest.fixture(scope="module")
def many(tensorflow_python: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = write(tmp_path_factory.mktemp("many"), {"main.py": MANY, "pkg/__init__.py": "", "pkg/library.py": LIBRARY})
    before = {p: p.read_bytes() for p in folder.rglob("*.py")}
    found = verify(folder, tensorflow_python, "--all", "main.py")
    assert {p: p.read_bytes() for p in folder.rglob("*.py")} == before
    return found


VERDICTS = {
    "equal": "equal", "stale": "different", "effect": "different", "prints": "different", "numpys": "raised",
    "asserts": "raised", "number": "different", "hosted": "different", "retraced": "retraces", "noisy": "random",
    "drawn_and_counted": "different", "unreached": "not reached", "helper": "different", "through": "different",
    "innocent": "equal", "size": "different", "mapped": "in graphs", "Model.loss": "equal",
    "Model.counted": "different", "Model.static": "equal", "Model.of_class": "equal", "forward": "equal",
    "step": "equal", "iterated": "equal", "written": "different", "scale": "equal", "Counter.fail": "different",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(many: Run, name: str) -> None:
    assert many[name]["verdict"] == VERDICTS[name], json.dumps(many[name], indent=1)


@pytest.mark.slow
def test_the_program_does_what_it_does_without(many: Run, tensorflow_python: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.py": MANY, "pkg/__init__.py": "", "pkg/library.py": LIBRARY})
    plain = subprocess.run(
        [tensorflow_python, "main.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert many.report["program"]["exit_code"] == plain.returncode == 5
    lines = [line for line in plain.stdout.splitlines() if line.split()[0] in ("printed", "helper", "seen")]
    assert [
        line for line in many.stderr.splitlines() if line.split()[:1] in (["printed"], ["helper"], ["seen"])
    ] == lines


@pytest.mark.slow
def test_what_yields_is_watched_and_cannot_be_a_graph(many: Run) -> None:
    assert many["generated"]["verdict"] == "raised"


@pytest.mark.slow
def test_the_report_says_where_and_by_how_much(many: Run) -> None:
    stale = many["stale"]
    assert stale["first_difference"] == 2
    assert stale["differences"][0]["where"].startswith("result")
    assert "3" in stale["differences"][0]["eager"]
    assert stale["differences"][0]["relative_error"] == pytest.approx(1 / 3, rel=1e-3)
    assert many["numpys"]["error"]["type"] == "AttributeError"
    assert [rule["code"] for rule in many["numpys"]["rules"]] == ["HY301"]
    assert many["retraced"]["retraces"][0]["parameter"] == "n"
    assert many["retraced"]["retraces"][0]["kind"] == "Python int"
    assert many["through"]["differences"][0]["where"] == "stdout"
    assert "stream" in many["noisy"]["random"] or "distribution" in many["noisy"]["random"]


PROJECT = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "app/__init__.py": "",
    "app/layers.py": """
        import tensorflow as tf

        def residual(x, weights):
            for w in weights:
                x = x + tf.nn.relu(tf.matmul(x, w)) * 0.1 - tf.reduce_mean(x) + tf.sqrt(tf.abs(x) + 1.0)
            return tf.reduce_sum(x, axis=-1)

        @tf.function
        def forty_two():
            return tf.constant(42)
        """,
    "app/train.py": """
        import sys

        import tensorflow as tf

        from app.layers import forty_two, residual

        weights = [tf.Variable(tf.random.normal([8, 8], seed=i)) for i in range(6)]
        offset = tf.Variable(0.0)

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(residual(x, weights) - offset)
            gradients = tape.gradient(loss, weights)
            for w, g in zip(weights, gradients):
                w.assign_sub(0.01 * g)
            return loss

        if __name__ == "__main__":
            for i in range(int(sys.argv[1])):
                step(tf.random.normal([4, 8], seed=i))
            print("answer", int(forty_two()))
        """,
    "test_app.py": """
        import tensorflow as tf

        from app.layers import residual

        def test_residual():
            value = residual(tf.ones([2, 2]), [tf.ones([2, 2])] * 4)
            assert value.shape == (2,)
        """,
}


@pytest.mark.slow
def test_fix_keeps_what_is_verified(tensorflow_python: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, PROJECT)
    words = ["fix", "--isolated", "--all-safe", str(tmp_path), "--python", tensorflow_python, "--output-format", "json"]
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        code = main([*words, "--verify", "-m", "app.train", "30"])
    finally:
        os.chdir(here)
    out, err = capfd.readouterr()
    changes = {c["function"]: c for file in json.loads(out)["files"] for c in file["changes"]}
    assert "answer 42" in err
    assert changes["app.train:step"]["outcome"] == "done", changes
    assert "@tf.function\ndef step" in (tmp_path / "app/train.py").read_text()
    # What only ran inside of a graph is not verified, and so stays as it is.
    others = [c for name, c in changes.items() if c["outcome"] == "refused"]
    assert all(c["reason"] for c in others)
    assert code == (1 if others else 0)


@pytest.mark.slow
def test_tests_and_a_text_report(tensorflow_python: str, tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    done = subprocess.run(
        command(tensorflow_python, "--all-safe", "--pytest", "-q", "-p", "no:cacheprovider", "test_app.py"),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stderr
    assert "residual  1 of 1 call compared, 1 trace" in done.stdout
    assert "program: exit code 0" in done.stdout
    assert not list(tmp_path.rglob("*.orig"))


SLOW = """
import time
import tensorflow as tf

def f(x):
    return tf.nn.relu(x) + tf.nn.softplus(x) * tf.nn.tanh(x) - tf.nn.sigmoid(x) + tf.exp(-x) * tf.sin(x)

for _ in range(3):
    f(tf.ones([3]))
print("waiting", flush=True)
time.sleep(300)
"""


def test_what_was_seen_before_the_end_is_reported(tensorflow_python: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.py": SLOW})
    process = subprocess.Popen(
        command(tensorflow_python, "--all", "main.py"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        # A job in the background of a shell ignores interrupts, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("waiting"):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "equal        f  3 of 3 calls compared" in out
    assert "program: was interrupted" in out


def test_an_interpreter_without_tensorflow_is_one_line(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    write(tmp_path, {"p/main.py": "import tensorflow as tf\n\ndef f(x):\n    return x\n"})
    done = subprocess.run(
        command(str(tmp_path / "env/bin/python"), "p/main.py"),
        cwd=tmp_path, env={**environment(), "PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no TensorFlow" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one program"),
        (["no-such.py"], "no such file: no-such.py"),
        (["--python", "/no/python", "main.py"], "/no/python"),
        (["--fulll", "main.py"], "--fulll"),
    ],
)
def test_usage(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    write(tmp_path, {"main.py": "print(1)\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--isolated", *words]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.slow
def test_fix_runs_what_repairs_make(
    tensorflow_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
losses = []


def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    losses.append(loss.numpy())
    if len(losses) % 5 == 0:
        print(len(losses), losses[-1])


for _ in range(10):
    train_step(tf.ones([4, 2]), tf.ones([4, 1]))
"""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(text)
    assert main(["fix", "--unsafe-fixes", "--python", tensorflow_python, "--verify", "main.py"]) == 0
    assert "@tf.function\ndef _train_step_graph(" in (tmp_path / "main.py").read_text()
    assert "not changed" not in capfd.readouterr().out
