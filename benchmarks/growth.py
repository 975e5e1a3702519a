"""How the cost of `hybridize check` grows with the size of a project, on synthetic programs of 1 to 1,000 KLOC.

    python benchmarks/growth.py [--kloc 1 3 10 30 100] [--out FILE.tsv] [--plot FILE.svg] [--peers]

Each program is a library of packages of about a thousand lines (layers, losses, a model, its training step, what reads
the data), each of which uses some that came before: all of it is one part. Cold, one job; `ast.parse` of the same
files in the same run, and with --peers the type checkers that are installed beside (mypy, pyright, pyrefly, ty).
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from check_speed import _PARSE, Cost, check_command, lines_of, measure

_IMPORTS: Final = "import tensorflow as tf\n\n"
_LAYER: Final = '''
class {name}(tf.keras.layers.Layer):
    """A dense layer with a gate."""

    def __init__(self, units, rate=0.{n}, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.rate = rate
        self.gate = tf.keras.layers.Dense(units, activation="sigmoid")
        self.calls = 0

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")

    def scaled(self, x, by):
        if by is None:
            return x
        return x * by

    def call(self, x, training=False):
        hidden = tf.matmul(x, self.kernel)
        if training:
            hidden = tf.nn.dropout(hidden, self.rate)
        return self.scaled({helper}(hidden), {n}.0) * self.gate(x)
'''
_LOSS: Final = '''
def {name}(truth, guess, weight=None):
    """A loss over a batch."""
    distance = tf.square(truth - guess) * {n}.0
    total = 0.0
    for part in tf.unstack(distance, num=4, axis=-1):
        total += tf.reduce_mean(part)
    if weight is not None:
        total = total * tf.cast(weight, tf.float32)
    if tf.reduce_max(distance) > 1.0:
        total = {helper}(total)
    return total
'''
_HELPER: Final = '''
def {name}(x, steps={n}):
    """Some arithmetic on a tensor."""
    sizes = []
    for i in range(steps):
        x = tf.tanh(x) + i * 0.1
        sizes.append(i)
    names = {{size: str(size) for size in sizes}}
    if len(names) > 3:
        return tf.nn.relu(x)
    return {helper}(x) if steps > {n} else x
'''
_MODEL: Final = '''
class {name}(tf.keras.Model):
    """Layers one after the other."""

    def __init__(self):
        super().__init__()
        self.blocks = [{layer}(16 * (i + 1)) for i in range({n})]
        self.head = {layer}(4)
        self.optimizer_ = tf.keras.optimizers.Adam()
        self.history = []

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(x)

    def train(self, x, y):
        with tf.GradientTape() as tape:
            loss = {loss}(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer_.apply_gradients(zip(gradients, self.trainable_variables))
        return loss

    def fit_all(self, data, epochs={n}):
        for epoch in range(epochs):
            for x, y in data:
                loss = self.train(x, y)
                self.history.append(float(loss))
            print("epoch", epoch, sum(self.history) / len(self.history))


def run_{name}(size={n}):
    """Makes data and trains."""
    data = tf.data.Dataset.from_tensor_slices((tf.ones([64, size]), tf.ones([64, 4]))).batch(8)
    model = {name}()
    model.fit_all(data)
    return model
'''


def write(folder: Path, kloc: float, seed: int = 0) -> None:
    """Writes a program of about so many thousand lines."""
    chosen = random.Random(seed)
    lines, number = 0, 0
    while lines < kloc * 1000:
        package = folder / f"part{number}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        before = chosen.sample(range(number), min(number, 3))
        for name, text in _modules(chosen, number, before):
            (package / f"{name}.py").write_text(text)
            lines += text.count("\n")
        number += 1
    runs = "\n".join(f"run_Model{i}()" for i in range(number))
    (folder / "main.py").write_text(
        "".join(f"from part{i}.model import run_Model{i}\n" for i in range(number)) + f"\n{runs}\n"
    )


def _modules(chosen: random.Random, number: int, before: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The modules of a package: each uses its own helpers and those of some packages before it."""
    uses = "".join(f"from part{i}.helpers import helper{i}_0, helper{i}_9\n" for i in before)
    others = [f"helper{i}_{j}" for i in before for j in (0, 9)]

    def many(form: str, kind: str, count: int, helpers: Callable[[int], list[str]]) -> str:
        pieces = (
            form.format(name=f"{kind}{number}_{i}", n=chosen.randint(2, 9), helper=chosen.choice(helpers(i)))
            for i in range(count)
        )
        return "\n".join(pieces)

    own = [f"helper{number}_{i}" for i in range(20)]
    yield "helpers", _IMPORTS + uses + many(_HELPER, "helper", 20, lambda i: own[:i] + others or ["tf.identity"])
    here = f"from part{number}.helpers import {', '.join(own)}\n"
    yield "layers", _IMPORTS + here + uses + many(_LAYER, "Layer", 12, lambda i: own + others)
    yield "losses", _IMPORTS + here + uses + many(_LOSS, "loss", 16, lambda i: own + others)
    made = _MODEL.format(
        name=f"Model{number}", n=chosen.randint(2, 9), layer=f"Layer{number}_0", loss=f"loss{number}_0"
    )
    imports = f"from part{number}.layers import Layer{number}_0\nfrom part{number}.losses import loss{number}_0\n"
    yield "model", _IMPORTS + imports + made


def peers(folder: Path) -> dict[str, list[str]]:
    """The type checkers that are installed, as commands without caches."""
    commands = {
        "mypy": ["mypy", "--cache-dir", "/dev/null", "--ignore-missing-imports", str(folder)],
        "pyright": ["pyright", str(folder)],
        "pyrefly": ["pyrefly", "check", str(folder)],
        "ty": ["ty", "check", str(folder)],
    }
    return {name: command for name, command in commands.items() if shutil.which(name)}


def measured(kloc: float, with_peers: bool) -> dict[str, float]:
    """CPU seconds by tool, and megabytes, for one program."""
    folder = Path(tempfile.mkdtemp(prefix="growth-"))
    try:
        write(folder / "project", kloc)
        project = folder / "project"
        found = {
            "kloc": lines_of(project) / 1000,
            "ast.parse": measure([sys.executable, "-c", _PARSE, str(project)]).seconds,
        }
        check: Cost = measure(check_command(project))
        found |= {"hybridize": check.seconds, "hybridize MB": check.megabytes}
        if with_peers:
            for name, command in peers(project).items():
                found[name] = measure(command).seconds
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def plot(rows: Sequence[dict[str, float]], path: Path) -> None:
    """Seconds against size, both logarithmic, with a line of n log n through the first point."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    sizes = [row["kloc"] for row in rows]
    for tool in [name for name in rows[0] if name not in ("kloc", "hybridize MB")]:
        points = [(row["kloc"], row[tool]) for row in rows if tool in row]
        axes.plot(*zip(*points, strict=True), marker="o", label=tool, linewidth=2.5 if tool == "hybridize" else 1.2)
    lines = [1000 * size for size in sizes]
    scale = rows[0]["hybridize"] / (lines[0] * math.log(lines[0]))
    axes.plot(sizes, [scale * n * math.log(n) for n in lines], "--", color="gray", label="n log n")
    axes.set(xscale="log", yscale="log", xlabel="thousand lines", ylabel="CPU seconds")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measures, prints a table, and writes it where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kloc", nargs="+", type=float, default=[1, 3, 10, 30, 100], metavar="N")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    parser.add_argument("--peers", action="store_true")
    args = parser.parse_args()
    rows = []
    for kloc in args.kloc:
        rows.append(measured(kloc, args.peers))
        print("  ".join(f"{name} {value:.2f}" for name, value in rows[-1].items()), flush=True)
    if args.out:
        with args.out.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
