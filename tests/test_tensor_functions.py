"""The sheets that people say from which functions take tensors (scripts/tensor_functions.py)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from tensor_functions import Drawn, entry, figures, functions, read_sheet, sample, wilson


def _function(number: int, **data: Any) -> dict[str, Any]:
    names = data.pop("names", ["x"])
    made = {"path": "a.py", "line": number, "end_line": number, "qualname": f"f{number}", "kind": "function"}
    fact = {"value": "yes", "evidence": [{"message": "why"}]}
    return {**made, "parameters": names, "candidate": False, "facts": {"tensor_parameter": fact}, **data}


def _drawn(number: int, project: str = "p", **data: Any) -> Drawn:
    return Drawn(project, Path("nowhere"), _function(number, **data))


def test_functions_with_parameters_that_belong_to_no_test_are_drawn_from(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("def test_a(x): pass\n", encoding="utf-8")
    made = [
        _function(1),
        _function(2, names=[]),
        _function(3, names=["self"], kind="method"),
        _function(4, path="tests/test_a.py"),
        _function(5, path="book.ipynb"),
    ]
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"project": {"root": str(tmp_path)}, "functions": made}), encoding="utf-8")
    assert [each.data["line"] for each in functions(report)] == [1]


def test_a_sample_depends_on_the_seed_alone() -> None:
    pool = [_drawn(number, project=f"p{number % 2}") for number in range(1, 40)]
    one = sample(pool, 1, total=10, per_project=5)
    assert one == sample(pool[::-1], 1, total=10, per_project=5) != sample(pool, 2, total=10, per_project=5)
    assert sum(each.project == "p1" for each in one) == 5


def test_a_sheet_does_not_show_what_the_tool_says() -> None:
    text = entry(_drawn(1, candidate=True))
    assert "candidate" not in text
    assert read_sheet(text) == []
    assert read_sheet(text.replace("takes:", "takes: both")) == [(_drawn(1).key, "both")]
    with pytest.raises(ValueError, match="perhaps"):
        read_sheet(text.replace("takes:", "takes: perhaps"))


def test_figures_count_what_is_recognized_and_what_takes_none() -> None:
    drawn = [_drawn(number, candidate=number > 2) for number in range(1, 6)]
    answers = [(each.key, word) for each, word in zip(drawn, ("yes", "no", "yes", "array", "no"), strict=True)]
    told = list(figures(answers, {each.key: each for each in drawn}, first=60))
    assert told[0] == "5 judged: 2 yes, 0 both, 1 array, 2 no"
    assert told[1].startswith("with tensors, recognized: 1 of 2 (50.0%")
    assert told[2].startswith("candidates that take no tensor or array: 1 of 3")
    assert told[3].startswith("candidates that take only arrays: 1 of 3")
    assert [line.split()[0] for line in told[4:]] == ["missed", "array", "no"]


def test_the_interval_of_a_share() -> None:
    assert [round(each, 3) for each in wilson(9, 10)] == [0.596, 0.982]
    assert wilson(0, 0) == (0.0, 1.0)
