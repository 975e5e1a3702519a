"""Everything that is known of a function."""

from __future__ import annotations

from hybridize.decide.model import Severity, Status
from hybridize.facts.model import Evidence, Fact, Ternary
from hybridize.records import replace
from hybridize.report.codes import CodeDoc, describe_code, find_code, list_codes
from hybridize.report.explain import explain
from hybridize.report.words import grounds, told_by

from .samples import CONVERT, DEHYBRIDIZE, KEEP, SAMPLE

EXPECTED = """\
trainer:Trainer.fit
  trainer.py:61, method, eager, candidate, reached
  verdict: keep eager
  because: H102 python-side-effects
  known: eager, tensor parameters (images, labels), no literal, side effects
  for: TensorFlow 2.21, any from 2.0 to 2.21 (no file says which), Keras 2 or 3

statuses
  H102 python-side-effects (error): appends to `self.losses`, trainer.py:61
      1. calls `log` (trainer.py:63)
      2. calls `record` (trainer.py:75)
      3. appends to `self.losses` (trainer.py:88)

facts
  tensor parameter           yes
  primitive parameter        no
  Python side effects        yes, see H102
  recursive                  no
  tensor computation         yes
  covered by hybrid callers  no

parameters
  0 self: no tensor
  1 images: a tensor, from the values that arrive
      dense float32 [?, 28, 28]
      1. `images` comes from the dataset (main.py:12)
  2 labels: a tensor, by speculation
      ndarray ? [...]
"""


def test_a_function_that_is_kept() -> None:
    assert explain(SAMPLE, KEEP, str) == EXPECTED


def test_what_a_status_has_said_is_not_told_again() -> None:
    said = Evidence("uses `.numpy()`", "trainer.py", 70)
    used = Evidence("the caller uses it here", "trainer.py", 90)
    status = Status("H301", "eager-only-call", Severity.ERROR, said.message, said.path, said.line, 1, (said, used))
    assert told_by(status) == (used,)
    assert told_by(replace(status, line=71)) == (said, used)


def test_a_literal_that_differs_is_no_absent_literal() -> None:
    facts = replace(KEEP.facts, retraces=Fact(Ternary.YES))
    assert ", a literal that differs from call to call, " in grounds(replace(KEEP, facts=facts))


def test_a_conversion_shows_the_change_and_its_assumptions() -> None:
    text = explain(SAMPLE, CONVERT, str)
    assert "  change: add `@tf.function` to the definition on line 42\n" in text
    assert "assumptions\n  - `labels` is a tensor because of its name (trainer.py:42)\n" in text


def test_a_hybrid_function_shows_its_decorator_literals_and_findings() -> None:
    text = explain(SAMPLE, DEHYBRIDIZE, str)
    assert "  hybrid: decorated at util/names.py:6 with autograph=True\n" in text
    assert "      literals 3, 100\n" in text
    assert "  util/names.py:8:5 TF301 leaked-tensor a tensor of the trace leaves it\n" in text


def test_codes() -> None:
    docs = {
        "P1": CodeDoc("P1", "", "precondition", "to hybrid"),
        "H102": CodeDoc("H102", "python-side-effects", "status", "changes what outlives the call", "error", "Details."),
    }
    assert find_code(docs, "h102") == find_code(docs, "Python-Side-Effects") == docs["H102"]
    assert find_code(docs, "H1") is None
    assert describe_code(docs["H102"]) == (
        "H102 python-side-effects (status, error)\n\nchanges what outlives the call\n\nDetails.\n"
    )
    assert [line.split()[0] for line in list_codes(docs).splitlines()] == ["P1", "H102"]
    assert list_codes(docs, ("H",)) == "H102  python-side-effects  error  changes what outlives the call\n"
