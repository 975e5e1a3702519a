"""Control flow on tensors: small programs, each with the rule that stands against its function, or `safe`.

TensorFlow 2.21 decided which: each ran eagerly and with `target` decorated; the safe ones gave the same results.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

PROGRAMS = Path(__file__).with_name("control_flow_programs.txt").read_text()


def cases() -> list[object]:
    found = []
    for part in re.split(r"^### ", PROGRAMS, flags=re.M)[1:]:
        head, _, source = part.partition("\n")
        name, code = head.split()
        found.append(pytest.param(code, source, id=name))
    return found


@pytest.mark.parametrize(("code", "source"), cases())
def test_programs_are_judged_as_tensorflow_does(code: str, source: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(source)
    report = analyze([tmp_path], Config(all_safe=True))
    target = next(f for f in report.functions if f.facts.qualname.endswith("target"))
    if code == "safe":
        assert target.decision.action.value == "convert_to_hybrid", target.statuses
    else:
        assert code in {status.code for status in target.statuses}
        assert target.decision.action.value == "keep"
