"""Two runs' reports become an outcome, without TensorFlow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Kind, Outcome, compare
from hybridize.runtime.guest.differ import Comparison, Difference
from hybridize.runtime.verify import TOLERANCES

numpy = pytest.importorskip("numpy")


def run(**changes: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "ended": "done",
        "error": None,
        "values": {},
        "stdout": "",
        "stderr": [],
        "warnings": [],
        "notes": [],
        "files": {},
        "escaped": [],
        "functions": {},
    }
    return {**empty, **changes}


def tensor(*values: float, dtype: str = "float32") -> tuple[Any, ...]:
    return ("T", dtype, (len(values),), numpy.array(values, dtype))


def outcome(*runs: dict[str, Any]) -> Outcome:
    return compare.outcome(Comparison(numpy, TOLERANCES), *runs)


def differences(where: str, eager: Any, graph: Any) -> list[Difference]:
    return list(Comparison(numpy, TOLERANCES).compare(where, eager, graph))


def error(kind: str, line: int = 3, message: str = "") -> dict[str, Any]:
    return {"type": kind, "message": message, "line": line, "text": ""}


def figures(calls: int, traces: int, specs: int, creators: int = 0) -> dict[str, Any]:
    return {"target": {"calls": calls, "traces": traces, "specs": specs, "creators": creators, "tensors": calls}}


@pytest.mark.parametrize(
    ("eager", "hybrid", "kind"),
    [
        (run(), run(), Kind.SAFE),
        (run(values={"r": tensor(1.0)}), run(values={"r": tensor(1.0000001)}), Kind.SAFE),
        (run(values={"r": tensor(1.0)}), run(values={"r": tensor(1.01)}), Kind.DIFFERS),
        (run(values={"r": tensor(1.0)}), run(values={"r": tensor(1.0, dtype="float64")}), Kind.DIFFERS),
        (run(values={"r": ("py", "int", 1)}), run(values={"r": ("py", "float", 1.0)}), Kind.DIFFERS),
        (run(values={"r": ("py", "float", float("nan"))}), run(values={"r": ("py", "float", float("nan"))}), Kind.SAFE),
        (run(stdout="a\n"), run(), Kind.DIFFERS),
        (run(files={"log": "a"}), run(files={"log": "aa"}), Kind.DIFFERS),
        (run(), run(error=error("TypeError")), Kind.RAISES),
        (run(error=error("ValueError")), run(error=error("ValueError", message="in user code: ...")), Kind.SAFE),
        (run(error=error("ValueError")), run(error=error("TypeError")), Kind.RAISES),
        (run(error=error("ValueError")), run(), Kind.DIFFERS),
        (run(values={"e": tensor(1)}), run(values={"e": tensor(2)}, escaped=["KeyError"]), Kind.RAISES),
        (run(), run(ended="timeout"), Kind.RAISES),
        (run(ended="timeout"), run(), Kind.FAILED),
        (run(), run(functions=figures(4, 4, 1)), Kind.RETRACES),
        (run(), run(functions=figures(4, 4, 4)), Kind.SAFE),
        (run(), run(functions=figures(3, 3, 2, creators=1)), Kind.SAFE),
        (run(), run(functions=figures(2, 2, 1)), Kind.SAFE),
    ],
)
def test_kinds(eager: dict[str, Any], hybrid: dict[str, Any], kind: Kind) -> None:
    assert outcome(eager, hybrid).kind is kind


def test_a_difference_says_where() -> None:
    state = ("object", "Model", {"last": ("list", (tensor(1.0), tensor(2.0)), "list")})
    leaked = ("object", "Model", {"last": ("list", (tensor(1.0), ("symbolic",)), "list")})
    (found,) = differences("model", state, leaked)
    assert found.path == "model.last[1]"
    assert "symbolic" in found.graph


def test_noise_is_compared_by_its_pattern() -> None:
    def draws(a: float, b: float) -> dict[str, Any]:
        return run(values={"a": tensor(a), "b": tensor(b)})

    assert outcome(draws(1, 2), draws(3, 4), draws(5, 6)).kind is Kind.SAFE
    frozen = outcome(draws(1, 2), draws(3, 3), draws(5, 6))
    assert frozen.kind is Kind.DIFFERS
    assert frozen.noise == ("a", "b")


VALUES = st.recursive(
    st.one_of(
        st.floats().map(lambda v: ("py", "float", v)),
        st.lists(st.floats(width=32), max_size=3).map(lambda v: tensor(*v)),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda v: ("list", tuple(v), "list")),
)


@given(VALUES)
def test_every_value_equals_itself(value: Any) -> None:
    assert differences("v", value, value) == []


@given(VALUES, VALUES)
def test_comparing_is_symmetric(a: Any, b: Any) -> None:
    assert {d.path for d in differences("v", a, b)} == {d.path for d in differences("v", b, a)}
