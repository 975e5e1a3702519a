"""`hybridize evaluate`: its steps, and what they take."""

from __future__ import annotations

import argparse

from hybridize.cli import evaluate_corpus, evaluate_fixes, evaluate_programs, evaluate_simulate
from hybridize.cli.errors import ERROR
from hybridize.cli.options import OneOf
from hybridize.cli.parser import Parser

#: By the word behind `evaluate`; the first is meant where none is there.
_RUN = {
    "corpus": evaluate_corpus.run,
    "init": evaluate_corpus.init,
    "simulate": evaluate_simulate.run,
    "fixes": evaluate_fixes.run,
}
_CORPUS = (
    "What was found stays in DIR: a run that was cut off goes on. Exit code 0: all have a result, 1: some have none, "
    "2: an error."
)


def add_parser(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """The command's steps and their arguments."""
    parser = subparsers.add_parser(
        "evaluate",
        help="many projects, and the tables of the paper for them",
        description="Many projects, and the tables of the paper for them: `hybridize evaluate CORPUS` is short for "
        "`hybridize evaluate corpus CORPUS`.",
    )
    parser.steps = tuple(_RUN)
    steps = parser.add_subparsers(dest="step", metavar="STEP", title="steps", parser_class=Parser, prog=parser.prog)
    add = steps.add_parser("corpus", help="the tables of a corpus (this word may be left out)", epilog=_CORPUS,
                           description="Writes Tables V and VI for projects, or Table VII for programs.")  # fmt: skip
    add.add_argument(
        "corpus", metavar="CORPUS", help="a TOML file, or `paper` or `tensorflow-examples`, which are here"
    )
    _add_shared(add)
    add.add_argument("--reading", type=OneOf("paper", "ours", "both"), default="both", metavar="READING",
                     help="what counts as a candidate and as a failure: paper, ours, both")  # fmt: skip
    add.add_argument("--project", action="append", metavar="NAME", default=[], help="only this one (repeatable)")
    add.add_argument("--ablate", metavar="PARTS", default="", help="also without these parts of the analysis, "
                     "each for itself: speculation, hints, contexts, loops, models, index, or all")  # fmt: skip
    add.add_argument("--repairs", action="store_true", help="also try the repairs (several analyses more)")
    add.add_argument("--fresh", action="store_true", help="use nothing of what an earlier run has found")
    evaluate_programs.add_arguments(add)
    add = steps.add_parser("init", help="make a corpus file", description="Makes a first corpus file.")
    add.add_argument("folders", metavar="FOLDER", nargs="+", help="projects, folders of such, or files that list them")
    add.add_argument("--out", metavar="FILE", required=True, help="the corpus file")
    add = steps.add_parser("simulate", help="what more repositories would cost", description="Says what many "
                           "repositories would cost on many cores, by what `evaluate` has measured.")  # fmt: skip
    evaluate_simulate.add_arguments(add)
    add = steps.add_parser("fixes", help="what is said before and after changes of people", description="Checks the "
                           "trees before and after changes of hybridization by people, in a mined study.")  # fmt: skip
    add.add_argument("database", metavar="STUDY.db", help="what `hybridize study mine` has written")
    _add_shared(add)
    add.add_argument("--per-kind", type=int, default=0, metavar="N", help="draw at most so many (default: all)")
    add.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (0)")


def _add_shared(parser: Parser) -> None:
    parser.add_argument("--out", metavar="DIR", required=True, help="where results and tables go")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line for each result")
    parser.add_argument("--repositories", "--mirrors", action="append", metavar="FOLDER", default=[],
                        help="git clones, in which commits are looked for before they are fetched")  # fmt: skip
    group = parser.add_argument_group("how it is run")
    group.add_argument("--jobs", type=int, default=0, metavar="N", help="tasks at a time (default: one a processor)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, whose workers do it (tcp://HOST:PORT)")
    group.add_argument("--timeout", type=float, default=900, metavar="SECONDS", help="limit for one (900)")
    group.add_argument("--memory", type=int, default=8000, metavar="MB", help="limit for one (8000)")


def run(args: argparse.Namespace) -> int:
    """Run the step."""
    from hybridize.cli.output import complain, write
    from hybridize.evaluate.corpus import CorpusError
    from hybridize.evaluate.execution.model import ExecutionError
    from hybridize.evaluate.store import MissingError

    try:
        return _RUN[args.step](args)
    except (CorpusError, ExecutionError, MissingError) as error:
        complain(str(error))
        if isinstance(error, ExecutionError):
            write(f"what was found is kept in {args.out}: the same command goes on\n")
        return ERROR
