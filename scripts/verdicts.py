"""All verdicts of some projects as one sorted text, so that two trees of hybridize can be compared line by line.

python scripts/verdicts.py DIR... --out FILE [--jobs N] [--all-safe] [--evidence]
python scripts/verdicts.py --compare OLD NEW

A line says project, place, function, kind and what there is to say, between tabs. The tool runs as a command, so
PYTHONPATH chooses the tree. The kinds: decision, status, parameter, fact, finding, repair, assumption, error.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Entry = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; the exit code of `--compare` is 1 where the two differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--all-safe", action="store_true", help="as `check --all-safe`")
    parser.add_argument("--evidence", action="store_true", help="what facts and statuses rest on, too")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    args = parser.parse_args(argv)
    if args.compare:
        old, new = (path.read_text(encoding="utf-8").splitlines() for path in args.compare)
        differences = list(compare(old, new))
        print("\n".join(differences) if differences else "no difference")
        return 1 if differences else 0
    if not args.projects:
        parser.error("give the projects' folders, or --compare")
    options = ["--all-safe"] if args.all_safe else []
    with ThreadPoolExecutor(args.jobs) as pool:
        found = pool.map(lambda project: list(lines(project, options, args.evidence)), args.projects)
        text = "\n".join(sorted(line for each in found for line in each)) + "\n"
    if args.out is None:
        sys.stdout.write(text)
    else:
        args.out.write_text(text, encoding="utf-8")
    return 0


def lines(project: Path, options: Sequence[str] = (), evidence: bool = False) -> Iterator[str]:
    """The lines of one project; where the tool fails, one that says how."""
    root = project.resolve()
    command = [sys.executable, "-m", "hybridize", "check", str(root), "--output-format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    try:
        report = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        entries = iter([("", "", "error", f"exit code {done.returncode}: {last}")])
    else:
        entries = verdicts(report, evidence)
    for entry in entries:
        yield "\t".join([project.resolve().name, *(_flat(part.replace(f"{root}/", "")) for part in entry)])


def _flat(text: str) -> str:
    """The text without anything that ends a line or a field."""
    return " ".join(text.split())


def verdicts(report: Entry, evidence: bool = False) -> Iterator[tuple[str, str, str, str]]:
    """Place, function, kind and text of all that a JSON report says."""
    for function in report["functions"]:
        here = f"{function['path']}:{function['line']}", function["qualname"]
        for kind, text in _of_function(function, evidence):
            yield *here, kind, text
    for found in report["findings"]:
        text = f"{found['code']} {found['severity']} fix={found['fix']} {found['message']}"
        yield f"{_place(found)}:{found['column']}", found["function"] or "", "finding", text
    for plan in report["repairs"]:
        whole = f"complete={plan['complete']} safe={plan['safe']}"
        for repair in plan["repairs"]:
            text = f"{repair['code']} safe={repair['safe']} {whole} doubt={repair['doubt']} {repair['message']}"
            yield f"{_place(repair)}:{repair['column']}", plan["function"], "repair", text
    for assumption in report["assumptions"]:
        yield _place(assumption), assumption["function"], "assumption", assumption["message"]
    for error in report["errors"]:
        yield _place(error), "", "error", error["message"]


def _of_function(function: Entry, evidence: bool) -> Iterator[tuple[str, str]]:
    """Kind and text of what is said of one function."""
    yield "decision", _decision(function)
    for status in function["statuses"]:
        yield "status", f"{status['code']} {status['severity']} {_place(status)}:{status['column']} {status['message']}"
        if evidence:
            yield from (("evidence", f"{status['code']} {_place(e)} {e['message']}") for e in status["evidence"])
    for parameter in function["parameters"]:
        types = "; ".join(f"{t['kind']} {t['dtype']} {json.dumps(t['shape'])}" for t in parameter["tensor_types"])
        literals = ", ".join(parameter["literals"])
        text = f"{parameter['name']} tensor={parameter['tensor']} source={parameter['source']} types={types}"
        yield "parameter", f"{text} literals={literals}"
    for name, fact in function["facts"].items():
        yield "fact", f"{name} {fact['value']}"
        if evidence:
            yield from (("evidence", f"{name} {_place(e)} {e['message']}") for e in fact["evidence"])


def _decision(function: Entry) -> str:
    decision = function["decision"]
    benefit = "" if decision["benefit"] is None else f" benefit={decision['benefit']:.2g}"
    arguments = ", ".join(f"{name}={value}" for name, value in decision["arguments"].items())
    grounds = "".join(f" because {each['message']} {_place(each)}" for each in decision["grounds"])
    said = f"{decision['action']} {decision['precondition']} {decision['confidence']}{benefit} ({arguments})"
    candidate = "candidate" if function["candidate"] else "no-candidate"
    reached = "reached" if function["reached"] else "not-reached"
    return f"{said} {function['mode']} conditional={function['conditional']} {candidate} {reached}{grounds}"


def _place(entry: Entry) -> str:
    return f"{entry['path']}:{entry['line']}"


def compare(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """What differs: of each kind and each first word how many lines went and came, then the lines; nothing if none."""
    before, after = Counter(old), Counter(new)
    went, came = list((before - after).elements()), list((after - before).elements())
    for kind in sorted({_kind(line) for line in went + came}):
        gone, added = ([line for line in side if _kind(line) == kind] for side in (went, came))
        yield f"{kind}: -{len(gone)} +{len(added)}"
        for word in sorted({_word(line) for line in gone + added}):
            counts = (sum(_word(line) == word for line in side) for side in (gone, added))
            yield "  {}: -{} +{}".format(word, *counts)
        signed = [(line, "-") for line in gone] + [(line, "+") for line in added]
        for line, sign in sorted(signed, key=lambda each: (_subject(each[0]), each[1] == "+", each[0])):
            yield f"{sign} {line}"


def _kind(line: str) -> str:
    """The kind that a line is of."""
    return line.split("\t")[3]


def _word(line: str) -> str:
    """What the line is about: an action, a code, a fact, a parameter."""
    return line.split("\t")[4].split(" ", 1)[0]


def _subject(line: str) -> list[str]:
    """The project, the place, the function."""
    return line.split("\t")[:3]


if __name__ == "__main__":
    raise SystemExit(main())
