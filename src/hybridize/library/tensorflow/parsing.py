"""Reading serialized examples: what a dictionary of feature specifications says of the parsed tensors."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, LibInst, Obj, Tensor, Value, tensor, tup, unknown
from hybridize.domain.tensors import DENSE, DYNAMIC, RAGGED, SPARSE, Dim, Shape, blurred
from hybridize.library.convert import dtype_of, shape_of
from hybridize.library.operands import Args, op, record, value_rule
from hybridize.library.shapes import like
from hybridize.library.spec import Call, Spec, parametrized


def _batch(call: Call) -> Shape:
    """The dims of the serialized examples."""
    found: Shape = None
    for obj in call.arg(0, "serialized"):
        found = obj.shape if isinstance(obj, Tensor) else None
    return found


def _feature(call: Call, obj: Obj, batch: Shape) -> Value:
    """The tensor that one feature specification describes, for so many examples."""
    if not isinstance(obj, LibInst):
        return unknown("a parsed feature").value
    dtype = dtype_of(call.field(obj, "dtype"))
    kind = obj.cls.rpartition(".")[2]
    if kind == "FixedLenFeature" or kind == "FixedLenSequenceFeature":
        shape = shape_of(call, call.field(obj, "shape"))
        steps: tuple[Dim, ...] = (DYNAMIC,) if kind == "FixedLenSequenceFeature" else ()
        known = shape is not None and batch is not None
        return tensor(DENSE, dtype, (*(batch or ()), *steps, *(shape or ())) if known else None).value
    if kind == "VarLenFeature":
        return tensor(SPARSE, dtype, None if batch is None else (*map(blurred, batch), DYNAMIC)).value
    if kind == "RaggedFeature" and not call.field(obj, "partitions"):
        return tensor(RAGGED if batch else DENSE, dtype, None if batch is None else (*batch, DYNAMIC)).value
    if kind == "SparseFeature":
        return tensor(SPARSE, dtype).value
    return tensor(RAGGED, dtype).value


def _features(call: Call, value: Value, batch: Shape, tag: str) -> Value:
    """The dictionary of the tensors that a dictionary of specifications describes."""
    result = BOTTOM
    for obj in value:
        if not isinstance(obj, Container) or obj.kind != "dict":
            return unknown("parsed features").value
        made = call.new("dict", f"{tag} {obj.site[1]}")
        for key, cell in list(obj.fields.items()):
            specs = call.read(cell)
            for spec in specs:
                call.write(made.cell(key), _feature(call, spec, batch))
        if not call.is_exact(obj):
            call.engine.cells.lose_exactness(made)
            for spec in call.read(obj.rest_cell()):
                call.write(made.rest_cell(), _feature(call, spec, batch))
        result = join(result, made.value)
    return result or unknown("parsed features").value


@parametrized
def _parsed(call: Call, single: bool) -> Value:
    return _features(call, call.arg(1, "features"), () if single else _batch(call), "parsed")


def _sequence(call: Call) -> Value:
    """`parse_single_sequence_example`: the context's features and those of the steps."""
    context = _features(call, call.arg(1, "context_features"), (), "context")
    steps = _features(call, call.arg(2, "sequence_features"), (), "steps")
    return tup([context, steps]).value


def _decoded_wav(a: Args) -> Value:
    channels = a.integer("desired_channels", default=-1) if a.given("desired_channels") else -1
    samples = a.integer("desired_samples", default=-1) if a.given("desired_samples") else -1
    shape = tuple(d if d >= 0 else DYNAMIC for d in (samples, channels))
    audio = tensor(DENSE, "float32", shape).value
    return record("DecodeWav", ("audio", "sample_rate"), audio, tensor(DENSE, "int32", ()).value)


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.io.parse_single_example": Spec(_parsed(True), op=True),
    "tf.io.parse_example": Spec(_parsed(False), op=True),
    "tf.io.parse_single_sequence_example": Spec(_sequence, op=True),
    "tf.audio.decode_wav": Spec(value_rule(_decoded_wav), op=True),
    "tf.audio.encode_wav": op(lambda a: "string", lambda a: ()),
    "tf.io.decode_json_example": op(lambda a: "string", like("json_examples")),
}
