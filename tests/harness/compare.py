"""Two runs' reports -> an outcome."""

from __future__ import annotations

import re
from typing import Any

from harness.model import Difference, Kind, Outcome, Traces
from hybridize.runtime.guest.differ import Comparison, digest, leaf_form, leaves
from hybridize.runtime.guest.values import MISSING, Described, shown

Run = dict[str, Any]

LIMIT, SHOWN = 40, 160  # differences that are kept, characters of a text in one


def outcome(comparison: Comparison, eager: Run, hybrid: Run, again: Run | None = None) -> Outcome:
    """The verdict on an eager and a hybrid run.

    Args:
        comparison: how values are compared.
        eager, hybrid: the runs' reports (child.py).
        again: a second eager run: what differs between the two is noise, of which only the pattern is compared.
    """
    if eager["ended"] != "done":
        return Outcome(Kind.FAILED, (Difference("eager run", _ended(eager), ""),))
    if hybrid["ended"] == "broken":
        return Outcome(Kind.FAILED, (Difference("hybrid run", "", _ended(hybrid)),))
    if hybrid["ended"] != "done":
        return Outcome(Kind.RAISES, (Difference("process", "ended", _ended(hybrid)),))
    noise = (
        {d.where for d in _all(comparison, eager, again)} if again is not None and again["ended"] == "done" else set()
    )
    found = [d for d in _all(comparison, eager, hybrid) if d.where not in noise]
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


def _all(comparison: Comparison, eager: Run, hybrid: Run) -> list[Difference]:
    """Everything that is not the same, gravest first."""
    found: list[Difference] = []
    mine, theirs = _error(eager), _error(hybrid)
    if mine[:1] != theirs[:1] or mine[2:] != theirs[2:]:
        found.append(Difference("exception", " ".join(map(str, mine)), " ".join(map(str, theirs))))
    if eager["escaped"] != hybrid["escaped"]:
        found.append(Difference("caught", _text(eager["escaped"]), _text(hybrid["escaped"])))
    for name in dict.fromkeys((*eager["values"], *hybrid["values"])):
        both = (run["values"].get(name, MISSING) for run in (eager, hybrid))
        found += [Difference(d.path, d.eager, d.graph) for d in comparison.compare(name, *both)]
    for where in ("stdout", "stderr", "warnings"):
        if eager[where] != hybrid[where]:
            found.append(Difference(where, _text(eager[where]), _text(hybrid[where])))
    for name in dict.fromkeys((*eager["files"], *hybrid["files"])):
        a, b = eager["files"].get(name), hybrid["files"].get(name)
        if a != b:
            found.append(Difference(f"file {name}", _text(a), _text(b)))
    return found


def _error(run: Run) -> tuple[Any, ...]:
    """Type, message, line; without an exception only a dash."""
    error = run["error"]
    return (error["type"], error["message"][:300], f"at line {error['line']}") if error else ("-",)


def _pattern(eager: Run, hybrid: Run, noise: set[str]) -> list[Difference]:
    """Differences in what noise has in common: dtypes and shapes, which values are equal, how much is written."""
    mine, theirs = _noisy(eager, noise), _noisy(hybrid, noise)
    found = []
    for where in mine:
        if where in theirs and leaf_form(mine[where]) != leaf_form(theirs[where]):
            found.append(Difference(where, shown(mine[where]), shown(theirs[where])))
    classes = [_classes(side) for side in (mine, theirs)]
    if not found and classes[0] != classes[1]:
        found.append(Difference("random values", f"equal: {classes[0]}", f"equal: {classes[1]}"))
    for where in noise & {"stdout", "stderr"}:
        a, b = (re.sub(r"[\d.e+-]+", "#", str(run[where])) for run in (eager, hybrid))
        if a != b:
            found.append(Difference(where, _text(eager[where]), _text(hybrid[where])))
    return found


def _noisy(run: Run, noise: set[str]) -> dict[str, Described]:
    """The leaves at the noisy paths."""
    found = (leaf for name, value in run["values"].items() for leaf in leaves(name, value))
    return {where: value for where, value in found if where in noise}


def _classes(noisy: dict[str, Described]) -> list[list[str]]:
    """Which leaves have the same value, where more than one has."""
    groups: dict[Any, list[str]] = {}
    for where, leaf in noisy.items():
        groups.setdefault((leaf_form(leaf), digest(leaf)), []).append(where)
    return sorted(g for g in groups.values() if len(g) > 1)


def _text(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
