"""Draws functions for a person to say whether they take tensors, and counts; docs/tensor-functions.md has the protocol.

python scripts/findings_sample.py check PROJECT... --home FOLDER     # FOLDER/NAME.json for each project
python scripts/tensor_functions.py draw REPORT.json... --seed 1 --total 200 --out SHEET [--candidates]
python scripts/tensor_functions.py count SHEET --reports REPORT.json... [--first 60]

A sheet is text: a reader puts a word after each `takes:`. It does not show what hybridize answers. `--candidates` draws
from what hybridize calls candidates, else from all functions with parameters that belong to no test. `count` prints the
share of functions with tensors that are recognized, and of candidates that take none; `--first N` stops the first at N
functions with tensors, in the sheet's order.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sheets import Entry, judged, shuffled

from hybridize.source.roles import find_roles

#: Tensors (variables, structures of them); those, or else arrays and numbers; only arrays; nothing of the kind.
ANSWERS = ("yes", "both", "array", "no")
TENSORS = ("yes", "both")
LONGEST = 60  # lines of source shown
_ENTRY = re.compile(r"^## (\w{10}) ", re.MULTILINE)
_ANSWER = re.compile(r"^takes:[ \t]*(\w*)", re.MULTILINE)


class Drawn(Entry):
    """A function: `data` is an entry of `functions` in the JSON report."""

    __slots__ = ()

    @property
    def place(self) -> str:
        return f"{self.project}/{self.data['path']}:{self.data['line']} {self.data['qualname']}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    draw = commands.add_parser("draw", help="write a sheet")
    draw.add_argument("reports", nargs="+", type=Path)
    draw.add_argument("--seed", type=int, required=True)
    draw.add_argument("--total", type=int, default=200)
    draw.add_argument("--per-project", type=int, default=sys.maxsize, help="at most so many of a project")
    draw.add_argument("--candidates", action="store_true")
    draw.add_argument("--out", type=Path, required=True)
    count = commands.add_parser("count", help="recall, and candidates without tensors")
    count.add_argument("sheets", nargs="+", type=Path)
    count.add_argument("--reports", nargs="+", type=Path, required=True)
    count.add_argument("--first", type=int, default=sys.maxsize)
    args = parser.parse_args()
    found = [each for report in args.reports for each in functions(report)]
    if args.command == "draw":
        pool = [each for each in found if each.data["candidate"] or not args.candidates]
        chosen = sample(pool, args.seed, total=args.total, per_project=args.per_project)
        args.out.write_text("\n".join(map(entry, chosen)), encoding="utf-8")
        print(f"{len(chosen)} of {len(pool)} functions in {len(args.reports)} projects")
        return 0
    answers = [each for sheet in args.sheets for each in read_sheet(sheet.read_text(encoding="utf-8"))]
    print("\n".join(figures(answers, {each.key: each for each in found}, args.first)))
    return 0


def functions(report: Path) -> Iterator[Drawn]:
    """The functions in a report that have parameters (`self` and `cls` are none) and belong to no test or notebook."""
    data = json.loads(report.read_text(encoding="utf-8"))
    root = Path(data["project"]["root"])
    paths = {function["path"] for function in data["functions"]}
    roles = find_roles(root, {path: _text(root / path) for path in sorted(paths)})
    for function in data["functions"]:
        bound = function["kind"] in ("method", "classmethod")
        path = function["path"]
        if len(function["parameters"]) > bound and path.endswith(".py") and not roles.is_test(path):
            yield Drawn(report.stem, root, function)


def sample(pool: Sequence[Drawn], seed: int, *, total: int, per_project: int) -> list[Drawn]:
    """A sample by seed, whatever the order of `pool`; in the order in which it was drawn."""
    shares: Counter[str] = Counter()
    chosen: list[Drawn] = []
    for each in shuffled(pool, seed):
        if len(chosen) < total and shares[each.project] < per_project:
            shares[each.project] += 1
            chosen.append(each)
    return chosen


def entry(drawn: Drawn) -> str:
    """What a sheet has of a function: place, source, and room for the answer."""
    data = drawn.data
    lines = [f"## {drawn.key} {drawn.place}", ""]
    text = _text(drawn.root / data["path"]).splitlines()
    end = min(data["end_line"], data["line"] + LONGEST, len(text))
    lines += [f"{n:5} {text[n - 1]}".rstrip() for n in range(data["line"], end + 1)]
    return "\n".join([*lines, "", "takes:", "why:", ""])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def read_sheet(text: str) -> list[tuple[str, str]]:
    """Key and answer of each function of a sheet, in order; ones not yet judged are left out."""
    return [(head[1], answer) for head, answer in judged(text, _ENTRY, _ANSWER, ANSWERS)]


def figures(answers: Sequence[tuple[str, str]], found: Mapping[str, Drawn], first: int) -> Iterator[str]:
    """How many of those with tensors are candidates, how many candidates have none, and which are wrong."""
    judged = Counter(answer for _, answer in answers)
    yield f"{len(answers)} judged: " + ", ".join(f"{judged[answer]} {answer}" for answer in ANSWERS)
    taking = [key for key, answer in answers if answer in TENSORS][:first]
    yield _share("with tensors, recognized", sum(_is_candidate(found, key) for key in taking), len(taking))
    candidates = [answer for key, answer in answers if _is_candidate(found, key)]
    yield _share("candidates that take no tensor or array", candidates.count("no"), len(candidates))
    yield _share("candidates that take only arrays", candidates.count("array"), len(candidates))
    for key in taking:
        if not _is_candidate(found, key):
            yield f"missed {_told(found, key)}"
    for key, answer in answers:
        if answer not in TENSORS and _is_candidate(found, key):
            yield f"{answer} {_told(found, key)}"


def _is_candidate(found: Mapping[str, Drawn], key: str) -> bool:
    return key in found and bool(found[key].data["candidate"])


def _told(found: Mapping[str, Drawn], key: str) -> str:
    if key not in found:
        return f"{key} (no longer in the reports)"
    fact = found[key].data["facts"]["tensor_parameter"]
    reason = fact["evidence"][0]["message"] if fact["evidence"] else ""
    return f"{key} {found[key].place}: {fact['value']} {reason}".rstrip()


def _share(name: str, number: int, total: int) -> str:
    low, high = wilson(number, total)
    share = f"{number / total:.1%}" if total else "-"
    return f"{name}: {number} of {total} ({share}, 95% interval {low:.1%} to {high:.1%})"


def wilson(number: int, total: int) -> tuple[float, float]:
    """The 95% interval of a share after Wilson."""
    if not total:
        return 0.0, 1.0
    z = 1.96
    share = number / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle - spread) / (1 + z * z / total), (middle + spread) / (1 + z * z / total)


if __name__ == "__main__":
    raise SystemExit(main())
