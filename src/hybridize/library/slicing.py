"""The type of `tensor[index]`: ints drop a dim, slices keep one, None adds one, an ellipsis fills up, masks and index
tensors gather (TensorFlow guide "Introduction to tensor slicing"; NumPy "Indexing on ndarrays")."""

from __future__ import annotations

from hybridize.domain.objects import BOTTOM, NONE, Container, Lit, Obj, Prim, Tensor, Tup, Value, Wrapper, prim, tensor
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, UNRESOLVED, VARIABLE, Dim, Shape, batch_of, blurred
from hybridize.library.convert import PYTHON_NP, type_of_value
from hybridize.library.shapes import broadcast_all
from hybridize.library.spec import Call


def sliced_tensor(call: Call, owner: Tensor, index: Value) -> Value:
    """The value of `owner[index]`."""
    kind = DENSE if owner.kind == VARIABLE else owner.kind
    if len(index) != 1:
        return tensor(kind, owner.dtype).value
    (key,) = index
    keys: list[Obj | None] = [key]
    if isinstance(key, Tup):
        keys = [next(iter(item)) if len(item) == 1 else None for item in key.items]
    listed = kind == NDARRAY and owner.shape is not None and any(isinstance(k, Container) for k in keys)
    shape = _advanced(call, owner.shape or (), keys) if listed else None
    if shape is None:
        shape = _sliced(owner.shape, keys)
    if shape is None and kind == NDARRAY and owner.shape is not None:
        shape = _advanced(call, owner.shape, keys)
    content = _content(owner.content, key)
    if shape == () and kind == NDARRAY and owner.dtype not in (None, "string"):
        return tensor(NDARRAY, owner.dtype, ()).value
    return tensor(kind, owner.dtype, shape, content).value


def _content(content: Shape, key: Obj) -> Shape:
    """The known elements of a slice of a shape vector."""
    if content is None:
        return None
    if isinstance(key, Lit) and isinstance(key.const, int) and -len(content) <= key.const < len(content):
        return (content[key.const],)
    if isinstance(key, Wrapper) and key.kind == "slice":
        bounds = _constant_bounds(key)
        if bounds is not None:
            return content[slice(*bounds)]
    return None


def _constant_bounds(key: Wrapper) -> list[int | None] | None:
    bounds: list[int | None] = []
    for part in key.extra[:3]:
        if not part or part is NONE.value:
            bounds.append(None)
            continue
        (obj,) = part if len(part) == 1 else (prim("int"),)
        if isinstance(obj, Tensor) and obj.shape == () and obj.content and obj.content[0] >= 0:
            bounds.append(obj.content[0])
            continue
        if not isinstance(obj, Lit) or not (obj.const is None or isinstance(obj.const, int)):
            return None
        bounds.append(obj.const)
    return bounds


def _sliced(shape: Shape, keys: list[Obj | None]) -> Shape:
    if shape is None or any(k is None or _is_gather(k) for k in keys):
        return _gathered(shape, keys)
    consumed = sum(1 for k in keys if not _is_new_axis(k) and not _is_ellipsis(k))
    if consumed > len(shape):
        return None
    result: list[Dim] = []
    position = 0
    for key in keys:
        if _is_new_axis(key):
            result.append(1)
        elif _is_ellipsis(key):
            count = len(shape) - consumed
            result += shape[position : position + count]
            position += count
        else:
            if isinstance(key, Wrapper):
                result.append(_slice_dim(shape[position], key, examples=position == 0))
            position += 1
    return tuple(result) + shape[position:]


def _is_new_axis(key: Obj | None) -> bool:
    return key is NONE


def _is_ellipsis(key: Obj | None) -> bool:
    return isinstance(key, Lit) and key.kind == "ellipsis"


def _is_gather(key: Obj | None) -> bool:
    """Whether a key is neither an int, a slice, None nor an ellipsis."""
    if isinstance(key, Tensor):
        return key.shape != ()
    return not isinstance(key, (Lit, Prim, Wrapper))


def _gathered(shape: Shape, keys: list[Obj | None]) -> Shape:
    """Indexing by an index array or mask, alone; more is not computed."""
    if shape is None or len(keys) != 1:
        return None
    key = keys[0]
    if isinstance(key, Tensor) and key.shape is not None:
        if key.dtype == "bool":
            return (DYNAMIC, *shape[len(key.shape) :])
        if key.dtype is not None:
            return (*key.shape, *shape[1:])
    if isinstance(key, Container):
        return (UNRESOLVED, *shape[1:]) if shape else None
    return None


def _advanced(call: Call, shape: tuple[Dim, ...], keys: list[Obj | None]) -> Shape:
    """NumPy's indexing by arrays: their common shape stands where they do, in front if something is between them."""
    given = [None if k is None else _index_shape(call, k) for k in keys]
    if any(known is None for known in given):
        return None
    consumed = sum(count for _, count in filter(None, given))
    if consumed > len(shape):
        return None
    result: list[Dim] = []
    places: list[int] = []  # of the keys that are arrays or ints
    start = at = 0
    for i, (key, known) in enumerate(zip(keys, given, strict=True)):
        assert known is not None
        if _is_ellipsis(key):
            result += shape[at : at + len(shape) - consumed]
            at += len(shape) - consumed
        elif _is_new_axis(key):
            result.append(1)
        elif isinstance(key, Wrapper):
            result.append(_slice_dim(shape[at], key, examples=at == 0))
            at += 1
        else:
            start = start if places else len(result)
            places.append(i)
            at += known[1]
    together = places == list(range(places[0], places[-1] + 1)) if places else True
    common = broadcast_all([known[0] for i, known in enumerate(given) if i in places and known is not None])
    if common is None:
        return None
    result[start if together else 0 : start if together else 0] = common
    return (*result, *shape[at:])


def _index_shape(call: Call, key: Obj) -> tuple[tuple[Dim, ...], int] | None:
    """The shape of an index, and how many dims it takes; None where that is not known."""
    if _is_ellipsis(key) or _is_new_axis(key):
        return (), 0
    if isinstance(key, Wrapper) and key.kind == "slice":
        return (), 1
    if isinstance(key, (Lit, Prim)):
        return ((), 1) if key.kind == "int" else None
    dtype, shape = type_of_value(call, key.value, PYTHON_NP)
    if shape is None or dtype is None:
        return None
    return ((DYNAMIC,), len(shape)) if dtype == "bool" else (shape, 1)


def _slice_dim(dim: Dim, key: Wrapper, *, examples: bool) -> Dim:
    """The size of a slice; `examples` says that it is of the first dim."""
    bounds = _constant_bounds(key)
    if bounds is None:
        return DYNAMIC if _has_tensor(key) else _window_dim(dim, key, examples=examples)
    start, stop, step = bounds
    if start is None and stop is None and step in (None, 1, -1):
        return dim
    if dim < 0:
        return blurred(dim)
    return len(range(*slice(start, stop, step).indices(dim)))


def _window_dim(dim: Dim, key: Wrapper, *, examples: bool) -> Dim:
    """The size of a slice that moves (`flow.windows`): one, or that of batches of which the last may be smaller.

    Where nobody knows how much there is to slice, each may be another thing's last one, as of recordings in a loop.
    """
    for window in key.extra[3] if len(key.extra) > 3 and dim >= 0 else BOTTOM:
        if not isinstance(window, Tup):
            continue
        *ends, size = (o.const for item in window.items for o in item if isinstance(o, Lit))
        if ends:
            sizes = {len(range(*slice(start, start + size).indices(dim))) for start in ends}
            if len(sizes) == 1:
                return sizes.pop()
        return batch_of(size) if examples else UNRESOLVED
    return UNRESOLVED


def _has_tensor(key: Wrapper) -> bool:
    return any(isinstance(o, Tensor) for part in key.extra for o in (part or BOTTOM))
