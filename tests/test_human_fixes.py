"""`scripts/human_fixes.py` on a tiny history: which changes of people it finds, and how a report is read."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
sys.path.insert(0, str(Path(__file__).parent / "study"))

import human_fixes_mine
import human_fixes_score
from histories import History

HEAD = "import tensorflow as tf\n"
STEP = "def step(x):\n    y = x * 2\n    z = tf.tanh(y @ x)\n    return z + y\n"
RUN = "def run(x):\n    for _ in range(9):\n        x = step(x)\n    return x\n"
TRACED = "@tf.function\n"


def found_in(history: History) -> list[tuple[str, str, str]]:
    fixes = human_fixes_mine.mine(history.path, "owner/name", human_fixes_mine.Limits())
    return [(fix.kind, fix.function, fix.other) for fix in fixes]


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
    assert found_in(history) == [
        ("removed", "run", ""),
        ("signature", "run", ""),
        ("arguments", "run", ""),
        ("relocated", "run", "step"),
        ("added", "step", ""),
    ]


def test_a_function_that_becomes_another_one_and_a_decorator_of_the_project_itself(tmp_path: Path) -> None:
    history = History.new(tmp_path / "repo")
    maker = "import tensorflow as tf\ndef compiled(f):\n    return tf.function(f)\n"
    history.commit("start", {"tools.py": maker, "a.py": HEAD + TRACED + STEP})
    history.commit("wrap", {"a.py": HEAD + "from tools import compiled\n@compiled\n" + STEP})
    history.commit("rewrite", {"a.py": HEAD + "def step(x):\n    return 1\n"})
    assert found_in(history) == []


def test_a_part_is_drawn_by_seed_from_all_repositories() -> None:
    fixes = [
        human_fixes_mine.Fix(f"o/{i % 3}", f"c{i}", "a.py", f"f{i}", "added", "", "@tf.function") for i in range(30)
    ]
    drawn = human_fixes_mine.draw(fixes, 6, seed=1)
    assert sorted(fix.repository for fix in drawn) == ["o/0", "o/0", "o/1", "o/1", "o/2", "o/2"]
    assert drawn == human_fixes_mine.draw(fixes[::-1], 6, seed=1) != human_fixes_mine.draw(fixes, 6, seed=2)


def test_the_tree_before_is_judged(tmp_path: Path) -> None:
    history = History.new(tmp_path / "owner+name" / "repo")
    call = "for _ in range(10_000):\n    run(tf.ones((3, 3)))\n"
    printed = STEP.replace("    return", "    print(z.numpy())\n    return")
    history.commit("start", {"a.py": HEAD + STEP + RUN + call, "b.py": HEAD + printed + "step(tf.ones((3, 3)))\n"})
    sha = history.commit("faster", {"a.py": HEAD + TRACED + STEP + RUN + call})
    tool = human_fixes_score.Tool(Path(__file__).parents[1], tmp_path / "cache", 100)

    def outcome(path: str, function: str, kind: str) -> str:
        fix = human_fixes_mine.Fix("owner/name", sha, path, function, kind, "", "")
        return str(human_fixes_score.score(tool, tmp_path, fix)["outcome"])

    assert outcome("a.py", "run", "added") == "proposed"
    assert outcome("a.py", "step", "added") == "covered"
    assert outcome("b.py", "step", "added") in ("refused", "repairable")
    assert outcome("a.py", "gone", "added") == "absent"
    assert outcome("a.py", "run", "removed") == "eager"
