"""Tensor-dependent control flow: which conditions and iterables of a function are symbolic once it is traced.

AutoGraph turns `if`, `while` and `for` on symbolic tensors into graph operations, and with them some Python values into
tensors: `int(t)`, `not t`, a counter that a graph loop changes, a flag that a branch of the graph sets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from hybridize.domain.calls import BY_CALL
from hybridize.domain.objects import (
    NONE_V,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    LibInst,
    Lit,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
)
from hybridize.domain.tensors import DYNAMIC, NDARRAY, SYMBOLIC
from hybridize.domain.words import LAZY, NUMBERS
from hybridize.facts.origins import called_at
from hybridize.facts.symbolic import OPERATION, keeps_tensors_out
from hybridize.flow.truth import truth
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import ALWAYS, Block, Instr
from hybridize.source.syntax import children, walk
from hybridize.tracing.structure import Branch, Site, Structure, Turning
from hybridize.tracing.views import FrameView, ProjectView, position_of

#: Built-in functions that AutoGraph turns into operations.
CONVERTED: Final = frozenset({"builtins.int", "builtins.float", "builtins.abs", "builtins.len"})
#: What no condition or number of a graph is.
_NEVER: Final = (Inst, Func, Class, Bound, Container, Tup, LibInst, Stream, Unknown)
_PLAIN: Final = NUMBERS | {"str"}


class Syntax:
    """The places of statements and expressions of a file that instructions alone do not tell apart."""

    def __init__(self, tree: ast.Module | None) -> None:
        self.ifs: dict[int, ast.If] = {}
        self.choices: dict[int, ast.IfExp] = {}
        self.nested: set[int] = set()  # conditional expressions inside others
        self.ends: dict[int, int] = {}  # the last line of the `with` statement that an `if` stands in
        for node in walk(tree) if tree is not None else ():
            if isinstance(node, ast.If):
                self.ifs[position_of(node)] = node
            elif isinstance(node, ast.IfExp):
                self.choices[position_of(node)] = node
                inside = [n for part in children(node) for n in walk(part)]
                self.nested.update(position_of(n) for n in inside if isinstance(n, ast.IfExp))
            elif isinstance(node, ast.With):
                places = [position_of(each) for each in node.body if isinstance(each, ast.If)]
                self.ends.update(dict.fromkeys(places, node.end_lineno or node.lineno))


def syntax(project: ProjectView, path: str) -> Syntax:
    """The syntax of a file."""
    return project.shared(("syntax", path), lambda: Syntax(project.module(path)))


def control(view: FrameView) -> Control:
    """The control flow of a frame, computed once for all rules."""
    return view.project.shared(("control", view.frame), lambda: Control(view))


class Control:
    """The conditions and loops of one frame that depend on symbolic tensors."""

    def __init__(self, view: FrameView) -> None:
        self.view = view
        self.frame = view.frame
        self.numbers: dict[int, int] = {}  # rules.values: what must be symbolic for Python numbers to be tensors
        self._tensor: dict[int, int] = {}
        self._joins: dict[int, Branch | Turning] | None = None
        self._loops: dict[int, int] = {}

    @cached_property
    def structure(self) -> Structure:
        """The sites of the function."""
        code = self.view.code
        return self.view.project.shared(("structure", code), lambda: Structure(code))

    # Values ----------------------------------------------------------------------------------------------------------

    def tensor(self, slot: int) -> int:
        """What must be symbolic for a slot to hold a symbolic tensor itself, as AutoGraph makes it: a mask."""
        found = self._tensor.get(slot)
        if found is None:
            self._tensor[slot] = 0  # of a value that depends on itself
            found = self._tensor[slot] = self._compute(slot)
        return found

    def _compute(self, slot: int) -> int:
        if slot < 0:
            return 0
        kind = self._kind(self.view.value(slot))
        if kind == _NOTHING or self._asks_for_none(slot):
            return 0
        if kind == _TENSOR:
            return self.view.symbolic(slot)
        if kind == _ARRAY:
            return self.view.symbolic(slot) & ~OPERATION  # an array that is computed stays one; an argument does not
        made = self.view.definition(slot)
        return self._made(made) if made is not None else 0

    def _kind(self, value: Value) -> int:
        """What may become symbolic in a value: the same for all slots that hold it."""
        known = self.view.project.control_kinds
        found = known.get(value)
        if found is None:
            found = known[value] = _kind(value)
        return found

    def _asks_for_none(self, slot: int) -> bool:
        """`t == None` is Python's to answer."""
        made = self.view.definition(slot)
        if not isinstance(made, ir.Compare) or made.operator not in ("==", "!="):
            return False
        return NONE_V in (self.view.value(made.left), self.view.value(made.right))

    def _made(self, made: Instr) -> int:
        if isinstance(made, ir.Copy):
            return 0 if keeps_tensors_out(self.frame, made) else self.tensor(made.source)
        if isinstance(made, ir.Unary):
            return self.tensor(made.operand)
        if isinstance(made, ir.Operator) or (
            isinstance(made, ir.Compare) and made.operator not in ("is", "is not", "in", "not in")
        ):
            return self.tensor(made.left) | self.tensor(made.right)
        if isinstance(made, ir.BoolOp):
            return self._any(made.operands)
        if isinstance(made, ir.Call):
            return self._called(made)
        if isinstance(made, ir.Phi):
            return self._joined(made)
        return 0

    def _any(self, slots: tuple[int, ...]) -> int:
        found = 0
        for slot in slots:
            found |= self.tensor(slot)
        return found

    def _called(self, call: ir.Call) -> int:
        names = self.view.names(call.function)
        if any(name in CONVERTED for name in names) and call.arguments:
            slot = call.arguments[0][0]
            if "builtins.len" in names and self._holds_dataset(slot):
                return OPERATION  # the cardinality
            if "builtins.len" in names and not self._dynamic_length(slot):
                return 0
            return self.tensor(slot)
        found = 0
        for callee in called_at(self.frame, call.position, BY_CALL):
            if callee is not self.frame and not callee.code.is_generator:
                inner = control(FrameView(self.view.project, callee))
                mask = 0
                for result in index_of(callee.code).of(ir.Return):
                    mask |= inner.tensor(result.value)
                found |= self.view.project.symbolic.lift(self.frame, call.position, callee, mask) if mask else 0
        return found

    def _dynamic_length(self, slot: int) -> bool:
        tensors = [o for o in self.view.value(slot) if isinstance(o, Tensor)]
        return any(o.shape and o.shape[0] == DYNAMIC for o in tensors)

    def _joined(self, phi: ir.Phi) -> int:
        found = 0
        for edge, slot in phi.incoming:
            if edge == ALWAYS or self.frame.edges[edge]:
                found |= self.tensor(slot)
        site = self.origin(phi)
        if site is not None:
            # What a branch or loop of the graph assigns is a tensor afterwards.
            live = [slot for edge, slot in phi.incoming if edge == ALWAYS or self.frame.edges[edge]]
            if len(live) > 1:
                found |= self.condition(site) if isinstance(site, Branch) else self.loop(site)
        return found

    def origin(self, joined: ir.Phi) -> Branch | Turning | None:
        """The branch or loop that a PHI joins."""
        if self._joins is None:
            self._joins = {}
            sites: list[Branch | Turning] = [*self.structure.branches, *self.structure.loops]
            for site in sites:
                for join in site.joins():
                    self._joins.setdefault(join.target, site)
                if isinstance(site, Turning):
                    for phi in site.instr.phis:
                        self._joins[phi.target] = site
        return self._joins.get(joined.target)

    # Branches and loops ----------------------------------------------------------------------------------------------

    def condition(self, site: Branch) -> int:
        """The mask of the condition of an IF, 0 where it is Python's."""
        return self.tensor(site.instr.condition) if self.view.value(site.instr.condition) else 0

    def loop(self, site: Turning) -> int:
        """The mask of a loop that becomes one of the graph, 0 where Python runs (unrolls) it."""
        key = id(site)
        found = self._loops.get(key)
        if found is None:
            self._loops[key] = 0
            found = self._loops[key] = self._loop(site)
        return found

    def _loop(self, site: Turning) -> int:
        loop = site.instr
        if loop.is_for:
            return 0 if self.is_comprehension(site) else self.iterable(loop.iterable)
        if loop.condition < 0 or not self.view.value(loop.condition):
            return 0
        return self.at_entry(loop)

    def at_entry(self, loop: ir.Loop) -> int:
        """The mask of a `while` condition when it is first computed: what decides whose loop it is."""
        entry = {phi.target: next((s for e, s in phi.incoming if e == loop.entry), -1) for phi in loop.phis}
        return self.first(loop.condition, entry)

    def first(self, slot: int, entry: dict[int, int]) -> int:
        """The mask of a slot in the first turn of a loop; `entry`: the slots before it, by those at its head."""
        return self._first(slot, entry, 0)

    def _first(self, slot: int, entry: dict[int, int], depth: int) -> int:
        if slot in entry:
            return self.tensor(entry[slot])
        made = self.view.definition(slot) if depth < 12 else None
        if made is None:
            return self.tensor(slot)
        parts: tuple[int, ...] = ()
        if isinstance(made, (ir.Binary, ir.Compare)):
            parts = (made.left, made.right)
        elif isinstance(made, ir.Unary):
            parts = (made.operand,)
        elif isinstance(made, ir.Copy):
            parts = (made.source,)
        elif isinstance(made, ir.BoolOp):
            parts = made.operands
        elif isinstance(made, ir.Phi):
            parts = tuple(s for e, s in made.incoming if e == ALWAYS or self.frame.edges[e])
        else:
            return self.tensor(slot)
        found = 0
        for part in parts:
            found |= self._first(part, entry, depth + 1)
        return found

    def iterable(self, slot: int) -> int:
        """The mask of something that AutoGraph iterates in the graph."""
        value = self.view.value(slot)
        if any(isinstance(o, Tensor) for o in value):
            return self.tensor(slot)
        if any(isinstance(o, Stream) and o.is_data for o in value):
            return OPERATION
        made = self.view.definition(slot)
        if not isinstance(made, ir.Call):
            return 0
        names = self.view.names(made.function)
        if "builtins.range" in names:
            return self._any(tuple(s for s, _ in made.arguments))
        if LAZY.intersection(names):
            return OPERATION if any(self._holds_dataset(s) for s, _ in made.arguments) else 0
        return 0

    def _holds_dataset(self, slot: int) -> bool:
        return any(isinstance(o, Stream) and o.is_data for o in self.view.value(slot))

    def is_over_dataset(self, site: Turning) -> bool:
        """Whether a loop goes through a dataset itself (not an iterator over one)."""
        slot = site.instr.iterable
        made = self.view.definition(slot)
        slots = [slot]
        if isinstance(made, ir.Call) and LAZY.intersection(self.view.names(made.function)):
            slots += [s for s, _ in made.arguments]
        return any(isinstance(o, Stream) and o.kind == DATASET for s in slots for o in self.view.value(s))

    def is_comprehension(self, site: Site) -> bool:
        """Whether a loop is that of a comprehension or generator expression."""
        if not isinstance(site.instr, ir.Loop) or not site.instr.is_for:
            return False
        return bool(site.instr.test[-1].position == site.instr.position)  # a `for` statement stands before its iterable

    @cached_property
    def syntax(self) -> Syntax:
        """The syntax of the file."""
        return syntax(self.view.project, self.view.code.path)

    @cached_property
    def branches(self) -> list[tuple[Branch, int]]:
        """The conditions that become ones of the graph."""
        masks = [(site, self.condition(site)) for site in self.structure.branches]
        return [(site, mask) for site, mask in masks if mask and self.runs(site)]

    @cached_property
    def loops(self) -> list[tuple[Turning, int]]:
        """The loops that become ones of the graph."""
        masks = [(site, self.loop(site)) for site in self.structure.loops]
        return [(site, mask) for site, mask in masks if mask and self.runs(site)]

    @property
    def is_split(self) -> bool:
        """Whether the frame has any branch or loop of the graph."""
        return bool(self.branches or self.loops)

    @cached_property
    def _masks(self) -> dict[int, int]:
        return {id(site): mask for site, mask in (*self.branches, *self.loops)}

    def guards(self, site: Site) -> Iterator[tuple[Site, str, int]]:
        """The branches and loops of the graph around a site, inside out: site, part, mask."""
        for outer, part in site.around():
            mask = self._masks.get(id(outer), 0)
            if mask and part in ("then", "else", "body", "orelse"):
                yield outer, part, mask

    def runs(self, site: Site) -> bool:
        """Whether control may reach a site in this frame, as far as the conditions around it tell."""
        for outer, part in site.around():
            if isinstance(outer.instr, ir.If) and part in ("then", "else"):
                value = self.view.value(outer.instr.condition)
                if not value or not self.truth(value)[part == "else"]:
                    return False
            elif isinstance(outer.instr, ir.Loop) and part == "body":
                loop: ir.Loop = outer.instr
                if loop.is_for and not self.view.value(loop.test[-1].target):
                    return False
        return True

    def falls(self, block: Block, start: int = 0, end: int | None = None) -> bool:
        """Whether control may reach the end of a block (or of a part of it) in this frame."""
        return all(self._falls(instr) for instr in block[start:end])

    def _falls(self, instr: Instr) -> bool:
        if isinstance(instr, ir.Return):
            return not instr.position & 0xFFFF  # the one that lowering adds at the end
        if isinstance(instr, (ir.Raise, ir.Jump)):
            return False
        if isinstance(instr, ir.If):
            value = self.view.value(instr.condition)
            may, may_not = (True, True) if not value or self.tensor(instr.condition) else self.truth(value)
            return (may and self.falls(instr.then)) or (may_not and self.falls(instr.orelse))
        if isinstance(instr, ir.Try):
            inside = self.falls(instr.body) and self.falls(instr.orelse)
            return (inside or any(self.falls(h.body) for h in instr.handlers)) and self.falls(instr.final)
        return True

    def reached(self, site: Site) -> bool:
        """Whether control may reach a site: the conditions around it allow it, and nothing before it ends the block."""
        chain = [site, *(outer for outer, _ in site.around())]
        return self.runs(site) and all(self.falls(each.block, 0, each.index) for each in chain)

    def truth(self, value: frozenset[object]) -> tuple[bool, bool]:
        """(may be true, may be false)."""
        return truth(self.view.project.solution.engine, self.frame, value)  # type: ignore[arg-type]

    def is_short_circuit(self, site: Branch) -> bool:
        """Whether an IF is that of `and` or `or`."""
        return any(
            len(block) == 1
            and isinstance(block[0], ir.Refine)
            and block[0].kind == "truth"
            and block[0].position == site.instr.position
            for block in (site.instr.then, site.instr.orelse)
        )


#: What may become symbolic in a value.
_NOTHING, _TENSOR, _ARRAY, _NUMBER = range(4)


def _kind(value: Value) -> int:
    if any(isinstance(o, _NEVER) for o in value):
        return _NOTHING  # another alternative may be what comes here: contexts were merged
    kinds = {o.kind for o in value if isinstance(o, Tensor)}
    if not kinds <= {NDARRAY, SYMBOLIC}:
        return _TENSOR
    if NDARRAY in kinds:
        return _ARRAY
    return _NUMBER if any(isinstance(o, (Prim, Lit)) and o.kind in _PLAIN for o in value) else _NOTHING


#: The kind of the streams that are datasets.
DATASET: Final = "tf.data.Dataset"
