"""configparser: a configuration, and views of its sections through which it is read and written."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import STR_V, Value, tup
from hybridize.library.python.rules import integer, listed, methods, nothing, number, text, truth
from hybridize.library.spec import SOURCE, Call, ClassSpec, Spec


def _section(call: Call) -> Value:
    """`config["name"]`."""
    made = call.made("configparser.SectionProxy")
    if call.receiver is not None:
        call.keep(made, SOURCE, call.receiver.value)
    return made.value


_VALUES: Final = {
    **methods("get", text),
    "getint": Spec(integer),
    "getfloat": Spec(number),
    "getboolean": Spec(truth),
    "items": Spec(listed(tup([STR_V, STR_V]).value)),
    "__contains__": Spec(truth),
}
_PARSER: Final = ClassSpec(
    methods={
        **_VALUES,
        **methods("read read_file", listed(STR_V), "io", "mutate"),
        **methods("read_string read_dict set add_section remove_section remove_option", nothing, "mutate"),
        **methods("sections options", listed(STR_V)),
        **methods("has_section has_option", truth),
        "write": Spec(nothing, effects=("io",)),
        "__getitem__": Spec(_section),
    },
)
_SECTION: Final = ClassSpec(
    methods={
        **_VALUES,
        **methods("update setdefault pop clear", text, "mutate"),
        **methods("keys values __iter__", listed(STR_V)),
        "__getitem__": Spec(text),
    },
)

FUNCTIONS: Final[dict[str, Spec]] = {}
CLASSES: Final[dict[str, ClassSpec]] = {
    "configparser.ConfigParser": _PARSER,
    "configparser.RawConfigParser": _PARSER,
    "configparser.SectionProxy": _SECTION,
}
