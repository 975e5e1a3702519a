"""Threads, processes, queues and coroutines: what they are given to run is called."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, INT_V, NONE_V, STR_V, Value, tup, unknown
from hybridize.library.python.rules import (
    call_back,
    constructor,
    functions_in,
    give,
    instance,
    integer,
    iterator_of,
    itself,
    kept,
    methods,
    named_items,
    nothing,
    opaque,
    recall,
    remember,
    same,
    table,
    text,
    truth,
    unpacked,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

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


def _pool(cls: str) -> Rule:
    """A pool; its initializer runs too."""

    def rule(call: Call) -> Value:
        call_back(call, call.kwargs.get("initializer", NONE_V), *unpacked(call, call.kwargs.get("initargs", BOTTOM)))
        return instance(cls)(call)

    return rule


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
_LOCK: Final = ClassSpec(
    methods={
        **methods("acquire wait wait_for", truth, "mutate"),
        **methods("locked is_set isSet", truth),
        **methods("release set clear notify notify_all notifyAll reset abort", nothing, "mutate"),
        "__enter__": Spec(itself),
    }
)
_QUEUE: Final = ClassSpec(
    methods={
        **methods("put put_nowait", _put, "mutate"),
        **methods("get get_nowait", kept("items"), "mutate"),
        **methods("task_done join close cancel_join_thread", nothing, "mutate"),
        **methods("qsize", integer),
        **methods("empty full", truth),
    },
    parameters=("maxsize",),
)
_POOL: Final = ClassSpec(
    methods={
        **methods("map imap imap_unordered", _map, "io"),
        **methods("starmap starmap_async", _starmap, "io"),
        **methods("map_async", lambda call: _future(call, call.list_of(_mapped(call))), "io"),
        **methods("apply apply_async", _apply, "io"),
        **methods("close join terminate", nothing, "io"),
        "__enter__": Spec(itself),
    }
)
_EXECUTOR: Final = ClassSpec(
    methods={
        "submit": Spec(_submit, effects=("state",)),
        "map": Spec(_map, effects=("state",)),
        "shutdown": Spec(nothing, effects=("state",)),
        "__enter__": Spec(itself),
    }
)
_LOOP: Final = ClassSpec(
    methods={
        **methods("run_until_complete create_task", same),
        "run_in_executor": Spec(_delegated, effects=("state",)),
        **methods("run_forever close stop", nothing, "state"),
        "call_soon": Spec(lambda call: call_back(call, call.arg(0), *call.args[1:]), effects=("state",)),
        "time": Spec(give(unknown("a time").value), effects=("clock",)),
        **methods("is_running is_closed", truth),
    }
)
_MULTI: Final = ("multiprocessing", "multiprocess", "torch.multiprocessing")
_LOCKS: Final = ("Lock", "RLock", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier")
_pool_of: Final = _pool("multiprocessing.pool.Pool")

FUNCTIONS: Final[dict[str, Spec]] = {
    **table("threading", "current_thread currentThread main_thread", instance("threading.Thread")),
    **table("threading", "get_ident active_count get_native_id", integer, "environment"),
    "threading.enumerate": Spec(
        lambda call: call.list_of(instance("threading.Thread")(call)), effects=("environment",)
    ),
    **table("threading", "setprofile settrace stack_size", nothing, "state"),
    **{f"{m}.{n}": Spec(_pool_of, effects=("io",)) for m in _MULTI[:2] for n in ("Pool",)},
    "multiprocessing.dummy.Pool": Spec(_pool_of, effects=("state",)),
    **{f"{m}.{n}": Spec(instance("queue.Queue")) for m in _MULTI for n in ("Queue", "SimpleQueue", "JoinableQueue")},
    **{f"multiprocessing.{n}": Spec(instance(f"threading.{n}")) for n in _LOCKS},
    "multiprocessing.cpu_count": Spec(integer, effects=("environment",)),
    **table("multiprocessing", "set_start_method freeze_support", nothing, "state"),
    **table("multiprocessing", "get_context Manager", opaque, "io"),
    "multiprocessing.Pipe": Spec(
        lambda call: tup([instance("multiprocessing.connection.Connection")(call)] * 2).value, effects=("io",)
    ),
    "multiprocessing.Value": Spec(instance("multiprocessing.Value")),
    **table("multiprocessing", "Array RawArray", _array),
    **table("multiprocessing", "current_process", instance("multiprocessing.Process")),
    "concurrent.futures.as_completed": Spec(_results),
    "concurrent.futures.wait": Spec(lambda call: tup([call.arg(0), call.arg(0)]).value),
    "asyncio.run": Spec(same, effects=("state",)),
    **table("asyncio", "create_task ensure_future wait_for shield", same),
    "asyncio.gather": Spec(lambda call: tup(call.args).value if not call.rest else call.list_of(call.every())),
    "asyncio.sleep": Spec(lambda call: call.arg(1, "result", NONE_V), effects=("clock",)),
    **table("asyncio", "get_event_loop new_event_loop get_running_loop", instance("asyncio.AbstractEventLoop")),
    "asyncio.set_event_loop": Spec(nothing, effects=("state",)),
    "asyncio.to_thread": Spec(_delegated, effects=("state",)),
    "asyncio.wait": Spec(lambda call: tup([call.arg(0), call.arg(0)]).value),
    "asyncio.as_completed": Spec(_results),
    "asyncio.iscoroutinefunction": Spec(truth),
    "joblib.delayed": Spec(lambda call: functions_in(call.arg(0)) or call.arg(0)),
    "joblib.cpu_count": Spec(integer, effects=("environment",)),
    "contextvars.copy_context": Spec(opaque),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "threading.Thread": ClassSpec(methods=_THREAD_METHODS, properties=_THREAD_PROPERTIES, parameters=_THREAD),
    "threading.Timer": ClassSpec(
        methods={**_THREAD_METHODS, "__init__": constructor(*_TIMER), "cancel": Spec(nothing, effects=("state",))},
        parameters=_TIMER,
    ),
    **{f"threading.{name}": _LOCK for name in _LOCKS},
    "threading.local": ClassSpec(),
    **{f"{m}.Process": _PROCESS for m in _MULTI},
    "multiprocessing.pool.Pool": _POOL,
    "multiprocessing.pool.ThreadPool": _POOL,
    "multiprocessing.connection.Connection": ClassSpec(
        methods={
            "send": Spec(nothing, effects=("io",)),
            "recv": Spec(opaque, effects=("io",)),
            "poll": Spec(truth, effects=("io",)),
            "close": Spec(nothing, effects=("io",)),
        }
    ),
    "multiprocessing.Value": ClassSpec(
        methods={**methods("get_lock", instance("threading.Lock"))}, properties={"value": give(join(INT_V, STR_V))}
    ),
    "concurrent.futures.ThreadPoolExecutor": ClassSpec(methods=_EXECUTOR.methods),
    "concurrent.futures.ProcessPoolExecutor": ClassSpec(methods=_EXECUTOR.methods, effects=("io",)),
    "concurrent.futures.Executor": _EXECUTOR,
    "concurrent.futures.Future": ClassSpec(
        methods={
            **methods("result get", kept("result", NONE_V)),
            **methods("done running cancelled ready successful cancel", truth),
            **methods("wait", nothing),
            "exception": Spec(opaque),
            "add_done_callback": Spec(_done),
            "set_result": Spec(lambda call: remembered(call, "result", NONE_V), effects=("mutate",)),
        }
    ),
    **{f"queue.{name}": _QUEUE for name in ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue")},
    "asyncio.Queue": _QUEUE,
    **{f"asyncio.{name}": _LOCK for name in ("Lock", "Event", "Condition", "Semaphore", "BoundedSemaphore")},
    "asyncio.Future": ClassSpec(methods={"result": Spec(kept("result", NONE_V)), "done": Spec(truth)}),
    "asyncio.AbstractEventLoop": _LOOP,
    "contextvars.ContextVar": ClassSpec(
        methods={
            "get": Spec(lambda call: join(recall(call, "value"), call.arg(0, "default")) or recall(call, "default")),
            "set": Spec(lambda call: remembered(call, "value", unknown("a token").value), effects=("mutate",)),
            "reset": Spec(nothing, effects=("mutate",)),
        },
        parameters=("name",),
    ),
    "joblib.Parallel": ClassSpec(call=Spec(_joblib), methods={"__enter__": Spec(itself)}),
    "sched.scheduler": ClassSpec(methods=methods("enter enterabs run cancel", opaque, "unknown_call")),
}
