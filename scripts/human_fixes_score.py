"""Checks the tree before a person's change, and sorts what the report says about the function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from human_fixes_mine import Fix, half_of

from hybridize.study.history import Blobs, Repository, decode_path

Json = dict[str, Any]
KEPT = (".py", ".pyi", ".ipynb", ".toml", ".cfg", ".txt", ".md", ".rst", ".yml", ".yaml")
LARGEST = 3_000_000
"""Bytes of a file that is still part of the tree: larger ones are data."""
LEFT = ("HY021", "HY025", "HY026", "HY027", "HY028")
"""Codes of functions that may be converted, and are left as they are by the plan."""


@dataclass(frozen=True, slots=True)
class Tool:
    """The tree of hybridize to ask, where its reports are kept, and how long one may take."""

    source: Path
    cache: Path
    seconds: int

    def report(self, git: Path, commit: str, name: str) -> Json:
        """The JSON report of a commit's first parent; with only `failed` where there is none."""
        kept = self.cache / f"{name.replace('/', '+')}-{commit}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                tree = Path(folder) / name.rpartition("/")[2]
                self._unpack(git, f"{commit}^", tree)
                kept.write_text(json.dumps(self._check(tree)), encoding="utf-8")
        loaded: Json = json.loads(kept.read_text(encoding="utf-8"))
        return loaded

    def _unpack(self, git: Path, commit: str, tree: Path) -> None:
        """The tree's sources and what tells of its versions; a mirror may lack large files, which are missing then."""
        tree.mkdir()
        repository = Repository(git)
        with Blobs(repository) as blobs:
            for row in repository.run("ls-tree", "-r", "-z", commit).split(b"\0"):
                head, _, name = row.partition(b"\t")
                path = decode_path(name)
                if not path.endswith(KEPT) or not head.startswith(b"100") or ".." in path:
                    continue
                data = blobs.read(head.split()[2].decode("ascii"))
                if data is not None and len(data) <= LARGEST:
                    (tree / path).parent.mkdir(parents=True, exist_ok=True)
                    (tree / path).write_bytes(data)
        (tree / ".git").mkdir()  # so that this folder is the project's root

    def _check(self, tree: Path) -> Json:
        variables = {**os.environ, "PYTHONPATH": str(self.source / "src"), "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "hybridize", "check", "--isolated", "--output-format", "json", "--all", "."]
        try:
            done = subprocess.run(
                command, cwd=tree, env=variables, capture_output=True, timeout=self.seconds, check=False
            )
            data = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            return {"failed": "timeout"}
        except ValueError:
            return {"failed": done.stderr.decode("utf-8", "replace")[-400:]}
        return {key: data[key] for key in ("functions", "findings", "repairs")}


def score(tool: Tool, mirrors: Path, fix: Fix) -> Json:
    """What the tool says about the function before the change: an outcome, codes, and (of the half `develop`) texts."""
    git = mirrors / fix.repository.replace("/", "+", 1) / "repo"
    report = tool.report(git, fix.commit, fix.repository)
    result = _outcome(report, fix)
    if half_of(fix.repository) == "measure":
        result.pop("texts", None)
    return {"kind": fix.kind, **result}


def _outcome(report: Json, fix: Fix) -> Json:
    if "failed" in report:
        return {"outcome": "failed", "codes": [], "texts": [report["failed"]]}
    functions = {_plain(f["qualname"]): f for f in report["functions"] if f["path"] == fix.path}
    function = functions.get(_plain(fix.function))
    if function is None:
        return {"outcome": "absent", "codes": [], "texts": sorted(functions)[:40]}
    judge = _added if fix.kind == "added" else _relocated if fix.kind == "relocated" else _changed
    outcome, codes = judge(function, functions, report, fix)
    return {"outcome": outcome, "codes": sorted(set(codes)), "texts": list(_texts(function, functions, report, fix))}


def _plain(qualname: str) -> str:
    return qualname.replace(".<locals>", "")


def _added(function: Json, functions: Json, report: Json, fix: Fix) -> tuple[str, list[str]]:
    """Of a function that a person made hybrid: proposed, near (one inside, around), covered, left, refused, none."""
    decision, codes = function["decision"], [status["code"] for status in function["statuses"]]
    if function["mode"] == "hybrid":
        return "hybrid", codes
    if decision["action"] == "convert_to_hybrid":
        return "proposed", [decision["precondition"]]
    if "HY010" in codes:
        return "covered", ["HY010"]
    name = _plain(fix.function)
    near = [q for q, f in functions.items() if q.startswith(f"{name}.") or name.startswith(f"{q}.")]
    if any(functions[q]["decision"]["action"] == "convert_to_hybrid" for q in near):
        return "near", codes
    if decision["precondition"]:
        return "left", [code for code in codes if code in LEFT]
    offered = [bundle for bundle in report["repairs"] if bundle["function"] == function["id"] and bundle["complete"]]
    errors = [s["code"] for s in function["statuses"] if s["severity"] == "error"]
    if errors:
        return ("repairable" if offered else "refused"), errors
    if not function["candidate"]:
        return "none", codes
    return ("unknown" if "HY006" in codes else "kept"), codes


def _changed(function: Json, functions: Json, report: Json, fix: Fix) -> tuple[str, list[str]]:
    """Of a hybrid function that a person changed: changed (the tool would, too), warned, told (info), silent."""
    decision = function["decision"]
    if function["mode"] != "hybrid":
        return "eager", [status["code"] for status in function["statuses"]]
    if decision["action"] != "keep":
        same = (decision["action"] == "convert_to_eager") == (fix.kind == "removed")
        return ("changed" if same else "otherwise"), [decision["precondition"]]
    found = list(_findings(function, functions, report))
    serious = [f["code"] for f in found if f["severity"] != "info"]
    light = [f["code"] for f in found if f["code"] not in ("HY007", "HY008", "HY022", "HY024")]
    return ("warned", serious) if serious else ("told", light) if light else ("silent", [])


def _relocated(function: Json, functions: Json, report: Json, fix: Fix) -> tuple[str, list[str]]:
    """Of a decorator that moved: what is said of the function that loses it, else of the one that gains it."""
    loser = functions.get(_plain(fix.other))
    if loser is None:
        return "absent", []
    outcome, codes = _changed(loser, functions, report, Fix(*_fields(fix, kind="removed")))
    if outcome in ("changed", "warned"):
        return outcome, codes
    gain, more = _added(function, functions, report, fix)
    return (gain, more) if gain in ("proposed", "near") else (outcome, codes)


def _fields(fix: Fix, kind: str) -> Sequence[str]:
    return fix.repository, fix.commit, fix.path, fix.function, kind, fix.before, fix.after, fix.other


def _findings(function: Json, functions: Json, report: Json) -> Iterator[Json]:
    """Statuses of a function, and findings on it and on functions inside."""
    name = _plain(function["qualname"])
    ids = {f["id"] for q, f in functions.items() if q == name or q.startswith(f"{name}.")}
    yield from function["statuses"]
    yield from (f for f in report["findings"] if f["function"] in ids)
    lines = range(function["line"], function["end_line"] + 1)
    yield from (
        f
        for f in report["findings"]
        if f["function"] not in ids and f["path"] == function["path"] and f["line"] in lines
    )


def _texts(function: Json, functions: Json, report: Json, fix: Fix) -> Iterator[str]:
    decision = function["decision"]
    yield f"{function['mode']} {decision['action']} {decision['precondition']} {decision.get('benefit')}"
    for parameter in function["parameters"]:
        types, literals = parameter["tensor_types"], parameter["literals"]
        yield f"parameter {parameter['name']}: {parameter['tensor']} {types} {literals}"
    losers = (f for q, f in functions.items() if fix.other and q == _plain(fix.other))
    for one in (function, *losers):
        for found in _findings(one, functions, report):
            chain = "; ".join(f"{e['path']}:{e['line']} {e['message']}" for e in found["evidence"][:4])
            yield f"{found['code']} {found['severity']} {found['path']}:{found['line']} {found['message']} [{chain}]"


__all__ = ["Tool", "score"]
