"""What the facts do with programs that are too big: bounds that are told, sets of frames that stay small."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hybridize.facts.calls.callgraph import reachable
from hybridize.facts.calls.extents import Extents
from hybridize.flow.frames import Frame
from hybridize.flow.solve import FlowOptions, Solution, Solver
from hybridize.program.build import build_program
from hybridize.source import ImportTable, discover, find_src_roots

from ..support import functions_by_key, run_check

_FIELDS = 250

_MANY = f"""\
class Box:
    pass

def fill(box):
{chr(10).join(f"    box.field{i} = {i} + box.start" for i in range(_FIELDS))}

def through(box):
    fill(box)

def own(start):
    box = Box()
    box.start = start
    fill(box)
    return box

def further(start):
    box = Box()
    box.start = start
    through(box)
    return box

own(1)
own(2)
further(1)
further(2)
"""


def test_what_goes_beyond_the_bound_is_unknown(tmp_path: Path) -> None:
    """A function changes more than is carried on: a caller that made the object has no effect as far as is known."""
    (tmp_path / "many.py").write_text(_MANY, encoding="utf-8")
    facts = {key: f["facts"]["python_side_effects"] for key, f in functions_by_key(run_check(tmp_path)).items()}
    assert facts["many.py:through"]["value"] == "yes"
    assert facts["many.py:own"]["value"] == "no"
    assert facts["many.py:further"]["value"] == "unknown"
    assert "more code than the analysis follows" in facts["many.py:further"]["evidence"][-1]["message"]


_CALLS = """\
import sys

def leaf(x):
    return x

def even(n):
    return True if n == 0 else odd(n - 1)

def odd(n):
    return leaf(False) if n == 0 else even(n - 1)

def down(n):
    return n if n < 2 else down(n - 1) + leaf(n)

class Box:
    def __init__(self, part):
        self.part = part

    def open(self):
        return leaf(self.part)

def outer(n):
    def inner():
        return even(n)
    return inner()

outer(len(sys.argv))
down(len(sys.argv))
leaf(Box(Box(1)).open().open())
"""


def _solve(folder: Path) -> Solution:
    found = discover([folder])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    return Solver(program, FlowOptions()).solve_entries()


def _frames(solution: Solution) -> Iterator[Frame]:
    return (frame for frames in solution.frames.values() for frame in frames)


def test_extents_are_what_the_call_graph_reaches(tmp_path: Path) -> None:
    """The sets say the same as a walk of the calls; the components of a set come whole, callees first."""
    (tmp_path / "calls.py").write_text(_CALLS, encoding="utf-8")
    solution = _solve(tmp_path)
    extents = Extents(solution)
    every = list(_frames(solution))
    assert len(every) > 8
    for frame in every:
        extent = extents.of(frame)
        assert set(extents.frames(extent)) == reachable(frame)
        assert [extents.has(extent, other) for other in every] == [other in reachable(frame) for other in every]
        seen: set[Frame] = set()
        for component in extents.parts(extent):
            seen.update(component)
            assert all(callee in seen for member in component for _, callee in member.calls)
        assert seen == reachable(frame)
        if frame.code.kind != "module":
            assert extents.run_by(frame, frame.uid) is frame
    recursive = {frame.code.name for frame in every if extents.is_recursive(frame)}
    assert recursive == {"even", "odd", "down"}


def test_each_frame_is_asked_once(tmp_path: Path) -> None:
    """A property of frames is computed when a set first holds them, and never again."""
    (tmp_path / "calls.py").write_text(_CALLS, encoding="utf-8")
    solution = _solve(tmp_path)
    extents = Extents(solution)
    every = list(_frames(solution))
    asked: list[Frame] = []

    def has(frame: Frame) -> bool:
        asked.append(frame)
        return frame.code.name == "leaf"

    having = extents.having(has)
    for frame in [*every, *every]:
        found = set(extents.frames(having.within(extents.of(frame))))
        assert found == {each for each in reachable(frame) if each.code.name == "leaf"}
    assert len(asked) == len(set(asked))
