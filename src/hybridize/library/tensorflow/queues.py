"""Queues: operations that put tensors in and take them out, in eager code as in a graph."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE, NONE_V, LibInst, Value, tensor, tup
from hybridize.domain.tensors import DENSE, DYNAMIC, Shape
from hybridize.library.convert import dtype_of, shape_of
from hybridize.library.operands import Args, Unsure
from hybridize.library.spec import Call, ClassSpec, Spec, nothing, parametrized


def _listed(call: Call, name: str) -> list[Value] | None:
    """The elements of a list that the queue was made with; None where they are not known one by one."""
    if not isinstance(call.receiver, LibInst):
        return None
    given = call.field(call.receiver, name)
    if len(given) != 1 or NONE in given:
        return None
    try:
        return Args(call).items_of(next(iter(given)))
    except Unsure:
        return None


@parametrized
def _taken(call: Call, first: tuple[int, ...]) -> Value:
    """What is taken out: one tensor, or a list of them where the queue has several components."""
    dtypes = _listed(call, "dtypes") or _listed(call, "types")
    if not dtypes:
        return tensor(DENSE).value
    shapes = _listed(call, "shapes") or [NONE_V] * len(dtypes)
    lead = tuple(call.constant(0, "n", DYNAMIC) if d == DYNAMIC else d for d in first)
    parts = [
        tensor(DENSE, dtype_of(dtype), _shape(call, shape, lead)).value
        for dtype, shape in zip(dtypes, shapes, strict=False)
    ]
    return parts[0] if len(parts) == 1 else tup(parts, "list").value


def _shape(call: Call, value: Value, lead: tuple[int, ...]) -> Shape:
    found = None if not value or value is NONE_V else shape_of(call, value)
    return None if found is None else (*(d if isinstance(d, int) else DYNAMIC for d in lead), *found)


_METHODS: Final = {
    "enqueue": Spec(nothing, op=True),
    "enqueue_many": Spec(nothing, op=True),
    "dequeue": Spec(_taken(()), op=True),
    "dequeue_many": Spec(_taken((DYNAMIC,)), op=True),
    "dequeue_up_to": Spec(_taken((DYNAMIC,)), op=True),
    "size": Spec(lambda call: tensor(DENSE, "int32", ()).value, op=True),
    "is_closed": Spec(lambda call: tensor(DENSE, "bool", ()).value, op=True),
    "close": Spec(nothing, op=True),
}
_PARAMETERS: Final = {
    "FIFOQueue": "capacity dtypes shapes names shared_name name",
    "PaddingFIFOQueue": "capacity dtypes shapes names shared_name name",
    "RandomShuffleQueue": "capacity min_after_dequeue dtypes shapes names seed shared_name name",
    "PriorityQueue": "capacity types shapes names shared_name name",
}

FUNCTIONS: Final[dict[str, Spec]] = {}
CLASSES: Final[dict[str, ClassSpec]] = {
    f"tf.queue.{name}": ClassSpec(methods=_METHODS, parameters=tuple(names.split()))
    for name, names in _PARAMETERS.items()
}
