"""Ends of whole programs: what is different between them, what is only noise, and which conversion is to blame."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport
from hybridize.runtime.ending import deviation, leaves, merged
from hybridize.runtime.launch import Ended
from hybridize.runtime.verify import Verdict
from hybridize.runtime.whole import Comparison, Whole

NAMES = "abcde"
TEXT = "import tensorflow as tf\n" + "".join(f"\n\ndef {n}(x):\n    return x * 2\n" for n in NAMES)


def ended(values: dict[str, Any], code: int = 0, drawing: tuple[int, ...] = (), **final: Any) -> Ended:
    """A run that ended with these Python values in its module."""
    told = {name: ["py", type(value).__name__, value] for name, value in values.items()}
    events = [
        {"event": "start", "pid": 1},
        {"event": "final", "pid": 1, "values": told, "stdout": "", "stderr": "", "files": {}, "results": {}, **final},
        {"event": "drawing", "pid": 1, "functions": list(drawing)},
    ]
    if code:
        error = {"type": "ValueError", "bases": [], "message": "no", "frames": []}
        events.insert(1, {"event": "exception", "pid": 1, "type": "ValueError", "error": error})
    return Ended(code, 1.0, "exit", tuple(events))


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> tuple[FunctionReport, ...]:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "a.py").write_text(TEXT)
    return analyze([folder], Config()).functions


def compared(
    functions: tuple[FunctionReport, ...],
    first: Ended,
    program: Callable[[frozenset[str], int], Ended],
    **changes: str,
) -> tuple[Whole, dict[str, str]]:
    """The outcome for a program that ends as `program` says, by the names that are converted and the turn."""
    verdicts = [Verdict(f, changes.get(n, "equal"), calls=3) for f, n in zip(functions, NAMES, strict=True)]
    turn = [0]

    def run(left: frozenset[int], nudge: int) -> Ended:
        turn[0] += 1
        return program(frozenset(n for i, n in enumerate(NAMES) if i not in left), turn[0])

    whole, verdicts = Comparison(first, verdicts, run).compare()
    return whole, {n: v.kind for n, v in zip(NAMES, verdicts, strict=True)}


def test_one_that_ends_the_same_costs_one_run(functions: tuple[FunctionReport, ...]) -> None:
    whole, kinds = compared(functions, ended({"n": 3}), lambda names, turn: ended({"n": 3}))
    assert (whole.kind, whole.runs, set(kinds.values())) == ("same", 1, {"equal"})


@pytest.mark.parametrize("wrong", ["a", "c", "e", "bd"])
def test_whoever_makes_the_difference_is_blamed(functions: tuple[FunctionReport, ...], wrong: str) -> None:
    whole, kinds = compared(functions, ended({"n": 3}), lambda names, turn: ended({"n": 1 if names & {*wrong} else 3}))
    assert whole.kind == "different"
    assert {n for n, kind in kinds.items() if kind == "different"} == {*wrong}


def test_two_that_are_wrong_only_together(functions: tuple[FunctionReport, ...]) -> None:
    _, kinds = compared(functions, ended({"n": 3}), lambda names, turn: ended({"n": 1 if {"a", "e"} <= names else 3}))
    assert {n for n, kind in kinds.items() if kind == "different"} == {*NAMES}


def test_an_exception_is_raised_by_whom_it_needs(functions: tuple[FunctionReport, ...]) -> None:
    whole, kinds = compared(functions, ended({"n": 3}), lambda names, turn: ended({}, int("d" in names)))
    assert kinds == {"a": "equal", "b": "equal", "c": "equal", "d": "raised", "e": "equal"}
    assert any(d.where.startswith("exception") for d in whole.differences)


def test_those_that_are_known_to_be_wrong_stay_as_they_are(functions: tuple[FunctionReport, ...]) -> None:
    def program(names: frozenset[str], turn: int) -> Ended:
        assert "b" not in names
        return ended({"n": 3})

    assert compared(functions, ended({"n": 3}), program, b="different")[0].kind == "same"


def test_what_is_another_value_in_every_run_is_noise(functions: tuple[FunctionReport, ...]) -> None:
    whole, _ = compared(functions, ended({"t": 0.5}), lambda names, turn: ended({"t": 1.5 * turn}))
    assert whole.kind == "same"


def test_noise_that_the_graph_freezes_is_none(functions: tuple[FunctionReport, ...]) -> None:
    def program(names: frozenset[str], turn: int) -> Ended:
        return ended({"t": 7.5, "u": 7.5} if "c" in names else {"t": 1.5 * turn, "u": 2.5 * turn})

    _, kinds = compared(functions, ended({"t": 0.1, "u": 0.2}), program)
    assert [n for n, kind in kinds.items() if kind == "different"] == ["c"]


def test_rounding_is_as_large_as_runs_without_conversions_show(functions: tuple[FunctionReport, ...]) -> None:
    def program(names: frozenset[str], turn: int) -> Ended:
        return ended({"loss": 1.02 if names else 1.01})

    assert compared(functions, ended({"loss": 1.0}), program)[0].kind == "same"


def test_random_numbers_are_not_compared(functions: tuple[FunctionReport, ...]) -> None:
    assert compared(functions, ended({"n": 1}), lambda names, turn: ended({"n": 2}, drawing=(0,)))[0].kind == "same"


def test_how_far_leaves_are_apart() -> None:
    assert deviation(["py", "float", 2.0], ["py", "float", 1.0]) == pytest.approx(0.5)
    assert deviation(["py", "int", 2], ["py", "int", 1]) == math.inf
    assert deviation(["py", "int", 2], ["T", "int32", [], [2]]) == math.inf
    assert deviation(["text", "loss 0.5000 at 3"], ["text", "loss 0.5001 at 3"]) == pytest.approx(2e-4, rel=1e-2)
    assert deviation(["text", "step 3"], ["text", "step 4"]) == math.inf
    assert deviation(["T", "float32", [2], [0.0, 4.0]], ["T", "float32", [2], [0.001, 4.0]]) == pytest.approx(2.5e-4)


def test_frozen_leaves_are_equal_in_the_graph_alone() -> None:
    eager = [{"r": ["py", "float", 0.1 * i], "s": ["py", "float", 0.3 * i]} for i in (1, 2)]
    graph = {"r": ["py", "float", 0.7], "s": ["py", "float", 0.7]}
    assert merged(eager, graph, {"r", "s"}) == [("r", "s")]
    assert merged([*eager, graph], graph, {"r", "s"}) == []


def test_leaves_have_paths_that_a_reader_knows() -> None:
    run = ended({"n": 1}, stdout="a\n\nb\n", results={"0": [None, ["py", "int", 3]]})
    assert set(leaves(run, ["Model.step"])) == {
        "exit code", "exception", "n", "lines of stdout", "stdout line 1", "stdout line 2", "lines of stderr",
        "result of call 2 of `Model.step`",
    }  # fmt: skip
