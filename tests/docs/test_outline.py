"""`scripts/outline.py`: who looks for the owner of something finds it by words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import outline


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["program.instruction"], "hybridize/program/instruction.py  Fill  Puts a value into a container or array."),
        (["captured", "VARIABLE"], "hybridize/program/ir.py  DelCell  Deletes a captured variable."),
        (["domain", "called"], "hybridize/domain/calls.py  How  One way of being called."),
    ],
)
def test_lines_are_of_a_module_or_hold_all_words(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outline.main(words) == 0
    assert line in capsys.readouterr().out.splitlines()


def test_private_names_and_other_modules_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert outline.main(["facts.state.stores"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("  ")[0] for line in lines} == {"hybridize/facts/state/stores.py"}
    assert not any("_Walk" in line for line in lines)


def test_nothing_is_said_to_be_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert outline.main(["program.ir", "zzz"]) == 1
    assert capsys.readouterr().out == "nothing\n"
    assert outline.main([]) == 2
