"""How a run of the program ended, as leaves by their paths, so that two runs can be compared as a whole."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hybridize.runtime.launch import Ended

Leaf = list[Any]  # the first item is its kind
MISSING: Leaf = ["nothing"]
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)")
_OBJECT = re.compile(r"0x[0-9a-fA-F]{6,}")
_ARRAYS = frozenset({"T", "V", "np", "nps"})
#: Paths that say how the run ended, whatever numbers it drew.
EXCEPTION, EXIT = "exception", "exit code"
#: With which paths begin that are results of calls: not all of them are looked at in each run.
CALL = "result of call"
_LINES = 5000  # of output that are compared
_ADDRESS = 1 << 40  # whole numbers from here on are no counts
_SHOWN = 120  # characters of a value in a message


def leaves(ended: Ended, names: Sequence[str]) -> dict[str, Leaf]:
    """Exit code, exception, values of the program's modules, output, written texts, results of functions, by name."""
    found: dict[str, Leaf] = {EXIT: ["py", "int", ended.code]}
    main = next((event["pid"] for event in ended.of("start")), None)
    for event in ended.events:
        if event["pid"] != main:
            continue
        if event["event"] == "exception":
            found[EXCEPTION] = ["exception", event["type"]]
        elif event["event"] == "final":
            for name, value in event["values"].items():
                found.update(_flat(name, value))
            for number, results in event["results"].items():
                for i, value in enumerate(results, 1):
                    if value is not None:
                        found.update(_flat(f"{CALL} {i} of `{names[int(number)]}`", value))
            for path, text in event["files"].items():
                found[f"file {path}"] = ["binary"] if text is None else ["text", text]
            for stream in ("stdout", "stderr"):
                lines = [line for line in event[stream].splitlines() if line.strip()]
                found[f"lines of {stream}"] = ["py", "int", len(lines)]
                for number, line in enumerate(lines[:_LINES], 1):
                    found[f"{stream} line {number}"] = ["text", line]
    found.setdefault(EXCEPTION, ["py", "NoneType", None])
    return found


def failure(ended: Ended, timeout: float | None = None) -> str | None:
    """Why a run is none of the whole program, in words that follow its name: it did not end, or not well; else None.

    `timeout` (seconds) is the one that it had.
    """
    if ended.reason == "timeout":
        return f"did not end within {timeout:g} s (--timeout)" if timeout else "did not end in time"
    if ended.reason == "interrupted":
        return "was interrupted"
    if ended.code < 0:
        return f"was killed by {signal_name(-ended.code)}"
    main = next((event["pid"] for event in ended.of("start")), None)
    for event in ended.of("exception"):
        if event["pid"] == main:
            place = f" ({event['path']}:{event['line']})" if event.get("path") else ""
            said = " ".join(str(event["message"]).split())
            return f"ended with {event['type']}: {said[:_SHOWN]}{place}"
    return f"ended with exit code {ended.code}" if ended.code else None


def signal_name(number: int) -> str:
    """`SIGKILL` and the like."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def told(ended: Ended) -> bool:
    """Whether the program's end was described: nothing killed its process."""
    return bool(ended.of("final"))


def _flat(where: str, value: Any) -> Iterator[tuple[str, Leaf]]:
    kind = value[0]
    if kind not in ("list", "tuple", "set", "dict", "object", "composite"):
        yield where, value
    elif kind in ("list", "tuple", "set"):
        yield f"type({where})", ["type", value[2]]
        yield f"len({where})", ["py", "int", len(value[1])]
        for i, item in enumerate(value[1]):
            yield from _flat(f"{where}[{i}]", item)
    elif kind == "composite":
        yield f"type({where})", ["type", value[1]]
        for i, item in enumerate(value[2]):
            yield from _flat(f"{where}<{i}>", item)
    else:
        pairs, name, form = (value[1], value[2], "{}[{}]") if kind == "dict" else (value[2], value[1], "{}.{}")
        yield f"type({where})", ["type", name]
        for key, item in pairs:
            yield from _flat(form.format(where, key), item)


def deviation(a: Leaf, b: Leaf) -> float:
    """How far two leaves are apart, relative to their scale: 0 equal, infinite where no number says it."""
    if a == b:
        return 0.0
    if a[0] != b[0] or len(a) != len(b):
        return math.inf
    if a[0] == "text":
        return _texts(a[1], b[1])
    if a[0] == "py" and a[1] == b[1] == "str":
        return _texts(a[2], b[2])
    if a[0] == "py":
        return _numbers([a[2]], [b[2]]) if a[1] == b[1] else math.inf
    if a[0] in _ARRAYS:
        return _numbers(a[3], b[3]) if a[1:3] == b[1:3] else math.inf
    return math.inf


def _numbers(a: list[Any], b: list[Any]) -> float:
    scale = max((abs(v) for v in a if isinstance(v, float) and math.isfinite(v)), default=0.0)
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        if x == y or (x != x and y != y):
            continue
        if not (_measures(x) and _measures(y)):
            return math.inf
        worst = max(worst, abs(x - y) / max(scale, abs(y), 1e-3))
    return worst


def _measures(value: Any) -> bool:
    """Whether a number may be a little off: a fraction, or an address or a time in whole units."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) > _ADDRESS


def _texts(a: str, b: str) -> float:
    """Texts that differ in fractions alone are as far apart as these; addresses of objects are nothing."""
    a, b = _OBJECT.sub("0x", a), _OBJECT.sub("0x", b)
    if NUMBER.split(a) != NUMBER.split(b):
        return math.inf
    worst = 0.0
    for one, two in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True):
        if one == two:
            continue
        if "." not in one + two and "e" not in (one + two).lower():
            return math.inf
        x, y = float(one), float(two)
        if not (math.isfinite(x) and math.isfinite(y)):
            return math.inf
        worst = max(worst, abs(x - y) / max(abs(x), abs(y), 1e-3))
    return worst


def parent(path: str) -> str:
    """What a path is a part of: of its kind there may be others in another run."""
    if path.startswith("file "):
        return "file"
    places = [path.rfind(mark) for mark in "[.<"]
    return path[: max(places)] if max(places) > 0 else ""


def merged(eager: list[Mapping[str, Leaf]], graph: Mapping[str, Leaf], noise: set[str]) -> list[tuple[str, str]]:
    """Pairs of noisy leaves that are equal in the graph's run, and in no eager one: they are frozen."""
    groups: dict[str, list[str]] = {}
    for path in sorted(noise):
        if path in graph and _telling(graph[path]):
            groups.setdefault(repr(graph[path]), []).append(path)
    found = []
    for first, *others in groups.values():
        for other in others:
            if all(first in run and other in run and run[first] != run[other] for run in eager):
                found.append((first, other))
    return found


def _telling(leaf: Leaf) -> bool:
    """Whether two equal ones can be no accident."""
    if leaf[0] == "py":
        return isinstance(leaf[2], float) or (isinstance(leaf[2], str) and len(leaf[2]) > 5)
    return leaf[0] in _ARRAYS and any(isinstance(v, float) or (isinstance(v, str) and len(v) > 5) for v in leaf[3])


def is_measured(leaf: Leaf) -> bool:
    """Whether there are fractions in it."""
    if leaf[0] in ("text", "py") and isinstance(leaf[-1], str):
        return any("." in number for number in NUMBER.findall(leaf[-1]))
    values = leaf[3] if leaf[0] in _ARRAYS else leaf[2:3] if leaf[0] == "py" else []
    return any(isinstance(value, float) and not value.is_integer() for value in values)


def is_form(a: Leaf, b: Leaf) -> bool:
    """Whether two leaves are of different kinds, whatever numbers are in them."""
    if a[0] == "nothing" or b[0] == "nothing":
        return False
    return a[0] != b[0] or (a[0] in ("py", "type", "exception", "symbolic") and a[1:2] != b[1:2])


def shown(leaf: Leaf) -> str:
    """A leaf for a person, shortened."""
    kind = leaf[0]
    if leaf == MISSING:
        text = "nothing"
    elif kind in _ARRAYS:
        name = {"T": "tensor", "V": "variable", "np": "array", "nps": "scalar"}[kind]
        items = ", ".join(f"{v:.7g}" if isinstance(v, float) else repr(v) for v in leaf[3][:6])
        text = f"{name} {leaf[1]}{leaf[2] or ''} {items}" + (", …" if len(leaf[3]) > 6 else "")
    elif kind == "py":
        text = "None" if leaf[2] is None else f"{leaf[1]} {leaf[2]!r}"
    elif kind == "symbolic":
        text = "a symbolic tensor"
    elif kind == "text":
        text = repr(leaf[1].strip())
    else:
        text = " ".join(str(part) for part in leaf)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
