"""What a report (as JSON) says of a function that a person changed, and of those that nobody touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hybridize.evaluate.fixes import Fix
from hybridize.source import is_test_path

Json = Mapping[str, Any]
#: Outcomes of an addition that say: this can be a graph, is part of one, or could be one with what is offered.
PROPOSED: Final = ("proposed", "covered", "near", "left", "repairable", "hybrid")
#: Outcomes of the other kinds that say: something is wrong with this graph.
WARNED: Final = ("changed", "otherwise", "warned")
#: Codes of functions that may be converted, and are left as they are by the plan.
_LEFT: Final = frozenset(("HY021", "HY025", "HY026", "HY027", "HY028"))
#: Codes that only say how it is with a function.
_PLAIN: Final = frozenset(("HY007", "HY008", "HY022", "HY024"))


class Tree:
    """The functions and findings of one report."""

    def __init__(self, report: Json) -> None:
        self.report = report
        self._by_path: dict[str, dict[str, Json]] = {}
        for function in report["functions"]:
            self._by_path.setdefault(function["path"], {})[plain(function["qualname"])] = function
        self._offered = {bundle["function"] for bundle in report["repairs"] if bundle["complete"]}

    def of(self, path: str, name: str) -> Json | None:
        """The function of a file by its qualified name."""
        return self._by_path.get(path, {}).get(plain(name))

    def added(self, function: Json) -> tuple[str, list[str]]:
        """Of a function that a person made a graph, in the tree before: an outcome and the codes behind it."""
        decision, codes = function["decision"], [status["code"] for status in function["statuses"]]
        if function["mode"] == "hybrid":
            return "hybrid", codes
        if decision["action"] == "convert_to_hybrid":
            return "proposed", [decision["precondition"]]
        if "HY010" in codes:
            return "covered", ["HY010"]
        if self._is_near(function):
            return "near", codes
        if decision["precondition"]:
            return "left", [code for code in codes if code in _LEFT]
        errors = [status["code"] for status in function["statuses"] if status["severity"] == "error"]
        if errors:
            return ("repairable" if function["id"] in self._offered else "refused"), errors
        if not function["candidate"]:
            return "none", codes
        return ("unknown" if "HY006" in codes else "kept"), codes

    def graph(self, function: Json, removed: bool) -> tuple[str, list[str]]:
        """Of a graph that a person changed, in the tree before: changed (the tool would, too), warned, told, silent."""
        decision = function["decision"]
        if function["mode"] != "hybrid":
            return "eager", [status["code"] for status in function["statuses"]]
        if decision["action"] != "keep":
            same = (decision["action"] == "convert_to_eager") == removed
            return ("changed" if same else "otherwise"), [decision["precondition"]]
        found = list(self._findings(function))
        serious = [each["code"] for each in found if each["severity"] != "info"]
        light = [each["code"] for each in found if each["code"] not in _PLAIN]
        return ("warned", serious) if serious else ("told", light) if light else ("silent", [])

    def _is_near(self, function: Json) -> bool:
        name = plain(function["qualname"])
        return any(
            other["decision"]["action"] == "convert_to_hybrid"
            for q, other in self._by_path[function["path"]].items()
            if q.startswith(f"{name}.") or name.startswith(f"{q}.")
        )

    def _findings(self, function: Json) -> Iterator[Json]:
        """Statuses of a function, and findings on it, on functions inside, and within its lines."""
        name, path = plain(function["qualname"]), function["path"]
        ids = {f["id"] for q, f in self._by_path[path].items() if q == name or q.startswith(f"{name}.")}
        lines = range(function["line"], function["end_line"] + 1)
        yield from function["statuses"]
        for each in self.report["findings"]:
            if each["function"] in ids or (each["path"] == path and each["line"] in lines):
                yield each


def plain(name: str) -> str:
    """A qualified name without the marks of nested functions."""
    return name.replace(".<locals>", "")


def before(tree: Tree, fix: Fix) -> tuple[str, list[str]]:
    """The outcome of a fix in the tree before it, with codes; `absent` where the report has no such function."""
    function = tree.of(fix.path, fix.function)
    if function is None:
        return "absent", []
    if fix.kind == "added":
        return tree.added(function)
    if fix.kind != "relocated":
        return tree.graph(function, fix.kind == "removed")
    loser = tree.of(fix.path, fix.other)
    said = tree.graph(loser, removed=True) if loser is not None else ("absent", [])
    gain = tree.added(function)
    return said if said[0] in WARNED or gain[0] not in ("proposed", "near") else gain


def foreseen(kind: str, outcome: str) -> bool:
    """Whether an outcome says what the person then did."""
    if kind == "relocated":
        return outcome in PROPOSED or outcome in WARNED
    return outcome in (PROPOSED if kind == "added" else WARNED)


def gone(tree: Tree, fix: Fix, codes: Sequence[str]) -> bool:
    """Whether the tool agrees with the tree after: of a function that is a graph now, it warns of nothing (an addition)
    or no longer of the same; one that is none any more, it would not make one again."""
    function = tree.of(fix.path, fix.function)
    if function is None:
        return False
    if fix.kind == "removed":
        return bool(function["mode"] != "hybrid" and function["decision"]["action"] != "convert_to_hybrid")
    outcome, now = tree.graph(function, removed=False)
    if fix.kind == "added":
        return outcome in ("told", "silent")
    return outcome not in WARNED or not set(now) & set(codes)


def untouched(tree: Tree, touched: Sequence[Fix]) -> dict[str, list[int]]:
    """Of functions that the changeset leaves alone and that are no tests: how many there are, and of how many the same
    is said as counts for a change. `eager` ones are compared with additions, `hybrid` ones with the other kinds."""
    named = {(fix.path, plain(name)) for fix in touched for name in (fix.function, fix.other) if name}
    counts = {"eager": [0, 0], "hybrid": [0, 0]}
    for function in tree.report["functions"]:
        if (function["path"], plain(function["qualname"])) in named or is_test_path(function["path"]):
            continue
        if function["mode"] == "hybrid":
            said = tree.graph(function, removed=True)[0] in WARNED
        elif function["candidate"]:
            said = tree.added(function)[0] in PROPOSED
        else:
            continue
        counts[function["mode"]][0] += 1
        counts[function["mode"]][1] += said
    return counts
