"""HY351: callers that ask for, or change, the very object that they or others hold as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE
from hybridize.facts.origins import roots
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.returns.results import consumers, display, returns, site, taken
from hybridize.tracing.values import uses
from hybridize.tracing.views import FrameView, FunctionView, is_mutable_container

_IDENTITY: Final = ("assertIs", "assertIsNot")
#: Methods of lists, dicts and sets that change them.
_CHANGING: Final = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard".split()
)


def scan(function: FunctionView) -> Iterator[Hit]:
    """What a call gives is compared by identity, or changed in place, and existed before the call."""
    if not function.facts.may_be_hybrid:
        return
    handed = list(_handed(function))
    for view, call, _ in (consumers(function) or ()) if handed else ():
        for where, instr, path, contained in handed:
            for use, slot, exact in taken(view, call.target, path):
                said, there = "", ""
                if exact and _asks(view, use, slot):
                    said, there = "a caller asks whether it is the same object", "compared by identity here"
                elif exact and contained and _changes(view, use, slot):
                    said, there = "a caller changes it", "changed here"
                if said:
                    what = "what existed before" if contained else "its argument"
                    message = f"returns {what}, and {said}"
                    yield Hit(instr.position, message, evidence=(site(where, instr, message), site(view, use, there)))
                    return


def _asks(view: FrameView, use: Instr, slot: int) -> bool:
    if isinstance(use, ir.Compare) and use.operator in ("is", "is not"):
        other = view.value(use.right if use.left == slot else use.left)
        return any(o is not NONE for o in other)
    if not isinstance(use, ir.Call) or slot == use.function:
        return False
    return any(n == "builtins.id" or n.endswith(_IDENTITY) for n in view.names(use.function))


def _changes(view: FrameView, use: Instr, slot: int) -> bool:
    """Whether a list, dict or set is changed: by an element, by `+=`, by a method."""
    if isinstance(use, ir.ElementChange):
        return bool(use.owner == slot)
    if isinstance(use, ir.Inplace):
        return bool(use.left == slot)
    called = isinstance(use, ir.Attr) and use.name in _CHANGING
    return called and any(isinstance(each, ir.Call) and each.function == use.target for each in uses(view, use.target))


def _handed(function: FunctionView) -> Iterator[tuple[FrameView, Instr, tuple[object, ...], bool]]:
    """The parts of results that existed before the call: the `return`, where in it, and whether one can be changed."""
    for view in function.views():
        for instr in returns(view.frame, view):
            for path, slot in display(view, instr.value):
                contained = is_mutable_container(view.value(slot)) and bool(roots(view.frame, slot))
                if contained or _is_parameter(view, slot, set()):
                    yield view, instr, path, contained


def _is_parameter(view: FrameView, slot: int, seen: set[int]) -> bool:
    if slot in seen:
        return False
    seen.add(slot)
    if view.code.place_of(slot) >= 0:
        return True
    made = view.definition(slot)
    if made is None:
        return False
    if isinstance(made, ir.Copy):
        return _is_parameter(view, made.source, seen)
    return isinstance(made, ir.Phi) and any(_is_parameter(view, source, seen) for _, source in made.incoming)


RULE = Rule(
    code="HY351",
    name="result-identity",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Returns what existed before, and a caller compares it by identity or changes it.",
    details="""A traced function returns new tensors in new containers, also where it hands its argument or a field
back: `f(x) is x`, `assertIs(f(x), x)` and comparisons of `id` are false then, and what a caller appends to a list that
it got is not in the argument or field. Compare values, ask before the call, or return a copy in eager code, too. Where
no caller does either, returning what existed before is fine.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(xs):
    return xs
given = [tf.constant(1)]
same = target(given) is given
given = None
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale):
    if scale is None:
        return x
    return x * scale
given = tf.constant(1.0)
unchanged = id(target(given, None)) == id(given)
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Log:
    def __init__(self):
        self.rows = [tf.constant(0.0)]
    def target(self, x):
        return self.rows, x * 2.0
log = Log()
rows, doubled = log.target(tf.constant(1.0))
rows.append(doubled)
r1 = len(log.rows)
""",
            target="Log.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import unittest
import tensorflow as tf
def target(x, scale=None):
    if scale is not None:
        x = x * scale
    return x
given = tf.constant(1.0)
try:
    unittest.TestCase().assertIs(target(given), given)
    r1 = "same"
except AssertionError:
    r1 = "another"
""",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Log:
    def __init__(self):
        self.rows = [tf.constant(0.0)]
    def target(self, x):
        return [row + x for row in self.rows]
log = Log()
rows = log.target(tf.constant(1.0))
rows.append(tf.constant(2.0))
r1 = len(log.rows)
""",
            target="Log.target",
        ),
        Example(
            """\
import tensorflow as tf
def target(xs):
    return xs
r1 = target([tf.constant(1)])
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale):
    if scale is None:
        return x
    return x * scale
r1 = target(tf.constant(1.0), None)
known = r1 is not None
"""
        ),
    ),
    reference="semantics.md R10",
)
