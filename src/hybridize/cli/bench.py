"""`hybridize bench`: the program as it is against the program with its conversions, measured."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridize.cli.errors import ERROR, INTERRUPTED, NOTHING, SOMETHING, UsageError
from hybridize.cli.options import add_config_options, add_interpreter, add_output_options, add_program
from hybridize.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.config import Config
    from hybridize.decide.model import FunctionReport
    from hybridize.evaluate.measuring import Result, Variant
    from hybridize.fixing.fixes import Fixes
    from hybridize.fixing.memory import Texts
    from hybridize.runtime.launch import Target

_EPILOG = (
    "Exit code 0: the same metrics and not significantly slower, 1: different, slower, failed or nothing to convert, "
    "2: an error. This runs the program, several times; no file is changed."
)
#: Decorator arguments that `--variants` also measures.
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "reduce_retracing": {"reduce_retracing": "True"},
    "jit_compile": {"jit_compile": "True"},
}
_SIGNATURE = "input_signature"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "bench",
        help="run a program as it is and converted, in turn: times, traces, metrics (runs user code)",
        description="Measures a program as it is and with the changes that `hybridize fix` would make, applied in "
        "memory: whole processes in turn, after a warm-up that also times the converted functions.",
        epilog=_EPILOG,
    )
    add_program(parser, tests=False)
    add_interpreter(parser)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds after the warm-up (default: 5)")
    parser.add_argument(
        "--variants", action="store_true", help="also reduce_retracing, jit_compile and the inferred input_signature"
    )
    parser.add_argument("--unsafe-fixes", action="store_true", help="with repairs that are not provably the same, too")
    parser.add_argument("--tolerance", type=float, default=0.05, help="of metrics, relative (default: 0.05)")
    parser.add_argument("--plot", metavar="FILE", help="write a picture there (.svg, .png, .pdf); needs matplotlib")
    add_output_options(parser, ("text", "json", "markdown", "latex"))
    level = parser.add_mutually_exclusive_group()
    level.add_argument("-q", "--quiet", action="store_true", help="no progress")
    level.add_argument("-v", "--verbose", action="store_true", help="the traceback of an internal error")
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Analyze, plan, measure, report."""
    from hybridize.cli.output import complain, deliver
    from hybridize.cli.programs import paths_of
    from hybridize.cli.session import configure, planner_of, run_analysis
    from hybridize.evaluate.bench_report import ended
    from hybridize.evaluate.measuring import ORIGINAL, REFACTORED, Settings, Variant, measure
    from hybridize.fixing.memory import unwatched
    from hybridize.runtime.launch import LaunchError

    _check(args)
    target = _target(args)
    paths = paths_of(args, target)
    config = configure(args, paths)
    report = run_analysis(paths, config)
    if report.missing:
        return ERROR
    fixes = planner_of(args, paths, config, report).plan()
    made = _texts(fixes)
    for function, reason in made.refused:
        complain(f"{function.facts.qualname} is not changed: {reason}", label="note")
    if not made.functions:
        complain("nothing to convert: there is nothing to compare", label="note")
        return SOMETHING
    variants = [Variant(ORIGINAL, (), made.before), Variant(REFACTORED, unwatched(made.after), made.after)]
    if args.variants:
        variants += _more(paths, config, fixes, made.functions)
    python = args.python or sys.executable
    own, functions = (report.project.root,), made.described()
    settings = Settings(target, python, args.runs, args.timeout, functions, own, tolerance=args.tolerance)
    try:
        result = measure(settings, variants, _Progress(args.quiet))
    except LaunchError as error:
        raise UsageError(str(error)) from None
    if result.original.warm_up is not None and result.original.warm_up.reason == "missing":
        raise UsageError(f"{python} has no TensorFlow (--python names an interpreter that has it)")
    deliver(_rendered(result, args.output_format), args.output_file)
    if result.original.failure is not None:
        complain(f"the program {ended(result.original.failure, args.timeout)}: there is nothing to compare with")
    if args.plot and result.original.runs:
        _plot(result, args.plot)
    return _code(result)


def _target(args: argparse.Namespace) -> Target:
    """The program that is meant; raises UsageError if none is, or it isn't there."""
    from hybridize.cli.programs import script_in
    from hybridize.runtime.launch import Target

    if args.module:
        return Target.module(args.module[0], args.module[1:])
    return script_in(args.program or [], "SCRIPT [ARGUMENT...] or -m MODULE [ARGUMENT...]")


def _check(args: argparse.Namespace) -> None:
    """What can be known to fail before anything is run."""
    from hybridize.cli.programs import check_limits

    if args.runs < 1:
        raise UsageError("--runs must be at least 1")
    check_limits(args)
    if args.tolerance < 0:
        raise UsageError("--tolerance must not be negative")
    if args.plot:
        from hybridize.evaluate.plot import FORMATS, available

        if not args.plot.endswith(FORMATS):
            raise UsageError(f"--plot writes {', '.join(FORMATS)}: {args.plot}")
        if not available():
            raise UsageError("--plot needs matplotlib, which is not installed")


def _texts(fixes: Fixes, functions: Sequence[FunctionReport] | None = None) -> Texts:
    """The files in memory for all decisions, or those on some functions."""
    from hybridize.fixing.memory import texts

    lines = {function.facts.id: function.facts.line for function in fixes.before.functions}
    return texts(fixes.report, functions, fixes.repaired.contents, lines)


def _variant(name: str, fixes: Fixes, functions: Sequence[FunctionReport]) -> Variant:
    """The program with other decisions on some functions."""
    from hybridize.evaluate.measuring import Variant
    from hybridize.fixing.memory import unwatched

    made = _texts(fixes, functions)
    return Variant(name, unwatched(made.after), made.after)


def _more(paths: Sequence[str], config: Config, fixes: Fixes, functions: Sequence[FunctionReport]) -> list[Variant]:
    """The same functions with other arguments of the decorator; what would change nothing is left out."""
    from hybridize.cli.session import analyze_again

    found = [
        _variant(name, fixes, [_with(f, arguments) if _hybrid(f) else f for f in functions])
        for name, arguments in _ARGUMENTS.items()
    ]
    signed = analyze_again(paths, replace(config, infer_input_signatures=True), fixes.repaired.contents)
    decisions = {f.facts.id: f.decision for f in signed.functions if _SIGNATURE in dict(f.decision.arguments)}
    changed = [replace(f, decision=decisions.get(f.facts.id, f.decision)) for f in functions]
    if [f.decision for f in changed] != [f.decision for f in functions]:
        found.append(_variant(_SIGNATURE, fixes, changed))
    return found


def _hybrid(function: FunctionReport) -> bool:
    from hybridize.decide.model import Action

    return function.decision.action is not Action.CONVERT_TO_EAGER


def _with(function: FunctionReport, arguments: Mapping[str, str]) -> FunctionReport:
    decision = function.decision
    merged = {**dict(decision.arguments), **arguments}
    return replace(function, decision=replace(decision, arguments=tuple(merged.items())))


class _Progress:
    """Lines on stderr."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def __call__(self, line: str) -> None:
        from hybridize.cli.output import write

        if not self.quiet:
            write(f"{line}\n", sys.stderr)
            sys.stderr.flush()


def _rendered(result: Result, form: str) -> str:
    from hybridize.evaluate.bench_report import text, to_json

    return to_json(result) if form == "json" else text(result, form)


def _plot(result: Result, file: str) -> None:
    from hybridize.evaluate.plot import save

    try:
        save(result, Path(file))
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {(error.strerror or os.fspath(file)).lower()}") from None


def _code(result: Result) -> int:
    """0 if the refactored program computes the same and is not significantly slower."""
    if result.interrupted:
        return INTERRUPTED
    original, refactored = result.variants[:2]
    if original.failure or not original.runs:
        return ERROR
    fine = result.same(refactored) and result.verdict(refactored, result.clock).word != "slower"
    return NOTHING if fine else SOMETHING
