"""`hybridize fix`: makes the changes in place, or shows them."""

from __future__ import annotations

import argparse
import sys

from hybridize.cli.errors import ERROR, NOTHING, SOMETHING, UsageError
from hybridize.cli.options import (
    add_config_options,
    add_output_options,
    add_paths,
    add_stdin,
    add_verbosity,
    add_verification,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybridize.cli.safeguard import Trial
    from hybridize.decide.model import FunctionReport
    from hybridize.fixing.fixes import Fixes

_EPILOG = "Exit code 0: all is done, 1: something is left (with --diff: there is something to change), 2: an error."
_TESTS_FAILED = 1  # the exit code of pytest


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
    add_stdin(parser)
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
    parser.add_argument(
        "--json-schema", action="store_true", help="print the JSON schema of --output-format json, and nothing else"
    )
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
    from hybridize.cli.explain import named
    from hybridize.cli.output import deliver
    from hybridize.cli.safeguard import put_back, safeguard
    from hybridize.cli.session import (
        configure,
        given_of,
        paths_of,
        planner_of,
        reads_stdin,
        run_analysis,
        store_for_fixing,
    )
    from hybridize.report.select import selected

    if args.json_schema:
        from hybridize.report.json_report import FIX_SCHEMA, schema_text

        deliver(schema_text(FIX_SCHEMA), args.output_file)
        return NOTHING
    _check(args)
    paths, stdin = paths_of(args), reads_stdin(args)
    put_back(args, paths)
    config = configure(args, paths)
    given, store = given_of(args), store_for_fixing(config)
    report = run_analysis(paths, config, given=given, store=store)
    chosen = named(selected(report, config), args.only)
    planner = planner_of(args, paths, config, report, given=given, store=store)
    if args.interactive:
        from hybridize.cli.interactive import choose

        accepted = choose(planner, chosen)
        chosen = None if accepted is None else frozenset(accepted)
    fixes = planner.plan(chosen)
    withheld: list[tuple[FunctionReport, str]] = []
    if args.verify is not None:
        kept, withheld = _verified(args, fixes)
        made = fixes.repaired.made
        names = frozenset(kept) | {made[each] for each in kept if each in made}
        fixes = planner.plan(names)  # what a conversion needs that is not made is not, either
    trial = None
    if args.verify_with is not None:
        fixes, trial = safeguard(args, fixes, planner.plan)
        withheld = trial.withheld
    fixes = fixes.withhold(withheld)
    if not args.diff and trial is None and not stdin:
        fixes = fixes.write()
    if stdin and not args.diff:
        _to_stdout(fixes, given)
    _tell(fixes, args, trial, beside=stdin and not args.diff)
    if report.missing:
        return ERROR
    return SOMETHING if not fixes.complete or (args.diff and fixes.changed) else NOTHING


def _tell(fixes: Fixes, args: argparse.Namespace, trial: Trial | None, *, beside: bool) -> None:
    """Say what was done; on standard error where the program itself is on standard output (`beside`)."""
    from hybridize.cli.fix_report import render
    from hybridize.cli.output import deliver, write

    text, said = render(fixes, args, fixes.functions if args.only or args.interactive else None, trial)
    if beside and args.output_file is None:
        write(text, sys.stderr)
    else:
        deliver(text, args.output_file)
    if said:
        sys.stdout.flush()  # the summary stands below the diff
        write(said, sys.stderr)


def _check(args: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together."""
    from hybridize.cli.programs import check_limits
    from hybridize.cli.safeguard import check_arguments
    from hybridize.cli.session import reads_stdin

    if args.interactive and (args.diff or args.output_format != "full" or args.output_file):
        raise UsageError("--interactive goes with neither --diff nor another output")
    check_arguments(args)
    check_limits(args)
    if reads_stdin(args) and (args.interactive or args.verify is not None or args.verify_with is not None):
        raise UsageError("a text on stdin goes with none of --interactive, --verify and --verify-with")


def _to_stdout(fixes: Fixes, given: Mapping[str, bytes]) -> None:
    """The text that came from stdin as the changes make it, whether there are any or not."""
    for data in (*fixes.contents.values(), *given.values())[:1]:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _verified(args: argparse.Namespace, fixes: Fixes) -> tuple[list[str], list[tuple[FunctionReport, str]]]:
    """The ids of the conversions that a run of the program confirms, and the others, each with what is against it."""
    from hybridize.cli import programs
    from hybridize.cli.output import complain
    from hybridize.cli.verify import verify_program
    from hybridize.fixing.memory import conversions
    from hybridize.fixing.planner import to_change
    from hybridize.runtime.ending import failure

    target = programs.target_in(args.verify)
    made = conversions(fixes.report, to_change(fixes.report, fixes.functions), fixes.repaired.contents)
    ended, verdicts, _ = verify_program(args, fixes.report, made, target)
    failed = failure(ended, args.timeout)
    if failed is not None:
        # What a limit of time cuts off was asked for, and some failing tests are no reason to distrust the others.
        if ended.reason != "timeout" and not (target.name == "pytest" and ended.code == _TESTS_FAILED):
            raise UsageError(f"the program {failed}: nothing is changed")
        complain(f"the program {failed}: what was seen until then counts", label="warning")
    kept = [v.function.facts.id for v in verdicts if v.objection is None]
    return [*kept, *(f.facts.id for f, _ in made.refused)], [(v.function, v.objection) for v in verdicts if v.objection]
