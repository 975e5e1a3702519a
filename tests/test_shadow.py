"""`scripts/shadow.py`: what the tests of a small package show of its functions, beside what is decided of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import shadow

ROOT = Path(__file__).parents[1]
FILES = {
    "pyproject.toml": '[project]\nname = "lib"\ndependencies = ["tensorflow>=2.15"]\n',
    "lib/__init__.py": "",
    "lib/core.py": """\
        import tensorflow as tf

        class Scaler:
            def __init__(self):
                self.factor = 2.0

            def scale(self, x: tf.Tensor):
                return tf.tanh(x) * self.factor

        def doubled(x: tf.Tensor):
            for _ in range(9):
                x = tf.tanh(x)
            return x * 2.0

        def mean(x: tf.Tensor):
            return float(tf.reduce_mean(doubled(x)))

        def unused(x: tf.Tensor):
            return x
        """,
    "tests/test_core.py": """\
        import tensorflow as tf
        from lib import core

        X = tf.constant([1.0, 2.0])

        def test_mean():
            assert [core.mean(X) for _ in range(3)]
            assert [core.doubled(X) for _ in range(3)]

        def test_scaler():
            scaler = core.Scaler()
            first = scaler.scale(X)
            scaler.factor = 3.0
            assert scaler.scale(X)[0] > first[0]
        """,
}


@pytest.mark.tensorflow
@pytest.mark.slow
def test_each_function_is_tried_by_itself_and_its_eager_call_counts(tmp_path: Path, tensorflow_python: str) -> None:
    for name, text in FILES.items():
        (tmp_path / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / name).write_text(dedent(text))
    out = tmp_path / "seen.json"
    run = ["run", str(tmp_path / "lib"), "--python", tensorflow_python, "--out", str(out)]
    shadow.main([*run, "--", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"])
    shadow.main(["verdicts", str(out), "--tool", str(ROOT), "--label", "here"])
    data = json.loads(out.read_text())
    assert data["code"] == 0, Path(f"{out}.log").read_text()
    rows = {row["qualname"]: row for row in shadow.joined(data, "here")}
    assert {name: row["said"] for name, row in rows.items() if row["qualname"] != "Scaler.__init__"} == {
        "Scaler.scale": "differs",  # the graph has kept the first factor
        "doubled": "same",
        "mean": "differs",  # a graph has no number
        "unused": "not reached",
    }
    assert rows["Scaler.scale"]["first"] == 2
    assert "test_mean" not in rows  # tests are not what is judged
    assert rows["mean"]["compared"] == 1
    assert shadow.verdict_of(rows["mean"]) == "refused"
    assert shadow.verdict_of(rows["doubled"]) == "converted by `--all-safe`"
    assert shadow.is_repeated(rows["doubled"])


def row(action: str = "keep", said: str = "same", codes: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    decided = {"action": action, "candidate": True, "codes": list(codes), "told": []}
    seen = {"said": said, "compared": 3, "traces": 1, "name": "lib", "path": "a.py", "qualname": "f"}
    return {**seen, "default": {**decided, "action": "keep"}, "all_safe": decided, **more}


def test_the_table_has_a_line_for_each_verdict() -> None:
    rows = [row("convert_to_hybrid", "differs"), row(codes=("HY602",)), row(codes=("HY602",), compared=1)]
    lines = shadow.markdown(rows)
    assert lines[2:4] == [
        "| converted by `--all-safe` | 0 | 0 | 1 | 0 | 0 | 0 |",
        "| refused | 2 | 1 | 0 | 0 | 0 | 0 |",
    ]


def test_a_reason_counts_where_a_trace_came_to_the_same_again() -> None:
    rows = [row(codes=("HY602",)), row(codes=("HY602", "HY003"), said="differs"), row(codes=("HY003",), compared=1)]
    assert shadow.reasons(rows)[2:4] == ["| HY602 | 1 (1) | 1 (1) | 1 |", "| HY003 | 1 (1) | 0 (0) | 0 |"]
