"""What is inside the values that parameters receive: tensors and literals, in structures, too."""

from __future__ import annotations

from typing import Final

from hybridize.domain.nesting import field_values
from hybridize.domain.objects import NONE, Container, Lit, Obj, Prim, Stream, Tensor, Tup, Unknown, Value, tensor
from hybridize.domain.tensors import DENSE
from hybridize.library.defaults import holds_tensors
from hybridize.records import dataclass, field

_DEPTH: Final = 3
#: What is known of a tensor somewhere in a structure that is not known.
_ANY: Final = tensor(DENSE)


@dataclass(slots=True)
class Seen:
    """What was found inside a value."""

    tensors: dict[Tensor, None] = field(default_factory=dict)
    literals: dict[Lit, None] = field(default_factory=dict)
    varies: bool = False
    unknown: str | None = None


class Looker:
    """Looks inside values, containers included; each value once."""

    def __init__(self) -> None:
        self._memo: dict[Value, Seen] = {}
        self._varying: dict[tuple[Value, int], Prim | Lit | None] = {}

    def seen(self, value: Value) -> Seen:
        """What is inside one value."""
        found = self._memo.get(value)
        if found is None:
            found = self._memo[value] = Seen()
            self._look(value, found, 0, set())
        return found

    def add(self, value: Value, total: Seen) -> None:
        """Adds what is inside a value to what was seen before."""
        found = self.seen(value)
        total.tensors.update(found.tensors)
        total.literals.update(found.literals)
        total.varies = total.varies or found.varies
        total.unknown = total.unknown or found.unknown

    def varying(self, value: Value, depth: int = 2) -> Prim | Lit | None:
        """A Python value that differs from call to call, by itself or in a tuple, list or dict: the first by name."""
        key = value, depth
        if key in self._varying:
            return self._varying[key]
        holders: dict[Obj, Prim | Lit] = {}
        for obj in value:
            if isinstance(obj, (Prim, Lit)):
                if obj.varies and obj.kind != "bool":
                    holders[obj] = obj
            elif depth and isinstance(obj, (Tup, Container)):
                inside = (self.varying(inner, depth - 1) for inner in contents(obj))
                found = next((each for each in inside if each is not None), None)
                if found is not None:
                    holders[obj] = found
        # What structures look like is costly to write down: only those are compared that have an answer.
        first = min(holders, key=repr) if len(holders) > 1 else next(iter(holders), None)
        result = self._varying[key] = holders[first] if first is not None else None
        return result

    def _look(self, value: Value, seen: Seen, depth: int, visited: set[Obj]) -> None:
        for obj in value:
            if isinstance(obj, Tensor):
                seen.tensors[obj] = None
            elif isinstance(obj, Lit):
                if obj.varies:
                    seen.varies = True
                elif obj is not NONE:
                    seen.literals[obj] = None
            elif isinstance(obj, Prim):
                seen.varies = seen.varies or obj.varies
            elif isinstance(obj, Unknown) and holds_tensors(obj):
                seen.tensors[_ANY] = None
            elif isinstance(obj, Unknown):
                seen.unknown = obj.reason
            elif depth < _DEPTH and obj not in visited:
                visited.add(obj)
                for inner in contents(obj):
                    self._look(inner, seen, depth + 1, visited)


def contents(obj: Obj) -> list[Value]:
    """The values inside a structure; none of what is no structure."""
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container) and obj.kind != "generator":  # which is an iterator: nothing that can be passed on
        values = [cell.value for cell in obj.fields.values()]
        return [*values, obj.rest.value] if obj.rest is not None else values
    if isinstance(obj, Stream) and obj.kind in ("tuple", "items", "values", "keys"):
        return [obj.element]
    return field_values(obj)
