"""Datasets as streams of their elements: what elements are made of, and rules on their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Obj, Stream, Tensor, Tup, Value, stream, tensor, tup, unknown
from hybridize.domain.tensors import DENSE, NDARRAY, SYMBOLIC, VARIABLE, Shape
from hybridize.domain.unknowns import Why
from hybridize.library.convert import PYTHON_TF, type_of_value
from hybridize.library.spec import Call

DATASET: Final = "tf.data.Dataset"


ITERATOR: Final = "tf.data.Iterator"
#: What no element of a dataset is: it becomes a tensor on the way, or is refused.
_OUTSIDE: Final = (NDARRAY, VARIABLE, SYMBOLIC)


#: The count of a dataset that never ends.
INFINITE: Final = -1


def dataset(element: Value, count: int | None = None) -> Value:
    """A dataset of these elements, and how many there are."""
    return stream(DATASET, element, count).value


def count_of(call: Call) -> int | None:
    """How many elements the dataset has whose method is called; None where that is not known."""
    return call.receiver.count if isinstance(call.receiver, Stream) else None


def elements_of(call: Call, value: Value) -> Value:
    """The elements of datasets, as a graph sees them; of anything else what iterating gives."""
    result = BOTTOM
    for obj in value:
        result = join(result, obj.element if isinstance(obj, Stream) else call.elements(obj.value))
    return result


def element_of(call: Call) -> Value:
    """The element of the dataset whose method is called."""
    return (
        call.receiver.element
        if isinstance(call.receiver, Stream)
        else unknown("an element of a dataset", Why.PART).value
    )


def structure(
    call: Call, value: Value, leaf: LeafRule, depth: int = 0, done: dict[Container, Value] | None = None
) -> Value:
    """Maps the tensors of an element's structure; `done` are its dictionaries, each mapped once wherever it is held."""
    done = {} if done is None else done
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tup) and depth < 5:
            items = [structure(call, item, leaf, depth + 1, done) for item in obj.items]
            result = join(result, tup(items, obj.kind, obj.names).value)
        elif isinstance(obj, Container) and obj.kind == "dict" and depth < 5:
            result = join(result, done[obj] if obj in done else _mapping(call, obj, leaf, depth, done))
        else:
            result = join(result, leaf(call, obj))
    return result


def _mapping(call: Call, obj: Container, leaf: LeafRule, depth: int, done: dict[Container, Value]) -> Value:
    engine, frame = call.engine, call.frame
    # Calls in a chain have one position: the source tells their results apart.
    made = call.new("dict", f"structure {call.name} {id(obj)}")
    done[obj] = made.value
    for key, cell in list(obj.fields.items()):
        mapped = structure(call, engine.cells.read(frame, cell), leaf, depth + 1, done)
        engine.cells.write(frame, made.cell(key), mapped, call.pos)
    if not engine.cells.is_exact(frame, obj):
        engine.cells.lose_exactness(made)
        rest = structure(call, engine.cells.read(frame, obj.rest_cell()), leaf, depth + 1, done)
        engine.cells.write(frame, made.rest_cell(), rest, call.pos)
    return made.value


def leaves(value: Value, inside: Callable[[Obj], Iterable[Value] | None]) -> Iterator[Obj]:
    """What is at the ends of a structure, each once wherever it is held; `inside` gives parts, None for an end."""
    todo = list(value)
    seen = set(todo)  # a structure may hold itself
    while todo:
        obj = todo.pop()
        parts = inside(obj)
        if parts is None:
            yield obj
            continue
        new = {held for part in parts for held in part} - seen
        seen |= new
        todo += new


class LeafRule:
    """The type of a rule on one leaf of a structure (a callable; kept simple for the type checker)."""

    def __call__(self, call: Call, obj: Obj) -> Value:
        raise NotImplementedError


class Leaf(LeafRule):
    """A leaf becomes a tensor whose shape is a function of its own."""

    def __init__(self, shape: object) -> None:
        self.shape = shape

    def __call__(self, call: Call, obj: Obj) -> Value:
        dtype, shape = type_of_value(call, obj.value, PYTHON_TF)
        kind = obj.kind if isinstance(obj, Tensor) and obj.kind not in _OUTSIDE else DENSE
        if not isinstance(obj, Tensor) and dtype is None and shape is None:
            return obj.value
        new: Shape = self.shape(shape)  # type: ignore[operator]
        return tensor(kind, dtype, new).value


def first_axis_dropped(shape: Shape) -> Shape:
    """The shape of a slice along the first axis."""
    return shape[1:] if shape else None
