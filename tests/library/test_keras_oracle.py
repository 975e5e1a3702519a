"""Models of Keras against Keras itself: never a wrong dim or dtype, and exact where a case says so."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorflow")

from keras_oracle import CASES, EXACT, WRONG, Case, cases, compare, infer, run, show_actual

from hybridize.domain.objects import show

pytestmark = pytest.mark.tensorflow


def failures(given: list[Case], folder: Path) -> list[str]:
    found = []
    for case, value in zip(given, infer(given, folder), strict=True):
        try:
            actual = run(case)
        except AttributeError as error:
            if case.exact:
                found.append(f"{case.place}: {case.source} raised {str(error)[:150]}")
            continue
        except Exception as error:
            if case.exact:
                found.append(f"{case.place}: {case.source} raised {type(error).__name__}: {str(error)[:150]}")
            continue
        verdict = compare(value, actual)
        if verdict == WRONG or (case.exact and verdict != EXACT):
            found.append(f"{case.place}: {case.source}\n    {verdict}: {show(value)}, got {show_actual(actual)}")
    return found


@pytest.mark.parametrize("table", sorted(p.name for p in CASES.glob("*.txt")))
def test_models_agree_with_keras(table: str, tmp_path: Path) -> None:
    import keras

    release = keras.__version__[0]
    given = [c for c in cases(table) if c.release in ("all", release)]
    symbolic = [s for c in given if (s := c.symbolic()) is not None]
    found = failures(given + symbolic, tmp_path)
    assert not found, f"{len(found)} failures\n" + "\n".join(found)
