"""HY802: a Python counter, flag or sum in a field or global variable -> a `tf.Variable`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Inst, Lit, Mod, Prim, Tensor, Value
from hybridize.facts.calls.callgraph import reachable
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.repairs.holding.fields import Use, field_of, field_uses, global_uses, is_constructor
from hybridize.repairs.holding.settings import propose_setting
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import NOTHING, Bench, may_be_tensor, numbers
from hybridize.repairs.source.edits import NewImport, TextEdit
from hybridize.repairs.source.text import SourceFile, end, start
from hybridize.source.syntax import walk

#: The kinds of Python numbers as dtypes that hold all that Python does in practice, and how to get them back.
_DTYPES: Final = {"int": "int64", "float": "float64", "bool": "bool"}
_METHODS: Final = {ast.Add: "assign_add", ast.Sub: "assign_sub"}
#: Functions that take a Python number and a tensor alike.
_TAKERS: Final = ("cast", "print", "summary.", "strings.as_string", "equal", "less", "greater")
_OTHERWISE: Final = "it is used in a way that a `tf.Variable` does not serve"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the variable holds: `python` is the type to give back to readers outside of graphs, empty for a tensor."""

    dtype: str
    python: str


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A number that begins as a constant and changes only by assignments."""
    reason = cause.reason
    if reason is None:
        yield from propose_setting(bench, cause)
        return
    effect = reason.effect
    field = field_of(cause)
    if field is not None:
        name = field[1]
        uses = field_uses(bench, *field)
        value = _of_field(bench, field[0], name)
    elif effect.kind == "global":
        name = effect.detail
        uses = global_uses(bench, reason.frame.code.path, name)
        value = _of_module(reason.frame.module, name)
    else:
        return
    kind = _kind(value)
    if effect.kind == "global" and any(isinstance(o, Lit) and o.const is None for o in value):
        yield from propose_setting(bench, cause)
        return
    if not uses or kind is None:
        return
    edits, imports = _edits(bench, cause, uses, kind)
    where = f"the field `{name}`" if field is not None else f"the global variable `{name}`"
    doubt = f"other code may want `{name}` as a Python {kind.python or 'number'}"
    if field is not None:
        doubt += ", and a model that owns it saves it with its weights"
    spans = tuple((u.file.path, start(u.statement), end(u.statement)) for u in uses if u.kind != "read")
    yield Change(tuple(edits), f"{where} becomes a `tf.Variable`", doubt, tuple(imports), spans)


def _of_field(bench: Bench, owner: Inst, name: str) -> Value:
    found = NOTHING
    for each in bench.instances(owner):
        cell = each.fields.get(name)
        found |= cell.value if cell is not None else NOTHING
    return found


def _of_module(module: Mod, name: str) -> Value:
    cell = module.fields.get(name)
    return cell.value if cell is not None else NOTHING


def _kind(value: Value) -> _Kind | None:
    """The dtype of a variable that holds all of a value: one kind of number, or a number and scalars of one dtype."""
    tensors = [o for o in value if isinstance(o, Tensor)]
    kinds = numbers(o for o in value if not isinstance(o, Tensor))
    if kinds is None or not value:
        return None
    if not tensors:
        return _Kind(_DTYPES[kinds.copy().pop()], kinds.copy().pop()) if len(kinds) == 1 else None
    dtypes = {t.dtype for t in tensors}
    dtype = next(iter(dtypes))
    plain = all(t.kind == "dense" and t.shape == () for t in tensors)
    if len(dtypes) != 1 or not plain or dtype is None or "bool" in kinds:
        return None
    whole = dtype.startswith(("int", "uint"))
    return _Kind(dtype, "") if (dtype.startswith("float") or (whole and "float" not in kinds)) else None


def _edits(bench: Bench, cause: Cause, uses: list[Use], kind: _Kind) -> tuple[list[TextEdit], list[NewImport]]:
    assert cause.reason is not None
    traced = _traced(bench, cause)
    edits: list[TextEdit] = []
    imports: list[NewImport] = []
    made = 0
    for use in uses:
        file = use.file
        if use.kind == "read" and _is_added(file, use):
            continue
        if file.source(use.node) != ast.unparse(use.node):
            raise NotOffered(_OTHERWISE)
        if use.kind == "write" and _is_first(use):
            tf = file.tensorflow
            if tf is None:
                raise NotOffered(_OTHERWISE)
            made += 1
            edits.append(_initial(file, use, kind, tf))
        elif use.kind in ("write", "update"):
            edits.append(_assignment(bench, file, use, kind, use.code in traced))
        elif use.kind == "read":
            edits += _read(bench, file, use, kind, use.code in traced)
        else:
            raise NotOffered(_OTHERWISE)
    if not made:
        raise NotOffered(_OTHERWISE)
    return edits, imports


def _traced(bench: Bench, cause: Cause) -> set[Code]:
    """The functions that surely run as a graph once the cause is gone: the one that changes the state, and its callees.

    Who calls it may, too: there `int(...)` serves in both modes, for AutoGraph makes an operation of it.
    """
    assert cause.reason is not None
    own = cause.reason.frame.code
    found: set[Code] = {own}
    for frame in bench.frames(own):
        found.update(each.code for each in reachable(frame))
    return found


def _is_first(use: Use) -> bool:
    """Whether an assignment is the one that makes the variable: in the constructor, or at the top of the module."""
    value = getattr(use.statement, "value", None)
    if not isinstance(value, ast.Constant) or not isinstance(value.value, (int, float)):
        return False
    if isinstance(use.node, ast.Attribute):
        return is_constructor(use) and isinstance(use.file.parents[use.statement], ast.FunctionDef)
    return use.statement in use.file.tree.body and all(
        n is use.node or (n.lineno, n.col_offset) > start(use.node)
        for n in use.file.bound.get(use.node.id, ())
        if isinstance(n, ast.Name)
    )


def _initial(file: SourceFile, use: Use, kind: _Kind, tf: str) -> TextEdit:
    value = use.statement.value  # type: ignore[attr-defined]  # an assignment, as `_is_first` has seen
    return file.replace(value, f"{tf}.Variable({file.source(value)}, dtype={tf}.{kind.dtype}, trainable=False)")


def _assignment(bench: Bench, file: SourceFile, use: Use, kind: _Kind, traced: bool) -> TextEdit:
    statement, name = use.statement, file.source(use.node)
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr) or isinstance(statement, ast.AnnAssign):
        raise NotOffered(_OTHERWISE)
    if isinstance(value, ast.BinOp) and _same(file, value.left, use.node) and type(value.op) in _METHODS:
        _fits(bench, file, value.right, kind)
        text = f"{name}.{_METHODS[type(value.op)]}({_stored(bench, file, value.right, kind, traced)})"
        return TextEdit(file.path, start(statement), end(statement), text)
    if any(_same(file, n, use.node) for n in walk(value)):
        raise NotOffered(_OTHERWISE)  # it is read and written at once: both would be edited
    text = _stored(bench, file, value, kind, traced)
    if isinstance(statement, ast.AugAssign):
        method = _METHODS.get(type(statement.op))
        if method is None:
            raise NotOffered(_OTHERWISE)
        _fits(bench, file, value, kind)
        return TextEdit(file.path, start(statement), end(statement), f"{name}.{method}({text})")
    _fits(bench, file, value, kind)
    return TextEdit(file.path, start(statement), end(statement), f"{name}.assign({text})")


def _stored(bench: Bench, file: SourceFile, value: ast.expr, kind: _Kind, traced: bool) -> str:
    """The text of what is stored, with the variable's dtype for `float(t)` and `int(t)`: a graph gives them 32 bits."""
    text = file.source(value)
    for node in walk(value) if traced and kind.python else ():
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("float", "int") or len(node.args) != 1:
            continue
        if not may_be_tensor(bench.operand(file, node.args[0])):
            continue
        outer = [n for n in file.around(node) if start(n) >= start(value) and end(n) <= end(value)]
        whole = ast.unparse(node.func) == "int" and kind.python == "float"
        if whole or file.tensorflow is None or not all(isinstance(n, (ast.BinOp, ast.UnaryOp)) for n in outer):
            raise NotOffered(_OTHERWISE)
        cast = f"{file.tensorflow}.cast({file.source(node.args[0])}, {file.tensorflow}.{kind.dtype})"
        text = text.replace(file.source(node), cast)
    return text


def _is_added(file: SourceFile, use: Use) -> bool:
    """Whether a read is that of `n = n + 1`, which becomes one call."""
    parent, statement = file.parents[use.node], use.statement
    return (
        isinstance(parent, ast.BinOp)
        and parent.left is use.node
        and type(parent.op) in _METHODS
        and isinstance(statement, ast.Assign)
        and statement.value is parent
        and len(statement.targets) == 1
        and _same(file, statement.targets[0], use.node)
    )


def _same(file: SourceFile, node: ast.AST, other: ast.AST) -> bool:
    return isinstance(node, (ast.Attribute, ast.Name)) and file.source(node) == file.source(other)


def _fits(bench: Bench, file: SourceFile, value: ast.expr, kind: _Kind) -> None:
    """Raises unless a value is of the variable's dtype, or a constant that becomes so."""
    if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        if isinstance(value.value, float) and "float" not in kind.dtype:
            raise NotOffered(_OTHERWISE)
        return
    found = bench.operand(file, value) or _assigned(bench, file, value)
    if found and all(isinstance(o, (Lit, Prim)) for o in found) and (numbers(found) or {""}) <= {kind.python, "int"}:
        return
    if found and all(isinstance(o, Tensor) and o.dtype == kind.dtype for o in found):
        return
    raise NotOffered(_OTHERWISE)


def _assigned(bench: Bench, file: SourceFile, value: ast.expr) -> Value:
    """What a name holds where it is assigned on: by what the assignment puts into its target."""
    statement = file.statement(value)
    code = bench.code_around(file, value)
    if code is None:
        return NOTHING
    return bench.stored(code, statement)


def _read(bench: Bench, file: SourceFile, use: Use, kind: _Kind, traced: bool) -> list[TextEdit]:
    """The edit that gives a reader what it had; none in a graph, where the variable itself serves."""
    node, source = use.node, file.source(use.node)
    if not kind.python:
        if traced:
            raise NotOffered(_OTHERWISE)
        return [file.replace(node, f"{source}.read_value()")]
    if not traced:
        return [file.replace(node, f"{kind.python}({source})")]
    parent = file.parents[node]
    if isinstance(parent, ast.Compare) and all(isinstance(o, _ORDERED) for o in parent.ops):
        return []
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mod, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)):
        other = parent.right if parent.left is node else parent.left
        around = file.parents[parent]
        if isinstance(other, ast.Constant) and isinstance(around, ast.Compare) and kind.python == "int":
            return []
    if kind.python == "bool" and isinstance(parent, (ast.If, ast.While, ast.UnaryOp, ast.BoolOp)):
        return []
    shown = isinstance(parent, ast.FormattedValue) or (isinstance(parent, ast.Call) and node in parent.args)
    if shown and _takes(file, node, parent):
        return []
    raise NotOffered(_OTHERWISE)


_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def _takes(file: SourceFile, node: ast.AST, parent: ast.AST) -> bool:
    """Whether what a reader hands on goes to a function that takes tensors (`print` becomes one that does)."""
    if isinstance(parent, ast.FormattedValue):
        text = file.parents[parent]
        call = file.parents[text]
        return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"
    assert isinstance(parent, ast.Call)
    if isinstance(parent.func, ast.Name):
        return parent.func.id == "print"
    name = ast.unparse(parent.func)
    tf = file.tensorflow
    return tf is not None and any(name.startswith(f"{tf}.{taker}") for taker in _TAKERS)


REPAIR = Repair(
    code="HY802",
    name="state-to-variable",
    removes=frozenset({"HY003", "HY206", "HY602"}),
    summary="A Python counter, flag or sum that outlives the call becomes a `tf.Variable`.",
    details="""Python state changes once per trace; a `tf.Variable` changes at every call. `self.steps = 0` becomes
`tf.Variable(0, dtype=tf.int64, trainable=False)`, `self.steps += 1` becomes `self.steps.assign_add(1)`, and who reads
it outside of graphs gets a Python number as before: `int(self.steps)`. So do flags and numbers that setters or other
code write and a graph only reads: `if self.training:` stays as it is, `x * (1.0 - self.rate)` becomes
`x * tf.cast(1.0 - self.rate, tf.float32)`, and a variable that begins as None and gets its value from the function that
first asks for it begins with that value. With Keras 2 the `training` of a dropout layer may be such a flag. Offered
where every use in the project is known, and nowhere where Python itself decides by the value: not for sizes, indices,
keys, `is`, or the `training` of Keras 3.""",
    safety="""Never safe: code outside of the project may want the attribute as a Python value, and a Keras model that
owns a variable saves it with its weights.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
        self.steps = 0
    def step(self, x, y):
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, self.w) - y))
            self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        self.steps += 1
        return loss
trainer = Trainer()
for _ in range(10):
    loss = trainer.step(tf.ones([4, 2]), tf.ones([4, 1]))
    if trainer.steps % 5 == 0:
        print("steps", trainer.steps)
r = loss.numpy()
""",
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False)
    @tf.function
    def step(self, x, y):
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, self.w) - y))
            self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        self.steps.assign_add(1)
        return loss
trainer = Trainer()
for _ in range(10):
    loss = trainer.step(tf.ones([4, 2]), tf.ones([4, 1]))
    if int(trainer.steps) % 5 == 0:
        print("steps", int(trainer.steps))
r = loss.numpy()
""",
            function="Trainer.step",
            output=True,
            changed=("trainer.steps",),
        ),
        RepairExample(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
step = 0
def train_step(x, y):
    global step
    step += 1
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    if step % 5 == 0:
        print("step", step)
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            """\
import sys

import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
step = tf.Variable(0, dtype=tf.int64, trainable=False)
@tf.function
def train_step(x, y):
    global step
    step.assign_add(1)
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    if step % 5 == 0:
        tf.print("step", step, output_stream=sys.stdout)
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            function="train_step",
            output=True,
            changed=("step",),
        ),
    ),
    order=30,
)
