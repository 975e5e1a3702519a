"""Each call that a project's tests (or scripts) make of its functions, as it is and as a graph: an oracle for verdicts.

    python scripts/shadow.py run FOLDER --python PYTHON --out FILE [--path PART ...] [--keep N] -- -m pytest tests
    python scripts/shadow.py verdicts FILE... --tool TREE --label NAME
    python scripts/shadow.py table FILE... --label NAME [--other NAME] [--rows]

`run` watches every eager function of the folder outside of its tests, converted or not, as `hybridize verify` watches
those that it converts: the first calls of each signature and receiver, and later ones before which reachable Python
state changed, run as a graph and as they stand, from one state; the eager call is what the program goes on with.
Each function is tried by itself: in the graphs of others it is what it was.
`verdicts` asks a source tree of hybridize what it makes of each function (default, `--all-safe`); `table` joins both.

It runs other people's code: only on a machine that may be thrown away. docs/project-tests.md says more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.fixing.memory import conversions, everything
from hybridize.runtime.launch import Ended, Launch, Target, launch
from hybridize.runtime.verify import Verdict, judge, shadow_options
from hybridize.source.roles import is_test_path

Row = dict[str, Any]
PLUGIN = Path(__file__).parent / "project_plugin"
MODES: Mapping[str, Sequence[str]] = {"default": (), "all_safe": ("--all-safe",)}
#: What the oracle says of a function, from the kinds of `hybridize verify`.
SAID = {"raised": "differs", "different": "differs", "equal": "same", "random": "same", "retraces": "same"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 2 if the program could not be run."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    words, program = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    args = _parser().parse_args(words)
    if args.command == "run":
        return _run(args, program)
    files = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in args.files]
    if args.command == "verdicts":
        for path, data in files:
            data.setdefault("verdicts", {})[args.label] = verdicts(Path(data["folder"]), args.tool, data["paths"])
            path.write_text(json.dumps(data, indent=1), encoding="utf-8")
        return 0
    rows = [row for _, data in files for row in joined(data, args.label)]
    print("\n".join(markdown(rows)))
    print("\n".join(reasons(rows)))
    if args.rows:
        print("\n".join(told(row) for row in sorted(rows, key=_order)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("folder", type=Path)
    command.add_argument("--python", required=True, help="an interpreter with what the project needs")
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--name", help="of the project (the folder's)")
    command.add_argument("--path", action="append", help="what is analyzed, from the folder; repeatable")
    command.add_argument("--import-from", action="append", default=[], help="for PYTHONPATH, from the folder")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="in the environment")
    command.add_argument("--shim", type=Path, help="a file that is run first, to stand in for data")
    command.add_argument("--keep", type=int, default=2, help="calls of each signature that are compared")
    command.add_argument("--budget", type=float, default=120, help="CPU seconds after which no test is begun")
    command.add_argument("--timeout", type=float, default=300, help="for the whole run")
    for name in ("verdicts", "table"):
        command = commands.add_parser(name)
        command.add_argument("files", type=Path, nargs="+")
        command.add_argument("--label", default="tree", help="under which verdicts are kept in the files")
        if name == "verdicts":
            command.add_argument("--tool", type=Path, required=True, help="a source tree of hybridize")
        else:
            command.add_argument("--rows", action="store_true", help="each function, too")
    return parser


def _run(args: argparse.Namespace, program: Sequence[str]) -> int:
    folder = args.folder.resolve()
    paths = args.path or ["."]
    target = Target.module(program[1], program[2:]) if program[0] == "-m" else Target.script(program[0], program[1:])
    ended, seen = watch(folder, paths, target, args)
    data = {"name": args.name or folder.name, "folder": str(folder), "paths": paths, "ended": ended.reason}
    data |= {"code": ended.code, "seconds": round(ended.seconds), "functions": [observed(v) for v in seen]}
    args.out.write_text(json.dumps(data, indent=1), encoding="utf-8")
    said = Counter(entry["said"] for entry in data["functions"])
    print(f"{data['name']}: {ended.reason}, code {ended.code}, {ended.seconds:.0f} s, {dict(said)}", flush=True)
    return 0 if ended.of("start") else 2


def watch(folder: Path, paths: Sequence[str], target: Target, args: Any) -> tuple[Ended, list[Verdict]]:
    """Run a program of a folder with all eager functions outside of its tests watched, each by itself."""
    report = analyze([folder / path for path in paths], Config(all_safe=True), repairs=False)
    functions = [f for f in everything(report) if not is_test_path(f.facts.path)]
    made = conversions(report, functions)
    variables = {
        "PYTHONPATH": os.pathsep.join([*(str(folder / part) for part in args.import_from), str(folder), str(PLUGIN)]),
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "MPLBACKEND": "Agg",
        "HYBRIDIZE_RECORD": f"{args.out}.tests",
        "HYBRIDIZE_TREE": str(folder),
        "HYBRIDIZE_BUDGET": str(args.budget),
        "HYBRIDIZE_TEST_SECONDS": "60",
        **dict(word.split("=", 1) for word in args.set),
    }
    run = Launch(
        target,
        made.files,
        python=args.python,
        cwd=folder,
        mode="shadow",
        options=shadow_options(max_calls=args.keep, call_seconds=20) | {"final": False},
        functions=tuple({**each, "apart": True} for each in made.described()),
        own=(str(folder),),
        environment=variables,
        timeout=args.timeout,
        shim=args.shim,
    )
    with open(f"{args.out}.log", "wb") as log:
        ended = launch(run, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    return ended, judge(made.functions, ended)


def observed(verdict: Verdict) -> Row:
    """What was seen of a function, with enough of both sides to judge it."""
    facts = verdict.function.facts
    said = SAID.get(verdict.kind, verdict.kind)
    ended = verdict.error is not None and verdict.error["type"] in ("Ended", "TooLong", "TookTooLong")
    if ended or (said == "same" and not verdict.compared):
        said = "not compared"
    return {
        "path": facts.path,
        "line": facts.line,
        "qualname": facts.qualname,
        "said": said,
        "kind": verdict.kind,
        "calls": verdict.calls,
        "compared": verdict.compared,
        "traces": verdict.traces,
        "in_graph": verdict.in_graph,
        "first": verdict.first,
        "differences": [[d.where, d.eager[:300], d.graph[:300], d.error] for d in verdict.differences[:3]],
        "error": f"{verdict.error['type']}: {verdict.error['message'][-700:]}" if verdict.error else "",
        "causes": [str(cause) for cause in verdict.causes[:2]],
        "skipped": dict(verdict.skipped),
    }


def verdicts(folder: Path, tool: Path, paths: Sequence[str]) -> Row:
    """By mode and function (path:line), what a source tree decides and why."""
    found: Row = {}
    for mode, options in MODES.items():
        command = [sys.executable, "-P", "-m", "hybridize", "check", *paths, "--output-format", "json", *options]
        variables = {**os.environ, "PYTHONPATH": str(tool.resolve() / "src")}
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        found[mode] = {f"{f['path']}:{f['line']}": _decided(f) for f in json.loads(done.stdout)["functions"]}
    return found


def _decided(function: Mapping[str, Any]) -> Row:
    grave = [s for s in function["statuses"] if s["severity"] == "error"]
    return {
        "action": function["decision"]["action"],
        "candidate": function["candidate"],
        "codes": list(dict.fromkeys(s["code"] for s in grave or function["statuses"])),
        "told": [f"{s['code']} {s['path']}:{s['line']} {s['message']}" for s in (grave or function["statuses"])[:3]],
    }


def joined(data: Mapping[str, Any], label: str) -> Iterator[Row]:
    """The functions of a run, with what was decided of them."""
    modes = data.get("verdicts", {}).get(label, {"default": {}})
    for row in data["functions"]:
        key = f"{row['path']}:{row['line']}"
        if key in modes["default"]:
            yield {**row, "name": data["name"], "default": modes["default"][key], "all_safe": modes["all_safe"][key]}


def verdict_of(row: Mapping[str, Any]) -> str:
    """What is decided of a function: hazards and effects have one `refused`, all else leaves a candidate as it is."""
    if row["default"]["action"] == "convert_to_hybrid":
        return "converted by default"
    if row["all_safe"]["action"] == "convert_to_hybrid":
        return "converted by `--all-safe`"
    if not row["all_safe"]["candidate"]:
        return "no candidate"
    refused = any(code == "HY003" or code[2] in "1234567" for code in row["all_safe"]["codes"])
    return "refused" if refused else "kept"


def markdown(rows: Sequence[Row]) -> list[str]:
    """Verdicts against what the oracle says."""
    columns = ("same", "of these several calls of a trace", "differs", "in graphs", "not compared", "not reached")
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        table[verdict_of(row)][row["said"]] += 1
        table[verdict_of(row)][columns[1]] += is_repeated(row)
    lines = ["| verdict | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    return [*lines, *(f"| {v} | " + " | ".join(str(table[v][c]) for c in columns) + " |" for v in sorted(table)), ""]


def is_repeated(row: Mapping[str, Any]) -> bool:
    """Whether some trace was compared twice, and came to the same."""
    return row["said"] == "same" and row["compared"] > max(row["traces"], 1)


def reasons(rows: Sequence[Row]) -> list[str]:
    """Refusals by reason: how many functions (projects) differ, how many come to the same in repeated calls."""
    differ: defaultdict[str, list[Row]] = defaultdict(list)
    same: defaultdict[str, list[Row]] = defaultdict(list)
    alone: Counter[str] = Counter()
    for row in rows:
        if verdict_of(row) == "refused":
            for code in row["all_safe"]["codes"]:
                kind = differ if row["said"] == "differs" else same if is_repeated(row) else None
                if kind is not None:
                    kind[code].append(row)
                    alone[code] += kind is same and len(row["all_safe"]["codes"]) == 1
    lines = ["| reason | differ (projects) | same (projects) | of these the only reason |", "|---|---:|---:|---:|"]
    for code in sorted({*differ, *same}, key=lambda c: -len(same[c])):
        counts = [f"{len(x[code])} ({len({row['name'] for row in x[code]})})" for x in (differ, same)]
        lines.append(f"| {code} | {' | '.join(counts)} | {alone[code]} |")
    return [*lines, ""]


def _order(row: Row) -> tuple[str, ...]:
    return verdict_of(row), row["said"], ",".join(row["all_safe"]["codes"]), row["name"], row["path"]


def told(row: Row) -> str:
    """One function in a line or some."""
    place = f"{row['name']} {row['path']}:{row['line']} {row['qualname']}"
    calls = f"[{row['calls']} calls, {row['compared']} compared, {row['traces']} traces]"
    lines = [f"{verdict_of(row)} | {row['said']} | {','.join(row['all_safe']['codes'])} | {place} {calls}"]
    lines += [f"      {where}: {eager} -> {graph} ({error})" for where, eager, graph, error in row["differences"]]
    lines += [f"      {row['error']}"] if row["error"] else []
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
