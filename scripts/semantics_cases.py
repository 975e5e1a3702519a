"""The scoreboard on a folder of semantics cases: what TensorFlow does, by our harness, and what the tool decides.

    python scripts/semantics_cases.py FOLDER [--python PATH ...]   our outcomes against the recorded classes
    python scripts/semantics_cases.py FOLDER --check                the static tool's decisions against the classes

    python scripts/semantics_cases.py FOLDER --label --python PATH --python PATH

A folder has `cases.jsonl`, one case a line, with the programs beside it: `ID.py`, or blocks in `*.cases` files, each
after a line `#### id | category | title | decorator | outer` (the last two optional), without the import of TensorFlow.
`--label` writes the `cases.jsonl` of such a folder from what the harness sees.
`--record FILE` writes what the harness saw; `--check` reads it again (`--recorded FILE`): who had a tensor argument.
A comment `# cause` ends the lines of a misbehaving program of which any is the true cause, as a reader judged (or
`cause`, a list of lines, in the recorded rows): `--check` counts who is told one of them.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness import ForkServer, Kind, Program, TargetError, add_decorator, lexical_path
from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport, Report, Severity
from hybridize.facts.model import Evidence

CLASSES = {"SAFE": Kind.SAFE, "ERROR": Kind.RAISES, "WRONG-SILENT": Kind.DIFFERS, "RETRACE": Kind.RETRACES}
UNSAFE = ("ERROR", "WRONG-SILENT")
#: Statuses that say what a function has not, rather than what in it would misbehave.
CONDITIONS = frozenset(("no-tensor-parameter", "no-tensor-computation", "primitive-parameter"))

#: Folders of the machine that a message names: they are not written down.
_FOLDERS = re.compile(r'(["\s(])/(?:[^\s"\\/]+/)+')


@dataclass(frozen=True, slots=True)
class Case:
    """One program and what was recorded about it, by TensorFlow version (`215`, `221`)."""

    name: str
    category: str
    title: str
    source: str
    decorator: str
    outermost: bool
    classes: dict[str, str]
    detail: str
    tensors: bool | None
    causes: frozenset[int]

    @property
    def plain(self) -> bool:
        """Whether the recorded class is about what `fix` would write: `@tf.function` where it puts it."""
        return self.decorator == "tf.function" and not self.outermost

    def program(self) -> Program:
        """The case for the harness."""
        return Program.single(self.source, "target", decorator=self.decorator, outermost=self.outermost)


def read_cases(folder: Path, recorded: Path | None = None) -> list[Case]:
    """The cases of a folder, with what an earlier run recorded about their arguments."""
    seen = {row["id"]: row for row in _rows(recorded)} if recorded is not None else {}
    blocks = {row["id"]: row for path in sorted(folder.glob("*.cases")) for row in read_blocks(path)}
    rows = {row["id"]: row for row in _rows(folder / "cases.jsonl")}
    cases = []
    for name in blocks or rows:
        row = {**blocks.get(name, {}), **rows.get(name, {})}
        source = row.get("source") or (folder / f"{name}.py").read_text(encoding="utf-8")
        classes = {key.removeprefix("class_"): row[key] for key in row if key.startswith("class_")}
        tensors = seen.get(name, row).get("tensors")
        causes = frozenset(seen.get(name, row).get("cause", ())) or marked(source)
        place, hybrid = row.get("place", "inner") == "outer", row.get("hybrid", "tf.function")
        title, detail = row.get("title", ""), row.get("detail_221", "")
        cases.append(Case(name, row["category"], title, source, hybrid, place, classes, detail, tensors, causes))
    return cases


def marked(source: str) -> frozenset[int]:
    """The lines that end with `# cause`."""
    return frozenset(i for i, line in enumerate(source.splitlines(), 1) if line.endswith("# cause"))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def read_blocks(path: Path) -> Iterator[dict[str, Any]]:
    """The programs of a `*.cases` file."""
    for block in path.read_text(encoding="utf-8").split("#### ")[1:]:
        head, _, body = block.partition("\n")
        name, category, title, *more = (part.strip() for part in head.split(" | "))
        row = {"id": name, "category": category, "title": title, "source": "import tensorflow as tf\n" + body}
        if more:
            row["hybrid"] = more[0]
        if more[1:]:
            row["place"] = more[1]
        yield row


def label(folder: Path, cases: list[Case], pythons: list[str]) -> None:
    """Writes `cases.jsonl` from the harness's outcomes under each interpreter; who isn't among the cases stays."""
    known = {row["id"]: row for row in _rows(folder / "cases.jsonl")}
    order = [row["id"] for path in sorted(folder.glob("*.cases")) for row in read_blocks(path)]
    rows: dict[str, dict[str, Any]] = {name: known.get(name, {"id": name}) for name in order}
    rows.update((case.name, {"id": case.name}) for case in cases)
    names = {kind: name for name, kind in CLASSES.items()}
    for python in pythons:
        with ForkServer(python) as server:
            version = "".join(server.versions["tensorflow"].split(".")[:2])
            for case, outcome in zip(cases, server.prove_all(case.program() for case in cases), strict=True):
                row = rows[case.name]
                row[f"class_{version}"] = names.get(outcome.kind, "FAILED")
                row["tensors"] = row.get("tensors", False) or any(f.tensors for f in outcome.functions)
                if version == "221" or outcome.kind is Kind.FAILED:
                    row["detail_221"] = _FOLDERS.sub(r"\1<path>/", str(outcome))[:300]
    text = "".join(json.dumps(row) + "\n" for row in rows.values())
    (folder / "cases.jsonl").write_text(text, encoding="utf-8")


def run(cases: list[Case], python: str, show_all: bool, record: Path | None) -> None:
    """Prints where our harness and the record differ, under one interpreter."""
    with ForkServer(python) as server:
        version = "".join(server.versions["tensorflow"].split(".")[:2])
        print(f"## TensorFlow {server.versions['tensorflow']}, Keras {server.versions['keras']}")
        table: Counter[tuple[str, str]] = Counter()
        rows = []
        started = time.perf_counter()
        for case, outcome in zip(cases, server.prove_all(case.program() for case in cases), strict=True):
            expected = case.classes.get(version, "?")
            table[expected, outcome.kind.value] += 1
            rows.append(
                {"id": case.name, "kind": outcome.kind.value, "tensors": any(f.tensors for f in outcome.functions)}
            )
            if show_all or CLASSES.get(expected) != outcome.kind:
                mark = " " if CLASSES.get(expected) == outcome.kind else "!"
                print(f"{mark} {case.name}: recorded {expected}, ours {outcome}\n      {case.detail[:200]}")
        seconds = time.perf_counter() - started
    right = sum(n for (theirs, ours), n in table.items() if CLASSES.get(theirs) == ours)
    print(f"{right} of {len(cases)} agree; {1000 * seconds / max(1, len(cases)):.0f} ms a case")
    for (theirs, ours), n in sorted(table.items()):
        print(f"  {theirs:13} {ours:9} {n}")
    if record is not None:
        record.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Checked:
    """What the tool says about a case's target: as it is, and with the decorator (None: it can't be put on)."""

    case: Case
    expected: str
    eager: FunctionReport | None
    hybrid: FunctionReport | None
    findings: tuple[tuple[Severity, str, frozenset[int]], ...]  # of the decorated program, with lines of the original

    @property
    def converted(self) -> bool:
        return self.eager is not None and self.eager.decision.action is Action.CONVERT_TO_HYBRID

    @property
    def passes(self) -> bool:
        return self.eager is not None and self.eager.decision.precondition == "P1"

    @property
    def has_tensor(self) -> bool:
        if self.case.tensors is not None:
            return self.case.tensors
        return self.eager is not None and self.eager.facts.tensor_parameter.value.value == "yes"

    def worst(self, *severities: Severity) -> bool:
        return any(s in severities for s, *_ in self.findings)

    @property
    def judged(self) -> bool:
        """Whether somebody said what line is the cause."""
        return self.expected in UNSAFE and bool(self.case.causes)

    @property
    def named(self) -> bool:
        """Whether it is kept, for a reason that a line of the cause is given for."""
        statuses = self.eager.statuses if self.eager is not None else ()
        told = [_lines(s.line, s.evidence) for s in statuses if s.name not in CONDITIONS]
        return not self.converted and any(lines & self.case.causes for lines in told)

    @property
    def found(self) -> bool:
        """Whether a finding gives a line of the cause."""
        return any(s is not Severity.INFO and lines & self.case.causes for s, _, lines in self.findings)


def check(cases: list[Case], version: str) -> list[Checked]:
    """The tool's answers, each case a project of its own."""
    config = Config(all_safe=True, tensorflow_version=f"{version[0]}.{version[1:]}")
    checked = []
    with tempfile.TemporaryDirectory() as name:
        for case in cases:
            path = lexical_path(case.source, "target")
            eager = _analyzed(Path(name) / case.name / "eager", case.source, config)
            try:
                text = case.source
                for decorator in case.decorator.split(";"):
                    text = add_decorator(text, path, decorator.strip(), outermost=case.outermost)
                hybrid = _analyzed(Path(name) / case.name / "hybrid", text, config)
            except TargetError:
                hybrid = None
                text = case.source
            report = _function(hybrid, path)
            findings = _findings(hybrid, report, _original_lines(case.source, text))
            checked.append(Checked(case, case.classes[version], _function(eager, path), report, findings))
    return checked


def _original_lines(original: str, decorated: str) -> dict[int, int]:
    """The lines of the decorated program as numbered in the original; a decorator's is that of what it decorates."""
    matcher = difflib.SequenceMatcher(None, original.splitlines(), decorated.splitlines(), autojunk=False)
    same = {b.b + i + 1: b.a + i + 1 for b in matcher.get_matching_blocks() for i in range(b.size)}
    last = 0
    for line in range(len(decorated.splitlines()), 0, -1):
        last = same.setdefault(line, last)
    return same


def _analyzed(folder: Path, source: str, config: Config) -> Report:
    folder.mkdir(parents=True)
    file = folder / "program.py"
    file.write_text(source, encoding="utf-8")
    return analyze([file], config)


def _function(report: Report | None, path: str) -> FunctionReport | None:
    functions = report.functions if report is not None else ()
    return next((f for f in functions if f.facts.qualname.replace("<locals>.", "") == path), None)


def _findings(
    report: Report | None, function: FunctionReport | None, lines: dict[int, int]
) -> tuple[tuple[Severity, str, frozenset[int]], ...]:
    """Findings anywhere in the program, and the target's own statuses of severity warning or error."""
    all_of = list(report.findings if report is not None else ())
    statuses = [s for s in function.statuses if s.severity is not Severity.INFO] if function is not None else []
    return tuple(
        (f.severity, f"{f.name}:{f.line}", frozenset(lines.get(n, 0) for n in _lines(f.line, f.evidence)))
        for f in (*all_of, *statuses)
    )


def _lines(line: int, evidence: Iterable[Evidence]) -> frozenset[int]:
    """The lines that a status or finding gives, its evidence included."""
    return frozenset((line, *(e.line for e in evidence)))


Measure = tuple[str, str, Callable[[Checked], bool], Callable[[Checked], bool], bool, float]

#: Title, short title, who is counted, who fails or passes, whether passing is good, and the goal.
MEASURES: tuple[Measure, ...] = (
    (
        "unsafe, converted (without decorator)",
        "unsafe converted",
        lambda c: c.case.plain and c.expected in UNSAFE,
        lambda c: c.converted,
        False,
        0.03,
    ),
    (
        "safe with a tensor argument, passing P1 (without decorator)",
        "safe pass P1",
        lambda c: c.case.plain and c.expected == "SAFE" and c.has_tensor,
        lambda c: c.passes,
        True,
        0.85,
    ),
    (
        "unsafe, told a line of the cause (without decorator)",
        "cause told",
        lambda c: c.case.plain and c.judged,
        lambda c: c.named,
        True,
        0.97,
    ),
    (
        "unsafe, found at a line of the cause (with decorator)",
        "cause found",
        lambda c: c.judged,
        lambda c: c.found,
        True,
        0.95,
    ),
    (
        "misbehaving, with a finding (with decorator)",
        "wrong found",
        lambda c: c.expected != "SAFE",
        lambda c: c.worst(Severity.ERROR, Severity.WARNING),
        True,
        0.95,
    ),
    (
        "safe, with an error (with decorator)",
        "safe accused",
        lambda c: c.expected == "SAFE",
        lambda c: c.worst(Severity.ERROR),
        False,
        0.03,
    ),
)


def scoreboard(checked: list[Checked]) -> None:
    """Prints the four measures, by category, and every failure with what the tool said."""
    categories = sorted({c.case.category for c in checked})
    width = max(len(c) for c in categories)
    for title, _, counted, hit, good, goal in MEASURES:
        among = [c for c in checked if counted(c)]
        hits = sum(map(hit, among))
        share = hits / max(1, len(among))
        met = "met" if (share >= goal if good else share <= goal) else "MISSED"
        bound = "at least" if good else "at most"
        print(f"{title:60} {hits:4} of {len(among):4} = {share:6.1%}   goal {bound} {goal:.0%}: {met}")
    print("\n" + " " * width, *(f"{m[1]:>18}" for m in MEASURES))
    for category in categories:
        cells = []
        for _, _, counted, hit, _, _ in MEASURES:
            among = [c for c in checked if c.case.category == category and counted(c)]
            cells.append(f"{sum(map(hit, among))}/{len(among)}" if among else "")
        print(f"{category:{width}}", *(f"{cell:>18}" for cell in cells))
    for title, _, counted, hit, good, _ in MEASURES:
        wrong = [c for c in checked if counted(c) and hit(c) is not good]
        print(f"\n# {'not ' if good else ''}{title}: {len(wrong)}")
        for c in wrong:
            print(f"  {c.expected:12} {c.case.name:34} {_said(c, title)}   | {c.case.title}")


def _said(checked: Checked, title: str) -> str:
    if "without" not in title:
        return ", ".join(f"{s.value} {text}" for s, text, _ in checked.findings) or "nothing"
    if checked.eager is None:
        return "function not found"
    decision = checked.eager.decision
    statuses = ", ".join(f"{s.name}:{s.line}" for s in checked.eager.statuses)
    return f"{decision.action.value} {statuses}".strip()


def main(arguments: Iterable[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", action="append", help="an interpreter with TensorFlow (repeatable)")
    parser.add_argument("--check", action="store_true", help="judge the static tool instead of TensorFlow")
    parser.add_argument("--label", action="store_true", help="write the outcomes as the folder's cases.jsonl")
    parser.add_argument("--tensorflow", default="221", help="whose classes --check takes: 215 or 221")
    parser.add_argument("--all", action="store_true", help="print cases that agree too")
    parser.add_argument("--only", default="", help="only cases whose name contains one of these, by commas")
    parser.add_argument("--record", type=Path, help="write the harness's outcomes to this file")
    parser.add_argument("--recorded", type=Path, help="read them from this file")
    options = parser.parse_args(None if arguments is None else list(arguments))
    cases = [
        c for c in read_cases(options.folder, options.recorded) if any(o in c.name for o in options.only.split(","))
    ]
    if options.label:
        label(options.folder, cases, options.python or [sys.executable])
        return
    if options.check:
        started = time.perf_counter()
        checked = check(cases, options.tensorflow)
        scoreboard(checked)
        print(f"\n{len(cases)} cases in {time.perf_counter() - started:.1f} s")
        return
    for python in options.python or [sys.executable]:
        run(cases, python, options.all, options.record)


if __name__ == "__main__":
    main()
