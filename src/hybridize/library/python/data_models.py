"""pandas and what resembles it: data frames, series, groups; what reads and writes tables."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOOL_V, BOTTOM, INT_V, NONE_V, STR_V, LibInst, Lit, Prim, Value, tup
from hybridize.library.python.rules import SCALAR_V, call_back, functions_in, instance, iterator_of, table
from hybridize.library.spec import Call, Rule, Spec
from hybridize.library.stubs import read

_FRAME: Final = "pandas.DataFrame"
_SERIES: Final = "pandas.Series"
_frame: Final = instance(_FRAME)
_series: Final = instance(_SERIES)


def _like(call: Call) -> Value:
    """Another table of the receiver's kind; with `inplace=True` the receiver changes instead."""
    if call.constant(-1, "inplace", False) is not False:
        call.effect("mutate", call.name, call.receiver)
        return NONE_V
    if isinstance(call.receiver, LibInst):
        return instance(call.receiver.cls)(call)
    return _frame(call)


def _reduced(call: Call) -> Value:
    """`mean()`, `max()`: of a frame a series, of a series a number."""
    if isinstance(call.receiver, LibInst) and call.receiver.cls == _SERIES:
        return SCALAR_V
    return _series(call)


def _item(call: Call) -> Value:
    """`frame["a"]` is a series; `frame[["a", "b"]]`, `frame[mask]`, `frame[1:3]` are frames; an item of a series."""
    if isinstance(call.receiver, LibInst) and call.receiver.cls == _SERIES:
        return join(SCALAR_V, _series(call))
    result = BOTTOM
    for key in call.arg(0):
        column = isinstance(key, (Lit, Prim))
        result = join(result, _series(call) if column else _frame(call))
    return result or join(_series(call), _frame(call))


def _located(call: Call) -> Value:
    return join(join(_frame(call), _series(call)), SCALAR_V)


def _applied(call: Call) -> Value:
    """`apply(f)` calls `f` with rows, columns or elements."""
    of_series = isinstance(call.receiver, LibInst) and call.receiver.cls == _SERIES
    argument = SCALAR_V if of_series else _series(call)
    for func in functions_in(call.arg(0, "func")):
        call_back(call, func.value, argument, *_extra(call))
    return _located(call) if not of_series else _series(call)


def _extra(call: Call) -> list[Value]:
    return [call.kwargs["args"]] if "args" in call.kwargs else []


def _piped(call: Call) -> Value:
    receiver = call.receiver.value if call.receiver is not None else BOTTOM
    return call_back(call, call.arg(0, "func"), receiver, *call.args[1:], **call.kwargs)


def _rows(call: Call) -> Value:
    return iterator_of(call, tup([join(INT_V, STR_V), _series(call)]).value)


def _grouped(call: Call) -> Value:
    return (
        iterator_of(call, tup([SCALAR_V, _frame(call)]).value)
        if call.name != "iter"
        else tup([SCALAR_V, _frame(call)]).value
    )


def _written(call: Call) -> Value:
    """`to_csv(path)` writes; without a path it gives the text."""
    if call.args or call.kwargs or call.rest:
        call.effect("io", call.name)
    return join(STR_V, NONE_V)


def _columns(call: Call) -> Value:
    """The elements of a frame are its column names, those of a series its values."""
    if isinstance(call.receiver, LibInst) and call.receiver.cls == _SERIES:
        return SCALAR_V
    return STR_V


def _chunks_or_frame(call: Call) -> Value:
    if call.given(-1, "chunksize") or call.given(-1, "iterator"):
        return iterator_of(call, _frame(call))
    return _frame(call)


_RULES: Final[dict[str, Rule]] = {
    "_frame_or_series": lambda call: join(_frame(call), _series(call)),
}

_FUNCTIONS, CLASSES = read("data_models", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    "pandas.read_html": Spec(lambda call: call.list_of(_frame(call)), effects=("io",)),
    **table("pandas", "isna isnull notna notnull", lambda call: join(_series(call), BOOL_V)),
}
