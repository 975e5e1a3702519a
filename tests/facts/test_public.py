"""What callers whom nobody knows may cause to run: asked of who calls whom, of which there are more ways than calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.facts.calls.public import Strangers
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program
from hybridize.source import ImportTable, Roles, discover, find_src_roots

#: As many layers of two functions, of which each calls both of the next one: two to this power ways lead to the last.
DEPTH = 40


def ladder(end: str) -> str:
    """A program whose functions call each other in layers."""
    both = "    left{0}()\n    right{0}()\n"
    layers = [f"def {each}{i}():\n{both.format(i + 1)}" for i in range(DEPTH) for each in ("left", "right")]
    last = [f"def {each}{DEPTH}():\n    pass\n" for each in ("left", "right")]
    maker = "def made():\n    pass\nclass Kept:\n    def __init__(self):\n        made()\nKept()\n"
    return "".join([*layers, *last, maker, "left0()\nright0()\n", end])


def asked(folder: Path, text: str, name: str) -> tuple[bool, bool, bool]:
    """Whether a stranger got hold of what runs a function, and may run it: without making objects, and by that."""
    (folder / "main.py").write_text(text, "utf-8")
    found = discover([folder])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    strangers = Strangers(Solver(program, FlowOptions()).solve_entries(), Roles(frozenset(), frozenset()))
    code = next(code for _, code in program.functions() if code.name == name)
    return strangers.handed(code), strangers.may_call(code, shared=False), strangers.may_call(code, shared=True)


@pytest.mark.parametrize(
    ("end", "handed"), [("", False), ("import routes\nroutes.add(left0)\n", True), ("map(right3, [])\n", False)]
)
def test_each_caller_is_asked_once_however_many_ways_lead_to_it(end: str, handed: bool, tmp_path: Path) -> None:
    assert asked(tmp_path, ladder(end), f"left{DEPTH}") == (handed, handed, handed)


def test_what_only_a_constructor_calls_is_run_by_making_objects(tmp_path: Path) -> None:
    assert asked(tmp_path, ladder(""), "made") == (False, False, True)
