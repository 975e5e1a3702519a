"""Which rules fire before a changeset and not after: a fix settles a hit, a deletion does not."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hybridize.study.history import Repository
from hybridize.study.mine import MineOptions, Miner
from hybridize.study.rulediff import Firing, Functions, RuleHit, likely_category, settled
from hybridize.study.store import connect
from hybridize.study.suggest import suggest_item
from hybridize.study.tree import Entry, is_safe, module_file, relevant

sys.path.insert(0, str(Path(__file__).parent))
from histories import History

EAGER = "import tensorflow as tf\n\n\ndef step(x):\n    return x\n"
HYBRID = EAGER.replace("def step", "@tf.function\ndef step")
SLOW = RuleHit("P1", "Performance", "step", asks_for_graph=True)
BUG = RuleHit("HY1", "API misuse", "step")


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return connect(tmp_path / "study.db")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.new(tmp_path / "r")


class Recorder:
    """A runner that answers by what stands in `a.py`, and remembers what it was given."""

    def __init__(self) -> None:
        self.seen: list[dict[str, bytes]] = []
        self.asked: list[Functions] = []

    def __call__(self, files: Mapping[str, bytes], functions: Functions) -> Firing | None:
        self.seen.append(dict(files))
        self.asked.append(functions)
        hybrid = b"@tf.function" in files["a.py"]
        return Firing(() if hybrid else (SLOW,), {"step": 1}, {"step": 1} if hybrid else {})


def rows_of(database: sqlite3.Connection, history: History, sha: str, runner: Recorder | None):
    Miner(database, Repository(history.path), "o/n", MineOptions(all_changes=True)).run()
    return suggest_item(database, f"commit:{sha}", rules=runner)


def test_a_settled_hit_names_rule_and_category(database, history):
    history.commit("start", {"a.py": EAGER})
    sha = history.commit("on", {"a.py": HYBRID})
    row, *_ = rows_of(database, history, sha, Recorder())
    assert (row.kind, row.rules, row.category) == ("add_decorator", ("P1",), "Performance")


def test_without_rules_nothing_is_said(database, history):
    history.commit("start", {"a.py": EAGER})
    sha = history.commit("on", {"a.py": HYBRID})
    row, *_ = rows_of(database, history, sha, None)
    assert (row.rules, row.category) == ((), None)


def test_the_rules_see_both_versions_of_the_changed_file_and_of_what_it_imports(database, history):
    using = "from lib import b\n"
    files = {"lib/__init__.py": "", "lib/b.py": "old = 1\n", "lib/c.py": "", "requirements.txt": "tensorflow==2.4\n"}
    history.commit("start", {"a.py": using + EAGER, **files})
    sha = history.commit("on", {"a.py": using + HYBRID, "lib/b.py": "new = 1\n", "notes.md": "x"})
    runner = Recorder()
    rows_of(database, history, sha, runner)
    assert [set(files) for files in runner.seen] == [{"a.py", "lib/__init__.py", "lib/b.py", "requirements.txt"}] * 2
    assert [files["lib/b.py"] for files in runner.seen] == [b"old = 1\n", b"new = 1\n"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            EAGER + "\n\ndef other(x):\n    return x\n",
            HYBRID + "\n\ndef other(x):\n    return x\n",
            {"step"},
        ),
        (EAGER, EAGER + "\n\nfast = tf.function(step)\n", {"step", "<module>"}),
        (EAGER, EAGER + "\n\nfast = tf.function(lib.run)\n", {"<module>"}),
        (
            "class A:\n    def _f(self):\n        pass\n\n    def go(self):\n        return self._f\n",
            "import tensorflow as tf\n\nclass A:\n    def _f(self):\n        pass\n\n    def go(self):\n"
            "        return tf.function(self._f)\n",
            {"A._f", "A.go"},
        ),
    ],
    ids=["decorated", "wrapped", "wrapped by the module", "wrapped by a method"],
)
def test_asked_about_are_the_functions_whose_use_changes(database, history, before, after, expected):
    history.commit("start", {"a.py": before})
    sha = history.commit("on", {"a.py": after})
    runner = Recorder()
    rows_of(database, history, sha, runner)
    assert runner.asked == [{("a.py", name) for name in expected}] * 2


def test_of_a_renamed_file_the_functions_have_the_path_of_their_side(database, history):
    text = EAGER + "".join(f"# line {n}\n" for n in range(20))
    history.commit("start", {"pkg/a.py": "", "old.py": text})
    history.git("mv", "old.py", "a.py")
    sha = history.commit("on", {"a.py": text.replace("def step", "@tf.function\ndef step")})
    asked: list[tuple[set[str], Functions]] = []

    def runner(files: Mapping[str, bytes], functions: Functions) -> Firing:
        asked.append((set(files), functions))
        return Firing((SLOW,), {"step": 1})

    Miner(database, Repository(history.path), "o/n", MineOptions(all_changes=True)).run()
    suggest_item(database, f"commit:{sha}", rules=runner)
    assert asked == [({"old.py"}, {("old.py", "step")}), ({"a.py"}, {("a.py", "step")})]


def test_without_the_clone_the_changed_files_must_do(database, history):
    history.commit("start", {"a.py": EAGER, "b.py": "x = 1\n"})
    sha = history.commit("on", {"a.py": HYBRID})
    rows_of(database, history, sha, None)
    history.path.rename(history.path.with_name("elsewhere"))
    runner = Recorder()
    row, *_ = suggest_item(database, f"commit:{sha}", rules=runner)
    assert row.rules == ("P1",)
    assert [set(files) for files in runner.seen] == [{"a.py"}] * 2


def test_code_that_comes_as_a_whole_is_not_worth_asking_about(database, history):
    history.commit("start", {"a.py": "import tensorflow as tf\n"})
    sha = history.commit("on", {"a.py": HYBRID})
    runner = Recorder()
    rows_of(database, history, sha, runner)
    assert runner.seen == []


def test_no_answer_is_no_suggestion(database, history):
    history.commit("start", {"a.py": EAGER})
    sha = history.commit("on", {"a.py": HYBRID})
    Miner(database, Repository(history.path), "o/n", MineOptions(all_changes=True)).run()
    row, *_ = suggest_item(database, f"commit:{sha}", rules=lambda files, functions: None)
    assert (row.kind, row.rules, row.category) == ("add_decorator", (), None)


# -- the comparison by itself ----------------------------------------------------------------------------------------


def firing(*hits: RuleHit, functions: int = 1, hybrid: int = 0) -> Firing:
    return Firing(hits, {"step": functions}, {"step": hybrid})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (firing(BUG, hybrid=1), firing(hybrid=1), [BUG]),
        (firing(BUG, hybrid=1), firing(BUG, hybrid=1), []),
        (firing(BUG, BUG, functions=2), firing(BUG, functions=2), [BUG]),
        (firing(BUG, hybrid=1), firing(functions=0), []),
        (firing(SLOW), firing(hybrid=1), [SLOW]),
        (firing(SLOW), firing(), []),
        (firing(), firing(BUG), []),
        (firing(RuleHit("HY5", "Debuggability")), firing(), [RuleHit("HY5", "Debuggability")]),
    ],
    ids=[
        "gone",
        "stays",
        "one of two functions of that name",
        "its function went",
        "made hybrid",
        "no longer asked for, and still eager",
        "new",
        "of the project as a whole",
    ],
)
def test_what_is_settled(before, after, expected):
    assert settled(before, after) == expected


def test_the_category_is_that_of_most_hits_and_a_tie_is_none():
    other = RuleHit("HY3", "Incompatibility", "f")
    assert likely_category([BUG, RuleHit("HY2", "API misuse", "f"), other]) == "API misuse"
    assert likely_category([BUG, other]) is None
    assert likely_category([BUG, other, other]) is None  # one rule on one function counts once
    assert likely_category([]) is None


# -- which files -----------------------------------------------------------------------------------------------------


def test_the_changed_files_and_their_imports_are_taken_as_far_as_they_go():
    texts = {
        "pkg/__init__.py": "",
        "pkg/a.py": "from .b import f\nimport pkg.c\n",
        "pkg/b.py": "from pkg import d\n",
        "pkg/c.py": "",
        "pkg/d.py": "",
        "pkg/unrelated.py": "",
        "setup.cfg": "",
    }
    tree = {path: Entry(path, 100) for path in texts}
    assert relevant(tree, ["pkg/a.py"], texts.get, limit=550) == set(texts) - {"pkg/unrelated.py"}
    assert relevant(tree, ["pkg/a.py"], texts.get, limit=200) == {
        "pkg/a.py",
        "pkg/b.py",
        "pkg/__init__.py",
        "setup.cfg",
    }
    assert relevant(tree, ["pkg/a.py"], texts.get, limit=50) == {"pkg/a.py", "pkg/__init__.py", "setup.cfg"}


@pytest.mark.parametrize(
    ("importing", "dotted", "level", "expected"),
    [
        ("src/p/a.py", "b", 1, "src/p/b.py"),
        ("src/p/q/a.py", "b", 2, "src/p/b.py"),
        ("src/p/q/a.py", "", 2, "src/p/__init__.py"),
        ("src/p/a.py", "p.b", 0, "src/p/b.py"),
        ("tests/t.py", "p.b", 0, "src/p/b.py"),
        ("tests/t.py", "helper", 0, "tests/helper.py"),
        ("src/p/a.py", "numpy", 0, None),
        ("a.py", "b", 3, None),
    ],
)
def test_which_file_an_import_means(importing, dotted, level, expected):
    paths = dict.fromkeys(["src/p/__init__.py", "src/p/a.py", "src/p/b.py", "src/p/q/a.py", "tests/helper.py"])
    assert module_file(paths, importing, dotted, level) == expected


@pytest.mark.parametrize("path", ["../x.py", "/x.py", "a/../x.py", ".git/x.py", "a//x.py", "c:x.py", "a\\x.py"])
def test_paths_that_leave_the_folder_are_refused(path):
    assert not is_safe(path)
