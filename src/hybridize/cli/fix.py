"""`hybridize fix`: makes the changes in place, or shows them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from hybridize.cli.errors import ERROR, NOTHING, SOMETHING, UsageError
from hybridize.cli.options import (
    add_config_options,
    add_output_options,
    add_paths,
    add_verbosity,
    add_verification,
)
from hybridize.records import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.cli.changes import FileChanges
    from hybridize.config import Config
    from hybridize.decide.model import FunctionReport, Report
    from hybridize.repairing import Repaired

_EPILOG = "Exit code 0: all is done, 1: something is left (with --diff: there is something to change), 2: an error."


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "fix",
        help="make the changes, or show them (--diff)",
        description="Makes the changes that `hybridize check` proposes: decorators, imports, and the repairs that "
        "unlock them. Repairs that are not provably the same need --unsafe-fixes.",
        epilog=_EPILOG,
    )
    add_paths(parser)
    parser.add_argument("--diff", action="store_true", help="show the changes and write nothing")
    parser.add_argument(
        "--only",
        action="append",
        metavar="FUNCTION",
        help="only this function, by name, FILE or FILE:LINE; repeatable, or names with commas between",
    )
    parser.add_argument("--unsafe-fixes", action="store_true", help="repairs that are not provably the same, too")
    parser.add_argument(
        "-i", "--interactive", action="store_true", help="one change at a time: its diff, its reason, and a question"
    )
    add_output_options(parser, ("full", "concise", "json"))
    add_verbosity(parser)
    add_config_options(parser)
    group = parser.add_argument_group("keep only what a run of your program confirms (this executes user code)")
    group.add_argument(
        "--verify",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT [ARGUMENT...]",
        help="run it (or -m MODULE, --pytest ARGUMENTS) as `verify` does; only what is equal and not slower is changed",
    )
    add_verification(group)
    group = parser.add_argument_group("keep only what your tests allow (this executes user code)")
    group.add_argument(
        "--verify-with",
        metavar="COMMAND",
        help='run the tests before and after (such as "pytest -q"), and take back the changes that break one',
    )
    group.add_argument(
        "--verify-timeout",
        type=float,
        metavar="SECONDS",
        help="end the command after so long (default: 5 times what it took before the changes, and a minute)",
    )
    group.add_argument("--verify-runs", type=int, metavar="N", help="run the command so many times at most (50)")


def run(args: argparse.Namespace) -> int:
    """Analyze, repair in memory, plan, then write or show."""
    from hybridize.cli.changes import Outcome, with_withheld, write_fixes
    from hybridize.cli.explain import named
    from hybridize.cli.fix_report import render
    from hybridize.cli.output import deliver
    from hybridize.cli.safeguard import check_arguments, put_back, safeguard
    from hybridize.cli.session import configure, paths_of, run_analysis, selected

    if args.interactive and (args.diff or args.output_format != "full" or args.output_file):
        raise UsageError("--interactive goes with neither --diff nor another output")
    check_arguments(args)
    paths = paths_of(args)
    put_back(args, paths)
    config = configure(args, paths)
    report = run_analysis(paths, config)
    chosen = named(selected(report, config), args.only)
    if args.interactive:
        from hybridize.cli.interactive import choose

        accepted = choose(args, paths, config, report, chosen)
        chosen = None if accepted is None else frozenset(accepted)
    plan = plan_of(args, paths, config, report, chosen)
    withheld: list[tuple[FunctionReport, str]] = []
    if args.verify is not None:
        kept, withheld = _verified(args, plan.report, planned(plan.report, plan.chosen), plan.repaired.contents)
        made = plan.repaired.made
        names = frozenset(kept) | {made[each] for each in kept if each in made}
        plan = plan_of(args, paths, config, report, names)  # what a conversion needs that is not made is not, either
    trial = None
    if args.verify_with is not None:
        plan, trial = safeguard(args, plan, lambda names: plan_of(args, paths, config, report, names))
        withheld = trial.withheld
    files = with_withheld(plan.files, withheld, plan.lines)
    if not args.diff and trial is None:
        files = write_fixes(files, report.project.root)
    shown = plan.chosen if args.only or args.interactive else None
    deliver(render(plan.report, files, plan.repaired, args, shown, trial), args.output_file)
    outcomes = [change.outcome for file in files for change in file.changes]
    if report.missing:
        return ERROR
    left = Outcome.REFUSED in outcomes or bool(report.errors) or any(file.error for file in files)
    return SOMETHING if left or (args.diff and (Outcome.DONE in outcomes or plan.repaired.done)) else NOTHING


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for some functions: the repairs, the report after them, and all changes by file.

    `chosen` are the ids of the functions (None: all), those that repairs make included; `lines` are the places of all
    functions before anything was repaired.
    """

    repaired: Repaired
    report: Report
    chosen: frozenset[str] | None
    files: list[FileChanges]
    lines: Mapping[str, int]


def plan_of(
    args: argparse.Namespace, paths: Sequence[str], config: Config, report: Report, chosen: frozenset[str] | None
) -> Plan:
    """The changes for some functions (ids) or all, as the options want them; nothing is written."""
    from hybridize.cli.changes import plan_fixes
    from hybridize.cli.mending import mend
    from hybridize.cli.session import selected

    repaired = mend(args, paths, config, report, chosen)
    final = selected(repaired.report, config, repaired.unlocked)
    chosen = with_parts(repaired, chosen)
    functions = None if chosen is None else [f for f in final.functions if f.facts.id in chosen]
    lines = {function.facts.id: function.facts.line for function in report.functions}
    return Plan(repaired, final, chosen, plan_fixes(final, functions, repaired.contents, lines), lines)


def with_parts(repaired: Repaired, chosen: frozenset[str] | None) -> frozenset[str] | None:
    """The functions that were chosen (ids, None for all), with those that repairs made of parts of them."""
    if chosen is None:
        return None
    return chosen | {part for part, whole in repaired.made.items() if whole in chosen}


def _verified(
    args: argparse.Namespace, report: Report, functions: list[FunctionReport], contents: Mapping[str, bytes]
) -> tuple[list[str], list[tuple[FunctionReport, str]]]:
    """The ids of the conversions that a run of the program confirms, and the others, each with what is against it."""
    from hybridize.cli import programs
    from hybridize.cli.output import complain
    from hybridize.cli.verify import verify_program

    target = programs.target_in(args.verify)
    made = programs.conversions(report, functions, contents)
    ended, verdicts, _ = verify_program(args, report, made, target)
    if ended.reason != "exit" or ended.code:
        said = ended.reason if ended.reason != "exit" else f"exit code {ended.code}"
        complain(f"the program did not end well ({said}): what was seen until then counts", label="warning")
    kept = [v.function.facts.id for v in verdicts if v.objection is None]
    return [*kept, *(f.facts.id for f, _ in made.refused)], [(v.function, v.objection) for v in verdicts if v.objection]


def planned(report: Report, chosen: frozenset[str] | None) -> list[FunctionReport]:
    """The functions of a report that are to be changed, of those that were chosen."""
    from hybridize.decide.model import Action

    return [
        function
        for function in report.functions
        if function.decision.action is not Action.KEEP and (chosen is None or function.facts.id in chosen)
    ]
