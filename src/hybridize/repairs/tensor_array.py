"""HY809: a list that a loop of the graph fills with tensors -> a `tf.TensorArray`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import NDARRAY, arrived
from hybridize.records import dataclass
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import NOTHING, Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.syntax import walk

#: Methods that add one element: at the end, or (`insert(0, x)`) in front.
#: Functions that make one tensor of a list; the array's method that does, where the axis is 0.
_FILLS = ("append", "insert")
_JOINS = {"stack": "stack", "convert_to_tensor": "stack", "concat": "concat"}


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """`rows.append(x)` in a loop, where `rows` is a new list that is only joined afterwards."""
    opened = bench.with_tensorflow(cause.path)
    if opened is None:
        return
    file, tf = opened
    for call in (n for n in file.at(cause.place) if isinstance(n, ast.Call)):
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _FILLS and isinstance(func.value, ast.Name):
            own = file.function(call)
            if isinstance(own, FunctionNode):
                yield _change(bench, file, tf, own, func.value.id)


@dataclass(slots=True)
class _Uses:
    """A list by its uses: where it is made, filled (each with what is added), joined, measured."""

    made: list[ast.Assign]
    filled: list[tuple[ast.Call, ast.expr]]
    joined: list[ast.Call]
    measured: list[ast.Call]

    @property
    def turned(self) -> bool:
        """Whether each element comes in front of those before it."""
        return any(ast.unparse(call.func).endswith(".insert") for call, _ in self.filled)


def _change(bench: Bench, file: SourceFile, tf: str, own: FunctionNode, name: str) -> Change:
    uses = _uses(file, tf, own, name)
    dtype, shape = _element(bench, file, uses)
    concat = any(_join(call, tf) == "concat" for call in uses.joined)
    options = ", infer_shape=False" if concat else ""
    if shape is not None and not concat:
        options = f", element_shape={list(shape)}"
    array = f"{tf}.TensorArray({tf}.{dtype}, size=0, dynamic_size=True{options})"
    edits = [file.replace(each.value, array) for each in uses.made]
    for call, element in uses.filled:
        edits.append(file.replace(call, f"{name} = {name}.write({name}.size(), {file.source(element)})"))
    edits += [_joined(file, tf, call, name, shape, turned=uses.turned) for call in uses.joined]
    edits += [file.replace(call, f"{name}.size()") for call in uses.measured]
    spans = tuple((file.path, start(c), end(c)) for c in (*(call for call, _ in uses.filled), *uses.joined))
    doubt = "where nothing is appended the result is an empty tensor, not an error"
    return Change(tuple(edits), f"the list `{name}` becomes a `{tf}.TensorArray`", doubt, spans=spans)


def _uses(file: SourceFile, tf: str, own: FunctionNode, name: str) -> _Uses:
    """Raises NotOffered where the list is used in any other way."""
    found = _Uses([], [], [], [])
    refused = NotOffered(f"the list `{name}` is used as only a list can be")
    if any(isinstance(n, ast.arg) and n.arg == name for n in walk(own)):
        raise refused
    last = _rebound(tf, own, name)
    for node in walk(own):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = file.parents[node]
        if file.function(node) is not own:
            raise refused
        if last is not None and (start(node) > end(last) or (isinstance(node.ctx, ast.Store) and parent is last)):
            continue  # what is called so from here on is the tensor
        if isinstance(node.ctx, ast.Store):
            if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not _is_empty(parent.value):
                raise refused
            found.made.append(parent)
        elif isinstance(parent, ast.Attribute) and parent.attr in _FILLS:
            call = file.parents[parent]
            element = _added(call, parent.attr) if isinstance(file.parents[call], ast.Expr) else None
            if element is None or any(isinstance(n, ast.Name) and n.id == name for n in walk(element)):
                raise refused
            assert isinstance(call, ast.Call)
            found.filled.append((call, element))
        elif isinstance(parent, ast.Call) and parent.args[:1] == [node] and _join(parent, tf) is not None:
            found.joined.append(parent)
        elif isinstance(parent, ast.Call) and ast.unparse(parent.func) == "len" and "len" not in file.bound:
            found.measured.append(parent)
        else:
            raise refused
    if not found.made or not found.joined or len({ast.unparse(c.func) for c, _ in found.filled}) > 1:
        raise refused
    return found


def _added(call: ast.AST, method: str) -> ast.expr | None:
    """What `append(x)` or `insert(0, x)` adds; None for any other call."""
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != (1 if method == "append" else 2):
        return None
    if method == "insert" and ast.unparse(call.args[0]) != "0":
        return None
    return call.args[-1]


def _rebound(tf: str, own: FunctionNode, name: str) -> ast.Assign | None:
    """The statement, if there is one, that gives the list's name to what it is joined to: `xs = tf.stack(xs)`.

    It stands in the function's own block, behind all that is done to the list.
    """
    for statement in own.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or target.id != name:
            continue
        for node in walk(statement.value):
            if (
                isinstance(node, ast.Call)
                and _join(node, tf) is not None
                and node.args
                and ast.unparse(node.args[0]) == name
            ):
                later = [n for s in own.body for n in walk(s) if start(s) > end(statement)]
                fills = [f"{name}.{method}" for method in _FILLS]
                changed = any(isinstance(n, ast.Attribute) and ast.unparse(n) in fills for n in later)
                return statement if not changed else None
    return None


def _is_empty(node: ast.expr) -> bool:
    return (isinstance(node, ast.List) and not node.elts) or (
        isinstance(node, ast.Call) and ast.unparse(node) == "list()"
    )


def _join(call: ast.Call, tf: str) -> str | None:
    """How a call joins a list: `stack` or `concat`."""
    name = ast.unparse(call.func)
    return _JOINS.get(name.removeprefix(f"{tf}.")) if name.startswith(f"{tf}.") else None


def _axis(call: ast.Call, join: str) -> int | None:
    """The axis along which a call joins, if that is a constant and nothing else is asked."""
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "axis")]
    others = [k for k in call.keywords if k.arg != "axis"]
    if others or len(given) > 1:
        return None
    if not given:
        return 0 if join == "stack" else None
    try:
        value = ast.literal_eval(given[0])
    except ValueError:
        return None
    return value if type(value) is int else None


def _joined(
    file: SourceFile, tf: str, call: ast.Call, name: str, shape: tuple[int | None, ...] | None, *, turned: bool
) -> TextEdit:
    join = _join(call, tf)
    assert join is not None
    axis = _axis(call, join)
    if ast.unparse(call.func).endswith("convert_to_tensor") and (len(call.args) > 1 or call.keywords):
        axis = None
    if turned and (axis != 0 or join != "stack"):
        raise NotOffered(f"`{file.source(call)}` joins what was put in front otherwise than along a new first axis")
    if axis == 0:
        whole = f"{name}.{join}()"
        return file.replace(call, f"{tf}.reverse({whole}, [0])" if turned else whole)
    rank = len(shape) if shape is not None else 0
    if join != "stack" or axis is None or shape is None or not -rank - 1 <= axis <= rank:
        raise NotOffered(f"`{file.source(call)}` joins otherwise than a `TensorArray` does")
    place = axis % (rank + 1)
    order = [*range(1, place + 1), 0, *range(place + 1, rank + 1)]
    return file.replace(call, f"{tf}.transpose({name}.stack(), {order})")


def _element(bench: Bench, file: SourceFile, uses: _Uses) -> tuple[str, tuple[int | None, ...] | None]:
    """The dtype of what is appended, and its shape if that is one and the same."""
    dtypes: set[str | None] = set()
    shapes: set[tuple[int | None, ...] | None] = set()
    for _, element in uses.filled:
        value = bench.operand(file, element) or NOTHING
        tensors = [o for o in value if isinstance(o, Tensor) and o.kind != NDARRAY]
        if not value or len(tensors) != len(value):
            raise NotOffered(f"it is not known whether `{file.source(element)}` is a tensor")
        dtypes |= {o.dtype for o in tensors}
        for each in tensors:
            known = arrived(each.shape)
            shapes.add(tuple(d if d >= 0 else None for d in known) if known is not None else None)
    if len(dtypes) != 1 or None in dtypes:
        raise NotOffered("the dtype of what is appended is not known")
    (dtype,), (first, *more) = dtypes, shapes
    return str(dtype), None if more or first is None else first


REPAIR = Repair(
    code="HY809",
    name="list-to-tensor-array",
    removes=frozenset({"HY318"}),
    summary="A list that a loop over a tensor fills becomes a `tf.TensorArray`.",
    details="""A loop over a tensor is one loop of the graph, whose body is traced once: a list that it appends to gets
one symbol, and nothing after. A `tf.TensorArray` grows while the graph runs. Offered where the list is new and local,
only appended to, measured with `len`, and joined by `tf.stack` or `tf.concat`, and where the dtype of the tensors is
known.""",
    safety="Never safe: where nothing is appended the result is an empty tensor, where stacking an empty list raises.",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
def powers(x, n):
    rows = []
    for i in tf.range(n):
        rows.append(tf.pow(x, tf.cast(i, tf.float32)) + tf.sin(x) * tf.cos(x))
    return tf.stack(rows)
for n in (2, 3, 4):
    r = powers(tf.constant([1.0, 2.0]), tf.constant(n))
""",
            """\
import tensorflow as tf
@tf.function
def powers(x, n):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
    for i in tf.range(n):
        rows = rows.write(rows.size(), tf.pow(x, tf.cast(i, tf.float32)) + tf.sin(x) * tf.cos(x))
    return rows.stack()
for n in (2, 3, 4):
    r = powers(tf.constant([1.0, 2.0]), tf.constant(n))
""",
            function="powers",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def halves(x):
    seen = []
    while x > 1.0:
        x = x * 0.5
        seen.append(x + tf.sin(x) * tf.cos(x))
    return tf.stack(seen)
for i in range(3):
    r = halves(tf.constant(8.0) + float(i))
""",
            """\
import tensorflow as tf
@tf.function
def halves(x):
    seen = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
    while x > 1.0:
        x = x * 0.5
        seen = seen.write(seen.size(), x + tf.sin(x) * tf.cos(x))
    return seen.stack()
for i in range(3):
    r = halves(tf.constant(8.0) + float(i))
""",
            function="halves",
            output=True,
        ),
    ),
)
