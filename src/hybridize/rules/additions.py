"""Additions to sets and dictionaries that come out the same at every call: once per trace is then enough."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Container, Lit, Tensor, Value
from hybridize.facts.origins import call_at, definitions
from hybridize.facts.reasons import Reason
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Op

_NO_VALUE: Final[Value] = frozenset()
#: What a graph is made for: the same in every call that runs it.
_STATIC: Final = frozenset({"shape", "dtype", "rank", "ndim", "name"})
#: Functions whose results depend on nothing but their arguments.
_PURE: Final = frozenset({"tuple", "str", "len", "int", "repr", "list", "frozenset"})
_DEPTH: Final = 6


def adds_same(reason: Reason, root: Frame) -> bool:
    """Whether a change adds an element or entry that every call of the same trace adds again.

    `seen.add("a")`, `shapes.add(tuple(x.shape))`, `d["k"] = 1`: only who takes it out between calls sees a difference.
    `root` is the function whose side effect it is: what its own arguments are, a trace is made for.
    """
    effect, frame = reason.effect, reason.frame
    target = effect.target
    if not isinstance(target, Container):
        return False
    if effect.kind == "mutate" and target.kind == "set" and effect.detail.rpartition(".")[2] == "add":
        call = call_at(frame.code, effect.position)
        return call is not None and len(call[3]) == 1 and _is_same(frame, call[3][0][0], frame is root)
    if effect.kind != "item" or target.kind != "dict":
        return False
    found = [i for i in index_of(frame.code).at(effect.position) if i[0] == Op.SET_ITEM]
    if len(found) != 1:
        return False
    key, value = found[0][3], frame.vals[found[0][4]] or _NO_VALUE
    return _is_constant(value) and _is_same(frame, key, frame is root) and _every_entry(target, frame, key) <= value


def _every_entry(target: Container, frame: Frame, key: int) -> Value:
    """What a dictionary holds under a key, whoever wrote it; under any where the key is not known."""
    found = [target.rest.value] if target.rest is not None else []
    names = {o.const for o in frame.vals[key] or () if isinstance(o, Lit)}
    found += [cell.value for name, cell in target.fields.items() if not names or name in names]
    return frozenset(o for value in found for o in value)


def _is_constant(value: Value) -> bool:
    return len(value) == 1 and all(isinstance(o, Lit) for o in value)


def _is_same(frame: Frame, slot: int, is_root: bool, depth: int = _DEPTH) -> bool:
    """Whether a value is a constant, an argument that is no tensor, or something static that is made of those."""
    if slot < 0 or not depth:
        return False
    value = frame.vals[slot] or _NO_VALUE
    made: Instr | None = definitions(frame.code).get(slot)
    if made is None:
        own = any(p.slot == slot for p in frame.code.params)
        plain = bool(value) and not any(isinstance(o, Tensor) for o in value)
        return _is_constant(value) if not own else is_root and plain
    match made[0]:
        case Op.ATTR if made[3] in _STATIC:
            owner = frame.vals[made[2]] or _NO_VALUE
            return bool(owner) and all(isinstance(o, Tensor) for o in owner)
        case Op.COPY | Op.REFINE:
            return _is_same(frame, made[2], is_root, depth - 1)
        case Op.TUPLE:
            return all(not star and _is_same(frame, s, is_root, depth - 1) for s, star in made[2])
        case Op.CALL if not made[4]:
            called = definitions(frame.code).get(made[2])
            if called is not None and called[0] == Op.ATTR and called[3] == "as_list":
                return _is_same(frame, called[2], is_root, depth - 1)
            pure = called is not None and called[0] == Op.GLOBAL and called[2] in _PURE
            return pure and all(not star and _is_same(frame, s, is_root, depth - 1) for s, star in made[3])
    return False
