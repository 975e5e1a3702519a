"""configparser: a configuration, and views of its sections through which it is read and written."""

from __future__ import annotations

from hybridize.domain.objects import Value
from hybridize.library.spec import SOURCE, Call
from hybridize.library.stubs import read


def _section(call: Call) -> Value:
    """`config["name"]`."""
    made = call.made("configparser.SectionProxy")
    if call.receiver is not None:
        call.keep(made, SOURCE, call.receiver.value)
    return made.value


FUNCTIONS, CLASSES = read("configurations", globals())
