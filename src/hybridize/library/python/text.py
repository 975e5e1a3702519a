"""Text and bytes: re, string, textwrap, pprint, struct, hashlib, base64, uuid, html, urllib.parse, tokenizers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import INT_V, NONE_V, STR_V, Value, stream, tup
from hybridize.library.python.rules import (
    SCALAR_V,
    STRINGS_V,
    change,
    functions_in,
    instance,
    integer,
    iterator_of,
    octets,
    text,
    text_dict,
)
from hybridize.library.spec import Call, ClassSpec, Spec
from hybridize.library.stubs import read

_GROUP: Final = join(STR_V, NONE_V)


def _match(call: Call) -> Value:
    return join(instance("re.Match")(call), NONE_V)


def _matches(call: Call) -> Value:
    return iterator_of(call, instance("re.Match")(call))


def _found(call: Call) -> Value:
    return call.list_of(join(STR_V, STRINGS_V), "list", "found")


def _substitute(call: Call) -> Value:
    """`re.sub(pattern, repl, text)`: calls `repl` with each match if it is a function."""
    index = 0 if call.receiver is not None else 1
    func = functions_in(call.arg(index, "repl"))
    if func:
        call.call(func, instance("re.Match")(call))
    return tup([STR_V, INT_V]).value if call.name.endswith("subn") else STR_V


def _groups(call: Call) -> Value:
    return tup([_GROUP] * len(call.args)).value if len(call.args) > 1 else _GROUP


def _unpacked_bytes(call: Call) -> Value:
    return stream("tuple", SCALAR_V).value


def _pack_into(call: Call) -> Value:
    change(call, call.arg(0 if call.receiver is not None else 1))
    return NONE_V


_STRUCT: Final = {
    "pack": Spec(octets),
    "unpack": Spec(_unpacked_bytes),
    "unpack_from": Spec(_unpacked_bytes),
    "pack_into": Spec(_pack_into),
    "iter_unpack": Spec(lambda call: iterator_of(call, _unpacked_bytes(call))),
}

_FUNCTIONS, _CLASSES = read("text", globals())
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    **{f"struct.{name}": spec for name, spec in _STRUCT.items()},
    "urllib.parse.parse_qs": Spec(lambda call: text_dict(call, call.list_of(STR_V))),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **_CLASSES,
    "struct.Struct": ClassSpec(methods=_STRUCT, properties={"size": integer, "format": text}),
}
