"""Dims: joins only grow whatever the order, and a symbol lasts only while its dim is moved about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridize.domain.tensors import (
    BATCH,
    DYNAMIC,
    UNRESOLVED,
    Dim,
    arrived,
    at_run_time,
    batch_of,
    blurred,
    expected,
    is_batch,
    is_dynamic,
    join_dims,
    join_shapes,
    public_shape,
)
from hybridize.library.arithmetic import broadcast
from hybridize.library.operands import INFER
from hybridize.library.shapes import concatenated, product_of, reshaped, window

DIMS = [0, 1, 2, 7, DYNAMIC, UNRESOLVED, BATCH, batch_of(2), batch_of(7), at_run_time(2), at_run_time(7)]
dims = st.sampled_from(DIMS)
shapes = st.one_of(st.none(), st.lists(dims, max_size=4).map(tuple))


@given(shapes, shapes, shapes)
def test_joins_do_not_depend_on_order(a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...]) -> None:
    assert join_shapes(a, b) == join_shapes(b, a)
    assert join_shapes(a, a) == a
    assert join_shapes(join_shapes(a, b), c) == join_shapes(a, join_shapes(b, c))


@given(dims, dims)
def test_a_join_covers_both(a: Dim, b: Dim) -> None:
    joined = join_dims(a, b)
    assert join_dims(joined, a) == joined == join_dims(joined, b)
    assert is_dynamic(joined) or not (is_dynamic(a) or is_dynamic(b))


@pytest.mark.parametrize("dim", DIMS)
def test_symbols_are_dynamic_and_lose_their_name_in_arithmetic(dim: Dim) -> None:
    assert blurred(dim) in (dim, DYNAMIC)
    assert is_dynamic(blurred(dim)) == is_dynamic(dim)
    assert product_of((dim, 3)) >= 0 or product_of((dim, 3)) in (DYNAMIC, UNRESOLVED)
    assert window(dim, 3, 2, 1, "SAME") >= 0 or window(dim, 3, 2, 1, "SAME") in (DYNAMIC, UNRESOLVED)
    assert public_shape((dim,)) == ((dim,) if dim >= 0 else (None,))


def test_a_batch_stays_itself_while_it_is_moved() -> None:
    assert reshaped((BATCH, 4, 8), (BATCH, INFER)) == (BATCH, 32)
    assert reshaped((BATCH, 4, 8), (INFER, 4, 8)) == (BATCH, 4, 8)
    assert reshaped((BATCH, 4, 8), (INFER, 8)) == (DYNAMIC, 8)
    assert broadcast((BATCH, 4), (BATCH, 1)) == (BATCH, 4)
    assert broadcast((BATCH, 4), (DYNAMIC, 4)) == (DYNAMIC, 4)
    assert concatenated([(BATCH, 4), (BATCH, 3)], 1) == (BATCH, 7)
    assert concatenated([(BATCH, 4), (BATCH, 4)], 0) == (DYNAMIC, 4)


def test_what_arrives_has_its_size() -> None:
    assert arrived((at_run_time(4), 3, BATCH)) == (4, 3, BATCH)


@given(st.integers(1, 1 << 30), st.integers(1, 1 << 30))
def test_batches_keep_how_many_examples_most_have(one: int, other: int) -> None:
    """They are None to TensorFlow and in reports; of two sizes only that they are batches is left."""
    dim = batch_of(one)
    assert is_batch(dim)
    assert is_dynamic(dim)
    assert expected(dim) == one
    assert arrived((dim, 3)) == (dim, 3)
    assert public_shape((dim, 3)) == (None, 3)
    assert join_dims(dim, batch_of(other)) == (dim if one == other else BATCH)
    assert join_dims(dim, BATCH) == BATCH
    assert expected(BATCH) is None
    assert not is_batch(at_run_time(one))
    assert expected(at_run_time(one)) == one == expected(one)
