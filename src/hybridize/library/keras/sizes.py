"""How much Keras layers compute: elements written, multiplications and weights, by their settings and what they are
called with. What is not known is filled with a small size, and said to be a guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Final

from hybridize.domain.objects import Container, LibInst, Lit, Obj, Prim, Tensor, Tup, Value
from hybridize.domain.tensors import Shape, arrived, expected
from hybridize.library.costs import UNSEEN
from hybridize.records import dataclass

#: The field under which an instance keeps what it was called with.
BUILT: Final = "$built"
#: What an unknown dim counts as: the first (examples, of images fewer), the last (channels, features), one between (the
#: steps of a sequence; a side of an image, which shrinks as channels grow: their product stays about the same).
EXAMPLES: Final = 16
IMAGES: Final = 8
FEATURES: Final = 32
STEPS: Final = 20
_SIDE_TIMES_CHANNELS: Final = 512
_LEAST_SIDE: Final = 4
_MOST_SIDE: Final = 32
#: The dims of what layers get where not even their number is known.
_RANKS: Final = {"1D": 3, "2D": 4, "3D": 5}
_GATES: Final = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1, "ConvLSTM2D": 4}
_PREFIX: Final = "keras.layers."


@dataclass(frozen=True, slots=True)
class Size:
    """One call of a layer: elements written, multiplications, elements of its weights; the share that is `guessed`."""

    written: float
    flops: float = 0.0
    weights: float = 0.0
    guessed: float = 0.0


Dims = tuple[int, ...]


class _Layer:
    """A layer's constant settings, and the dims of its input without unknown ones."""

    __slots__ = ("guessed", "input", "name", "obj")

    def __init__(self, obj: LibInst, given: Shape, examples: int | None) -> None:
        self.obj = obj
        self.name = obj.cls.removeprefix(_PREFIX)
        shape = given if given is not None else _counted(_built(obj), examples)
        self.guessed = guess(shape if shape is not None else (-1, -1), examples)
        self.input: Dims = ()
        rank = next((n for end, n in _RANKS.items() if end in self.name), 2)
        self.input = filled(shape, rank, self.number("filters", 0), examples)
        if self.input and (not shape or expected(shape[-1]) is None):  # wide layers mostly follow wide ones
            self.input = (*self.input[:-1], max(self.input[-1], self.number("units", 0)))

    def number(self, name: str, default: int) -> int:
        """An int among the settings."""
        numbers = self._numbers(name)
        return numbers[0] if numbers else default

    def window(self, name: str, default: int) -> Dims:
        """One number for each spatial dim."""
        rank = max(len(self.input) - 2, 0)
        numbers = self._numbers(name) or (default,)
        return numbers if len(numbers) == rank else numbers[:1] * rank

    def _numbers(self, name: str) -> Dims:
        cell = self.obj.fields.get(name)
        return max(map(_ints, cell.value if cell is not None else ()), default=())


def _ints(obj: Obj) -> Dims:
    """The number that an object is, or those that it holds; the largest where one of several may be meant."""
    if isinstance(obj, Prim):
        return (obj.likely,) if obj.likely is not None else ()
    if not isinstance(obj, (Tup, Container)):
        return (obj.const,) if isinstance(obj, Lit) and isinstance(obj.const, int) else ()
    parts = obj.items if isinstance(obj, Tup) else [cell.value for cell in obj.fields.values()]
    return tuple(
        max(numbers) for part in parts if (numbers := [n for o in part if isinstance(o, (Lit, Prim)) for n in _ints(o)])
    )


def filled(shape: Shape, rank: int, wide: int = 0, examples: int | None = None) -> Dims:
    """The dims with sizes in the place of unknown ones; `rank` dims where their number is not known.

    `wide` are the channels that a layer makes of its input's; `examples` are what the first dim is known to be by
    something else.
    """
    if shape is None:
        shape = (-1,) * rank
    shape = tuple(dim if (size := expected(dim)) is None else size for dim in shape)
    last = len(shape) - 1
    channels = max(shape[-1] if shape and shape[-1] >= 0 else FEATURES, wide)
    side = max(_LEAST_SIDE, min(_MOST_SIDE, _SIDE_TIMES_CHANNELS // max(channels, 1))) if last > 2 else STEPS
    if examples is None:
        examples = IMAGES if last > 2 else EXAMPLES
    return tuple(
        dim if dim >= 0 else examples if i == 0 else FEATURES if i == last else side for i, dim in enumerate(shape)
    )


def guess(shape: tuple[int, ...], examples: int | None = None) -> float:
    """Which share of what a tensor costs rests on a guess: all where its number of examples is not known."""
    unknown = [expected(dim) is None for dim in shape]
    if unknown and unknown[0] and examples is not None:
        unknown[0] = False
    return 0.0 if not any(unknown) else 1.0 if unknown[0] else UNSEEN


def _counted(shape: Shape, examples: int | None) -> Shape:
    """What a layer was called with once, for the examples of the call that counts (`build((4, 28, 28, 1))`)."""
    if not shape or examples is None or expected(shape[0]) is None:
        return shape
    return (examples, *shape[1:])


def _built(obj: LibInst) -> Shape:
    """What a layer was called with; of several shapes of one rank the fewest examples, and the largest of other dims.

    What loops go over comes in batches; all examples at once come once.
    """
    cell = obj.fields.get(BUILT)
    shapes = {arrived(o.shape) for o in (cell.value if cell is not None else ()) if isinstance(o, Tensor)}
    if len({None if shape is None else len(shape) for shape in shapes}) != 1 or None in shapes:
        return None
    axes = [sorted(dims, key=lambda dim: expected(dim) or 0) for dims in zip(*filter(None, shapes), strict=True)]
    return tuple(dims[-1 if i else 0] for i, dims in enumerate(axes))


def _strided(it: _Layer) -> float:
    """The positions that a window is laid on: examples times those of each spatial dim."""
    steps = zip(it.input[1:-1], it.window("strides", 1), strict=True)
    return it.input[0] * prod(-(-dim // max(stride, 1)) for dim, stride in steps)


def _dense(it: _Layer) -> Size:
    units = it.number("units", FEATURES)
    weights = it.input[-1] * units
    positions = prod(it.input[:-1])
    return Size(positions * units, positions * weights, weights + units)


def _conv(it: _Layer) -> Size:
    filters = it.number("filters", FEATURES)
    weights = prod(it.window("kernel_size", 3)) * it.input[-1] * filters / max(it.number("groups", 1), 1)
    positions = _strided(it)
    return Size(positions * filters, positions * weights, weights + filters)


def _transposed(it: _Layer) -> Size:
    filters = it.number("filters", FEATURES)
    weights = prod(it.window("kernel_size", 3)) * it.input[-1] * filters
    positions = it.input[0] * prod(it.input[1:-1])
    return Size(positions * prod(it.window("strides", 1)) * filters, positions * weights, weights + filters)


def _depthwise(it: _Layer) -> Size:
    channels = it.input[-1] * it.number("depth_multiplier", 1)
    weights = prod(it.window("kernel_size", 3)) * channels
    return Size(_strided(it) * channels, _strided(it) * weights, weights + channels)


def _separable(it: _Layer) -> Size:
    first, filters = _depthwise(it), it.number("filters", FEATURES)
    mixing = it.input[-1] * it.number("depth_multiplier", 1) * filters
    positions = _strided(it)
    return Size(first.written + positions * filters, first.flops + positions * mixing, first.weights + mixing)


def _pooling(it: _Layer) -> Size:
    windows = it.window("strides", it.number("pool_size", 2))
    return Size(prod(it.input) / max(prod(windows), 1))


def _global(it: _Layer) -> Size:
    return Size(it.input[0] * it.input[-1])


def _embedding(it: _Layer) -> Size:
    size = it.number("output_dim", FEATURES)
    return Size(prod(it.input) * size, 0.0, it.number("input_dim", 1000) * size)


def _recurrent(it: _Layer) -> Size:
    units = it.number("units", FEATURES)
    weights = (it.input[-1] + units) * units * _GATES.get(it.name, 1)
    steps = it.input[0] * it.input[1] if len(it.input) > 2 else EXAMPLES * STEPS
    # Each step writes its gates and its state.
    return Size(steps * units * (2 * _GATES.get(it.name, 1) + 2), steps * weights, weights)


def _attention(it: _Layer) -> Size:
    wide = it.number("num_heads", 1) * it.number("key_dim", FEATURES)
    examples, length = (it.input[0], it.input[1]) if len(it.input) > 2 else (EXAMPLES, STEPS)
    weights = 4 * it.input[-1] * wide
    scores = examples * length * length
    written = 4 * examples * length * wide + 3 * scores * it.number("num_heads", 1)
    return Size(written, examples * length * weights + 2 * scores * wide, weights)


def _normalization(it: _Layer) -> Size:
    return Size(3 * prod(it.input), 0.0, 4 * it.input[-1])


def _same(it: _Layer) -> Size:
    return Size(prod(it.input))


#: The first that a layer's class begins with.
_RULES: Final[tuple[tuple[str, Callable[[_Layer], Size]], ...]] = (
    ("Dense", _dense),
    ("EinsumDense", _dense),
    ("ConvLSTM", _recurrent),
    ("Conv1DTranspose", _transposed),
    ("Conv2DTranspose", _transposed),
    ("Conv3DTranspose", _transposed),
    ("Conv", _conv),
    ("DepthwiseConv", _depthwise),
    ("SeparableConv", _separable),
    ("MaxPool", _pooling),
    ("AveragePool", _pooling),
    ("Global", _global),
    ("Embedding", _embedding),
    ("LSTM", _recurrent),
    ("GRU", _recurrent),
    ("SimpleRNN", _recurrent),
    ("MultiHeadAttention", _attention),
    ("BatchNormalization", _normalization),
    ("LayerNormalization", _normalization),
    ("GroupNormalization", _normalization),
)


def size_of(layer: LibInst, given: Shape = None, examples: int | None = None) -> Size:
    """The size of a call with a tensor of this shape; of the shapes that were seen where it is not known.

    `examples` are those of a call of what holds the layer, in place of a number that is not known.
    """
    it = _Layer(layer, given, examples)
    rule = next((rule for start, rule in _RULES if it.name.startswith(start)), _same)
    try:
        found = rule(it)
    except (ArithmeticError, LookupError, ValueError):  # what Keras itself refuses: it must not end a run
        found = _same(it)
    return Size(found.written, found.flops, found.weights, it.guessed)


def is_layer(obj: Obj) -> bool:
    """Whether an object is a layer of the library, and no model."""
    return isinstance(obj, LibInst) and obj.cls.startswith(_PREFIX)


def inside(model: LibInst) -> Iterator[tuple[LibInst, float]]:
    """The layers that a `Sequential` or a wrapper runs, each with how often."""
    for name in ("$layers", "layer", "forward_layer", "backward_layer"):
        cell = model.fields.get(name)
        for obj in cell.value if cell is not None else ():
            yield from _held(obj, 1.0, set())


#: So often a layer counts of which several are made at one place, in a list whose length is not known.
_SEVERAL: Final = 3.0


def _held(obj: Obj, share: float, seen: set[Obj]) -> Iterator[tuple[LibInst, float]]:
    if isinstance(obj, LibInst):
        yield obj, share
    elif isinstance(obj, (Container, Tup)) and obj not in seen:  # a list may hold itself
        seen.add(obj)
        parts: list[Value] = list(obj.items) if isinstance(obj, Tup) else [c.value for c in obj.fields.values()]
        for part in parts:
            for each in part:
                yield from _held(each, share / max(len(part), 1), seen)
        rest = obj.rest.value if isinstance(obj, Container) and obj.rest is not None else ()
        for each in rest:
            yield from _held(each, share * _SEVERAL, seen)
