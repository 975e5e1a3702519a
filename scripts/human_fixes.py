"""What the tool says before a person changes hybridization: changesets of public histories, judged on the tree before.

    python scripts/human_fixes.py mine MIRRORS --half develop --out LIST.json    find the changes, draw some by seed
    python scripts/human_fixes.py score LIST.json --out RESULT.json --cache DIR  check each tree before
    python scripts/human_fixes.py table RESULT.json [OLDER.json]                 outcomes by kind, as Markdown
    python scripts/human_fixes.py show LIST.json RESULT.json NUMBER              one change: message, diff, verdict

MIRRORS holds clones as `owner+name/repo` (bare). Which half a repository is in: docs/project-tests.md. What is in the
half `measure` is only scored: `show` refuses it, and results hold codes there, no texts. Nothing that is read is run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from human_fixes_mine import KINDS, Fix, Limits, draw, half_of, mine
from human_fixes_score import Tool, score

Json = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    args = _parser().parse_args(arguments)
    return _COMMANDS[args.command](args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine")
    mining.add_argument("mirrors", type=Path)
    mining.add_argument("--half", choices=("develop", "measure"), required=True)
    mining.add_argument("--leave-out", type=Path, help="repositories never to open, one `owner/name` in a line")
    mining.add_argument("--repositories", type=int, default=1000, help="how many to go through, drawn by seed")
    mining.add_argument("--per-kind", type=int, default=40)
    mining.add_argument("--seed", type=int, default=0)
    mining.add_argument("--out", type=Path, required=True)
    scoring = commands.add_parser("score")
    scoring.add_argument("list", type=Path)
    scoring.add_argument("--mirrors", type=Path, required=True)
    scoring.add_argument("--tool", type=Path, default=Path(__file__).parents[1], help="a source tree of hybridize")
    scoring.add_argument("--cache", type=Path, required=True, help="reports are kept there; one folder for each tool")
    scoring.add_argument("--seconds", type=int, default=240, help="limit for one tree")
    scoring.add_argument("--only", nargs="*", type=int, help="numbers of fixes")
    scoring.add_argument("--out", type=Path, required=True)
    table = commands.add_parser("table")
    table.add_argument("results", nargs="+", type=Path)
    showing = commands.add_parser("show")
    showing.add_argument("list", type=Path)
    showing.add_argument("result", type=Path)
    showing.add_argument("number", type=int)
    showing.add_argument("--mirrors", type=Path, required=True)
    return parser


def _mine(args: argparse.Namespace) -> int:
    out: Sequence[str] = args.leave_out.read_text(encoding="utf-8").split() if args.leave_out else ()
    found: list[Fix] = []
    for folder in _folders(args.mirrors, args.half, frozenset(name for name in out if "/" in name), args.seed)[
        : args.repositories
    ]:
        fixes = list(mine(folder / "repo", folder.name.replace("+", "/", 1), Limits()))
        found += fixes
        print(f"{len(fixes):5} {folder.name}", file=sys.stderr, flush=True)
    chosen = draw(found, args.per_kind, args.seed)
    args.out.write_text(json.dumps([asdict(fix) for fix in chosen], indent=1), encoding="utf-8")
    print(f"found {dict(Counter(f.kind for f in found))}, drawn {dict(Counter(f.kind for f in chosen))}")
    return 0


def _folders(mirrors: Path, half: str, left_out: frozenset[str], seed: int) -> list[Path]:
    """The mirrors of one half, in an order that only the seed decides."""
    import hashlib

    names = [folder for folder in mirrors.iterdir() if (folder / "repo").is_dir()]
    mine_of = [f for f in names if half_of(f.name.replace("+", "/", 1)) == half]
    kept = [f for f in mine_of if f.name.replace("+", "/", 1) not in left_out]
    return sorted(kept, key=lambda folder: hashlib.sha256(f"{seed} {folder.name}".encode()).digest())


def _score(args: argparse.Namespace) -> int:
    fixes = [Fix(**entry) for entry in json.loads(args.list.read_text(encoding="utf-8"))]
    tool = Tool(args.tool.resolve(), args.cache.resolve(), args.seconds)
    results: dict[str, Json] = {}
    for number, fix in enumerate(fixes):
        if args.only and number not in args.only:
            continue
        result = score(tool, args.mirrors, fix)
        results[str(number)] = result
        texts = "" if half_of(fix.repository) == "measure" else f" {fix.repository} {fix.path} {fix.function}"
        print(f"{number:4} {fix.kind:10} {result['outcome']:12} {','.join(result['codes'])}{texts}", flush=True)
        args.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


def _table(args: argparse.Namespace) -> int:
    for path in args.results:
        results = json.loads(path.read_text(encoding="utf-8")).values()
        print(f"\n{path.name}: {len(results)}\n")
        print("\n".join(_rows(list(results))))
    return 0


def _rows(results: Sequence[Json]) -> Iterator[str]:
    for kind in KINDS:
        of_kind = [r for r in results if r["kind"] == kind]
        outcomes = Counter(r["outcome"] for r in of_kind)
        if of_kind:
            yield (
                f"| {kind} | {len(of_kind)} | " + ", ".join(f"{name} {n}" for name, n in outcomes.most_common()) + " |"
            )
            codes = Counter(code for r in of_kind for code in r["codes"])
            yield f"| | | {', '.join(f'{code} {n}' for code, n in codes.most_common(12))} |"


def _show(args: argparse.Namespace) -> int:
    fix = Fix(**json.loads(args.list.read_text(encoding="utf-8"))[args.number])
    if half_of(fix.repository) == "measure":
        raise SystemExit("a repository of the half `measure` is not looked into")
    git = ["git", "-C", str(args.mirrors / fix.repository.replace("/", "+", 1) / "repo")]
    shown = subprocess.run([*git, "show", "-U4", fix.commit, "--", fix.path], capture_output=True, check=True).stdout
    print(f"{fix.repository} {fix.kind} {fix.path} {fix.function}\n{fix.before} -> {fix.after}")
    print(shown.decode("utf-8", "replace")[:12000])
    print(json.dumps(json.loads(args.result.read_text(encoding="utf-8")).get(str(args.number)), indent=1)[:8000])
    return 0


_COMMANDS = {"mine": _mine, "score": _score, "table": _table, "show": _show}

if __name__ == "__main__":
    raise SystemExit(main())
