"""What a person reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hybridize.decide.model import Action, Decision, FileError, Finding, FunctionReport, ProjectInfo, Report, Severity
from hybridize.facts.evidence import tells
from hybridize.facts.model import Evidence, Fact, Hybridization, Mode, Ternary, Told
from hybridize.report.layout import Page
from hybridize.report.lines import count_line
from hybridize.report.style import Style
from hybridize.report.text_report import TextOptions, full
from hybridize.report.words import cause, change, compared, gain, reason, rests_on, sentence

from .samples import CLEAN, CONVERT, DEHYBRIDIZE, FINDING, KEEP, RECURSIVE, SAMPLE, facts, status

FULL = """\
TensorFlow 2.21, any from 2.0 to 2.21 (no file says which), Keras 2 or 3

Plan: 2 changes, best gain first
  1  trainer.py:42 Trainer.step
     add `@tf.function`: the graph is about 3.2 times as fast as eager code
     takes tensors (images, labels), no side effect or retracing (P1)
  2  util/names.py:7 label
     remove the decorator
     no tensor reaches it: its graph does nothing for it (P2)

error: broken.py:3: invalid syntax

Findings: 1 warning
warning TF301 leaked-tensor: a tensor of the trace leaves it
 --> util/names.py:8:5
  = fix: `hybridize fix --unsafe-fixes` may repair it

Kept as they are: 2 of 4 candidates
     1  H102 python-side-effects
     1  H201 covered

Total: 5 functions in 3 files: 4 candidates, 1 hybrid already; 1 finding, 1
  assumption (--assumptions), 1 error

Next:
  hybridize fix --diff             the changes as a diff
  hybridize explain trainer.py:42  why, step by step
  hybridize check --all            all functions and reasons
"""
LISTING = """\
trainer.py
    42  to hybrid    Trainer.step  P1: eager, tensor parameters (images,
             labels), no literal, no side effect, the graph is about 3.2 times
             as fast as eager code
    61  keep eager   Trainer.fit   eager, tensor parameters (images, labels), no
             literal, side effects
         H102 python-side-effects: appends to `self.losses` (line 88), through
             `log` -> `record`
    95  keep eager   Trainer.loss  P1 passes, left out: eager, tensor parameters
             (images, labels), no literal, no side effect
         H201 covered: all callers run as graphs

util/names.py
     7  to eager     label   P2: hybrid, no tensor parameter, primitive
             parameter (steps), no side effect
    30  keep eager   helper  eager, no tensor parameter, no literal, no side
             effect
"""


def show(report: Report, columns: int = 80, colour: bool = False, **options: Any) -> str:
    return full(report, str, TextOptions(page=Page(columns, Style(colour)), **options))


def plain(text: str) -> str:
    """On one line, wherever it was wrapped."""
    return " ".join(text.split())


def test_the_whole_text() -> None:
    assert show(SAMPLE) == FULL


def test_all_lists_every_function_with_its_reasons() -> None:
    assert "Trainer.fit" not in show(SAMPLE)
    assert LISTING in show(SAMPLE, everything=True)


def test_quiet_shows_only_what_there_is_to_do() -> None:
    text = show(SAMPLE, quiet=True)
    assert "Trainer.step" in text
    assert "label" in text
    assert "TF301" in text
    assert "broken.py:3" in text
    assert "Kept" not in text
    assert "Next" not in text
    assert show(CLEAN, quiet=True) == ""


def test_statistics_are_counts_alone() -> None:
    text = show(SAMPLE, statistics=True)
    assert "Trainer.step" not in text
    assert "     0  reconfigure" in text
    assert "5 functions in 3 files, 4.2 KLOC, 0.50 s: 4 candidates, 1 hybrid" in text
    assert "broken.py:3" in text


def test_only_statistics_tell_the_time() -> None:
    assert "0.50 s" not in show(SAMPLE, everything=True)


def test_nothing_to_do_is_said() -> None:
    assert "Plan: nothing to change\n" in show(CLEAN)
    nothing = Report(ProjectInfo("/project", 0, 0, 0.0))
    assert show(nothing).splitlines() == [  # of nothing that was read, neither a release nor a plan is told
        "Total: 0 functions in 0 files: 0 candidates, 0 hybrid already; 0 findings",
    ]


def test_verbose_shows_the_chain() -> None:
    text = show(SAMPLE, verbose=True, everything=True)
    assert "           - calls `record` (trainer.py:75)\n" in text
    grounds = (Evidence("`main` calls it with known values", "main.py", 3),)
    seen = replace(CONVERT, decision=replace(CONVERT.decision, grounds=grounds))
    assert "     - `main` calls it with known values (main.py:3)\n" in show(
        replace(SAMPLE, functions=(seen,)), verbose=True
    )


def test_no_colour_unless_asked() -> None:
    assert "\x1b" not in show(SAMPLE, everything=True)
    assert "\x1b[32madd `@tf.function`\x1b[0m: the graph" in show(SAMPLE, colour=True)


def test_colours_change_no_letter() -> None:
    import re

    coloured = show(SAMPLE, colour=True, everything=True, assumptions=True)
    assert re.sub(r"\x1b\[\d+m", "", coloured) == show(SAMPLE, everything=True, assumptions=True)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_lines_fit(columns: int) -> None:
    wide = [
        line
        for line in show(SAMPLE, columns, everything=True, assumptions=True).splitlines()
        if len(line) > columns and "hybridize " not in line  # commands are to be copied
    ]
    assert wide == []


def test_commands_repeat_the_paths_that_were_given() -> None:
    text = show(SAMPLE, paths=["my project", "gone"], columns=120)
    assert "hybridize fix --diff 'my project' gone " in text
    missing = replace(SAMPLE, missing=("gone",))
    assert "hybridize fix --diff 'my project'  " in show(missing, paths=["my project", "gone"], columns=120)


def test_assumptions_are_counted_or_listed() -> None:
    assert "1 assumption (--assumptions)" in plain(show(SAMPLE))
    assert "because of its name" not in show(SAMPLE)
    listed = plain(show(SAMPLE, assumptions=True))
    assert "Assumptions: 1 trainer.py:42 Trainer.step `labels` is a tensor because of its name" in listed
    assert "(--assumptions)" not in listed


def test_analyzed_code_cannot_steer_the_terminal() -> None:
    evil = Finding("TF1", "x", Severity.ERROR, "literal \x1b[2Jgone\nnext", "a.py", 1, 1, 1, 2)
    errors = (FileError("b\x07.py", 1, "bad\r\nline"),)
    text = show(replace(SAMPLE, functions=(), findings=(evil,), errors=errors))
    assert "literal \\x1b[2Jgone next" in text
    assert "b\\x07.py:1: bad line" in text


def planned(number: int, **changes: Any) -> FunctionReport:
    """A function to make hybrid, in a file of its own."""
    decision = Decision(Action.CONVERT_TO_HYBRID, "P1", (), 2.0 + number)
    return FunctionReport(replace(facts(f"m{number:02}:f{number}", 1), **changes), decision)


def test_the_plan_has_the_best_gain_first_and_tests_last() -> None:
    slow, fast, tested = planned(1), planned(9), planned(20, path="tests/test_m.py")
    removed = replace(DEHYBRIDIZE, decision=Decision(Action.CONVERT_TO_EAGER, "P2", (), 0.2))  # 5 times as fast
    unknown = FunctionReport(facts("a:g", 1), Decision(Action.RECONFIGURE, "P4", (), 30.0))
    text = show(replace(CLEAN, functions=(unknown, tested, slow, removed, fast)))
    assert "Plan: 5 changes, best gain first, tests last\n" in text
    names = [line.split()[2] for line in text.splitlines() if line[2:3].isdigit() and line[3:5] == "  "]
    assert names == ["f9", "label", "f1", "g", "f20"]


def test_a_long_plan_is_cut() -> None:
    short = show(replace(CLEAN, functions=tuple(map(planned, range(20)))))
    assert " 20  m00.py:1 f0" in short
    long = replace(CLEAN, functions=tuple(map(planned, range(21))))
    assert "  ... and 11 more changes (--all)\n" in show(long)
    assert " 21  m00.py:1 f0" in show(long, everything=True)


def test_a_gain_names_both_sides_and_the_faster_first() -> None:
    assert compared(5.84) == "the graph is about 5.8 times as fast as eager code"
    assert compared(0.25) == "eager code is about 4.0 times as fast as the graph"
    assert compared(1.03) == "the graph is about 3% faster than eager code"
    assert compared(1.01) == "the graph is about as fast as eager code"
    assert compared(0.0) == "eager code is many times as fast as the graph"
    assert gain(KEEP) is None
    faster = FunctionReport(DEHYBRIDIZE.facts, Decision(Action.CONVERT_TO_EAGER, "P3", (), 3.0))
    assert gain(faster) is None  # what is saved is tracing, which no figure tells


def test_the_cause_of_a_change() -> None:
    met = Fact(Ternary.YES, (tells(Told.RECEIVES, "a.py", 3, "n", "a Python int that differs from call to call"),))
    retraced = FunctionReport(facts("a:f", 1, retraces=met), Decision(Action.CONVERT_TO_EAGER, "P3"))
    assert cause(retraced) == "`n` receives a Python int that differs from call to call: each is traced anew (P3)"
    idle = FunctionReport(facts("a:f", 1), Decision(Action.CONVERT_TO_EAGER, "P6"))
    assert cause(idle) == "computes nothing with TensorFlow (P6)"


def information(line: int, code: str = "TF1", path: str = "a.py") -> Finding:
    return Finding(code, "odd", Severity.INFO, f"is odd on {line}", path, line, 1, line, 2)


def test_information_is_counted_by_rule() -> None:
    several = (information(3), information(4), information(5, "TF2"))
    text = show(replace(CLEAN, findings=several))
    assert "Information: 3 findings, by rule (--all shows the source)\n" in text
    assert "     2  TF1 odd: is odd on 3 (a.py:3 and 1 more)\n     1  TF2 odd: is odd on 5 (a.py:5)\n" in text
    assert "\ninfo TF1 odd: is odd on 4\n" in show(replace(CLEAN, findings=several), everything=True)


def test_what_is_wrong_with_a_graph_counts_as_a_finding() -> None:
    text = show(replace(CLEAN, functions=(RECURSIVE,), findings=(information(3),)))
    assert "Findings: 1 warning\nwarning HY004 recursive: `Trainer.walk` is hybrid and recursive" in text
    assert "2 findings (1 warning)" in plain(text)
    assert "hybridize explain HY004  what the first finding means" in text
    assert count_line(replace(CLEAN, functions=(RECURSIVE,), findings=(information(3),))).endswith("2 findings")


def test_errors_come_before_warnings_and_many_of_a_kind_are_one() -> None:
    warnings = tuple(replace(FINDING, line=line) for line in range(1, 10))
    wrong = replace(FINDING, code="TF9", severity=Severity.ERROR, line=30)
    text = show(replace(CLEAN, findings=(*warnings, wrong)))
    assert "Findings: 1 error, 9 warnings\nerror TF9" in text
    assert text.count("warning TF301") == 1
    assert "also: util/names.py:2, util/names.py:3," in text
    assert "and 2 more (--all)" in plain(text)
    assert show(replace(CLEAN, findings=(*warnings, wrong)), everything=True).count("warning TF301") == 9


def test_a_finding_shows_the_source_that_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import tensorflow as tf\n\n\ndef f(x):\n    return tf.print(x) + 1\n")
    report = Report(ProjectInfo(str(tmp_path), 1, 5, 0.1))
    exact = Finding("TF1", "odd", Severity.WARNING, "is odd", "a.py", 5, 12, 5, 23)
    name = replace(exact, end_column=12)
    whole = replace(exact, column=1, end_column=1)
    for finding, carets in ((exact, "       ^^^^^^^^^^^"), (name, "       ^^^^^^^^"), (whole, "^" * 22)):
        text = show(replace(report, findings=(finding,)))
        assert f"5 | return tf.print(x) + 1\n  | {carets}\n" in text


def test_a_serious_status_of_a_graph_is_shown_with_its_cause_and_what_mends_it() -> None:
    evidence = (tells(Told.CALL, "a.py", 9, "g"), tells(Told.CALL, "b.py", 4, "f"))
    said = status("HY004", "recursive", message="hybrid and recursive", path="a.py", line=8, evidence=evidence)
    said = replace(said, is_of_function=True)
    function = FunctionReport(facts("a:f", 8, mode=Mode.HYBRID), Decision(Action.KEEP), (said,))
    text = show(replace(CLEAN, functions=(function,)))
    assert "error HY004 recursive: `f` is hybrid and recursive\n --> a.py:8:5\n" in text
    assert "  = cause: calls `f`, through `g` (b.py:4)\n" in text
    assert "  = fix: make the recursion a loop, or remove the decorator\n" in text


def test_a_reason_names_a_place_in_another_file() -> None:
    elsewhere = status(evidence=(tells(Told.CALL, "trainer.py", 63, "log"), Evidence("writes a file", "log.py", 4)))
    text = reason(elsewhere, KEEP.facts, str)
    assert text == "appends to `self.losses`: writes a file (log.py:4), through `log`"


def test_a_reason_names_each_call_once_and_three_at_most() -> None:
    calls = [tells(Told.CALL, "trainer.py", line, name) for line, name in enumerate(["a", "b", "a", "b", "c", "d"], 1)]
    text = reason(status(evidence=(*calls, Evidence("appends to `self.losses`", "trainer.py", 88))), KEEP.facts, str)
    assert text == "appends to `self.losses` (line 88), through `a` -> `b` -> ... -> `d`"


def test_the_first_of_several_side_effects_is_told_with_its_own_calls() -> None:
    first = (tells(Told.CALL, "trainer.py", 63, "log"), Evidence("appends to a list", "trainer.py", 70))
    second = (tells(Told.CALL, "trainer.py", 64, "save"), Evidence("writes a file", "io.py", 4))
    evidence = (*first, *second)
    function = replace(KEEP.facts, python_side_effects=Fact(Ternary.YES, evidence))
    text = reason(status(message="appends to a list", evidence=evidence), function, str)
    assert text == "appends to a list (line 70), through `log`"


def test_a_reason_without_evidence_stands_at_the_status() -> None:
    assert reason(status(evidence=(), message="is recursive", line=70), KEEP.facts, str) == "is recursive (line 70)"
    assert reason(status(evidence=(), message="is recursive"), KEEP.facts, str) == "is recursive"


def test_changes_as_sentences() -> None:
    hybrid = facts("a:f", 8, mode=Mode.HYBRID, hybridization=Hybridization(7, ()))
    called = facts("a:f", 8, mode=Mode.HYBRID, hybridization=Hybridization(20, (), is_decorator=False))
    reconfigured = FunctionReport(hybrid, Decision(Action.RECONFIGURE, "P5", (("jit_compile", "True"),)))
    assert change(SAMPLE, CONVERT) == "add `@tf.function` to the definition on line 42"
    assert change(SAMPLE, FunctionReport(hybrid, Decision(Action.CONVERT_TO_EAGER))) == "remove the decorator on line 7"
    assert change(SAMPLE, FunctionReport(called, Decision(Action.CONVERT_TO_EAGER))) == (
        "remove the call of `tf.function` on line 20"
    )
    assert change(SAMPLE, reconfigured) == "make the decorator on line 7 `@tf.function(jit_compile=True)`"
    assert change(SAMPLE, KEEP) is None
    assert sentence(reconfigured) == "reconfigure `f`"
    assert sentence(KEEP) == "keep `Trainer.fit` eager"


def test_unknown_facts_say_so() -> None:
    from .samples import NO, UNKNOWN

    unsure = facts("a:f", 1, tensor_parameter=UNKNOWN, primitive_parameter=UNKNOWN, python_side_effects=UNKNOWN)
    assert rests_on(FunctionReport(unsure, Decision(Action.KEEP))) == (
        "eager, tensor parameters unknown, literals unknown, side effects unknown"
    )
    idle = facts("a:f", 1, tensor_computation=NO, reached=False)
    assert rests_on(FunctionReport(idle, Decision(Action.KEEP))).endswith("no tensor computation, unreached")
