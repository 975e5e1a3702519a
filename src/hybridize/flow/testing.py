"""Tests as entry points: pytest's functions with their fixtures and parameters, unittest's cases with their set-up."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final, Protocol

from hybridize.domain.cases import Cases
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Class, Container, Func, Lit, Value
from hybridize.flow.engine import Engine
from hybridize.flow.frames import Frame
from hybridize.source.roles import is_test_path

#: What test runners call before the tests of a class or module.
SETUP: Final = (
    "setUpModule setup_module setUpClass setup_class setUp asyncSetUp setup_method setup_function setup".split()
)
#: Fixtures that pytest brings along, by the class of what they give.
_BUILT_IN: Final = {
    "tmp_path": "pathlib.Path",
    "tmp_path_factory": "pytest.TempPathFactory",
    "tmpdir": "py.path.local",
    "tmpdir_factory": "pytest.TempdirFactory",
    "monkeypatch": "pytest.MonkeyPatch",
    "capsys": "pytest.CaptureFixture",
    "capfd": "pytest.CaptureFixture",
    "caplog": "pytest.LogCaptureFixture",
    "recwarn": "pytest.WarningsRecorder",
    "pytestconfig": "pytest.Config",
    "cache": "pytest.Cache",
}
#: A test is called once for each case up to so many; beyond, once with all values of each parameter.
_MOST_CASES: Final = 24
#: Fixtures are evaluated so often at most, until their values rest.
_ROUNDS: Final = 3


class Runner(Protocol):
    """Who calls functions that nothing of the program calls."""

    @property
    def engine(self) -> Engine: ...
    def all_functions(self) -> list[Func]: ...
    def receiver_kind(self, func: Func) -> str: ...
    def call_unknown(self, func: Func, given: Mapping[str, Value] | None = ...) -> Value: ...


class Tests:
    """Finds the tests of a program and calls them as their runner would."""

    def __init__(self, solver: Runner) -> None:
        self.solver = solver
        self.engine = solver.engine
        self.world = solver.engine.world
        self.values: dict[Func, Value] = {}

    def run(self) -> None:
        """Evaluates the fixtures, then calls set-up methods and tests."""
        fixtures = [func for func in self.solver.all_functions() if func in self.world.fixtures]
        for _ in range(_ROUNDS if fixtures else 0):
            before = self.values
            self.values = {}
            for func in fixtures:
                self.value_of(func)
            self.engine.solve()
            if self.values == before:
                break
        for func in sorted(self.solver.all_functions(), key=lambda f: f.code.name not in SETUP):
            if self.is_entry(func):
                self.call_test(func)
        for func in self._in_place():
            self.call_test(func)

    def _in_place(self) -> list[Func]:
        """What decorators have put in the place of tests, in modules of tests."""
        modules = {f.module: None for f in self.solver.all_functions() if is_test_path(f.code.path)}
        bound = [cell.value for module in modules for name, cell in module.fields.items() if _is_test(name)]
        return [
            f for value in bound for f in value if isinstance(f, Func) and f.code.parent and f.code.parent.is_function
        ]

    def is_entry(self, func: Func) -> bool:
        """Whether a test runner calls a function by itself."""
        code = func.code
        if code.parent is None or func in self.world.fixtures:
            return False
        entry = _is_test(code.name) or code.name in SETUP
        if code.parent.is_module:
            return entry and is_test_path(code.path)
        if not code.parent.is_class or not isinstance(func.owner, Class):
            return False
        names = func.owner.library
        is_unittest = any(n.endswith("TestCase") for n in names)
        return entry and (is_unittest or (func.owner.name.startswith("Test") and is_test_path(code.path)))

    def call_test(self, func: Func) -> None:
        """Calls a test once for each of its cases."""
        for case in self.cases(func):
            self._call(func, case)

    def _call(self, func: Func, given: Mapping[str, Value]) -> Value:
        arguments: dict[str, Value] = {}
        for i, param in enumerate(func.code.params):
            if i == 0 and self.solver.receiver_kind(func) != "function":
                continue
            value = given.get(param.name) or self._fixture(func, param.name)
            if value:
                arguments[param.name] = value
        return self.solver.call_unknown(func, arguments)

    # Fixtures --------------------------------------------------------------------------------------------------------

    def _fixture(self, func: Func, name: str) -> Value:
        """What the fixture of this name gives to a function; bottom if there is none."""
        visible = [f for f in self.world.fixtures if f is not func and self._is_visible(f, name, func)]
        if visible:
            return self.value_of(max(visible, key=lambda f: (f.owner is not None, len(f.code.path), f.frame)))
        if name in _BUILT_IN:
            return self.engine.cells.library_instance(self._root(func), func.code.position, _BUILT_IN[name]).value
        return BOTTOM

    def _is_visible(self, fixture: Func, name: str, func: Func) -> bool:
        """Fixtures are seen in their class, their module, and, from a `conftest.py`, in the folders below it."""
        named = constant_string(self.world.fixtures[fixture].get("name", BOTTOM))
        if (named or fixture.code.name) != name:
            return False
        if fixture.owner is not None and (func.owner is None or fixture.owner not in func.owner.mro):
            return False
        folder, _, file = fixture.code.path.rpartition("/")
        if file == "conftest.py":
            return not folder or func.code.path.startswith(folder + "/")
        return fixture.module is func.module or fixture in self._imported(func)

    def _imported(self, func: Func) -> Value:
        cells = func.module.fields.values()
        return frozenset(obj for cell in cells for obj in cell.value if isinstance(obj, Func))

    def value_of(self, fixture: Func) -> Value:
        """What a fixture gives: what it yields or returns."""
        if fixture in self.values:
            return self.values[fixture]
        self.values[fixture] = BOTTOM  # one that asks for itself gets nothing
        result = self._call(fixture, {"request": self._request(fixture)})
        if fixture.code.is_generator:
            result = self.engine.heap.elements(self._root(fixture), result, fixture.code.position)
        self.values[fixture] = result
        return result

    def _request(self, fixture: Func) -> Value:
        """The `request` of a fixture, with the values of its `params`."""
        frame, pos = self._root(fixture), fixture.code.position
        made = self.engine.cells.library_instance(frame, pos, "pytest.FixtureRequest")
        params = self.world.fixtures[fixture].get("params", BOTTOM)
        self.engine.cells.write(frame, made.cell("param"), self.engine.heap.elements(frame, params, pos), pos)
        return made.value

    def _root(self, func: Func) -> Frame:
        return self.world.module_frames[func.module]

    # Parameters ------------------------------------------------------------------------------------------------------

    def cases(self, func: Func) -> list[dict[str, Value]]:
        """The arguments that decorators give, of the test and of its class."""
        owner = [func.owner] if func.owner is not None else []
        marks = [mark for obj in (func, *owner) for mark in self.world.cases.get(obj, {}).values()]
        columns = [self._mark_cases(func, mark) for mark in marks]
        count = 1
        for column in columns:
            count *= max(len(column), 1)
        if count > _MOST_CASES:
            columns = [[_joined(column)] for column in columns]
        combined = [list(column) for column in columns if column]
        return [dict(itertools.chain(*(c.items() for c in chosen))) for chosen in itertools.product(*combined)]

    def _mark_cases(self, func: Func, mark: Cases) -> list[dict[str, Value]]:
        frame, pos = self._root(func), func.code.position
        rows = self.engine.calls.spread(frame, mark.rows, pos)
        if rows is None:
            rows = [self.engine.heap.elements(frame, mark.rows, pos)]
        if not mark.names:
            return [self._case(func, row, mark.labelled) for row in rows]
        wanted = self._names(frame, mark.names, pos)
        return [{wanted[0]: row} if len(wanted) == 1 else self._by_name(func, wanted, row) for row in rows]

    def _by_name(self, func: Func, wanted: list[str], row: Value) -> dict[str, Value]:
        """The values of a row; each may be any of them where their number is not known."""
        frame, pos = self._root(func), func.code.position
        items = self.engine.calls.spread(frame, row, pos)
        if items is None or len(items) != len(wanted):
            items = [self.engine.heap.elements(frame, row, pos)] * len(wanted)
        return dict(zip(wanted, items, strict=True))

    def _case(self, func: Func, row: Value, labelled: bool) -> dict[str, Value]:
        """The arguments of a row that names them as a dictionary does, or gives them in their order."""
        frame, pos = self._root(func), func.code.position
        named: dict[str, Value] = {}
        if any(isinstance(obj, Container) and obj.kind == "dict" for obj in row):
            self.engine.calls.spread_mapping(frame, row, named, pos)
            return named
        is_method = self.solver.receiver_kind(func) != "function"
        wanted = [param.name for param in func.code.params][1 if is_method else 0 :]
        items = self.engine.calls.spread(frame, row, pos)
        if items is not None:
            return dict(zip(wanted, items[1:] if labelled else items, strict=False))
        return {wanted[0]: row} if len(wanted) == 1 else self._by_name(func, wanted, row)

    def _names(self, frame: Frame, names: Value, pos: int) -> list[str]:
        """The names that the first argument of `parametrize` lists, in one string or in several."""
        text = constant_string(names)
        if text is not None:
            return [name.strip() for name in text.split(",") if name.strip()]
        parts = [constant_string(part) for part in self.engine.calls.spread(frame, names, pos) or []]
        return [part for part in parts if part]


def _is_test(name: object) -> bool:
    return isinstance(name, str) and name.startswith("test")


def _joined(column: list[dict[str, Value]]) -> dict[str, Value]:
    result: dict[str, Value] = {}
    for case in column:
        for name, value in case.items():
            result[name] = join(result.get(name, BOTTOM), value)
    return result


def constant_string(value: Value) -> str | None:
    """The string that a value is, if it is exactly one."""
    found = [obj.const for obj in value if isinstance(obj, Lit) and isinstance(obj.const, str)]
    return found[0] if len(found) == len(value) == 1 else None
