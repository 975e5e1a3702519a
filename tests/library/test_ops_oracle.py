"""Models of operations against TensorFlow and NumPy: never a wrong dim or dtype, and exact where a case says so."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from .op_oracle import CASES, EXACT, WRONG, cases, judge

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("table", sorted(p.name for p in CASES.glob("*.txt")))
def test_models_agree_with_the_library(table: str) -> None:
    failures: list[str] = []
    for case in cases(table):
        try:
            verdict = judge(case)
        except Exception as error:
            failures.append(
                f"{case.place}: {case.source} raised {type(error).__name__}: {str(error).splitlines()[0][:160]}"
            )
            continue
        if verdict is not None and (verdict.verdict == WRONG or (case.exact and verdict.verdict != EXACT)):
            failures.append(verdict.detail or verdict.verdict)
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures)
