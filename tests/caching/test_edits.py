"""Reports after edits within functions: what the whole analysis finds is found of the functions at once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

import hybridize
from hybridize.api import inputs_of
from hybridize.caching.after_edits import File, Shifted, merged
from hybridize.config import Config, load_config
from hybridize.decide.model import Report
from hybridize.deciding import ENTRIES_JUDGED, REST_JUDGED, Again, Deciding
from hybridize.library import registry
from hybridize.program.build import build_program
from hybridize.report.items import Item, items

MODEL = '''\
import tensorflow as tf


class Dense(tf.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = tf.Variable(tf.random.normal([size, size]))
        self.seen = []

    def __call__(self, x):
        return tf.nn.relu(x @ self.weight)


def loss_of(model, x):
    y = model(x)
    return tf.reduce_mean(tf.square(y - x))


def named(x):
    """Nobody calls it."""
    return tf.sin(x)
'''
TRAIN = """\
import tensorflow as tf
from model import Dense, loss_of

model = Dense(4)
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = loss_of(model, x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def total(x, times):
    result = 0.0
    for _ in range(times):
        result += tf.reduce_sum(x)
    return result


for i in range(1000):
    batch = tf.random.normal([8, 4])
    step(batch)
    total(batch, 3)
"""
#: File, what is replaced, by what, and a code that is found of the edit then (none: all is as it was).
EDITS = {
    "a print below a graph": ("model.py", "    y = model(x)\n", "    y = model(x)\n    print(y)\n", "HY201"),
    "a list that a graph appends to": (
        "model.py",
        "        return tf.nn",
        "        self.seen.append(x)\n        return tf.nn",
        "HY601",
    ),
    "a print in it": ("train.py", "    return loss\n", "    print(loss)\n    return loss\n", "HY201"),
    "a value that a graph cannot give": ("model.py", "    y = model(x)\n", "    y = model(x).numpy()\n", "HY301"),
    "a line more": ("train.py", "    return loss\n", "    more = loss * 1.0\n    return more\n", ""),
    "a comment": ("train.py", "    return loss\n", "    # the mean\n    return loss\n", ""),
    "a function in a function": (
        "model.py",
        "    return tf.sin(x)\n",
        "    def inner(z):\n        return tf.sin(z)\n    return inner(x)\n",
        "",
    ),
    "a draw from the host": ("train.py", "    result = 0.0\n", "    import random\n    result = random.random()\n", ""),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def solved(folder: Path, phase: str) -> Deciding:
    """A program as it is after a phase."""
    config = Config()
    inputs = inputs_of([folder], config)
    registry.load()
    deciding = Deciding(build_program(inputs.files, inputs.imports, read=inputs.read), config, inputs)
    next(each for each in deciding.phases(None, repairs=True) if each == phase)
    return deciding


def after(folder: Path, report: Report, contents: Mapping[str, str]) -> Report:
    """The report after edits, without a whole analysis."""
    found: list[Again] = []
    for phase in (ENTRIES_JUDGED, REST_JUDGED):
        data = {path: text.encode() for path, text in contents.items()}
        again = solved(folder, phase).after_edits(data, entries=phase == ENTRIES_JUDGED)
        assert again is not None
        found.append(again)
    return merged(report, {path: File((folder / path).read_text(), text) for path, text in contents.items()}, found)


def checked(folder: Path, contents: Mapping[str, str] | None = None) -> Report:
    data = {path: text.encode() for path, text in (contents or {}).items()}
    return hybridize.check(folder, load_config([folder]), contents=data)


def told(report: Report) -> list[tuple[str, int, int, str]]:
    def of(item: Item) -> tuple[str, int, int, str]:
        return item.path, item.line, item.column, item.code

    return sorted(map(of, items(report)))


@pytest.mark.parametrize("name", EDITS)
def test_what_is_found_of_an_edit_is_what_the_whole_analysis_finds(project: Path, name: str) -> None:
    path, old, new, code = EDITS[name]
    text = (project / path).read_text()
    assert old in text
    contents = {path: text.replace(old, new, 1)}
    before = checked(project)
    now = after(project, before, contents)
    assert told(now) == told(checked(project, contents))
    fresh = {each[3] for each in told(now)} - {each[3] for each in told(before)}
    assert (code in fresh) if code else not fresh


def test_edits_of_several_files(project: Path) -> None:
    contents = {
        "model.py": MODEL.replace("    y = model(x)\n", "\n\n    y = model(x)\n    print(y)\n"),
        "train.py": TRAIN.replace("    result = 0.0\n", "    # from none\n    result = 0.0\n"),
    }
    assert told(after(project, checked(project), contents)) == told(checked(project, contents))


def test_a_function_that_is_gone_is_told_of_no_more(project: Path) -> None:
    contents = {
        "model.py": MODEL.replace(
            "    return tf.sin(x)\n", "    def inner(z):\n        return z\n    return inner(x)\n"
        )
    }
    (project / "model.py").write_text(contents["model.py"])
    report = after(project, checked(project), {"model.py": MODEL})
    assert [f.facts.qualname for f in report.functions if f.facts.qualname.startswith("named")] == ["named"]


def test_functions_with_other_facts_have_them(project: Path) -> None:
    contents = {"model.py": MODEL.replace("    y = model(x)\n", "    print(x)\n    y = model(x)\n")}
    now = after(project, checked(project), contents)
    whole = checked(project, contents)
    facts = {f.facts.id: f.facts for f in whole.functions}
    for function in now.functions:
        assert function.facts.python_side_effects.value == facts[function.facts.id].python_side_effects.value
        assert (function.facts.line, function.facts.end_line) == (
            facts[function.facts.id].line,
            facts[function.facts.id].end_line,
        )


def test_lines_are_found_again() -> None:
    chance = random.Random(0)
    for _ in range(200):
        old = [f"line {chance.randrange(12)}" for _ in range(chance.randrange(1, 30))]
        new = list(old)
        at = chance.randrange(len(old) + 1)
        gone = min(chance.randrange(3), len(old) - at)
        more = [f"new {i}" for i in range(chance.randrange(4))]
        new[at : at + gone] = more
        new, old = [*new, "end"], [*old, "end"]
        kept = {i: i if i < at else i - gone + len(more) for i in range(len(old)) if not at <= i < at + gone}
        shifted = Shifted("\n".join(old), "\n".join(new))
        assert shifted.added == len(new) - len(old)
        for i, j in kept.items():
            assert old[i] == new[shifted.line(i + 1) - 1], "another line is as good if it says the same"
            assert abs(shifted.line(i + 1) - 1 - j) <= gone + len(more)
        for i in range(len(old)):
            assert 1 <= shifted.line(i + 1) <= max(len(new), 1)
