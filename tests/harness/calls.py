"""Counts calls, traces and distinct tensor specs of a program's hybrid functions, and exceptions that leave them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from types import CodeType, TracebackType
from typing import Any
from weakref import WeakKeyDictionary

#: The name under which an instrumented body finds its probe (in `builtins`).
PROBE = "__hybridize_probe__"
#: What is counted by function.
FIGURES = ("calls", "traces", "specs", "creators", "tensors")


class Escapes:
    """A context that notes the types of exceptions that leave the outermost watched call."""

    def __init__(self) -> None:
        self.types: list[str] = []
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, value: object, where: TracebackType | None) -> None:
        self._depth -= 1
        if kind is not None and self._depth == 0:
            self.types.append(kind.__name__)


class CallCounter:
    """Figures by function: how often called, how often traced, with how many distinct tensor arguments' specs."""

    def __init__(self, tensorflow: Any, is_own: Callable[[CodeType], bool], escapes: Escapes) -> None:
        self._tf = tensorflow
        self._is_own = is_own
        self._escapes = escapes
        self._seen: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._creators: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._specs: dict[str, set[str]] = {}
        self.figures: dict[str, dict[str, int]] = {}

    def install(self) -> None:
        """Watches every hybrid function's calls from now on. No function is kept alive by it."""
        kind: Any = type(self._tf.function(lambda: None))
        original = kind.__call__

        def call(function: Any, *args: Any, **keywords: Any) -> Any:
            code = _code(function)
            if code is None or not self._is_own(code):
                return original(function, *args, **keywords)
            name = code.co_qualname.replace(".<locals>", "")
            try:
                with self._escapes:
                    return original(function, *args, **keywords)
            finally:
                self._note(name, function, args, keywords)

        kind.__call__ = call

    def _note(self, name: str, function: Any, args: Any, keywords: Any) -> None:
        now = int(function.experimental_get_tracing_count())
        new = now - self._seen.get(function, 0)
        self._seen[function] = now
        figures = self.figures.setdefault(name, dict.fromkeys(FIGURES, 0))
        figures["calls"] += 1
        figures["tensors"] += _has_tensor(self._tf, (args, keywords))
        figures["traces"] += new
        specs = self._specs.setdefault(name, set())
        specs.add(str([*_specs(self._tf, args), *_specs(self._tf, sorted(keywords.items()))]))
        figures["specs"] = len(specs)
        # A function that creates variables is traced twice at first: that is no retrace.
        if getattr(function, "_created_variables", None) and function not in self._creators:
            self._creators[function] = True
            figures["creators"] += 1


def _code(function: Any) -> CodeType | None:
    """The code of what a hybrid function wraps."""
    found = getattr(function, "_python_function", None)
    for _ in range(20):
        nearer = getattr(found, "__func__", None) or getattr(found, "func", None)
        nearer = nearer or getattr(found, "__wrapped__", None)
        if nearer is None or nearer is found:
            break
        found = nearer
    code = getattr(found, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _specs(tf: Any, value: Any, depth: int = 0) -> list[str]:
    """Dtypes and shapes of the tensors in an argument; Python values are nothing."""
    if isinstance(value, (list, tuple)) and depth < 6:
        return [s for v in value for s in _specs(tf, v, depth + 1)]
    if isinstance(value, dict) and depth < 6:
        return [s for v in value.values() for s in _specs(tf, v, depth + 1)]
    if isinstance(value, (str, bytes)):
        return []
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return [f"{getattr(value.dtype, 'name', value.dtype)}{value.shape}"]
    return [str(value.element_spec)] if hasattr(value, "element_spec") else []


def _has_tensor(tf: Any, value: Any, depth: int = 0) -> bool:
    """Whether a tensor, variable or composite tensor is among the arguments; arrays are none."""
    if isinstance(value, (list, tuple, dict)) and depth < 6:
        inner = value.values() if isinstance(value, dict) else value
        return any(_has_tensor(tf, v, depth + 1) for v in inner)
    return isinstance(value, (tf.Tensor, tf.Variable, tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices))


def instrument(tree: ast.Module, names: Iterable[str] | None) -> None:
    """Puts the probe around the bodies of some functions, lines unchanged.

    Args:
        tree: a module, changed in place.
        names: lexical paths (`Class.method`); None: those with a decorator called `function`.
    """
    wanted = None if names is None else set(names)

    def visit(node: ast.AST, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
            inner = f"{path}.{child.name}".lstrip(".") if named else path  # type: ignore[attr-defined]
            visit(child, inner)
            if not isinstance(child, ast.FunctionDef) or _yields(child):
                continue
            if inner in wanted if wanted is not None else any(map(_is_hybrid, child.decorator_list)):
                _wrap(child)

    visit(tree, "")


def _is_hybrid(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return (decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")) == "function"


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(function))


def _wrap(function: ast.FunctionDef) -> None:
    body = function.body
    start = 1 if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1 else 0
    probe = ast.With([ast.withitem(ast.Name(PROBE, ast.Load()))], body[start:])
    ast.copy_location(probe, body[start])
    function.body = [*body[:start], probe]
    ast.fix_missing_locations(probe)
