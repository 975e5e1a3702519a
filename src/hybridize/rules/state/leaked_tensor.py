"""HY601: tensors of the graph that are stored where they outlive the call."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.calls import How
from hybridize.domain.objects import Bound, Container, Func, Heap, Inst, LibInst, Unknown, Value
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at, definitions
from hybridize.facts.side_effects.arguments import argument_name
from hybridize.facts.state.guards import guarded, holds_plain_tensor, is_cached, stored
from hybridize.facts.state.reasons import Reason
from hybridize.facts.symbolic import OPERATION
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import replace
from hybridize.rules.model import Blocks, Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.harm.doubts import puts_into
from hybridize.tracing.harm.leaks import Left, left_behind
from hybridize.tracing.state.effects import hit, is_change, leaked, reasons
from hybridize.tracing.views import FrameView, FunctionView, ProjectView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Tensors that go into a field, a global, a captured variable or an outer container."""
    for frame, reason in reasons(function):
        if is_change(reason) and argument_name(frame, reason) is None and leaked(function, reason):
            mixed = _is_mixed(reason)
            if (mixed and not function.project.solution.world.is_small) or _is_assigned(reason):
                continue
            left = left_behind(function, reason.frame, reason.effect.position) if function.is_hybrid else Left(None)
            # What fills a cache may have run before, outside of any graph.
            level = left.level or (Level.WARNING if guarded(reason.frame, reason.effect.position) else None)
            found = hit(reason, level, f"stores a tensor that outlives the call: {hit(reason).message}")
            sure = found.sure and not mixed and _is_known(reason)
            said = f"{found.message} {left.said}" if left.said else found.message
            yield replace(found, message=said, evidence=(*found.evidence, *_made(reason), *left.events), sure=sure)


def _is_known(reason: Reason) -> bool:
    """Whether the place is known: of an unknown object it may be a property, or the object the call's own.

    Of a dictionary that makes entries when they are read, what stands beside the read is not what is put away.
    """
    target = reason.effect.target
    if isinstance(target, Container):
        return puts_into(reason.frame, reason.effect.position, target)
    return isinstance(target, Heap) or target is None


def _is_mixed(reason: Reason) -> bool:
    """Whether only some of the calls that were taken together store a tensor: it may be none of this function's."""
    values = [reason.frame.vals[slot] or frozenset() for slot in stored(reason.frame, reason.effect.position)]
    return any(isinstance(o, (Inst, LibInst, Unknown)) for value in values for o in value)


def _is_assigned(reason: Reason) -> bool:
    """Whether what is set is a property of a library object whose setter assigns to a variable."""
    target = reason.effect.target
    return isinstance(target, LibInst) and registry.is_assigned(target.cls, reason.effect.detail)


def _made(reason: Reason) -> tuple[Evidence, ...]:
    """Where a function of the project has made the tensor that is stored."""
    frame = reason.frame
    found: list[Evidence] = []
    for slot in stored(frame, reason.effect.position):
        made = definitions(frame.code).get(slot)
        if isinstance(made, ir.Call):
            for callee in called_at(frame, made.position):
                lines = {
                    i.position >> 16 for i in index_of(callee.code).of(ir.Return) if holds_plain_tensor(callee.ret)
                }
                found += [Evidence("this tensor", callee.code.path, line) for line in sorted(lines)]
    return tuple(found[:2])


def cached(view: FrameView, call: ir.Call) -> Iterator[Hit]:
    """A call of a function whose results a decorator keeps, and which makes a tensor."""
    symbolic = view.project.symbolic
    for callee, how in view.callees(call.position):
        kept = how is How.CALL and is_cached(callee.code) and holds_plain_tensor(callee.ret)
        if not kept or not symbolic.returned(callee) & OPERATION:
            continue
        returns = [i for i in index_of(callee.code).of(ir.Return) if symbolic.mask(callee, i.value) & OPERATION]
        if returns:
            message = f"`{callee.code.name}` keeps the tensor that it returns in a cache, which outlives the call"
            evidence = (
                Evidence(message, view.code.path, call.position >> 16),
                *(Evidence("this tensor", callee.code.path, i.position >> 16) for i in returns[:1]),
            )
            yield Hit(
                call.position, message, evidence=evidence, level=Level.WARNING, blocks=frozenset((Blocks.TO_HYBRID,))
            )
            return


def _keeps_results(project: ProjectView, called: Value) -> bool:
    functions = (o.func if isinstance(o, Bound) else o for o in called)
    return any(isinstance(o, Func) and is_cached(o.code) for o in functions)


RULE = Rule(
    code="HY601",
    name="leaked-tensor",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    summary="Stores a tensor outside of the function: what stays there is a symbol of the graph.",
    act="what stays there is a symbolic tensor, of no use after the call; return it, or keep it in a `tf.Variable`",
    details="""While a function is traced its tensors are symbols without a value. Stored in a field, a global or an
outer list they outlive the trace: later calls do not update them, and whoever uses one gets an error or an
old value. Return the tensor, or keep it in a `tf.Variable`.

Of a function that is hybrid already it is an error where a run of the program shows that somebody gets it: the next
call, or code outside of the graph that reads it before it is written anew. It is a warning where callers of a library
may do that, and information else.""",
    blocks=frozenset(),
    root=scan,
    triggers={ir.Call: Where(cached, values=_keeps_results)},
    bad=(
        Example(
            """\
import tensorflow as tf
class Cell:
    def __init__(self):
        self.h = tf.constant(0.0)
    def target(self, x):
        self.h = self.h + x
        return self.h
c = Cell()
r1 = c.target(tf.constant(1.0))
r2 = c.target(tf.constant(2.0))
""",
            target="Cell.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
losses = []
def keep(loss):
    losses.append(loss)
def target(x):
    keep(x * x)
    return x
target(tf.constant(1.0))
target(tf.constant(2.0))
r = losses[0] + 1
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import functools
import tensorflow as tf
@functools.lru_cache(maxsize=None)
def window(n):
    return tf.range(n, dtype=tf.float32) / n
def target(x):
    return x * window(x.shape[0])
r1 = target(tf.constant([1.0, 2.0]))
r2 = target(tf.constant([[1.0], [2.0]]))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import functools
import tensorflow as tf
def _mask(n):
    return tf.linalg.band_part(tf.ones([n, n]), -1, 0)
mask = functools.lru_cache(maxsize=None)(_mask)
def target(x):
    return tf.matmul(mask(x.shape[0]), x)
r1 = target(tf.ones([2, 1]))
r2 = target(tf.ones([2, 3]))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
losses = []
def target(x):
    return x * x
losses.append(target(tf.constant(1.0)))
r = losses[0] + 1
"""
        ),
        Example(
            """\
import tensorflow as tf
class Cell:
    def __init__(self):
        self.h = tf.Variable(0.0)
    def target(self, x):
        return self.h.assign_add(x) + 0.0
c = Cell()
r1 = c.target(tf.constant(1.0))
r2 = c.target(tf.constant(2.0))
""",
            target="Cell.target",
        ),
        Example(
            """\
import functools
import tensorflow as tf
@functools.lru_cache(maxsize=None)
def weights(n):
    return [1.0 / (i + 1) for i in range(n)]
def target(x):
    return x * tf.constant(weights(x.shape[0]))
r1 = target(tf.constant([1.0, 2.0]))
r2 = target(tf.constant([[1.0], [2.0]]))
"""
        ),
    ),
    known_problems="""A run by which somebody comes to the tensor must be seen. One that only a setting, a backend
or `isinstance` allows is taken for none: it is information.""",
    reference="semantics.md R3",
)
