"""What one turn of a loop makes of its variables: the solved program has only the join of all turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.objects import BOTTOM, Lib, LibInst, Lit, Obj, Prim, Tensor, Tup, Value
from hybridize.library.failing import call_result
from hybridize.library.operators import binary, compare, unary
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Op
from hybridize.program.operands import operands
from hybridize.rules.control import control
from hybridize.rules.views import FrameView

_DEPTH: Final = 3  # functions within each other that are followed
_PLAIN: Final = (Tensor, Lit, Prim)
_STATIC: Final = frozenset({"shape", "ndim", "rank", "ndims", "dtype"})  # what Python knows of a tensor


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
        op = made[0]
        if op == Op.UNPACK:
            return self._unpacked(made, slot)
        if op in (Op.COPY, Op.REFINE):
            return self.value(made[2])
        if op == Op.PHI:
            return self._joined(made)
        if op == Op.TUPLE or op == Op.LIST:
            parts = [self.value(s) if not starred else BOTTOM for s, starred in made[2]]
            return Tup("tuple", tuple(parts), None).value if all(parts) else BOTTOM
        engine, frame = self._view.project.solution.engine, self._view.frame
        if op in (Op.BINARY, Op.INPLACE):
            left, right = self._plain(made[3]), self._plain(made[4])
            return binary(engine, frame, made[2], left, right, made[-1]) if left and right else BOTTOM
        if op == Op.UNARY:
            operand = self._plain(made[3])
            return unary(engine, frame, made[2], operand, made[-1]) if operand else BOTTOM
        if op == Op.COMPARE:
            left, right = self._plain(made[3]), self._plain(made[4])
            return compare(engine, frame, made[2], left, right, made[-1]) if left and right else BOTTOM
        if op == Op.ATTR:
            owner = self.value(made[2]) if made[3] in _STATIC else BOTTOM
            return engine.get_attrs(frame, owner, made[3], made[-1])
        if op == Op.ITEM:
            return self._item(made)
        return self._called(made) if op == Op.CALL else BOTTOM

    def _unpacked(self, made: Instr, slot: int) -> Value:
        tuples = [o for o in self.value(made[2]) if isinstance(o, Tup) and len(o.items) == len(made[1])]
        return tuples[0].items[made[1].index(slot)] if len(tuples) == 1 and made[3] < 0 else BOTTOM

    def _item(self, made: Instr) -> Value:
        owner = self.value(made[2])
        whole = all(isinstance(o, (*_PLAIN, Tup)) for o in owner)
        index = self.value(made[3]) if self.depends(made[3]) else self._view.value(made[3])
        engine = self._view.project.solution.engine
        return engine.get_item(self._view.frame, owner, index, made[-1], quiet=True) if whole and index else BOTTOM

    def _joined(self, made: Instr) -> Value:
        """What comes from branches that may be taken; of an inner loop nothing is known."""
        taken = self._taken(made)
        found = [self.value(slot) for edge, slot in made[2] if edge < 0 or self._view.frame.edges[edge]]
        if taken >= 0:
            found = [self.value(slot) for edge, slot in made[2] if edge == taken] or found
        return frozenset().union(*found) if found and all(found) else BOTTOM

    def _taken(self, phi: Instr) -> int:
        """The edge of the one branch that the given values lead to, or -1."""
        flow = control(self._view)
        site = flow.origin(phi)
        if site is None or site.instr[0] != Op.IF or not self.depends(site.instr[2]):
            return -1
        value = self.value(site.instr[2])
        may, may_not = flow.truth(value) if value else (True, True)
        return -1 if may == may_not else int(site.instr[5 if may else 6])

    def _plain(self, slot: int) -> Value:
        value = self.value(slot)
        return value if all(isinstance(o, _PLAIN) for o in value) else BOTTOM

    def _called(self, call: Instr) -> Value:
        functions = self._view.value(call[2])
        starred = any(s for _, s in call[3]) or any(key is None for key, _ in call[4])
        args = [self.value(s) for s, _ in call[3]]
        kwargs = {key: self.value(s) for key, s in call[4]}
        if len(functions) != 1 or starred or not all((*args, *kwargs.values())):
            return BOTTOM
        (function,) = functions
        if isinstance(function, (Lib, LibInst)):
            return self._of_library(function, call, args, kwargs)
        callees = self._view.callees(call[-1])
        if len(callees) != 1 or callees[0][1] not in ("call", "hybrid") or not self._depth or kwargs:
            return BOTTOM
        view = FrameView(self._view.project, callees[0][0])
        returns = index_of(view.code).of(Op.RETURN)
        params = [p.slot for p in view.code.params if p.kind in ("positional", "normal")]
        if len(returns) != 1 or len(params) != len(args):
            return BOTTOM
        return Turn(view, dict(zip(params, args, strict=True)), self._depth - 1).value(returns[0][2])

    def _of_library(self, function: Obj, call: Instr, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if call[-1] not in self._view.frame.ops:
            return BOTTOM
        receiver = function if isinstance(function, LibInst) else None
        name = function.name if isinstance(function, Lib) else f"{getattr(function, 'cls', '')}.__call__"
        engine = self._view.project.solution.engine
        return call_result(engine, self._view.frame, call[-1], name, args, kwargs, receiver)
