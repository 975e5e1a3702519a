"""HY803: a field that only one call needs -> a local variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Inst
from hybridize.repairs.holding.fields import (
    Use,
    field_of,
    field_uses,
    holds_new,
    is_constructor,
    is_filled,
    is_preceded,
    read_by_strangers,
    receiver,
)
from hybridize.repairs.holding.passed_field import Passed, handed, passed
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import local_name
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.syntax import walk

_WRITES = ("write", "unpack")


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A field of `self` that no other function reads."""
    found = field_of(cause)
    if found is None or cause.reason is None or cause.reason.frame.code.name in ("__init__", "__post_init__"):
        return
    name = found[1]
    own = bench.function_node(cause.reason.frame.code)
    file = bench.file(cause.path)
    if own is None or file is None:
        return
    uses = field_uses(bench, *found)
    if not uses:
        return
    here = [use for use in uses if use.file is file and _within(use, own)]
    others = [u for u in uses if u not in here and not is_constructor(u) and not _is_copied_in_vain(bench, u, uses)]
    needed = [group for group in _by_function(others) if not _keeps_to_itself(group)]
    writes = [use.statement for use in here if use.kind in _WRITES]
    helped = passed(bench, file, own, needed, name, writes) if here else None
    if helped is None:
        return
    made = _edits(file, own, here, name, helped, made=any(is_constructor(use) for use in uses))
    if made is None:
        return
    edits, always = made
    doubt = None
    if not always:
        doubt = f"a call that does not set `{name}` would no longer see what an earlier call has set"
    elif helped.helpers:
        doubt = f"`{helped.helpers[0]}` takes `{name}` as an argument, and who uses this code may read the attribute"
    elif not name.startswith("_") or name.startswith("__"):
        doubt = f"who uses this code may read the attribute `{name}`"
    elif (stranger := read_by_strangers(bench, *found)) is not None:
        doubt = f"what reads `{name}` at {stranger} may be such an object"
    own_list = always and holds_new(here)
    gone = [use for use in here if use.kind != "read" or (own_list and is_filled(use))]
    spans = tuple((file.path, start(use.statement), end(use.statement)) for use in gone)
    yield Change(tuple(edits), f"the field `{name}` of one call becomes a local variable", doubt, spans=spans)


def _is_copied_in_vain(bench: Bench, use: Use, uses: list[Use]) -> bool:
    """Whether a read only goes into a field that nobody reads (`self.attn = self.inner.attn`)."""
    statement = use.statement
    if use.kind != "read" or not isinstance(statement, ast.Assign) or statement.value is not use.node:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Attribute) or not any(map(is_constructor, uses)):
        return False
    owners = receiver(bench, use.code, target)
    if not owners or not all(isinstance(o, Inst) for o in owners):
        return False
    kept = [field_uses(bench, o, target.attr) for o in owners if isinstance(o, Inst)]
    return all(found is not None and all(u.kind == "write" for u in found) for found in kept)


def _within(use: Use, own: FunctionNode) -> bool:
    return any(node is own for node in use.file.around(use.node))


def _by_function(uses: list[Use]) -> list[list[Use]]:
    groups: dict[ast.AST | None, list[Use]] = {}
    for use in uses:
        groups.setdefault(use.function, []).append(use)
    return list(groups.values())


def _keeps_to_itself(uses: list[Use]) -> bool:
    """Whether a function writes a field before it reads it, so that nothing comes from another."""
    writes = [use.statement for use in uses if use.kind in _WRITES]
    return uses[0].function is not None and all(
        use.kind in _WRITES or (use.kind != "other" and is_preceded(use.file, writes, use.node)) for use in uses
    )


def _edits(
    file: SourceFile, own: FunctionNode, here: list[Use], name: str, helped: Passed, *, made: bool
) -> tuple[list[TextEdit], bool] | None:
    """The edits, and whether the function always writes the field before it reads it (else one was `made` before)."""
    receivers = {file.source(use.node.value) for use in here if isinstance(use.node, ast.Attribute)}
    if len(receivers) != 1 or not own.args.args or receivers != {own.args.args[0].arg}:
        return None
    if any(use.kind == "other" or (use.kind != "read" and use.function is not own) for use in here):
        return None
    if any(file.source(use.node) != f"{own.args.args[0].arg}.{name}" for use in here):
        return None  # spread over lines, or in a place that the parser does not tell
    gone = [file.remove(use.statement) for use in here if _is_idle(use)]
    if not helped.helpers and len(gone) == len(here) and all(gone):  # nobody reads it, and nothing is computed for it
        return [edit for edit in gone if edit is not None], True
    local = local_name(own, name)
    edits = [file.replace(use.node, local) for use in here]
    edits += [*helped.edits, *(handed(file, call, given, local) for call, given in helped.calls)]
    writes = [use.statement for use in here if use.kind in _WRITES]
    early = [u for u in here if u.kind not in _WRITES and not is_preceded(file, writes, u.node)]
    always = not early
    if early and (not made or not all(_only_skips(file, own, writes, use) for use in early)):
        raise NotOffered(f"`{name}` is kept from call to call")
    if not always:
        body = own.body[1:] if ast.get_docstring(own) is not None and len(own.body) > 1 else own.body
        first = file.before(body[0], f"{local} = {own.args.args[0].arg}.{name}")
        if first is None or any(use.function is not own for use in here):
            return None
        edits.append(first)
    return edits, always


def _is_idle(use: Use) -> bool:
    """Whether a use is an assignment that only gives another name to something."""
    statement = use.statement
    if use.kind != "write" or not isinstance(statement, ast.Assign):
        return False
    return isinstance(statement.value, (ast.Name, ast.Constant))


def _only_skips(file: SourceFile, own: FunctionNode, writes: list[ast.stmt], use: Use) -> bool:
    """Whether a read comes behind all writes, which stand under conditions that say nothing of the object itself."""
    receiver = own.args.args[0].arg
    conditions = [n.test for w in writes for n in file.around(w) if isinstance(n, ast.If)]
    names = {n.id for test in conditions for n in walk(test) if isinstance(n, ast.Name)}
    behind = all(start(use.node) > end(write) for write in writes)
    looped = any(isinstance(n, (ast.For, ast.While)) for w in writes for n in file.around(w) if n is not own)
    return use.kind == "read" and behind and not looped and bool(conditions) and receiver not in names


REPAIR = Repair(
    code="HY803",
    name="field-to-local",
    removes=frozenset({"HY003", "HY206", "HY601", "HY602"}),
    summary="A field that is written and read within one call only becomes a local variable.",
    details="""A method that keeps what it needs for the rest of the same call in `self.size` changes Python state, and
a tensor that is kept there outlives its graph. Where no other function of the project reads the field, a local variable
does the same; a helper of the object that only this method calls, and that reads the field, is given it as an
argument.""",
    safety="""Safe where the method always sets the field before it reads it, its name begins with `_`, and no object
of unknown kind is asked for such a field. Otherwise somebody else might read it; and a call that does not set it would
no longer see what an earlier one has set.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
class Attention(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]))
        self._size = None
    def score(self, x):
        self._size = x.shape[0]
        for _ in range(6):
            x = tf.nn.softmax(tf.matmul(x, self.w)) + tf.tanh(x) * 0.5
        return tf.reshape(x, [self._size * 4])
attention = Attention()
for _ in range(5):
    r = attention.score(tf.ones([2, 4])).numpy()
""",
            """\
import tensorflow as tf
class Attention(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]))
        self._size = None
    @tf.function
    def score(self, x):
        size = x.shape[0]
        for _ in range(6):
            x = tf.nn.softmax(tf.matmul(x, self.w)) + tf.tanh(x) * 0.5
        return tf.reshape(x, [size * 4])
attention = Attention()
for _ in range(5):
    r = attention.score(tf.ones([2, 4])).numpy()
""",
            function="Attention.score",
            output=True,
            changed=("attention._size",),
        ),
        RepairExample(
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
    def step(self, x, y):
        with tf.GradientTape() as tape:
            self.error = tf.matmul(x, self.w) - y
            self.loss = tf.reduce_mean(self.error * self.error)
        for _ in range(5):
            self.w.assign_sub(tf.tanh(self.w) * 0.01 + 0.1 * tf.square(self.w))
        self.w.assign_sub(0.1 * tape.gradient(self.loss, self.w))
        return self.loss
trainer = Trainer()
for _ in range(5):
    r = trainer.step(tf.ones([4, 2]), tf.ones([4, 1])).numpy()
""",
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            error = tf.matmul(x, self.w) - y
            loss = tf.reduce_mean(error * error)
        for _ in range(5):
            self.w.assign_sub(tf.tanh(self.w) * 0.01 + 0.1 * tf.square(self.w))
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return loss
trainer = Trainer()
for _ in range(5):
    r = trainer.step(tf.ones([4, 2]), tf.ones([4, 1])).numpy()
""",
            function="Trainer.step",
            output=True,
            changed=("trainer.error", "trainer.loss"),
        ),
    ),
    order=20,
)
