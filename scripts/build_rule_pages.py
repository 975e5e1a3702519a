"""Writes a page for each code (precondition, status, rule, repair) into docs/rules/, from what they say themselves.

python scripts/build_rule_pages.py           # write
python scripts/build_rule_pages.py --check   # exit with 1 if a page is out of date
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hybridize.decide.documentation import PRECONDITION_DOCS, STATUS_DOCS, Doc
from hybridize.repairs.registry import all_repairs
from hybridize.report.pages import decision_page, is_of_programs, repair_page, rule_page
from hybridize.rules.model import Category, Rule
from hybridize.rules.registry import all_rules

#: What people have read of findings on other people's code.
PRECISION = Path(__file__).parent.parent / "benchmarks" / "findings.toml"
#: `Source: docs/semantics.md R18, Issue threads; ...`, and the sections in it.
SOURCE = re.compile(r"^(Source: (?:.*; )?)docs/semantics\.md,? ([^;\n]*[^;.\n])", re.MULTILINE)
#: A repair in a list.
LISTED = re.compile(r"^- (HY\d{3})\b", re.MULTILINE)
FOLDER = Path(__file__).parent.parent / "docs" / "rules"
TITLES = {
    Category.PERFORMANCE: "Performance",
    Category.MISUSE: "API misuse",
    Category.INCOMPATIBILITY: "Incompatibility",
    Category.TENSORFLOW: "TensorFlow bug",
    Category.DEBUGGABILITY: "Debuggability",
    Category.STATE: "Exposed variable state",
    Category.NUMERICAL: "Numerical errors",
}


def page(rule: Rule) -> str:
    """A rule's page."""
    level = f"reported as {rule.level.value}" if rule.level else "not reported"
    level += "" if is_of_programs(rule) else " in hybrid functions"
    head = f"# {rule.code} {rule.name}\n\n{rule.summary}\n\n*{TITLES[rule.category]}; {level}.*\n\n"
    return "\n".join([head + linked(rule_page(rule)), *precision(rule.code, samples()), ""])


def _decision(code: str, word: str, doc: Doc) -> str:
    """The page of a precondition or status."""
    level = f"; {doc.severity.value}" if doc.severity else ""
    head = f"# {code} {doc.name}\n\n{doc.summary}\n\n*{word.capitalize()}{level}.*\n\n"
    return head + linked(decision_page(code, doc)).rstrip() + "\n"


def linked(text: str) -> str:
    """A page with links to the sections of docs/semantics.md that its source names, and to repairs that it lists."""
    text = SOURCE.sub(lambda found: found[1] + ", ".join(map(_link, found[2].split(", "))), text)
    return LISTED.sub(r"- [\1](\1.md)", text)


def _link(section: str) -> str:
    return f"[{section}](../semantics.md#{section.lower().replace(' ', '-')})"


@cache
def samples() -> tuple[dict[str, Any], ...]:
    """The samples of findings that were read, in the order of the file."""
    return tuple(tomllib.loads(PRECISION.read_text(encoding="utf-8"))["sample"])


def precision(code: str, read: Sequence[dict[str, Any]]) -> list[str]:
    """What a page says of how often a rule is right: a line for each sample that has findings of it."""
    rows = [(sample, sample["rules"][code]) for sample in read if code in sample["rules"]]
    if not rows:
        return []
    lines = [
        "",
        "## Findings that were read",
        "",
        "Findings of severity error or warning on other people's code ([how they are read](../findings.md)):",
        "",
    ]
    lines += [
        "| sample | lines | findings | read | true | overstated | idle | wrong |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for sample, row in rows:
        counts = [row[verdict] for verdict in ("true", "overstated", "idle", "wrong")]
        cells = [sample["name"], f"{sample['lines']:,}" if "lines" in sample else "", row["hits"], sum(counts), *counts]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def pages() -> dict[str, str]:
    """All pages by file name."""
    found = {f"{rule.code}.md": page(rule) for rule in all_rules()}
    lines = ["# Codes", "", "Written by `scripts/build_rule_pages.py` from the codes themselves; do not edit.", ""]
    for title, word, docs in (
        ("Preconditions", "precondition", PRECONDITION_DOCS),
        ("Statuses", "status", STATUS_DOCS),
    ):
        found |= {f"{code}.md": _decision(code, word, doc) for code, doc in docs.items()}
        lines += [f"## {title}", "", "| code | name | meaning |", "|---|---|---|"]
        lines += [f"| [{code}]({code}.md) | {doc.name} | {doc.summary} |" for code, doc in sorted(docs.items())]
        lines.append("")
    for category, title in TITLES.items():
        rules = [rule for rule in all_rules() if rule.category is category]
        if rules:
            lines += [f"## {title}", "", "| code | name | traced, the program | meaning |", "|---|---|---|---|"]
            lines += [f"| [{r.code}]({r.code}.md) | {r.name} | {r.outcome.value} | {r.summary} |" for r in rules]
            lines.append("")
    for repair in all_repairs():
        found[f"{repair.code}.md"] = f"# {repair.code} {repair.name}\n\n{repair.summary}\n\n{repair_page(repair)}\n"
    lines += ["## Repairs", "", "| code | name | answers | meaning |", "|---|---|---|---|"]
    lines += [
        f"| [{r.code}]({r.code}.md) | {r.name} | {', '.join(sorted(r.removes))} | {r.summary} |" for r in all_repairs()
    ]
    lines.append("")
    found["README.md"] = "\n".join(lines)
    return found


def main() -> int:
    """Writes or checks the pages."""
    wanted = pages()
    present = {file.name for file in FOLDER.glob("*.md")}
    stale = [
        name
        for name in sorted(wanted)
        if not (FOLDER / name).exists() or (FOLDER / name).read_text(encoding="utf-8") != wanted[name]
    ]
    gone = sorted(present - set(wanted))
    if "--check" in sys.argv[1:]:
        for name in (*stale, *gone):
            print(f"docs/rules/{name} is out of date")
        return 1 if stale or gone else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (FOLDER / name).write_text(wanted[name], encoding="utf-8")
    for name in gone:
        (FOLDER / name).unlink()
    print(f"{len(stale)} written, {len(gone)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
