"""The data sets that Keras loads by name."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value, tensor, tup
from hybridize.domain.tensors import NDARRAY, UNRESOLVED, Dim
from hybridize.library.spec import Call, Rule, Spec


def _arrays(
    rows: tuple[Dim, Dim], features: tuple[int, ...], labels: tuple[int, ...], dtypes: str = "uint8 uint8"
) -> Rule:
    """`load_data()`: two pairs of arrays, of so many rows, each with features and labels of these shapes."""
    of_features, of_labels = dtypes.split()

    def rule(call: Call) -> Value:
        pairs = [
            tup([tensor(NDARRAY, of_features, (n, *features)).value, tensor(NDARRAY, of_labels, (n, *labels)).value])
            for n in rows
        ]
        return tup([pair.value for pair in pairs]).value

    return rule


def _sequences(call: Call) -> Value:
    pair = tup([tensor(NDARRAY).value, tensor(NDARRAY, "int64").value]).value
    return tup([pair, pair]).value


_DATASETS: Final = {
    "mnist": _arrays((60000, 10000), (28, 28), ()),
    "fashion_mnist": _arrays((60000, 10000), (28, 28), ()),
    "cifar10": _arrays((50000, 10000), (32, 32, 3), (1,)),
    "cifar100": _arrays((50000, 10000), (32, 32, 3), (1,), "uint8 int64"),
    "imdb": _sequences,
    "reuters": _sequences,
    "boston_housing": _arrays((404, 102), (13,), (), "float64 float64"),
    "california_housing": _arrays((UNRESOLVED, UNRESOLVED), (8,), (), "float32 float32"),
}

FUNCTIONS: Final[dict[str, Spec]] = {
    f"keras.datasets.{name}.load_data": Spec(rule, effects=("io",)) for name, rule in _DATASETS.items()
}
