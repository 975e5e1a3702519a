"""The `tf.function` of a hybrid function: its arguments as values and as source."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import BOTTOM, Lit, Value
from hybridize.facts.model import Hybridization
from hybridize.program.ir import Code
from hybridize.source.syntax import walk
from hybridize.tracing.views import FunctionView


def places(function: FunctionView) -> list[tuple[Code, int]]:
    """Where the function is made hybrid: (the code that does it, position)."""
    found = function.project.solution.world.hybrids.get(function.code, {})
    return sorted(found, key=lambda place: (place[0].path, place[1]))


def option(function: FunctionView, name: str) -> Value:
    """The value of an argument of `tf.function`, over all places; bottom where it is not given."""
    result = BOTTOM
    for options in function.project.solution.world.hybrids.get(function.code, {}).values():
        result |= options.get(name, BOTTOM)
    return result


def is_true(value: Value) -> bool:
    """Whether a value is the constant True and nothing else."""
    return bool(value) and all(isinstance(o, Lit) and o.const is True for o in value)


def is_false(value: Value) -> bool:
    """Whether a value is the constant False and nothing else."""
    return bool(value) and all(isinstance(o, Lit) and o.const is False for o in value)


def decorator_position(function: FunctionView) -> int:
    """Where the decorator (or the explicit call) stands; the position of the function where it cannot be told."""
    found = places(function)
    return found[0][1] if found else function.code.position


def _call_keywords(function: FunctionView, made: Hybridization) -> Iterator[tuple[str, ast.keyword]]:
    """Those of `tf.function(f, ...)`, where that stands in the function's own file."""
    module = function.project.module(function.code.path)
    for node in walk(module) if module is not None else ():
        here = node if isinstance(node, ast.Call) and node.lineno == made.line else None
        if here is not None and ast.unparse(here.func).rpartition(".")[2] == "function":
            yield from ((keyword.arg, keyword) for keyword in here.keywords if keyword.arg is not None)


def decorator_keywords(function: FunctionView) -> Iterator[tuple[str, ast.keyword]]:
    """The keyword arguments of the decorator, or of the call that makes the function hybrid, as they stand there."""
    made = function.facts.hybridization
    if made is not None and not made.is_decorator:
        yield from _call_keywords(function, made)
    for node in function.code.decorators:
        if made is not None and node.lineno == made.line and isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is not None:
                    yield keyword.arg, keyword
