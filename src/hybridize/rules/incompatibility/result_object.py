"""HY350: results that a traced function cannot return."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Class, Inst, lib
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.returns.results import OBJECT, REBUILT, REMADE, Part, iterator, parts_of, returns
from hybridize.tracing.returns.returned import returned
from hybridize.tracing.running.certain import runs_always
from hybridize.tracing.views import FrameView, FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """A part of a result that is neither a tensor nor becomes one."""
    if function.code.is_generator or function.code.is_async:
        return
    seen: set[int] = set()
    for view in function.views():
        for instr in returns(view.frame, view):
            made = iterator(view, instr.value)
            if made is not None and instr.position not in seen:
                seen.add(instr.position)
                yield Hit(instr.position, f"returns a `{made}` object, which a traced function cannot return")
            for part in parts_of(view, instr.value):
                if part.what == OBJECT and instr.position not in seen:
                    seen.add(instr.position)
                    yield Hit(instr.position, _message(part), level=_level(view, instr))
                if part.what == REMADE and instr.position not in seen:
                    seen.add(instr.position)
                    yield Hit(instr.position, f"returns {part.said}", outcome=Outcome.DIFFERS)
            if instr.position not in seen:
                for each in returned(view, instr.value):
                    if each.certain or not function.is_hybrid:  # of what is not known nobody is accused
                        seen.add(instr.position)
                        outcome = None if each.certain else Outcome.DIFFERS
                        yield Hit(instr.position, f"returns {each.said}", outcome=outcome)
                        break


def _level(view: FrameView, instr: ir.Return) -> Level | None:
    """An error where each call returns an object of a class of the project that is nothing else."""
    value = view.value(instr.value)
    plain = bool(value) and all(isinstance(o, Inst) and _is_plain(o.cls) for o in value)
    return Level.ERROR if plain and runs_always(view.frame, instr.position) else None


def _is_plain(cls: Class) -> bool:
    """Whether a class derives from nothing, so that it cannot be a kind of tensor, and TensorFlow leaves it whole."""
    return all(isinstance(base, Class) or base == lib("builtins.object") for base in cls.mro) and all(
        each.structure is None for each in cls.line
    )


def _message(part: Part) -> str:
    if part.kind == REBUILT:
        return f"what it returns {part.said}"
    return f"returns {part.said}, which a traced function cannot return"


RULE = Rule(
    code="HY350",
    name="result-object",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Returns something that is neither a tensor nor can become one.",
    details="""A traced function returns tensors, `None`, and lists, tuples, dicts and named tuples of them. An object
of a class (a dataclass too), a function, `NotImplemented`, a layer, model or optimizer, a dtype, a set, a `zip` or a
generator raises, and so do operations that give `None` eagerly (`tf.print`, `tf.debugging.assert_*`). Return the
tensors and build the object outside. Instances of `attrs` classes are taken apart and come back. A class of one's own
that derives from list or tuple comes back as a plain one, one that derives from dict without its fields. A dictionary
is sorted by its keys and made anew: texts beside numbers as keys raise, and so does a `Counter`. Datasets, ragged and
sparse tensors and linear operators are fine.

Of TensorFlow Probability, most distributions, bijectors and kernels come back (since the release for TensorFlow 2.15,
with which that was measured): with tensors for numbers and variables, another name, and without attributes that were
set. Structural time series models, `HiddenMarkovModel`, `MaskedAutoregressiveFlow` and classes of one's own that derive
from `Distribution` raise, a `GaussianProcess` cannot be used any more, and what a `DistributionLambda` gives becomes a
plain tensor. What was not measured is not taken to come back.""",
    level=Level.INFO,
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x, mode):
    if mode == "wrap":
        return NotImplemented
    return tf.exp(x)
r1 = target(tf.constant([1.0]), "wrap") is NotImplemented
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.print("x", x)
r1 = target(tf.constant([1.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Result:
    def __init__(self, loss):
        self.loss = loss
def target(x):
    return Result(tf.reduce_sum(x))
r1 = target(tf.constant([1.0])).loss
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = x * 2
    return y, lambda z: z + y
r1 = target(tf.constant([1.0]))[1](1.0)
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(xs):
    return zip([x + 1 for x in xs], xs)
r1 = list(target([tf.constant([1.0])]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Rows(list):
    def total(self):
        return sum(self)
def target(x):
    return Rows([x, x * 2])
r1 = target(tf.constant(1.0)).total()
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Result(dict):
    def __init__(self, name):
        super().__init__()
        self.name = name
def target(x):
    found = Result("a")
    found["x"] = x * 2
    return found
r1 = target(tf.constant(1.0))["x"]
""",
            line=9,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import enum
import tensorflow as tf
class Status(enum.Enum):
    OK = 0
def target(x):
    return x * 2, Status.OK
r1 = target(tf.constant(1.0))[0]
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return {"mean": x / 2.0, 0: x}
r1 = target(tf.constant(1.0))["mean"]
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return {1: x, 0: x * 2.0}, {"b": x, "a": None}
r1 = target(tf.constant(1.0))
"""
        ),
        Example(
            """\
import collections
import tensorflow as tf
Pair = collections.namedtuple("Pair", "first second")
def target(x):
    return Pair(x, [x + 1, None]), {"a": x}, collections.OrderedDict(b=x)
r1 = target(tf.constant([1.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.data.Dataset.from_tensors(x), tf.RaggedTensor.from_tensor(x)
r1 = [v for v in target(tf.constant([[1.0]]))[0]]
"""
        ),
    ),
    known_problems="""It is an error only where a program of the project calls the function and an object of a plain
class comes out at its end. Elsewhere it is mistaken too often, and is information.""",
    reference="semantics.md R10",
)
