"""The uses of a field or a global variable in the text of the whole project: what it takes to change what it holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Heap, Inst, Unknown, Value
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.repairs.model import Cause
from hybridize.repairs.source.bench import NOTHING, Bench
from hybridize.repairs.source.text import FunctionNode, SourceFile
from hybridize.source.syntax import walk
from hybridize.tracing.views import position_of

_SAID: Final = regex(r"""(?:\.[\s\\]*|["'](?=\w+["']))(\w+)""")


@dataclass(frozen=True, slots=True)
class Use:
    """One place that reads or writes. `kind` is `read`, `write` (a plain assignment), `unpack` (one of several
    targets), `update` (`+=`) or `other`."""

    file: SourceFile
    node: ast.Attribute | ast.Name
    code: Code
    kind: str

    @property
    def function(self) -> FunctionNode | ast.Lambda | None:
        """The function that it is in, None at module level."""
        return self.file.function(self.node)

    @property
    def statement(self) -> ast.stmt:
        """The statement that it is in."""
        return self.file.statement(self.node)


def field_of(cause: Cause) -> tuple[Inst, str] | None:
    """The object and the field that a side effect writes."""
    effect = cause.reason.effect if cause.reason is not None else None
    if effect is None or effect.kind != "attribute" or not isinstance(effect.target, Inst):
        return None
    return effect.target, effect.detail


def field_uses(bench: Bench, owner: Inst, name: str) -> list[Use] | None:
    """Every use of a field of an object or its relatives; None where not all can be known."""
    key = ("field uses", owner, name)
    return bench.project.shared(key, lambda: _field_uses(bench, owner, name))


def _field_uses(bench: Bench, owner: Inst, name: str) -> list[Use] | None:
    owners = bench.instances(owner)
    found: list[Use] = []
    classes = set(_classes(owners))
    homes = {cls.path for cls in classes}
    # An attribute or a string: a file that has the word otherwise need not be parsed.
    for file in _files_with_field(bench, name):
        if name in file.named_in_calls:
            return None
        for node in file.attributes.get(name, ()):
            code = bench.code_around(file, node)
            if code is None:
                return None
            answer = _is_ours(bench, code, node, owners)
            if answer is None and file.path in homes and not owned_by_another(bench, file, node, classes):
                return None
            if answer:
                found.append(Use(file, node, code, kind_of_use(file, node)))
    return found


def read_by_strangers(bench: Bench, owner: Inst, name: str) -> str | None:
    """Where an object that nobody knows has such a field: it may be one of these, and its class derive from theirs."""
    owners = bench.instances(owner)
    homes = {cls.path for cls in _classes(owners)}
    for file in _files_with_field(bench, name):
        for node in file.attributes.get(name, ()) if file.path not in homes else ():
            code = bench.code_around(file, node)
            if code is None or _is_ours(bench, code, node, owners) is None:
                return f"{file.path}:{node.lineno}"
    return None


def _classes(owners: set[Heap]) -> Iterator[Code]:
    """The classes of some objects, with all their bases in the project."""
    for each in owners:
        if isinstance(each, Inst):
            for base in each.cls.mro:
                if isinstance(base, Class):
                    yield base.code


def owned_by_another(bench: Bench, file: SourceFile, node: ast.Attribute, classes: set[Code]) -> bool:
    """Whether an attribute is one of `self` in a method of a class that has nothing to do with some others."""
    function = file.function(node)
    if not isinstance(function, FunctionNode) or not isinstance(node.value, ast.Name):
        return False
    owner = file.parents[function]
    first = function.args.args[0].arg if function.args.args else ""
    if not isinstance(owner, ast.ClassDef) or node.value.id != first:
        return False
    code = bench.code(file.path, owner)
    return code is not None and code not in classes


def _files(bench: Bench, name: str) -> Iterator[SourceFile]:
    """The files whose text has a name as a word."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for module in bench.project.solution.program.modules.values():
        text = module.text.text if module.text is not None else ""
        if name in text and word.search(text):
            file = bench.file(module.code.path)
            if file is not None:
                yield file


def _files_with_field(bench: Bench, name: str) -> Iterator[SourceFile]:
    """The files whose text has a name as that of an attribute, or as a string."""
    for path in paths_with_field(bench, name):
        file = bench.file(path)
        if file is not None:
            yield file


def paths_with_field(bench: Bench, name: str) -> list[str]:
    """The same by their paths."""

    def look() -> list[str]:
        modules = [m for m in bench.project.solution.program.modules.values() if m.text is not None]
        texts = [(m.code.path, m.text.text) for m in modules if m.text is not None and name in m.text.text]
        return [path for path, text in texts if name in _names_said(bench, path, text)]

    return bench.project.shared(("files with field", name), look)


def _names_said(bench: Bench, path: str, text: str) -> frozenset[str]:
    """The words of a file that follow a dot, if behind blanks or on the next line, or that stand between quotes."""
    return bench.project.shared(("names said", path), lambda: frozenset(_SAID.findall(text)))


def _is_ours(bench: Bench, code: Code, node: ast.Attribute, owners: set[Heap]) -> bool | None:
    """Whether an attribute is that of one of some objects; None where nobody knows."""
    value = receiver(bench, code, node)
    if owners & set(value):
        return True
    if not value or any(isinstance(o, Unknown) for o in value):
        return None
    return False


def receiver(bench: Bench, code: Code, node: ast.Attribute) -> Value:
    """What an attribute is read from or written to."""
    places = {position_of(node)}
    found = NOTHING
    for instr in index_of(code).of(ir.Attr, ir.SetAttr, ir.DelAttr):
        if instr.name == node.attr and instr.position in places:
            found |= bench.values(code, instr.owner)
    return found


def kind_of_use(file: SourceFile, node: ast.Attribute | ast.Name) -> str:
    """What a place does with a field or variable, as `Use` says it."""
    parent = file.parents[node]
    if isinstance(node.ctx, ast.Load):
        return "read"
    if isinstance(node.ctx, ast.Del):
        return "other"
    if isinstance(parent, ast.AugAssign) and parent.target is node:
        return "update"
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and parent.targets[0] is node:
        return "write"
    if isinstance(parent, ast.AnnAssign) and parent.target is node and parent.value is not None:
        return "write"
    if isinstance(parent, (ast.Tuple, ast.List)) and isinstance(file.parents[parent], ast.Assign):
        return "unpack"
    return "other"


def global_uses(bench: Bench, path: str, name: str) -> list[Use] | None:
    """Every use of a module's variable; None where other modules may use it, too, or not all can be known."""
    home = bench.file(path)
    if home is None:
        return None
    for file in _files(bench, name):
        if file is home:
            continue
        for node in file.nodes:
            if isinstance(node, ast.ImportFrom) and any(a.name in (name, "*") for a in node.names):
                return None
            if isinstance(node, ast.Attribute) and node.attr == name:
                return None
    found: list[Use] = []
    for node in global_names(home, name):
        code = bench.code_around(home, node)
        if code is None:
            return None
        found.append(Use(home, node, code, kind_of_use(home, node)))
    return found


def global_names(file: SourceFile, name: str) -> list[ast.Name]:
    """The places where a file uses a variable of its own module."""
    return [n for n in file.nodes if isinstance(n, ast.Name) and n.id == name and not _is_local(file, n, name)]


def _is_local(file: SourceFile, node: ast.AST, name: str) -> bool:
    """Whether a name belongs to a function around it."""
    for scope in file.around(node):
        if not isinstance(scope, (FunctionNode, ast.Lambda)):
            continue
        inner = [n for n in walk(scope) if file.function(n) is scope]
        if any(isinstance(n, ast.Global) and name in n.names for n in inner):
            return False
        arguments = [a.arg for a in walk(scope.args) if isinstance(a, ast.arg)]
        stored = any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in inner)
        if stored or name in arguments:
            return True
    return False


def is_constructor(use: Use) -> bool:
    """Whether a use is in a method that makes the object."""
    function = use.function
    return isinstance(function, FunctionNode) and function.name in ("__init__", "__post_init__")


def is_preceded(file: SourceFile, writes: list[ast.stmt], node: ast.AST) -> bool:
    """Whether one of some statements has run whenever a node is reached, in the same round of every loop."""
    places = [node, *file.around(node)]
    for outer in places:
        if isinstance(outer, (FunctionNode, ast.Lambda, ast.Module)) and outer is not node:
            return False
        if not isinstance(outer, ast.stmt):
            continue
        for each in file.block(outer):
            if each is outer:
                break
            if _surely_runs(each, writes):
                return True
    return False


def _surely_runs(statement: ast.stmt, writes: list[ast.stmt]) -> bool:
    """Whether one of some statements runs whenever control comes behind this one."""
    if any(statement is each for each in writes):
        return True
    match statement:
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _some(body, writes) and not any("suppress" in ast.unparse(i) for i in statement.items)
        case ast.If(body=body, orelse=orelse):
            return (_some(body, writes) or _leaves(body)) and (_some(orelse, writes) or _leaves(orelse))
        case ast.For(body=body, iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))])):
            return count > 0 and _some(body, writes)
        case ast.Try(body=body, handlers=handlers, finalbody=final):
            rest = all(_some(h.body, writes) or _leaves(h.body) for h in handlers)
            return _some(final, writes) or (_some(body, writes) and rest)
    return False


def _some(block: list[ast.stmt], writes: list[ast.stmt]) -> bool:
    return any(_surely_runs(each, writes) for each in block)


def _leaves(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def is_filled(use: Use) -> bool:
    """Whether a use puts something into the list or dictionary that a field holds."""
    return isinstance(use.node, ast.Attribute) and fills(use.file, use.node)


def fills(file: SourceFile, node: ast.Attribute) -> bool:
    """Whether a statement puts something into what a field holds: `self.xs.append(x)`, `self.xs[key] = x`."""
    parent = file.parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return isinstance(parent.ctx, ast.Store) and isinstance(file.parents[parent], ast.Assign)
    call = file.parents[parent]
    return isinstance(parent, ast.Attribute) and isinstance(call, ast.Call) and isinstance(file.parents[call], ast.Expr)


def holds_new(uses: list[Use]) -> bool:
    """Whether all that some uses write to a field are new lists and dictionaries."""
    values = [getattr(use.statement, "value", None) for use in uses if use.kind != "read"]
    empty = ("list()", "dict()")
    return bool(values) and all(
        isinstance(v, (ast.List, ast.Dict)) or (isinstance(v, ast.Call) and ast.unparse(v) in empty) for v in values
    )
