"""Code that a hybrid function holds, or calls, and never comes to while it is traced.

    @when(tf.function, mode in ("fast", "faster"))
    def step(x):
        if mode == "slow":  # only where the decorator is left out
            ...
        draw(x, shuffle=False)  # what `draw` does under `if shuffle:` is not done here

Flow merges calls, and knows nothing of what one condition says of another: these are compared as they are written. That
a condition that holds applies the decorator is taken for granted: what is found is a doubt, and no proof.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Value
from hybridize.program.ir import Code
from hybridize.rules.model import RuleHit
from hybridize.source.syntax import walk
from hybridize.tracing.autograph.choices import Choice, around, choices
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.views import FunctionView

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_unreached(function: FunctionView, hit: RuleHit) -> bool:
    """Whether a hit stands where no trace of the function comes to."""
    steps = [(hit.path, hit.line), *[(step.path, step.line) for step in hit.evidence]]
    return _is_unapplied(function, [line for path, line in steps if path == function.code.path]) or _is_untaken(
        function, hit
    )


def _is_untaken(function: FunctionView, hit: RuleHit) -> bool:
    """Whether none of the calls that the function makes of what has the hit takes the branch that it stands in."""
    project = function.project
    within = extent_of(function)
    found = [f for f in project.extents.frames(within) if f.code.path == hit.path and _holds(f.code, hit.line)]
    code = max((f.code for f in found), key=lambda each: each.line, default=None)
    if code is None or code is function.code or not isinstance(code.node, _FUNCTIONS):
        return False
    asked = _of_parameters(code, hit.line)
    if not asked:
        return False
    frames = [frame for frame in found if frame.code is code]
    calls = [
        args
        for frame in frames
        for (caller, _), args in frame.incoming.items()
        if caller is not None and project.extents.has(within, caller)
    ]
    return bool(calls) and all(any(_excludes(args[i], choice) for i, choice in asked) for args in calls)


def _holds(code: Code, line: int) -> bool:
    return code.line <= line <= code.end_line


def _of_parameters(code: Code, line: int) -> list[tuple[int, Choice]]:
    """What the branches around a line say of parameters that keep what they were given, by their places."""
    assert isinstance(code.node, _FUNCTIONS)
    bound = {node.id for node in walk(code.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    places = {param.name: i for i, param in enumerate(code.params) if param.name not in bound}
    return [(places[each.path], each) for each in around(code.node.body, line) if each.path in places]


def _excludes(value: Value, choice: Choice) -> bool:
    return bool(value) and all(isinstance(o, Lit) and not o.varies and not choice.admits(o.const) for o in value)


def _is_unapplied(function: FunctionView, lines: list[int]) -> bool:
    """Whether some of the lines, all of its own file, are reached only where a function's decorator is not applied."""
    made = function.facts.hybridization
    code = function.code
    if made is None or not made.conditional or not isinstance(code.node, _FUNCTIONS):
        return False
    applied = [choice for node in code.decorators for choice in _of_decorator(node)]
    outer = [choice for choice in applied if choice.path.partition(".")[0] not in _own(code)]
    return any(
        first.contradicts(second)
        for line in lines
        if code.line <= line <= code.end_line
        for second in around(code.node.body, line)
        for first in outer
    )


def _own(code: Code) -> frozenset[str]:
    """The names that a function binds itself: others than those that its decorators read."""
    return frozenset(code.slot_names.values()) | {param.name for param in code.params} | code.cells


def _of_decorator(node: ast.expr) -> Iterator[Choice]:
    """What holds where a decorator is applied: its condition, or what it is given besides `tf.function`."""
    if isinstance(node, ast.IfExp):
        plain = isinstance(node.body, ast.Lambda)
        yield from choices(node.test, not plain)
    elif isinstance(node, ast.Call):
        for given in (*node.args, *[keyword.value for keyword in node.keywords]):
            yield from choices(given, True)
        if isinstance(node.func, (ast.IfExp, ast.Call)):
            yield from _of_decorator(node.func)
