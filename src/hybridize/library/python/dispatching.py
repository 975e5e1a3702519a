"""`multipledispatch`: functions that the classes of all their positional arguments choose.

What a dispatcher has been told to call is kept with it, one key for each place that registers; a call goes to each
function that its arguments may choose, with what of them fits, and to none that a more special one surely hides.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    NONE_V,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    Obj,
    Tup,
    Value,
    Wrapper,
    lib,
    tup,
    unknown,
    unknown_result,
)
from hybridize.library.python.rules import decorator, give, later, methods, opaque, text
from hybridize.library.spec import Call, ClassSpec, Spec
from hybridize.program.index import index_of

DISPATCHER: Final = "multipledispatch.Dispatcher"
_REGISTERED: Final = f"{DISPATCHER}.register.decorator"
_NAMED: Final = "multipledispatch.dispatch.decorator"
_OBJECT: Final = lib("builtins.object")
#: A call that may go to more functions is not followed into each: mostly its arguments are not known either.
_MOST: Final = 6


class Choice(NamedTuple):
    """A function that is registered, and the classes that choose it."""

    kinds: tuple[Value, ...]
    functions: Value


def choices(call: Call, dispatcher: Obj) -> tuple[Choice, ...]:
    """What is registered with a dispatcher: read once for all its calls, and again when there is more."""
    engine = call.engine

    def read(frame: Any) -> tuple[Choice, ...]:
        pairs = [
            pair for _, value in engine.cells.items(frame, engine.cells.backing(dispatcher, "dict")) for pair in value
        ]
        return tuple(Choice(pair.items[1:], pair.items[0]) for pair in pairs if isinstance(pair, Tup))

    return engine.cells.shared(call.frame, (DISPATCHER, "choices", dispatcher), read)


def _add(call: Call, dispatcher: Obj, kinds: tuple[Value, ...], functions: Value) -> None:
    table: Container = call.engine.cells.backing(dispatcher, "dict")
    key = f"{call.frame.code.path}:{call.pos}:{len(kinds)}"
    call.write(table.cell(key), tup([functions, *kinds]).value)
    call.effect("mutate", f"{DISPATCHER}.add", dispatcher)


def _register(call: Call) -> Value:
    """`@dispatcher.register(A, B)`."""
    dispatcher = call.receiver.value if call.receiver is not None else BOTTOM
    return later(_REGISTERED, {"dispatcher": dispatcher, "kinds": BOTTOM if call.rest else tup(call.args).value})


def _decorate(call: Call) -> Value:
    """What `register` gives, applied: the function stays what it is."""
    functions = call.arg(0)
    for dispatcher in call.kwargs.get("dispatcher", BOTTOM):
        for kinds in call.kwargs.get("kinds", BOTTOM):
            if isinstance(kinds, Tup):
                _add(call, dispatcher, _as_written(call, kinds), functions)
    return functions


def _as_written(call: Call, kinds: Tup) -> tuple[Value, ...]:
    """The classes of a decorator as they stand in front of the definition, if they are among those that arrive.

    A dispatcher whose class passes `register` on is given those of all of its functions.
    """
    if all(len(kind) == 1 for kind in kinds.items):
        return kinds.items
    calls = index_of(call.frame.code).calls.get(call.pos, ())
    inner = {made.target: made for made in calls}
    for instr in calls:
        made = inner.get(instr.function)
        if made is None or any(starred for _, starred in made.arguments):
            continue
        given = [call.frame.vals[slot] or BOTTOM for slot, _ in made.arguments]
        if len(given) == len(kinds.items) and all(map(frozenset.issubset, given, kinds.items)):
            return tuple(given)
    return kinds.items


def _add_method(call: Call) -> Value:
    """`dispatcher.add((A, B), function)`."""
    for kinds in call.arg(0, "signature"):
        if isinstance(kinds, Tup) and call.receiver is not None:
            _add(call, call.receiver, kinds.items, call.arg(1, "func"))
    return NONE_V


def _dispatch(call: Call) -> Value:
    """`@dispatch(A, B)`: all functions of the name are one, wherever they stand."""
    return later(_NAMED, {"kinds": BOTTOM if call.rest or "namespace" in call.kwargs else tup(call.args).value})


def _named(call: Call) -> Value:
    name = next((o.code.name for o in call.arg(0) if isinstance(o, Func)), "")
    if not name or call.frame.code.is_class:
        return decorator(call)
    made = call.engine.cells.shared(
        call.frame, (DISPATCHER, name), lambda frame: call.engine.cells.library_instance(frame, 0, DISPATCHER)
    )
    for kinds in call.kwargs.get("kinds", BOTTOM):
        if isinstance(kinds, Tup):
            _add(call, made, kinds.items, call.arg(0))
    value: Value = made.value
    return value


def _called(call: Call) -> Value:
    """A call of a dispatcher."""
    assert call.receiver is not None
    chosen = [] if call.rest else _chosen(call, choices(call, call.receiver))
    types = unknown("the class of an argument").value
    own = call.method(call.receiver, "dispatch", *[types for _ in call.args])
    result = BOTTOM
    if any(isinstance(o, (Func, Wrapper)) for o in own):
        result = call.engine.calls.call_value(call.frame, call.pos, own, call.args, call.kwargs)
    if not chosen or len(chosen) > _MOST:
        call.effect("unknown_call", f"a call of a dispatcher, {call.name}", call.receiver)
        return join(result, unknown_result(call.name).value)
    for functions, given in chosen:
        result = join(result, call.engine.calls.call_value(call.frame, call.pos, functions, given, call.kwargs))
    return result


def _chosen(call: Call, found: tuple[Choice, ...]) -> list[tuple[Value, list[Value]]]:
    """The functions that the arguments may choose, with what of the arguments does."""
    fitting: list[tuple[Choice, list[Value]]] = []
    inside: dict[tuple[int, Value], Value] = {}  # many functions are registered for the same class
    outside: dict[tuple[int, Value], Value] = {}
    for choice in found:
        given = _fitting(call, choice, inside) if len(choice.kinds) == len(call.args) else None
        if given is not None:
            fitting.append((choice, given))
    sure = [choice for choice, _ in fitting if _is_sure(call, choice, outside)] if len(fitting) > 1 else []
    return [(c.functions, given) for c, given in fitting if not any(_hides(s, c) for s in sure)]


def _fitting(call: Call, choice: Choice, inside: dict[tuple[int, Value], Value]) -> list[Value] | None:
    """What of the arguments may choose a function."""
    given = []
    for key in enumerate(choice.kinds):
        found = inside.get(key)
        if found is None:
            i, kind = key
            arg = call.args[i]
            found = inside[key] = arg if _OBJECT in kind else call.engine.protocols.narrow(call.frame, arg, kind, True)
        if not found:
            return None
        given.append(found)
    return given


def _is_sure(call: Call, choice: Choice, outside: dict[tuple[int, Value], Value]) -> bool:
    """Whether whatever the arguments are fits."""
    for key in enumerate(choice.kinds):
        i, kind = key
        found = outside.get(key)
        if found is None:
            narrow = call.engine.protocols.narrow
            found = BOTTOM if _OBJECT in kind else narrow(call.frame, call.args[i], kind, False)
            outside[key] = found
        if found:
            return False
    return True


def _hides(special: Choice, other: Choice) -> bool:
    """Whether what fits the first of two choices never goes to the second."""
    return special.kinds != other.kinds and all(map(_derives, special.kinds, other.kinds))


def _derives(kind: Value, base: Value) -> bool:
    if kind == base or _OBJECT in base:
        return True
    if len(kind) != 1 or len(base) != 1:
        return False
    ((below,), (above,)) = kind, base
    return isinstance(below, Class) and isinstance(above, (Class, Lib)) and above in below.mro


def is_dispatcher(obj: Obj) -> bool:
    """Whether something is a dispatcher, of the package's own class or of one that the project derives from it."""
    return getattr(obj, "cls", None) in _NAMES or (isinstance(obj, Inst) and not _NAMES.isdisjoint(obj.cls.library))


_NAMES: Final = frozenset(
    f"multipledispatch.{name}" for name in "Dispatcher dispatcher.Dispatcher dispatcher.MethodDispatcher".split()
)
_SPEC: Final = ClassSpec(
    methods={
        "register": Spec(_register),
        "add": Spec(_add_method),
        "__init__": Spec(give(NONE_V)),
        **methods("dispatch resolve dispatch_iter get_func_params get_func_annotations help source", opaque),
        "reorder": Spec(opaque, effects=("mutate",)),
    },
    properties={"funcs": opaque, "ordering": opaque, "name": text, "doc": text, "__name__": text},
    call=Spec(_called),
)
CLASSES: Final[dict[str, ClassSpec]] = dict.fromkeys(_NAMES, _SPEC)
FUNCTIONS: Final[dict[str, Spec]] = {
    _REGISTERED: Spec(_decorate),
    _NAMED: Spec(_named),
    "multipledispatch.dispatch": Spec(_dispatch),
    "multipledispatch.core.dispatch": Spec(_dispatch),
    **{f"multipledispatch.dispatcher.{name}": Spec(text) for name in ("str_signature", "ambiguity_warn")},
    "multipledispatch.dispatcher.variadic_signature_matches": Spec(opaque),
    "multipledispatch.variadic.isvariadic": Spec(opaque),
}
