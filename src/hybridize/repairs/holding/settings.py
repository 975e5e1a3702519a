"""A flag or number that changes between the calls, and that traced code only reads -> a `tf.Variable`, for HY802."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Heap, Inst, Lit, Mod, Unknown, Value
from hybridize.facts.calls.callgraph import extent, reachable
from hybridize.facts.origins import calls_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.repairs.holding.field_reads import all_uses, looked_through, owner_at, require_plain
from hybridize.repairs.holding.fields import Use, global_names, is_constructor, kind_of_use
from hybridize.repairs.holding.setting_reads import Reads, lazy_default
from hybridize.repairs.model import Cause, Change, NotOffered
from hybridize.repairs.source.bench import NOTHING, Bench, numbers
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import SourceFile, end, start
from hybridize.source.syntax import walk

_DTYPES: Final = {"int": "int64", "float": "float64", "bool": "bool"}
_METHODS: Final = {ast.Add: "assign_add", ast.Sub: "assign_sub"}


@dataclass(frozen=True, slots=True)
class _Setting:
    """A field or a variable of a module: its name, all its uses, what it may be."""

    name: str
    uses: list[Use]
    value: Value
    where: str


def propose_setting(bench: Bench, cause: Cause) -> Iterator[Change]:
    """What is read, where all reads do with a `tf.Variable` what they did with the number."""
    setting = _setting(bench, cause)
    if setting is None:
        return
    given = [o for o in setting.value if not (isinstance(o, Lit) and o.const is None)]
    kinds = numbers(given)
    if not given or kinds is None or len(kinds) != 1:
        raise NotOffered(f"`{setting.name}` is not always a number of one type")
    kind = kinds.pop()
    lazy = lazy_default(setting.uses) if len(given) < len(setting.value) else None
    if len(given) < len(setting.value) and lazy is None:
        raise NotOffered(f"`{setting.name}` is None at times")
    edits: list[TextEdit] = list(lazy.edits) if lazy is not None else []
    uses = [use for use in setting.uses if lazy is None or not lazy.covers(use)]
    made = False
    for use in uses:
        if use.kind in ("write", "update"):
            first = use.kind == "write" and _is_first(bench, use, kind, lazy is not None)
            made |= first
            edits.append(_made(use, kind, lazy.default if lazy else "") if first else _assigned(bench, use, kind))
        elif use.kind != "read":
            raise NotOffered(f"`{setting.name}` is used in a way that a `tf.Variable` does not serve")
    if not made:
        raise NotOffered(f"`{setting.name}` does not begin as a number in the constructor, or at the top of the module")
    reads = Reads(bench, setting.name, kind, _traced(bench, cause.function))
    for use in uses:
        edits += reads.served(use) if use.kind == "read" else ()
    if lazy is not None:
        edits += reads.returned(lazy.use)
    doubt = f"other code may want `{setting.name}` as a Python {kind}"
    if setting.where == "field":
        doubt += ", and a model that owns it saves it with its weights"
    spans = tuple((use.file.path, start(use.node), end(use.node)) for use in setting.uses)
    spans += tuple((use.file.path, start(use.statement), end(use.statement)) for use in uses if use.kind != "read")
    where = "the field" if setting.where == "field" else "the global variable"
    yield Change(
        tuple(dict.fromkeys(edits)), f"{where} `{setting.name}` becomes a `tf.Variable`", doubt, (), tuple(spans)
    )


def _traced(bench: Bench, own: Code) -> set[Code]:
    """The functions that run as a graph once the cause is gone: this one and its callees, and those that do already."""
    now = bench.project.shared("codes in graphs", lambda: _in_graphs(bench))
    return now | {own} | {each.code for frame in bench.frames(own) for each in reachable(frame)}


def _in_graphs(bench: Bench) -> set[Code]:
    solution = bench.project.solution
    roots = [frame for code in solution.world.hybrids for frame in bench.frames(code)]
    for frame in solution.world.frames:
        roots += [callee for _, callee in calls_of(frame, (How.GRAPH,))]
    return {each.code for each in extent(roots, frozenset())}


# What is read ---------------------------------------------------------------------------------------------------------


def _setting(bench: Bench, cause: Cause) -> _Setting | None:
    file = bench.file(cause.path)
    if file is None:
        return None
    effect = cause.reason.effect if cause.reason is not None else None
    if effect is not None and cause.reason is not None:
        return _global(bench, cause.reason.frame.module, effect.detail) if effect.kind == "global" else None
    name = cause.hit.about if cause.hit is not None and cause.code == "HY602" else ""
    if not name:
        return None
    for node in file.at(cause.place):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
            for owner in sorted(owner_at(bench, bench.code_around(file, node), node), key=repr):
                return _of(bench, owner, node.attr) if isinstance(owner, Heap) else None
        elif isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            home = next((m for m in bench.project.solution.world.modules.values() if m.code.path == file.path), None)
            return _global(bench, home, node.id) if home is not None else None
    return None


def _of(bench: Bench, owner: Heap, name: str) -> _Setting | None:
    if isinstance(owner, Mod):
        return _global(bench, owner, name)
    if not isinstance(owner, Inst):
        return None
    owners = bench.instances(owner)
    value = NOTHING
    for each in owners:
        value |= each.fields[name].value if name in each.fields else NOTHING
    if numbers(value) is None:
        raise NotOffered(f"`{name}` is not always a number of one type")
    require_plain(bench, owners, name)
    uses = all_uses(bench, owners, name)
    seen = looked_through(bench, owners, name)
    if seen:
        raise NotOffered(f"all fields are read ({seen})")
    for each in owners:
        cell = each.fields.get(name)
        begun = isinstance(each, Inst) and any(
            use.kind == "write"
            and is_constructor(use)
            and use.code.parent in {getattr(c, "code", None) for c in each.cls.mro}
            for use in uses
        )
        if cell is not None and not begun:
            raise NotOffered(f"`{name}` does not begin in the constructor")
    return _Setting(name, uses, value, "field")


def _global(bench: Bench, home: Mod, name: str) -> _Setting | None:
    """A variable of a module, with its uses there, and by other modules as an attribute of this one."""
    own = bench.file(home.code.path)
    cell = home.fields.get(name)
    if own is None or cell is None:
        return None
    uses: list[Use] = []
    for node in global_names(own, name):
        code = bench.code_around(own, node)
        if code is None:
            raise NotOffered(f"`{name}` is used in a class body")
        uses.append(Use(own, node, code, kind_of_use(own, node)))
    for module in bench.project.solution.program.modules.values():
        text = module.text.text if module.text is not None else ""
        if name not in text or module.code.path == home.code.path:
            continue
        file = bench.file(module.code.path)
        if file is None or name in file.named_in_calls or _takes(file, name):
            raise NotOffered(f"`{name}` is used in {module.code.path}")
        for each in file.attributes.get(name, ()):
            code = bench.code_around(file, each)
            value = owner_at(bench, code, each)
            if home in value and code is not None:
                uses.append(Use(file, each, code, kind_of_use(file, each)))
            elif not value or any(isinstance(o, Unknown) for o in value):
                raise NotOffered(f"`{name}` is used of something unknown at {file.path}:{each.lineno}")
    return _Setting(name, uses, cell.value, "global")


def _takes(file: SourceFile, name: str) -> bool:
    """Whether a file imports a name, or all names and uses this one: it has the value of that moment."""
    imports = [n for n in file.nodes if isinstance(n, ast.ImportFrom)]
    if any(alias.name == name for n in imports for alias in n.names):
        return True
    return any(alias.name == "*" for n in imports for alias in n.names) and name in file.used


# How it is written ----------------------------------------------------------------------------------------------------


def _is_first(bench: Bench, use: Use, kind: str, lazy: bool) -> bool:
    """Whether an assignment makes the variable: in the constructor, or the first at the top of the module."""
    statement = use.statement
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    if isinstance(use.node, ast.Attribute):
        found = bench.stored(use.code, statement)
        plain = is_constructor(use) and isinstance(use.file.parents[statement], ast.FunctionDef)
        return plain and bool(found) and (numbers(found) or {""}) <= {kind, *(("int",) if kind == "float" else ())}
    if statement not in use.file.tree.body:
        return False
    constant = isinstance(statement.value, ast.Constant) and (lazy == (statement.value.value is None))
    names = [n for n in use.file.bound.get(use.node.id, ()) if isinstance(n, ast.Name)]
    return constant and all(n is use.node or start(n) > start(use.node) for n in names)


def _made(use: Use, kind: str, default: str) -> TextEdit:
    tf, value = use.file.tensorflow, getattr(use.statement, "value", None)
    if tf is None or not isinstance(value, ast.expr):
        raise NotOffered(f"{use.file.path} does not import TensorFlow")
    text = default or use.file.source(value)
    return use.file.replace(value, f"{tf}.Variable({text}, dtype={tf}.{_DTYPES[kind]}, trainable=False)")


def _assigned(bench: Bench, use: Use, kind: str) -> TextEdit:
    statement, file, name = use.statement, use.file, use.file.source(use.node)
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr) or name != ast.unparse(use.node) or isinstance(statement, ast.AnnAssign):
        raise NotOffered(f"`{name}` is written in a way that a `tf.Variable` does not serve")
    last = name.rpartition(".")[2]
    inner = [] if isinstance(value, ast.Name) else list(walk(value))
    if any(last in (getattr(n, "attr", ""), getattr(n, "id", "")) for n in inner):
        raise NotOffered(f"`{name}` is read and written at once")
    found = bench.stored(use.code, statement)
    if not found or not (numbers(found) or {""}) <= {kind, *(("int",) if kind == "float" else ())}:
        raise NotOffered(f"it is not known what line {statement.lineno} of {file.path} gives `{name}`")
    method = "assign"
    if isinstance(statement, ast.AugAssign):
        method = _METHODS.get(type(statement.op), "")
        if not method or kind == "bool":
            raise NotOffered(f"`{name}` is changed in a way that a `tf.Variable` does not serve")
    return TextEdit(file.path, start(statement), end(statement), f"{name}.{method}({file.source(value)})")
