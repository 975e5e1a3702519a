"""`hybridize evaluate CORPUS --programs`: the programs of a corpus, measured (runs user code)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hybridize.cli.errors import INTERRUPTED, NOTHING, SOMETHING, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.evaluate.corpus import Corpus
    from hybridize.evaluate.programs import Compared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for programs."""
    group = parser.add_argument_group("programs (this runs user code)")
    group.add_argument("--programs", action="store_true", help="measure the corpus' programs (Table VII) instead")
    group.add_argument("--program", action="append", metavar="NAME", default=[], help="only this one (repeatable)")
    group.add_argument("--python", metavar="FILE", help="the interpreter that has TensorFlow (default: this one)")
    group.add_argument("--runs", type=int, default=3, metavar="N", help="rounds, each of all variants in turn (3)")
    group.add_argument("--variants", metavar="NAMES", default="safe,repairs,published,expert",
                       help="what is compared with the original: safe, repairs, published, expert (all)")  # fmt: skip


def run(args: argparse.Namespace, corpus: Corpus) -> int:
    """Measure, one program after the other, and write the table after each."""
    from platformdirs import user_cache_path

    from hybridize.cli.output import complain, write
    from hybridize.evaluate.programs import VARIANTS, Options, compare
    from hybridize.evaluate.store import Pieces

    variants = tuple(filter(None, args.variants.split(",")))
    for name in variants:
        if name not in VARIANTS:
            raise UsageError(f"--variants: `{name}` is none of {', '.join(VARIANTS)}")
    if args.runs < 1:
        raise UsageError("--runs must be at least 1")
    chosen = corpus.with_programs(args.program)
    options = Options(
        args.python or sys.executable,
        variants,
        args.runs,
        args.timeout,
        tuple(map(Path, args.repositories)),
        user_cache_path("hybridize") / "repositories",
        store=None if args.fresh else Pieces(Path(args.out)),
    )
    found: list[Compared] = []
    try:
        for several in compare(chosen, options, lambda line: None if args.quiet else write(f"{line}\n")):
            found += several
            _write(found, chosen.name, Path(args.out))
    except KeyboardInterrupt:
        complain("interrupted: the table shows what was measured", label="note")
        return INTERRUPTED
    from hybridize.evaluate.programs_table import means

    for variant, words in means(found):
        write(f"{variant}: {words}\n")
    for each in found:
        if each.failure:
            write(f"not measured: {each.program} ({each.variant}): {each.failure}\n")
    write(f"{args.out}: start with {Path(args.out) / 'index.html'} or {Path(args.out) / 'tables.md'}\n")
    return SOMETHING if any(each.failure or not each.same for each in found) else NOTHING


def _write(found: list[Compared], name: str, out: Path) -> None:
    from hybridize.evaluate.output import write
    from hybridize.evaluate.programs_table import plot, programs_table

    out.mkdir(parents=True, exist_ok=True)
    write([programs_table(found)], plot(found, out / "speed-ups"), f"Programs: {name}", out)
