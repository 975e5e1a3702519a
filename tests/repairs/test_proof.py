"""Every repair under TensorFlow: the program does the same before and after, and what it unlocks is traced seldom."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import ForkServer, Kind, Outcome, Program
from hybridize.repairs.registry import all_repairs

from .support import Case, cases, fixed

pytestmark = pytest.mark.tensorflow


def differences(case: Case, outcome: Outcome) -> list[str]:
    """What is not as it was, but for what the case says changes."""
    if "*" in case.changed:  # it raised before
        return [str(d) for d in outcome.differences if d.where == "exception" and d.hybrid != "-"]
    free = {"stdout", "notes"} if not case.output else {"notes"}
    changed = tuple(start for n in case.changed for start in (f"{n}.", f"len({n}.", f"len({n})", f"type({n})"))
    return [
        str(d)
        for d in outcome.differences
        if d.where not in free and d.where not in case.changed and not (changed and d.where.startswith(changed))
    ]


def complaints(chosen: list[Case], server: ForkServer, folder: Path) -> list[str]:
    """One entry for each program that does not do the same."""
    texts = [fixed(case.source, folder).text for case in chosen]
    pairs = [(Program.single(case.source), Program.single(text)) for case, text in zip(chosen, texts, strict=True)]
    found: list[str] = []
    for case, text, outcome in zip(chosen, texts, server.compare_all(pairs), strict=True):
        wrong = differences(case, outcome)
        if outcome.kind is Kind.FAILED or (outcome.kind is Kind.RAISES and wrong):
            wrong = wrong or [str(d) for d in outcome.differences]
        for each in outcome.functions:
            if each.function in case.functions and each.traces > 2 and each.traces >= each.calls:
                wrong.append(f"retraces: {each}")
        called = {each.function for each in outcome.functions if each.calls}
        wrong += [f"`{name}` never ran as a graph" for name in case.functions if name not in called]
        if wrong:
            found.append(f"{case.name}: {'; '.join(wrong)}\n{text}")
    return found


@pytest.mark.slow
def test_programs_do_the_same(server: ForkServer, tmp_path: Path) -> None:
    wrong = complaints(cases(), server, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_examples_do_the_same(server: ForkServer, tmp_path: Path) -> None:
    chosen = [
        Case(f"{r.code}-{i}", e.before, r.code, (e.function,) if e.function else (), e.changed, e.output)
        for r in all_repairs()
        for i, e in enumerate(r.examples)
    ]
    wrong = complaints(chosen, server, tmp_path)
    assert not wrong, "\n".join(wrong)
