"""Draws changesets of a mined study for the labelled set of `study suggest`, and writes sheets to label them on.

    python scripts/study_sheets.py MINED.db OUT [--seed S]

The rule: of each repository at most eight changesets that the bug-fix filter keeps and two others that touch a use,
those with the least SHA-256 of seed and commit. Repositories go to the unseen third, in the order of their SHA-256 of
seed and name, until it has a third of the changesets; the rest is for developing. Each sheet has some fifty
changesets: a text to read (message, and the diff near what was mined) and a table to fill in.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import sqlite3
import subprocess
from itertools import groupby
from pathlib import Path

BUG_FIXES, OTHERS, PER_SHEET = 8, 2, 50
NEAR, NEAR_IF_MANY, MANY, MOST_LINES, MOST_MESSAGE = 7, 4, 4, 75, 16
TELLING = (
    r"\btf\.function|@function\b|def_function|import.*\bfunction\b|input_signature|relax_shapes|reduce_retracing"
    r"|\bjit_compile|experimental_(?:compile|autograph|implements|follow)|^.\W*(?:tensorflow|tf-nightly)[-_\w]*\s*[=<>~]="
)
MAKER = re.compile(r'"(?:@?[\w.]*\b(?!function\b|tf\b))(\w{5,})[("]')
"""What the mined uses call, where it is a maker of the project's own."""
COLUMNS = ("id", "fix", "second", "category", "note")


def main() -> None:
    """Draw, split, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", default="hybridize-study-23")
    args = parser.parse_args()
    connection = sqlite3.connect(args.database)
    connection.row_factory = sqlite3.Row
    drawn = draw(connection, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "drawn.tsv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("id", "part", "repository", "commit", "bug_fix"))
        writer.writerows(
            (number, part, repository_name(row), row["sha"], row["is_bug_fix"]) for number, part, row in drawn
        )
    for part, items in groupby(drawn, key=lambda item: item[1]):
        rows = list(items)
        sheets = max(1, round(len(rows) / PER_SHEET))
        for sheet in range(sheets):
            share = rows[sheet * len(rows) // sheets : (sheet + 1) * len(rows) // sheets]
            write(args.out / f"{part}-{sheet + 1}", [(number, row) for number, _, row in share])


def draw(connection: sqlite3.Connection, seed: str) -> list[tuple[str, str, sqlite3.Row]]:
    """Number, part and changeset, the developing part first."""

    def order(text: str) -> str:
        return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()

    rows = connection.execute(
        "SELECT c.*, r.name, r.path, (SELECT group_concat(h.uses_before_json || h.uses_after_json) FROM file_change f"
        " JOIN change h ON h.file_change_id = f.id WHERE f.changeset_id = c.id) AS uses"
        " FROM changeset c JOIN repository r ON r.id = c.repository_id WHERE c.is_bug_fix OR c.touches_use"
    ).fetchall()
    rows.sort(key=lambda row: (row["name"], order(row["sha"])))
    chosen: list[list[sqlite3.Row]] = []
    shas: set[str] = set()
    for _, group in groupby(rows, key=lambda row: row["name"]):
        fresh = [row for row in group if row["sha"] not in shas]
        picked = [row for row in fresh if row["is_bug_fix"]][:BUG_FIXES]
        picked += [row for row in fresh if not row["is_bug_fix"]][:OTHERS]
        shas |= {row["sha"] for row in picked}
        if picked:
            chosen.append(picked)
    chosen.sort(key=lambda group: order(group[0]["name"]))
    total, unseen = sum(map(len, chosen)), 0
    parts: dict[str, list[sqlite3.Row]] = {"develop": [], "unseen": []}
    for group in chosen:
        part = "unseen" if unseen + len(group) / 2 < total / 3 else "develop"
        unseen += len(group) * (part == "unseen")
        parts[part] += group
    return [
        (f"{part[0]}{number:03}", part, row) for part, group in parts.items() for number, row in enumerate(group, 1)
    ]


def repository_name(row: sqlite3.Row) -> str:
    """`owner/name` of a mirror's folder `owner+name`."""
    return str(row["name"]).partition("/")[0].replace("+", "/", 1)


def write(stem: Path, rows: list[tuple[str, sqlite3.Row]]) -> None:
    """One sheet: what to read, and the table to fill in."""
    text = [f"# {stem.name}: {len(rows)} changesets\n"]
    for number, row in rows:
        body = "\n".join(
            f"> {line}"[:200] for line in f"{row['subject']}\n{row['body']}".strip().split("\n")[:MOST_MESSAGE]
        )
        text.append(f"\n## {number} {repository_name(row)} {row['sha'][:12]}\n{body}\n```diff\n{near(row)}\n```\n")
    stem.with_suffix(".md").write_text("".join(text), encoding="utf-8")
    with stem.with_suffix(".tsv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((number, "", "", "", "") for number, _ in rows)


def near(row: sqlite3.Row) -> str:
    """The part of the diff that is near what was mined, cut to size; every other file by name."""
    telling = re.compile("|".join([TELLING, *sorted({re.escape(name) for name in MAKER.findall(row["uses"] or "")})]))
    paths = ("*.py", "*requirements*.txt", "setup.*", "pyproject.toml")
    command = ["git", "--git-dir", row["path"], "show", "-M", f"-U{NEAR}", "--format=", row["sha"], "--", *paths]
    diff = subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "replace")
    kept: list[str] = []
    others: list[str] = []
    for file in re.split(r"(?m)^(?=diff --git )", diff):
        if not file:
            continue
        lines = file.split("\n")
        name = lines[0].partition(" b/")[2]
        hits = [
            n
            for n, line in enumerate(lines)
            if line[:1] in "+-" and not line.startswith(("---", "+++")) and telling.search(line)
        ]
        reach = NEAR if len(hits) <= MANY else NEAR_IF_MANY
        if not hits:
            others.append(name)
            continue
        head = [line for line in lines[:8] if line.startswith(("new file", "deleted file", "rename "))]
        kept.append(f"=== {name} {'; '.join(head)}")
        shown = sorted({m for n in hits for m in range(max(n - reach, 0), n + reach + 1) if m < len(lines)})
        for place, m in enumerate(shown):
            if place and shown[place - 1] != m - 1:
                kept.append("...")
            if not lines[m].startswith(("diff --git", "index ", "--- ", "+++ ")):
                kept.append(lines[m][:160])
    if len(kept) > MOST_LINES:
        names = [line for line in kept[MOST_LINES:] if line.startswith("===")]
        kept = [*kept[:MOST_LINES], f"... {len(kept) - MOST_LINES} lines more", *names[:12]]
    if others:
        kept.append(f"(also changed: {len(others)} files: {', '.join(others[:5])})")
    return "\n".join(kept)


if __name__ == "__main__":
    main()
