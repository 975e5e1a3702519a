"""The user's tests: a command, what becomes of each test where the command is pytest, and its exit code elsewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hybridize.guard import folder as guarded_folder
from hybridize.runtime.command import Ran, run
from hybridize.runtime.launch import Event, read_events

#: The command as a whole, in the place of a test's id.
WHOLE = ""
PLUGIN = Path(__file__).parent / "reporting" / "_hybridize_outcomes.py"
_PYTEST = frozenset({"pytest", "py.test"})
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_ENDS_WELL = (0, 1, 5)  # of pytest: all passed, some failed, there is none


@dataclass(frozen=True, slots=True)
class Test:
    """What became of a test.

    Attributes:
        outcome: `passed`, `skipped` or `failed`: also in its setup or teardown, or a module that cannot be collected.
        seconds: setup, call and teardown.
        message: the last line of the exception; empty where it did not fail.
        text: the traceback.
    """

    __test__ = False  # for pytest

    outcome: str
    seconds: float
    message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """A run of the command; `tests` by id, or None where only the exit code is known."""

    ran: Ran
    tests: Mapping[str, Test] | None = None

    @property
    def failed(self) -> frozenset[str]:
        """The tests that failed; `WHOLE` where the command as a whole did and none of them says why."""
        found = {name for name, test in (self.tests or {}).items() if test.outcome == "failed"}
        return frozenset(found or ([] if self.ran.code == 0 else [WHOLE]))

    @property
    def passed(self) -> frozenset[str]:
        """The tests that passed, or `WHOLE`."""
        if self.tests is None:
            return frozenset([WHOLE] if self.ran.code == 0 else [])
        return frozenset(name for name, test in self.tests.items() if test.outcome == "passed")

    @property
    def ended_well(self) -> bool:
        """Whether the command came to its own end: every test that it has was run."""
        return self.ran.code in _ENDS_WELL if self.tests is not None else self.ran.code is not None

    def message(self, test: str) -> str:
        """Why a test failed, in a line."""
        if self.tests is None or test == WHOLE:
            said = [line.strip() for line in _COLOUR.sub("", self.ran.tail).splitlines() if line.strip()]
            return f"{ending(self.ran)}{f': {said[-1]}' if said else ''}"
        return self.tests[test].message if test in self.tests else "it is not run any more"


def ending(ran: Ran) -> str:
    """How a command ended that did not end well: `exit code 3`, `killed by SIGSEGV`, `no end after 60 s`."""
    if ran.code is None:
        return f"no end after {ran.seconds:.0f} s"
    if ran.code >= 0:
        return f"exit code {ran.code}"
    try:
        return f"killed by {signal.Signals(-ran.code).name}"
    except ValueError:
        return f"killed by signal {-ran.code}"


@dataclass(slots=True)
class Suite:
    """A command line that runs tests.

    Attributes:
        command: as it is typed: words as a shell splits them, perhaps with variables (`NAME=value`) first.
        cwd: where it runs.
        by_test: whether outcomes of single tests can be read: a word of it is pytest, and the first run has told them.
    """

    command: str
    cwd: Path
    words: list[str] = field(init=False)
    environment: dict[str, str] = field(init=False)
    by_test: bool = field(init=False)
    _told: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        words = shlex.split(self.command)
        self.environment = {}
        while words and (match := _VARIABLE.fullmatch(words[0])):
            self.environment[match[1]] = match[2]
            words.pop(0)
        if not words:
            raise ValueError("no command")
        self.words = words
        self.by_test = any(os.path.basename(word) in _PYTEST for word in words)

    def run(self, timeout: float | None = None, only: Collection[str] | None = None) -> Results:
        """Runs the tests, or `only` some of them where they can be told apart.

        Raises:
            CommandError: there is no such command.
            KeyboardInterrupt: the user wants us to stop.
        """
        if not self.by_test:
            return Results(run(self.words, self.cwd, self.environment, timeout))
        with guarded_folder("hybridize-") as folder:
            outcomes = Path(folder) / "outcomes.jsonl"
            environment = {**self.environment, **self._reporting(outcomes)}
            shutil.copy(PLUGIN, folder)  # nothing is compiled into our own folders
            if only is not None:
                tests = Path(folder) / "tests.json"
                tests.write_text(json.dumps(sorted(only)), encoding="utf-8")
                environment["HYBRIDIZE_TESTS"] = str(tests)
            ran = run(self.words, self.cwd, environment, timeout)
            events = list(read_events(outcomes))
        if not events and not self._told:
            # Something between us and pytest keeps its environment to itself.
            self.by_test = False
            return self.run(timeout)
        self._told = True
        return Results(ran, _tests(events, ran))

    def _reporting(self, outcomes: Path) -> dict[str, str]:
        """The variables that load the plugin."""

        def known(name: str) -> str:
            return self.environment.get(name, os.environ.get(name, ""))

        path, options = known("PYTHONPATH"), known("PYTEST_ADDOPTS")
        return {
            "HYBRIDIZE_OUTCOMES": str(outcomes),
            "PYTHONPATH": f"{path}{os.pathsep}{outcomes.parent}" if path else str(outcomes.parent),
            "PYTEST_ADDOPTS": f"-p {PLUGIN.stem} {options}".strip(),
        }


def _tests(events: list[Event], ran: Ran) -> dict[str, Test]:
    """The tests by id; one that was begun and never ended is what the process ended in."""
    tests: dict[str, Test] = {}
    begun: dict[str, None] = {}
    for event in events:
        if event["event"] == "test":
            begun[event["id"]] = None
        elif event["event"] == "report":
            name, when = event["id"], event["when"]
            if when not in ("setup", "call"):
                begun.pop(name, None)
            # The plug-ins that run failed tests again begin with the setup.
            before = None if when == "setup" else tests.get(name)
            tests[name] = _with_phase(before, event)
    for name in begun:
        if tests.get(name) is None or tests[name].outcome != "failed":
            tests[name] = Test("failed", 0.0, f"the tests ended in it: {ending(ran)}")
    return tests


def _with_phase(before: Test | None, event: Event) -> Test:
    """A test after one more of its phases."""
    outcome, seconds = str(event["outcome"]), float(event["seconds"])
    message, text = str(event.get("message", "")), str(event.get("text", ""))
    if before is None:
        # Only the call says that a test passed; until then nothing is known against it.
        return Test(outcome, seconds, message, text)
    seconds += before.seconds
    if before.outcome in ("failed", "skipped") and outcome != "failed":
        return Test(before.outcome, seconds, before.message, before.text)
    if before.outcome == "failed":
        message, text = before.message, before.text
    return Test(outcome, seconds, message, text)
