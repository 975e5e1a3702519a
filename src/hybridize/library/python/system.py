"""The interpreter and the machine: sys, time, logging, warnings, argparse, subprocess, gc, platform, importlib."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    FLOAT_V,
    INT_V,
    NONE_V,
    STR_V,
    Container,
    Lib,
    LibInst,
    Lit,
    Value,
    literal,
    optional_int,
    prim,
    stream,
    tup,
    unknown,
)
from hybridize.library.python.rules import (
    BYTES_V,
    call_back,
    constructor,
    functions_in,
    give,
    instance,
    integer,
    itself,
    listed,
    methods,
    nothing,
    number,
    octets,
    opaque,
    properties,
    recall,
    same,
    table,
    text,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Spec

# Time ----------------------------------------------------------------------------------------------------------------

_now: Final = give(prim("float", True).value)
_TIME_FIELDS: Final = ("tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst")
_moment: Final = instance("datetime.datetime")
_span: Final = instance("datetime.timedelta")
_broken_down: Final = give(tup([INT_V] * 9, "tuple", _TIME_FIELDS).value)


def _formatted(call: Call) -> Value:
    """`time.strftime(format)` reads the clock; with a time it does not."""
    if len(call.args) < 2 and not call.rest:
        call.effect("clock", call.name)
    return STR_V


def _broken(call: Call) -> Value:
    if not call.args:
        call.effect("clock", call.name)
    return _broken_down(call)


_DATE_FIELDS: Final = properties("year month day hour minute second microsecond days seconds microseconds", integer)
_DATE: Final = ClassSpec(
    methods={
        **methods("strftime isoformat ctime __str__", text),
        **methods("weekday isoweekday toordinal __hash__", integer),
        **methods("replace astimezone __add__ __radd__ combine", _moment),
        **methods("date time", _moment),
        **methods("timestamp total_seconds", number),
        **methods("timetuple utctimetuple", _broken_down),
        **methods("utcoffset dst __sub__", lambda call: join(_span(call), _moment(call))),
        "tzname": Spec(text),
        "isocalendar": Spec(give(tup([INT_V] * 3).value)),
    },
    properties={**_DATE_FIELDS, "tzinfo": opaque},
)

# Command lines -------------------------------------------------------------------------------------------------------

_NAMESPACE: Final = "argparse.Namespace"
#: What an empty command line gives: `parse_args([])`.
_DEFAULTS: Final = "argparse.Namespace.defaults"
#: Under which the namespace of a command line keeps what an empty command line gives.
_WITHOUT: Final = "$defaults"
#: Where a namespace may have options of which nobody knows the names.
_OPEN: Final = "?"


def _parser(call: Call) -> Value:
    """A parser and the namespace that it will fill: each argument's value goes there as it is declared."""
    made, defaults = call.made(call.name), instance(_DEFAULTS)(call)
    space = instance(_NAMESPACE)(call)
    call.keep(made, "namespace", space)
    call.keep(made, "defaults", defaults)
    for each in space:
        if isinstance(each, LibInst):
            call.keep(each, _WITHOUT, defaults)
            if "parents" in call.kwargs:
                call.keep(each, _OPEN, NONE_V)
    return made.value


def lacks(space: LibInst, name: str) -> bool:
    """Whether a namespace that a parser has filled surely has no option of that name."""
    known = space.cls == _NAMESPACE and _WITHOUT in space.fields and space.rest is None
    return known and not name.startswith("_") and space.fields.keys().isdisjoint((name, _OPEN, "**"))


def _declare(call: Call) -> Value:
    """`add_argument("--size", type=int, default=3)`: what `args.size` will be."""
    names = call.constants()
    spelled = [n for n in names if isinstance(n, str)]
    given = call.constant(-1, "dest")
    long = [n for n in spelled if n.startswith("--")] or spelled
    name = given if isinstance(given, str) else long[0].lstrip("-").replace("-", "_") if long else None
    for space in recall(call, "namespace"):
        if isinstance(space, LibInst):
            call.keep(space, name or _OPEN, _declared(call))
    if name:
        for space in recall(call, "defaults"):
            if isinstance(space, LibInst):
                call.keep(space, name, _by_default(call))
    return unknown("an argument of a command line").value


def _subparsers(call: Call) -> Value:
    """`add_subparsers(dest="command")`: which command is given is there, too."""
    name = call.constant(-1, "dest")
    for space in recall(call, "namespace"):
        if isinstance(space, LibInst) and isinstance(name, str):
            call.keep(space, name, join(STR_V, NONE_V))
    return itself(call)


def _by_default(call: Call) -> Value:
    """What an argument is where the command line does not have it."""
    default = call.kwargs.get("default", BOTTOM)
    action = call.constant(-1, "action", "store")
    if any(isinstance(o, Lit) and o.kind == "str" for o in default) and call.kwargs.get("type"):
        return _declared(call)  # converted
    if action in ("store_true", "store_false") and not default:
        return literal(action == "store_false").value
    return default or NONE_V


def _declared(call: Call) -> Value:
    action = call.constant(-1, "action", "store")
    default = call.kwargs.get("default", BOTTOM)
    if action in ("store_true", "store_false"):
        return BOOL_V
    if action in ("count", "store_const", "append_const"):
        return join(join(default or NONE_V, INT_V), call.kwargs.get("const", BOTTOM))
    made = _converted(call, call.kwargs.get("type", BOTTOM))
    several = call.constant(-1, "nargs", "")
    if several in ("*", "+", "...") or isinstance(several, int) or action in ("append", "extend"):
        made = call.list_of(made, "list", "arguments")
    required = any(o is not None and getattr(o, "const", None) is True for o in call.kwargs.get("required", BOTTOM))
    positional = bool(call.args) and not str(call.constant(0, "", "-")).startswith("-")
    optional = BOTTOM if default or required or positional else NONE_V
    if made == INT_V:
        made = optional_int(default)
    return join(join(made, default), optional)


_TYPES: Final = {"builtins.int": INT_V, "builtins.float": FLOAT_V, "builtins.str": STR_V, "builtins.bool": BOOL_V}


def _converted(call: Call, converter: Value) -> Value:
    result = BOTTOM if converter else STR_V
    for obj in converter:
        if isinstance(obj, Lib) and obj.name in _TYPES:
            result = join(result, _TYPES[obj.name])
        else:
            result = join(result, call_back(call, functions_in(obj.value), STR_V))
    return result or STR_V


def _defaults(call: Call) -> Value:
    for space in join(recall(call, "namespace"), recall(call, "defaults")):
        if isinstance(space, LibInst):
            for name, value in call.kwargs.items():
                call.keep(space, name, value)
    return NONE_V


def _import_module(call: Call) -> Value:
    name = call.constant(0, "name")
    if not isinstance(name, str) or (name.startswith(".") and not call.given(1, "package")):
        call.effect("unknown_call", "importlib.import_module")
        return unknown("a module that is chosen at run time").value
    return call.engine.imports.import_named(call.frame, name)


def _arguments(call: Call) -> Value:
    if len(call.arg(0, "args")) == 1:
        (given,) = call.arg(0, "args")
        empty = isinstance(given, Container) and given.kind == "list" and not given.fields
        if empty and isinstance(given, Container) and call.is_exact(given):
            return recall(call, "defaults") or unknown("command line arguments").value
    return recall(call, "namespace") or unknown("command line arguments").value


def _known_arguments(call: Call) -> Value:
    return tup([_arguments(call), call.list_of(STR_V, "list", "unknown")]).value


def _exits(call: Call) -> Value:
    return BOTTOM


_PARSER: Final = ClassSpec(
    methods={
        "__init__": Spec(lambda call: _init_parser(call)),
        "add_argument": Spec(_declare, effects=("mutate",)),
        "add_option": Spec(_declare, effects=("mutate",)),
        # Groups and sub-parsers fill the same namespace.
        **methods("add_argument_group add_mutually_exclusive_group add_parser", itself, "mutate"),
        "add_subparsers": Spec(lambda call: _subparsers(call), effects=("mutate",)),
        "set_defaults": Spec(_defaults, effects=("mutate",)),
        # Reading `sys.argv` is part of what starts a program.
        **methods("parse_args parse_intermixed_args", _arguments, "environment"),
        "parse_known_args": Spec(_known_arguments, effects=("environment",)),
        **methods("print_help print_usage", nothing, "print"),
        **methods("format_help format_usage", text),
        **methods("error exit", _exits, "io"),
        "get_default": Spec(opaque),
    },
    make=_parser,
)


def _init_parser(call: Call) -> Value:
    if call.receiver is not None and hasattr(call.receiver, "cell"):
        call.write(call.receiver.cell("namespace"), instance(_NAMESPACE)(call))
    return NONE_V


# Logging and processes -----------------------------------------------------------------------------------------------

_LEVELS: Final = "debug info warning warn error exception critical fatal log"
_LOGGER: Final = ClassSpec(
    methods={
        **methods(_LEVELS + " handle log_every_n log_first_n vlog", nothing, "print"),
        **methods("setLevel addHandler removeHandler addFilter removeFilter disable", nothing, "state"),
        **methods("isEnabledFor hasHandlers", truth),
        **methods("getEffectiveLevel", integer),
        "getChild": Spec(itself),
    },
    properties={
        "handlers": listed(unknown("a handler of a logger").value),
        "level": integer,
        "name": text,
        "propagate": truth,
        "disabled": truth,
    },
)
_HANDLER: Final = ClassSpec(
    methods={
        **methods("setLevel setFormatter addFilter removeFilter setStream", nothing, "mutate"),
        **methods("emit flush close handle acquire release", nothing, "print"),
        "format": Spec(text),
        "__init__": Spec(nothing),
    },
)
_process: Final = instance("subprocess.CompletedProcess")


def _timed(call: Call) -> Value:
    """`timeit.timeit(f)`: calls what it measures."""
    for value in (call.arg(0, "stmt"), call.arg(1, "setup")):
        call_back(call, functions_in(value))
    return call.list_of(FLOAT_V) if call.name.endswith("repeat") else FLOAT_V


def _later(call: Call) -> Value:
    """`atexit.register(f, x)`, `signal.signal(n, f)`: called at some time."""
    if call.name == "signal.signal":
        call_back(call, functions_in(call.arg(1)), INT_V, unknown("a stack frame").value)
        return unknown("a signal handler").value
    call_back(call, functions_in(call.arg(0)), *call.args[1:], **call.kwargs)
    return call.arg(0)


def _outputs(names: Iterable[str]) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for name in names:
        found |= table(name, "write", integer, "print") | table(
            name, "flush writelines reconfigure close", nothing, "print"
        )
        found |= table(name, "isatty", truth, "environment") | table(name, "fileno", integer)
    return found


FUNCTIONS: Final[dict[str, Spec]] = {
    **table("time", "time perf_counter monotonic process_time thread_time", _now, "clock"),
    **table("time", "time_ns perf_counter_ns monotonic_ns process_time_ns", give(prim("int", True).value), "clock"),
    **table("time", "sleep", nothing, "clock"),
    **table("time", "tzset", nothing, "state"),
    "time.strftime": Spec(_formatted),
    **table("time", "ctime asctime", lambda call: _broken(call) and STR_V),
    **table("time", "localtime gmtime", _broken),
    "time.strptime": Spec(_broken_down),
    "time.mktime": Spec(number),
    "calendar.timegm": Spec(integer),
    "calendar.monthrange": Spec(give(tup([INT_V, INT_V]).value)),
    **table("datetime.datetime", "now utcnow today", _moment, "clock"),
    **table("datetime.datetime", "strptime fromtimestamp utcfromtimestamp fromisoformat combine", _moment),
    **table("datetime.date", "today", _moment, "clock"),
    **table("datetime.date", "fromtimestamp fromisoformat", _moment),
    **table("timeit", "timeit repeat", _timed, "clock"),
    "timeit.default_timer": Spec(_now, effects=("clock",)),
    **_outputs(("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "sys.stdout.buffer")),
    **table("sys.stdin", "read readline", text, "io"),
    "sys.stdin.readlines": Spec(listed(STR_V), effects=("io",)),
    "sys.exit": Spec(_exits, effects=("io",)),
    **table("sys", "setrecursionlimit settrace setprofile setswitchinterval set_int_max_str_digits", nothing, "state"),
    **table("sys.path", "append insert remove extend", nothing, "state"),
    "sys.modules.get": Spec(opaque),
    "sqlite3.connect": Spec(instance("sqlite3.Connection"), effects=("io",)),
    **table("sys.modules", "pop update clear setdefault", opaque, "state"),
    **table("sys", "getrecursionlimit", integer, "environment"),
    **table("sys", "getsizeof getrefcount", integer),
    **table("sys", "getdefaultencoding getfilesystemencoding intern", text),
    **table("sys", "exc_info _getframe exception", opaque),
    "sys.is_finalizing": Spec(truth),
    # logging
    "logging.getLogger": Spec(instance("logging.Logger")),
    **table("logging", _LEVELS, nothing, "print"),
    **table("logging", "basicConfig disable addLevelName captureWarnings setLoggerClass shutdown", nothing, "state"),
    **table("logging.config", "dictConfig fileConfig", nothing, "state"),
    "logging.getLevelName": Spec(give(join(STR_V, INT_V))),
    **table("warnings", "warn warn_explicit showwarning", nothing, "print"),
    **table("warnings", "filterwarnings simplefilter resetwarnings", nothing, "state"),
    **table("traceback", "print_exc print_stack print_exception print_tb", nothing, "print"),
    **table("traceback", "format_exc", text),
    **table("traceback", "format_exception format_tb format_stack format_list", listed(STR_V)),
    **table("traceback", "extract_stack extract_tb walk_stack", opaque),
    **table("faulthandler", "enable disable dump_traceback", nothing, "state"),
    **table("pdb", "set_trace post_mortem run", nothing, "io"),
    # processes and the interpreter
    "subprocess.run": Spec(_process, effects=("io",)),
    **table("subprocess", "call check_call", integer, "io"),
    **table("subprocess", "check_output", give(join(STR_V, BYTES_V)), "io"),
    "subprocess.getoutput": Spec(text, effects=("io",)),
    "subprocess.getstatusoutput": Spec(give(tup([INT_V, STR_V]).value), effects=("io",)),
    **table("gc", "collect", integer, "state"),
    **table("gc", "enable disable freeze set_threshold set_debug", nothing, "state"),
    **table("gc", "get_objects get_referrers get_count get_stats", opaque),
    "gc.isenabled": Spec(truth),
    **table(
        "platform",
        "system release version machine node processor platform python_version python_implementation",
        text,
        "environment",
    ),
    "platform.uname": Spec(give(tup([STR_V] * 6).value), effects=("environment",)),
    "platform.python_version_tuple": Spec(give(tup([STR_V] * 3).value)),
    **table("socket", "gethostname getfqdn", text, "environment"),
    **table("socket", "create_connection gethostbyname", opaque, "io"),
    **table("getpass", "getuser", text, "environment"),
    "getpass.getpass": Spec(text, effects=("io",)),
    **table("resource", "getrusage getrlimit", opaque, "environment"),
    "resource.setrlimit": Spec(nothing, effects=("state",)),
    **table("tracemalloc", "start stop", nothing, "state"),
    **table("tracemalloc", "get_traced_memory", give(tup([INT_V, INT_V]).value), "environment"),
    **table("signal", "signal", _later, "state"),
    "atexit.register": Spec(_later, effects=("state",)),
    "importlib.import_module": Spec(_import_module),
    "importlib.reload": Spec(same, effects=("state",)),
    "importlib.util.find_spec": Spec(opaque, effects=("environment",)),
    **table("importlib.util", "spec_from_file_location module_from_spec", opaque),
    **table("importlib.metadata", "version", text, "environment"),
    **table("pkg_resources", "parse_version", opaque),
    "packaging.version.parse": Spec(instance("packaging.version.Version")),
    "cProfile.run": Spec(nothing, effects=("unknown_call",)),
    **table("ctypes", "CDLL cdll byref cast sizeof", opaque, "unknown_call"),
}
_POPEN: Final = {
    "communicate": Spec(give(tup([BYTES_V, BYTES_V]).value), effects=("io",)),
    **methods("wait poll", integer, "io"),
    **methods("kill terminate send_signal", nothing, "io"),
    "__enter__": Spec(itself),
}
_DATABASE: Final = ClassSpec(
    methods={
        **methods("execute executemany executescript cursor", instance("sqlite3.Cursor"), "io"),
        **methods("commit rollback close create_function", nothing, "io"),
        **methods("fetchone fetchall fetchmany __iter__", opaque, "io"),
        "__enter__": Spec(itself),
    },
)
CLASSES: Final[dict[str, ClassSpec]] = {
    **dict.fromkeys(("sqlite3.Connection", "sqlite3.Cursor"), _DATABASE),
    **{f"datetime.{name}": _DATE for name in ("datetime", "date", "time", "timedelta")},
    **{f"datetime.{name}": ClassSpec() for name in ("timezone", "tzinfo")},
    **{f"argparse.{name}": _PARSER for name in ("ArgumentParser", "_ArgumentGroup")},
    _NAMESPACE: ClassSpec(),
    _DEFAULTS: ClassSpec(bases=(_NAMESPACE,)),
    "argparse.Action": ClassSpec(
        methods={"__init__": constructor("option_strings", "dest")},
        properties={"dest": text, "option_strings": listed(STR_V)},
    ),
    **{
        f"argparse.{name}": ClassSpec()
        for name in (
            "ArgumentDefaultsHelpFormatter",
            "RawTextHelpFormatter",
            "RawDescriptionHelpFormatter",
            "HelpFormatter",
            "ArgumentTypeError",
            "ArgumentError",
        )
    },
    "argparse.FileType": ClassSpec(call=Spec(instance("io.TextIOWrapper"), effects=("io",))),
    "optparse.OptionParser": ClassSpec(
        methods={**_PARSER.methods, "parse_args": Spec(_known_arguments, effects=("environment",))}, make=_parser
    ),
    "logging.Logger": _LOGGER,
    "logging.LoggerAdapter": _LOGGER,
    **{f"logging.{name}": _HANDLER for name in ("Handler", "StreamHandler", "NullHandler")},
    "logging.FileHandler": ClassSpec(methods=_HANDLER.methods, effects=("io",)),
    **{
        f"logging.handlers.{name}": ClassSpec(methods=_HANDLER.methods, effects=("io",))
        for name in (
            "RotatingFileHandler",
            "TimedRotatingFileHandler",
            "SysLogHandler",
            "QueueHandler",
            "SocketHandler",
        )
    },
    "logging.Formatter": ClassSpec(methods=methods("format formatTime formatException", text)),
    "logging.Filter": ClassSpec(methods=methods("filter", truth)),
    "logging.LogRecord": ClassSpec(
        methods=methods("getMessage", text), properties=properties("msg levelname name", text)
    ),
    "warnings.catch_warnings": ClassSpec(
        methods={"__enter__": Spec(listed(unknown("a caught warning").value))}, effects=("state",)
    ),
    "subprocess.Popen": ClassSpec(
        methods=_POPEN,
        effects=("io",),
        properties={
            "returncode": integer,
            "pid": integer,
            "stdout": instance("io.BufferedReader"),
            "stdin": instance("io.BufferedReader"),
            "stderr": instance("io.BufferedReader"),
        },
    ),
    "subprocess.CompletedProcess": ClassSpec(
        properties={
            "returncode": integer,
            "stdout": give(join(STR_V, BYTES_V)),
            "stderr": give(join(STR_V, BYTES_V)),
            "args": listed(STR_V),
        },
        methods={"check_returncode": Spec(nothing)},
    ),
    "timeit.Timer": ClassSpec(
        methods={"timeit": Spec(number, effects=("clock",)), "repeat": Spec(listed(FLOAT_V), effects=("clock",))}
    ),
    "cProfile.Profile": ClassSpec(
        methods={
            **methods("enable disable", nothing, "state"),
            **methods("print_stats dump_stats", nothing, "print"),
            "__enter__": Spec(itself, effects=("state",)),
        }
    ),
    "pstats.Stats": ClassSpec(
        methods={
            **methods("sort_stats strip_dirs", itself, "mutate"),
            **methods("print_stats dump_stats", itself, "print"),
        }
    ),
    "socket.socket": ClassSpec(
        methods={
            **methods("connect bind listen close send sendall setsockopt settimeout", integer, "io"),
            "recv": Spec(octets, effects=("io",)),
            "accept": Spec(opaque, effects=("io",)),
        }
    ),
    "packaging.version.Version": ClassSpec(
        properties={**properties("major minor micro", integer), "release": give(stream("tuple", INT_V).value)}
    ),
}
