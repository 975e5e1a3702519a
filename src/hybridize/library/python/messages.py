"""Objects that other programs describe: protocol buffers, interpreters of compiled models, annotations of images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOOL_V, INT_V, Heap, Obj, Value
from hybridize.library.python.rules import (
    ARRAY_V,
    BYTES_V,
    array,
    give,
    instance,
    integer,
    itself,
    listed,
    methods,
    nothing,
    opaque,
    table,
    text,
    text_dict,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

_MESSAGE: Final = "google.protobuf.message.Message"
_GENERATED: Final = "google.protobuf.reflection.GeneratedProtocolMessageType"

_CHANGED: Final = (
    "ParseFromString MergeFromString MergeFrom CopyFrom Clear ClearField SetInParent DiscardUnknownFields "
    "add append extend insert remove pop sort reverse update get_or_create __setitem__ __delitem__"
)
_ASKED: Final = "HasField IsInitialized WhichOneof __contains__"
_METHODS: Final = {
    **methods(_CHANGED, itself, "mutate"),
    **methods(_ASKED, truth),
    **methods("SerializeToString SerializePartialToString", give(BYTES_V)),
    **methods("ListFields FindInitializationErrors", opaque),
    **methods("ByteSize __len__", integer),
    **methods("__getitem__ __iter__ get items values keys", itself),
}


def _field(call: Call) -> Value:
    """A field of a message: what was written, a plain value, or a part of it, for which the message itself stands.

    What changes a part changes the message. Of plain values only the truth is told: either.
    """
    receiver: Obj | None = call.receiver
    name = call.name.rpartition(".")[2]
    own = call.read(receiver.cell(name)) if isinstance(receiver, Heap) else frozenset()
    return join(own, join(BOOL_V, itself(call)))


class _Described(Mapping[str, Rule]):
    """The attributes that a description gives: all names but those of the methods that there are in any case."""

    def __init__(self, methods_: Mapping[str, Spec], rule: Rule) -> None:
        self._methods = methods_
        self._rule = rule

    def __getitem__(self, name: str) -> Rule:
        if name in self._methods or name.startswith("__"):
            raise KeyError(name)
        return self._rule

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_DETAILS: Final[Rule] = lambda call: call.list_of(text_dict(call, join(ARRAY_V, INT_V)))  # noqa: E731  # of a table
_INTERPRETER: Final = ClassSpec(
    methods={
        **methods("allocate_tensors invoke resize_tensor_input set_tensor reset_all_variables", nothing, "mutate"),
        # a function that gives a view of the interpreter's own memory: it is there to be written
        "tensor": Spec(opaque, effects=("mutate",)),
        **methods("get_input_details get_output_details get_tensor_details", _DETAILS),
        "get_tensor": Spec(array),
        "get_signature_runner": Spec(opaque),
        "get_signature_list": Spec(text_dict),
    },
    effects=("io",),
)
_ANNOTATIONS: Final = "pycocotools.coco.COCO"

FUNCTIONS: Final[dict[str, Spec]] = {
    **table("colorsys", "rgb_to_hsv hsv_to_rgb rgb_to_hls hls_to_rgb rgb_to_yiq yiq_to_rgb", opaque),
    **table("pycocotools.mask", "encode decode area merge iou toBbox frPyObjects", opaque),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    _MESSAGE: ClassSpec(methods=_METHODS, properties=_Described(_METHODS, _field)),
    # what it has besides are values of enumerations, and classes of the messages inside
    _GENERATED: ClassSpec(properties=_Described({}, opaque), call=Spec(instance(_MESSAGE))),
    "tflite_runtime.interpreter.Interpreter": _INTERPRETER,
    _ANNOTATIONS: ClassSpec(
        methods={
            **methods("getAnnIds getCatIds getImgIds", listed(INT_V)),
            **methods("loadAnns loadCats loadImgs", lambda call: call.list_of(text_dict(call, opaque(call)))),
            **methods("annToMask", array),
            **methods("annToRLE loadRes", opaque),
            **methods("info showAnns", nothing, "print"),
            **methods("download createIndex", nothing, "io"),
        },
        effects=("io",),
    ),
    "pycocotools.cocoeval.COCOeval": ClassSpec(
        methods={**methods("evaluate accumulate", nothing, "mutate"), **methods("summarize", text, "print")}
    ),
}
