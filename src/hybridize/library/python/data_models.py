"""pandas and what resembles it: data frames, series, groups; what reads and writes tables."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    INT_V,
    NONE_V,
    STR_V,
    LibInst,
    Lit,
    Prim,
    Value,
    stream,
    tup,
    unknown,
)
from hybridize.library.python.rules import (
    ARRAY_V,
    SCALAR_V,
    array,
    call_back,
    functions_in,
    give,
    instance,
    integer,
    iterator_of,
    itself,
    listed,
    methods,
    nothing,
    opaque,
    parsed,
    properties,
    table,
    text,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Spec

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


def _tuples(call: Call) -> Value:
    return iterator_of(call, unknown("a row of a table").value)


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


def _records(call: Call) -> Value:
    return parsed(call)


def _chunks_or_frame(call: Call) -> Value:
    if call.given(-1, "chunksize") or call.given(-1, "iterator"):
        return iterator_of(call, _frame(call))
    return _frame(call)


def _unique(call: Call) -> Value:
    return ARRAY_V


_SAME_KIND: Final = (
    "head tail copy dropna fillna drop drop_duplicates reset_index set_index sort_values sort_index rename "
    "replace astype "
    "round abs clip diff shift pct_change cumsum cumprod cummax cummin where mask query filter reindex isin "
    "isna isnull "
    "notna notnull interpolate ffill bfill nlargest nsmallest loc_ between rank add sub mul div mod pow divide "
    "multiply "
    "subtract eq ne lt le gt ge set_axis assign transpose truncate tz_localize tz_convert infer_objects convert_dtypes "
    "add_prefix add_suffix select_dtypes explode rename_axis reindex_like combine_first swaplevel droplevel "
    "asfreq duplicated"
)
_TO_FRAME: Final = "merge join pivot pivot_table melt stack unstack describe corr cov to_frame get_dummies crosstab"
_REDUCTIONS: Final = (
    "mean sum max min std var median mode prod count nunique quantile any all idxmax idxmin skew kurt sem"
)
_GROUPS: Final = "groupby rolling expanding resample ewm"
_WRITERS: Final = (
    "to_csv to_json to_html to_latex to_markdown to_string to_excel to_parquet to_feather to_sql to_hdf to_clipboard"
)
_READERS: Final = (
    "read_csv read_table read_excel read_json read_parquet read_feather read_sql read_sql_query read_hdf read_fwf "
    "read_clipboard read_orc read_stata read_gbq"
)
_TABLE: Final = ClassSpec(
    methods={
        **methods(_SAME_KIND, _like),
        **methods(_TO_FRAME, _frame),
        **methods(_REDUCTIONS, _reduced),
        **methods(_GROUPS, instance("pandas.GroupBy")),
        **methods("sample", _like, "random"),
        **methods("to_numpy as_matrix to_records __array__", array),
        **methods("unique factorize", _unique),
        **methods("value_counts squeeze get", _series),
        **methods("apply applymap map transform agg aggregate", _applied),
        "pipe": Spec(_piped),
        **methods("iterrows items iteritems", _rows),
        "itertuples": Spec(_tuples),
        **methods("tolist to_list", listed(SCALAR_V)),
        "to_dict": Spec(_records),
        **methods(_WRITERS, _written),
        "to_pickle": Spec(nothing, effects=("io",)),
        "info": Spec(nothing, effects=("print",)),
        **methods("plot hist boxplot", opaque, "state"),
        **methods("insert update append_", nothing, "mutate"),
        "append": Spec(_like),
        "pop": Spec(_series, effects=("mutate",)),
        "equals": Spec(truth),
        "item": Spec(give(SCALAR_V)),
        "memory_usage": Spec(integer),
        "keys": Spec(instance("pandas.Index")),
        "__getitem__": Spec(_item),
        "__iter__": Spec(_columns),
        "__len__": Spec(integer),
    },
    properties={
        "values": array,
        "array": array,
        "T": _like,
        "shape": give(stream("tuple", INT_V).value),
        **properties("size ndim", integer),
        **properties("loc iloc at iat ix", lambda call: instance("pandas.Locator")(call)),
        **properties("index columns axes", instance("pandas.Index")),
        **properties("dtypes dtype", opaque),
        **properties("str dt cat", instance("pandas.Accessor")),
        **properties("empty is_unique", truth),
        "name": text,
    },
)
_GROUP: Final = ClassSpec(
    methods={
        **methods(
            _REDUCTIONS + " size first last head tail cumsum cumcount shift diff nth fillna ffill bfill describe "
            "get_group ngroup rank",
            lambda call: join(_frame(call), _series(call)),
        ),
        **methods("apply agg aggregate transform filter", lambda call: _applied(call)),
        "__getitem__": Spec(itself),
        "__iter__": Spec(_grouped),
        "__len__": Spec(integer),
    },
    properties={"groups": parsed, "ngroups": integer},
)
_INDEX: Final = ClassSpec(
    methods={
        **methods("tolist to_list", listed(join(STR_V, INT_V))),
        **methods("to_numpy", array),
        **methods("get_loc get_indexer", opaque),
        **methods("isin unique", array),
        **methods("drop union intersection difference append astype sort_values", itself),
        **methods("max min", give(SCALAR_V)),
        "__getitem__": Spec(give(SCALAR_V)),
        "__iter__": Spec(give(join(STR_V, INT_V))),
        "__len__": Spec(integer),
    },
    properties={
        "values": array,
        "size": integer,
        "shape": give(stream("tuple", INT_V).value),
        "name": text,
        **properties("year month day hour minute dayofweek", itself),
        "empty": truth,
    },
)
_ACCESSED: Final = (
    "lower upper strip replace split contains startswith endswith len cat extract findall slice get pad zfill "
    "strftime floor "
    "ceil round normalize day_name month_name total_seconds match title capitalize lstrip rstrip count"
)

FUNCTIONS: Final[dict[str, Spec]] = {
    **table("pandas", _READERS, _chunks_or_frame, "io"),
    "pandas.read_pickle": Spec(_frame, effects=("io",)),
    "pandas.read_html": Spec(lambda call: call.list_of(_frame(call)), effects=("io",)),
    **table(
        "pandas",
        "concat merge crosstab get_dummies pivot_table melt pivot json_normalize merge_asof wide_to_long",
        _frame,
    ),
    **table("pandas", "to_datetime to_numeric to_timedelta cut qcut", _series),
    **table("pandas", "isna isnull notna notnull", lambda call: join(_series(call), BOOL_V)),
    **table("pandas", "unique", array),
    "pandas.factorize": Spec(give(tup([ARRAY_V, ARRAY_V]).value)),
    **table(
        "pandas",
        "date_range period_range timedelta_range Index DatetimeIndex MultiIndex.from_tuples RangeIndex",
        instance("pandas.Index"),
    ),
    **table("pandas", "set_option reset_option", nothing, "state"),
    "pandas.get_option": Spec(give(SCALAR_V)),
    "pandas.option_context": Spec(instance("contextlib.suppress"), effects=("state",)),
    **table("pandas.DataFrame", "from_dict from_records", _frame),
    "pandas.plotting.scatter_matrix": Spec(opaque, effects=("state",)),
    **table("pandas.testing", "assert_frame_equal assert_series_equal", nothing),
    **table("polars", "read_csv read_parquet scan_csv", opaque, "io"),
    **table("pyarrow.parquet", "read_table", opaque, "io"),
    **table("pyarrow.parquet", "write_table", nothing, "io"),
    "datasets.load_dataset": Spec(opaque, effects=("io",)),
}


CLASSES: Final[dict[str, ClassSpec]] = {
    _FRAME: _TABLE,
    _SERIES: _TABLE,
    "pandas.GroupBy": _GROUP,
    "pandas.Index": _INDEX,
    "pandas.Locator": ClassSpec(methods={"__getitem__": Spec(_located)}),
    "pandas.Accessor": ClassSpec(
        methods=methods(_ACCESSED, _series),
        properties=properties(
            "year month day hour minute second dayofweek weekday quarter date time codes categories", _series
        ),
    ),
    "pandas.Timestamp": ClassSpec(bases=("datetime.datetime",)),
    "pandas.Timedelta": ClassSpec(bases=("datetime.timedelta",)),
    "pandas.ExcelWriter": ClassSpec(
        methods={"__enter__": Spec(itself), **methods("save close", nothing, "io")}, effects=("io",)
    ),
    "pandas.HDFStore": ClassSpec(methods=methods("put append close select get", opaque, "io"), effects=("io",)),
    "pandas.Categorical": ClassSpec(properties=properties("codes categories", array)),
    "pandas.MultiIndex": _INDEX,
}
