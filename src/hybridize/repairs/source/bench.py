"""What a repair has to hand: the files of the project, and what the analysis found at a place in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from hybridize.domain.objects import (
    Bound,
    Cell,
    Func,
    Heap,
    Inst,
    Lib,
    Lit,
    Mod,
    Obj,
    Prim,
    Tensor,
    Unknown,
    Value,
    Wrapper,
)
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.calls.work import Counts
from hybridize.facts.gain.benefit import Benefits
from hybridize.facts.symbolic import holds_tensor
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes
from hybridize.records import dataclass, field
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, numbered, start
from hybridize.source.roles import Role
from hybridize.source.syntax import walk
from hybridize.source.versions import Versions
from hybridize.tracing.views import FrameView, ProjectView, position_of

NOTHING: Value = frozenset()


@dataclass(eq=False)
class Bench:
    """The project, shared by all repairs of one run of the analysis.

    `stuck` are the functions that do what a graph cannot, whoever calls them.
    """

    project: ProjectView
    stuck: frozenset[Code] = frozenset()
    _files: dict[str, SourceFile | None] = field(default_factory=dict)
    _codes: dict[str, dict[int, Code]] | None = None
    _promised: dict[str | Code, set[str]] = field(default_factory=dict)

    def file(self, path: str) -> SourceFile | None:
        """A file of the project; None for what does not parse."""
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: str) -> SourceFile | None:
        tree, read = self.project.module(path), self.project.source(path)
        if tree is None or read is None:
            return None
        return SourceFile(path, read.text, tree, read.cells, self._handed)

    def fresh(self, file: SourceFile, wanted: str, method: Code | None = None) -> str:
        """A name that a file does not use, nor any change so far that promises to make it there.

        For a name beside a method it is one that no class has which its own derives from, or which derives from that;
        where some of these are unknown, one that no function of the program has.
        """
        if method is None:
            return file.fresh(wanted, self._promised.get(file.path, frozenset()))
        classes = self._relatives(method)
        taken = self._functions if classes is None else frozenset[str]().union(*map(self._members, classes))
        promised = self._promised.values() if classes is None else (self._promised.get(c, ()) for c in classes)
        return numbered(wanted, taken.union(*promised))

    def _relatives(self, method: Code) -> list[Code] | None:
        """The classes that share methods with that of a method; None where not all are known."""
        own = self.project.solution.world.classes.get(method.parent, ()) if method.parent is not None else ()
        related = dict.fromkeys(each for cls in own for one in (cls, *cls.subclasses) for each in one.line)
        if not related or any(each.foreign for each in related):
            return None
        return list(dict.fromkeys(each.code for each in related))

    def _members(self, cls: Code) -> frozenset[str]:
        """The names of the functions in a class, and of the attributes that its methods use."""

        def look() -> frozenset[str]:
            codes = list(walk_codes(cls))
            used = (instr.name for code in codes for instr in index_of(code).of(ir.Attr, ir.SetAttr, ir.DelAttr))
            return frozenset((*(code.name for code in codes), *used))

        return self.project.shared(("members", cls), look)

    @cached_property
    def _functions(self) -> frozenset[str]:
        """The names of all functions of the program."""
        modules = self.project.solution.program.modules.values()
        return frozenset(code.name for module in modules for code in walk_codes(module.code))

    def promise(self, file: SourceFile, *names: str, method: Code | None = None) -> None:
        """Notes names that a change makes in a file, or beside a method: it may be made together with others."""
        home = file.path if method is None or method.parent is None else method.parent
        self._promised.setdefault(home, set()).update(names)

    @cached_property
    def benefits(self) -> Benefits:
        """The work of functions, and how often their places run."""
        return Benefits(set(self.project.solution.world.hybrids), Counts())

    def _handed(self, file: SourceFile) -> str | None:
        """The name under which a file has TensorFlow from another module of the project (`from package import tf`)."""
        homes = self.project.shared("modules by path", self._homes)
        home = homes.get(file.path)
        for node in file.tree.body if home is not None else ():
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                name = alias.asname or alias.name
                cell = home.fields.get(name) if home is not None else None
                value = cell.value if cell is not None else NOTHING
                is_it = bool(value) and all(isinstance(o, Lib) and o.name == "tf" for o in value)
                if is_it and len(file.bound.get(name, ())) == 1:  # asked last, for it goes through the whole file
                    return name
        return None

    def _homes(self) -> dict[str, Mod]:
        return {module.code.path: module for module in self.project.solution.world.modules.values()}

    def with_tensorflow(self, path: str) -> tuple[SourceFile, str] | None:
        """A file of the project, and its name for TensorFlow; None where it has none, or is not rewritten."""
        file = self.file(path)
        return (file, file.tensorflow) if file is not None and file.tensorflow is not None else None

    @property
    def versions(self) -> Versions:
        """The releases in use."""
        return self.project.versions

    def has_several_calls(self, code: Code) -> bool:
        """Whether a function is called at more than one place, or in a loop of another: by the text, whatever runs."""
        frames = self.frames(code)
        sites = {(caller.code, pos) for frame in frames for caller, pos in frame.incoming if caller is not None}
        return len(sites) > 1 or any(pos in index_of(caller).looped for caller, pos in sites)

    def is_library(self, path: str) -> bool:
        """Whether a file is for others to import."""
        return self.project.roles.of(path) is Role.LIBRARY

    # From syntax to the solution -------------------------------------------------------------------------------------

    def code(self, path: str, node: ast.AST | None) -> Code | None:
        """The function (module for None) that a syntax node defines."""
        if self._codes is None:
            self._codes = {}
            for module in self.project.solution.program.modules.values():
                codes = self._codes.setdefault(module.code.path, {})
                for code in walk_codes(module.code):
                    codes.setdefault(-1 if code is module.code else code.position, code)
        return self._codes.get(path, {}).get(-1 if node is None else position_of(node))

    def code_around(self, file: SourceFile, node: ast.AST) -> Code | None:
        """The function (or module) whose code a node is; None inside class bodies."""
        scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
        owner = next((n for n in file.around(node) if isinstance(n, scopes)), None)
        return None if isinstance(owner, ast.ClassDef) else self.code(file.path, owner)

    def frames(self, code: Code) -> list[Frame]:
        """The live frames of a function."""
        return self.project.solution.frames.get(code, [])

    def call(self, file: SourceFile, node: ast.Call) -> tuple[Code, ir.Call] | None:
        """The function that a call is in, and its instruction."""
        code = self.code_around(file, node)
        if code is None:
            return None
        instrs = index_of(code).calls.get(position_of(node), ())
        chain = sorted((n for n in file.at(start(node)) if isinstance(n, ast.Call)), key=end)
        return (code, instrs[chain.index(node)]) if len(chain) == len(instrs) else None

    def argument_slots(self, file: SourceFile, node: ast.Call) -> tuple[Code, dict[ast.expr, int]] | None:
        """The slots of a call's arguments, by their syntax."""
        found = self.call(file, node)
        if found is None:
            return None
        code, instr = found
        slots = {a: slot for a, (slot, _) in zip(node.args, instr.arguments, strict=False)}
        slots.update({k.value: slot for k, (_, slot) in zip(node.keywords, instr.keywords, strict=False)})
        return code, slots

    def text_slots(self, file: SourceFile, node: ast.JoinedStr) -> tuple[Code, dict[ast.expr, int]] | None:
        """The slots of the values in an f-string."""
        code = self.code_around(file, node)
        instrs = (
            [i for i in index_of(code).at(position_of(node)) if isinstance(i, ir.Format)] if code is not None else []
        )
        shown = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
        fitting = [i for i in instrs if len(i.values) == len(shown)]
        return (code, dict(zip(shown, fitting[-1].values, strict=True))) if code is not None and fitting else None

    def values(self, code: Code, slot: int) -> Value:
        """What a slot holds in any context."""
        found = NOTHING
        for frame in self.frames(code):
            found |= (frame.vals[slot] or NOTHING) if slot >= 0 else NOTHING
        return found

    def views(self, code: Code) -> Iterator[FrameView]:
        """A function in each of its contexts."""
        for frame in self.frames(code):
            yield FrameView(self.project, frame)

    def operand(self, file: SourceFile, node: ast.expr) -> Value:
        """What an expression is, as far as an instruction tells: an argument, an operand, a result."""
        parent = file.parents.get(node)
        code = self.code_around(file, node)
        if code is None:
            return NOTHING
        if isinstance(parent, ast.Call) and node is not parent.func:
            found = self.argument_slots(file, parent)
            if found is not None and node in found[1]:
                return self.values(found[0], found[1][node])
        if isinstance(parent, ast.keyword):
            found = self.argument_slots(file, file.parents[parent])  # type: ignore[arg-type]  # a keyword is in a call
            if found is not None and node in found[1]:
                return self.values(found[0], found[1][node])
        if isinstance(parent, ast.Attribute):
            for instr in index_of(code).at(position_of(parent)):
                if isinstance(instr, ir.Attr) and instr.name == parent.attr:
                    return self.values(code, instr.owner)
        return self._made(file, code, node, parent)

    def _made(self, file: SourceFile, code: Code, node: ast.expr, parent: ast.AST | None) -> Value:
        """What an expression is by the instruction that makes it, or that takes it as an operand."""
        if isinstance(node, ast.Call):
            found = self.call(file, node)
            return self.values(code, found[1].target) if found is not None else NOTHING
        kinds = {ast.Attribute: ir.Attr, ast.Subscript: ir.Item, ast.BinOp: ir.Binary, ast.UnaryOp: ir.Unary}
        op = kinds.get(type(node))
        here = [instr for instr in index_of(code).at(position_of(node)) if type(instr) is op]
        if len(here) == 1:
            return self.values(code, here[0].target)
        if isinstance(parent, (ast.Tuple, ast.List)):
            for instr in index_of(code).at(position_of(parent)):
                if isinstance(instr, ir.Sequence) and len(instr.elements) == len(parent.elts) and node in parent.elts:
                    return self.values(code, instr.elements[parent.elts.index(node)][0])
        if isinstance(parent, ast.UnaryOp):
            for instr in index_of(code).at(position_of(parent)):
                if isinstance(instr, ir.Unary):
                    return self.values(code, instr.operand)
        if isinstance(parent, ast.BinOp):
            for instr in index_of(code).at(position_of(parent)):
                if isinstance(instr, ir.Binary):
                    return self.values(code, instr.left if node is parent.left else instr.right)
        if isinstance(parent, ast.Subscript) and node is parent.value:
            items = [i for i in index_of(code).at(position_of(parent)) if isinstance(i, ir.Item)]
            if len(items) == 1:
                return self.values(code, items[0].source)
        return NOTHING

    def stored(self, code: Code, statement: ast.stmt) -> Value:
        """What a statement that assigns to one name, field or variable puts there, or adds to it."""
        if isinstance(statement, ast.AugAssign):
            for instr in index_of(code).at(position_of(statement)):
                if isinstance(instr, ir.Inplace):
                    return self.values(code, instr.right)
        for node in walk(statement):
            if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
                for instr in index_of(code).at(position_of(node)):
                    if isinstance(instr, (ir.SetAttr)):
                        return self.values(code, instr.value)
                    if isinstance(instr, ir.SetOuter):
                        return self.values(code, instr.value)
        return NOTHING

    def may_hold_tensor(self, value: Value) -> bool:
        """Whether a value is or holds a tensor that tracing may make symbolic."""
        return holds_tensor(value, arrays=False)

    def names(self, file: SourceFile, node: ast.Call) -> set[str]:
        """The canonical names of the library functions that a call may call."""
        found = self.call(file, node)
        if found is None:
            return set()
        code, instr = found
        return {name for view in self.views(code) for name in view.names(instr.function)}

    # Who reads and writes --------------------------------------------------------------------------------------------

    def instances(self, owner: Inst) -> set[Heap]:
        """The instances of the same class, of its subclasses and of its own bases."""

        def look() -> set[Heap]:
            related: set[Heap] = set()
            for cls, found in self.project.solution.world.instances.items():
                if owner.cls in cls.mro or cls in owner.cls.mro:
                    related.update(found)
            return related

        return self.project.shared(("instances", owner.cls), look) | {owner}

    def call_sites(self, code: Code) -> list[tuple[Code, int]] | None:
        """The places that call a function directly; None where it may be called from elsewhere, or by other means."""
        world = self.project.solution.world
        if any(frame.func in world.escaped for frame in self.frames(code) if frame.func is not None):
            return None
        found: dict[tuple[Code, int], None] = {}
        for site in self._sites(code):
            if site is None:
                return None
            found[site] = None
        return list(found) or None

    def direct_calls(self, code: Code) -> list[tuple[Code, int]]:
        """The places that call a function directly, and no other there; who else may call it is not asked."""
        return list(dict.fromkeys(site for site in self._sites(code) if site is not None))

    def _sites(self, code: Code) -> Iterator[tuple[Code, int] | None]:
        """The direct calls of a function, and None for each that is another, or nobody's."""
        for frame in self.frames(code):
            for caller, pos in frame.incoming:
                direct = (
                    caller is not None
                    and not frame.started_by(caller, pos)
                    and caller.calls.get((pos, frame)) in ("call", "hybrid")
                    and self._calls_only(caller, pos, code)
                )
                yield (caller.code, pos) if caller is not None and direct else None

    def _calls_only(self, caller: Frame, pos: int, code: Code) -> bool:
        """Whether the call at a position calls this function by its name, and no other."""
        for instr in index_of(caller.code).calls.get(pos, ()):
            callees = caller.vals[instr.function] or NOTHING
            if any(_code_of(o) is code for o in callees):
                return all(_code_of(o) is code for o in callees)
        return False

    def call_node(self, code: Code, pos: int, callee: Code) -> tuple[SourceFile, ast.Call] | None:
        """The syntax of a call of a function at a position of another."""
        file = self.file(code.path)
        if file is None:
            return None
        chain = [n for n in file.at((pos >> 16, pos & 0xFFFF)) if isinstance(n, ast.Call)]
        for node in chain:
            found = self.call(file, node)
            if found is None or found[0] is not code:
                continue
            if any(_code_of(o) is callee for o in self.values(code, found[1].function)):
                return file, node
        return None

    def is_script(self, path: str) -> bool:
        """Whether nobody in the project imports a module, so that it is run as it is."""
        return path not in self.project.shared("imported paths", self._imported)

    def _imported(self) -> frozenset[str]:
        found: set[str] = set()
        for module in self.project.solution.program.modules.values():
            frame = next(iter(self.frames(module.code)), None)
            if frame is not None and any(caller is not None for caller, _ in frame.incoming):
                found.add(module.code.path)
        return frozenset(found)

    def function_node(self, code: Code) -> FunctionNode | None:
        """The syntax of a function."""
        node = self.project.node(code)
        return node if isinstance(node, FunctionNode) else None


def _code_of(obj: Obj) -> Code | None:
    """The function that something is, as it is, as a graph, or bound."""
    while isinstance(obj, Wrapper) and obj.kind == "hybrid" and len(obj.inner) == 1:
        (obj,) = obj.inner
    if isinstance(obj, Bound):
        return _code_of(obj.func) if isinstance(obj.func, Obj) else None
    return obj.code if isinstance(obj, Func) else None


def is_tensor(value: Value) -> bool:
    """Whether a value is surely a tensor (no array)."""
    return bool(value) and all(isinstance(o, Tensor) and o.kind != NDARRAY for o in value)


def may_be_tensor(value: Value) -> bool:
    """Whether a value may be a tensor, or nobody knows."""
    return not value or any(isinstance(o, (Tensor, Unknown)) for o in value)


def dtypes(value: Value) -> set[str | None]:
    """The dtypes of the tensors in a value."""
    return {o.dtype for o in value if isinstance(o, Tensor)}


def numbers(value: Iterable[Obj]) -> set[str] | None:
    """The kinds of Python numbers that a value may be (`int`, `float`, `bool`); None where it may be anything else."""
    kinds: set[str] = set()
    for obj in value:
        if not isinstance(obj, (Lit, Prim)) or obj.kind not in ("int", "float", "bool"):
            return None
        kinds.add(obj.kind)
    return kinds


def written_cells(owners: Iterable[Heap], name: str) -> list[Cell]:
    """The cells of a field."""
    return [o.fields[name] for o in owners if name in o.fields]
