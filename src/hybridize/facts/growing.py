"""Python ints that are a dim of a tensor which the loop around a call makes longer: another one at each call."""

from __future__ import annotations

from typing import Final

from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Loop, Op

#: Operations whose result is longer than what they are given.
_LENGTHEN: Final = frozenset(
    "tf.concat tf.pad tf.repeat tf.tile tf.keras.layers.concatenate np.append np.concatenate np.pad np.vstack".split()
)
_FAR: Final = 12


def is_growing_dim(frame: Frame, slot: int) -> bool:
    """Whether a slot holds `x.shape[i]` of a variable that a loop binds to a longer tensor."""
    index = index_of(frame.code)
    made = index.source(slot)
    if made is None or made[0] != Op.ITEM:
        return False
    shape = index.source(made[2])
    if shape is None or shape[0] != Op.ATTR or shape[3] != "shape":
        return False
    tensor = index.source(shape[2])
    return tensor is not None and tensor[0] == Op.PHI and _is_lengthened(frame, tensor)


def _is_lengthened(frame: Frame, phi: Instr) -> bool:
    """Whether a variable of a loop gets what makes itself longer."""
    index = index_of(frame.code)
    loops: list[Loop] = [instr[2] for instr in index.of(Op.LOOP)]
    if not any(phi is head for loop in loops for head in loop.phis):
        return False
    todo = [slot for _, slot in phi[2]]
    seen: set[int] = set()
    while todo and len(seen) < _FAR:
        slot = todo.pop()
        made = index.source(slot)
        if slot in seen or made is None:
            continue
        seen.add(slot)
        if made[0] == Op.PHI:
            todo += [source for _, source in made[2]]
        elif made[0] == Op.CALL and frame.ops.get(made[-1]) in _LENGTHEN:
            return True
    return False
