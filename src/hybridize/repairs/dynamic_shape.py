"""HY814: a static dim that a graph does not know -> `tf.shape`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import BOTTOM, Lit, Prim, Tensor
from hybridize.domain.tensors import is_dynamic
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench, is_tensor
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source import Role
from hybridize.source.syntax import walk
from hybridize.tracing.hybridized import is_false

_WHOLE: Final = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_DIVIDES: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_ORDERS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_FLOATS: Final = frozenset({"float16", "bfloat16", "float32", "float64"})
#: TensorFlow functions that want Python numbers.
_STATIC: Final = ("TensorSpec", "TensorShape", "Variable", "constant", "placeholder", "ensure_shape", "Input")


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """`x.shape[i]` whose uses are such that a whole number of TensorFlow's will do."""
    opened = bench.with_tensorflow(cause.path)
    if opened is None:
        return
    file, tf = opened
    for node in file.at(cause.place):
        if isinstance(node, ast.Assign) and (unpacked := _unpacked(bench, cause, file, tf, node)) is not None:
            yield unpacked
            continue
        found = _whole(bench, file, tf, node)
        if found is None:
            continue
        place, source = found
        maker = _Dynamic(bench, cause, file, tf, source)
        maker.replace(place)
        spans = ((file.path, start(node), end(node)),)
        doubt = maker.doubt
        if isinstance(place, ast.Call) and bench.project.roles.of(file.path) is Role.LIBRARY:
            doubt = doubt or "who else calls this may pass a list, whose length is no size of a tensor"
        yield Change(tuple(maker.edits), f"a static dim becomes `{maker.source}`", doubt, spans=spans)


def _whole(bench: Bench, file: SourceFile, tf: str, node: ast.AST) -> tuple[ast.expr, str] | None:
    """What reads dims that a graph does not know, and TensorFlow's for it."""
    read = _read(file, node)
    if read is not None and isinstance(node, ast.expr):
        return node, f"{tf}.shape({file.source(read[0])})[{read[1]}]"
    if not isinstance(node, ast.Call) or len(node.args) == 0:
        return None
    shaped = [a for a in node.args if _shaped(a) is not None]
    if len(shaped) != 1 or (tensor := _shaped(shaped[0])) is None:
        return None
    if bench.names(file, node) == {"np.prod"} and len(node.args) == 1 and not node.keywords:
        return node, f"{tf}.size({file.source(tensor)})"
    return shaped[0], f"{tf}.shape({file.source(tensor)})"


def _unpacked(bench: Bench, cause: Cause, file: SourceFile, tf: str, node: ast.Assign) -> Change | None:
    """`n, d = x.shape`: the dims that a graph does not know are read apart, the others stay what they are."""
    tensor, names = _shaped(node.value), node.targets[0]
    if tensor is None or len(node.targets) != 1 or not isinstance(names, (ast.Tuple, ast.List)):
        return None
    shapes = {o.shape for o in bench.operand(file, tensor) if isinstance(o, Tensor)}
    shape = next(iter(shapes)) if len(shapes) == 1 else None
    if shape is None or len(shape) != len(names.elts) or "\n" in file.source(tensor):
        raise NotOffered("it is not known how many dims there are")
    source, edits, parts = file.source(tensor), [], []
    doubt = None
    for axis, (dim, name) in enumerate(zip(shape, names.elts, strict=True)):
        if not is_dynamic(dim) or not isinstance(name, ast.Name):
            parts.append(f"{source}.shape[{axis}]")
            continue
        maker = _Dynamic(bench, cause, file, tf, f"{tf}.shape({source})[{axis}]")
        maker.name(node, name.id, f"`{name.id}` is used where only a Python number will do")
        parts.append(maker.source)
        edits += maker.edits
        doubt = doubt or maker.doubt
    edits.insert(0, file.replace(node.value, ", ".join(parts)))
    spans = ((file.path, start(node), end(node)),)
    return Change(tuple(edits), f"a static dim becomes `{tf}.shape({source})[...]`", doubt, spans=spans)


def _read(file: SourceFile, node: ast.AST) -> tuple[ast.expr, str] | None:
    """The tensor and the axis of a static dim: `x.shape[i]`, or `len(x)`, which is the first."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
        tensor = _shaped(node.value) or _named(file, node.value)
        return (tensor, file.source(node.slice)) if tensor is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        alone = len(node.args) == 1 and not node.keywords and "len" not in file.bound
        return (node.args[0], "0") if alone and not isinstance(node.args[0], ast.Starred) else None
    return None


def _shaped(node: ast.expr) -> ast.expr | None:
    """The tensor whose shape an expression is: `x.shape`, `x.get_shape()`, with `.as_list()`."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        if node.func.attr == "get_shape":
            return node.func.value
        if node.func.attr == "as_list":
            return _shaped(node.func.value)
    return None


def _named(file: SourceFile, node: ast.expr) -> ast.expr | None:
    """The tensor whose shape a variable holds: `s = x.shape`, both bound once before."""
    own = file.function(node)
    if not isinstance(node, ast.Name) or not isinstance(own, FunctionNode):
        return None
    stores = [n for n in walk(own) if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)]
    statement = file.parents[stores[0]] if len(stores) == 1 else None
    if not isinstance(statement, ast.Assign) or statement.targets != stores or file.parents[statement] is not own:
        return None
    tensor = _shaped(statement.value)
    if not isinstance(tensor, ast.Name) or file.function(node) is not own:
        return None
    later = (n for n in walk(own) if isinstance(n, ast.Name) and n.id == tensor.id and isinstance(n.ctx, ast.Store))
    return None if any(start(n) > start(statement) for n in later) else tensor


class _Dynamic:
    """Puts a dim of TensorFlow's in the place of a Python one; raises NotOffered where only that will do.

    `doubt`: a condition on the dim, which Python decides where it is known, traces both of its branches afterwards.
    """

    def __init__(self, bench: Bench, cause: Cause, file: SourceFile, tf: str, source: str) -> None:
        self.bench = bench
        self.function = cause.function
        self.file = file
        self.tf = tf
        self.source = source
        self.edits: list[TextEdit] = []
        self.doubt: str | None = None

    def replace(self, node: ast.expr) -> None:
        """The edits for one read, with those where its value meets floats."""
        cast = self._fit(node)
        self.edits.insert(0, self.file.replace(node, self._cast(self.source, cast)))

    def _cast(self, source: str, dtype: str) -> str:
        return f"{self.tf}.cast({source}, {self.tf}.{dtype})" if dtype else source

    def _fit(self, node: ast.expr) -> str:
        """The dtype that an expression's value must be cast to where it stands, or none."""
        parent = self.file.parents[node]
        said = f"`{self.file.source(node)}` is used where only a Python number will do"
        match parent:
            case ast.List() | ast.Tuple() if isinstance(parent.ctx, ast.Load):
                return self._structure(parent, node, said)
            case ast.Call(func=ast.Name(id="float" | "int" | "max" | "min" as name)) if name not in self.file.bound:
                self._needs_autograph(said)
                return self._number(parent, node, name, said)
            case ast.Call() if node in parent.args:
                return self._argument(parent, said)
            case ast.keyword():
                call = self.file.parents[parent]
                assert isinstance(call, ast.Call)
                return self._argument(call, said)
            case ast.BinOp():
                return self._operand(parent, node, said)
            case ast.Compare(ops=ops) if all(isinstance(o, _ORDERS) for o in ops):
                self._needs_autograph(said)
                around = self.file.parents[parent]
                looped = any(isinstance(n, (ast.For, ast.While)) for n in self.file.around(around))
                if isinstance(around, (ast.If, ast.While)) and not _leaves(around, _ENDS if looped else _BREAKS):
                    self.doubt = "a branch that a known size cuts away is traced then, and may be wrong for that size"
                    return ""
            case ast.Slice():
                return ""
            case ast.Subscript(value=value) if parent.slice is node and is_tensor(self.bench.operand(self.file, value)):
                return ""
            case ast.Assign(targets=[ast.Name(id=name)]) if parent.value is node:
                self.name(parent, name, said)
                return ""
        raise NotOffered(said)

    def _needs_autograph(self, said: str) -> None:
        """Raises NotOffered where the function says `autograph=False`: Python asks the tensor for its value then."""
        made = self.bench.project.solution.world.hybrids.get(self.function, {}).values()
        if any(is_false(options.get("autograph", BOTTOM)) for options in made):
            raise NotOffered(said)

    def _number(self, call: ast.Call, node: ast.expr, name: str, said: str) -> str:
        """What Python makes of the number: AutoGraph knows `float` and `int`, TensorFlow has its `max` and `min`."""
        if call.keywords or len(call.args) != (1 if name in ("float", "int") else 2):
            raise NotOffered(said)
        dtype = self._fit(call)
        if name == "int" or (name == "float" and dtype == "float32"):
            if name == "int" and dtype:
                raise NotOffered(said)
            return ""
        other = call.args[0] if call.args[1:] == [node] else call.args[-1]
        if name == "float" or not isinstance(other, ast.Constant) or type(other.value) is not int:
            raise NotOffered(said)
        self.edits.append(self.file.replace(call.func, f"{self.tf}.{name}imum"))
        return dtype

    def _structure(self, node: ast.List | ast.Tuple, element: ast.expr, said: str) -> str:
        """A list or tuple that a TensorFlow function is given as it stands, or of which each element gets a name."""
        parent = self.file.parents[node]
        match parent:
            case ast.Assign(targets=[ast.Tuple(elts=names)]) if len(names) == len(node.elts):
                name = names[node.elts.index(element)]
                if isinstance(name, ast.Name) and not any(isinstance(n, ast.Starred) for n in (*names, *node.elts)):
                    self.name(parent, name.id, said)
                    return ""
        if isinstance(parent, ast.Call) and node in parent.args:
            return self._argument(parent, said)
        if isinstance(parent, ast.keyword) and isinstance(call := self.file.parents[parent], ast.Call):
            return self._argument(call, said)
        raise NotOffered(said)

    def _argument(self, call: ast.Call, said: str) -> str:
        name = ast.unparse(call.func)
        statement = self.file.parents[call]
        if name == "range" and isinstance(statement, ast.For) and statement.iter is call and not _keeps(statement):
            self._needs_autograph(said)
            return ""
        if name.startswith(f"{self.tf}.") and not name.endswith(_STATIC) and ".keras." not in name:
            return ""
        raise NotOffered(said)

    def _operand(self, parent: ast.BinOp, node: ast.expr, said: str) -> str:
        other = parent.right if parent.left is node else parent.left
        value = self.bench.operand(self.file, other)
        plain = isinstance(other, ast.Constant) and type(other.value) is int
        whole = plain or (bool(value) and all(isinstance(o, (Lit, Prim)) and o.kind == "int" for o in value))
        if whole and isinstance(parent.op, _WHOLE):
            return self._fit(parent)
        dtypes = {o.dtype for o in value if isinstance(o, Tensor)}
        floats = len(dtypes) == 1 and dtypes <= _FLOATS and all(isinstance(o, Tensor) for o in value)
        if floats and isinstance(parent.op, _DIVIDES):
            return str(next(iter(dtypes)))
        raise NotOffered(said)

    def name(self, statement: ast.Assign, name: str, said: str) -> None:
        """A variable that holds the dim: each of its uses must do with a tensor."""
        own = self.file.function(statement)
        if not isinstance(own, FunctionNode):
            raise NotOffered(said)
        uses = [n for n in walk(own) if isinstance(n, ast.Name) and n.id == name]
        if sum(isinstance(n.ctx, ast.Store) for n in uses) != 1 or name in {
            a.arg for a in walk(own.args) if isinstance(a, ast.arg)
        }:
            raise NotOffered(f"`{name}` is bound more than once")
        for use in uses:
            if isinstance(use.ctx, ast.Load):
                if self.file.function(use) is not own:
                    raise NotOffered(said)
                dtype = self._fit(use)
                if dtype:
                    self.edits.append(self.file.replace(use, self._cast(name, dtype)))


_FILLS: Final = ("append", "extend", "insert", "add", "update", "pop", "write")


def _keeps(loop: ast.For) -> bool:
    """Whether a loop does what only one of Python can: it fills a container, or is left early."""
    for node in walk(loop):
        if isinstance(node, ast.Attribute) and node.attr in _FILLS:
            return True
        if isinstance(node, (ast.Return, ast.Break, ast.Yield)) or (node is loop and loop.orelse):
            return True
    return False


_BREAKS: Final = (ast.Raise, ast.Break, ast.Continue)
_ENDS: Final = (*_BREAKS, ast.Return)


def _leaves(node: ast.AST, ways: tuple[type[ast.stmt], ...]) -> bool:
    """Whether a branch leaves in one of some ways: a condition of the graph would decide that otherwise."""
    return any(isinstance(n, ways) for n in walk(node))


REPAIR = Repair(
    code="HY814",
    name="shape-to-dynamic",
    removes=frozenset({"HY354", "HY274"}),
    summary="A dim that is None while a function is traced is read with `tf.shape`, when the graph runs.",
    details="""`x.shape[0]` is the dim that is known when the function is traced: None for what is as long as the data
(the result of `tf.boolean_mask`, the last batch). `tf.shape(x)[0]` is the dim when the graph runs; eagerly both are the
same. Offered where every use of the number can do with a tensor: in the shapes and sizes that TensorFlow's functions
are given, in arithmetic with whole numbers, in `range` of a loop that AutoGraph converts, and with tensors of
floats, to whose dtype it is cast.""",
    safety="""Safe, with two exceptions: a library's callers may pass a list, whose length is no size of a tensor; and
a condition on the size is traced both ways afterwards, where Python had taken one.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
def center(x, mask):
    kept = tf.boolean_mask(x, mask)
    for _ in range(4):
        kept = tf.tanh(kept) - 0.1 * kept
    return tf.reshape(kept, [kept.shape[0], -1])
for i in range(3):
    r = center(tf.ones([4, 2, 2]) * float(i), tf.constant([True, False, True, True]))
""",
            """\
import tensorflow as tf
@tf.function
def center(x, mask):
    kept = tf.boolean_mask(x, mask)
    for _ in range(4):
        kept = tf.tanh(kept) - 0.1 * kept
    return tf.reshape(kept, [tf.shape(kept)[0], -1])
for i in range(3):
    r = center(tf.ones([4, 2, 2]) * float(i), tf.constant([True, False, True, True]))
""",
            function="center",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def mean_of_kept(x):
    kept = tf.boolean_mask(x, x > 0.0)
    count = kept.shape[0]
    for _ in range(4):
        kept = tf.sin(kept) + 0.5 * kept
    return tf.reduce_sum(kept) / count
for i in range(3):
    r = mean_of_kept(tf.constant([1.0, -1.0, 2.0, 3.0]) + float(i))
""",
            """\
import tensorflow as tf
@tf.function
def mean_of_kept(x):
    kept = tf.boolean_mask(x, x > 0.0)
    count = tf.shape(kept)[0]
    for _ in range(4):
        kept = tf.sin(kept) + 0.5 * kept
    return tf.reduce_sum(kept) / tf.cast(count, tf.float32)
for i in range(3):
    r = mean_of_kept(tf.constant([1.0, -1.0, 2.0, 3.0]) + float(i))
""",
            function="mean_of_kept",
            output=True,
        ),
    ),
)
