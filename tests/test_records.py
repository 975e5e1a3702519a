"""`hybridize.records` behaves as `dataclasses` does, and a start of `check` imports nothing that it can do without."""

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize import records
from hybridize.regex import regex


@records.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    names: dict[str, int] = records.field(default_factory=dict, compare=False, repr=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@records.dataclass(slots=True)
class Counter:
    count: int = 0
    seen: list[int] = records.field(default_factory=list)


@records.dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int


@dataclasses.dataclass(frozen=True)
class Original:
    x: int


@records.dataclass(eq=False)
class Base:
    name: str


@records.dataclass(eq=False)
class Derived(Base):
    size: int = 1


def test_values_are_made_compared_and_shown() -> None:
    assert repr(Point(1)) == "Point(x=1, y=2)"
    assert Point(1).sum == 3
    assert Point(1, names={"a": 1}) == Point(1, 2)
    assert hash(Point(1)) == hash(Point(x=1, y=2))
    assert Point(1) != Point(2)
    assert Point(1).names is not Point(1).names
    assert Version(1, 9) < Version(2, 0) <= Version(2, 0)
    assert Derived("a").size == 1
    assert Derived("a") != Derived("a")


def test_mistakes_in_calls_are_type_errors() -> None:
    for wrong in (lambda: Point(), lambda: Point(1, z=2), lambda: Point(1, 2, {}, 4)):  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"Point\.__init__"):
            wrong()
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_frozen_ones_cannot_change_and_others_have_only_their_fields() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Point(1).x
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(AttributeError):
        counter.other = 1  # type: ignore[attr-defined]


def test_copies() -> None:
    assert records.replace(Point(1), y=5) == Point(1, 5)
    assert dataclasses.replace(Point(1), y=5) == Point(1, 5)
    assert records.replace(Original(1), x=2) == Original(2)
    assert copy.deepcopy(Point(1, names={"a": 1})).names == {"a": 1}
    assert pickle.loads(pickle.dumps(Version(1, 2))) == Version(1, 2)


def test_the_functions_of_dataclasses_take_them() -> None:
    assert dataclasses.is_dataclass(Point)
    assert [each.name for each in dataclasses.fields(Point)] == ["x", "y", "names"]
    assert dataclasses.asdict(Counter(1, [2])) == {"count": 1, "seen": [2]}
    match Version(1, 2):
        case Version(major, minor):
            assert (major, minor) == (1, 2)


def test_regular_expressions_wait_until_they_are_used() -> None:
    word = regex(r"(\w+)!")
    assert word.sub(r"\1?", "a! b!") == "a? b?"
    found = word.match("abc!")
    assert found is not None
    assert found[1] == "abc"
    assert word.pattern == r"(\w+)!"


def test_check_starts_without_what_is_slow_to_import(tmp_path: Path) -> None:
    slow = {"dataclasses", "inspect", "difflib", "string", "hybridize.rules", "hybridize.repairs.collect"}
    program = (
        "import sys; from hybridize.cli import main; main(['check', sys.argv[1]]);"
        f"print(sorted({slow} & set(sys.modules)))"
    )
    found = {**os.environ, "PYTHONPATH": str(Path(records.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=found, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_constants_of_the_module_string_are_as_it_says() -> None:
    import string

    from hybridize.library.python.constants import CONSTANTS

    for name, value in CONSTANTS.items():
        if name.startswith("string."):
            (literal,) = value
            assert literal.const == getattr(string, name.partition(".")[2])  # type: ignore[attr-defined]
