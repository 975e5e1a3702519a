"""Tests: unittest, mock, pytest, absl's and TensorFlow's neighbours for tests."""

from __future__ import annotations

from typing import Final

from hybridize.domain.cases import Cases
from hybridize.domain.objects import BOTTOM, NONE_V, Tup, Value, literal, tup, unknown
from hybridize.library.python.rules import call_back, functions_in, instance, later, opaque
from hybridize.library.spec import Call, Rule, Spec
from hybridize.library.stubs import read


def _raises(call: Call) -> Value:
    """`assertRaises(Error, f, x)` calls `f`; without a function it is a context manager."""
    rest = list(call.args[1:])
    while rest and not functions_in(rest[0]):
        rest = rest[1:]
    if rest:
        call_back(call, rest[0], *rest[1:], **{k: v for k, v in call.kwargs.items() if k not in ("match", "msg")})
        return NONE_V
    return instance("unittest.case._AssertRaisesContext")(call)


def _clean_up(call: Call) -> Value:
    call_back(call, call.arg(0), *call.args[1:], **call.kwargs)
    return NONE_V


def _patched(call: Call) -> Value:
    """`mock.patch("name")`: a context manager and a decorator, both of which change a name for a while."""
    return instance("unittest.mock._patch")(call)


def _mock(call: Call) -> Value:
    return instance("unittest.mock.Mock")(call)


def _parameter_set(call: Call) -> Value:
    return call.arg(0) if len(call.args) == 1 else tup(call.args).value if not call.rest else call.every()


def _fixture(call: Call) -> Value:
    """`@pytest.fixture`, with or without arguments."""
    found = functions_in(call.arg(0)) if call.args else BOTTOM
    if not found:
        return later("pytest.fixture", call.kwargs)
    call.engine.notes.note_fixture(found, call.kwargs)
    return found


def _parametrize(call: Call) -> Value:
    """`@pytest.mark.parametrize(names, values)`."""
    options = {"names": call.arg(0, "argnames"), "values": call.arg(1, "argvalues")}
    return later("pytest.mark.parametrize.__call__", options)


def _parametrized(call: Call) -> Value:
    """A test, or a class of tests, with the arguments that its runner will pass."""
    call.engine.notes.note_cases(call.arg(0), call.pos, Cases(call.arg(-1, "values"), call.arg(-1, "names")))
    return call.arg(0)


def _rows(call: Call) -> Value:
    """`@parameterized.parameters(case, case)`, or with one iterable of cases."""
    alone = call.args[0] if len(call.args) == 1 and not call.rest else BOTTOM
    rows = BOTTOM if any(isinstance(obj, Tup) for obj in alone) else alone
    rows = rows or (call.list_of(call.every()) if call.rest else tup(call.args).value)
    return later(f"{call.name}.__call__", {"rows": rows})


def _listed_rows(call: Call) -> Value:
    """`@parameterized.expand([case, case])`."""
    return later(f"{call.name}.__call__", {"rows": call.arg(0, "input")})


def _tested(*, labelled: bool = False) -> Spec:
    """A test with the cases that stood before it; the first value of one that is `labelled` is its name."""

    def noted(call: Call) -> Value:
        call.engine.notes.note_cases(call.arg(0), call.pos, Cases(call.arg(-1, "rows"), labelled=labelled))
        return call.arg(0)

    return Spec(noted)


def _product(call: Call) -> Value:
    """`@parameterized.product(x=[1, 2], y=[3, 4])`, and sequences of dictionaries before these."""
    places = {str(i): rows for i, rows in enumerate(call.args)}
    return later(f"{call.name}.__call__", {**places, **call.kwargs})


def _crossed(call: Call) -> Value:
    for name, rows in call.kwargs.items():
        cases = Cases(rows, BOTTOM if name.isdecimal() else literal(name).value)
        call.engine.notes.note_cases(call.arg(0), call.pos, cases, name)
    return call.arg(0)


def _caught(call: Call) -> Value:
    return unknown("a caught exception").value


_RULES: Final[dict[str, Rule]] = {
    "_patched_function": lambda call: functions_in(call.arg(0)) or unknown("a patched object").value,
}


def _imported(call: Call) -> Value:
    """`pytest.importorskip("torch")`: the module."""
    name = call.constant(0, "modname")
    return call.engine.imports.import_named(call.frame, name) if isinstance(name, str) else opaque(call)


_FUNCTIONS, CLASSES = read("testing", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    "absl.testing.parameterized.parameters.__call__": _tested(),
    "absl.testing.parameterized.named_parameters.__call__": _tested(labelled=True),
    "parameterized.parameterized.__call__": _tested(),
    "parameterized.parameterized.expand.__call__": _tested(),
}
