"""The library operations that an instruction runs on tensors, and how much each computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final

from hybridize.domain.objects import Bound, Lib, LibInst, Lit, Obj, Tensor, Tup, Value
from hybridize.domain.tensors import SYMBOLIC, Shape, arrived, expected
from hybridize.facts.calls.work import Calculating
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.library.dialect import STEPS
from hybridize.library.keras import sizes
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.program.operands import operands
from hybridize.records import dataclass, replace

#: What a tensor of unknown shape counts as, and one that a convolution gives.
_ELEMENTS: Final = 1000.0
#: More than any machine holds.
_MOST_ELEMENTS: Final = 10**15
_IMAGES: Final = 1e5
_FEATURES: Final = 32
_KERNEL: Final = 9.0
_SYMBOLIC_KINDS: Final = frozenset({SYMBOLIC})
_MODEL: Final = "keras.Sequential"
_POWERS: Final = frozenset({"tf.math.**", "tf.math.pow"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: `layer` is the library's object that is called, `owner` the class of the one whose method is.

    `share` is how likely it is this one of several. `model` is a model of the library, whose layers come on top;
    `guessed` is the share of elements and multiplications that rests on sizes which are not known, `spared` are the
    microseconds of them that a graph leaves out. `examples` are those that a model is called with, None where nobody
    knows.
    """

    name: str
    layer: LibInst | None = None
    owner: str = ""
    share: float = 1.0
    dispatches: float = 0.0
    operations: float = 0.0
    nodes: float = 0.0
    elements: float = 0.0
    flops: float = 0.0
    variables: float = 0.0
    weights: float = 0.0
    guessed: float = 0.0
    spared: float = 0.0
    examples: int | None = None
    model: LibInst | None = None


def operations(frame: Frame, instr: Calculating, examples: int | None = None) -> list[Operation]:
    """The operations that an instruction of a function runs; `examples` in place of numbers that are not known."""
    result = frame.vals[instr.target] if instr.target >= 0 else None
    arguments = _arguments(frame, instr)
    given = arguments[0] if arguments else None
    return [own(found, result, given, arguments, examples) for found in _named(frame, instr)]


def examples_of(frame: Frame) -> int | None:
    """How many examples a function gets in a batch: what it makes itself (noise, targets) mostly has as many."""
    tensors = (o for value in frame.args for o in _within(value) if isinstance(o, Tensor) and o.shape)
    dims = [shape[0] for shape in (o.shape for o in tensors) if shape]
    return max((size for dim in dims if dim < 0 and (size := expected(dim)) is not None), default=None)


def _within(value: Value | None) -> Iterator[Obj]:
    """The objects of a value, and those of its tuples."""
    for obj in value or ():
        if isinstance(obj, Tup):
            yield from (inner for item in obj.items for inner in item)
        else:
            yield obj


def symbolic(frame: Frame, instr: Instr) -> bool:
    """Whether an instruction gives symbolic tensors of Keras: a part of a functional model."""
    value = frame.vals[instr.target] if instr.target >= 0 else None
    return any(isinstance(o, Tensor) and o.kind in _SYMBOLIC_KINDS for o in value or ())


def _named(frame: Frame, instr: Calculating) -> list[Operation]:
    if isinstance(instr, ir.Call):
        return _called(frame, instr)
    value = frame.vals[instr.target] if instr.target >= 0 else None
    is_tensor = any(isinstance(o, Tensor) and o.kind != "ndarray" for o in value or ())
    if not is_tensor:
        return []
    if isinstance(instr, ir.Item):
        return [Operation("tf.getitem")]
    return [Operation(f"tf.math.{instr.operator}")]


def _called(frame: Frame, instr: ir.Call) -> list[Operation]:
    noted = frame.ops[instr.position]
    value = frame.vals[instr.function] or ()
    layers = [o for o in value if isinstance(o, LibInst)]
    for obj in value:
        if isinstance(obj, Lib):
            return [Operation(obj.name)] if obj.name.startswith(("tf.", "keras.")) else []
        if isinstance(obj, LibInst):
            return [Operation(_class(o), o, share=1 / len(layers)) for o in layers]
        if isinstance(obj, Bound) and isinstance(obj.func, str):
            receiver, name = obj.receiver, obj.func.rpartition(":")[2]
            owner = receiver.cls if isinstance(receiver, LibInst) else ""
            if isinstance(receiver, LibInst) and name == "call" and owner.startswith("keras."):
                return [Operation(_class(receiver), receiver)]  # `layer.call(x)` computes what `layer(x)` does
            if noted.endswith(f".{name}"):
                return [Operation(noted, owner=owner)]
            # Several calls of one chain share a position, which notes only the last.
            named = name in STEPS or isinstance(receiver, Tensor)
            return [Operation(STEPS.get(name, f"tf.{name}"), owner=owner)] if named else []
    return [Operation(noted)] if noted.startswith("keras.") else []


def _class(obj: Obj) -> str:
    assert isinstance(obj, LibInst)
    return _MODEL if obj.cls == "keras.Model" else obj.cls


def _arguments(frame: Frame, instr: Calculating) -> list[Value | None]:
    """The values that an operation gets, by position."""
    if isinstance(instr, ir.Call):
        return [frame.vals[slot] for slot, starred in instr.arguments if not starred]
    return [frame.vals[slot] for slot in operands(instr)] if isinstance(instr, ir.Binary) else []


def own(
    operation: Operation,
    result: Value | None,
    given: Value | None,
    arguments: Sequence[Value | None] = (),
    examples: int | None = None,
) -> Operation:
    """The operation with what it costs, by its result and its first argument; `examples` as for `operations`."""
    name = operation.name
    count = nodes = costs.operations(name)
    dispatches = costs.dispatches(name)
    if _holds_whole_numbers(given):
        more = costs.converting(name)
        dispatches, count, nodes = dispatches + more[0], count + more[1], nodes + more[1]
    if costs.per_step(name):
        shape = _shape(given)
        steps = shape[1] if shape is not None and len(shape) > 1 and shape[1] >= 0 else costs.STEPS
        count += steps * costs.per_step(name)
        nodes += 2 * costs.per_step(name)  # one step, in a loop
        dispatches += steps * costs.step_dispatches(name)
    costed = replace(operation, dispatches=dispatches, operations=count, nodes=nodes, variables=costs.variables(name))
    if operation.layer is not None and name == _MODEL:
        # Its layers are what costs.
        return replace(
            costed,
            dispatches=costs.MODEL_CALL,
            operations=0.0,
            nodes=0.0,
            variables=0.0,
            model=operation.layer,
            examples=_examples(_shape(given), examples),
        )
    if operation.layer is not None and sizes.is_layer(operation.layer):
        return _layer(costed, operation.layer, given, examples)
    return _sized(costed, result, arguments, given, examples)


def _layer(costed: Operation, layer: LibInst, given: Value | None, examples: int | None) -> Operation:
    examples = _examples(_shape(given), examples)
    size = sizes.size_of(layer, _shape(given), examples)
    inner = [sizes.size_of(each, None, examples) for each, _ in sizes.inside(layer) if sizes.is_layer(each)]
    written = size.written + sum(each.written for each in inner)
    flops = size.flops + sum(each.flops for each in inner)
    weights = size.weights + sum(each.weights for each in inner)
    return replace(costed, elements=written, flops=flops, weights=weights, guessed=size.guessed)


def _examples(shape: Shape, else_: int | None) -> int | None:
    """How many examples a tensor holds; what is known by something else where it does not say."""
    known = expected(shape[0]) if shape else None
    return known if known is not None else else_


def _product(dims: Iterable[int]) -> float:
    """How many elements a tensor has; a shape that is none (labels in its place) may say more than there can be."""
    return float(min(prod(dims), _MOST_ELEMENTS))


def _sized(
    costed: Operation,
    result: Value | None,
    arguments: Sequence[Value | None],
    given: Value | None,
    examples: int | None,
) -> Operation:
    name = costed.name
    convolves = costs.contraction(name) > 1
    shape = _shape(result)
    if convolves and shape is None:
        written = _IMAGES
    elif shape is None:
        written = _ELEMENTS if _is_tensor(result) else 0.0
    else:
        written = _product(sizes.filled(shape, 0, examples=examples))
    flops = 0.0
    if convolves:
        kernel = _shape(arguments[1]) if len(arguments) > 1 else None
        flops = written * (_product(kernel[:-1]) if kernel and min(kernel) >= 0 else _KERNEL * _last(given))
    elif costs.contraction(name):
        flops = written * _last(given)
    elif costs.cubic(name):
        matrix = sizes.filled(_shape(given), 2)
        flops = costs.cubic(name) * _product(matrix) * min(matrix[-1], _MOST_ELEMENTS)
    guessed = (costs.UNSEEN if shape is None else sizes.guess(shape, examples)) if written else 0.0
    elements = written * costs.elementwise(name)
    # Graphs square where eager code raises to the power of two.
    spared = costs.computing_time(elements - written, 0.0) if name in _POWERS and _is_two(arguments) else 0.0
    return replace(costed, elements=elements, flops=flops, guessed=guessed, spared=spared)


def _is_two(arguments: Sequence[Value | None]) -> bool:
    given = arguments[1] if len(arguments) > 1 else None
    return bool(given) and all(isinstance(o, Lit) and o.const == 2 for o in given or ())


def _is_tensor(value: Value | None) -> bool:
    return any(isinstance(o, Tensor) for o in value or ())


def _holds_whole_numbers(value: Value | None) -> bool:
    tensors = [o for o in value or () if isinstance(o, Tensor)]
    return bool(tensors) and all((o.dtype or "").startswith(("int", "uint")) for o in tensors)


def _shape(value: Value | None) -> Shape:
    """The shape of a tensor in a value, as it arrives: of several the largest, whatever order they come in."""
    found = [arrived(o.shape) for o in value or () if isinstance(o, Tensor)]
    return max(found, key=lambda shape: (shape is not None, len(shape or ()), shape or ()), default=None)


def _last(value: Value | None) -> int:
    """The size of the last dim of a tensor."""
    shape = _shape(value)
    return shape[-1] if shape and shape[-1] >= 0 else _FEATURES
