"""The parts of the child that need no TensorFlow: state put back and told, signatures, texts, values compared."""

import array
import asyncio
import contextvars
import inspect
import io
import itertools
import os
import queue
import random
import sqlite3
import subprocess
import sys
import textwrap
import threading
import types
from collections import OrderedDict, deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hybridize.runtime.guest.callers import ignored, reads_text
from hybridize.runtime.guest.differ import Comparison, leaves
from hybridize.runtime.guest.heap import Heap, Snapshot
from hybridize.runtime.guest.moving import Used
from hybridize.runtime.guest.novelty import Novelty
from hybridize.runtime.guest.outside import Journal
from hybridize.runtime.guest.record import Record
from hybridize.runtime.guest.signatures import Signatures, difference
from hybridize.runtime.guest.streams import Streams, same_text
from hybridize.runtime.guest.suspended import suspends, watched
from hybridize.runtime.guest.values import Describer, shown

np: Any = pytest.importorskip("numpy", reason="as TensorFlow has it")


class Tensor:
    """Stands for TensorFlow's."""


class Variable:
    """Stands for TensorFlow's."""


class Box:
    shared = 0

    def __init__(self) -> None:
        self.n = 1
        self.items = [1, 2]
        self.table = OrderedDict(a=1)

    def grow(self, x: int) -> None:
        self.n += x
        self.items.append(x)
        self.table["b"] = x
        type(self).shared += 1


class Slots:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 1


NOTHING = ()
TENSORFLOW = SimpleNamespace(Tensor=Tensor, Variable=Variable, TensorShape=NOTHING, DType=NOTHING)
TENSORFLOW.data = SimpleNamespace(Dataset=NOTHING)
COUNT = 0
STREAM = itertools.count()
QUEUE: deque[int] = deque()


def takes_all(box: Box, slots: Slots, more: list[Any]) -> int:
    global COUNT
    COUNT += 1
    QUEUE.append(COUNT)
    box.grow(3)
    slots.value = 7
    more[0]["x"][0] = 5.0
    more.clear()
    return next(STREAM)


def snapshot(*roots: tuple[str, Any]) -> Snapshot:
    heap = Heap(TENSORFLOW, np, lambda module: module == __name__, 1 << 20)
    return Snapshot(heap, list(roots), globals())


def test_what_a_call_changes_is_told_and_put_back() -> None:
    box, slots, array = Box(), Slots(), np.zeros(2)
    more: list[Any] = [{"x": array}]
    before = snapshot(("box", box), ("slots", slots), ("more", more), ("takes_all", takes_all))
    before.stand_in()
    start = repr(globals()["STREAM"])
    takes_all(box, slots, more)
    changed = {path for path, _, _ in before.changes()}
    assert {"COUNT", "QUEUE[0]", "box.n", "box.items[2]", "box.table['b']", "slots.value", "more[0]"} <= changed
    assert {"more[0]['x']", "Box.shared", "STREAM"} <= changed
    before.restore()
    assert (COUNT, list(QUEUE), box.n, box.items, list(box.table), slots.value) == (0, [], 1, [1, 2], ["a"], 1)
    assert more == [{"x": array}]
    assert array.tolist() == [0.0, 0.0]
    assert Box.shared == 0
    assert repr(globals()["STREAM"]) == start == "count(0)"
    assert [path for path, _, _ in before.changes() if path != "STREAM"] == []


def test_closures_defaults_and_attributes_of_functions() -> None:
    n = 0

    def counted(x: int, seen: list[int] = []) -> int:  # noqa: B006
        nonlocal n
        n += 1
        seen.append(x)
        counted.calls = n  # type: ignore[attr-defined]
        return n

    counted.calls = 0  # type: ignore[attr-defined]
    before = snapshot(("counted", counted))
    counted(1)
    assert {path for path, _, _ in before.changes()} == {"n", "counted's default[0]", "counted.calls"}
    before.restore()
    assert (n, counted.calls, counted.__defaults__) == (0, 0, ([],))  # type: ignore[attr-defined]


def test_random_numbers_of_objects_are_put_back() -> None:
    holders = SimpleNamespace(python=random.Random(1), numpy=np.random.default_rng(1), old=np.random.RandomState(1))
    before = snapshot(("holders", holders))
    first = [holders.python.random(), holders.numpy.random(), holders.old.rand()]
    before.restore()
    assert [holders.python.random(), holders.numpy.random(), holders.old.rand()] == first


@pytest.mark.parametrize(("library", "compared"), [("keras.x", []), ("other_library", [("thing.state", 1, 2)])])
def test_a_library_is_put_back_and_compared_but_for_machinery(library: str, compared: list[Any]) -> None:
    kind = type("Thing", (), {"__module__": library})
    thing: Any = kind()
    thing.state = thing._hidden = 1
    before = snapshot(("thing", thing))
    thing.state = thing._hidden = 2
    assert list(before.changes()) == compared
    before.restore()
    assert (thing.state, thing._hidden) == (1, 1)


def test_state_that_is_in_no_attribute_is_told_and_put_back() -> None:
    depth = contextvars.ContextVar("depth", default=0)
    local = threading.local()
    local.n = 0
    module: Any = types.ModuleType("made")
    module.n = 0
    base = sqlite3.connect(":memory:")
    base.execute("create table t (n int)")
    things: list[Any] = [array.array("i"), bytearray(), io.StringIO(), queue.Queue(), np.array([None, {}], object)]
    numbers, flags, text, waiting, objects = things
    before = snapshot(("all", [depth, local, module, base, *things]))
    numbers.append(1)
    flags.append(1)
    text.write("line")
    waiting.put(1)
    objects[1]["k"] = 1
    depth.set(1)
    local.n += 1
    module.n += 1
    base.execute("insert into t values (1)")
    os.environ["HYBRIDIZE_TEST"] = "1"
    told = {path.partition("[")[0] + path.partition("]")[2] for path, _, _ in before.changes()}
    assert {"os.environ", "made.n", "all", "all.n", "all.total_changes"} <= told
    assert sum(path.startswith("all[") for path, _, _ in before.changes()) >= 7
    before.restore()
    assert (list(numbers), bytes(flags), text.getvalue(), waiting.qsize(), objects[1]) == ([], b"", "", 0, {})
    assert (depth.get(), local.n, module.n, "HYBRIDIZE_TEST" in os.environ) == (0, 0, 0, False)
    assert list(before.changes()) == []


def test_a_changed_value_is_new_and_a_counter_soon_is_not() -> None:
    novelty = Novelty()
    novelty.learn(1)
    assert not novelty.new(1)
    assert novelty.new(2)
    assert sum(novelty.new(n) for n in range(3, 103)) < 40


def test_files_and_folders_are_put_back(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("before")
    (tmp_path / "gone").mkdir()
    with Journal(undo=True) as journal:
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "b" / "new").write_text("new")
        (tmp_path / "old").rename(tmp_path / "moved")
        (tmp_path / "gone").rmdir()
        subprocess.run([sys.executable, "-c", ""], check=True)
    assert journal.calls == ["a process is started"]
    assert {Path(path).name for path in journal.files} == {"a", "b", "new", "old", "moved", "gone"}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["gone", "old"]
    assert (tmp_path / "old").read_text() == "before"


def test_what_a_run_reads_is_there_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\nthree\n"))
    with Streams(real=False):
        assert (input(), sys.stdin.read(2)) == ("one", "tw")
    with Streams(real=True):
        assert input() == "one"
        with Streams(real=False):
            assert input() == "two"
    assert input() == "two"
    assert list(sys.stdin) == ["three\n"]


def test_whether_a_result_is_dropped() -> None:
    seen: list[bool] = []

    def called() -> int:
        seen.append(ignored(sys._getframe(1)))
        return 1

    called()
    kept = called()
    assert [called(), kept] == [1, 1]
    assert seen == [True, False, False]


def test_who_reads_the_text_of_an_exception(tmp_path: Path) -> None:
    """A graph's message has the story of its tracing in it."""
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent("""
        def shows(call):
            try:
                return call()
            except (KeyError, ValueError) as e:
                return str(e)
        def counts(call):
            try:
                try:
                    return call()
                except OSError as e:
                    print(e)
            except ValueError as e:
                return type(e).__name__
        """)
    )
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    asked = [names[name](lambda: reads_text(ValueError, sys._getframe(1))) for name in ("shows", "counts")]
    assert asked == [True, False]


def test_generators_can_be_read_only_once() -> None:
    generator = iter(i for i in range(3))
    items = [generator]
    before = snapshot(("generator", items))
    before.stand_in()
    with pytest.raises(Used):
        next(items[0])
    assert before.tripped() == "generator[0]"
    before.restore()
    assert items == [generator]
    assert list(generator) == [0, 1, 2]


def test_copies_stand_in_for_iterators_of_iterators() -> None:
    items = [enumerate(zip([1, 2], map(abs, [3, 4]), strict=False)), itertools.product([1, 2], [3])]
    before = snapshot(("items", items))
    before.stand_in()
    assert [next(items[0]), next(items[1])] == [(0, (1, 3)), (1, 3)]
    before.restore()
    assert [list(items[0]), list(items[1])] == [[(0, (1, 3)), (1, (2, 4))], [(1, 3), (2, 3)]]


COMPARISON = Comparison(np, {"float32": 1e-5, "default": 1e-9, "python": 1e-6})
DESCRIBER = Describer(TENSORFLOW, np, lambda cls: cls.__module__ == __name__)


def differences(one: object, two: object) -> list[tuple[str, float | None]]:
    describe = DESCRIBER.describe
    return [(d.path + d.place, d.error) for d in COMPARISON.compare("r", describe(one), describe(two))]


def test_the_largest_difference_within_the_tolerances_is_kept() -> None:
    comparison = Comparison(np, {"float32": 1e-5, "default": 1e-9, "python": 1e-6})
    a = np.array([1.0, 100.0, np.nan], "float32")
    for change in (1e-4, 5e-4):
        assert not list(comparison.compare("r", *map(DESCRIBER.describe, (a, a + np.float32(change)))))
    relative, absolute = comparison.taken()
    assert (relative, absolute) == (pytest.approx(5e-6, rel=0.1), pytest.approx(5e-4, rel=0.1))
    assert comparison.taken() == (0.0, 0.0)


def test_values_within_the_tolerance_of_their_dtype_are_the_same() -> None:
    a = np.array([1.0, 100.0], "float32")
    assert differences(a, a + np.array([1e-4, 0], "float32")) == []  # of the scale of the array
    assert differences(a.astype("float64"), a.astype("float64") + 1e-4) != []
    assert differences([a, {"k": 1.0}], [a, {"k": 1.0 + 1e-8}]) == []
    assert differences(np.array([np.nan, 1]), np.array([np.nan, 1])) == []
    assert differences(float("nan"), float("nan")) == []


@pytest.mark.parametrize(
    ("one", "two", "where"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 2.5]), "r[1]"),
        (np.array([1.0]), np.array([[1.0]]), "r"),
        (np.array([1], "int32"), np.array([1], "int64"), "r"),
        ([1, 2], [1], "len(r)"),
        ({"a": 1}, {"a": 1, "b": 2}, "r['b']"),
        ([1, {"a": (1, "x")}], [1, {"a": (1, "y")}], "r[1]['a'][1]"),
        (1, 1.0, "r"),
        (1, None, "r"),
        (True, False, "r"),
    ],
)
def test_differences_name_the_place(one: object, two: object, where: str) -> None:
    assert [place for place, _ in differences(one, two)] == [where]


def test_own_objects_are_compared_by_their_attributes() -> None:
    one, two = Box(), Box()
    two.items.append(3)
    assert differences(one, two) == [("len(r.items)", None)]
    assert ("r.n", ("py", "int", 1)) in list(leaves("r", DESCRIBER.describe(one)))


def test_values_are_shown_short() -> None:
    assert shown(DESCRIBER.describe(np.zeros(100, "float32"))) == "array float32[100] [0, 0, 0, 0, 0, 0, …]"
    assert len(shown(DESCRIBER.describe("x" * 1000))) <= 120


def test_texts_may_differ_in_the_last_digits() -> None:
    assert same_text("loss 0.123456 step 3", "loss 0.123457 step 3")
    assert not same_text("loss 0.123456 step 3", "loss 0.123456 step 4")
    assert not same_text("loss 0.12", "loss 0.13")
    assert not same_text("loss 1.0", "cost 1.0")


def signature(*args: Any) -> dict[str, Any]:
    def function(a: Any, b: Any = None) -> None:
        """Two parameters."""

    signatures = Signatures(TENSORFLOW, function)
    return signatures.parts(signatures.bind(args, {}))


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        (1, 2, "Python int"),
        (np.zeros(2), np.zeros(3), "shape"),
        (np.zeros(2), np.zeros(2, "float32"), "dtype"),
        ([1, np.zeros(2)], [1, np.zeros(3)], "shape"),
        (Box(), Box(), "another object"),
        ([1], [1, 2], "another structure"),
        ({"a": 1}, {"a": 2}, "Python int"),
    ],
)
def test_what_is_new_about_an_argument(one: object, two: object, kind: str) -> None:
    before, now = signature(one)["a"], signature(two)["a"]
    assert before != now
    assert difference(before, now)[0] == kind


def test_equal_calls_have_equal_signatures() -> None:
    assert signature(np.zeros(2), "x") == signature(np.ones(2), "x")


def test_many_traces_are_retracing_and_few_are_not() -> None:
    record = Record(0)
    record.alone, record.traces = 100, 3
    record.specs = {1}
    assert not record.retraces
    record.alone, record.traces = 5, 5
    assert record.retraces
    record.specs = {1, 2, 3, 4, 5}  # each call with other shapes
    assert not record.retraces


def test_what_a_run_writes_is_seen_and_undone(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("before")
    with Streams(real=False) as streams:
        print("hidden")
        with open(old, "a") as file:
            file.write(" and after")
        new.write_text("x")
    assert streams.text["stdout"] == "hidden\n"
    assert {path.rpartition("/")[2]: file.text for path, file in streams.files.items()} == {
        "old.txt": "before and after",
        "new.txt": "x",
    }
    assert (old.read_text(), new.exists()) == ("before", False)
    with Streams(real=True) as streams:
        print("shown")
        new.write_text("x")
    assert new.read_text() == "x"
    assert "hidden" not in (out := capfd.readouterr().out)
    assert "shown" in out


def test_what_yields_or_awaits_stays_what_it_is_and_its_graph_is_tried() -> None:
    def numbers(n: int) -> Any:
        got = yield n
        return got

    async def later(n: int) -> int:
        return n + 1

    def refuses(function: Any) -> Any:
        def graph(*args: Any) -> Any:
            raise TypeError(f"no tensor: {function.__name__}{args}")

        return graph

    records = Record(0), Record(1), Record(2)
    generator = watched(records[0], numbers, refuses, lambda: True)
    coroutine = watched(records[1], later, refuses, lambda: True)
    quiet = watched(records[2], later, refuses, lambda: False)  # a graph is being traced
    assert inspect.isgeneratorfunction(generator)
    assert inspect.iscoroutinefunction(coroutine)
    assert suspends(quiet)
    running = generator(3)
    assert next(running) == 3
    with pytest.raises(StopIteration, match="sent"):
        running.send("sent")
    assert asyncio.run(coroutine(1)) == asyncio.run(quiet(1)) == 2
    assert [r.verdict for r in records] == ["raised", "raised", None]
    assert records[0].differences[0].graph == "TypeError: no tensor: numbers(3,)"
