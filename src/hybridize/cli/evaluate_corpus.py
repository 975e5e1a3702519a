"""`hybridize evaluate [corpus] CORPUS`: the paper's Tables V and VI; and `evaluate init`, which makes a corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from hybridize.cli import evaluate_programs
from hybridize.cli.errors import NOTHING, UsageError


def run(args: argparse.Namespace) -> int:
    """Analyze, or measure, what has no result yet, then write the tables of all. Raises as `evaluate` expects."""
    from hybridize.evaluate.corpus import load

    corpus = load(args.corpus)
    corpus = corpus.only(args.project) if args.project else corpus
    return evaluate_programs.run(args, corpus) if args.programs else _evaluate(args, corpus)


def init(args: argparse.Namespace) -> int:
    """Write a corpus file. Raises CorpusError."""
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

    results = run(corpus, settings, executor(args), Store(out), tell)
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


def executor(args: argparse.Namespace) -> Executor:
    """The executor that was asked for."""
    from hybridize.evaluate.execution.cluster import Cluster
    from hybridize.evaluate.execution.local import Pool
    from hybridize.workers import available

    return Cluster(args.scheduler) if args.scheduler else Pool(args.jobs or available())


TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.evaluate.corpus import Corpus
    from hybridize.evaluate.execution.model import Executor
    from hybridize.evaluate.store import Result
