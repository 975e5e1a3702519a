"""Code that a call does not run: what stands in an iterator that the function makes and only hands out.

`return (log.append(x) for x in xs)`, `return map(note, xs)` and `return events(xs)` (a generator function) change
nothing: whoever drives the iterator does, and has the effects. An iterator that goes anywhere else than to the caller
(into a loop, a container, a field, another function) counts as driven where it is made.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Bound, Func, Lib
from hybridize.domain.words import LAZY
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.library.dialect import HOST_CALLS
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code

_PREFIX: Final = "itertools."
_LAZY: Final = LAZY | {"builtins.iter"}
#: So many arguments of a host call say nothing of its state: the function, what it gets, and the dtypes that it gives.
_STATED: Final = 3


def hands_out(frame: Frame, position: int) -> bool:
    """Whether the result of the call at a position goes to the frame's caller and nowhere else."""
    found = calls_at(frame.code, position)
    return len(found) == 1 and _only_leaves(frame, found[0].target, set())


def hands_generator(frame: Frame, position: int, code: Code) -> bool:
    """Whether a call makes a generator that the frame hands out; not where a wrapper drives it, as contexts do."""
    if not code.is_generator or not hands_out(frame, position):
        return False
    func = frame.vals[calls_at(frame.code, position)[0].function] or ()
    plain = [o.func if isinstance(o, Bound) else o for o in func]
    return all(isinstance(o, Func) for o in plain)


def is_latent(frame: Frame, position: int, *, called_back: bool = True) -> bool:
    """Whether what happens at a position happens when somebody drives an iterator that the frame only hands out.

    A function that the call at the position runs itself (not `called_back`) may be so in a generator expression only.
    """
    code = frame.code
    for made in index_of(code).of(ir.Generator):
        if position in _inside(code, made.target) and _only_leaves(frame, made.target, set()):
            return True
    if not called_back:
        return False
    found = calls_at(code, position)
    return len(found) == 1 and _is_lazy(frame, found[0]) and _only_leaves(frame, found[0].target, set())


def is_hosted(frame: Frame, position: int) -> bool:
    """Whether a call hands a library's method (`history.append`) to the host, which runs it whenever the graph runs."""
    found = calls_at(frame.code, position)  # of a chain of calls any may do it
    if len(found) != 1 or len(found[0].arguments) > _STATED or any(key == "stateful" for key, _ in found[0].keywords):
        return False  # a call that is said to have no state may be left out
    func = frame.vals[found[0].function]
    return bool(func) and all(isinstance(o, Lib) and o.name in HOST_CALLS for o in func)


def _is_lazy(frame: Frame, call: ir.Call) -> bool:
    """Whether a call makes an iterator that does its work when it is driven."""
    func = frame.vals[call.function]
    return bool(func) and all(isinstance(o, Lib) and (o.name in _LAZY or o.name.startswith(_PREFIX)) for o in func)


def _inside(code: Code, slot: int) -> set[int]:
    """The positions of what a generator expression runs for its elements."""
    for instr in index_of(code).of(ir.Loop):
        inner = list(instructions((instr,)))
        if any(isinstance(each, ir.Append) and each.owner == slot for each in inner):
            return {each.position for each in inner}
    return set()


def _only_leaves(frame: Frame, slot: int, seen: set[int]) -> bool:
    """Whether a value is returned, by itself or within iterators around it, and not used for anything else."""
    if slot in seen:
        return True
    seen.add(slot)
    for use in index_of(frame.code).uses.get(slot, ()):
        if isinstance(use, ir.Return) or (isinstance(use, ir.Append) and use.owner == slot and use.value != slot):
            continue
        passes = isinstance(use, ir.Passing) or (
            isinstance(use, ir.Call) and use.function != slot and _is_lazy(frame, use)
        )
        if not passes or not _only_leaves(frame, use.target, seen):
            return False
    return True
