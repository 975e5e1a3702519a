"""HY311: conditions on tensors where AutoGraph is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import NONE_V, Bound, Container, Lib, Tensor, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.evidence import call_step
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at
from hybridize.facts.state.guards import parts
from hybridize.facts.symbolic import OPERATION
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.autograph.conversion import Apart, Plain, follows, own, plain, refused
from hybridize.tracing.control import control
from hybridize.tracing.values import has_tensor, number
from hybridize.tracing.views import FrameView

_FOLDS: Final = frozenset({"builtins.any", "builtins.all"})
#: Methods of containers that give an element, and functions of TensorFlow that tell what is known while tracing.
_LOOKS_UP: Final = frozenset({"get", "__getitem__", "pop"})
_STATIC_CALLS: Final = frozenset({"tf.is_tensor", "tf.get_static_value"})
_ASKING: Final = frozenset(f"builtins.{n}" for n in ("filter", "sorted", "max", "min", "list.sort"))


def scan(view: FrameView) -> Iterator[Hit]:
    """Conditions in a function that AutoGraph gives up, below a call that it does not follow, or in a comprehension."""
    flow = control(view)
    found = own(view, flow)
    for (pos, callee), how in view.frame.calls.items():
        below_it = plain(view.project, callee)
        apart = follows(view, pos, callee, how) if below_it else None
        if apart is None:
            continue
        for each in below_it:
            needs = 1 if each.needs & 1 else view.project.symbolic.lift(view.frame, pos, callee, each.needs)
            if needs:
                step = (view.code.path, pos, callee.code.name)
                below = Plain(each.path, each.position, each.message, needs, (step, *each.calls))
                yield _hit(below, apart.said, _level(view, apart))
    if found or any(plain(view.project, callee) for _, callee in view.frame.calls):
        given_up = refused(view.project, view.code)
        if given_up is not None:
            for each in plain(view.project, view.frame):
                yield _hit(each, f"AutoGraph gives the function up because {given_up}")
            return
    for site, mask in flow.branches:
        parent, part = site.parent, site.part
        in_filter = parent is not None and part == "body" and flow.is_comprehension(parent)
        if in_filter and site.instr.position not in flow.syntax.choices and not flow.is_short_circuit(site):
            yield Hit(
                site.instr.position, "filters a comprehension by a symbolic tensor, which AutoGraph leaves alone", mask
            )
        elif site.instr.position in flow.syntax.nested and not flow.is_short_circuit(site):
            text = "a conditional expression inside another asks a symbolic tensor: AutoGraph converts only the outer"
            yield Hit(site.instr.position, text, mask)
    asking = _asking_calls(view)
    if asking:
        yield from _folds(view, asking)
        yield from _keys(view, asking)


def _asking_calls(view: FrameView) -> list[ir.Call]:
    """The calls of functions that ask elements, or keys of them, for their truth; each callee is looked at once."""
    known: dict[Value, bool] = view.project.shared("asking callees", dict)
    found: list[ir.Call] = []
    for call in index_of(view.code).of(ir.Call):
        callee = view.value(call.function)
        asks = known.get(callee)
        if asks is None:
            asks = known[callee] = not (_FOLDS | _ASKING).isdisjoint(view.names(call.function))
        if asks:
            found.append(call)
    return found


def _keys(view: FrameView, calls: list[ir.Call]) -> Iterator[Hit]:
    """`filter` and the keys of `sorted`, `max` and `min`: Python asks for the truth of what they give."""
    flow = control(view)
    for call in calls:
        name = next((n for n in view.names(call.function) if n in _ASKING), None)
        if name is None or not flow.runs(flow.structure.at(call)):
            continue
        if (
            name == "builtins.filter"
            and view.value(call.arguments[0][0] if call.arguments else -1) == NONE_V
            and len(call.arguments) > 1
        ):
            mask = view.symbolic(call.arguments[1][0])
            if mask:
                yield Hit(call.position, "`filter` asks symbolic tensors for their truth", mask)
            continue
        mask = _kept(view, call)
        if mask:
            yield Hit(call.position, f"`{name.removeprefix('builtins.')}` asks symbolic tensors for their truth", mask)
            continue
        for callee in called_at(view.frame, call.position, (How.CALL, How.CALLBACK)):
            if _gives_tensor(view, callee):
                mask = view.project.symbolic.lift(
                    view.frame, call.position, callee, view.project.symbolic.returned(callee)
                )
                if mask:
                    short = name.removeprefix("builtins.")
                    yield Hit(call.position, f"`{short}` asks symbolic tensors for their truth", mask)
                    break


def _kept(view: FrameView, call: ir.Call) -> int:
    """The mask of the tensors that a key of the library's gives: `d.get`, `xs.__getitem__`, `tf.norm`."""
    keys = [slot for name, slot in call.keywords if name == "key"]
    if not keys or _has_one(view, call):
        return 0
    key, found = keys[0], 0
    for obj in view.value(key):
        if isinstance(obj, Bound) and isinstance(obj.func, str) and obj.func.rpartition(":")[2] in _LOOKS_UP:
            if any(has_tensor(value, arrays=False) for value in parts(obj.receiver)):
                found |= view.symbolic(view.receiver(key))
        elif isinstance(obj, Lib) and obj.name.startswith("tf.") and obj.name not in _STATIC_CALLS:
            found |= OPERATION
    return found


def _has_one(view: FrameView, call: ir.Call) -> bool:
    """Whether there is only one thing to choose from: nothing is compared."""
    slot = call.arguments[0][0] if call.arguments else view.receiver(call.function)
    value = view.value(slot)
    small = all(isinstance(o, Container) and o.exact and len(o.fields) < 2 for o in value)
    return bool(value) and len(call.arguments) < 2 and small


def _gives_tensor(view: FrameView, callee: Frame) -> bool:
    """Whether a key is a tensor in a graph: one itself, or a number made from one."""
    if any(isinstance(o, Tensor) and o.kind != NDARRAY for o in callee.ret):
        return True
    inner = FrameView(view.project, callee)
    return any(number(inner, i.value) for i in index_of(callee.code).of(ir.Return))


def _folds(view: FrameView, calls: list[ir.Call]) -> Iterator[Hit]:
    """`any` and `all` ask each element for its truth."""
    flow = control(view)
    for call in calls:
        names = view.names(call.function)
        if call.arguments and not _FOLDS.isdisjoint(names) and flow.runs(flow.structure.at(call)):
            slot = call.arguments[0][0]
            if view.symbolic(slot) and not view.is_tensor(slot):
                name = names[0].removeprefix("builtins.")
                yield Hit(call.position, f"`{name}` asks symbolic tensors for their truth", view.symbolic(slot))


def _level(view: FrameView, apart: Apart) -> Level | None:
    """Information where a release of TensorFlow that the project may have converts the code."""
    return Level.INFO if apart.keras_3 and view.project.versions.may_have_keras(2) else None


def _hit(found: Plain, reason: str, level: Level | None = None) -> Hit:
    steps = tuple(call_step(name, path, pos) for path, pos, name in found.calls)
    message = f"{found.message} where AutoGraph is off: {reason}"
    place = Evidence(message, found.path, found.position >> 16)
    return Hit(found.position, message, found.needs, (*steps, place), path=found.path, level=level)


RULE = Rule(
    code="HY311",
    name="unconverted-condition",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A condition or loop depends on a tensor where AutoGraph does not convert the code.",
    act="use `tf.cond` or `tf.where`, or call the code from a function that AutoGraph converts",
    details="""AutoGraph turns `if`, `while` and `for` on tensors into graph operations, in the traced function
and in what it calls. It gives up whole functions (those with `match`, `else` on a loop, `yield`, `async`, and
since TensorFlow 2.16 `:=`), says so in a warning only, and runs them as plain Python, with all that they call.
It leaves a conditional expression inside another alone, and does not follow calls that library code makes
(`sorted` keys, `map`, `functools.reduce`, `tf.scan`, `tf.nest.map_structure`, Keras 3 layers), nor
constructors, properties and operators, unless it is of lambdas and functions in the text of a converted one. There a
tensor's truth raises, and so do `int(t)`, `float(t)` and `range(t)`. Use `tf.cond`, `tf.where` or a plain
function without the construct.""",
    frame=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Mean:
    def __init__(self, x):
        self.value = tf.reduce_sum(x) / float(len(x))
def target(x):
    return Mean(x).value
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, mode):
    match mode:
        case "double":
            y = x * 2
        case _:
            y = x
    if tf.reduce_sum(y) > 3:
        return y
    return -y
r1 = target(tf.constant([1, 2]), "double")
""",
            line=8,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def clip(v):
    if v > 1:
        return v
    return -v
def target(x):
    return list(map(clip, [x, x + 1]))
r1 = target(tf.constant(3))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return [x * i for i in range(3) if x > i]
r1 = target(tf.constant(2))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Rows:
    def __init__(self, t):
        self.t = t
    def __len__(self):
        return int(tf.shape(self.t)[0])
def target(x):
    return x / len(Rows(x))
r1 = target(tf.constant([3.0, 1.0]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def clip(v):
    if v > 1:
        return v
    return -v
def target(x):
    return tf.map_fn(clip, x)  # converts what it is given
r1 = target(tf.constant([3, 0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def scale(x, mode):
    match mode:
        case "double":
            return x * 2
        case _:
            return x
def target(x, mode):
    y = scale(x, mode)  # no condition on a tensor in it
    if tf.reduce_sum(y) > 3:
        return y
    return -y
r1 = target(tf.constant([1, 2]), "double")
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return [x * i if x > i else x for i in range(3)]
r1 = target(tf.constant(2))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.add_n(list(map(lambda v: v if v > 0 else -v, [x, x + 1])))
r1 = target(tf.constant(-3))
"""
        ),
    ),
    reference="semantics.md R12, R13",
)
