"""HY349: Python values and arrays that come back as tensors."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import NONE_V, Container, Lit, Prim, Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import COMPARISONS, NUMBER_CLASSES, NUMBERS
from hybridize.facts.model import Evidence
from hybridize.library.dialect import TENSOR_LIBRARIES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.lowering import walk_codes
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source import Role
from hybridize.source.syntax import walk
from hybridize.tracing.returns.results import (
    ARRAY,
    PYTHON,
    READS,
    Part,
    consumers,
    is_logged,
    parts_of,
    returns,
    site,
    taken,
)
from hybridize.tracing.views import FrameView, FunctionView, ProjectView, position_of

#: Those that are called by Keras in Python, and whose results are looked at.
_HOST_CALLBACKS: Final = ("keras.callbacks.LearningRateScheduler",)
_CONVERSIONS: Final = NUMBER_CLASSES | {"builtins.range", "builtins.abs"}

#: What optimizers call their learning rates, and what changes these for a program.
_RATES: Final = frozenset({"learning_rate", "lr", "_learning_rate"})
_RATE_CALLS: Final = frozenset(
    {"set_value", "LearningRateScheduler", "ReduceLROnPlateau", "set_weights", "from_config"}
)
#: What is assumed of a variable that callers of a library keep, among the tensors of a dictionary.
_LOGGED: Final = "assumed that a variable among results that are kept is kept for the value that it has then"
_KEEPING: Final = (".append", ".extend", ".update", ".add", ".insert", ".setdefault")


def scan(function: FunctionView) -> Iterator[Hit]:
    """A part of a result that changes its type, where some caller notices."""
    if function.code.is_generator or function.code.name == "__init__" or _is_metric_result(function):
        return
    calls = consumers(function)
    opened = function.project.roles.of(function.code.path) is Role.LIBRARY
    if calls and opened and _is_left_to_others(function, calls):
        calls = None
    seen: set[tuple[int, str]] = set()
    for view in function.views():
        for instr in returns(view.frame, view):
            for part in parts_of(view, instr.value):
                key = (instr.position, part.said)
                if part.kind == "variable" and _is_steady_rate(view, instr.value, part):
                    continue
                if _is_added(view, instr.value, part):
                    continue
                if part.what in (PYTHON, ARRAY, READS) and key not in seen:
                    noticed = _noticed(calls, part)
                    if noticed is not None:
                        seen.add(key)
                        kept = opened and part.kind == "variable" and is_logged(view, instr.value, part)
                        yield replace(_hit(view, instr, part, noticed), unless=_LOGGED if kept else "")


def _is_left_to_others(function: FunctionView, calls: list[tuple[FrameView, ir.Call, str]]) -> bool:
    """Whether all that calls a public function are tests: they show what it accepts, not what is done with results."""
    project = function.project
    tested = all(project.roles.is_test(view.code.path) for view, _, _ in calls)
    return tested and project.public.has(function.code)


def _is_metric_result(function: FunctionView) -> bool:
    """Whether Keras makes tensors of what a method returns, also in eager code: of `Metric.result` before Keras 3."""
    found = function.project.contracts.override(function.code) if function.code.name == "result" else None
    is_metric = found is not None and found.found.owner.startswith("keras.metrics.")
    return is_metric and not function.project.versions.may_have_keras(3)


def _is_added(view: FrameView, slot: int, part: Part) -> bool:
    """Whether an entry of a returned dictionary is only ever put there by others, once they have got it."""
    owners = [o for o in view.value(slot) if isinstance(o, Container) and part.path and part.path[0] in o.fields]
    writers = {code for owner in owners for code, _ in owner.fields[part.path[0]].writes}
    if not writers or any(owner.site[0] is not view.code for owner in owners):
        return False
    return not any(frame.code in writers for frame in view.project.extents.frames(view.project.extents.of(view.frame)))


def _is_steady_rate(view: FrameView, slot: int, part: Part) -> bool:
    """Whether a part is an optimizer's learning rate, which nothing in the program changes: its value is enough."""
    made = view.definition(slot)
    for key in part.path:
        if not isinstance(made, (ir.Sequence, ir.Dict)):
            return False
        if isinstance(made, ir.Dict):
            inner = [
                s
                for k, s in made.entries
                if k >= 0 and any(isinstance(o, Lit) and o.const == key for o in view.value(k))
            ]
        else:
            inner = [s for i, (s, starred) in enumerate(made.elements) if i == key and not starred]
        made = view.definition(inner[0]) if len(inner) == 1 else None
    if not isinstance(made, ir.Attr) or made.name not in _RATES or not view.value(made.owner):
        return False
    return not view.project.shared("learning rates change", lambda: _changes_rates(view.project))


def _changes_rates(project: ProjectView) -> bool:
    """Whether any code of the program writes a learning rate, or asks Keras to."""
    for module in project.solution.program.modules.values():
        for code in walk_codes(module.code):
            index = index_of(code)
            if any(instr.name in _RATES for instr in index.of(ir.SetAttr)) or _RATE_CALLS & {
                *index.names,
                *index.attributes,
                *(instr.name for instr in index.of(ir.ImportFrom)),
            }:
                return True
            read = {index.original(instr.target) for name in _RATES for instr in index.attributes.get(name, ())}
            if any(
                instr.name.startswith("assign") and index.original(instr.owner) in read for instr in index.of(ir.Attr)
            ):
                return True
    return False


def _hit(view: FrameView, instr: ir.Return, part: Part, noticed: tuple[Evidence, ...]) -> Hit:
    if part.what == READS:
        message = f"returns {part.said}, of which the caller gets a tensor"
    else:
        message = f"returns {part.said}, which comes back as a tensor"
    return Hit(instr.position, message, evidence=(site(view, instr, message), *noticed))


def _noticed(calls: list[tuple[FrameView, ir.Call, str]] | None, part: Part) -> tuple[Evidence, ...] | None:
    """The place where a caller depends on the type; nothing more where no caller is known; None where none does."""
    if calls is None:
        return () if part.what != READS else None
    for view, call, how in calls:
        if how is How.CALLBACK:
            names = view.names(call.function)
            if any(n.startswith(_HOST_CALLBACKS) for n in names):
                return (site(view, call, "Keras wants a Python value here"),)
            if any(n.startswith(TENSOR_LIBRARIES) for n in names):
                continue  # TensorFlow makes tensors of what its callbacks return
        if how not in (How.CALL, How.HYBRID, How.CALLBACK, How.PROTOCOL, How.OPERATOR):
            continue
        for use, slot, exact in taken(view, call.target, part.path):
            if not _neutral(view, use, slot, part, exact):
                return (site(view, use, "the caller uses it here"),)
    return None


def _neutral(view: FrameView, use: Instr, slot: int, part: Part, exact: bool) -> bool:
    """Whether a use cannot tell a tensor from what it was."""
    if part.kind == "variable" and isinstance(use, ir.Attr) and use.name.startswith("assign"):
        return False
    if part.kind == "variable" and not isinstance(use, ir.Store):
        # Read at once a variable and its value are the same; kept, it would go on changing.
        return not isinstance(use, ir.Call) or not _keeps(view, use)
    if isinstance(use, ir.Call):
        return _neutral_call(view, use, slot, part, exact)
    if isinstance(use, ir.Compare) and use.operator in ("is", "is not"):
        # What is None comes back as None, and nothing else does.
        return view.value(use.right if use.left == slot else use.left) == NONE_V
    if not exact:
        return False
    if part.what == ARRAY and isinstance(use, ir.Attr):
        return bool(use.name in ("shape", "ndim", "dtype"))
    if part.kind in NUMBERS:
        if isinstance(use, ir.If):
            return True
        if isinstance(use, ir.Attr):
            return not hasattr(getattr(builtins, part.kind, None), use.name)  # as `.numpy`, which raises in eager code
        if isinstance(use, ir.Item):
            return use.index == slot and part.kind == "int"
        if isinstance(use, ir.Format):
            return part.kind == "int" or _has_spec(view, use)
    if isinstance(use, ir.TwoSided):
        return _neutral_operand(view, use, slot, part)
    return False


def _keeps(view: FrameView, use: ir.Call) -> bool:
    """Whether a call puts its argument away (`results.append(v)`)."""
    return any(n.startswith("builtins.") and n.endswith(_KEEPING) for n in view.names(use.function))


def _neutral_call(view: FrameView, use: ir.Call, slot: int, part: Part, exact: bool) -> bool:
    names = view.names(use.function)
    if not names or slot == use.function:
        return False
    if all(n in _CONVERSIONS for n in names):
        return exact and part.kind in NUMBERS
    if names == ("builtins.len",):
        return exact and (part.what == ARRAY or part.kind == "shape")
    if part.kind in ("str", "bytes", "TensorArray"):
        return False
    if all(n.startswith("np.") for n in names):
        return part.what == ARRAY
    return all(n.startswith(TENSOR_LIBRARIES) for n in names)


def _neutral_operand(view: FrameView, use: ir.TwoSided, slot: int, part: Part) -> bool:
    other = view.value(use.right if use.left == slot else use.left)
    if not other:
        return False
    if use.operator == "%" and any(isinstance(o, Lit) and o.kind == "str" and "%s" not in o.const for o in other):
        return part.kind in NUMBERS
    if isinstance(use, ir.Compare) and part.kind in NUMBERS and use.operator in COMPARISONS:
        return all(isinstance(o, (Lit, Prim)) and o.kind in NUMBERS for o in other) and _decides(view, use)
    wanted = {"float": ("float32",), "int": ("int32",)}.get(part.kind)
    return wanted is not None and all(isinstance(o, Tensor) and o.kind != NDARRAY and o.dtype in wanted for o in other)


def _decides(view: FrameView, use: ir.Compare) -> bool:
    """Whether the result of a comparison only decides a branch."""
    return all(
        isinstance(each, ir.If) for each in index_of(view.code).uses.get(use.target, ()) if not isinstance(each, _JOINS)
    )


#: What joins a truth value with others, or turns as long as it holds.
_JOINS: Final = (ir.Phi, ir.BoolOp, ir.Loop)


def _has_spec(view: FrameView, use: ir.Format) -> bool:
    node = view.node or view.project.module(view.code.path)
    for each in walk(node) if node is not None else ():
        if isinstance(each, ast.JoinedStr) and position_of(each) == use.position:
            return all(v.format_spec is not None for v in each.values if isinstance(v, ast.FormattedValue))
    return False


RULE = Rule(
    code="HY349",
    name="result-type",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Returns a Python value, an array or a variable, which comes back as a tensor.",
    details="""Whatever a traced function returns becomes a tensor: an int, a float (in single precision), a bool
(`is True` fails), a string, a NumPy array, a shape and its dims. A variable comes back as a tensor with its present
value, and a `TensorArray` as one that can no longer be stacked. Return tensors, or compute the Python value
outside. It matters only where a caller can tell: a result that is ignored, tested with `if`, formatted as a number
or given to a TensorFlow function is fine. `None`, lists, tuples, dicts and named tuples of tensors come back as
they are.""",
    level=Level.INFO,
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    loss = tf.reduce_mean(x)
    return float(loss)
r1 = target(tf.constant([0.1, 0.2]))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = x * 2
    return y, y.shape[0], "double"
r1, count, name = target(tf.constant([0.1, 0.2]))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    rows = tf.TensorArray(tf.float32, 1)
    return rows.write(0, x)
result = target(tf.constant(1.0))
r1 = result.stack()
result = None
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
def target(x):
    v.assign_add(x)
    return 1
target(tf.constant(2.0))
r1 = v + 0.0
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale=None):
    total = 0.0
    for part in (x, x * 2):
        total = total + tf.reduce_sum(part)
    return {"total": total, "scale": scale}, [x, None]
r1 = target(tf.constant([0.1, 0.2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = x * 2
    return bool(y.shape[0] > 1)
r1 = 1 if target(tf.constant([0.1, 0.2])) else 2
"""
        ),
    ),
    reference="semantics.md R10",
)
