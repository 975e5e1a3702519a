"""HY344: the text of a tensor: `f"{t:.2f}"` raises, `str(t)` says something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Prim
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments
from hybridize.regex import regex
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where, operators
from hybridize.source.syntax import walk
from hybridize.tracing.values import argument, is_message, tensor_or_number, uses
from hybridize.tracing.views import FrameView, position_of

_TEXTS: Final = frozenset({"builtins.str", "builtins.repr", "builtins.ascii"})
_FORMAT: Final = "builtins.format"
_METHOD: Final = "builtins.str.format"
_TEMPLATES: Final = frozenset({"string.Template.substitute", "string.Template.safe_substitute"})
_NUMERIC: Final = regex(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlL]?[diouxXeEfFgGc]")
_PLAIN: Final = regex(r"\{[^{}:]*\}")


def formatted(view: FrameView, instr: ir.Format) -> Iterator[Hit]:
    """An f-string with a tensor in it."""
    masks = [tensor_or_number(view, slot) for slot in instr.values]
    if not any(masks):
        return
    for needs, spec in zip(masks, _specs(view, instr), strict=False):
        if needs and spec:
            yield Hit(instr.position, f"formats a tensor with `{spec}`", needs)
            return
    needs = 0
    for mask in masks:
        needs |= mask
    yield from _silent(view, instr, needs)


def _specs(view: FrameView, instr: ir.Format) -> list[str]:
    """The format specifications of an f-string, empty where there is none or a conversion comes first."""
    node = view.node
    for each in walk(node) if node is not None else ():
        if isinstance(each, ast.JoinedStr) and position_of(each) == instr.position:
            parts = [v for v in each.values if isinstance(v, ast.FormattedValue)]
            if len(parts) == len(instr.values):
                return [ast.unparse(p.format_spec)[2:-1] if p.format_spec and p.conversion == -1 else "" for p in parts]
    return [""] * len(instr.values)


def percent(view: FrameView, instr: ir.Binary) -> Iterator[Hit]:
    """`"%.2f" % t`."""
    texts = [o for o in view.value(instr.left) if isinstance(o, (Lit, Prim)) and o.kind == "str"]
    if not texts:
        return
    made = view.definition(instr.right)
    parts = [slot for slot, _ in made.elements] if isinstance(made, ir.Tuple) else [instr.right]
    masks = [tensor_or_number(view, slot) for slot in parts]
    needs = 0
    for mask in masks:
        needs |= mask
    if not needs:
        return
    patterns = [o.const for o in texts if isinstance(o, Lit)]
    if any(_NUMERIC.search(p.replace("%%", "")) for p in patterns) and _reads(patterns[0], masks):
        yield Hit(instr.position, "formats a tensor as a number", needs)
    else:
        yield from _silent(view, instr, needs)


def _reads(pattern: str, masks: list[int]) -> bool:
    """Whether a numeric conversion stands where a tensor is given."""
    found = re.findall(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlL]?([a-zA-Z])", pattern.replace("%%", ""))
    if len(found) != len(masks):
        return True
    return any(mask and kind not in "sra" for kind, mask in zip(found, masks, strict=True))


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`str(t)`, `repr(t)`, `format(t, ".2f")`, `"{:.2f}".format(t)`."""
    for name in view.names(instr.function):
        if name in _TEXTS:
            yield from _silent(view, instr, tensor_or_number(view, argument(instr, 0)))
            return
        if name == _FORMAT:
            needs = tensor_or_number(view, argument(instr, 0))
            if needs and argument(instr, 1, "format_spec") >= 0:
                yield Hit(instr.position, "formats a tensor as a number", needs)
            else:
                yield from _silent(view, instr, needs)
            return
        if name in _TEMPLATES:
            yield from _silent(view, instr, _filled_in(view, instr))
            return
        if name == _METHOD:
            yield from _method(view, instr)
            return


def _filled_in(view: FrameView, instr: ir.Call) -> int:
    """What a template is given: arguments by name, and those of a dictionary that is written out."""
    needs = 0
    for slot in arguments(instr):
        made = view.definition(slot)
        parts = [part for _, part in made.entries] if isinstance(made, ir.Dict) else [slot]
        for part in parts:
            needs |= tensor_or_number(view, part)
    return needs


def _method(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    needs = 0
    for slot in arguments(instr):
        needs |= tensor_or_number(view, slot)
    if not needs:
        return
    patterns = [o.const for o in view.value(view.receiver(instr.function)) if isinstance(o, Lit) and o.kind == "str"]
    numeric = any("{" in _PLAIN.sub("", p.replace("{{", "").replace("}}", "")) for p in patterns)
    if numeric and (len(instr.arguments) + len(instr.keywords) == 1 or _all_tensors(view, instr)):
        yield Hit(instr.position, "formats a tensor as a number", needs)
    elif numeric:
        yield Hit(instr.position, "formats a tensor", needs)
    else:
        yield from _silent(view, instr, needs)


def _all_tensors(view: FrameView, instr: ir.Call) -> bool:
    return all(tensor_or_number(view, slot) for slot in arguments(instr))


def _silent(view: FrameView, instr: Instr, needs: int) -> Iterator[Hit]:
    """Where the text of a tensor is used, it names the symbolic tensor, once for each trace."""
    if needs and any(not is_message(view, use) for use in uses(view, instr.target)):
        yield Hit(
            instr.position,
            "uses the text of a tensor, which has no value while tracing",
            needs,
            outcome=Outcome.DIFFERS,
        )


RULE = Rule(
    code="HY344",
    name="tensor-as-text",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Formats a tensor as text.",
    act="use `tf.print` or `tf.strings.format`, which run with the graph",
    details="""A symbolic tensor has no value to print. With a numeric format (`f"{t:.2f}"`, `"%d" % t`) this
raises; without one the text names the symbolic tensor (`Tensor("x:0", shape=(), dtype=float32)`) and is the same at
every call. Use `tf.print` with the tensor as an argument, `tf.strings.format` or `tf.strings.as_string`, or format
outside. Texts of shapes, dtypes and Python values are fine, and so are the messages of exceptions.""",
    triggers={
        ir.Format: formatted,
        ir.Binary: operators(percent, "%"),
        ir.Call: Where(call, names=(_TEXTS | _TEMPLATES | {_FORMAT, _METHOD}).__contains__),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    label = f"{x:.1f}"
    return x, tf.constant(label)
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import sys
import tensorflow as tf
def target(x):
    tf.print("x is " + str(x), output_stream=sys.stdout)
    return x + 1
r1 = target(tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, step):
    return x, tf.constant("%s: %d" % ("step", step))
r1 = target(tf.constant(2.0), tf.constant(3))
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
    if x.shape.rank != 1:
        raise ValueError(f"bad tensor {x}")
    return tf.identity(x, name=f"part_{x.shape[0]}"), tf.strings.format("x is {}", x)
r1 = target(tf.constant([2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale):
    parts = {f"part{i}": x * i for i in range(3)}
    return parts["part2"], tf.constant("%.2f %s" % (scale, x.dtype.name))
r1 = target(tf.constant(2), 1.5)
"""
        ),
    ),
    reference="semantics.md R8",
)
