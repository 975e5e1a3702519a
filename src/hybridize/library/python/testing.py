"""Tests: unittest, mock, pytest, absl's and TensorFlow's neighbours for tests."""

from __future__ import annotations

from typing import Final

from hybridize.domain.cases import Cases
from hybridize.domain.objects import BOTTOM, NONE_V, STR_V, Tup, Value, literal, tup, unknown
from hybridize.library.python.rules import (
    call_back,
    decorator,
    decorator_factory,
    functions_in,
    instance,
    integer,
    itself,
    later,
    listed,
    methods,
    nothing,
    opaque,
    properties,
    same,
    table,
    text,
)
from hybridize.library.spec import Call, ClassSpec, Spec

_ASSERTIONS: Final = (
    "assertEqual assertNotEqual assertTrue assertFalse assertIs assertIsNot assertIsNone assertIsNotNone assertIn "
    "assertNotIn assertIsInstance assertNotIsInstance assertAlmostEqual assertNotAlmostEqual assertGreater "
    "assertGreaterEqual assertLess assertLessEqual assertRegex assertNotRegex assertCountEqual assertMultiLineEqual "
    "assertSequenceEqual assertListEqual assertTupleEqual assertSetEqual assertDictEqual fail failIf failUnless "
    "assertItemsEqual assertEquals assertNotEquals assert_ assertLen assertEmpty assertNotEmpty assertBetween "
    "assertSameElements assertContainsSubset assertContainsExactSubsequence assertDictContainsSubset "
    "assertRegexpMatches assertUrlEqual assertSameStructure assertJsonEqual assertStartsWith assertNotStartsWith "
    "assertEndsWith assertTotallyOrdered assertSequenceStartsWith assertSequenceAlmostEqual assertNoCommonElements"
)
_RAISING: Final = (
    "assertRaises assertRaisesRegex assertRaisesRegexp assertWarns assertWarnsRegex assertLogs assertNoLogs "
    "assertRaisesWithLiteralMatch assertRaisesWithPredicateMatch"
)


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


_RAISES_CONTEXT: Final = ClassSpec(
    methods={"__enter__": Spec(itself), "match": Spec(nothing), "pop": Spec(opaque)},
    properties={"exception": _caught, "value": _caught, "type": _caught, "output": listed(STR_V)},
)
_TEST_CASE: Final = ClassSpec(
    methods={
        **methods(_ASSERTIONS, nothing),
        **methods(_RAISING, _raises),
        "subTest": Spec(instance("contextlib.suppress")),
        **methods("addCleanup addClassCleanup", _clean_up),
        **methods("enterContext enter_context enterClassContext", same),
        **methods("skipTest", lambda call: BOTTOM),
        **methods("id shortDescription", text),
        **methods("setUp tearDown setUpClass tearDownClass asyncSetUp asyncTearDown __init__ doCleanups", nothing),
        **methods("run debug", opaque, "unknown_call"),
        **methods("create_tempdir create_tempfile", opaque, "io"),
        **methods("get_temp_dir", text, "io"),
        "countTestCases": Spec(integer),
    },
    properties={"maxDiff": integer},
)
_MOCK: Final = ClassSpec(
    methods={
        **methods(
            "assert_called assert_called_once assert_called_with assert_called_once_with assert_not_called "
            "assert_any_call assert_has_calls",
            nothing,
        ),
        **methods("reset_mock configure_mock attach_mock", nothing, "mutate"),
    },
    properties={
        "called": lambda call: unknown("whether a mock was called").value,
        "call_count": integer,
        **properties("return_value side_effect call_args call_args_list mock_calls", opaque),
    },
    call=Spec(lambda call: unknown("the result of a mock").value),
)
_MARKS: Final = (
    "skip skipif xfail usefixtures filterwarnings slow integration gpu timeout asyncio flaky order "
    "dependency tryfirst trylast unit serial run django_db benchmark network"
)
_MOCKS: Final = ("unittest.mock", "mock")


def _imported(call: Call) -> Value:
    """`pytest.importorskip("torch")`: the module."""
    name = call.constant(0, "modname")
    return call.engine.imports.import_named(call.frame, name) if isinstance(name, str) else opaque(call)


FUNCTIONS: Final[dict[str, Spec]] = {
    **table("unittest", "skip skipIf skipUnless", decorator_factory),
    "unittest.expectedFailure": Spec(same),
    "unittest.main": Spec(nothing, effects=("io",)),
    **table("unittest", "makeSuite", opaque),
    **{
        f"{m}.{n}": Spec(_patched, effects=("state",))
        for m in _MOCKS
        for n in ("patch", "patch.object", "patch.dict", "patch.multiple")
    },
    **{
        f"{m}.{n}": Spec(_mock)
        for m in _MOCKS
        for n in ("Mock", "MagicMock", "AsyncMock", "PropertyMock", "NonCallableMock", "create_autospec", "mock_open")
    },
    **{f"{m}.call": Spec(opaque) for m in _MOCKS},
    **table("pytest", "fixture yield_fixture", _fixture),
    **table("pytest", "hookimpl", decorator),
    **table("pytest.mark", _MARKS, decorator),
    "pytest.mark.parametrize": Spec(_parametrize),
    "pytest.mark.parametrize.__call__": Spec(_parametrized),
    **table("pytest", "raises warns deprecated_call", _raises),
    "pytest.approx": Spec(same),
    "pytest.param": Spec(_parameter_set),
    **table("pytest", "skip fail exit xfail", lambda call: BOTTOM, "io"),
    "pytest.importorskip": Spec(_imported),
    "pytest.main": Spec(integer, effects=("unknown_call",)),
    "pytest.register_assert_rewrite": Spec(nothing, effects=("state",)),
    **table("absl.testing.absltest", "main", nothing, "io"),
    **table("absl.testing.absltest", "skip skipIf skipUnless skipThisClass", decorator_factory),
    **table("absl.testing.absltest.mock", "patch", _patched, "state"),
    **table("absl.testing.parameterized", "parameters named_parameters", _rows),
    "absl.testing.parameterized.parameters.__call__": _tested(),
    "absl.testing.parameterized.named_parameters.__call__": _tested(labelled=True),
    "absl.testing.parameterized.product": Spec(_product),
    "absl.testing.parameterized.product.__call__": Spec(_crossed),
    **table("absl.testing.flagsaver", "flagsaver", decorator, "state"),
    "parameterized.parameterized": Spec(_listed_rows),
    "parameterized.parameterized.__call__": _tested(),
    "parameterized.parameterized.expand": Spec(_listed_rows),
    "parameterized.parameterized.expand.__call__": _tested(),
    "parameterized.param": Spec(_parameter_set),
    "parameterized.parameterized_class": Spec(decorator_factory),
    **table("nose.tools", "assert_equal assert_true assert_false assert_raises eq_ ok_ assert_almost_equal", _raises),
    "hypothesis.given": Spec(decorator_factory),
    "hypothesis.settings": Spec(decorator_factory),
    "hypothesis.example": Spec(decorator_factory),
    **table("hypothesis", "assume note", nothing),
}


def _case(*bases: str) -> ClassSpec:
    return ClassSpec(bases=bases, methods=_TEST_CASE.methods, properties=_TEST_CASE.properties)


CLASSES: Final[dict[str, ClassSpec]] = {
    "unittest.TestCase": _TEST_CASE,
    "unittest.IsolatedAsyncioTestCase": _case("unittest.TestCase"),
    "unittest.case._AssertRaisesContext": _RAISES_CONTEXT,
    "absl.testing.absltest.TestCase": _case("unittest.TestCase"),
    "absl.testing.parameterized.TestCase": _case("unittest.TestCase"),
    "unittest.mock._patch": ClassSpec(
        methods={**methods("start __enter__", _mock, "state"), "stop": Spec(nothing, effects=("state",))},
        call=Spec(lambda call: functions_in(call.arg(0)) or unknown("a patched object").value),
    ),
    "unittest.mock.Mock": _MOCK,
    "unittest.TestSuite": ClassSpec(methods=methods("addTest addTests", nothing, "mutate")),
    "unittest.TextTestRunner": ClassSpec(methods=methods("run", opaque, "unknown_call")),
}
