"""The interpreter and the machine: sys, time, logging, warnings, argparse, subprocess, gc, platform, importlib."""

from __future__ import annotations

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
    tup,
    unknown,
)
from hybridize.library.python.rules import (
    call_back,
    constructor,
    functions_in,
    give,
    instance,
    itself,
    listed,
    recall,
    table,
    text,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec
from hybridize.library.stubs import read

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


_RULES: Final[dict[str, Rule]] = {
    "_span_or_moment": lambda call: join(_span(call), _moment(call)),
}

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


def _init_parser(call: Call) -> Value:
    if call.receiver is not None and hasattr(call.receiver, "cell"):
        call.write(call.receiver.cell("namespace"), instance(_NAMESPACE)(call))
    return NONE_V


# Logging and processes -----------------------------------------------------------------------------------------------


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


_FUNCTIONS, _CLASSES = read("system", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    **table("time", "time_ns perf_counter_ns monotonic_ns process_time_ns", give(prim("int", True).value), "clock"),
    **table("time", "ctime asctime", lambda call: _broken(call) and STR_V),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **_CLASSES,
    "argparse.Action": ClassSpec(
        methods={"__init__": constructor("option_strings", "dest")},
        properties={"dest": text, "option_strings": listed(STR_V)},
    ),
}
