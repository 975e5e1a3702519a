"""`hybridize evaluate fixes` on a tiny history: which changes of people it finds, and how the trees are judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.evaluate.fixes import Fix, Limits, draw, of_study
from hybridize.evaluate.fixes_judging import foreseen
from hybridize.evaluate.fixes_running import newest_at

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
from histories import History

HEAD = "import tensorflow as tf\n"
STEP = "def step(x):\n    y = x * 2\n    z = tf.tanh(y @ x)\n    return z + y\n"
RUN = "def run(x):\n    for _ in range(9):\n        x = step(x)\n    return x\n"
CALL = "for _ in range(10_000):\n    run(tf.ones((3, 3)))\n"
TRACED = "@tf.function\n"


def study_of(history: History, tmp_path: Path) -> Path:
    database = tmp_path / "study.db"
    assert main(["study", "mine", str(history.path), "--out", str(database), "--all-changes"]) == 0
    return database


def found_in(history: History, tmp_path: Path) -> list[tuple[str, str, str]]:
    return [(fix.kind, fix.function, fix.other) for fix in of_study(study_of(history, tmp_path), Limits())]


def test_changes_of_functions_that_were_there_and_stay(tmp_path: Path) -> None:
    history = History.new(tmp_path / "repo")
    history.commit("start", {"a.py": HEAD + STEP + RUN, "test_a.py": HEAD + STEP})
    history.commit("faster", {"a.py": HEAD + TRACED + STEP + RUN, "test_a.py": HEAD + TRACED + STEP})
    history.commit("outside", {"a.py": HEAD + STEP + TRACED + RUN})
    relaxed = "@tf.function(reduce_retracing=True)\n"
    history.commit("relax", {"a.py": HEAD + STEP + relaxed + RUN})
    signed = "@tf.function(input_signature=[tf.TensorSpec(None)])\n"
    history.commit("sign", {"a.py": HEAD + STEP + signed + RUN})
    history.commit("debug", {"a.py": HEAD + STEP + "# " + signed + RUN})
    history.commit("new", {"b.py": HEAD + TRACED + STEP})
    assert sorted(found_in(history, tmp_path)) == [
        ("added", "step", ""),
        ("arguments", "run", ""),
        ("relocated", "run", "step"),
        ("removed", "run", ""),
        ("signature", "run", ""),
    ]


def test_a_function_that_becomes_another_one_and_a_decorator_of_the_project_itself(tmp_path: Path) -> None:
    history = History.new(tmp_path / "repo")
    maker = "import tensorflow as tf\ndef compiled(f):\n    return tf.function(f)\n"
    history.commit("start", {"tools.py": maker, "a.py": HEAD + TRACED + STEP})
    history.commit("wrap", {"a.py": HEAD + "from tools import compiled\n@compiled\n" + STEP})
    history.commit("rewrite", {"a.py": HEAD + "def step(x):\n    return 1\n"})
    assert found_in(history, tmp_path) == []


def test_a_part_is_drawn_by_seed_from_all_repositories() -> None:
    fixes = [Fix(f"o/{i % 3}", f"c{i}", "a.py", f"f{i}", "added", "", "@tf.function") for i in range(30)]
    drawn = draw(fixes, 6, seed=1)
    assert sorted(fix.repository for fix in drawn) == ["o/0", "o/0", "o/1", "o/1", "o/2", "o/2"]
    assert drawn == draw(fixes[::-1], 6, seed=1) != draw(fixes, 6, seed=2)


def test_a_tree_is_judged_by_the_releases_of_its_time() -> None:
    days = ("2019-06-01", "2020-01-07", "2020-01-08", "2022-06-01", "2024-03-08")
    assert [newest_at(day) for day in days] == ["2.0", "2.0", "2.1", "2.9", "2.16"]


def test_what_counts_as_foreseen_depends_on_what_the_person_did() -> None:
    yes = {("added", "covered"), ("removed", "warned"), ("relocated", "near"), ("relocated", "changed")}
    no = {("added", "warned"), ("added", "refused"), ("removed", "told"), ("signature", "silent")}
    assert {pair for pair in yes | no if foreseen(*pair)} == yes


def test_trees_before_and_after_are_judged_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    history = History.new(tmp_path / "mirrors" / "owner+name" / "repo")
    printed = STEP.replace("    return", "    print(z.numpy())\n    return")
    other = "b.py", HEAD + TRACED + printed + "step(tf.ones((3, 3)))\n"
    history.commit("start", {"a.py": HEAD + STEP + RUN + CALL, other[0]: other[1]})
    history.commit("faster", {"a.py": HEAD + STEP + TRACED + RUN + CALL})
    history.commit("fails", {"b.py": other[1].replace(TRACED, "")})
    database, out = study_of(history, tmp_path), tmp_path / "out"
    command = ["evaluate", "fixes", str(database), "--mirrors", str(tmp_path / "mirrors"), "--out", str(out)]
    assert main([*command, "--jobs", "1"]) == 0
    assert "[2/2]" in capsys.readouterr().out
    rows = [row for place in (out / "results").iterdir() for row in json.loads(place.read_bytes())["fixes"]]
    told = {row["kind"]: (row["path"], row["function"], row["outcome"], row["foreseen"], row["gone"]) for row in rows}
    assert told == {
        "added": ("a.py", "run", "proposed", True, True),
        "removed": ("b.py", "step", "warned", True, True),
    }
    assert "1 of 1: 100%" in (out / "fixes.md").read_text()
    assert main([*command, "--jobs", "1"]) == 0
    assert "[" not in capsys.readouterr().out, "nothing is judged twice"


def test_what_is_missing_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "fixes", str(tmp_path / "none.db"), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    assert "--mirrors FOLDER" in capsys.readouterr().err
    assert main([*command, "--mirrors", str(tmp_path)]) == 2
    assert "none.db: no such file" in capsys.readouterr().err
