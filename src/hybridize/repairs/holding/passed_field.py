"""A field that helpers of one call read -> an argument that the call hands to them, for HY803."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.repairs.holding.fields import Use, is_preceded
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import local_name
from hybridize.repairs.source.text import FunctionNode, SourceFile, end
from hybridize.source.syntax import walk


@dataclass(frozen=True, slots=True)
class Passed:
    """The edits in the helpers, what is inserted at their calls (by call), and the names of the helpers."""

    edits: tuple[TextEdit, ...]
    calls: tuple[tuple[ast.Call, str], ...]
    helpers: tuple[str, ...]


def passed(
    bench: Bench, file: SourceFile, own: FunctionNode, groups: Sequence[list[Use]], name: str, writes: list[ast.stmt]
) -> Passed | None:
    """How helpers get a field as an argument, each group being the uses in one; None where they cannot.

    A helper only reads the field of its own `self`, and is called by `own` alone, behind what writes the field.
    """
    edits: list[TextEdit] = []
    calls: list[tuple[ast.Call, str]] = []
    helpers: list[str] = []
    for uses in groups:
        helper = uses[0].function
        if not isinstance(helper, ast.FunctionDef) or uses[0].file is not file or helper.decorator_list:
            return None
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk(helper)):
            return None  # it reads the field when somebody asks for more, which may be after another write
        receiver = _receiver(helper)
        if receiver is None or any(u.kind != "read" or file.source(u.node) != f"{receiver}.{name}" for u in uses):
            return None
        sites = _calls(bench, file, own, uses[0].code, writes)
        if sites is None:
            return None
        given = local_name(helper, name)
        edits.append(file.insert(end(helper.args.args[-1]), f", {given}"))
        edits += [file.replace(use.node, given) for use in uses]
        calls += [(call, given) for call in sites]
        helpers.append(helper.name)
    return Passed(tuple(edits), tuple(calls), tuple(helpers))


def _receiver(helper: FunctionNode) -> str | None:
    """The name of `self` in a method to whose parameters one can be added at the end."""
    args = helper.args
    if args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults or not args.args:
        return None
    return args.args[0].arg


def _calls(
    bench: Bench, file: SourceFile, own: FunctionNode, helper: Code, writes: list[ast.stmt]
) -> list[ast.Call] | None:
    """The calls of a helper, if all are `self.helper(...)` in a function, behind some of its statements."""
    found: list[ast.Call] = []
    for site, pos in bench.call_sites(helper) or ():
        node = bench.call_node(site, pos, helper)
        if node is None or node[0] is not file or file.function(node[1]) is not own:
            return None
        call = node[1]
        starred = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
        to_self = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == own.args.args[0].arg
        if starred or not to_self or not is_preceded(file, writes, call):
            return None
        found.append(call)
    return found or None


def handed(file: SourceFile, call: ast.Call, given: str, local: str) -> TextEdit:
    """The edit that adds an argument to a call."""
    last = [*call.args, *(k.value for k in call.keywords)]
    line, column = end(call)
    place = max(end(each) for each in last) if last else (line, column - 1)
    return file.insert(place, f"{', ' if last else ''}{given}={local}")
