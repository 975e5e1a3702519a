"""What one turn of a loop makes of its variables: the solved program has only the join of all turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import BOTTOM, Lib, LibInst, Lit, Obj, Prim, Tensor, Tup, Value
from hybridize.library.dialect import STATIC
from hybridize.library.failing import call_result
from hybridize.library.operators import binary, compare, unary
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import operands
from hybridize.tracing.control import control
from hybridize.tracing.views import FrameView

_DEPTH: Final = 3  # functions within each other that are followed
_PLAIN: Final = (Tensor, Lit, Prim)


class Turn:
    """Values of a frame under other values of some of its slots, computed only where those matter.

    Args:
        view: the frame.
        given: the values by slot: of a loop's variables at its head, or of parameters.
        depth: of functions that may be followed.
    """

    def __init__(self, view: FrameView, given: Mapping[int, Value], depth: int = _DEPTH) -> None:
        self._view, self._depth = view, depth
        self._known: dict[int, Value] = dict(given)
        self._depending: dict[int, bool] = dict.fromkeys(given, True)

    def value(self, slot: int) -> Value:
        """What a slot holds; empty where that is not known."""
        if not self.depends(slot):
            return self._view.value(slot)
        found = self._known.get(slot)
        if found is None:
            self._known[slot] = BOTTOM  # of a value that depends on itself
            made = self._view.definition(slot)
            found = self._known[slot] = self._made(made, slot) if made is not None else BOTTOM
        return found

    def depends(self, slot: int) -> bool:
        """Whether the given values matter to a slot."""
        found = self._depending.get(slot)
        if found is None:
            self._depending[slot] = False
            made = self._view.definition(slot)
            found = self._depending[slot] = made is not None and any(self.depends(s) for s in operands(made))
        return found

    def _made(self, made: Instr, slot: int) -> Value:
        if isinstance(made, ir.Unpack):
            return self._unpacked(made, slot)
        if isinstance(made, ir.Copy):
            return self.value(made.source)
        if isinstance(made, ir.Phi):
            return self._joined(made)
        if isinstance(made, ir.Sequence):
            parts = [self.value(s) if not starred else BOTTOM for s, starred in made.elements]
            return Tup("tuple", tuple(parts), None).value if all(parts) else BOTTOM
        engine, frame = self._view.project.solution.engine, self._view.frame
        if isinstance(made, ir.Operator):
            left, right = self._plain(made.left), self._plain(made.right)
            return binary(engine, frame, made.operator, left, right, made.position) if left and right else BOTTOM
        if isinstance(made, ir.Unary):
            operand = self._plain(made.operand)
            return unary(engine, frame, made.operator, operand, made.position) if operand else BOTTOM
        if isinstance(made, ir.Compare):
            left, right = self._plain(made.left), self._plain(made.right)
            return compare(engine, frame, made.operator, left, right, made.position) if left and right else BOTTOM
        if isinstance(made, ir.Attr):
            owner = self.value(made.owner) if made.name in STATIC else BOTTOM
            return engine.attributes.get_attrs(frame, owner, made.name, made.position)
        if isinstance(made, ir.Item):
            return self._item(made)
        return self._called(made) if isinstance(made, ir.Call) else BOTTOM

    def _unpacked(self, made: ir.Unpack, slot: int) -> Value:
        tuples = [o for o in self.value(made.source) if isinstance(o, Tup) and len(o.items) == len(made.targets)]
        return tuples[0].items[made.targets.index(slot)] if len(tuples) == 1 and made.star < 0 else BOTTOM

    def _item(self, made: ir.Item) -> Value:
        owner = self.value(made.source)
        whole = all(isinstance(o, (*_PLAIN, Tup)) for o in owner)
        index = self.value(made.index) if self.depends(made.index) else self._view.value(made.index)
        engine = self._view.project.solution.engine
        return (
            engine.heap.get_item(self._view.frame, owner, index, made.position, quiet=True)
            if whole and index
            else BOTTOM
        )

    def _joined(self, made: ir.Phi) -> Value:
        """What comes from branches that may be taken; of an inner loop nothing is known."""
        taken = self._taken(made)
        found = [self.value(slot) for edge, slot in made.incoming if edge < 0 or self._view.frame.edges[edge]]
        if taken >= 0:
            found = [self.value(slot) for edge, slot in made.incoming if edge == taken] or found
        return frozenset().union(*found) if found and all(found) else BOTTOM

    def _taken(self, phi: ir.Phi) -> int:
        """The edge of the one branch that the given values lead to, or -1."""
        flow = control(self._view)
        site = flow.origin(phi)
        if site is None or not isinstance(site.instr, ir.If) or not self.depends(site.instr.condition):
            return -1
        value = self.value(site.instr.condition)
        may, may_not = flow.truth(value) if value else (True, True)
        return -1 if may == may_not else site.instr.then_edge if may else site.instr.else_edge

    def _plain(self, slot: int) -> Value:
        value = self.value(slot)
        return value if all(isinstance(o, _PLAIN) for o in value) else BOTTOM

    def _called(self, call: ir.Call) -> Value:
        functions = self._view.value(call.function)
        starred = any(s for _, s in call.arguments) or any(key is None for key, _ in call.keywords)
        args = [self.value(s) for s, _ in call.arguments]
        kwargs = {key: self.value(s) for key, s in call.keywords if key is not None}
        if len(functions) != 1 or starred or not all((*args, *kwargs.values())):
            return BOTTOM
        (function,) = functions
        if isinstance(function, (Lib, LibInst)):
            return self._of_library(function, call, args, kwargs)
        callees = self._view.callees(call.position)
        if len(callees) != 1 or callees[0][1] not in DIRECT or not self._depth or kwargs:
            return BOTTOM
        view = FrameView(self._view.project, callees[0][0])
        returns = index_of(view.code).of(ir.Return)
        params = [p.slot for p in view.code.params if p.by_place]
        if len(returns) != 1 or len(params) != len(args):
            return BOTTOM
        return Turn(view, dict(zip(params, args, strict=True)), self._depth - 1).value(returns[0].value)

    def _of_library(self, function: Obj, call: ir.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if call.position not in self._view.frame.ops:
            return BOTTOM
        receiver = function if isinstance(function, LibInst) else None
        name = function.name if isinstance(function, Lib) else f"{getattr(function, 'cls', '')}.__call__"
        engine = self._view.project.solution.engine
        return call_result(engine, self._view.frame, call.position, name, args, kwargs, receiver)
