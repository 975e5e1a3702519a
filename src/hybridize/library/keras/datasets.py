"""The data sets that Keras loads by name."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value, tensor, tup
from hybridize.domain.tensors import NDARRAY
from hybridize.library.spec import Call, Rule, Spec


def _arrays(*shapes: tuple[int, ...]) -> Rule:
    """`load_data()`: two pairs of arrays."""

    def rule(call: Call) -> Value:
        x, y = (tensor(NDARRAY, "uint8", shape).value for shape in (shapes[0], shapes[1]))
        xt, yt = (tensor(NDARRAY, "uint8", shape).value for shape in (shapes[2], shapes[3]))
        return tup([tup([x, y]).value, tup([xt, yt]).value]).value

    return rule


def _sequences(call: Call) -> Value:
    pair = tup([tensor(NDARRAY).value, tensor(NDARRAY, "int64").value]).value
    return tup([pair, pair]).value


def _housing(call: Call) -> Value:
    pairs = [
        tup([tensor(NDARRAY, "float64", (n, 13)).value, tensor(NDARRAY, "float64", (n,)).value]).value
        for n in (404, 102)
    ]
    return tup(pairs).value


_DATASETS: Final = {
    "mnist": _arrays((60000, 28, 28), (60000,), (10000, 28, 28), (10000,)),
    "fashion_mnist": _arrays((60000, 28, 28), (60000,), (10000, 28, 28), (10000,)),
    "cifar10": _arrays((50000, 32, 32, 3), (50000, 1), (10000, 32, 32, 3), (10000, 1)),
    "imdb": _sequences,
    "reuters": _sequences,
    "boston_housing": _housing,
}

FUNCTIONS: Final[dict[str, Spec]] = {
    f"keras.datasets.{name}.load_data": Spec(rule, effects=("io",)) for name, rule in _DATASETS.items()
}
