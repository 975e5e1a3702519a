"""At the end every frame has seen all that it read: to run one again changes nothing, whatever it read too early."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.flow.frames import Frame
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program
from hybridize.source import ImportTable, discover, find_src_roots

PROGRAMS = {
    "a method that a class gets later": """
        class A:
            pass
        def ask(a):
            return a.size()
        def attempt(a):
            try:
                ask(a)
            except AttributeError:
                return None
        attempt(A())
        A.size = lambda self: 1
        """,
    "a special method that a base gets later": """
        class Base:
            pass
        class A(Base):
            pass
        def full(a):
            return 1 if a else 2.0
        full(A())
        Base.__len__ = lambda self: 0
        """,
    "a missing key": """
        def read(d):
            return d.get("k")
        d = {"a": 1}
        read(d)
        def fill():
            d["k"] = 2.0
        fill()
        """,
    "a new element": """
        def total(d):
            return sum(d.values())
        d = {}
        total(d)
        def fill(name):
            d["a"] = 1
            d["b"] = 2.0
        fill("a")
        """,
    "an attribute of a function": """
        def f():
            pass
        def calls():
            return getattr(f, "count", None), f.count
        def start():
            f.count = 3
        calls()
        start()
        """,
    "exceptions that are made later": """
        class Stop(Exception):
            pass
        def guarded(action):
            try:
                action()
            except Stop as stop:
                return stop
        def stops():
            raise Stop()
        guarded(print)
        stops()
        """,
    "a default that grows": """
        made = []
        value = 1
        def make():
            def f(x=value):
                return x
            return f
        make()()
        value = "text"
        """,
    "a callable attribute": """
        class A:
            def __init__(self):
                self.hook = None
        def run(a):
            return a.hook() if a.hook else None
        a = A()
        run(a)
        a.hook = lambda: 1.0
        """,
    "a setting of a layer": """
        import tensorflow as tf
        class Scale(tf.keras.layers.Layer):
            def call(self, x):
                return x * self.width()
            def width(self):
                return self.dense.units
        layer = Scale()
        layer(tf.ones((2, 2)))
        def complete():
            layer.dense = tf.keras.layers.Dense(3)
        complete()
        """,
    "items under keys that are not constants": """
        def first(d):
            return d["a"]
        d = {"a": 1}
        first(d)
        def fill(names):
            for name in names:
                d[name] = 2.0
        fill(["a", "b"])
        """,
    "a base that is known later": """
        class Base:
            def size(self):
                return 1
        class Other:
            def size(self):
                return 2.0
        chosen = Base
        def make():
            class Made(chosen):
                def size(self):
                    return super().size()
            return Made().size()
        make()
        chosen = Other
        """,
    "a call that goes to another context": """
        def same(x):
            return [x]
        def several():
            a = same(1)
            b = same("text")
            c = same(1.0)
            d = same(None)
            return a, b, c, d
        several()
        for each in (same, several, b"", ..., 1j, True, [], {}, set()):
            same(each)
        same(several), same(b""), same(...), same(1j), same(True), same([]), same({}), same(set()), same(object())
        same(range), same(zip), same(open("f")), same(print), same(map), same(len), same(iter), same(next), same(abs)
        """,
    "weights that come later": """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.blocks = [tf.keras.layers.Dense(2)]
            def call(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        def train(net):
            return net.trainable_variables, net.weights
        def show(net):
            return [v.shape for v in net.trainable_variables]
        net = Net()
        net(tf.ones((2, 2)))
        train(net)
        show(net)
        def grow():
            net.head = tf.keras.layers.Dense(3)
            net.head(tf.ones((2, 2)))
            net.scale = tf.Variable(1.0)
        grow()
        """,
    "copies of what grows": """
        import copy
        class Box:
            def __init__(self):
                self.items = {"a": [1]}
        box = Box()
        def twin():
            other = copy.deepcopy(box)
            return other.items["a"], copy.copy(box).items, other.late
        twin()
        def fill():
            box.items["a"].append("text")
            box.items["b"] = 1.0
            box.late = {"c": 2}
        fill()
        """,
    "a result in a generator": """
        def inner():
            yield 1
            return limit
        def outer():
            found = yield from inner()
            return found
        limit = 1
        list(outer())
        limit = "text"
        """,
}


def state(frame: Frame) -> object:
    """What a frame has found out."""
    return frame.ret, frame.yields, list(frame.vals), dict(frame.calls)


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_run_changes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAMS[name]), encoding="utf-8")
    found = discover([tmp_path])
    solver = Solver(build_program(found.files, ImportTable(found.files, find_src_roots(found.root))), FlowOptions())
    solver.solve_entries()
    engine = solver.engine
    frames = [f for f in engine.world.frames if f.runs and f.uses and not f.dead and f.code.kind != "class"]
    before = [state(frame) for frame in frames]
    for source in engine.world.shared.values():
        source.stale = True
    for frame in frames:
        frame.steps.clear()  # so that every instruction is executed
        engine.cells.enqueue(frame)
    with solver.session.active():
        engine.solve()
    assert [state(frame) for frame in frames] == before


def test_what_the_program_runs_is_still_there_where_callers_elsewhere_merge_too_much(tmp_path: Path) -> None:
    lines = ["class Transform:", "    def inverse(self, x):", "        return self._inverse(x)"]
    for i in range(300):
        lines += [f"class T{i}(Transform):", "    def _inverse(self, x):", f"        return x * {i}"]
        lines += [f"def make{i}(x):", f"    return T{i}().inverse(x)"]
    lines += ["def kind(name):", "    return globals()[name]()", "T7().inverse(2)"]
    (tmp_path / "main.py").write_text("\n".join(lines), "utf-8")
    found = discover([tmp_path])
    solver = Solver(build_program(found.files, ImportTable(found.files, find_src_roots(found.root))), FlowOptions())
    first = solver.solve_entries()
    assert {code.qualname for code in first.reached} >= {"Transform.inverse", "T7._inverse"}
    assert first.reached <= solver.solve_rest(first).frames.keys()
