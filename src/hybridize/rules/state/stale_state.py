"""HY602: Python state that is read while tracing, and changed between the calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Cell, Class, Container, Func, Inst, Lib, LibInst, Lit, Mod, Obj, Tensor
from hybridize.facts.callgraph import reachable
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program.ir import Instr, Op
from hybridize.rules.effects import _within
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.order import Order, Sites
from hybridize.rules.views import FrameView, FunctionView
from hybridize.rules.writes import CONSTRUCTORS, ENVIRONMENT, FILES, Place, cells_read, hides_default, writes_of

#: Functions that set things up: where nothing calls them, they are taken to run before everything else.
_SETS_UP: Final = re.compile(
    r"_*(init|build|set_?up|create|make|load|restore|configure|compile|add|register|from_|prepare|initial|fit|adapt|on_"
    r"|test|main|train|run|set_model|get_|compute_output|assign|_|attach|bind|define|declare|start|reset)"
)
_SHOWN: Final = 3


def scan(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """A read of a variable, field or container that the program writes after it was made."""
    late = writes_of(view.project).late
    places: list[Place] = [
        cell
        for cell, owner in cells_read(view.frame, instr)
        if cell in late and (not _is_fixed(cell) or hides_default(cell, owner))
    ]
    places += [o for o in view.value(instr[1]) if isinstance(o, Container) and o in late]
    for place in dict.fromkeys(places):
        what = instr[3] if instr[0] == Op.ATTR else instr[2] if instr[0] in (Op.GLOBAL, Op.CELL) else "an element"
        yield Hit(instr[-1], f"reads `{what}`, which changes between calls", subject=place)
    if instr[0] == Op.ITEM and ENVIRONMENT in late and any(map(_is_environment, view.value(instr[2]))):
        yield Hit(instr[-1], "reads the environment, which changes between calls", subject=ENVIRONMENT)


def _is_environment(obj: Obj) -> bool:
    name = obj.name if isinstance(obj, Lib) else obj.cls if isinstance(obj, LibInst) else ""
    return name in ("os.environ", "os._Environ")


def scan_call(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """A read of the environment or of a file whose path is no tensor."""
    late = writes_of(view.project).late
    if ENVIRONMENT not in late and FILES not in late:
        return
    names = view.names(instr[2])
    if ENVIRONMENT in late and not _ENVIRONMENT_READS.isdisjoint(names):
        yield Hit(instr[-1], "reads the environment, which changes between calls", subject=ENVIRONMENT)
    path = view.value(instr[3][0][0]) if "tf.io.read_file" in names and instr[3] else ()
    if FILES in late and path and not any(isinstance(o, Tensor) for o in path):
        yield Hit(instr[-1], "reads a file of a constant path, which changes between calls", subject=FILES)


_ENVIRONMENT_READS: Final = frozenset({"os.getenv", "os.environ.get", "os._Environ.get"})


def _is_fixed(cell: Cell) -> bool:
    """Whether all writes put the same thing there."""
    if len(cell.value) != 1:
        return False
    (only,) = cell.value
    return isinstance(only, Lit | Func | Class | Lib | Mod)


def confirm(function: FunctionView, hits: dict[Hit, list[Frame]]) -> dict[Hit, tuple[Evidence, ...]]:
    """The hits whose place some run of the program writes between two calls of the function."""
    project = function.project
    known = writes_of(project)
    extent = {f for frame in function.frames for f in reachable(frame) if f.code.kind != "module"}
    places: dict[Place, int] = {}
    calls: dict[Frame, int] = {}
    for hit, frames in hits.items():
        place = hit.subject
        assert isinstance(place, Cell | Container)
        frames = [f for f in frames if not _is_argument(place, f)]
        if frames and any(frame not in extent for frame, _ in known.at(place)):
            bit = places.setdefault(place, 1 << len(places))
            for frame in frames:
                calls[frame] = calls.get(frame, 0) | bit
    if not places:
        return {}
    writes: dict[Frame, dict[int, int]] = {}
    for place, bit in places.items():
        for frame, pos in known.at(place):
            if frame not in extent and frame.code.name not in CONSTRUCTORS:
                row = writes.setdefault(frame, {})
                row[pos] = row.get(pos, 0) | bit
    stale = _stale(function, places, calls, writes)
    found: dict[Hit, tuple[Evidence, ...]] = {}
    for hit in hits:
        place = hit.subject
        assert isinstance(place, Cell | Container)
        if places.get(place, 0) & stale:
            shown = sorted({(f.code.path, pos >> 16) for f, pos in known.at(place) if f in writes and pos in writes[f]})
            found[hit] = tuple(Evidence("is changed here", *where) for where in shown[:_SHOWN])
    return found


def _stale(
    function: FunctionView, places: dict[Place, int], calls: dict[Frame, int], writes: dict[Frame, dict[int, int]]
) -> int:
    """The places that are written between two calls, in some run that the program shows or that it leaves open."""
    solution = function.project.solution
    makers = _Makers(function, places)
    sites, starts = function.project.shared("order", lambda: (Sites(), _starts(solution)))
    order = Order((1 << len(places)) - 1, calls, writes, makers.of, sites)
    stale = 0
    for frame in order.concerned(starts):
        stale |= order.stale(frame)
    if function.facts.reached or any(how != "root" for _, _, _, how in function.callers()):
        return stale
    for frame, row in writes.items():  # nobody calls the function: whoever will may call the writers in between
        if frame.code.kind != "module" and not _SETS_UP.match(frame.code.name):
            for mask in row.values():
                stale |= mask
    return stale


def _starts(solution: Solution) -> list[Frame]:
    """Where runs of the program begin: module bodies, and what nothing calls."""
    bodies = list(solution.world.module_frames.values())
    roots = {callee: None for body in bodies for (_, callee), how in body.calls.items() if how == "root"}
    return [*bodies, *roots]


def _is_argument(place: Place, frame: Frame) -> bool:
    """Whether a container arrives as an argument: each call looks into it anew."""
    return isinstance(place, Container) and any(_within(place, value) for value in frame.args)


class _Makers:
    """Where places, or the function itself, are made anew: what was traced before is of no account then."""

    def __init__(self, function: FunctionView, places: dict[Place, int]) -> None:
        self.function = function
        self.sites: dict[object, dict[int, int]] = {}
        self.owned: dict[Cell, int] = {}
        known = writes_of(function.project)
        for place, bit in places.items():
            owner: Obj | None = known.owners.get(place)
            if isinstance(owner, Inst | Container):
                self._site(owner, bit)
            elif isinstance(place, Cell):
                self.owned[place] = bit
        every = (1 << len(places)) - 1
        receivers = {o for f in function.frames if f.args for o in f.args[0] if isinstance(o, Inst)}
        if len(receivers) == 1 and function.code.parent is not None and function.code.parent.kind == "class":
            self._site(next(iter(receivers)), every)
        self.every = every

    def _site(self, owner: Inst | Container, bit: int) -> None:
        code, pos = owner.site
        row = self.sites.setdefault(code, {})
        row[pos] = row.get(pos, 0) | bit

    def of(self, frame: Frame) -> dict[int, int]:
        """The places that a frame makes, by position; -1: when it starts."""
        found = dict(self.sites.get(frame.code, ()))
        start = 0
        for name in frame.code.cells:
            start |= self.owned.get(frame.cells[name], 0)
        if self.function.code.parent is frame.code and frame.code.kind not in ("module", "class"):
            start |= self.every  # the function itself is made anew
        if start:
            found[-1] = start
        return found


RULE = Rule(
    code="HY602",
    name="stale-state",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    summary="Reads Python state that the program changes between calls: the graph keeps its first value.",
    details="""A field, a global, a captured variable or what is in a list or dictionary becomes a constant of the
graph when the function is traced. Where the program writes it between two calls, the later call still uses what the
first one saw; so does a `tf.Variable` that is bound anew. Pass the value as a tensor, or keep it in one `tf.Variable`
and `assign` to it.""",
    triggers={Op.GLOBAL: scan, Op.CELL: scan, Op.ATTR: scan, Op.ITEM: scan, Op.CALL: scan_call},
    confirm=confirm,
    bad=(
        Example(
            """\
import tensorflow as tf
scale = 1.0
def target(x):
    return x * scale
r1 = target(tf.constant(2.0))
scale = 10.0
r2 = target(tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.training = True
    def evaluate(self):
        self.training = False
    def target(self, x):
        return x * 2 if self.training else x
m = Model()
r1 = m.target(tf.constant(2.0))
m.evaluate()
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
weights = [1.0]
def total(x):
    return sum(w * x for w in weights)
def target(x):
    return total(x)
r = []
for i in range(3):
    r.append(target(tf.constant(2.0)))
    weights.append(float(i))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.act = tf.sin
    def target(self, x):
        return self.act(x)
m = Model()
r1 = m.target(tf.constant(2.0))
m.act = tf.cos
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
_n = open("scale.txt", "w").write("1")
def target(x):
    return x * tf.strings.to_number(tf.io.read_file("scale.txt"))
r1 = target(tf.constant(1.0))
_n = open("scale.txt", "w").write("5")
r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def make():
    k = tf.constant(1.0)
    def target(x):
        return x * k
    def change(v):
        nonlocal k
        k = v
    return target, change
f, change = make()
r1 = f(tf.constant(2.0))
change(tf.constant(5.0))
r2 = f(tf.constant(2.0))
""",
            target="make.target",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
scale = 1.0
if tf.__version__ > "2":
    scale = 3.0
def target(x):
    return x * scale
r1 = target(tf.constant(2.0))
r2 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.scale = None
    def setup(self, k):
        self.scale = k
    def target(self, x):
        return x * self.scale
m = Model()
m.setup(3.0)
r1 = m.target(tf.constant(2.0))
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def target(self, x):
        return x * self.scale
r = []
for i in range(3):
    m = Model()
    m.scale = float(i)
    r.append(m.target(tf.constant(2.0)))
    r.append(m.target(tf.constant(3.0)))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
scale = tf.Variable(1.0)
def target(x):
    return x * scale
r1 = target(tf.constant(2.0))
scale.assign(10.0)
r2 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
count = 0
def target(x):
    return x + 1
for i in range(3):
    r = target(tf.constant(2.0))
    count += 1
"""
        ),
    ),
    reference="semantics.md R4",
)
