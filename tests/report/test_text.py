"""What a person reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hybridize.decide.model import Action, Decision, FileError, Finding, FunctionReport, Report, Severity
from hybridize.facts.evidence import tells
from hybridize.facts.model import Evidence, Hybridization, Mode, Told
from hybridize.report.style import Style
from hybridize.report.text import TextOptions, full
from hybridize.report.words import change, reason, rests_on, sentence

from .samples import CLEAN, CONVERT, KEEP, SAMPLE, facts, status

FULL = """\
trainer.py
    42  to hybrid    Trainer.step  P1: eager, tensor parameters (images, labels), no literal, no side effect, \
about 3.2 times faster
    61  keep eager   Trainer.fit   eager, tensor parameters (images, labels), no literal, side effects
         H102 python-side-effects: appends to `self.losses` (line 88), through `log` -> `record`
    95  keep eager   Trainer.loss  P1 passes, left out: eager, tensor parameters (images, labels), no literal, no side \
effect
         H201 covered: all callers run as graphs

util/names.py
     7  to eager     label  P2: hybrid, no tensor parameter, primitive parameter (steps), no side effect
  util/names.py:8:5 TF301 leaked-tensor a tensor of the trace leaves it [unsafe fix]

error: broken.py:3: invalid syntax

5 functions in 3 files, 4.2 KLOC, 0.50 s: 4 candidates, 1 hybrid
for TensorFlow 2.21, any from 2.0 to 2.21 (no file says which), Keras 2 or 3
     1  to hybrid
     1  to eager
     2  keep
  pass  P1 2, P2 1
why functions that pass no precondition are kept:
     1  H102 python-side-effects
why functions that pass a precondition are kept:
     1  H201 covered
findings:
     1  TF301 leaked-tensor
1 assumption, 1 error
`hybridize fix --diff` shows the changes, `hybridize explain NAME` why.
"""


def show(report: Report, **options: Any) -> str:
    return full(report, str, TextOptions(**options))


def test_the_whole_text() -> None:
    assert show(SAMPLE) == FULL


def test_other_functions_only_on_demand() -> None:
    assert "helper" not in show(SAMPLE)
    assert "helper" in show(SAMPLE, everything=True)


def test_quiet_shows_only_what_there_is_to_do() -> None:
    text = show(SAMPLE, quiet=True)
    assert "Trainer.step" in text
    assert "label" in text
    assert "TF301" in text
    assert "broken.py:3" in text
    assert "keep" not in text
    assert "KLOC" not in text
    assert show(CLEAN, quiet=True) == ""


def test_statistics_are_counts_alone() -> None:
    text = show(SAMPLE, statistics=True)
    assert "Trainer.step" not in text
    assert "     0  reconfigure" in text


def test_verbose_shows_the_chain() -> None:
    assert "           - calls `record` (trainer.py:75)\n" in show(SAMPLE, verbose=True)


def test_no_colour_unless_asked() -> None:
    assert "\x1b" not in show(SAMPLE)
    assert "\x1b[32mto hybrid" in full(SAMPLE, str, TextOptions(style=Style(True)))


def test_analyzed_code_cannot_steer_the_terminal() -> None:
    evil = Finding("TF1", "x", Severity.ERROR, "literal \x1b[2Jgone\nnext", "a.py", 1, 1, 1, 2)
    errors = (FileError("b\x07.py", 1, "bad\r\nline"),)
    text = show(replace(SAMPLE, functions=(), findings=(evil,), errors=errors))
    assert "literal \\x1b[2Jgone next" in text
    assert "b\\x07.py:1: bad line" in text


def test_a_reason_names_a_place_in_another_file() -> None:
    elsewhere = status(evidence=(tells(Told.CALL, "trainer.py", 63, "log"), Evidence("writes a file", "log.py", 4)))
    text = reason(elsewhere, KEEP.facts, str)
    assert text == "appends to `self.losses`: writes a file (log.py:4), through `log`"


def test_a_reason_without_evidence_stands_at_the_status() -> None:
    assert reason(status(evidence=(), message="is recursive", line=70), KEEP.facts, str) == "is recursive (line 70)"
    assert reason(status(evidence=(), message="is recursive"), KEEP.facts, str) == "is recursive"


def test_changes_as_sentences() -> None:
    hybrid = facts("a:f", 8, mode=Mode.HYBRID, hybridization=Hybridization(7, ()))
    called = facts("a:f", 8, mode=Mode.HYBRID, hybridization=Hybridization(20, (), is_decorator=False))
    reconfigured = FunctionReport(hybrid, Decision(Action.RECONFIGURE, "P5", (("jit_compile", "True"),)))
    assert change(CONVERT) == "add `@tf.function` to the definition on line 42"
    assert change(FunctionReport(hybrid, Decision(Action.CONVERT_TO_EAGER))) == "remove the decorator on line 7"
    assert change(FunctionReport(called, Decision(Action.CONVERT_TO_EAGER))) == (
        "remove the call of `tf.function` on line 20"
    )
    assert change(reconfigured) == "make the decorator on line 7 `@tf.function(jit_compile=True)`"
    assert change(KEEP) is None
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
