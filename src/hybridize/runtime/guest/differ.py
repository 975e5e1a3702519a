"""Two descriptions of the same thing -> where they differ, by how much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .values import ARRAYS, MISSING, Described, shown

_LEAST_SCALE = 1e-3  # smaller numbers are compared as if they stood beside one of this size


class Difference:
    """One thing that is not the same.

    `path` names it, `place` is the index of the largest difference within. `error` is the largest deviation, relative
    to the values' scale, where only numbers differ (None: something else does); `tolerance` is what was allowed.
    """

    __slots__ = ("eager", "error", "graph", "path", "place", "tolerance")

    def __init__(
        self, path: str, eager: str, graph: str, error: float | None = None, tolerance: float = 0.0, place: str = ""
    ) -> None:
        self.path, self.eager, self.graph, self.error = path, eager, graph, error
        self.tolerance, self.place = tolerance, place

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        error = None if self.error is None else min(self.error, 1e300)
        return {"where": self.path + self.place, "eager": self.eager, "graph": self.graph, "error": error}


class Comparison:
    """Compares within tolerances by dtype.

    Args:
        numpy: the imported module.
        tolerances: relative ones by dtype; `python` and `default` for Python numbers and for other dtypes.

    Attributes:
        largest: the largest difference of arrays within the tolerances so far, relative to their scale and absolute.
    """

    def __init__(self, numpy: Any, tolerances: dict[str, float]) -> None:
        self._np = numpy
        self._tolerances = tolerances
        self.largest = (0.0, 0.0)

    def taken(self) -> tuple[float, float]:
        """The largest difference so far, and begins anew."""
        found, self.largest = self.largest, (0.0, 0.0)
        return found

    def tolerance(self, dtype: str) -> float:
        """The relative tolerance of a dtype."""
        return self._tolerances.get(dtype, self._tolerances["default"])

    def compare(self, where: str, eager: Described, graph: Described) -> Iterator[Difference]:
        """Every difference, at its path."""
        kind = eager[0]
        if kind != graph[0]:
            yield Difference(where, shown(eager), shown(graph))
        elif kind in ARRAYS:
            yield from self._arrays(where, eager, graph)
        elif kind == "py":
            yield from self._python(where, eager, graph)
        elif kind in ("list", "tuple", "set"):
            if eager[2] != graph[2]:
                yield Difference(f"type({where})", eager[2], graph[2])
            if len(eager[1]) != len(graph[1]):
                yield Difference(f"len({where})", str(len(eager[1])), str(len(graph[1])))
            for i, (a, b) in enumerate(zip(eager[1], graph[1])):
                yield from self.compare(f"{where}[{i}]", a, b)
        elif kind == "dict":
            if eager[2] != graph[2]:
                yield Difference(f"type({where})", eager[2], graph[2])
            yield from self._named(where, eager[1], graph[1], "{}[{}]")
        elif kind == "object" and eager[1] == graph[1]:
            yield from self._named(where, eager[2], graph[2], "{}.{}")
        elif kind == "composite" and eager[1] == graph[1] and len(eager[2]) == len(graph[2]):
            for i, (a, b) in enumerate(zip(eager[2], graph[2])):
                yield from self.compare(f"{where}<{i}>", a, b)
        elif eager != graph:
            yield Difference(where, shown(eager), shown(graph))

    def _named(self, where: str, eager: Any, graph: Any, form: str) -> Iterator[Difference]:
        for key in dict.fromkeys((*eager, *graph)):
            yield from self.compare(form.format(where, key), eager.get(key, MISSING), graph.get(key, MISSING))

    def _python(self, where: str, eager: Described, graph: Described) -> Iterator[Difference]:
        a, b = eager[2], graph[2]
        if eager[1] != graph[1]:
            yield Difference(where, shown(eager), shown(graph))
        elif isinstance(a, float) and isinstance(b, float):
            if a != b and not (a != a and b != b):
                error = abs(a - b) / max(abs(a), abs(b), 1e-3)
                if not error <= self._tolerances["python"]:
                    yield Difference(where, shown(eager), shown(graph), error, self._tolerances["python"])
        elif a != b:
            yield Difference(where, shown(eager), shown(graph))

    def _arrays(self, where: str, eager: Described, graph: Described) -> Iterator[Difference]:
        if eager[1:3] != graph[1:3]:
            yield Difference(where, f"{eager[1]}{list(eager[2])}", f"{graph[1]}{list(graph[2])}")
            return
        error = self.deviation(eager[3], graph[3])
        if error is None or error > self.tolerance(eager[1]):
            text = self._at(eager, graph)
            yield Difference(where, text[1], text[2], error, self.tolerance(eager[1]), text[0])
        elif error > self.largest[0]:
            sizes = self._np.abs(self._np.asarray(eager[3]).astype("complex128"))
            scale = float(sizes[self._np.isfinite(sizes)].max(initial=0.0))
            self.largest = (error, error * max(scale, _LEAST_SCALE))

    def deviation(self, eager: Any, graph: Any) -> float | None:
        """The largest difference relative to the arrays' scale, 0 where they are equal, None for no numbers."""
        np = self._np
        if eager.size == 0:
            return 0.0
        if eager.dtype.kind in "OSUb" or eager.dtype.kind not in "fciuV":
            return 0.0 if bool(np.all(eager == graph)) else None
        if eager.dtype.kind in "iu":
            return 0.0 if np.array_equal(eager, graph) else None
        if np.array_equal(eager, graph):
            return 0.0
        wide = "complex128" if eager.dtype.kind == "c" else "float64"
        a, b = np.asarray(eager).astype(wide), np.asarray(graph).astype(wide)
        finite = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not bool(np.all(finite | same)):
            return float("inf")
        a, b = np.abs(np.where(finite, a, 0)), np.abs(np.where(finite, a - b, 0))
        scale = max(float(a.max(initial=0.0)), _LEAST_SCALE)
        return float(b.max(initial=0.0)) / scale

    def _at(self, eager: Described, graph: Described) -> tuple[str, str, str]:
        """The index of the largest difference, and both values there."""
        np = self._np
        a, b = eager[3], graph[3]
        if a.ndim == 0 or a.size == 0:
            return "", shown(eager), shown(graph)
        try:
            wide = np.abs(a.astype("complex128") - b.astype("complex128"))
            place = int(np.argmax(np.nan_to_num(wide, nan=np.inf)))
        except (TypeError, ValueError):
            place = int(np.argmax(a.reshape(-1) != b.reshape(-1)))
        index = np.unravel_index(place, a.shape)
        text = "[" + ", ".join(str(int(i)) for i in index) + "]"
        values = [shown((kind, dtype, (), np.asarray(array[index]))) for kind, dtype, _, array in (eager, graph)]
        return text, values[0], values[1]

    def alike(self, eager: Described, graph: Described) -> bool:
        """Whether two samples of random values may be of one distribution: form, mean and spread."""
        np = self._np
        if eager[0] not in ARRAYS or graph[0] != eager[0] or eager[1:3] != graph[1:3]:
            return eager[0] == graph[0] and (eager[0] not in ARRAYS) and _form(eager) == _form(graph)
        a, b = eager[3], graph[3]
        if a.dtype.kind not in "fiu" or a.size < 16:
            return True
        a, b = a.astype("float64"), b.astype("float64")
        spread = max(float(a.std()), float(b.std()), 1e-12)
        error = spread / float(np.sqrt(a.size))
        narrow = min(float(a.std()), float(b.std())) > 0.2 * spread or a.size < 64
        return bool(abs(float(a.mean()) - float(b.mean())) < 8 * error + 1e-6) and narrow


def leaf_form(leaf: Described) -> Any:
    """What two leaves of noise must share: kinds, of arrays dtypes and shapes, too."""
    return leaf[:3] if leaf[0] in ARRAYS else leaf[:2] if leaf[0] == "py" else leaf[0]


def digest(leaf: Described) -> Any:
    """A leaf's value as one that can be hashed."""
    return leaf[3].tobytes() if leaf[0] in ARRAYS else repr(leaf)


def _form(value: Described) -> Any:
    """What a random value must share with another one: kinds and lengths."""
    if value[0] in ARRAYS:
        return value[:3]
    if value[0] == "py":
        return value[:2]
    if value[0] in ("list", "tuple", "set"):
        return value[0], tuple(_form(v) for v in value[1])
    if value[0] == "dict":
        return "dict", tuple((k, _form(v)) for k, v in value[1].items())
    return value[:2]


def leaves(where: str, value: Described) -> Iterator[tuple[str, Described]]:
    """The leaves of a description with their paths."""
    kind = value[0]
    if kind in ("list", "tuple", "set"):
        for i, item in enumerate(value[1]):
            yield from leaves(f"{where}[{i}]", item)
    elif kind in ("dict", "object"):
        for key, item in (value[1] if kind == "dict" else value[2]).items():
            yield from leaves(f"{where}[{key}]" if kind == "dict" else f"{where}.{key}", item)
    elif kind == "composite":
        for i, item in enumerate(value[2]):
            yield from leaves(f"{where}<{i}>", item)
    else:
        yield where, value
