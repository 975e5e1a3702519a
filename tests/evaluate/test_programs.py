"""Programs of a corpus, before and after: with a shim in place of TensorFlow, so that these tests are quick."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.evaluate.corpus import CorpusError, load
from hybridize.evaluate.programs import Compared, Options, compare
from hybridize.evaluate.programs_table import means, plot, programs_table
from hybridize.evaluate.statistics import Ratio, ratio_of
from hybridize.evaluate.store import Pieces
from hybridize.evaluate.tables import render

PROGRAM = """\
import tensorflow as tf

w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])


def train_step(x):
    for _ in range(10):
        x = tf.tanh(tf.matmul(x, w)) + tf.nn.relu(x) * 0.5
    loss = tf.reduce_mean(tf.square(x))
    w.assign_sub(tf.ones_like(w) * loss * 0.001)
    return loss


for _ in range(100):
    loss = train_step(tf.ones((2, 2)))
print("loss: 0.25")
"""
IN_THE_LOOP = """\
import tensorflow as tf

w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
x = tf.ones((2, 2))

for _ in range(100):
    with tf.GradientTape() as tape:
        y = x
        for _ in range(10):
            y = tf.tanh(tf.matmul(y, w)) + tf.nn.relu(y) * 0.5
        loss = tf.reduce_mean(tf.square(y))
    w.assign_sub(tape.gradient(loss, w) * 0.001)
print("loss: 0.25")
"""
#: A TensorFlow whose eager calls take long, and whose graphs do not.
SHIM = """\
import sys, time
from unittest.mock import MagicMock

tf = MagicMock()
tf.matmul.side_effect = lambda *a: (time.sleep(PAUSE), MagicMock())[1]
tf.function = lambda f=None, **k: (lambda *a: MagicMock()) if f else tf.function
sys.modules["tensorflow"] = tf
"""
CORPUS = """\
[[project]]
name = "small"
path = "small"

[[project.program]]
name = "train"
script = "train.py"
shim = "shim.py"
{more}
"""
OPTIONS = Options(sys.executable, runs=2, timeout=60, needs=None)


def corpus(folder: Path, more: str = "", pause: float = 0.0005) -> Path:
    (folder / "small").mkdir()
    (folder / "small" / "train.py").write_text(PROGRAM)
    (folder / "shim.py").write_text(SHIM.replace("PAUSE", str(pause)))
    (folder / "corpus.toml").write_text(CORPUS.format(more=more))
    return folder / "corpus.toml"


def measured(file: Path, options: Options = OPTIONS) -> list[Compared]:
    return [each for several in compare(load(str(file)), options, lambda line: None) for each in several]


def test_a_program_is_measured_before_and_after(tmp_path: Path) -> None:
    (found,) = measured(corpus(tmp_path, "published = [8.0, 4.0]"))
    assert (found.failure, found.variant, found.rounds, found.same) == ("", "safe", 2, True)
    assert found.changed == ("train:train_step",)
    assert found.loss == (0.25, 0.25)
    assert found.speed_up.value > 1.2
    assert found.published == (8.0, 4.0)
    assert (tmp_path / "small" / "train.py").read_text() == PROGRAM


def test_a_step_that_a_repair_takes_out_of_its_loop_is_counted(tmp_path: Path) -> None:
    file = corpus(tmp_path)
    (tmp_path / "small" / "train.py").write_text(IN_THE_LOOP)
    (found,) = measured(file)
    assert (found.failure, found.changed) == ("", ("train:train_step",))
    assert found.speed_up.value > 1.2


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_patch_is_a_variant_of_its_own(tmp_path: Path) -> None:
    file = corpus(tmp_path, 'patch = "expert.patch"')
    patch = "--- a/train.py\n+++ b/train.py\n@@ -14,3 +14,3 @@\n \n-for _ in range(100):\n+for _ in range(1):\n"
    (tmp_path / "expert.patch").write_text(f"{patch}     loss = train_step(tf.ones((2, 2)))\n")
    found = measured(file, Options(sys.executable, ("safe", "expert"), 1, 60, needs=None))
    assert [(each.variant, each.failure) for each in found] == [("safe", ""), ("expert", "")]
    assert found[1].changed == ("train.py",)
    assert found[1].speed_up.value > 1.2


def test_a_program_that_fails_is_an_entry_with_its_reason(tmp_path: Path) -> None:
    file = corpus(tmp_path)
    (tmp_path / "small" / "train.py").write_text(f"{PROGRAM}\nraise SystemExit('no data here')\n")
    (found,) = measured(file)
    assert found.failure == "the original program ended with exit code 1: no data here"
    made = programs_table([found])
    assert made.rows[0][-1] == found.failure
    assert "no data here" in render(made.columns, made.rows, "markdown")


def test_a_program_in_which_nothing_changes_is_not_run_and_counts_as_one(tmp_path: Path) -> None:
    file = corpus(tmp_path, pause=0)
    (tmp_path / "small" / "train.py").write_text("print('loss: 1')\n")
    for other in ("", PROGRAM):  # in which something changes, but the program does not load it
        (tmp_path / "small" / "other.py").write_text(other.replace("range(100)", "range(1000)"))
        told: list[str] = []
        (found,) = [each for several in compare(load(str(file)), OPTIONS, told.append) for each in several]
        assert (found.failure, found.speed_up.value, found.rounds) == ("", 1.0, 0)
        assert programs_table([found]).rows[0][-1] == "unchanged: counts as 1"
        assert len(told) == bool(other)


def test_what_was_measured_is_kept_round_by_round(tmp_path: Path) -> None:
    file, told = corpus(tmp_path), []

    def lines(options: Options) -> list[str]:
        told.clear()
        (found,) = [each for several in compare(load(str(file)), options, told.append) for each in several]
        assert (found.failure, found.changed) == ("", ("train:train_step",))
        return [line.partition(": ")[2].rpartition(":")[0] for line in told]

    one, two = (replace(OPTIONS, runs=runs, store=Pieces(tmp_path / "out")) for runs in (1, 2))
    assert lines(one) == ["warm-up, safe", "round 1 of 1, original", "round 1 of 1, safe"]
    assert lines(two) == ["round 2 of 2, safe", "round 2 of 2, original"]
    assert lines(two) == []
    (tmp_path / "small" / "train.py").write_text(PROGRAM + "\n")
    assert len(lines(one)) == 3


def test_a_function_that_the_program_does_not_call_is_none_of_its_changes(tmp_path: Path) -> None:
    file = corpus(tmp_path, pause=0)
    text = PROGRAM.replace("range(100)", "range(1000)")
    for name in ("train", "other"):
        (tmp_path / "small" / f"{name}.py").write_text(text.replace("train_step", f"{name}_step"))
    (found,) = measured(file, replace(OPTIONS, runs=1))
    assert found.changed == ("train:train_step",)


def test_the_functions_that_a_publication_names_are_a_variant(tmp_path: Path) -> None:
    file = corpus(tmp_path)
    file.write_text(file.read_text().replace('path = "small"', 'path = "small"\nrefactored = ["train:half"]'))
    text = PROGRAM.replace("\n\nfor", "\n\ndef half(x):\n    return x * 0.5\n\n\nhalf(w)\nfor")
    (tmp_path / "small" / "train.py").write_text(text)
    found = measured(file, replace(OPTIONS, runs=1))
    assert [(each.variant, each.failure, each.changed) for each in found] == [
        ("safe", "", ("train:train_step",)),
        ("published", "", ("train:half",)),
    ]
    file.write_text(file.read_text().replace("half", "hlaf"))
    assert measured(file)[0].failure == "`refactored` names `train:hlaf`, which is no function of small"


def test_a_program_has_the_data_beside_it(tmp_path: Path) -> None:
    file = corpus(tmp_path)
    (tmp_path / "small" / "weights.bin").write_bytes(b"1")
    (tmp_path / "small" / "train.py").write_text(f"{PROGRAM}\nopen('weights.bin')\nopen('made.txt', 'x')\n")
    (found,) = measured(file)
    assert (
        found.failure
        == "the original program ended with exit code 1: FileExistsError: [Errno 17] File exists: 'made.txt'"
    )


def test_programs_are_chosen_by_name(tmp_path: Path) -> None:
    whole = load(str(corpus(tmp_path)))
    assert [p.name for p in whole.with_programs(["train"]).projects] == ["small"]
    with pytest.raises(CorpusError, match=r"no program `trian`; did you mean `train`\?$"):
        whole.with_programs(["trian"])


def test_the_mean_has_an_interval_and_what_is_slower_is_named(tmp_path: Path) -> None:
    found = [
        Compared("p", name, "safe", Ratio(value, value / 1.1, value * 1.1, 0.01), Ratio(value), same=True, rounds=3)
        for name, value in (("a", 2.0), ("b", 8.0), ("c", 0.5))
    ]
    ((variant, words),) = means(found)
    assert variant == "safe"
    assert words.startswith("geometric mean 2.00 (0.06 to 62.6")
    assert "slower: c 0.50" in words
    assert programs_table(found).rows[2][-1] == "slower than 0.97"
    made = plot(found, tmp_path / "speed-ups")
    assert all(file.stat().st_size for file in made.values())


def test_ratios_in_pairs() -> None:
    found = ratio_of([2.0, 2.2, 1.9, 2.1])
    assert found.low < found.value < found.high
    assert found.low > 1.8
    assert found.probability < 0.01
    assert ratio_of([3.0]).value == pytest.approx(3.0)
    assert math.isnan(ratio_of([3.0]).low)
    assert math.isnan(ratio_of([]).value)


def test_the_corpora_that_are_there() -> None:
    suite = load(str(Path(__file__).resolve().parents[2] / "benchmarks" / "suite.toml"))
    assert len(suite.with_programs().projects) == 13
    for project in suite.projects:
        (program,) = project.programs
        assert (suite.folder / project.path / program.script).is_file()
        assert (suite.folder / program.patch).is_file()
    (examples,) = load("tensorflow-examples").projects
    assert len(examples.programs) == 11
    assert all(len(program.published) == 2 for program in examples.programs)
