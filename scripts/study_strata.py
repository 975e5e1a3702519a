"""Draws changesets of a mined study by what the lines of their diffs show, so that few of them are `other`.

    python scripts/study_strata.py MINED.db OUT [--seed S] [--draw NAME | --take N]

`scripts/study_sheets.py` draws what a study meets, of which three in four are `other`; this one draws for the rest.
The rule: a repository is of the developing part if the SHA-256 of seed and name is even, else of the unseen one. A
changeset is of the first stratum below that fits its lines with the API or one of its arguments, comments left out; of
each stratum and part as many as `QUOTA` says, those with the least SHA-256 of seed and commit, but no more than `MOST`
of a repository in a draw, no commit twice (rebased ones neither), and none that `benchmarks/study_labels.tsv` has.

With `--take N`, for histories nobody has looked at, all are unseen, and N are drawn by turns: of four in five the
strata of `LIKELY` each give one in turn, of the rest the others do, as long as they have any.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import sqlite3
import subprocess
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Final

from study_sheets import PER_SHEET, repository_name, write

LABELS: Final = Path(__file__).parent.parent / "benchmarks" / "study_labels.tsv"
MOST: Final = 4
QUOTA: Final = {
    "moved": 12,  # the same lines gone and come
    "changed": 18,  # as many gone as come, not the same
    "added on old code": 14,  # only come, and the next `def` is old
    "removed from old code": 14,
    "added with code": 10,
    "removed with code": 8,
    "both": 12,
    "whole files": 4,
}
LIKELY: Final = ("moved", "changed", "both", "added on old code", "removed from old code")
"""Strata of which most are not `other`."""
API: Final = re.compile(
    r"\btf\.function\b|@function\b|\bdef_function\b|input_signature\s*=|relax_shapes|reduce_retracing|jit_compile"
    r"|experimental_(?:compile|autograph|implements|follow)|\bautograph\s*="
)
DEF: Final = re.compile(r"(.)\s*(?:async\s+)?(?:def|class)\s")


def main() -> None:
    """Draw, and write sheets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", default="hybridize-study-23-strata")
    parser.add_argument("--draw", default="", help="a further draw from the same parts: its name")
    parser.add_argument("--take", type=int, metavar="N", help="N of all, by turns, all unseen")
    args = parser.parse_args()
    connection = sqlite3.connect(args.database)
    connection.row_factory = sqlite3.Row
    drawn = draw(connection, args.seed, args.draw, args.take)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "drawn.tsv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("id", "part", "stratum", "repository", "commit", "bug_fix"))
        writer.writerows(
            (number, part, stratum, repository_name(row), row["sha"], row["is_bug_fix"])
            for number, part, stratum, row in drawn
        )
    for part in ("develop", "unseen"):
        rows = [(number, row) for number, where, _, row in drawn if where == part]
        for sheet in range(0, len(rows), PER_SHEET):
            write(args.out / f"{part}-{sheet // PER_SHEET + 1}", rows[sheet : sheet + PER_SHEET])


def draw(
    connection: sqlite3.Connection, seed: str, name: str, take: int | None
) -> list[tuple[str, str, str, sqlite3.Row]]:
    """Number, part, stratum and changeset; in each part in an order that says nothing of the stratum."""

    def order(text: str) -> str:
        return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()

    with LABELS.open(newline="", encoding="utf-8") as file:
        taken = {row["commit"] for row in csv.DictReader(file, delimiter="\t")}
    rows = connection.execute(
        "SELECT c.*, r.name, r.path, (SELECT group_concat(h.uses_before_json || h.uses_after_json) FROM file_change f"
        " JOIN change h ON h.file_change_id = f.id WHERE f.changeset_id = c.id) AS uses"
        " FROM changeset c JOIN repository r ON r.id = c.repository_id"
    ).fetchall()
    pools: dict[tuple[str, str], list[sqlite3.Row]] = {}
    for row in sorted(rows, key=lambda row: order(name + row["sha"])):
        stratum = stratum_of(diff(row))
        # A commit that was rebased has another hash, but the same author's time and subject.
        twin = f"{row['name']} {row['authored_at']} {row['subject']}"
        if stratum and not taken & {row["sha"], twin}:
            taken |= {row["sha"], twin}
            developing = take is None and not int(order(repository_name(row)), 16) % 2
            pools.setdefault(("develop" if developing else "unseen", stratum), []).append(row)
    found = []
    counts: Counter[str] = Counter()
    for part in ("develop", "unseen"):
        strata = {stratum: pools.get((part, stratum), []) for stratum in QUOTA}
        if take is None:
            chosen = [each for s, rows in strata.items() for each in chosen_of({s: rows}, QUOTA[s], counts)]
        else:
            likely = {stratum: strata.pop(stratum) for stratum in LIKELY}
            chosen = chosen_of(likely, take * 4 // 5, counts)
            chosen += chosen_of(strata, take - len(chosen), counts)
        chosen.sort(key=lambda item: order(item[1]["sha"]))
        found += [(f"{part[0]}s{name}{n:03}", part, stratum, row) for n, (stratum, row) in enumerate(chosen, 1)]
    return found


def chosen_of(strata: dict[str, list[sqlite3.Row]], quota: int, counts: Counter[str]) -> list[tuple[str, sqlite3.Row]]:
    """As many as `quota` says, of each stratum one in turn, of no repository more than `MOST`."""
    chosen: list[tuple[str, sqlite3.Row]] = []
    for turn in zip_longest(*([(stratum, row) for row in rows] for stratum, rows in strata.items())):
        for stratum, row in filter(None, turn):
            if len(chosen) < quota and counts[row["name"]] < MOST:
                counts[row["name"]] += 1
                chosen.append((stratum, row))
    return chosen


def diff(row: sqlite3.Row) -> str:
    """The changeset's diff of Python files, with whole functions, as git shows it."""
    command = ["git", "--git-dir", row["path"], "show", "-M", "-U6", "--format=", row["sha"], "--", "*.py"]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "replace")


def stratum_of(text: str) -> str:
    """The stratum by the lines of a diff; empty if none of them has the API in code."""
    gone: Counter[str] = Counter()
    come: Counter[str] = Counter()
    whole = alone = 0
    for file in re.split(r"(?m)^(?=diff --git )", text):
        lines = file.split("\n")
        for place, line in enumerate(lines):
            code = line[1:].partition("#")[0].strip()
            if line[:1] not in "+-" or line.startswith(("+++", "---")) or not API.search(code):
                continue
            (come if line[0] == "+" else gone)[code] += 1
            whole += "\nnew file mode" in file[:300] or "\ndeleted file mode" in file[:300]
            after = next((found for each in lines[place + 1 : place + 12] if (found := DEF.match(each))), None)
            alone += after is not None and after[1] == " "
    if not gone and not come:
        return ""
    if whole == gone.total() + come.total():
        return "whole files"
    if gone and come:
        if gone == come:
            return "moved"
        return "changed" if gone.total() == come.total() else "both"
    if gone:
        return "removed from old code" if alone else "removed with code"
    return "added on old code" if alone else "added with code"


if __name__ == "__main__":
    main()
