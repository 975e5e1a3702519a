"""`hybridize verify`: runs the user's program with the planned conversions in memory, and compares eager and graph."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import ERROR, INTERRUPTED, NOTHING, SOMETHING, UsageError
from hybridize.cli.options import add_config_options, add_output_options, add_program, add_verbosity, add_verification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybridize.config import Config
    from hybridize.decide.model import Report
    from hybridize.fixing.memory import Conversions
    from hybridize.runtime.launch import Ended, Target
    from hybridize.runtime.verify import Verdict
    from hybridize.runtime.whole import Whole

_EPILOG = (
    "This runs your program, with all that it does to files and the network, and then again, converted, to see whether"
    " it ends the same (--once: it does not). What the first run prints comes out on stderr, the report on stdout."
    " No file of the project is changed. Exit code 0: what was compared is equal and no slower, 1: something differs,"
    " raises, keeps being traced or is slower, 2: an error: the program could not be run, did not end well or in"
    " time, or nothing could be compared."
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "verify",
        help="run a program (user code!) and compare eager and graph results of every converted function",
        description="Runs your program with the planned conversions applied in memory. The first calls of each"
        " converted function run eagerly and as a graph from the same state, and all that they do is compared.",
        epilog=_EPILOG,
    )
    parser.add_argument("--all", action="store_true", dest="everything", help="convert what should not be, too")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with the repairs that these allow, as `fix`")
    parser.add_argument(
        "--only", action="append", metavar="FUNCTION", help="only this function, by name, FILE or FILE:LINE; repeatable"
    )
    add_output_options(parser, ("full", "json"))
    add_verbosity(parser)
    add_config_options(parser)
    add_program(parser)
    add_verification(parser)


def run(args: argparse.Namespace) -> int:
    """Analyze, run, report."""
    from hybridize.cli import programs, verify_report
    from hybridize.cli.explain import named
    from hybridize.cli.output import complain, deliver, style_for
    from hybridize.cli.session import configure
    from hybridize.fixing.memory import conversions, everything
    from hybridize.fixing.planner import to_change
    from hybridize.report.paths import Places

    programs.check_limits(args)
    target = programs.target_of(args)
    paths = programs.paths_of(args, target)
    config = configure(args, paths)
    report, contents = _analyzed(args, paths, config)
    functions = everything(report) if args.everything else to_change(report)
    only = named(report, args.only)
    if only is not None:
        functions = [function for function in functions if function.facts.id in only]
    made = conversions(report, functions, contents)
    ended, verdicts, whole = verify_program(args, report, made, target)
    if args.output_format == "json":
        text = verify_report.as_json(verdicts, made, ended, whole, target)
    else:
        style = style_for(args.output_file)
        text = verify_report.as_text(
            verdicts,
            made,
            ended,
            whole,
            Places.of(report),
            style,
            timeout=args.timeout,
            quiet=args.quiet,
            verbose=args.verbose,
        )
    deliver(text, args.output_file)
    if ended.reason == "interrupted":
        return INTERRUPTED
    reason = _unproven(ended, verdicts, whole, args.timeout)
    if reason is not None:
        complain(reason)
    if whole.kind == "different" or any(v.failed or v.slower for v in verdicts):
        return SOMETHING
    return NOTHING if reason is None else ERROR


def _unproven(ended: Ended, verdicts: Sequence[Verdict], whole: Whole, timeout: float | None) -> str | None:
    """Why the report is no proof: the program did not end well, or nothing was compared; None if it is."""
    from hybridize.report.style import one_line
    from hybridize.report.words import counted
    from hybridize.runtime.ending import failure

    failed = failure(ended, timeout)
    if failed is not None:
        return f"the program {one_line(failed)}: only what it did until then was compared"
    if verdicts and whole.kind == "not compared" and not any(v.compared for v in verdicts):
        called = sum(v.kind != "not reached" for v in verdicts)
        told = f"it calls {called} of the {counted(len(verdicts), 'converted function')}"
        return f"nothing was compared: {told}, the whole program was not compared ({whole.reason})"
    return None


def _analyzed(args: argparse.Namespace, paths: list[str], config: Config) -> tuple[Report, Mapping[str, bytes]]:
    """The report after the repairs that `fix` would make, and the files that they change."""
    from hybridize.cli.session import planner_of, run_analysis

    report = run_analysis(paths, config)
    if args.everything:
        return report, {}
    fixes = planner_of(args, paths, config, report).plan()
    return fixes.report, fixes.repaired.contents


def verify_program(
    args: argparse.Namespace, report: Report, made: Conversions, target: Target
) -> tuple[Ended, list[Verdict], Whole]:
    """Runs the program with the conversions watched, then as a whole; raises UsageError where it can't be run."""
    import os
    import subprocess
    import sys

    from hybridize.cli.output import complain
    from hybridize.runtime.ending import failure
    from hybridize.runtime.launch import Launch, LaunchError, launch
    from hybridize.runtime.verify import judge, shadow_options
    from hybridize.runtime.whole import Comparison, Whole, again

    options = shadow_options(
        max_calls=max(1, args.max_calls),
        full=args.full,
        memory=args.memory << 20,
        call_seconds=args.call_timeout,
    )
    if not made.functions:
        complain("no function is converted: the program runs as it is", label="note")
    run = Launch(
        target,
        made.files,
        python=args.python or sys.executable,
        mode="shadow",
        options=options,
        functions=tuple(made.described()),
        own=(report.project.root,),
        environment={} if "PYTHONHASHSEED" in os.environ else {"PYTHONHASHSEED": "0"},
        timeout=args.timeout,
    )
    sys.stdout.flush()
    try:
        ended = launch(run, stdout=subprocess.DEVNULL if args.hide_output else sys.stderr)
    except LaunchError as error:
        raise UsageError(str(error)) from None
    if ended.reason == "missing":
        raise UsageError(f"{run.python} has no TensorFlow (--python names an interpreter that has it)")
    if not ended.of("start"):
        raise UsageError(f"the program could not be started by {run.python} ({failure(ended, args.timeout)})")
    verdicts = judge(made.functions, ended)
    if args.once or ended.reason != "exit" or not made.functions:
        return ended, verdicts, Whole("not compared", "it ran once")
    limit = max(60.0, 4 * ended.seconds) if args.timeout is None else args.timeout

    def run_again(left: frozenset[int], nudge: int) -> Ended:
        quiet = subprocess.DEVNULL
        return launch(again(run, left, nudge, limit), stdin=quiet, stdout=quiet, stderr=quiet)

    apart = bool(getattr(args, "everything", False))
    whole, verdicts = Comparison(ended, verdicts, run_again, args.full, apart).compare()
    return ended, verdicts, whole
