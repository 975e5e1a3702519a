"""`.numpy()` in the middle of a computation -> the computation on the tensor itself, for HY805."""

from __future__ import annotations

import ast
from typing import Final

from hybridize.repairs.model import Change, NotOffered
from hybridize.repairs.source.bench import Bench, dtypes, is_tensor
from hybridize.repairs.source.numpy_forms import METHODS, dtype_text
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.syntax import walk

_REDUCED: Final = frozenset({"axis", "keepdims"})
_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_SHOWN: Final = "print"


def dropped(bench: Bench, file: SourceFile, node: ast.Call, tf: str) -> Change | None:
    """The change for one `x.numpy()`; None where it is something else.

    Raises:
        NotOffered: where what becomes of the array is not what a tensor serves.
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "numpy" or node.args or node.keywords:
        return None
    inner = node.func.value
    value = bench.operand(file, inner)
    kinds = dtypes(value)
    if not is_tensor(value) or len(kinds) != 1 or None in kinds:
        raise NotOffered("it is not known what tensor the array is of")
    dtype = str(next(iter(kinds)))
    source = file.source(inner)
    whole, text, after = _method(file, node, source, dtype, tf) or (node, source, dtype)
    if isinstance(inner, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)) and whole is node:
        text = f"({text})"
    _serves(bench, file, whole, after, tf)
    edit = file.replace(whole, text)
    doubt = "what was an array is a tensor, here and where it goes; the last digit may be another"
    span = (file.path, start(whole), end(whole))
    return Change((edit,), f"`{file.source(whole)}` is computed as `{text}`", doubt, spans=(span,))


def _method(file: SourceFile, node: ast.Call, source: str, dtype: str, tf: str) -> tuple[ast.expr, str, str] | None:
    """A method or field of the array that is asked at once: the expression, TensorFlow's for it, and its dtype."""
    asked = file.parents[node]
    if not isinstance(asked, ast.Attribute):
        return None
    if asked.attr == "T":
        return asked, f"{tf}.transpose({source})", dtype
    call = file.parents[asked]
    if not isinstance(call, ast.Call) or call.func is not asked or any(isinstance(a, ast.Starred) for a in call.args):
        raise NotOffered(f"`{asked.attr}` of an array")
    if asked.attr == "astype" and len(call.args) == 1 and not call.keywords:
        wanted = dtype_text(call.args[0], tf)
        if wanted is not None:
            return call, f"{tf}.cast({source}, {wanted})", wanted.rpartition(".")[2]
    if asked.attr == "reshape" and call.args and not call.keywords:
        given = call.args[0] if len(call.args) == 1 else None
        sizes = [file.source(a) for a in call.args]
        listed = isinstance(given, (ast.List, ast.Tuple))
        shape = sizes[0] if listed else f"[{', '.join(sizes)}]"
        return call, f"{tf}.reshape({source}, {shape})", dtype
    twin = METHODS.get(asked.attr)
    words = {k.arg for k in call.keywords}
    if twin is None or len(call.args) > 1 or not words <= _REDUCED:
        raise NotOffered(f"`{asked.attr}` of an array")
    floats = dtype.startswith("float") or asked.attr in ("max", "min", "argmax", "argmin", "any", "all", "copy")
    if asked.attr in ("any", "all") and dtype != "bool":
        raise NotOffered(f"`{asked.attr}` of numbers")
    if not floats:
        raise NotOffered(f"`{asked.attr}` of whole numbers comes out with another dtype")
    if asked.attr.startswith("arg") and not call.args and "axis" not in words:
        return call, f"{tf}.{twin}({tf}.reshape({source}, [-1]))", "int64"
    more = [file.source(a) for a in call.args] + [f"{k.arg}={file.source(k.value)}" for k in call.keywords]
    after = "int64" if asked.attr.startswith("arg") else "bool" if asked.attr in ("any", "all") else dtype
    return call, f"{tf}.{twin}({', '.join([source, *more])})", after


def _serves(bench: Bench, file: SourceFile, node: ast.expr, dtype: str, tf: str, depth: int = 0) -> None:
    """Raises unless a tensor will do where an array stands; `dtype` is the array's."""
    parent = file.parents[node]
    refused = NotOffered(f"what becomes of `{file.source(node)}` is not what a tensor serves")
    match parent:
        case ast.BinOp(op=op) if isinstance(op, _ARITHMETIC):
            other = parent.right if parent.left is node else parent.left
            if _is_of(bench, file, other, dtype):
                return None  # beside a tensor an array has become one before
            if _agrees(other, dtype):
                return _serves(bench, file, parent, dtype, tf, depth)
        case ast.UnaryOp(op=ast.USub()):
            return _serves(bench, file, parent, dtype, tf, depth)
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            return None
        case ast.Subscript(ctx=ast.Load(), slice=ast.Constant() | ast.Slice()) if parent.value is node:
            return _serves(bench, file, parent, dtype, tf, depth)
        case ast.Call() if node in parent.args:
            name = ast.unparse(parent.func)
            if name.startswith(f"{tf}.") or name in (_SHOWN, "float", "int") or name.startswith("np."):
                return None
        case ast.AugAssign() if parent.value is node:
            return None
        case ast.Assign(targets=[ast.Name(id=name)]) if depth < 3:
            return _named(bench, file, parent, name, dtype, tf, depth)
    raise refused


def _named(bench: Bench, file: SourceFile, statement: ast.Assign, name: str, dtype: str, tf: str, depth: int) -> None:
    own = file.function(statement)
    if not isinstance(own, FunctionNode):
        raise NotOffered(f"`{name}` is not local")
    for use in walk(own):
        if isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load):
            if isinstance(file.parents[use], ast.FormattedValue):
                continue
            _serves(bench, file, use, dtype, tf, depth + 1)


def _agrees(other: ast.expr, dtype: str) -> bool:
    """Whether a number leaves the dtype as it is, in NumPy and in TensorFlow alike."""
    if isinstance(other, ast.UnaryOp):
        other = other.operand
    if not isinstance(other, ast.Constant) or type(other.value) not in (int, float):
        return False
    return dtype.startswith("float") or type(other.value) is int


def _is_of(bench: Bench, file: SourceFile, other: ast.expr, dtype: str) -> bool:
    """Whether an operand is a tensor of this dtype."""
    value = bench.operand(file, other)
    return is_tensor(value) and dtypes(value) == {dtype}
