"""What depends on a function being hybrid: its concrete function is asked for, or its result is used as a tensor."""

from __future__ import annotations

from typing import Final

from hybridize.domain.nesting import held
from hybridize.domain.objects import Bound, Func, Lit, Prim, Tensor, Value, Wrapper
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_at
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code

#: Attributes that tensors have, and numbers and strings have not; those that arrays have not, either.
_OF_TENSORS: Final = frozenset("numpy shape dtype get_shape ndim device eval ref experimental_ref set_shape".split())
_NOT_OF_ARRAYS: Final = frozenset("numpy get_shape eval ref experimental_ref set_shape".split())
_PASSES: Final = (ir.Copy, ir.Item, ir.Iter)


def exported(solution: Solution) -> dict[Code, tuple[str, int]]:
    """The functions whose concrete function some code asks for, with the place."""
    found: dict[Code, tuple[str, int]] = {}
    for frames in solution.frames.values():
        for frame in frames:
            for effect in frame.effects.values():
                if effect.kind == "concrete_function" and isinstance(effect.target, Wrapper):
                    for obj in effect.target.inner:
                        inner = obj.func if isinstance(obj, Bound) else obj
                        if isinstance(inner, Func):
                            found.setdefault(inner.code, (frame.code.path, effect.position >> 16))
    return found


def used_as_tensor(frames: list[Frame]) -> Evidence | None:
    """Where a caller reads an attribute of the result that only the tensor has that a graph makes of it."""
    for frame in frames:
        names = _lost(frame.ret or frozenset())
        if not names:
            continue
        for caller, pos in frame.incoming:
            if caller is None:
                continue
            place = _read(caller, pos, frame.code, names)
            if place is not None:
                said = f"`.{place[0]}` of its result is read, which only a graph's result has"
                return Evidence(said, caller.code.path, place[1] >> 16)
    return None


def _lost(value: Value) -> frozenset[str]:
    """The attributes of tensors that what a function returns has not while it is eager."""
    leaves = list(held(value, 3, parts))
    if any(isinstance(o, Prim) or (isinstance(o, Lit) and o.const is not None) for o in leaves):
        return _OF_TENSORS
    if any(isinstance(o, Tensor) and o.kind == NDARRAY for o in leaves):
        return _NOT_OF_ARRAYS
    return frozenset()


def _read(caller: Frame, pos: int, code: Code, names: frozenset[str]) -> tuple[str, int] | None:
    """The first such read of the result of a call, and its position."""
    results = {i.target for i in calls_at(caller.code, pos) if _calls(caller, i.function, code)}
    if not results:
        return None
    flat = index_of(caller.code).flat
    for _ in range(3):  # loops carry results back
        for instr in flat:
            if isinstance(instr, _PASSES) and instr.source in results:
                results.add(instr.target)
            elif isinstance(instr, ir.Unpack) and instr.source in results:
                results.update(instr.targets)
            elif isinstance(instr, ir.Phi) and any(slot in results for _, slot in instr.incoming):
                results.add(instr.target)
    return next(
        ((i.name, i.position) for i in flat if isinstance(i, ir.Attr) and i.owner in results and i.name in names), None
    )


def _calls(caller: Frame, slot: int, code: Code) -> bool:
    for obj in caller.vals[slot] or ():
        inner = obj.func if isinstance(obj, Bound) else obj
        for each in inner.inner if isinstance(inner, Wrapper) else (inner,):
            func = each.func if isinstance(each, Bound) else each
            if isinstance(func, Func) and func.code is code:
                return True
    return False
