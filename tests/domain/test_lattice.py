"""Joins only grow, whatever the order: what the fixpoint's end and its independence of order rest on."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hybridize.domain.lattice import collapse, join, summarize, widen
from hybridize.domain.objects import BOTTOM, Container, Obj, Value, lib, literal, prim, stream, tensor, tup, unknown

HEAP = [Container(kind, (None, line << 16), 0) for kind in ("list", "dict") for line in range(40)]
DTYPES = [None, "float16", "float32", "float64", "int8", "int32", "int64", "bool", "uint8"]

scalars = st.one_of(
    st.integers(0, 12).map(literal),
    st.sampled_from(["a", "b", None, True, False, 0.5]).map(literal),
    st.sampled_from(["int", "float", "str"]).map(prim),
    st.sampled_from(["x", "y", "z"]).map(unknown),
    st.sampled_from(["np.sum", "tf.add"]).map(lib),
)
shapes = st.one_of(st.none(), st.lists(st.sampled_from([-12, -8, -2, -1, 0, 1, 2, 3]), max_size=3).map(tuple))
tensors = st.builds(tensor, st.sampled_from(["dense", "ndarray"]), st.sampled_from(DTYPES), shapes)
leaves: st.SearchStrategy[Obj] = st.one_of(scalars, tensors, st.sampled_from(HEAP))


def _joined(objs: list[Obj]) -> Value:
    result = BOTTOM
    for obj in objs:
        result = join(result, obj.value)
    return result


leaf_values: st.SearchStrategy[Value] = st.lists(leaves, max_size=6).map(_joined)
objects: st.SearchStrategy[Obj] = st.one_of(
    leaves,
    st.lists(leaf_values, min_size=1, max_size=3).map(tup),
    leaf_values.map(lambda v: stream("range", v)),
)
values: st.SearchStrategy[Value] = st.lists(objects, max_size=8).map(_joined)


@given(values, values)
def test_a_join_takes_nothing_more_when_it_is_joined_again(a: Value, b: Value) -> None:
    joined = join(a, b)
    assert join(joined, a) == joined
    assert join(joined, b) == joined


@given(st.lists(values, min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_a_cell_that_takes_the_same_values_again_and_again_comes_to_rest(added: list[Value]) -> None:
    value = BOTTOM
    for _ in range(200):
        before = value
        for more in added:
            value = join(value, more)
        if value == before:
            return
    raise AssertionError("still growing")


@given(st.lists(values, min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_widening_comes_to_rest(added: list[Value]) -> None:
    value = BOTTOM
    for step in range(200):
        before = value
        for more in added:
            value = widen(value, more) if step < 100 else collapse(widen(value, more))
        if value == before:
            return
    raise AssertionError("still growing")


@given(values)
def test_summaries_are_stable(value: Value) -> None:
    once = summarize(value)
    assert summarize(once) == once


def test_dims_that_agree_are_kept() -> None:
    a, b = tensor("dense", "float32", (2, 3)).value, tensor("dense", "float32", (2, 4)).value
    assert widen(a, b) == tensor("dense", "float32", (2, -2)).value


def test_a_summarized_tuple_covers_what_went_into_it() -> None:
    zero, zero_or_x, nothing = literal(0).value, _joined([literal(0), unknown("x")]), BOTTOM
    mixed = _joined([unknown("y"), prim("str"), prim("int")])
    added = [
        _joined([tup([zero, zero_or_x, zero]), tup([zero_or_x, zero, nothing])]),
        _joined([tup([zero, _joined([literal(0), literal(12)]), _joined([literal(0), literal(11)])])]),
        _joined([tup([nothing, zero_or_x, nothing]), tup([zero, mixed, nothing])]),
        _joined([tup([_joined([literal(0), literal(12)]), zero, nothing])]),
    ]
    value = BOTTOM
    for _ in range(10):
        before = value
        for more in added:
            value = join(value, more)
    assert value == before
