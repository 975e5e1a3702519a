"""Who looks at the fields of an object: every place in the project, whole-object reads included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import Class, Func, Heap, Inst, Lib, Lit, Obj, Tup, Unknown, Value
from hybridize.library.index.lookup import lookup
from hybridize.program.ir import Code
from hybridize.regex import regex
from hybridize.repairs.holding.fields import Use, kind_of_use, owned_by_another, paths_with_field, receiver
from hybridize.repairs.model import NotOffered
from hybridize.repairs.source.bench import NOTHING, Bench
from hybridize.repairs.source.text import SourceFile

#: Built-in and library functions that look at all fields of an object, by the last part of their names.
_WHOLE: Final = frozenset("vars dir copy deepcopy dump dumps getmembers asdict astuple attrgetter pprint".split())
#: What one of these calls must be written with, as a quick look at a file.
_WORDS: Final = regex(
    r"\b(?:vars|dir|getattr|copy|deepcopy|dumps?|getmembers|asdict|astuple|attrgetter|pprint)\(|__dict__"
)
_DEEP: Final = 2000


def all_uses(bench: Bench, owners: set[Heap], name: str) -> list[Use]:
    """Every use of a field; raises NotOffered for a read of an object that may be one of these."""
    homes = {base.code for o in owners if isinstance(o, Inst) for base in o.cls.mro if isinstance(base, Class)}
    found: list[Use] = []
    for file in _files(bench, name):
        if name in file.named_in_calls:
            raise NotOffered(f"`{name}` is named in a string ({file.path})")
        for node in file.attributes.get(name, ()):
            code = bench.code_around(file, node)
            value = owner_at(bench, code, node)
            ours = bool(owners & set(value))
            if ours and code is not None:
                found.append(Use(file, node, code, kind_of_use(file, node)))
                continue
            unclear = ours or not value or any(isinstance(o, Unknown) for o in value)
            if unclear and not isinstance(node.ctx, ast.Store) and not owned_by_another(bench, file, node, homes):
                raise NotOffered(f"`{name}` is read of something unknown at {file.path}:{node.lineno}")
    return found


def _files(bench: Bench, name: str) -> Iterator[SourceFile]:
    """The files that have a name as an attribute or a string."""
    for path in paths_with_field(bench, name):
        file = bench.file(path)
        if file is None:
            raise NotOffered(f"{path} cannot be read")
        yield file


def owner_at(bench: Bench, code: Code | None, node: ast.Attribute) -> Value:
    """What an attribute is read from or written to; nothing where that is not known."""
    return receiver(bench, code, node) if code is not None else NOTHING


def looked_through(bench: Bench, owners: set[Heap], name: str) -> str:
    """Where code may look at a field of some objects, or of what holds them, without its name; empty if nowhere."""
    homes = {o.cls.code.path for o in owners if isinstance(o, Inst)}
    for path, line, value, names in bench.project.shared("whole reads", lambda: list(_whole_reads(bench))):
        if names is not None and name not in names:
            continue
        if owners & _held(value) or (path in homes and any(isinstance(o, Unknown) for o in value)):
            return f"{path}:{line}"
    return ""


def _whole_reads(bench: Bench) -> Iterator[tuple[str, int, Value, frozenset[object] | None]]:
    """The places where code looks at all fields of an object, with that object, and the names where they are known."""
    for module in bench.project.solution.program.modules.values():
        text = module.text.text if module.text is not None else ""
        file = bench.file(module.code.path) if _WORDS.search(text) else None
        if file is None:
            continue
        for whole in file.attributes.get("__dict__", ()):
            yield file.path, whole.lineno, owner_at(bench, bench.code_around(file, whole), whole), None
        for node in file.nodes:
            if isinstance(node, ast.Call) and node.args and _takes_whole(node):
                yield file.path, node.lineno, bench.operand(file, node.args[0]), _names(bench, file, node)


def _names(bench: Bench, file: SourceFile, call: ast.Call) -> frozenset[object] | None:
    """The names that a call of `getattr` may be given; None where they are not known."""
    if not isinstance(call.func, ast.Name) or call.func.id != "getattr":
        return None
    value = bench.operand(file, call.args[1])
    known = value and all(isinstance(o, Lit) and not o.varies for o in value)
    return frozenset(o.const for o in value if isinstance(o, Lit)) if known else None


def _takes_whole(call: ast.Call) -> bool:
    func = call.func
    name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    if name == "getattr":
        return len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)
    return name in _WHOLE


def _held(value: Value) -> set[Obj]:
    """Some objects with all that they hold."""

    def inner(each: Obj) -> list[Obj]:
        if isinstance(each, Heap) and not isinstance(each, Class):
            return [o for cell in each.fields.values() for o in cell.value]
        return [o for part in each.items for o in part] if isinstance(each, Tup) else []

    return set(closure(value, inner, _DEEP))


# What a class itself does with its fields ----------------------------------------------------------------------------


def require_plain(bench: Bench, owners: set[Heap], name: str) -> None:
    """Raises NotOffered where a read or write of a field is more than that: properties, hooks, fields of libraries."""
    classes = {base for o in owners if isinstance(o, Inst) for base in o.cls.mro if isinstance(base, Class)}
    if is_hook(owners, name) or any(_is_special(bench, cls, name) for cls in classes):
        raise NotOffered(f"the class has a say in what `{name}` is")


def _is_special(bench: Bench, cls: Class, name: str) -> bool:
    """Whether a class makes something else of a plain read or write of a field, or compares and shows all fields."""
    if any(hook in cls.fields for hook in ("__getattribute__", "__setattr__", "__slots__")):
        return True
    cell = cls.fields.get(name)
    if cell is not None and any(isinstance(o, (Func, Heap)) for o in cell.value):
        return True
    node = bench.project.node(cls.code)
    decorators: list[ast.expr] = node.decorator_list if isinstance(node, ast.ClassDef) else []
    return any(word in ast.unparse(d) for d in decorators for word in ("dataclass", "attr", "define"))


def is_hook(owners: set[Heap], name: str) -> bool:
    """Whether a name means something to a base outside of the project, or to Python."""
    if name.startswith("__") and name.endswith("__"):
        return True
    bases = {base for o in owners if isinstance(o, Inst) for base in o.cls.mro if not isinstance(base, Class)}
    return any(not isinstance(base, Lib) or lookup(f"{base.name}.{name}") is not None for base in bases)
