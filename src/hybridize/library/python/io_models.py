"""Files and formats: io, os, os.path, pathlib, shutil, glob, tempfile, json, pickle, csv, yaml, archives, HDF5."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    INT_V,
    NONE_V,
    STR_V,
    Container,
    Inst,
    LibInst,
    Stream,
    Tup,
    Value,
    lib,
    stream,
    tup,
    unknown,
)
from hybridize.library.python.rules import (
    call_back,
    change,
    instance,
    iterator_of,
    opaque,
    parsed,
    recall,
    table,
    text_dict,
)
from hybridize.library.spec import Call, Rule, Spec, parametrized
from hybridize.library.stubs import read

_FILE: Final = "io.TextIOWrapper"


def _lines(call: Call) -> Value:
    """Iterating over a file reads it."""
    call.effect("io", "a file is read", call.receiver)
    return iterator_of(call, STR_V, "lines") if call.name != "iter" else STR_V


def _path(call: Call) -> Value:
    return call.made("pathlib.Path").value


def _paths(call: Call) -> Value:
    return iterator_of(call, _path(call))


def _walk(call: Call) -> Value:
    names = call.list_of(STR_V, "list", "names")
    return iterator_of(call, tup([STR_V, names, names]).value)


def _dumped(call: Call) -> Value:
    """`json.dumps(x, default=f)` calls `f`; `__str__` of project objects is not used."""
    call_back(call, call.kwargs.get("default", NONE_V), call.arg(0))
    return STR_V


_BUFFERS: Final = ("io.StringIO", "io.BytesIO")


def _use(call: Call, stream: Value, method: str) -> None:
    """Reads or writes a stream: a buffer in memory changes, an object of the project answers, else it is a file."""
    for obj in stream:
        if isinstance(obj, LibInst) and obj.cls in _BUFFERS:
            call.effect("mutate", call.name, obj)
        elif isinstance(obj, (Container, Tup, Stream)):
            call.elements(obj.value)
        elif not (isinstance(obj, Inst) and call.method(obj, method, STR_V)):
            call.effect("io")


def _dump(call: Call) -> Value:
    call_back(call, call.kwargs.get("default", NONE_V), call.arg(0))
    _use(call, call.arg(1, "fp"), "write")
    return NONE_V


def _dump_maybe(call: Call) -> Value:
    """`yaml.dump(x)` gives text; with a stream it writes there."""
    if call.given(1, "stream"):
        _use(call, call.arg(1, "stream"), "write")
    return STR_V


def _load_file(call: Call) -> Value:
    _use(call, call.arg(0), "read")
    return _load(call)


def _unpickled(call: Call) -> Value:
    _use(call, call.arg(0), "read")
    return opaque(call)


@parametrized
def _writer(call: Call, cls: str) -> Value:
    made = call.made(cls)
    call.keep(made, "file", call.arg(0, "f" if cls.endswith("DictWriter") else "csvfile"))
    return made.value


def _write_row(call: Call) -> Value:
    _use(call, recall(call, "file") or unknown("a file").value, "write")
    return INT_V


def _load(call: Call) -> Value:
    data = parsed(call)
    hook = call.kwargs.get("object_hook", NONE_V)
    return join(data, call_back(call, hook, data)) if hook is not NONE_V else data


def _rows(call: Call) -> Value:
    _use(call, call.arg(0), "__next__")
    return iterator_of(call, call.list_of(STR_V, "list", "row"), "rows")


def _dict_rows(call: Call) -> Value:
    _use(call, call.arg(0), "__next__")
    return iterator_of(call, text_dict(call), "rows")


def _read_into(call: Call) -> Value:
    change(call, call.arg(0))
    return INT_V


# The file object and its relatives -----------------------------------------------------------------------------------

# Paths ---------------------------------------------------------------------------------------------------------------

_RULES: Final[dict[str, Rule]] = {
    "_buffered_lines": lambda call: iterator_of(call, STR_V, "lines") if call.name != "iter" else STR_V,
    "_parents": lambda call: stream("tuple", _path(call)).value,
    "_values": lambda call: iterator_of(call, instance("h5py.Dataset")(call)),
    "_items": lambda call: iterator_of(call, tup([STR_V, instance("h5py.Dataset")(call)]).value),
    "_visititems": lambda call: call_back(call, call.arg(0), STR_V, instance("h5py.Dataset")(call)) or NONE_V,
    "_dict_writer": _writer("csv.DictWriter"),
}

_ENVIRON: Final = "os.environ"

_FUNCTIONS, CLASSES = read("io_models", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    **table("codecs", "getreader getwriter", lambda call: lib(_FILE).value),
    "os.getenv": Spec(lambda call: join(STR_V, call.arg(1, "default", NONE_V)), effects=("environment",)),
    "os.environ.get": Spec(lambda call: join(STR_V, call.arg(1, "default", NONE_V)), effects=("environment",)),
    **table(_ENVIRON, "copy items keys values", lambda call: text_dict(call), "environment"),
    "os.scandir": Spec(lambda call: iterator_of(call, instance("os.DirEntry")(call)), effects=("environment",)),
    "os.sched_getaffinity": Spec(lambda call: call.list_of(INT_V, "set"), effects=("environment",)),
    "shutil.which": Spec(lambda call: join(STR_V, NONE_V), effects=("environment",)),
    "csv.writer": Spec(_writer("csv.Writer")),
    **table("yaml", "safe_load_all load_all", lambda call: iterator_of(call, parsed(call))),
}
