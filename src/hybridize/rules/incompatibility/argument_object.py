"""HY359: objects of libraries as arguments that TensorFlow refuses, or makes something else of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import Container, Lit, Prim, Tup, Value
from hybridize.facts.model import Evidence
from hybridize.facts.origins import call_at, passed_slots
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.retraced.untraced import made_untraced, untraced
from hybridize.tracing.state.parts import is_number
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

_DEPTH: Final = 3
#: The calls of a frame: caller, position, how.
_Sites: TypeAlias = "list[tuple[Frame, int, How]]"


def scan(function: FunctionView) -> Iterator[Hit]:
    """Each argument of each call, and what it holds."""
    seen: set[str] = set()
    callers: dict[Frame, _Sites] = {}
    for caller, pos, at, how in function.callers():
        callers.setdefault(at, []).append((caller, pos, how))
    for frame in function.frames:
        sites = callers.get(frame, [])
        for i, (param, value) in enumerate(zip(frame.code.params, frame.args, strict=True)):
            if i == 0 and function.facts.kind.is_bound:
                continue
            for said, place in (
                *_by_value(function.project, sites, _but_dicts(frame, param.slot, value)),
                *_by_caller(function.project, sites, frame, i),
            ):
                message = f"`{param.name}` {said}"
                if message not in seen:
                    seen.add(message)
                    here = Evidence(message, function.code.path, function.code.line)
                    called = (Evidence("called here", *place),) if place is not None else ()
                    yield Hit(function.code.position, message, evidence=(here, *called))


def _but_dicts(frame: Frame, slot: int, value: Value) -> Value:
    """What an argument may be: of a file's data that is used as a number only, no dict."""
    left = frozenset(o for o in value if not (isinstance(o, Container) and o.kind == "dict"))
    if left == value or not any(isinstance(o, (Prim, Lit)) for o in left):
        return value
    return left if is_number(frame, slot) else value


def _by_value(project: ProjectView, sites: _Sites, value: Value) -> Iterator[tuple[str, tuple[str, int] | None]]:
    found = _within(project, value, _DEPTH)
    if found:
        places = sorted({(caller.code.path, pos >> 16) for caller, pos, _ in sites})
        for said in found:
            yield said, places[0] if places else None


def _within(project: ProjectView, value: Value, depth: int) -> tuple[str, ...]:
    """What is to be said of a value and what it holds; each value is asked once."""
    known: dict[tuple[Value, int], tuple[str, ...]] = project.shared("untraced", dict)
    found = known.get((value, depth))
    if found is None:
        said = dict.fromkeys(untraced(project, value))
        for obj in value if depth else ():
            if isinstance(obj, (Container, Tup)):
                for item in parts(obj):
                    said.update(dict.fromkeys(_within(project, item, depth - 1)))
        found = known[value, depth] = tuple(said)
    return found


def _by_caller(
    project: ProjectView, sites: _Sites, frame: Frame, index: int
) -> Iterator[tuple[str, tuple[str, int] | None]]:
    for caller, pos, how in sites:
        for slot in _slots(caller, pos, frame, index) if how in DIRECT else ():
            said = made_untraced(FrameView(project, caller), slot)
            if said is not None:
                yield said, (caller.code.path, pos >> 16)


def _slots(caller: Frame, pos: int, callee: Frame, index: int) -> list[int]:
    """The slots that a call passes for a parameter, also where the function is hybrid."""
    found = passed_slots(caller, pos, callee, index)
    call = call_at(caller.code, pos)
    if found is not None or call is None or any(starred for _, starred in call.arguments):
        return found or []
    named = [slot for name, slot in call.keywords if name == callee.code.params[index].name]
    return named or [slot for slot, _ in call.arguments[index : index + 1]]


RULE = Rule(
    code="HY359",
    name="argument-object",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="An argument is an object that TensorFlow refuses, or of which it makes a tensor.",
    details="""TensorFlow looks traces up by the arguments. It finds no key for sparse matrices of SciPy, images of
Pillow, the keys and items of a dict, protocol buffers, `tf.data.Options` and Keras 3's dtype policies. It takes apart
what looks like a mapping (`os.environ`, an HDF5 file, a `MappingProxyType`, and, under some versions, a dict that a
layer or `tf.Module` keeps in a field) and cannot make it again. It makes tensors of the frames and series of pandas,
and fails to for arrays of objects and dates. Give tensors, arrays or plain containers, or keep the object in a
field.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x, rows):
    return tf.reshape(x, [rows, -1])
x = tf.ones([4, 2])
r = target(x, x.shape.dims[0])
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import os
import tensorflow as tf
def target(x, settings):
    return x * float(settings.get("HYBRIDIZE_NO_SUCH_SCALE", "2.0"))
r1 = target(tf.constant(1.0), os.environ)
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, names):
    return x * float(len(names))
scales = {"a": 1.0, "b": 2.0}
r1 = target(tf.constant(1.0), scales.keys())
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, names):
    return x * float(len(names))
r1 = target(tf.constant(1.0), np.array(["a", None], dtype=object))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import enum
import pathlib
import tensorflow as tf
class Mode(enum.Enum):
    SUM = 1
def target(x, mode, path, dtype, shape):
    y = tf.reduce_sum(x) if mode is Mode.SUM else x
    return tf.cast(y, dtype) + float(len(path.parts)) + float(shape[0])
r1 = target(tf.ones([2]), Mode.SUM, pathlib.Path("a/b"), tf.float32, tf.TensorShape([3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scales):
    return x * float(len(scales))
scales = {"a": 1.0, "b": 2.0}
r1 = target(tf.constant(1.0), list(scales.keys())) + target(tf.constant(1.0), scales.values())
"""
        ),
    ),
    reference="",
)
