"""Operations on strings, files' contents, and conversions between bytes and tensors."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE_V, Value, tensor
from hybridize.domain.tensors import DYNAMIC, RAGGED, Shape
from hybridize.library.operands import Args, Unsure, chosen, fixed, group, op, value_rule
from hybridize.library.shapes import broadcast_all, like, reduced, scalar
from hybridize.library.spec import Spec, parametrized

_STRING: Final = """
    tf.strings.as_string tf.strings.lower tf.strings.upper tf.strings.strip tf.strings.regex_replace
    tf.strings.substr tf.strings.unicode_transcode tf.io.encode_base64 tf.io.decode_base64 tf.io.decode_compressed
"""


def _joined(a: Args) -> Shape:
    return broadcast_all([o.shape for o in a.tensors("inputs")])


def _reduced(a: Args) -> Shape:
    return reduced(a.tensor("inputs").known, a.integers("axis"), a.flag("keepdims"))


@parametrized
def _ragged(a: Args, dtype: str) -> Value:
    """One more, ragged dim: pieces of strings. A scalar gives a plain vector."""
    shape = a.tensor("input").shape
    if shape is None:
        return frozenset((tensor("dense", dtype, (DYNAMIC,)), tensor(RAGGED, dtype)))
    if shape == ():
        return tensor("dense", dtype, (DYNAMIC,)).value
    return tensor(RAGGED, dtype, (*shape, DYNAMIC)).value


def _decoded_csv(a: Args) -> Value:
    records = a.tensor("records")
    defaults = a.object("record_defaults")
    if defaults is None:
        raise Unsure
    return a.call.listed([a.result(a.operand(v).dtype, records.shape) for v in a.items_of(defaults)])


@parametrized
def _image(a: Args, dims: int) -> Shape:
    channels = a.integer("channels", default=0) if a.given("channels") else 0
    return (*(DYNAMIC,) * (dims - 1), channels or DYNAMIC)


def _decoded_image(a: Args) -> Shape:
    if a.flag("expand_animations", default=True):
        raise Unsure
    channels = a.integer("channels", default=0) if a.given("channels") else 0
    return (DYNAMIC, DYNAMIC, channels or DYNAMIC)


def _raw(a: Args) -> Shape:
    return (*a.tensor("input_bytes").known, DYNAMIC)


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_STRING, op(fixed("string"), like(), ragged=True)),
    **group("tf.strings.regex_full_match", op(fixed("bool"), like(), ragged=True)),
    **group("tf.strings.length tf.strings.unicode_script", op(fixed("int32"), like(), ragged=True)),
    **group(
        "tf.strings.to_hash_bucket tf.strings.to_hash_bucket_fast tf.strings.to_hash_bucket_strong",
        op(fixed("int64"), like(), ragged=True),
    ),
    "tf.strings.to_number": op(chosen("float32", "out_type"), like("input"), ragged=True),
    "tf.strings.join": op(fixed("string"), _joined),
    "tf.strings.reduce_join": op(fixed("string"), _reduced),
    "tf.strings.format": op(fixed("string"), scalar),
    "tf.strings.split": Spec(value_rule(_ragged("string")), op=True),
    "tf.strings.bytes_split": Spec(value_rule(_ragged("string")), op=True),
    "tf.strings.unicode_split": Spec(value_rule(_ragged("string")), op=True),
    "tf.strings.unicode_decode": Spec(value_rule(_ragged("int32")), op=True),
    "tf.io.read_file": op(fixed("string"), scalar),
    "tf.io.decode_csv": Spec(value_rule(_decoded_csv, "unknown"), op=True),
    "tf.io.decode_raw": op(lambda a: a.dtype("out_type"), _raw),
    **group("tf.io.decode_jpeg tf.io.decode_and_crop_jpeg", op(fixed("uint8"), _image(3))),
    "tf.io.decode_bmp": op(fixed("uint8"), _image(3)),
    "tf.io.decode_png": op(chosen("uint8"), _image(3)),
    "tf.io.decode_gif": op(fixed("uint8"), lambda a: (DYNAMIC, DYNAMIC, DYNAMIC, 3)),
    "tf.io.decode_image": op(chosen("uint8"), _decoded_image),
    **group("tf.io.encode_jpeg tf.io.encode_png", op(fixed("string"), lambda a: a.tensor("image").known[:-3])),
    "tf.io.serialize_tensor": op(fixed("string"), scalar),
    "tf.io.parse_tensor": op(lambda a: a.dtype("out_type"), lambda a: None),
    "tf.io.extract_jpeg_shape": op(chosen("int32", "output_type"), lambda a: (3,)),
    "tf.io.is_jpeg": op(fixed("bool"), scalar),
    "tf.io.matching_files": op(fixed("string"), lambda a: (DYNAMIC,)),
    "tf.io.write_file": Spec(value_rule(lambda a: NONE_V), op=True),
    "tf.fingerprint": op(fixed("uint8"), lambda a: (a.tensor("data").known[0], 8)),
}
