"""Two runs' reports -> an outcome. Plain data only: no TensorFlow here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from hybridize.runtime.model import Difference, Kind, Outcome, Traces

Run = dict[str, Any]

#: Relative tolerances by dtype; a graph may fuse and reorder.
TOLERANCES = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-5, "complex64": 1e-5}
PYTHON_TOLERANCE, DOUBLE_TOLERANCE = 1e-6, 1e-9
SHOWN = 160  # characters of a value in a difference
LIMIT = 40  # differences that are kept

#: Kinds of leaves; all others are nested.
LEAVES = frozenset("T V np nps py symbolic opaque callable cycle deep unreadable shape dtype dataset exception".split())
MISSING = ["nothing"]


def outcome(eager: Run, hybrid: Run, again: Run | None = None) -> Outcome:
    """The verdict on an eager and a hybrid run.

    Args:
        eager, hybrid: the runs' reports (inside/child.py).
        again: a second eager run: what differs between the two is noise, of which only the pattern is compared.
    """
    if eager["ended"] != "done":
        return Outcome(Kind.FAILED, (Difference("eager run", _ended(eager), ""),))
    if hybrid["ended"] == "broken":
        return Outcome(Kind.FAILED, (Difference("hybrid run", "", _ended(hybrid)),))
    if hybrid["ended"] != "done":
        return Outcome(Kind.RAISES, (Difference("process", "ended", _ended(hybrid)),))
    noise = {d.where for d in _all(eager, again)} if again is not None and again["ended"] == "done" else set()
    found = [d for d in _all(eager, hybrid) if d.where not in noise]
    if noise:
        found += _pattern(eager, hybrid, noise)
    functions = tuple(Traces(name, **figures) for name, figures in hybrid["functions"].items())
    error = hybrid["error"] or eager["error"] or {}
    return Outcome(
        _kind(eager, hybrid, found, functions),
        tuple(found[:LIMIT]),
        functions,
        error.get("line") or 0,
        tuple(hybrid["notes"]),
        tuple(sorted(noise)),
    )


def _ended(run: Run) -> str:
    return f"{run['ended']} {run.get('message', '')}".strip()


def _kind(eager: Run, hybrid: Run, found: list[Difference], functions: tuple[Traces, ...]) -> Kind:
    if any(d.where == "exception" for d in found):
        return Kind.RAISES if hybrid["error"] else Kind.DIFFERS
    if hybrid["escaped"] != eager["escaped"]:
        new = list(hybrid["escaped"])
        for kind in eager["escaped"]:
            if kind in new:
                new.remove(kind)
        others = any(d.where != "caught" for d in found)
        if others or set(new) - {"TypeError"}:  # the driver caught what the eager function would not have raised
            return Kind.RAISES if new else Kind.DIFFERS
        # Arguments that don't fit raise before an eager body is entered, so that run did not note it.
        return Kind.DIFFERS if not new else Kind.SAFE
    if found:
        return Kind.DIFFERS
    return Kind.RETRACES if any(f.each_call for f in functions) else Kind.SAFE


def _all(eager: Run, hybrid: Run) -> list[Difference]:
    """Everything that is not the same, gravest first."""
    found: list[Difference] = []
    mine, theirs = _error(eager), _error(hybrid)
    if mine[:1] != theirs[:1] or mine[2:] != theirs[2:]:
        found.append(Difference("exception", " ".join(map(str, mine)), " ".join(map(str, theirs))))
    if eager["escaped"] != hybrid["escaped"]:
        found.append(Difference("caught", _shown(eager["escaped"]), _shown(hybrid["escaped"])))
    for name in dict.fromkeys((*eager["values"], *hybrid["values"])):
        found += compare(name, eager["values"].get(name, MISSING), hybrid["values"].get(name, MISSING))
    for where in ("stdout", "stderr", "warnings"):
        if eager[where] != hybrid[where]:
            found.append(Difference(where, _shown(eager[where]), _shown(hybrid[where])))
    for name in dict.fromkeys((*eager["files"], *hybrid["files"])):
        a, b = eager["files"].get(name), hybrid["files"].get(name)
        if a != b:
            found.append(Difference(f"file {name}", _shown(a), _shown(b)))
    return found


def _error(run: Run) -> tuple[Any, ...]:
    """Type, message, line; without an exception only a dash."""
    error = run["error"]
    return (error["type"], error["message"][:300], f"at line {error['line']}") if error else ("-",)


def compare(where: str, eager: Any, hybrid: Any) -> Iterator[Difference]:
    """Differences between two described values (inside/values.py), each at its path."""
    if eager == hybrid and eager == eager:
        return
    if eager[0] != hybrid[0] or eager[0] in LEAVES or eager[0] == "nothing":
        if not _same_leaf(eager, hybrid):
            yield Difference(where, _shown(eager), _shown(hybrid))
        return
    kind = eager[0]
    if kind in ("list", "tuple", "set"):
        items, others = eager[1], hybrid[1]
        if len(items) != len(others) or eager[2:] != hybrid[2:]:
            yield Difference(f"len({where})", str(len(items)), str(len(others)))
        for i, (a, b) in enumerate(zip(items, others, strict=False)):
            yield from compare(f"{where}[{i}]", a, b)
        return
    if kind == "dict":
        yield from _compare_named(where, eager[1], hybrid[1], "{}[{}]")
        return
    if eager[1] != hybrid[1]:
        yield Difference(f"type({where})", str(eager[1]), str(hybrid[1]))
    elif kind == "object":
        yield from _compare_named(where, eager[2], hybrid[2], "{}.{}")
    elif len(eager[2]) != len(hybrid[2]):
        yield Difference(where, _shown(eager), _shown(hybrid))
    else:  # a composite tensor
        for i, (a, b) in enumerate(zip(eager[2], hybrid[2], strict=True)):
            yield from compare(f"{where}<{i}>", a, b)


def _compare_named(where: str, eager: Any, hybrid: Any, form: str) -> Iterator[Difference]:
    mine, theirs = dict(eager), dict(hybrid)
    for key in dict.fromkeys((*mine, *theirs)):
        yield from compare(form.format(where, key), mine.get(key, MISSING), theirs.get(key, MISSING))


def _same_leaf(eager: Any, hybrid: Any) -> bool:
    """Equal within the tolerance of the dtype; not a number equals itself."""
    if eager[0] != hybrid[0] or len(eager) != len(hybrid):
        return False
    if eager[0] == "py":
        return eager[1] == hybrid[1] and _close(eager[2], hybrid[2], PYTHON_TOLERANCE)
    if eager[0] in ("T", "V", "np", "nps"):
        same = eager[1:3] == hybrid[1:3]
        tolerance = TOLERANCES.get(eager[1], DOUBLE_TOLERANCE)
        scale = max((abs(v) for v in eager[3] if isinstance(v, float) and math.isfinite(v)), default=0.0)
        return same and all(_close(a, b, tolerance, scale) for a, b in zip(eager[3], hybrid[3], strict=True))
    return bool(eager == hybrid)


def _close(a: Any, b: Any, tolerance: float, scale: float = 0.0) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), scale, 1e-3)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _pattern(eager: Run, hybrid: Run, noise: set[str]) -> list[Difference]:
    """Differences in what noise has in common: dtypes and shapes, which values are equal, how much is written."""
    mine, theirs = _noisy(eager, noise), _noisy(hybrid, noise)
    found = []
    for where in mine:
        if where in theirs and _form(mine[where]) != _form(theirs[where]):
            found.append(Difference(where, _shown(mine[where]), _shown(theirs[where])))
    classes = [_classes(side) for side in (mine, theirs)]
    if not found and classes[0] != classes[1]:
        found.append(Difference("random values", f"equal: {classes[0]}", f"equal: {classes[1]}"))
    for where in noise & {"stdout", "stderr"}:
        a, b = (re.sub(r"[\d.e+-]+", "#", str(run[where])) for run in (eager, hybrid))
        if a != b:
            found.append(Difference(where, _shown(eager[where]), _shown(hybrid[where])))
    return found


def _noisy(run: Run, noise: set[str]) -> dict[str, Any]:
    """The leaves at the noisy paths."""
    found: dict[str, Any] = {}

    def walk(where: str, value: Any) -> None:
        if value[0] in LEAVES:
            if where in noise:
                found[where] = value
        elif value[0] in ("list", "tuple", "set"):
            for i, item in enumerate(value[1]):
                walk(f"{where}[{i}]", item)
        elif value[0] in ("dict", "object"):
            for key, item in value[1] if value[0] == "dict" else value[2]:
                walk(f"{where}[{key}]" if value[0] == "dict" else f"{where}.{key}", item)

    for name, value in run["values"].items():
        walk(name, value)
    return found


def _form(leaf: Any) -> Any:
    return leaf[:3] if leaf[0] in ("T", "V", "np", "nps") else leaf[:2]


def _classes(leaves: dict[str, Any]) -> list[list[str]]:
    """Which leaves have the same value, where more than one has."""
    groups: dict[str, list[str]] = {}
    for where, leaf in leaves.items():
        groups.setdefault(repr(leaf), []).append(where)
    return sorted(g for g in groups.values() if len(g) > 1)


def _shown(value: Any) -> str:
    if value == MISSING:
        return "nothing"
    if isinstance(value, list) and value and value[0] in ("T", "V", "np", "nps") and len(value) == 4:
        text = f"{value[0]}/{value[1]}{value[2]} {value[3] if value[2] else value[3][0]}"
    elif isinstance(value, list) and value and value[0] == "py" and len(value) == 3:
        text = f"{value[1]} {value[2]!r}"
    else:
        text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
