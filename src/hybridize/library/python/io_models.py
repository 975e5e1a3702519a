"""Files and formats: io, os, os.path, pathlib, shutil, glob, tempfile, json, pickle, csv, yaml, archives, HDF5."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
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
    ARRAY_V,
    BYTES_V,
    call_back,
    change,
    give,
    instance,
    integer,
    iterator_of,
    itself,
    listed,
    methods,
    nothing,
    number,
    octets,
    opaque,
    parsed,
    properties,
    recall,
    same,
    table,
    text,
    text_dict,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

_TEXT_OR_BYTES: Final = join(STR_V, BYTES_V)
_FILE: Final = "io.TextIOWrapper"
_file: Final = instance(_FILE)


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


def _writer(cls: str) -> Rule:
    def rule(call: Call) -> Value:
        made = call.made(cls)
        call.keep(made, "file", call.arg(0, "f" if cls.endswith("DictWriter") else "csvfile"))
        return made.value

    return rule


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

_READS: Final = methods("read readline read1 getvalue", give(STR_V), "io")
_STREAM: Final = {
    **_READS,
    "readlines": Spec(listed(STR_V), effects=("io",)),
    "readinto": Spec(_read_into, effects=("io",)),
    **methods("write seek tell truncate fileno", integer, "io"),
    **methods("writelines flush close detach reconfigure", nothing, "io"),
    **methods("readable writable seekable isatty", truth),
    "__iter__": Spec(_lines),
    "__next__": Spec(_lines),
    "__enter__": Spec(itself),
}
_BINARY: Final = {
    **_STREAM,
    **methods("read readline read1", octets, "io"),
    "readlines": Spec(listed(BYTES_V), effects=("io",)),
}
#: A buffer in memory is an object like a list: using it changes it, and nothing outside.
_MEMORY: Final = {name: Spec(spec.rule, effects=("mutate",) if spec.effects else ()) for name, spec in _STREAM.items()}
_BUFFER: Final = {
    **_MEMORY,
    "getvalue": Spec(give(_TEXT_OR_BYTES)),
    "getbuffer": Spec(octets),
    "tell": Spec(integer),
    "__iter__": Spec(lambda call: iterator_of(call, STR_V, "lines") if call.name != "iter" else STR_V),
}
_FILE_PROPERTIES: Final[dict[str, Rule]] = {**properties("name mode encoding", text), "closed": truth, "buffer": itself}
_ARCHIVE: Final = ClassSpec(
    methods={
        **methods("extractall extract write writestr add addfile close testzip setpassword", nothing, "io"),
        "read": Spec(octets, effects=("io",)),
        **methods("namelist getnames", listed(STR_V)),
        **methods("infolist getmembers", listed(unknown("a member of an archive").value)),
        **methods("getmember getinfo next", opaque),
        **methods("open extractfile", instance("io.BufferedReader"), "io"),
        "__enter__": Spec(itself),
    },
    effects=("io",),
)

# Paths ---------------------------------------------------------------------------------------------------------------

_PATH_TESTS: Final = "exists is_file is_dir is_symlink is_mount samefile"
_PATH: Final = ClassSpec(
    methods={
        **methods(
            "joinpath with_suffix with_name with_stem relative_to expanduser as_posix __truediv__ __rtruediv__", _path
        ),
        **methods("as_posix as_uri __str__ __fspath__", text),
        **methods("is_absolute match is_relative_to", truth),
        **methods(_PATH_TESTS, truth, "environment"),
        **methods("resolve absolute cwd home readlink", _path, "environment"),
        **methods("stat lstat", instance("os.stat_result"), "environment"),
        **methods("iterdir glob rglob", _paths, "environment"),
        "walk": Spec(_walk, effects=("environment",)),
        "open": Spec(_file, effects=("io",)),
        "read_text": Spec(text, effects=("io",)),
        "read_bytes": Spec(octets, effects=("io",)),
        **methods("write_text write_bytes", integer, "io"),
        **methods("mkdir touch unlink rmdir chmod symlink_to hardlink_to", nothing, "io"),
        **methods("rename replace", _path, "io"),
        "__enter__": Spec(itself),
    },
    properties={
        **properties("name stem suffix drive root anchor", text),
        "parent": _path,
        "parents": lambda call: stream("tuple", _path(call)).value,
        "parts": give(stream("tuple", STR_V).value),
        "suffixes": listed(STR_V),
    },
    make=_path,
)

_JSON_MODULES: Final = ("json", "simplejson", "ujson", "commentjson")
_PICKLES: Final = ("pickle", "cPickle", "dill", "cloudpickle", "marshal")
_ENVIRON: Final = "os.environ"

FUNCTIONS: Final[dict[str, Spec]] = {
    **table("io", "open open_code", _file, "io"),
    "codecs.open": Spec(_file, effects=("io",)),
    **table("codecs", "getreader getwriter", lambda call: lib(_FILE).value),
    **table("codecs", "encode decode", give(_TEXT_OR_BYTES)),
    **{f"{module}.open": Spec(_file, effects=("io",)) for module in ("gzip", "bz2", "lzma", "smart_open", "tokenize")},
    **{f"{module}.{name}": Spec(octets) for module in ("gzip", "bz2", "lzma") for name in ("compress", "decompress")},
    # os: what looks at the world, what changes it
    **table("os", "getcwd getlogin uname", text, "environment"),
    **table("os", "getpid getppid cpu_count getuid getgid", integer, "environment"),
    "os.getenv": Spec(lambda call: join(STR_V, call.arg(1, "default", NONE_V)), effects=("environment",)),
    "os.environ.get": Spec(lambda call: join(STR_V, call.arg(1, "default", NONE_V)), effects=("environment",)),
    **table(_ENVIRON, "copy items keys values", lambda call: text_dict(call), "environment"),
    **table(_ENVIRON, "setdefault pop", text, "io"),
    **table(_ENVIRON, "update clear", nothing, "io"),
    **table(_ENVIRON, "__getitem__", text, "environment"),
    **table(_ENVIRON, "__setitem__ __delitem__", nothing, "io"),
    **table(
        "os",
        "putenv unsetenv chdir mkdir makedirs remove unlink rmdir removedirs rename renames replace symlink link "
        "chmod chown kill killpg abort close fsync utime truncate mkfifo umask nice setsid",
        nothing,
        "io",
    ),
    "os._exit": Spec(give(BOTTOM), effects=("io",)),
    **table("os", "system write open dup waitpid fork spawnl", integer, "io"),
    **table("os", "popen fdopen", _file, "io"),
    "os.read": Spec(octets, effects=("io",)),
    "os.pipe": Spec(give(tup([INT_V, INT_V]).value), effects=("io",)),
    "os.urandom": Spec(octets, effects=("random",)),
    "os.listdir": Spec(listed(STR_V), effects=("environment",)),
    "os.scandir": Spec(lambda call: iterator_of(call, instance("os.DirEntry")(call)), effects=("environment",)),
    **table("os", "walk fwalk", _walk, "environment"),
    **table("os", "stat lstat fstat", instance("os.stat_result"), "environment"),
    **table("os", "access", truth, "environment"),
    "os.times": Spec(opaque, effects=("clock",)),
    **table("os", "fspath fsdecode strerror", text),
    "os.fsencode": Spec(octets),
    "os.get_terminal_size": Spec(
        give(tup([INT_V, INT_V], "tuple", ("columns", "lines")).value), effects=("environment",)
    ),
    "os.sched_getaffinity": Spec(lambda call: call.list_of(INT_V, "set"), effects=("environment",)),
    **table("os.path", "join basename dirname normpath normcase commonprefix commonpath relpath", text),
    **table("os.path", "abspath realpath expanduser expandvars", text, "environment"),
    **table("os.path", "exists isfile isdir islink lexists ismount samefile", truth, "environment"),
    "os.path.isabs": Spec(truth),
    **table("os.path", "getsize", integer, "environment"),
    **table("os.path", "getmtime getctime getatime", number, "environment"),
    **table("os.path", "split splitext splitdrive", give(tup([STR_V, STR_V]).value)),
    "glob.glob": Spec(listed(STR_V), effects=("environment",)),
    "glob.iglob": Spec(lambda call: iterator_of(call, STR_V), effects=("environment",)),
    "glob.escape": Spec(text),
    **table("fnmatch", "fnmatch fnmatchcase", truth),
    "fnmatch.filter": Spec(listed(STR_V)),
    **table("shutil", "copy copy2 copyfile copytree move make_archive", text, "io"),
    **table("shutil", "rmtree copyfileobj copymode copystat unpack_archive chown", nothing, "io"),
    "shutil.which": Spec(lambda call: join(STR_V, NONE_V), effects=("environment",)),
    "shutil.disk_usage": Spec(
        give(tup([INT_V] * 3, "tuple", ("total", "used", "free")).value), effects=("environment",)
    ),
    "shutil.get_terminal_size": Spec(
        give(tup([INT_V, INT_V], "tuple", ("columns", "lines")).value), effects=("environment",)
    ),
    **table("tempfile", "mkdtemp mktemp", text, "io"),
    "tempfile.mkstemp": Spec(give(tup([INT_V, STR_V]).value), effects=("io",)),
    "tempfile.gettempdir": Spec(text, effects=("environment",)),
    **table("pathlib.Path", "cwd home", _path, "environment"),
    # formats
    **{f"{m}.dumps": Spec(_dumped) for m in _JSON_MODULES},
    **{f"{m}.dump": Spec(_dump) for m in _JSON_MODULES},
    **{f"{m}.loads": Spec(_load) for m in _JSON_MODULES},
    **{f"{m}.load": Spec(_load_file) for m in _JSON_MODULES},
    **{f"{m}.dumps": Spec(octets) for m in _PICKLES},
    **{f"{m}.dump": Spec(_dump) for m in _PICKLES},
    **{f"{m}.loads": Spec(opaque) for m in _PICKLES},
    **{f"{m}.load": Spec(_unpickled) for m in _PICKLES},
    "shelve.open": Spec(text_dict, effects=("io",)),
    "csv.reader": Spec(_rows),
    "csv.writer": Spec(_writer("csv.Writer")),
    "csv.register_dialect": Spec(nothing, effects=("state",)),
    "csv.field_size_limit": Spec(integer, effects=("state",)),
    **table("yaml", "safe_load load full_load unsafe_load", _load),
    **table("yaml", "safe_load_all load_all", lambda call: iterator_of(call, parsed(call))),
    **table("yaml", "dump safe_dump dump_all safe_dump_all", _dump_maybe),
    **table("yaml", "add_constructor add_representer add_implicit_resolver", nothing, "state"),
    **{f"{m}.loads": Spec(parsed) for m in ("toml", "tomllib", "tomli")},
    **{f"{m}.load": Spec(parsed, effects=("io",)) for m in ("toml", "tomllib", "tomli")},
    **{f"toml.{n}": Spec(text, effects=e) for n, e in (("dump", ("io",)), ("dumps", ()))},
    "msgpack.packb": Spec(octets),
    "msgpack.unpackb": Spec(parsed),
    "joblib.dump": Spec(listed(STR_V), effects=("io",)),
    "joblib.load": Spec(opaque, effects=("io",)),
    "tarfile.open": Spec(instance("tarfile.TarFile"), effects=("io",)),
    "tarfile.is_tarfile": Spec(truth, effects=("environment",)),
    "zipfile.is_zipfile": Spec(truth, effects=("environment",)),
    "fileinput.input": Spec(lambda call: iterator_of(call, STR_V), effects=("io",)),
    "mmap.mmap": Spec(instance("io.BufferedReader"), effects=("io",)),
    **table("linecache", "getline", text, "io"),
    **table("urllib.request", "urlopen", instance("io.BufferedReader"), "io"),
    "urllib.request.urlretrieve": Spec(
        give(tup([STR_V, unknown("the headers of a download").value]).value), effects=("io",)
    ),
    **table("urllib.request", "install_opener", nothing, "state"),
    **table("requests", "get post put patch delete head options request", instance("requests.Response"), "io"),
    "gdown.download": Spec(text, effects=("io",)),
    **table("pkgutil", "get_data", octets, "io"),
    **table("importlib.resources", "open_text open_binary", _file, "io"),
    **table("importlib.resources", "read_text", text, "io"),
    **table("importlib.resources", "files", _path),
    **table("pkg_resources", "resource_filename", text, "environment"),
    "pkg_resources.resource_stream": Spec(_file, effects=("io",)),
}
_CSV_WRITER: Final = methods("writerow writerows writeheader", _write_row)
_H5_GROUP: Final = ClassSpec(
    methods={
        **methods("create_dataset require_dataset", instance("h5py.Dataset"), "io"),
        **methods("create_group require_group", instance("h5py.Group"), "io"),
        **methods("keys", lambda call: iterator_of(call, STR_V)),
        "values": Spec(lambda call: iterator_of(call, instance("h5py.Dataset")(call))),
        "items": Spec(lambda call: iterator_of(call, tup([STR_V, instance("h5py.Dataset")(call)]).value)),
        "get": Spec(instance("h5py.Dataset")),
        "visititems": Spec(lambda call: call_back(call, call.arg(0), STR_V, instance("h5py.Dataset")(call)) or NONE_V),
        **methods("close flush copy move", nothing, "io"),
        "__getitem__": Spec(instance("h5py.Dataset")),
        "__iter__": Spec(give(STR_V)),
        "__enter__": Spec(itself),
    },
    properties={"attrs": text_dict, "name": text, "filename": text},
)
CLASSES: Final[dict[str, ClassSpec]] = {
    _FILE: ClassSpec(methods=_STREAM, properties=_FILE_PROPERTIES),
    **{
        f"io.{name}": ClassSpec(methods=_BINARY, properties=_FILE_PROPERTIES)
        for name in (
            "BufferedReader",
            "BufferedWriter",
            "FileIO",
            "RawIOBase",
            "IOBase",
            "BufferedIOBase",
            "TextIOBase",
        )
    },
    "io.StringIO": ClassSpec(methods=_BUFFER, properties=_FILE_PROPERTIES, parameters=("initial_value",)),
    "io.BytesIO": ClassSpec(
        methods={**_BUFFER, **methods("read readline read1", octets, "mutate")},
        properties=_FILE_PROPERTIES,
        parameters=("initial_bytes",),
    ),
    **{f"gzip.{n}": ClassSpec(methods=_BINARY, effects=("io",)) for n in ("GzipFile",)},
    **{
        f"pathlib.{name}": _PATH
        for name in ("Path", "PurePath", "PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")
    },
    "os.PathLike": ClassSpec(),
    "os.stat_result": ClassSpec(
        properties={**properties("st_size st_mode st_ino", integer), **properties("st_mtime st_ctime st_atime", number)}
    ),
    "os.DirEntry": ClassSpec(
        methods={
            **methods("is_dir is_file is_symlink", truth, "environment"),
            "stat": Spec(instance("os.stat_result"), effects=("environment",)),
        },
        properties=properties("name path", text),
    ),
    **{
        f"tempfile.{name}": ClassSpec(methods=_BINARY, properties=_FILE_PROPERTIES, effects=("io",))
        for name in ("NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile")
    },
    "tempfile.TemporaryDirectory": ClassSpec(
        methods={"__enter__": Spec(text), "cleanup": Spec(nothing, effects=("io",))},
        properties={"name": text},
        effects=("io",),
    ),
    "zipfile.ZipFile": _ARCHIVE,
    "tarfile.TarFile": _ARCHIVE,
    "csv.Writer": ClassSpec(methods=_CSV_WRITER),
    "csv.DictWriter": ClassSpec(methods=_CSV_WRITER, make=_writer("csv.DictWriter")),
    "csv.DictReader": ClassSpec(make=_dict_rows),
    "json.JSONEncoder": ClassSpec(methods={"encode": Spec(text), "default": Spec(opaque), "iterencode": Spec(opaque)}),
    "json.JSONDecoder": ClassSpec(methods={"decode": Spec(parsed), "raw_decode": Spec(opaque)}),
    "pickle.Pickler": ClassSpec(methods={"dump": Spec(nothing, effects=("io",))}),
    "pickle.Unpickler": ClassSpec(methods={"load": Spec(opaque, effects=("io",))}),
    "requests.Response": ClassSpec(
        methods={
            "json": Spec(parsed),
            "raise_for_status": Spec(nothing),
            "close": Spec(nothing, effects=("io",)),
            "iter_content": Spec(lambda call: iterator_of(call, BYTES_V), effects=("io",)),
            "iter_lines": Spec(lambda call: iterator_of(call, BYTES_V), effects=("io",)),
        },
        properties={
            "text": text,
            "content": octets,
            "status_code": integer,
            "ok": truth,
            "url": text,
            "headers": text_dict,
            "cookies": text_dict,
        },
    ),
    "requests.Session": ClassSpec(
        methods={
            **methods("get post put delete head request", instance("requests.Response"), "io"),
            "close": Spec(nothing, effects=("io",)),
            "__enter__": Spec(itself),
        },
    ),
    "urllib.request.Request": ClassSpec(methods={"add_header": Spec(nothing, effects=("mutate",))}),
    "h5py.File": ClassSpec(bases=("h5py.Group",), effects=("io",)),
    "h5py.Group": _H5_GROUP,
    "h5py.Dataset": ClassSpec(
        methods={
            "__getitem__": Spec(give(ARRAY_V), effects=("io",)),
            "__iter__": Spec(give(ARRAY_V)),
            "__len__": Spec(integer),
            **methods("read_direct resize", nothing, "io"),
            "astype": Spec(same),
        },
        properties={
            "shape": give(stream("tuple", INT_V).value),
            "attrs": text_dict,
            "dtype": opaque,
            "size": integer,
            "value": give(ARRAY_V),
        },
    ),
}
