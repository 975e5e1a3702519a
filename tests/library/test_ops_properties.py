"""Random calls of the most used operations, judged by TensorFlow: whatever the shapes, no dim and no dtype is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tensorflow")

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from .op_oracle import WRONG, Case, judge

pytestmark = pytest.mark.tensorflow
some = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

NAMES = {
    "binary": "add multiply subtract maximum less equal divide pow".split(),
    "arrays": "add multiply divide".split(),
    "reductions": "reduce_sum reduce_max reduce_mean reduce_std reduce_prod reduce_logsumexp".split(),
}
Shape = tuple[int, ...]
dims = st.integers(1, 4)
shapes = st.lists(dims, max_size=4).map(tuple)
Draw = Callable[[Any], Any]


def made(letter: str, shape: tuple[int, ...]) -> str:
    return f"{letter}({','.join(map(str, shape))})"


def check(source: str) -> None:
    """TensorFlow may refuse a random call; what it accepts must be inferred soundly."""
    try:
        verdict = judge(Case(source, False, "random"))
    except (NotImplementedError, AssertionError, AttributeError, NameError, SyntaxError):
        raise
    except Exception:
        assume(False)
        return
    assert verdict is not None
    assert verdict.verdict != WRONG, verdict.detail


@st.composite
def broadcastable(draw: Draw) -> tuple[tuple[int, ...], tuple[int, ...]]:
    whole = draw(shapes)
    parts = []
    for _ in range(2):
        start = draw(st.integers(0, len(whole)))
        parts.append(tuple(d if draw(st.booleans()) else 1 for d in whole[start:]))
    return parts[0], parts[1]


@some
@given(
    broadcastable(),
    st.sampled_from("add multiply subtract maximum less equal divide pow".split()),
    st.sampled_from("fdi"),
)
def test_binary_operations(pair: tuple[Shape, Shape], name: str, letter: str) -> None:
    letter = "p" if letter == "i" else letter
    check(f"tf.math.{name}({made(letter, pair[0])}, {made(letter, pair[1])})")


@some
@given(
    broadcastable(),
    st.sampled_from("fdikhuc"),
    st.sampled_from("fdikhuc"),
    st.sampled_from("add multiply divide".split()),
)
def test_numpy_promotes(pair: tuple[Shape, Shape], a: str, b: str, name: str) -> None:
    check(f"np.{name}({made('n' + a, pair[0])}, {made('n' + b, pair[1])})")


@some
@given(shapes, st.data())
def test_reductions(shape: tuple[int, ...], data: st.DataObject) -> None:
    rank = len(shape)
    axes = st.none()
    if rank:
        axis = st.integers(-rank, rank - 1)
        axes = st.one_of(st.none(), axis, st.lists(axis, max_size=rank, unique_by=lambda a: a % rank))
    name = data.draw(st.sampled_from(NAMES["reductions"]))
    keep = data.draw(st.booleans())
    check(f"tf.math.{name}({made('f', shape)}, axis={data.draw(axes)}, keepdims={keep})")


@some
@given(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3), st.data())
def test_reshape(shape: list[int], data: st.DataObject) -> None:
    size = 1
    for d in shape:
        size *= d
    target: list[int] = []
    left = size
    for _ in range(data.draw(st.integers(0, 3))):
        d = data.draw(st.sampled_from([d for d in (1, 2, 3, 4, 6, 12) if left % d == 0]))
        target.append(d)
        left //= d
    target.insert(data.draw(st.integers(0, len(target))), -1 if data.draw(st.booleans()) else left)
    check(f"tf.reshape({made('f', tuple(shape))}, {target})")


@some
@given(st.lists(dims, min_size=1, max_size=4), st.data())
def test_transpose_expand_and_squeeze(shape: list[int], data: st.DataObject) -> None:
    perm = data.draw(st.permutations(range(len(shape))))
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    check(f"tf.transpose({made('f', tuple(shape))}, {list(perm)})")
    check(f"tf.expand_dims({made('f', tuple(shape))}, {axis})")
    ones = [i for i, d in enumerate(shape) if d == 1]
    check(f"tf.squeeze({made('f', tuple(shape))}, {ones or None})")


@some
@given(st.lists(dims, min_size=1, max_size=3), st.data())
def test_concat_stack_and_split(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    other = list(shape)
    other[axis] = data.draw(dims)
    check(f"tf.concat([{made('f', tuple(shape))}, {made('f', tuple(other))}], {axis})")
    check(f"tf.stack([{made('f', tuple(shape))}, {made('f', tuple(shape))}], {axis})")
    sizes = [data.draw(st.integers(0, shape[axis])), -1]
    check(f"tf.split({made('f', tuple(shape))}, {sizes}, {axis})")


@some
@given(st.lists(dims, min_size=2, max_size=4), st.lists(dims, max_size=3), st.data())
def test_gather(params: list[int], indices: list[int], data: st.DataObject) -> None:
    batch = data.draw(st.integers(0, min(len(params) - 1, len(indices))))
    indices[:batch] = params[:batch]
    axis = data.draw(st.integers(batch, len(params) - 1))
    params[axis] = max(2, params[axis])
    if axis >= batch:
        check(f"tf.gather({made('f', tuple(params))}, {made('i', tuple(indices))}, axis={axis}, batch_dims={batch})")


index_keys = st.one_of(
    st.integers(-1, 0).map(str),
    st.sampled_from([":", "...", "None", "1:", ":1", "::2", ":-1", "-1:", "::-1", "0:3:2", "2:1"]),
)


@some
@given(st.lists(dims, min_size=1, max_size=4), st.lists(index_keys, min_size=1, max_size=4))
def test_slices(shape: list[int], keys: list[str]) -> None:
    assume(keys.count("...") <= 1)
    check(f"tf.identity({made('f', tuple(shape))}[{', '.join(keys)}])")


@some
@given(
    st.tuples(st.integers(4, 9), st.integers(4, 9)),
    st.tuples(dims, dims),
    st.integers(1, 3),
    st.integers(1, 2),
    st.data(),
)
def test_windows(
    size: tuple[int, int], kernel: tuple[int, int], stride: int, dilation: int, data: st.DataObject
) -> None:
    padding = data.draw(st.sampled_from(["SAME", "VALID"]))
    # A graph refuses a dilated window larger than its image; eagerly TensorFlow gives the image back, channels and all.
    assume(padding == "SAME" or dilation == 1 or all((k - 1) * dilation < s for k, s in zip(kernel, size, strict=True)))
    image, filters = made("f", (2, *size, 3)), made("f", (*kernel, 3, 5))
    check(f"tf.nn.conv2d({image}, {filters}, {stride}, {padding!r}, dilations={dilation})")
    check(f"tf.nn.max_pool2d({image}, {list(kernel)}, {stride}, {padding!r})")
    check(f"tf.nn.conv1d({made('f', (2, size[0], 3))}, {made('f', (kernel[0], 3, 4))}, {stride}, {padding!r})")


@some
@given(st.lists(dims, max_size=2), dims, dims, dims, st.booleans(), st.booleans())
def test_products(batch: list[int], m: int, k: int, n: int, first: bool, second: bool) -> None:
    left, right = ((k, m) if first else (m, k)), ((n, k) if second else (k, n))
    a, b = made("f", (*batch, *left)), made("f", (*batch, *right))
    check(f"tf.linalg.matmul({a}, {b}, transpose_a={first}, transpose_b={second})")
    check(f"tf.einsum('...ij,...jk->...ik', {made('f', (*batch, m, k))}, {made('f', (k, n))})")


@some
@given(st.lists(dims, min_size=1, max_size=3), st.data())
def test_pad_tile_and_repeat(shape: list[int], data: st.DataObject) -> None:
    pairs = [[data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))] for _ in shape]
    times = [data.draw(st.integers(0, 3)) for _ in shape]
    x = made("f", tuple(shape))
    check(f"tf.pad({x}, {pairs})")
    check(f"tf.tile({x}, {times})")
    check(f"tf.repeat({x}, {times[0]}, axis={data.draw(st.sampled_from([None, 0, -1]))})")
    check(f"np.tile({'n' + x}, {times})")


@some
@given(st.lists(dims, min_size=1, max_size=3), st.data())
def test_arrays(shape: list[int], data: st.DataObject) -> None:
    rank = len(shape)
    x = made("n" + data.draw(st.sampled_from("fdiluhc")), tuple(shape))
    axis = data.draw(st.one_of(st.none(), st.integers(-rank, rank - 1)))
    for name in ("sum", "mean", "std", "max", "argmax", "cumsum", "prod", "any"):
        check(f"np.{name}({x}, axis={axis})")
    for name in ("sqrt", "exp", "abs", "square", "sign", "ravel", "transpose", "conj", "real", "round"):
        check(f"np.{name}({x})")
