"""`study suggest` with the real rules: a changeset's likely problem category."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hybridize.caching.store import Store
from hybridize.cli import main
from hybridize.cli.study_rules import PRECONDITION_CATEGORIES, STATUS_CATEGORIES, STUDY_CATEGORIES, RuleProcess
from hybridize.decide.documentation import PRECONDITION_DOCS, STATUS_DOCS
from hybridize.rules.model import Category
from hybridize.study.codebook import built_in
from hybridize.study.store import connect

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
from histories import History

EAGER = """import tensorflow as tf


class Model(tf.keras.Model):
    def step(self, x):
        y = tf.matmul(x, x)
        y = tf.nn.relu(y) + tf.reduce_sum(y)
        return tf.matmul(y, y) + tf.sqrt(y) * tf.exp(y) - tf.tanh(y)


if __name__ == "__main__":
    m = Model()
    for _ in range(10):
        m.step(tf.ones([3, 3]))
"""
HYBRID = EAGER.replace("    def step", "    @tf.function\n    def step")
STEP = frozenset({("a.py", "Model.step")})
PRINTING = HYBRID.replace("        y = tf.matmul", '        print("step", x)\n        y = tf.matmul', 1)


def test_every_category_has_a_name_in_the_codebook_and_every_code_exists():
    names = {code.name for code in built_in().codes if code.facet == "category"}
    assert set(STUDY_CATEGORIES) == {category.value for category in Category}
    used = {*STUDY_CATEGORIES.values(), *STATUS_CATEGORIES.values(), *PRECONDITION_CATEGORIES.values()}
    assert used <= names
    assert STATUS_CATEGORIES.keys() <= STATUS_DOCS.keys()
    assert PRECONDITION_CATEGORIES.keys() <= PRECONDITION_DOCS.keys()


def test_suggest_says_which_rules_a_changeset_settles(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    history = History.new(tmp_path / "r")
    history.commit("start", {"a.py": EAGER})
    faster = history.commit("Fix slow step", {"a.py": HYBRID})
    history.commit("Trace it", {"a.py": PRINTING})
    quiet = history.commit("Fix the log: run eagerly", {"a.py": PRINTING.replace("    @tf.function\n", "")})
    database = str(tmp_path / "study.db")
    assert main(["study", "mine", str(history.path), "--out", database, "--all-changes"]) == 0
    assert main(["study", "suggest", database]) == 0
    assert main(["study", "suggest", database, "--rules"]) == 0
    assert "likely categories" in capsys.readouterr().out
    rows = {
        row["item"]: (row["rules_json"], row["category"])
        for row in connect(Path(database)).execute("SELECT * FROM suggestion WHERE is_primary")
    }
    assert rows[f"commit:{faster}"] == ('["P1"]', "Performance")
    assert rows[f"commit:{quiet}"][1] == "API misuse"
    assert main(["study", "suggest", database, "--again"]) == 0
    assert (
        connect(Path(database)).execute("SELECT count(*) FROM suggestion WHERE rules_json != '[]'").fetchone()[0] == 0
    )


def test_the_second_time_nothing_is_analyzed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    history = History.new(tmp_path / "r")
    history.commit("start", {"a.py": EAGER})
    history.commit("Fix slow step", {"a.py": HYBRID})
    database = str(tmp_path / "study.db")
    assert main(["study", "mine", str(history.path), "--out", database, "--all-changes"]) == 0
    assert main(["study", "suggest", database, "--rules"]) == 0
    rows = connect(Path(database)).execute("SELECT * FROM suggestion").fetchall()
    asked: list[object] = []
    monkeypatch.setattr(RuleProcess, "_analyzed", lambda *args: asked.append(args))
    assert main(["study", "suggest", database, "--rules", "--again"]) == 0
    assert [tuple(r) for r in connect(Path(database)).execute("SELECT * FROM suggestion")] == [tuple(r) for r in rows]
    assert asked == []


def test_what_was_kept_answers_the_same_question_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = {"a.py": EAGER.encode()}
    with RuleProcess(Store(tmp_path)) as rules:
        found = rules(files, STEP)
        monkeypatch.setattr(RuleProcess, "_analyzed", lambda *args: None)
        assert found is not None
        assert rules(files, STEP) == found
        assert rules(files, frozenset()) is None
        assert rules({"a.py": HYBRID.encode()}, STEP) is None
        monkeypatch.setattr("hybridize.caching.keys.tool", lambda: b"another")
        assert rules(files, STEP) is None
    with RuleProcess(Store(tmp_path)) as rules:
        assert rules({"a.py": HYBRID.encode()}, STEP) is None  # no answer is not kept


def test_it_tells_of_the_functions_asked_about_and_of_what_they_call():
    text = "import tensorflow as tf\n\n\n" + "\n\n".join(
        f"@tf.function\ndef {name}(x):\n    print(x)\n    return {call}\n"
        for name, call in (("a", "b(x)"), ("b", "x"), ("c", "x"))
    )
    with RuleProcess() as rules:
        told = {name: rules({"m.py": text.encode()}, frozenset({("m.py", name)})) for name in "abc"}
    functions = {name: {hit.function for hit in found.hits} for name, found in told.items() if found is not None}
    assert functions == {"a": {"a", "b"}, "b": {"b"}, "c": {"c"}}


def test_a_project_that_takes_too_long_has_no_answer_and_the_next_one_has():
    with RuleProcess(seconds=0.0) as rules:
        assert rules({"a.py": HYBRID.encode()}, STEP) is None
    with RuleProcess() as rules:
        assert rules({"bad.py": b"def (\n"}, STEP) is not None
        found = rules({"a.py": HYBRID.encode()}, STEP)
    assert found is not None
    assert found.hybrid == {"Model.step": 1}
