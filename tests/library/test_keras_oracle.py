"""Models of Keras against Keras itself: never a wrong dim or dtype, and exact where a case says so."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorflow")

from .keras_oracle import CASES, Case, cases, report

pytestmark = pytest.mark.tensorflow

TABLES = sorted(p.name for p in CASES.glob("*.txt"))
#: The fewest public callables about which a case must be exact, by major version.
EXACT_AT_LEAST = {"2": 300, "3": 470}


def cases_of(table: str) -> list[Case]:
    """The cases of a table for the installed release."""
    import keras

    return [c for c in cases(table) if c.release in ("all", keras.__version__[0])]


@pytest.mark.parametrize("table", TABLES)
def test_models_agree_with_keras(table: str, tmp_path: Path) -> None:
    wrong, _ = report(cases_of(table), tmp_path)
    assert not wrong, f"{len(wrong)} failures\n" + "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_models_agree_on_symbolic_inputs(table: str, tmp_path: Path) -> None:
    symbolic = [s for c in cases_of(table) if (s := c.symbolic()) is not None]
    wrong, _ = report(symbolic, tmp_path)
    assert not wrong, f"{len(wrong)} failures\n" + "\n".join(wrong)


@pytest.mark.slow
def test_many_callables_are_exact(tmp_path: Path) -> None:
    import keras

    good: set[str] = set()
    for table in TABLES:
        good |= report(cases_of(table), tmp_path)[1]
    print(len(good), "public callables exact")
    assert len(good) >= EXACT_AT_LEAST[keras.__version__[0]]
