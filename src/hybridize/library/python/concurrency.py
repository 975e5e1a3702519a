"""Threads, processes, queues and coroutines: what they are given to run is called."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, INT_V, NONE_V, Value, tup, unknown
from hybridize.library.python.rules import (
    call_back,
    constructor,
    functions_in,
    instance,
    integer,
    iterator_of,
    kept,
    methods,
    named_items,
    nothing,
    recall,
    remember,
    text,
    truth,
    unpacked,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized
from hybridize.library.stubs import read

_THREAD: Final = ("group", "target", "name", "args", "kwargs")
_TIMER: Final = ("interval", "target", "args", "kwargs")


def _run(call: Call) -> Value:
    """`start()`: runs `target`, or the method `run` of a project class."""
    if call.receiver is not None:
        call.method(call.receiver, "run")
    target = recall(call, "target")
    if target:
        call_back(call, target, *unpacked(call, recall(call, "args")), **named_items(call, recall(call, "kwargs")))
    return NONE_V


def _future(call: Call, result: Value) -> Value:
    made = call.made("concurrent.futures.Future")
    call.keep(made, "result", result)
    return made.value


def _submit(call: Call) -> Value:
    return _future(call, call_back(call, call.arg(0, "fn"), *call.args[1:], **call.kwargs))


def _apply(call: Call) -> Value:
    """`pool.apply_async(f, args, kwds)`."""
    named = named_items(call, call.arg(2, "kwds"))
    result = call_back(call, call.arg(0, "func"), *unpacked(call, call.arg(1, "args")), **named)
    call_back(call, call.kwargs.get("callback", NONE_V), result)
    return result if call.name.endswith(".apply") else _future(call, result)


def _mapped(call: Call) -> Value:
    columns = [call.elements(value) for value in call.args[1:]]
    if call.name.startswith("multiprocessing"):
        columns = columns[:1]
    return call_back(call, call.arg(0, "func"), *columns) if columns and all(columns) else BOTTOM


def _map(call: Call) -> Value:
    return (
        iterator_of(call, _mapped(call))
        if "imap" in call.name or "concurrent" in call.name
        else call.list_of(_mapped(call))
    )


def _starmap(call: Call) -> Value:
    result = BOTTOM
    for row in call.elements(call.arg(1, "iterable")):
        result = join(result, call_back(call, call.arg(0, "func"), *unpacked(call, row.value)))
    made = call.list_of(result)
    return _future(call, made) if call.name.endswith("async") else made


@parametrized
def _pool(call: Call, cls: str) -> Value:
    """A pool; its initializer runs too."""
    call_back(call, call.kwargs.get("initializer", NONE_V), *unpacked(call, call.kwargs.get("initargs", BOTTOM)))
    return instance(cls)(call)


def _done(call: Call) -> Value:
    """`future.add_done_callback(f)` calls `f` with the future."""
    if call.receiver is not None:
        call_back(call, call.arg(0), call.receiver.value)
    return NONE_V


def _results(call: Call) -> Value:
    return iterator_of(call, call.elements(call.arg(0, "fs")))


def _put(call: Call) -> Value:
    remember(call, "items", call.arg(0, "item"))
    return NONE_V


def remembered(call: Call, name: str, result: Value) -> Value:
    """Keeps the first argument in the receiver."""
    remember(call, name, call.arg(0))
    return result


def _joblib(call: Call) -> Value:
    """`Parallel(n)(delayed(f)(x) for x in xs)`: the results of the delayed calls, made when they are built."""
    return call.list_of(call.elements(call.arg(0)))


def _delegated(call: Call) -> Value:
    """`loop.run_in_executor(None, f, x)`, `asyncio.to_thread(f, x)`."""
    skip = 1 if call.name.endswith("run_in_executor") else 0
    return call_back(call, call.arg(skip), *call.args[skip + 1 :])


def _array(call: Call) -> Value:
    return call.list_of(join(INT_V, call.elements(call.arg(1))))


_THREAD_METHODS: Final = {
    "__init__": constructor(*_THREAD),
    "start": Spec(_run, effects=("state",)),
    "run": Spec(_run),
    "join": Spec(nothing, effects=("state",)),
    **methods("is_alive isAlive isDaemon", truth),
    **methods("setDaemon setName", nothing, "mutate"),
    **methods("terminate kill close", nothing, "io"),
}
_THREAD_PROPERTIES: Final[dict[str, Rule]] = {
    "daemon": truth,
    "name": text,
    "ident": integer,
    "pid": integer,
    "exitcode": integer,
}
_PROCESS: Final = ClassSpec(
    methods={**_THREAD_METHODS, "start": Spec(_run, effects=("io",)), "join": Spec(nothing, effects=("io",))},
    properties=_THREAD_PROPERTIES,
    parameters=_THREAD,
)
_RULES: Final[dict[str, Rule]] = {
    "_queued": kept("items"),
    "_map_async": lambda call: _future(call, call.list_of(_mapped(call))),
    "_call_soon": lambda call: call_back(call, call.arg(0), *call.args[1:]),
    "_set_result": lambda call: remembered(call, "result", NONE_V),
    "_result": kept("result", NONE_V),
    "_context_value": lambda call: join(recall(call, "value"), call.arg(0, "default")) or recall(call, "default"),
    "_set_context_value": lambda call: remembered(call, "value", unknown("a token").value),
}
_MULTI: Final = ("multiprocessing", "multiprocess", "torch.multiprocessing")
_pool_of: Final = _pool("multiprocessing.pool.Pool")

_FUNCTIONS, _CLASSES = read("concurrency", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    "threading.enumerate": Spec(
        lambda call: call.list_of(instance("threading.Thread")(call)), effects=("environment",)
    ),
    "multiprocessing.Pipe": Spec(
        lambda call: tup([instance("multiprocessing.connection.Connection")(call)] * 2).value, effects=("io",)
    ),
    "concurrent.futures.wait": Spec(lambda call: tup([call.arg(0), call.arg(0)]).value),
    "asyncio.gather": Spec(lambda call: tup(call.args).value if not call.rest else call.list_of(call.every())),
    "asyncio.sleep": Spec(lambda call: call.arg(1, "result", NONE_V), effects=("clock",)),
    "asyncio.wait": Spec(lambda call: tup([call.arg(0), call.arg(0)]).value),
    "joblib.delayed": Spec(lambda call: functions_in(call.arg(0)) or call.arg(0)),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **_CLASSES,
    "threading.Thread": ClassSpec(methods=_THREAD_METHODS, properties=_THREAD_PROPERTIES, parameters=_THREAD),
    "threading.Timer": ClassSpec(
        methods={**_THREAD_METHODS, "__init__": constructor(*_TIMER), "cancel": Spec(nothing, effects=("state",))},
        parameters=_TIMER,
    ),
    **{f"{m}.Process": _PROCESS for m in _MULTI},
}
