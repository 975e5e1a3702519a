"""HY351: callers that ask whether they get the very object back that they gave."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import NONE
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.results import consumers, returns, site, taken
from hybridize.rules.views import FrameView, FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The result is compared by identity, and may be an argument."""
    if not function.facts.may_be_hybrid:
        return
    for view, call, _ in consumers(function) or ():
        for use, slot, _ in taken(view, call[1], ()):
            if _asks(view, use, slot):
                hit = _passed_on(function)
                if hit is not None:
                    where, instr = hit
                    message = "returns its argument, and a caller asks whether it is the same object"
                    evidence = (site(where, instr, message), site(view, use, "compared by identity here"))
                    yield Hit(instr[-1], message, evidence=evidence)
                    return


def _asks(view: FrameView, use: Instr, slot: int) -> bool:
    if use[0] == Op.COMPARE and use[2] in ("is", "is not"):
        other = view.value(use[4] if use[3] == slot else use[3])
        return any(o is not NONE for o in other)
    return use[0] == Op.CALL and "builtins.id" in view.names(use[2])


def _passed_on(function: FunctionView) -> tuple[FrameView, Instr] | None:
    for view in function.views():
        for instr in returns(view.frame, view):
            if _is_parameter(view, instr[2], set()):
                return view, instr
    return None


def _is_parameter(view: FrameView, slot: int, seen: set[int]) -> bool:
    if slot in seen:
        return False
    seen.add(slot)
    if any(param.slot == slot for param in view.code.params):
        return True
    made = view.definition(slot)
    if made is None:
        return False
    if made[0] in (Op.COPY, Op.REFINE):
        return _is_parameter(view, made[2], seen)
    return made[0] == Op.PHI and any(_is_parameter(view, source, seen) for _, source in made[2])


RULE = Rule(
    code="HY351",
    name="result-identity",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Returns an argument, and a caller compares it by identity.",
    details="""A traced function returns new tensors in new containers, also where it hands its argument back: `f(x)
is x` and comparisons of `id` are false then. Compare values, or ask before the call. Where no caller asks for the
identity, returning an argument is fine.""",
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
    ),
    good=(
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
