"""Draws findings for a person to read, and counts what was read (docs/findings.md has the protocol).

python scripts/findings_sample.py check PROJECT... --home FOLDER     # FOLDER/NAME.json for each project
python scripts/findings_sample.py draw REPORT.json... --seed 1 --out SHEET [--codes HY1,HY2] [--per-rule 20]
python scripts/findings_sample.py count SHEET [SECOND_SHEET]

A sheet is text: a reader puts a word after each `verdict:`. `draw --order N` writes the same findings in another order,
for the second pass. `count` prints each rule's figures, all together, and of two sheets Cohen's kappa.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sheets import Entry, judged, shuffled

VERDICTS = ("true", "overstated", "idle", "wrong")
AROUND = 12  # lines of source shown on each side
EVIDENCE = 8  # steps of evidence shown
_ENTRY = re.compile(r"^## (\w+) (HY\d+) ", re.MULTILINE)
_VERDICT = re.compile(r"^verdict:[ \t]*(\w*)", re.MULTILINE)


class Drawn(Entry):
    """A finding: `data` is an entry of `findings` in the JSON report."""

    __slots__ = ()

    @property
    def place(self) -> str:
        data = self.data
        return (
            f"{data['code']} {data['severity']} {self.project}/{data['path']}:{data['line']} {data['function'] or ''}"
        )

    @property
    def identity(self) -> str:
        return f"{self.place} {self.data['column']} {self.data['message']}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    check = commands.add_parser("check", help="analyse projects")
    check.add_argument("projects", nargs="+", type=Path)
    check.add_argument("--home", type=Path, required=True)
    check.add_argument("--timeout", type=int, default=300, help="seconds for a project")
    draw = commands.add_parser("draw", help="write a sheet")
    draw.add_argument("reports", nargs="+", type=Path)
    draw.add_argument("--seed", type=int, required=True)
    draw.add_argument("--order", type=int, help="shuffle the same findings by this")
    draw.add_argument("--codes", default="", help="only these rules: the beginnings of codes, by commas")
    draw.add_argument("--per-rule", type=int, default=sys.maxsize, help="at most so many of a rule")
    draw.add_argument("--per-project", type=int, default=sys.maxsize, help="at most so many of a rule in a project")
    draw.add_argument("--total", type=int, default=sys.maxsize, help="at most so many")
    draw.add_argument("--out", type=Path, required=True)
    count = commands.add_parser("count", help="precision and kappa")
    count.add_argument("sheets", nargs="+", type=Path)
    args = parser.parse_args()
    if args.command == "check":
        return check_all(args.projects, args.home, args.timeout)
    if args.command == "draw":
        wanted = tuple(filter(None, args.codes.split(",")))
        found = [
            each for report in args.reports for each in findings(report) if each.data["code"].startswith(wanted or "HY")
        ]
        chosen = sample(found, args.seed, per_rule=args.per_rule, per_project=args.per_project, total=args.total)
        if args.order is not None:
            random.Random(args.order).shuffle(chosen)
        args.out.write_text("\n".join(map(entry, chosen)), encoding="utf-8")
        print(f"{len(chosen)} of {len(found)} findings in {len(args.reports)} projects")
        return 0
    print("\n".join(figures([read_sheet(sheet.read_text(encoding="utf-8")) for sheet in args.sheets])))
    return 0


def check_all(projects: Sequence[Path], home: Path, timeout: int) -> int:
    """Analyses one project after the other, as strangers' code: nothing of it is run, no configuration read."""
    home.mkdir(parents=True, exist_ok=True)
    failed = 0
    for project in projects:
        target = home / f"{project.name}.json"
        command = [sys.executable, "-m", "hybridize", "check", "--isolated", "--output-format", "json"]
        command += ["--output-file", str(target), str(project.resolve())]
        try:
            bad = subprocess.run(command, timeout=timeout, stdout=subprocess.DEVNULL, check=False).returncode > 1
        except subprocess.TimeoutExpired:
            bad = True
        if bad:
            failed += 1
            print(f"{project}: no report", file=sys.stderr)
    return int(failed > 0)


def findings(report: Path) -> Iterator[Drawn]:
    """The findings of severity error or warning in a report."""
    data = json.loads(report.read_text(encoding="utf-8"))
    for finding in data["findings"]:
        if finding["severity"] in ("error", "warning"):
            yield Drawn(report.stem, Path(data["project"]["root"]), finding)


def sample(found: Sequence[Drawn], seed: int, *, per_rule: int, per_project: int, total: int) -> list[Drawn]:
    """A sample by seed, whatever the order of `found`; in the order in which it was drawn."""
    rules: Counter[str] = Counter()
    shares: Counter[tuple[str, str]] = Counter()
    chosen: list[Drawn] = []
    for each in shuffled(found, seed):
        code = each.data["code"]
        if len(chosen) == total or rules[code] == per_rule or shares[code, each.project] == per_project:
            continue
        rules[code] += 1
        shares[code, each.project] += 1
        chosen.append(each)
    return chosen


def entry(drawn: Drawn) -> str:
    """What a sheet has of a finding: place, message, evidence, source, and room for the verdict."""
    data = drawn.data
    lines = [f"## {drawn.key} {drawn.place}", "", data["message"]]
    lines += [f"- {step['path']}:{step['line']} {step['message']}" for step in data["evidence"][:EVIDENCE]]
    lines += ["", *_source(drawn.root / data["path"], data["line"]), "", "verdict:", "why:", ""]
    return "\n".join(lines)


def _source(path: Path, line: int) -> list[str]:
    """The numbered lines around a line, which is marked; of notebooks none, whose lines are those of cells."""
    if path.suffix != ".py" or not path.is_file():
        return [f"    (see {path})"]
    text = path.read_text(encoding="utf-8", errors="replace").splitlines()
    start, end = max(line - AROUND, 1), min(line + AROUND, len(text))
    return [f"{'>' if n == line else ' '}{n:5} {text[n - 1]}".rstrip() for n in range(start, end + 1)]


def read_sheet(text: str) -> dict[str, tuple[str, str]]:
    """Code and verdict of each finding of a sheet, by key; ones not yet judged are left out."""
    return {head[1]: (head[2], verdict) for head, verdict in judged(text, _ENTRY, _VERDICT, VERDICTS)}


def figures(sheets: Sequence[Mapping[str, tuple[str, str]]]) -> Iterator[str]:
    """A table of the first sheet by rule, and the kappa of the first two."""
    rules: dict[str, Counter[str]] = defaultdict(Counter)
    for code, verdict in sheets[0].values():
        rules[code][verdict] += 1
    yield f"| rule | read | {' | '.join(VERDICTS)} | precision |"
    yield "|---|---|---|---|---|---|---|"
    for code, counts in sorted(rules.items()):
        yield _row(code, counts)
    yield _row("all", Counter(verdict for _, verdict in sheets[0].values()))
    for second in sheets[1:2]:
        both = sorted(sheets[0].keys() & second.keys())
        pairs = [(sheets[0][key][1], second[key][1]) for key in both]
        yield f"\n{len(pairs)} read twice: kappa {kappa(pairs):.2f}, {sum(a == b for a, b in pairs)} alike"


def _row(name: str, counts: Mapping[str, int]) -> str:
    number = sum(counts.values())
    share = f"{(counts['true'] + counts['overstated']) / number:.0%}" if number else "-"
    return f"| {name} | {number} | {' | '.join(str(counts[verdict]) for verdict in VERDICTS)} | {share} |"


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Cohen's kappa of two passes over the same findings: 1 is agreement, 0 what chance gives."""
    number = len(pairs)
    if not number:
        return 1.0
    agreed = sum(a == b for a, b in pairs) / number
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[verdict] * second[verdict] for verdict in VERDICTS) / number**2
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


if __name__ == "__main__":
    raise SystemExit(main())
