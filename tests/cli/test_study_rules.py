"""`study suggest` with the real rules: a changeset's likely problem category."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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


def test_a_project_that_takes_too_long_has_no_answer_and_the_next_one_has():
    with RuleProcess(seconds=0.0) as rules:
        assert rules({"a.py": HYBRID.encode()}) is None
    with RuleProcess() as rules:
        assert rules({"bad.py": b"def (\n"}) is not None
        found = rules({"a.py": HYBRID.encode()})
    assert found is not None
    assert found.hybrid == {"Model.step": 1}
