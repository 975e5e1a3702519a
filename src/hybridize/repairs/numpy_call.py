"""HY805: a NumPy function of tensors -> TensorFlow's function with the same meaning and dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Tensor
from hybridize.records import dataclass
from hybridize.repairs.dropped_array import dropped
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import NOTHING, Bench, dtypes, is_tensor
from hybridize.repairs.source.numpy_forms import FORMS, Form, dtype_text, given
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.syntax import walk

_ANY_RANK: Final = 99
#: Fields that arrays and tensors have alike.
_SHARED: Final = frozenset({"shape", "dtype", "ndim"})


@dataclass(frozen=True, slots=True)
class _Twin:
    """TensorFlow's function: `names` are its keywords that NumPy has, too; `dtype` says for which it gives the same."""

    name: str
    names: frozenset[str] = frozenset()
    dtype: str = "float"  # float, number, bool or any
    most: int = 9  # positional arguments
    exact: bool = True  # to the last bit
    needs: frozenset[str] = frozenset()  # keywords (or the second argument) that must be there
    listed: bool = False  # the first argument is a list of tensors
    rest: str = ""  # further arguments, which say what NumPy takes for granted
    rank: int = _ANY_RANK  # the most dims that the tensors may have
    default: tuple[str, str] | None = None  # a keyword (or second argument) that TensorFlow wants, and NumPy's value


_REDUCED: Final = frozenset({"axis", "keepdims"})
_AXIS: Final = frozenset({"axis"})

#: By NumPy's name. Sums and means of integers have another dtype in NumPy: they are not offered.
_TWINS: Final = {
    "np.mean": _Twin("reduce_mean", _REDUCED, most=2, exact=False),
    "np.sum": _Twin("reduce_sum", _REDUCED, most=2, exact=False),
    "np.prod": _Twin("reduce_prod", _REDUCED, most=2, exact=False),
    "np.max": _Twin("reduce_max", _REDUCED, "number", most=2),
    "np.amax": _Twin("reduce_max", _REDUCED, "number", most=2),
    "np.min": _Twin("reduce_min", _REDUCED, "number", most=2),
    "np.amin": _Twin("reduce_min", _REDUCED, "number", most=2),
    "np.any": _Twin("reduce_any", _REDUCED, "bool", most=2),
    "np.all": _Twin("reduce_all", _REDUCED, "bool", most=2),
    "np.exp": _Twin("exp", most=1, exact=False),
    "np.log": _Twin("math.log", most=1, exact=False),
    "np.log1p": _Twin("math.log1p", most=1, exact=False),
    "np.tanh": _Twin("tanh", most=1, exact=False),
    "np.sin": _Twin("sin", most=1, exact=False),
    "np.cos": _Twin("cos", most=1, exact=False),
    "np.sqrt": _Twin("sqrt", most=1),
    "np.square": _Twin("square", dtype="number", most=1),
    "np.abs": _Twin("abs", dtype="number", most=1),
    "np.absolute": _Twin("abs", dtype="number", most=1),
    "np.sign": _Twin("sign", dtype="number", most=1),
    "np.floor": _Twin("floor", most=1),
    "np.ceil": _Twin("math.ceil", most=1),
    "np.isnan": _Twin("math.is_nan", most=1),
    "np.isfinite": _Twin("math.is_finite", most=1),
    "np.maximum": _Twin("maximum", dtype="number", most=2),
    "np.minimum": _Twin("minimum", dtype="number", most=2),
    "np.clip": _Twin("clip_by_value", dtype="number", most=3),
    "np.matmul": _Twin("linalg.matmul", most=2, exact=False),
    "np.expand_dims": _Twin("expand_dims", _AXIS, "any", most=2),
    "np.squeeze": _Twin("squeeze", _AXIS, "any", most=2),
    "np.reshape": _Twin("reshape", dtype="any", most=2),
    "np.transpose": _Twin("transpose", dtype="any", most=2),
    "np.zeros_like": _Twin("zeros_like", dtype="any", most=1),
    "np.ones_like": _Twin("ones_like", dtype="any", most=1),
    "np.argmax": _Twin("argmax", _AXIS, "number", most=2, needs=_AXIS),
    "np.argmin": _Twin("argmin", _AXIS, "number", most=2, needs=_AXIS),
    "np.where": _Twin("where", dtype="any", most=3),
    "np.concatenate": _Twin("concat", _AXIS, "any", most=2, listed=True, default=("axis", "0")),
    "np.stack": _Twin("stack", _AXIS, "any", most=2, listed=True),
    "np.power": _Twin("pow", most=2, exact=False),
    "np.std": _Twin("math.reduce_std", _REDUCED, most=2, exact=False),
    "np.var": _Twin("math.reduce_variance", _REDUCED, most=2, exact=False),
    "np.round": _Twin("round", most=1),
    "np.around": _Twin("round", most=1),
    "np.sinh": _Twin("sinh", most=1, exact=False),
    "np.cosh": _Twin("cosh", most=1, exact=False),
    "np.tan": _Twin("tan", most=1, exact=False),
    "np.arctan": _Twin("atan", most=1, exact=False),
    "np.arcsin": _Twin("asin", most=1, exact=False),
    "np.arccos": _Twin("acos", most=1, exact=False),
    "np.arctan2": _Twin("atan2", most=2, exact=False),
    "np.expm1": _Twin("math.expm1", most=1, exact=False),
    "np.reciprocal": _Twin("math.reciprocal", most=1, exact=False),
    "np.negative": _Twin("negative", dtype="number", most=1),
    "np.add": _Twin("add", dtype="number", most=2),
    "np.subtract": _Twin("subtract", dtype="number", most=2),
    "np.multiply": _Twin("multiply", dtype="number", most=2),
    "np.divide": _Twin("divide", most=2),
    "np.true_divide": _Twin("divide", most=2),
    "np.isinf": _Twin("math.is_inf", most=1),
    "np.equal": _Twin("equal", dtype="number", most=2),
    "np.not_equal": _Twin("not_equal", dtype="number", most=2),
    "np.greater": _Twin("greater", dtype="number", most=2),
    "np.greater_equal": _Twin("greater_equal", dtype="number", most=2),
    "np.less": _Twin("less", dtype="number", most=2),
    "np.less_equal": _Twin("less_equal", dtype="number", most=2),
    "np.logical_and": _Twin("logical_and", dtype="bool", most=2),
    "np.logical_or": _Twin("logical_or", dtype="bool", most=2),
    "np.logical_not": _Twin("logical_not", dtype="bool", most=1),
    "np.cumsum": _Twin("cumsum", _AXIS, most=2, needs=_AXIS, exact=False),
    "np.cumprod": _Twin("math.cumprod", _AXIS, most=2, needs=_AXIS, exact=False),
    "np.sort": _Twin("sort", _AXIS, "number", most=2),
    "np.repeat": _Twin("repeat", _AXIS, "any", most=2),
    "np.ravel": _Twin("reshape", dtype="any", most=1, rest="[-1]"),
    "np.dot": _Twin("tensordot", most=2, exact=False, rest="1", rank=2),
    "np.linalg.norm": _Twin("norm", _REDUCED, most=1, exact=False, rank=2),
    "np.linalg.inv": _Twin("linalg.inv", most=1, exact=False),
    "np.linalg.det": _Twin("linalg.det", most=1, exact=False),
}


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A call of a function that has a twin, with tensors of known dtypes."""
    opened = bench.with_tensorflow(cause.path)
    if opened is None:
        return
    file, tf = opened
    for call in (n for n in file.at(cause.place) if isinstance(n, ast.Call)):
        names = bench.names(file, call)
        name = next(iter(names)) if len(names) == 1 else ""
        formed = _formed(bench, file, call, tf, name) if name in FORMS else None
        if formed is not None:
            yield formed
            return
        twin = _TWINS.get(next(iter(names))) if len(names) == 1 else None
        if twin is not None:
            yield _change(bench, file, call, tf, next(iter(names)), twin)
            return
        if cause.code == "HY301" and (bare := dropped(bench, file, call, tf)) is not None:
            yield bare
            return


def _formed(bench: Bench, file: SourceFile, call: ast.Call, tf: str, name: str) -> Change | None:
    """The call in another form; None where the function has none with these arguments."""
    declined: NotOffered | None = None
    for form in FORMS[name]:
        parts = given(form, call)
        if parts is not None:
            try:
                return _by_form(bench, file, call, tf, (name, form, parts))
            except NotOffered as reason:
                declined = reason
    if declined is not None and name not in _TWINS:
        raise declined
    return None


def _by_form(
    bench: Bench, file: SourceFile, call: ast.Call, tf: str, asked: tuple[str, Form, dict[str, ast.expr]]
) -> Change:
    name, form, parts = asked
    _serves(file, call)
    texts = {"tf": tf}
    met: set[str | None] = set()
    for number, (param, node) in enumerate(parts.items()):
        if param == "dtype":
            texts[param] = _written(dtype_text(node, tf), file.source(node))
        elif param in form.constant:
            texts[param] = _written(file.source(node) if _is_literal(node) else None, file.source(node))
        else:
            texts[param] = _tensors(bench, file, node, form, met, listed=form.listed and not number)
    if len(met - {None}) != 1 or (None in met and form.dtype != "any"):
        raise NotOffered(f"`{name}` is given several dtypes, or no tensor")
    text = form.text.format(**texts)
    later = []
    if _is_returned(file, call):
        if form.python:
            raise NotOffered("the function returns a Python number")
        if name.startswith("np."):
            text += ".numpy()"  # who calls the function gets an array, as before
            statement = file.statement(call)
            later.append(("HY349", file.path, start(statement), end(statement)))
    was = "a Python number" if form.python else "an array"
    doubt = f"what was {was} is a tensor, here and where it goes" if not name.startswith("builtins.m") else None
    doubt = doubt if form.exact or doubt is None else f"{doubt}; the last digit may be another"
    said = f"`{name.removeprefix('builtins.')}` becomes `{text.partition('(')[0] or tf}`"
    span = (file.path, start(call), end(call))
    return Change((file.replace(call, text),), said, doubt, spans=(span,), later=tuple(later))


def _serves(file: SourceFile, call: ast.Call) -> None:
    """Raises where the result, or the variable that it goes to, is asked for what only an array has."""
    parent, own = file.parents[call], file.function(call)
    asked: list[ast.AST] = [call]
    if isinstance(parent, ast.Assign) and own is not None:
        names = {t.id for t in parent.targets if isinstance(t, ast.Name)}
        asked += [n for n in walk(own) if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
    for node in asked:
        around = file.parents[node]
        if isinstance(around, ast.Attribute) and around.attr not in _SHARED:
            raise NotOffered(f"`{around.attr}` of the array")
        part = around if isinstance(around, ast.Subscript) and around.value is node else None
        if part is not None and (not isinstance(part.ctx, ast.Load) or isinstance(part.slice, ast.List)):
            raise NotOffered("elements of the array are written, or chosen by a list")


def _written(text: str | None, source: str) -> str:
    if text is None:
        raise NotOffered(f"it is not known what `{source}` is")
    return text


def _tensors(bench: Bench, file: SourceFile, node: ast.expr, form: Form, met: set[str | None], *, listed: bool) -> str:
    """The text of a tensor, or of a list of tensors, with the dtypes put into `met`."""
    if listed:
        if not isinstance(node, (ast.List, ast.Tuple)) or any(isinstance(e, ast.Starred) for e in node.elts):
            raise NotOffered("a list of tensors does not stand there")
        return f"[{', '.join(_tensors(bench, file, e, form, met, listed=False) for e in node.elts)}]"
    inner = _tensor(bench, file, node)
    if inner is None:
        if form.dtype not in ("float", "number") or not _is_literal(node):
            raise NotOffered(f"it is not known what `{file.source(node)}` is")
        if isinstance(getattr(node, "value", None), float) and not all((d or "").startswith("float") for d in met):
            raise NotOffered("a float beside whole numbers")
        return file.source(node)
    value = bench.operand(file, inner)
    wanted = {"float": ("float",), "number": ("float", "int"), "bool": ("bool",), "any": ("",)}[form.dtype]
    ranks = {len(o.shape) if o.shape is not None else -1 for o in value if isinstance(o, Tensor)}
    if form.ranks and not ranks <= form.ranks:
        raise NotOffered("a tensor whose rank is not known, or does not suit")
    if not all((dtype or "?" * (form.dtype != "any")).startswith(wanted) for dtype in dtypes(value)):
        raise NotOffered("a tensor whose dtype is not known, or comes out as another")
    met |= dtypes(value)
    return file.source(inner)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _change(bench: Bench, file: SourceFile, call: ast.Call, tf: str, name: str, twin: _Twin) -> Change:
    _serves(file, call)
    words = {k.arg for k in call.keywords}
    if len(call.args) > twin.most or not words <= twin.names or any(isinstance(a, ast.Starred) for a in call.args):
        raise NotOffered(f"`{name}` is given arguments that TensorFlow does not take")
    if twin.needs and not (words & twin.needs or len(call.args) > 1):
        raise NotOffered(f"`{name}` without an axis")
    if name == "np.where" and len(call.args) != 3:
        raise NotOffered("`np.where` of a condition alone gives a tuple")
    met: set[str | None] = set()
    edits = [file.replace(call.func, f"{tf}.{twin.name}")]
    for each in _operands(call, name, twin):
        inner = _tensor(bench, file, each)
        if inner is None:
            if not _is_plain(bench, file, each):
                raise NotOffered(f"it is not known what `{file.source(each)}` is")
            continue
        met |= _checked(bench, file, inner, name, twin)
        if inner is not each:
            edits.append(file.replace(each, file.source(inner)))
    if twin.rest or (twin.default is not None and twin.default[0] not in words and len(call.args) < 2):
        more = twin.rest or "{}={}".format(*(twin.default or ()))
        edits.append(file.insert(end(call.args[-1]), f", {more}"))
    if len(met) != 1 and (twin.dtype != "any" or twin.listed):
        raise NotOffered(f"`{name}` is given several dtypes, or no tensor")
    later = []
    if _is_returned(file, call):
        edits.append(file.insert(end(call), ".numpy()"))  # who calls the function gets an array, as before
        statement = file.statement(call)
        later.append(("HY349", file.path, start(statement), end(statement)))
    doubt = "what was an array is a tensor, here and where it goes"
    if not twin.exact:
        doubt += "; the last digit may be another"
    said = f"`{name}` becomes `{tf}.{twin.name}`"
    span = (file.path, start(call), end(call))
    return Change(tuple(edits), said, doubt, spans=(span,), later=tuple(later))


def _operands(call: ast.Call, name: str, twin: _Twin) -> list[ast.expr]:
    """The arguments, those of a list that comes first one by one."""
    if not twin.listed:
        return call.args
    first = call.args[0] if call.args else None
    if not isinstance(first, (ast.List, ast.Tuple)) or any(isinstance(e, ast.Starred) for e in first.elts):
        raise NotOffered(f"`{name}` of a list that does not stand there")
    return [*first.elts, *call.args[1:]]


def _tensor(bench: Bench, file: SourceFile, node: ast.expr) -> ast.expr | None:
    """The tensor that an argument is, or is an array of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
        inner = node.func.value
        if not node.args and is_tensor(bench.operand(file, inner)):
            return inner
    value = bench.operand(file, node)
    # An array is as good: TensorFlow makes a tensor of its dtype.
    return node if value and all(isinstance(o, Tensor) for o in value) else None


def _is_plain(bench: Bench, file: SourceFile, node: ast.expr) -> bool:
    """Whether an argument is a constant: a number, or a list of numbers."""
    return _is_literal(node) and bench.operand(file, node) is not None


def _checked(bench: Bench, file: SourceFile, node: ast.expr, name: str, twin: _Twin) -> set[str | None]:
    """The dtypes of a tensor, if the function gives the same of them."""
    found = dtypes(bench.operand(file, node) or NOTHING)
    wanted = {"float": ("float",), "number": ("float", "int"), "bool": ("bool",), "any": ("",)}[twin.dtype]
    if not all((dtype or "?").startswith(wanted) or twin.dtype == "any" for dtype in found):
        raise NotOffered(f"`{name}` of a tensor whose dtype is not known, or comes out as another")
    shapes = [o.shape for o in bench.operand(file, node) or NOTHING if isinstance(o, Tensor)]
    if twin.rank < _ANY_RANK and any(shape is None or not 0 < len(shape) <= twin.rank for shape in shapes):
        raise NotOffered(f"`{name}` of a tensor whose rank is not known, or too high")
    return found


def _is_returned(file: SourceFile, call: ast.Call) -> bool:
    """Whether the result is (a part of) what the function returns; raises where a name carries it there."""
    parent = file.parents[call]
    if isinstance(parent, ast.Tuple):
        parent = file.parents[parent]
    if isinstance(parent, ast.Return):
        return True
    function = file.function(call)
    if isinstance(parent, ast.Assign) and isinstance(function, FunctionNode):
        names = {t.id for t in parent.targets if isinstance(t, ast.Name)}
        for node in walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                if any(isinstance(part, ast.Name) and part.id in names for part in parts):
                    raise NotOffered("the function returns the array")
    return False


REPAIR = Repair(
    code="HY805",
    name="numpy-to-tensorflow",
    removes=frozenset({"HY301", "HY340", "HY343"}),
    summary="A function of NumPy (or Python) on tensors becomes TensorFlow's with the same meaning and dtype.",
    details="""NumPy computes on the host and needs the values of tensors, which a graph does not have while it is
traced. Some hundred functions have a counterpart that does the same with the same dtype: `np.mean(x, axis=1)` becomes
`tf.reduce_mean(x, axis=1)`; so do those of `math`, Python's `max`, `min`, `any` and `all`, and what is computed with
`x.numpy()` and goes no further than tensors do. Sums and means of integers, which NumPy widens, are not offered. What
the function returns stays an array (`.numpy()`, which HY804 hands to the callers).""",
    safety="""Safe for Python's `max` and `min`. Everything else is not: arrays and numbers become tensors inside of
the function and where they go from there, and the last digit of sums may be another.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import numpy as np
import tensorflow as tf
def standardize(x):
    mean = np.mean(x, axis=0)
    for _ in range(6):
        x = tf.tanh(x - mean) + 0.1 * x
    return x / np.maximum(tf.reduce_max(tf.abs(x)), 1.0)
for i in range(4):
    r = standardize(tf.constant([[1.0, 2.0], [3.0, 5.0]]) * i).numpy()
""",
            """\
import numpy as np
import tensorflow as tf
@tf.function
def standardize(x):
    mean = tf.reduce_mean(x, axis=0)
    for _ in range(6):
        x = tf.tanh(x - mean) + 0.1 * x
    return x / tf.maximum(tf.reduce_max(tf.abs(x)), 1.0)
for i in range(4):
    r = standardize(tf.constant([[1.0, 2.0], [3.0, 5.0]]) * i).numpy()
""",
            function="standardize",
            output=True,
        ),
        RepairExample(
            """\
import numpy as np
import tensorflow as tf
def spread(x):
    for _ in range(8):
        x = tf.sin(x) + 0.5 * x
    return np.max(x.numpy()), np.min(x.numpy())
for i in range(4):
    high, low = spread(tf.constant([1.0, 2.0]) * i)
    print(f"{high - low:.4f}")
""",
            """\
import numpy as np
import tensorflow as tf
@tf.function
def spread(x):
    for _ in range(8):
        x = tf.sin(x) + 0.5 * x
    return tf.reduce_max(x), tf.reduce_min(x)
for i in range(4):
    high, low = spread(tf.constant([1.0, 2.0]) * i)
    high = high.numpy()
    low = low.numpy()
    print(f"{high - low:.4f}")
""",
            function="spread",
            output=True,
        ),
    ),
    order=45,
)
