"""`fix --verify-with COMMAND`: the project's tests say which changes stay."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hybridize.cli.errors import UsageError
from hybridize.cli.output import complain
from hybridize.records import dataclass, replace
from hybridize.source.project import MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import FunctionReport
    from hybridize.fixing.fixes import Fixes
    from hybridize.rewrite.journal import Journal, Left
    from hybridize.rewrite.model import FileResult
    from hybridize.runtime.safeguard import Outcome, Suspect, TakenBack
    from hybridize.runtime.suite import Suite

#: What marks the top of a project.
_TOP = (*MARKS, ".hg")
_RUNS = 50
_SHOWN = 200  # characters of an exception's line


@dataclass(frozen=True, slots=True)
class Trial:
    """What the tests said of a plan: `outcome` None where there was nothing to try; what is not changed, and why."""

    command: str
    outcome: Outcome | None
    withheld: list[tuple[FunctionReport, str]]


class _Edited(Exception):
    """A file is not what was written there, or cannot be written any more; the text says which and why."""


def check_arguments(args: argparse.Namespace) -> None:
    """Raises UsageError for what does not go together."""
    if args.verify_with is None:
        for option, value in (("--verify-timeout", args.verify_timeout), ("--verify-runs", args.verify_runs)):
            if value is not None:
                raise UsageError(f"{option} needs --verify-with")
        return
    if args.diff:
        raise UsageError("--verify-with makes the changes to run the tests: it does not go with --diff")
    if args.verify is not None:
        raise UsageError("--verify-with and --verify do not go together")
    if args.verify_timeout is not None and not (args.verify_timeout > 0 and math.isfinite(args.verify_timeout)):
        raise UsageError("--verify-timeout is a number of seconds above 0")
    _suite(args)
    if args.verify_runs is not None and args.verify_runs < 2:
        raise UsageError("--verify-runs is 2 or more: before the changes, and after")


def put_back(args: argparse.Namespace, paths: Sequence[str]) -> None:
    """Restores what a run with --verify-with that was cut off has left changed; raises UsageError if one is at work."""
    from hybridize.rewrite.journal import recover

    if args.diff:
        refuse_unfinished(paths)
    journals = _journals(paths)
    for folder in journals:
        done, left = recover(folder)
        for place in done:
            complain(f"{place}: put back: a run that was cut off had left it changed", label="note")
        _tell(left)


def refuse_unfinished(paths: Sequence[str]) -> None:
    """Raises UsageError where a run with --verify-with is at work, or was cut off and has left files changed."""
    journals = _journals(paths)
    if journals:
        raise UsageError(f"{journals[0]}: a run that was cut off has left files changed; `fix` puts them back")


def _journals(paths: Sequence[str]) -> list[Path]:
    from hybridize.rewrite.journal import JournalError, find

    try:
        return find(Path(os.path.realpath(path)) for path in (".", *paths))
    except JournalError as error:
        raise UsageError(str(error)) from None


def safeguard(args: argparse.Namespace, plan: Fixes, plan_of: Callable[[frozenset[str]], Fixes]) -> tuple[Fixes, Trial]:
    """Makes the changes of a plan that break no test: what is left of the plan, written, and what the tests said.

    Args:
        args: the command line.
        plan: all that is to be done.
        plan_of: the plan for some functions (ids).
    """
    from hybridize.rewrite.journal import Journal, JournalError

    root = Path(plan.report.project.root).resolve()
    plan, withheld = _writable(plan, plan_of, root)
    if not any(file.result and file.result.changed for file in plan.files):
        return replace(plan, written=True), Trial(args.verify_with, None, withheld)
    try:
        journal = Journal.open(_home(root))
    except JournalError as error:
        raise UsageError(str(error)) from None
    if not args.quiet:
        kept = f"the originals are in {journal.folder} until the tests have ended"
        complain(f"{kept}; if this is cut off, the next `hybridize fix` puts them back", label="note")
    with _put_back_unless_done(journal):
        tree = _Tree(journal, root, plan, plan_of)
        outcome = _tried(args, tree)
        for place in journal.edited():
            complain(f"{place}: edited while the tests ran, which may not have seen that", label="warning")
    taken = [(tree.changes[each.change], _reason(each)) for each in outcome.taken]
    return replace(tree.plan, written=True), Trial(args.verify_with, outcome, [*withheld, *taken])


def _home(root: Path) -> Path:
    """Where the originals are kept: at the top of the project, so that any later run in it finds them."""
    top = next((p for p in (root, *root.parents) if any((p / mark).exists() for mark in _TOP)), None)
    if top is not None and os.access(top, os.W_OK):
        return top
    here = Path.cwd().resolve()
    return here if here in root.parents and os.access(here, os.W_OK) else root


def _writable(
    plan: Fixes, plan_of: Callable[[frozenset[str]], Fixes], root: Path
) -> tuple[Fixes, list[tuple[FunctionReport, str]]]:
    """The plan without what needs files that cannot be written, and the functions left for that, with the reasons."""
    from hybridize.rewrite.files import obstacle

    results = [file.result for file in plan.files if file.result is not None and file.result.changed]
    blocked = {str(r.path): reason for r in results if (reason := obstacle(root / r.path, r.original)) is not None}
    if not blocked:
        return plan, []
    changes = _changes(plan)
    withheld = []
    for function in changes.values():
        needs = {
            edit.path for each, names in plan.repaired.done if function.facts.qualname in names for edit in each.edits
        }
        reason = next((blocked[path] for path in (function.facts.path, *sorted(needs)) if path in blocked), None)
        if reason is not None:
            withheld.append((function, f"not written: {reason}"))
    left = {function.facts.id for function, _ in withheld}
    return plan_of(frozenset(changes.keys() - left)), withheld


class _Tree:
    """The files of the project as the plans for some changes make them."""

    def __init__(self, journal: Journal, root: Path, plan: Fixes, plan_of: Callable[[frozenset[str]], Fixes]) -> None:
        self.plan = plan
        self.changes = _changes(plan)
        self._journal, self._root, self._plan_of = journal, root, plan_of
        self._known = {frozenset(self.changes): plan}

    def make(self, names: frozenset[str]) -> None:
        """Puts the files into the state where the changes for these functions (ids) are made, and no others."""
        if names not in self._known:
            self._switch([])  # what is planned is planned for the files as they were
            self._known[names] = self._plan_of(names)
        self.plan = self._known[names]
        self._switch([file.result for file in self.plan.files if file.result is not None])

    def _switch(self, results: list[FileResult]) -> None:
        for path, reason in self._journal.switch(results, self._root).items():
            raise _Edited(f"{path}: {reason}")


def _tried(args: argparse.Namespace, tree: _Tree) -> Outcome:
    """What the tests say of all changes of a tree, which is left with those that are kept."""
    from hybridize.runtime.command import CommandError
    from hybridize.runtime.safeguard import Safeguard, Unfit

    say = (lambda text: None) if args.quiet else (lambda text: complain(text, label="tests"))
    guard = Safeguard(_suite(args), tree.make, args.verify_runs or _RUNS, args.verify_timeout, say)
    functions = tree.changes
    worth = sorted(functions, key=lambda name: -(functions[name].decision.benefit or 0.0))
    try:
        return guard.keep(worth, {name: _suspect(function) for name, function in functions.items()})
    except (_Edited, CommandError, Unfit) as error:
        raise UsageError(f"{error}: nothing is changed") from None


def _suite(args: argparse.Namespace) -> Suite:
    """The tests as the command line names them; raises UsageError if that is no command."""
    from hybridize.runtime.suite import Suite

    try:
        return Suite(args.verify_with, Path.cwd())
    except ValueError as error:
        raise UsageError(f"--verify-with: {args.verify_with!r}: {str(error).lower()}") from None


def _changes(plan: Fixes) -> dict[str, FunctionReport]:
    """The functions (by id) that can be changed or not, each by itself; what repairs make of one belongs to it."""
    from hybridize.fixing.changes import Outcome

    made = plan.repaired.made
    names = [c.function.facts.id for file in plan.files for c in file.changes if c.outcome is Outcome.DONE]
    names += sorted(plan.repaired.unlocked)
    wholes = dict.fromkeys(made.get(name, name) for name in names)
    functions = {function.facts.id: function for function in plan.report.functions}
    return {name: functions[name] for name in wholes if name in functions}


def _suspect(function: FunctionReport) -> Suspect:
    from hybridize.runtime.safeguard import Suspect

    return Suspect(function.facts.path.replace(os.sep, "/"), function.facts.qualname.rpartition(".")[2])


def _reason(taken: TakenBack) -> str:
    """Why a change was taken back, in a line."""
    message = taken.message if len(taken.message) <= _SHOWN else f"{taken.message[: _SHOWN - 1]}…"
    if not taken.tests:
        return f"taken back: {message}"
    first = _test(taken.tests[0])
    more = f" and {len(taken.tests) - 1} more" if len(taken.tests) > 1 else ""
    return f"taken back: breaks {first}{more}: {message}"


@contextmanager
def _put_back_unless_done(journal: Journal) -> Iterator[None]:
    """Whatever ends this, but for its own end, puts the files back; SIGTERM and SIGHUP end it as Ctrl-C does."""
    ended: list[int] = []

    def end(number: int, frame: object) -> None:
        ended.append(number)
        raise KeyboardInterrupt

    numbers = [n for name in ("SIGTERM", "SIGHUP") if (n := getattr(signal, name, None)) is not None]
    before = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
    before |= {number: signal.signal(number, end) for number in numbers}
    try:
        yield
        journal.close()
    except BaseException as error:
        for number in before:
            signal.signal(number, signal.SIG_IGN)  # nothing may cut off what comes now
        left = journal.restore()
        journal.close()
        _tell(left)
        if isinstance(error, KeyboardInterrupt):
            complain("interrupted: " + ("the other" if left else "all") + " files are as they were", label="note")
            if ended:
                sys.exit(128 + ended[0])
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(left: Sequence[Left]) -> None:
    for each in left:
        complain(f"{each.path}: not put back: {each.reason}; its original is {each.original}", label="warning")


def told(trial: Trial) -> list[str]:
    """The lines of the summary on what the tests said."""
    from hybridize.report.style import one_line
    from hybridize.report.words import counted

    outcome = trial.outcome
    if outcome is None:
        return []
    spent = f"{counted(outcome.runs, 'run')} of `{trial.command}` in {outcome.seconds:.0f} s"
    lines = [f"{_green(outcome)} ({spent})"]
    if outcome.flaky:
        names = ", ".join(one_line(_test(name)) for name in outcome.flaky)
        lines.append(f"flaky, no change is to blame: {names}")
    if outcome.slower is not None:
        slow = outcome.slower
        worst = ", ".join(f"{one_line(name)} by {loss:.1f} s" for name, loss in slow.worst)
        times = f"{slow.before:.1f} s before, {slow.after:.1f} s now"
        lines.append(f"warning: the tests that pass are {slow.part:.0%} slower ({times}){': ' if worst else ''}{worst}")
    return lines


def _green(outcome: Outcome) -> str:
    """What the last run says beside the first."""
    from hybridize.report.words import counted

    if outcome.before.tests is None:
        return "the command passes as before"
    failed, passed = len(outcome.before.failed), len(outcome.after.passed)
    verb = "does" if failed == 1 else "do"
    rest = f", {failed:,} that failed before the changes {verb} not count" if failed else ""
    return f"{counted(passed, 'test')} pass{'es' if passed == 1 else ''}{rest}"


def _test(name: str) -> str:
    from hybridize.runtime.suite import WHOLE

    return name if name != WHOLE else "the command"


def as_data(trial: Trial) -> dict[str, object] | None:
    """What the tests said, for JSON; null where there was nothing to try."""
    outcome = trial.outcome
    if outcome is None:
        return None
    slow = outcome.slower
    return {
        "command": trial.command,
        "by_test": outcome.before.tests is not None,
        "runs": outcome.runs,
        "seconds": round(outcome.seconds, 3),
        "limit_reached": outcome.limited,
        "passed_before": len(outcome.before.passed),
        "failed_before": sorted(outcome.before.failed),
        "passed": len(outcome.after.passed),
        "taken_back": [
            {"function": each.change, "tests": list(each.tests), "message": each.message} for each in outcome.taken
        ],
        "flaky": list(outcome.flaky),
        "slower": slow and {"before": round(slow.before, 3), "after": round(slow.after, 3), "worst": dict(slow.worst)},
    }
