"""Changes of state that the code which makes them takes back before it ends: a caller finds things as they were.

`old = C.flag; C.flag = True` with `C.flag = old` in a `finally` block (or at the end), `depth += 1` with `depth -= 1`,
`stack.append(x)` with `stack.pop()`; in one function, in a context manager made of a generator, or divided between
`__enter__` and `__exit__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from hybridize.domain.session import cached
from hybridize.facts.origins import definitions
from hybridize.facts.state.guards import last_name
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Block, Code
from hybridize.records import dataclass

#: A variable, a field of something, or a list, as the code of one function names it.
_Name: TypeAlias = "tuple[Any, ...]"
_Store: TypeAlias = ir.Assignment
_INVERSE: Final = {"+": "-", "-": "+", "append": "pop", "appendleft": "popleft"}
_MANAGER: Final = "contextmanager"
_DEPTH: Final = 8
_ENTER, _EXIT = "__enter__", "__exit__"
_NOTHING: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Write:
    """A write of a named place: where in the function, and `step`, what it adds, if it does no more (`+`, `append`)."""

    name: _Name
    place: int
    instr: _Store | ir.Call
    step: str
    by: object


@cached
def undone(code: Code) -> frozenset[int]:
    """The positions of the changes that a function takes back."""
    if code.name in (_ENTER, _EXIT):
        pair = [_method(code, name) for name in (_ENTER, _EXIT)]
        return frozenset(_between(pair[0], pair[1])) if pair[0] is not None and pair[1] is not None else _NOTHING
    if not code.is_function or len(code.body) < 2:
        return _NOTHING
    if code.is_generator and not any(_MANAGER in last_name(d) for d in code.decorators):
        return _NOTHING
    ends = _ends(code)
    return frozenset(_within(code, ends)) if ends else _NOTHING


@cached
def overwritten(code: Code) -> frozenset[int]:
    """The positions of the assignments that a function overwrites before it ends: a caller finds what the last one
    has left."""
    if not code.is_function or code.is_generator:
        return _NOTHING
    ends, index = _ends(code), index_of(code)
    found: set[int] = set()
    for name, writes in _by_name(code).items():
        last = writes[-1].instr
        plain = isinstance(last, ir.Assignment) and None not in name and last.position not in index.looped
        if plain and id(last) in ends and all(isinstance(each.instr, ir.Assignment) for each in writes):
            found.update(each.instr.position for each in writes[:-1])
    return frozenset(found)


def _method(code: Code, name: str) -> Code | None:
    """The method of the same class."""
    made = index_of(code.parent).of(ir.Func) if code.parent is not None and code.parent.is_class else ()
    return next((instr.code for instr in made if instr.code.name == name), None)


def _ends(code: Code) -> set[int]:
    """The instructions that run whatever happened before: those of `finally`, and those on the way without returns."""
    found: set[int] = set()
    _collect(code.body, found)
    return found


def _collect(block: Block, found: set[int]) -> None:
    returns = False
    for instr in block:
        if isinstance(instr, ir.Try):
            found.update(map(id, instr.final))
            _collect(instr.body, found)
        elif isinstance(instr, ir.Loop) and not instr.breaks and not instr.continues:
            _collect(instr.body, found)  # each turn ends there
        elif not returns:
            found.add(id(instr))
        returns = returns or (
            isinstance(instr, (ir.If, ir.Loop))
            and any(isinstance(i, (ir.Return, ir.Raise)) for i in instructions((instr,)))
        )


def _within(code: Code, ends: set[int]) -> Iterator[int]:
    written = _by_name(code)
    loops = index_of(code).loops
    for name, writes in written.items():
        last = writes[-1]
        if len(writes) < 2 or id(last.instr) not in ends or None in name:
            continue
        turn = loops.get(last.instr.position, ())
        if turn and not (
            _is_of_turn(code, name) and all(loops.get(e.instr.position, ())[: len(turn)] == turn for e in writes)
        ):
            continue
        if last.step:
            first = writes[0]
            fits = len(writes) == 2 and _takes_back(first, last) and id(first.instr) in ends
        else:
            fits = _reads_before(code, last.instr, name, writes[0].place)
        if fits:
            yield from (write.instr.position for write in writes)


def _between(enter: Code, leave: Code) -> Iterator[int]:
    """What `__enter__` changes and `__exit__` takes back."""
    before, after = _by_name(enter), _by_name(leave)
    ends = _ends(enter) | _ends(leave)
    for name in before.keys() & after.keys():
        first, last = before[name], after[name]
        always = all(id(each.instr) in ends for each in (*first, *last))
        if len(first) != 1 or len(last) != 1 or None in name or not always:
            continue
        if last[0].step:
            fits = _takes_back(first[0], last[0])
        else:
            kept = _read(leave, last[0].instr.value) if isinstance(last[0].instr, ir.Assignment) else None
            saved = before.get(kept, []) if kept is not None else []
            fits = any(_reads_before(enter, each.instr, name, first[0].place) for each in saved)
        if fits:
            yield from (first[0].instr.position, last[0].instr.position)


def _takes_back(first: _Write, last: _Write) -> bool:
    return bool(first.step) and _INVERSE.get(first.step) == last.step and (first.by == last.by or last.by is None)


def _by_name(code: Code) -> dict[_Name, list[_Write]]:
    """The writes of a function, by what they write, in order."""
    found: dict[_Name, list[_Write]] = {}
    for place, instr in enumerate(index_of(code).flat):
        if isinstance(instr, ir.Assignment):
            name = _written(code, instr)
            step, by = _step(code, instr, name)
            found.setdefault(name, []).append(_Write(name, place, instr, step, by))
        elif isinstance(instr, ir.Call):
            made = definitions(code).get(instr.function)
            if isinstance(made, ir.Attr) and made.name in ("append", "appendleft", "pop", "popleft"):
                listed = ("items", _owner(code, made.owner))
                by = None if made.name.startswith("pop") and not instr.arguments else made.name
                found.setdefault(listed, []).append(_Write(listed, place, instr, made.name, by))
    return found


def _written(code: Code, instr: ir.Assignment) -> _Name:
    if isinstance(instr, ir.SetAttr):
        return "field", _owner(code, instr.owner), instr.name
    return "variable", instr.name


def _owner(code: Code, slot: int) -> _Name | None:
    """What a slot is called in a function; None where it has no name."""
    if slot == (code.params[0].slot if code.params else -1):
        return "self", 0
    slot = _refined(code, slot)
    named = _is_element(code, slot) or any(slot == p.slot for p in code.params)
    return _read(code, slot) or (("slot", slot) if named else None)


def _is_element(code: Code, slot: int) -> bool:
    return isinstance(index_of(code).definitions.get(slot), ir.Iter)


def _is_of_turn(code: Code, name: _Name) -> bool:
    """Whether it is a field of what a loop goes through: objects, as no tensor has fields to set."""
    owner = name[1] if name[0] == "field" else None
    return owner is not None and owner[0] == "slot" and _is_element(code, owner[1])


def _refined(code: Code, slot: int) -> int:
    """The slot that a value was first in, where branches that ask for its class have not changed it."""
    index = index_of(code)
    found = {index.original(slot)}
    for _ in range(_DEPTH):
        joins = [made for each in found if isinstance(made := index.definitions.get(each), ir.Phi)]
        if not joins:
            break
        found -= {made.target for made in joins}
        found |= {index.original(each) for made in joins for _, each in made.incoming}
    return next(iter(found)) if len(found) == 1 else slot


def _read(code: Code, slot: int) -> _Name | None:
    """The place that the value of a slot was read from."""
    made = index_of(code).source(slot)
    if made is None:
        return None
    if isinstance(made, ir.Outer):
        return "variable", made.name
    return ("field", _owner(code, made.owner), made.name) if isinstance(made, ir.Attr) else None


def _step(code: Code, instr: ir.Assignment, name: _Name) -> tuple[str, object]:
    """The operator and the constant of `x += 1`."""
    made = definitions(code).get(instr.value)
    if not isinstance(made, ir.Operator) or made.operator not in ("+", "-"):
        return "", None
    return (
        (made.operator, code.template[made.right])
        if _read(code, made.left) == name and code.template[made.right]
        else ("", None)
    )


def _reads_before(code: Code, instr: _Store | ir.Call, name: _Name, place: int) -> bool:
    """Whether what is written is what the place held at first."""
    if isinstance(instr, ir.Call):
        return False
    index, slot = index_of(code), instr.value
    made = index.source(slot)
    return _read(code, slot) == name and any(each is made for each in index.flat[:place])
