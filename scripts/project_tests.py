"""What other people's own tests say after `hybridize fix`: a corpus of public projects, before and after.

    python scripts/project_tests.py --home FOLDER [--mirror "/mirror/{owner}+{name}/repo"] COMMAND ...

    split                         which half each project is in: `develop` may be looked into, `measure` is only scored
    prepare [NAME ...]            clones and environments
    baseline [NAME ...]           the tests as they are
    run [NAME ...] --tool TREE    `fix` of a source tree on a copy, the tests again; newly failing and newly slow tests
    bisect NAME --tool TREE       which conversions the newly failing tests of a result are to blame on
    table                         all results as Markdown

It downloads and runs other people's code: only on a machine that may be thrown away. docs/project-tests.md says more.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from project_blame import blame
from project_corpus import CORPUS, HALVES, Corpus, Home, load, prepare
from project_runs import MODES, Limits, baseline, measure, save


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, 1 if a project could not be prepared or run."""
    args = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended, too
    home, corpus = Home(args.home.resolve(), args.mirror), load(args.corpus)
    return _COMMANDS[args.command](args, home, corpus)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="where clones, environments and results are kept")
    parser.add_argument("--mirror", help="repositories come from there; with {owner} and {name}")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    limits = Limits()
    parser.add_argument("--budget", type=float, default=limits.budget, help="CPU seconds of tests of a first run")
    parser.add_argument("--run-seconds", type=float, default=limits.run, help="limit for one run of a project's tests")
    parser.add_argument("--test-seconds", type=float, default=limits.test, help="limit for one test")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in _COMMANDS:
        command = commands.add_parser(name)
        if name != "table":
            command.add_argument("names", nargs="*", metavar="NAME")
            command.add_argument("--half", choices=HALVES)
        if name in ("run", "bisect"):
            command.add_argument("--tool", type=Path, required=True, help="a source tree of hybridize")
            command.add_argument("--mode", choices=list(MODES), default="default")
        if name in ("run", "bisect", "table"):
            command.add_argument("--label", help="the folder of the results (the source tree's name)")
        if name in ("baseline", "run"):
            command.add_argument("--again", action="store_true", help="even where there is a result")
    return parser


def _limits(args: argparse.Namespace) -> Limits:
    return Limits(budget=args.budget, run=args.run_seconds, test=args.test_seconds)


def _split(args: argparse.Namespace, home: Home, corpus: Corpus) -> int:
    for half in HALVES:
        for project in corpus.chosen(args.names, args.half):
            if project.half == half:
                print(f"{half:8} {project.name:28} {project.repository}")
    return 0


def _each(args: argparse.Namespace, corpus: Corpus, work: Callable[[Any], str]) -> int:
    """Do it for all chosen projects; one that fails does not end the others."""
    failed = 0
    for project in corpus.chosen(args.names, args.half):
        try:
            print(f"{project.name}: {work(project)}", flush=True)
        except (OSError, subprocess.SubprocessError, ValueError, SystemExit) as problem:
            if isinstance(problem, SystemExit) and isinstance(problem.code, int):
                raise
            said = getattr(problem, "stderr", None) or problem
            print(f"{project.name}: {type(problem).__name__}: {str(said).strip()[-600:]}", flush=True)
            failed += 1
    return int(failed > 0)


def _prepare(args: argparse.Namespace, home: Home, corpus: Corpus) -> int:
    def work(project: Any) -> str:
        prepare(home, corpus, project)
        return "ready"

    return _each(args, corpus, work)


def _baseline(args: argparse.Namespace, home: Home, corpus: Corpus) -> int:
    def work(project: Any) -> str:
        run = baseline(home, project, _limits(args), args.again)
        ended = ", timed out" if run.timed_out else ""
        return f"{len(run.tests)} tests, {len(run.bad())} failing, {run.seconds:.0f} s, {len(run.files())} files{ended}"

    return _each(args, corpus, work)


def _run(args: argparse.Namespace, home: Home, corpus: Corpus) -> int:
    label = args.label or args.tool.resolve().name

    def work(project: Any) -> str:
        if home.result(label, project, args.mode).exists() and not args.again:
            return "done before"
        result = measure(home, project, args.tool.resolve(), args.mode, label, _limits(args))
        error = f", fix: {result['fix']['error'][-200:]}" if result["fix"]["error"] else ""
        return (
            f"{result['tests']} tests, {len(result['changes'])} changes, {len(result['newly_failing'])} newly failing, "
            f"{len(result['newly_slow'])} newly slow, time x{result['ratio']:.2f}, "
            f"{tracing(result)}fix {result['fix']['seconds']:.0f} s{error}"
        )

    return _each(args, corpus, work)


def tracing(result: Mapping[str, Any]) -> str:
    """What the graphs of the changed copy did: as many traces as objects is the least, as many as calls the most."""
    seen = result.get("traced")
    if not seen or not seen["calls"]:
        return ""
    calls, traces, objects = (round(seen[key]) for key in ("calls", "traces", "objects"))
    return f"{calls} calls of {objects} graphs with {traces} traces of {seen['seconds']:.1f} s, "


def _bisect(args: argparse.Namespace, home: Home, corpus: Corpus) -> int:
    label = args.label or args.tool.resolve().name

    def work(project: Any) -> str:
        path = home.result(label, project, args.mode)
        result = json.loads(path.read_text(encoding="utf-8"))
        found = blame(home, project, args.tool.resolve(), args.mode, result, _limits(args))
        result["blame"] = [{"changes": each.changes, "tests": each.tests} for each in found]
        save(path, result)
        names = {f"{change['path']}:{change['line']}": change["function"] for change in result["changes"]}
        lines = []
        for each in found:
            message = str(result["newly_failing"][each.tests[0]]["message"]).strip().split("\n")[0][:300]
            lines.append(f"  {' + '.join(names[key] for key in each.changes)}: {each.tests[0]}: {message}")
        return "\n".join([f"{len(result['newly_failing'])} newly failing, {len(found)} to blame", *lines])

    return _each(args, corpus, work)


def _table(args: argparse.Namespace, home: Home, corpus: Corpus) -> int:
    labels = [args.label] if args.label else sorted(p.name for p in (home.root / "results").iterdir() if p.is_dir())
    found = [(label, _results(home, corpus, label)) for label in labels if label != "baseline"]
    for label, results in found:
        for mode in MODES:
            for half in HALVES:
                rows = [r for r in results if r["mode"] == mode and r["half"] == half]
                if rows:
                    print("\n".join(markdown(f"{label}, `{mode}`, {half}", rows)))
    return 0


def _results(home: Home, corpus: Corpus, label: str) -> list[Mapping[str, Any]]:
    paths = [home.result(label, project, mode) for project in corpus.projects.values() for mode in MODES]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def markdown(title: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table of the results of one half and mode, with its sums."""
    lines = [
        f"### {title}",
        "",
        "| project | tests | failing before | conversions | removals | repairs | newly failing | newly slow | time |",
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    sums = [0] * 7
    for row in rows:
        actions = [change["action"] for change in row["changes"]]
        made = actions.count("convert_to_hybrid")
        counts = [row["tests"], row["failing_before"], made, len(actions) - made, row["fix"]["repairs"]]
        counts += [len(row["newly_failing"]), len(row["newly_slow"])]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        lines.append(f"| {row['project']} | {' | '.join(map(str, counts))} | {row['ratio']:.2f} |")
    green = sum(not row["newly_failing"] for row in rows)
    lines.append(f"| **{len(rows)} projects, {green} green** | {' | '.join(map(str, sums))} | |")
    return [*lines, ""]


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Home, Corpus], int]] = {
    "split": _split,
    "prepare": _prepare,
    "baseline": _baseline,
    "run": _run,
    "bisect": _bisect,
    "table": _table,
}

if __name__ == "__main__":
    sys.exit(main())
