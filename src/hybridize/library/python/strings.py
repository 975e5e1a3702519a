"""Methods of strings: those of a constant give constants where shapes and names are often made of them."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import BOOL_V, BOTTOM, INT_V, STR_V, Lit, Value, literal, prim, tup
from hybridize.library.protocols import FORMATTED, show
from hybridize.library.python.sequences import give
from hybridize.library.spec import Call, Spec

#: A constant is taken apart into so many parts at most.
_MOST_PARTS: Final = 32


def _text(call: Call) -> Value:
    const = call.receiver.const if isinstance(call.receiver, Lit) else None
    name = call.name.rpartition(".")[2]
    if name == "format":
        for value in (*call.args, *call.kwargs.values()):
            show(call.engine, call.frame, value, FORMATTED, call.pos)
    if name == "join":
        call.elements(call.arg(0))  # uses up an iterator
    if isinstance(const, str) and name in ("lower", "upper", "strip", "title") and not call.args:
        return literal(getattr(const, name)()).value
    return STR_V


def _texts(call: Call) -> Value:
    """`text.split(sep)`: the parts of a constant are constants."""
    text = call.receiver
    given = call.constants()
    if not isinstance(text, Lit) or not isinstance(text.const, str) or call.kwargs or None in given or text.varies:
        return call.list_of(STR_V, "list", "split")
    made = call.new("list", "parts")
    try:
        parts = getattr(text.const, call.name.rpartition(".")[2])(*given)
    except (TypeError, ValueError):
        return BOTTOM
    if len(parts) > _MOST_PARTS or len(made.fields) not in (0, len(parts)):
        call.engine.cells.lose_exactness(made)
    for i, part in enumerate(parts):
        cell = made.cell(i) if made.exact else made.rest_cell()
        call.write(cell, literal(part).value)
    return made.value


_TEXT_METHODS: Final = (
    "lower upper strip lstrip rstrip title capitalize replace format join zfill center ljust rjust casefold decode "
    "expandtabs swapcase translate removeprefix removesuffix format_map"
).split()
_TEXT_TESTS: Final = (
    "startswith endswith isdigit isalpha isalnum isnumeric isspace isupper islower isidentifier isdecimal istitle"
).split()
#: The methods of strings, and of bytes.
STRINGS: Final = {
    **{name: Spec(_text) for name in _TEXT_METHODS},
    **{name: Spec(give(BOOL_V)) for name in _TEXT_TESTS},
    **{name: Spec(give(INT_V)) for name in ("find", "rfind", "index", "rindex", "count")},
    **{name: Spec(_texts) for name in ("split", "rsplit", "splitlines")},
    "partition": Spec(give(tup([STR_V] * 3).value)),
    "rpartition": Spec(give(tup([STR_V] * 3).value)),
    "encode": Spec(give(prim("bytes").value)),
}
