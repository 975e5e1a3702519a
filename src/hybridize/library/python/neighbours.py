"""Packages around TensorFlow: datasets, hub, gym, torch."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE_V, Lit, Tensor, Value, stream, tensor, tup, unknown
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY
from hybridize.library.python.rules import instance
from hybridize.library.spec import Call, Rule
from hybridize.library.stubs import read
from hybridize.regex import regex

TENSOR_V: Final = tensor(DENSE).value

# Datasets and hubs ---------------------------------------------------------------------------------------------------

_PIXELS: Final[dict[str, tuple[tuple[int, ...], str]]] = {
    "mnist": ((28, 28, 1), "uint8"),
    "fashion_mnist": ((28, 28, 1), "uint8"),
    "kmnist": ((28, 28, 1), "uint8"),
    "emnist": ((28, 28, 1), "uint8"),
    "cifar10": ((32, 32, 3), "uint8"),
    "cifar100": ((32, 32, 3), "uint8"),
    "svhn_cropped": ((32, 32, 3), "uint8"),
    "cats_vs_dogs": ((DYNAMIC, DYNAMIC, 3), "uint8"),
    "horses_or_humans": ((300, 300, 3), "uint8"),
    "rock_paper_scissors": ((300, 300, 3), "uint8"),
    "tf_flowers": ((DYNAMIC, DYNAMIC, 3), "uint8"),
    "oxford_flowers102": ((DYNAMIC, DYNAMIC, 3), "uint8"),
    "imagenet2012": ((DYNAMIC, DYNAMIC, 3), "uint8"),
    "food101": ((DYNAMIC, DYNAMIC, 3), "uint8"),
    "stl10": ((96, 96, 3), "uint8"),
    "eurosat": ((64, 64, 3), "uint8"),
}
_TEXTS: Final = frozenset({"imdb_reviews", "yelp_polarity_reviews", "ag_news_subset", "sentiment140", "glue/sst2"})
_LABEL: Final = tensor(DENSE, "int64", ()).value
#: How many examples the splits of data sets have that programs load most.
_ROWS: Final[dict[str, dict[str, int]]] = {
    **{key: {"train": 60000, "test": 10000} for key in ("mnist", "fashion_mnist", "kmnist")},
    **{key: {"train": 50000, "test": 10000} for key in ("cifar10", "cifar100")},
    "svhn_cropped": {"train": 73257, "test": 26032, "extra": 531131},
    "cats_vs_dogs": {"train": 23262},
    "horses_or_humans": {"train": 1027, "test": 256},
    "rock_paper_scissors": {"train": 2520, "test": 372},
    "tf_flowers": {"train": 3670},
    "stanford_dogs": {"train": 12000, "test": 8580},
    "malaria": {"train": 27558},
    "eurosat": {"train": 27000},
    "imdb_reviews": {"train": 25000, "test": 25000, "unsupervised": 50000},
    "ted_hrlr_translate/pt_to_en": {"train": 51785, "validation": 1193, "test": 1803},
}
_PART: Final = regex(r"\s*(\w+)\s*(?:\[\s*(-?\d+%?)?\s*:\s*(-?\d+%?)?\s*\])?\s*")


def _example(call: Call) -> Value:
    """One example of a dataset of `tfds.load`: by name where its features are known."""
    name = call.constant(0, "name", "")
    base = name.partition(":")[0] if isinstance(name, str) else ""
    supervised = call.constant(-1, "as_supervised", False) is True
    pixels = _PIXELS.get(base) or _PIXELS.get(base.partition("/")[0])
    if pixels is None and base.partition("/")[0] not in _TEXTS:
        return (
            tup([unknown_feature(), unknown_feature()]).value
            if supervised
            else unknown("an example of a dataset").value
        )
    first = tensor(DENSE, pixels[1], pixels[0]).value if pixels else tensor(DENSE, "string", ()).value
    if supervised:
        return tup([first, _LABEL]).value
    made = call.new("dict", "example")
    for key, value in (("image" if pixels else "text", first), ("label", _LABEL)):
        call.write(made.cell(key), value)
    return made.value


def unknown_feature() -> Value:
    """A feature of an example: a tensor, as a rule."""
    return TENSOR_V


def _batched(call: Call, element: Value) -> Value:
    size = call.constant(-1, "batch_size", None)
    if not isinstance(size, int) or size == -1:
        return element
    result = BOTTOM
    for obj in element:
        if isinstance(obj, Tensor):
            shape = None if obj.shape is None else (DYNAMIC, *obj.shape)
            result = join(result, tensor(obj.kind, obj.dtype, shape).value)
        elif hasattr(obj, "items") and isinstance(obj.items, tuple):
            result = join(result, tup([_batched(call, item) for item in obj.items]).value)
        else:
            return unknown("a batch of a dataset").value
    return result


def _rows(call: Call, split: object) -> int | None:
    """How many examples of a split there are (`train[:80%]+test`), if that is known."""
    name, whole = call.constant(0, "name", ""), call.constant(-1, "batch_size", None) is None
    known = _ROWS.get(name.partition(":")[0]) if isinstance(name, str) else None
    if known is None or not isinstance(split, str) or not whole:
        return None
    total = 0
    for part in split.split("+"):
        found = _PART.fullmatch(part)
        rows = known.get(found[1]) if found else None
        if found is None or rows is None:
            return None
        low, high = _edge(found[2] or "0", rows), _edge(found[3], rows) if found[3] else rows
        total += max(high - low, 0)
    return total


def _edge(text: str, rows: int) -> int:
    """Where a part of a split begins or ends, counted from its end where the number is negative."""
    number = round(int(text[:-1]) * rows / 100) if text.endswith("%") else int(text)
    return min(max(rows + number if text.startswith("-") else number, 0), rows)


def _load(call: Call) -> Value:
    """`tfds.load(name, split=..., as_supervised=..., with_info=...)`."""
    element = _batched(call, _example(call))

    def dataset(part: object) -> Value:
        return stream("tf.data.Dataset", element, _rows(call, part)).value

    split = call.arg(1, "split", NONE_V)
    if split is NONE_V:
        made = call.new("dict", "splits")
        for key in ("train", "test"):
            call.write(made.cell(key), dataset(key))
        call.engine.cells.lose_exactness(made)
        call.write(made.rest_cell(), dataset(None))
        result = made.value
    else:
        single = call.constant(1, "split", None)
        rows = [o for o in split if hasattr(o, "site") or hasattr(o, "items")]
        several = isinstance(single, str) is False and bool(rows)
        result = call.list_of(dataset(None)) if several else dataset(single)
        if several and len(split) == 1:
            (obj,) = split
            fields = [cell.value for cell in getattr(obj, "fields", {}).values()] or list(getattr(obj, "items", ()))
            parts = [next((o.const for o in each if isinstance(o, Lit)), None) for each in fields]
            result = tup([dataset(part) for part in parts]).value if 0 < len(parts) <= 8 else result
    info = call.constant(-1, "with_info", False)
    return tup([result, instance("tensorflow_datasets.core.DatasetInfo")(call)]).value if info is True else result


def _as_numpy(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0, "dataset"):
        if isinstance(obj, Tensor):
            result = join(result, tensor(NDARRAY, obj.dtype, obj.shape).value)
        else:
            element = _numpy_of(call.elements(obj.value))
            result = join(result, call.list_of(element, "iterator", "numpy"))
    return result


def _numpy_of(value: Value) -> Value:
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            result = join(result, tensor(NDARRAY, obj.dtype, obj.shape).value)
        elif hasattr(obj, "items") and isinstance(obj.items, tuple):
            result = join(result, tup([_numpy_of(item) for item in obj.items]).value)
        else:
            result = join(result, unknown("an example of a dataset, as arrays").value)
    return result


_RULES: Final[dict[str, Rule]] = {
    "_as_dataset": lambda call: stream("tf.data.Dataset", unknown("an example of a dataset").value).value,
}

# Environments, torch -------------------------------------------------------------------------------------------------


FUNCTIONS, CLASSES = read("neighbours", globals() | _RULES)
