"""`hybridize evaluate`: many projects, and the tables of the paper for them."""

from __future__ import annotations

import argparse
from pathlib import Path

from hybridize.cli import evaluate_fixes, evaluate_programs, evaluate_simulate
from hybridize.cli.errors import ERROR, NOTHING, UsageError
from hybridize.cli.options import OneOf

_EPILOG = (
    "CORPUS is a TOML file, or one that hybridize brings (`paper`, `tensorflow-examples`). In its place: "
    "`init FOLDER...` makes a file, `simulate RESULTS` says what more would cost, `fixes STUDY.db` what is said before "
    "and after changes of people in a mined study. What was found stays in DIR: a run that was cut off goes on. "
    "Exit code 0: all have a result, 1: some have none, 2: an error."
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "evaluate",
        help="many projects, and the tables of the paper for them",
        description="Analyzes the projects of a corpus, and writes the paper's Tables V and VI for them.",
        epilog=_EPILOG,
    )
    parser.add_argument("corpus", metavar="CORPUS", help="a TOML file or `paper`; `init` makes a file")
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="with `init`: projects, or files that list them")
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="where results and tables go; with `init`: the file"
    )
    parser.add_argument("--reading", type=OneOf("paper", "ours", "both"), default="both", metavar="READING",
                        help="what counts as a candidate and as a failure: paper, ours, both")  # fmt: skip
    parser.add_argument("--project", action="append", metavar="NAME", default=[], help="only this one (repeatable)")
    parser.add_argument("--ablate", metavar="PARTS", default="", help="also without these parts of the analysis, "
                        "each for itself: speculation, hints, contexts, loops, models, index, or all")  # fmt: skip
    parser.add_argument("--repairs", action="store_true", help="also try the repairs (several analyses more)")
    parser.add_argument("--repositories", "--mirrors", action="append", metavar="FOLDER", default=[],
                        help="git clones, in which commits are looked for before they are fetched")  # fmt: skip
    parser.add_argument("--fresh", action="store_true", help="use nothing of what an earlier run has found")
    fixes = parser.add_argument_group("`evaluate fixes STUDY.db`: what is said before and after changes of people")
    fixes.add_argument("--per-kind", type=int, default=0, metavar="N", help="draw at most so many (default: all)")
    group = parser.add_argument_group("how it is run")
    group.add_argument("--jobs", type=int, default=0, metavar="N", help="projects at a time (default: one a processor)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, whose workers do it (tcp://HOST:PORT)")
    group.add_argument("--timeout", type=float, default=900, metavar="SECONDS", help="limit for one project (900)")
    group.add_argument("--memory", type=int, default=8000, metavar="MB", help="limit for one project (8000)")
    evaluate_programs.add_arguments(parser)
    evaluate_simulate.add_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn: times, or changes (0)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line for each project")


def run(args: argparse.Namespace) -> int:
    """Analyze what has no result yet, then write the tables of all."""
    from hybridize.cli.output import complain, write
    from hybridize.evaluate.corpus import CorpusError, load
    from hybridize.evaluate.execution.model import ExecutionError
    from hybridize.evaluate.store import MissingError

    try:
        if args.corpus == "init":
            return _init(args)
        if args.corpus == "simulate":
            return evaluate_simulate.run(args)
        if args.corpus == "fixes":
            return evaluate_fixes.run(args, _executor(args))
        if args.folders:
            raise UsageError(f"unexpected argument `{args.folders[0]}`")
        corpus = load(args.corpus)
        corpus = corpus.only(args.project) if args.project else corpus
        return evaluate_programs.run(args, corpus) if args.programs else _evaluate(args, corpus)
    except (CorpusError, ExecutionError, MissingError) as error:
        complain(str(error))
        if isinstance(error, ExecutionError):
            write(f"what was found is kept in {args.out}: the same command goes on\n")
        return ERROR


def _init(args: argparse.Namespace) -> int:
    from hybridize.cli.output import write
    from hybridize.evaluate.corpus_init import corpus_text
    from hybridize.guard import write_whole

    text, count = corpus_text([Path(each) for each in args.folders], Path(args.out))
    write_whole(args.out, text.encode())
    write(f"{args.out}: {count} projects\n")
    return NOTHING


def _evaluate(args: argparse.Namespace, corpus: Corpus) -> int:
    from platformdirs import user_cache_path

    from hybridize.cli.output import write
    from hybridize.evaluate.running import Settings, run
    from hybridize.evaluate.store import Store

    out = Path(args.out)
    settings = Settings(
        _ablations(args.ablate),
        args.repairs,
        tuple(map(Path, args.repositories)),
        user_cache_path("hybridize") / "repositories",
        args.timeout,
        args.memory * 1_000_000,
        sent=bool(args.scheduler),
        anew=args.fresh,
    )

    def tell(done: int, count: int, result: Result | None) -> None:
        if result is not None and not args.quiet:
            said = result.failure or f"{len(result.rows)} functions"
            write(f"[{done}/{count}] {result.project} ({result.variant}): {said}\n")

    results = run(corpus, settings, _executor(args), Store(out), tell)
    files = _tables(args, corpus, results, out)
    failed = [each for variant in results.values() for each in variant.values() if each.failure]
    write(f"{out}: {len(files)} files; start with {out / 'index.html'} or {out / 'tables.md'}\n")
    for each in failed:
        write(f"no result: {each.project} ({each.variant}): {each.failure}\n")
    return 1 if failed else NOTHING


def _tables(args: argparse.Namespace, corpus: Corpus, results: dict[str, dict[str, Result]], out: Path) -> list[Path]:
    from hybridize.evaluate import paper_tables as tables
    from hybridize.evaluate import pictures
    from hybridize.evaluate.output import write
    from hybridize.evaluate.readings import OURS, PAPER, READINGS
    from hybridize.evaluate.running import WHOLE

    whole, readings = results[WHOLE], READINGS[args.reading]
    made = [make(corpus, whole, reading) for reading in readings for make in (tables.effectiveness, tables.failures)]
    if PAPER in readings and any(project.published for project in corpus.projects):
        made.append(tables.differences(corpus, whole))
    if OURS in readings:
        made += [tables.classes(whole), tables.findings(whole)]
    if len(results) > 1:
        made.append(tables.ablations(results, readings, WHOLE))
    out.mkdir(parents=True, exist_ok=True)
    return write(made, pictures.save(whole, readings, out), f"Evaluation: {corpus.name}", out)


def _ablations(given: str) -> tuple[str, ...]:
    from hybridize.cli.parser import did_you_mean
    from hybridize.evaluate.ablations import ABLATIONS

    names = tuple(ABLATIONS) if given == "all" else tuple(filter(None, given.split(",")))
    for name in names:
        if name not in ABLATIONS:
            raise UsageError(f"--ablate: `{name}` is none of {', '.join(ABLATIONS)}{did_you_mean(name, ABLATIONS)}")
    return names


def _executor(args: argparse.Namespace) -> Executor:
    from hybridize.evaluate.execution.cluster import Cluster
    from hybridize.evaluate.execution.local import Pool
    from hybridize.workers import available

    return Cluster(args.scheduler) if args.scheduler else Pool(args.jobs or available())


TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.evaluate.corpus import Corpus
    from hybridize.evaluate.execution.model import Executor
    from hybridize.evaluate.store import Result
