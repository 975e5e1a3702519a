"""Graphs that end with the call that makes them, as nobody keeps what `tf.function(f)` gives there; and ones that are
made once, as later calls find them.

What is changed between two calls that make one, the next one's graph sees; so does who calls `f` itself where none is
made. `if self.step is None: self.step = tf.function(f)` makes another one only where `step` is emptied.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Bound, Func, Lit, Obj, Unknown
from hybridize.domain.session import solved
from hybridize.domain.words import SETTING_UP
from hybridize.facts.calls.callgraph import denotes
from hybridize.facts.origins import called_at
from hybridize.facts.state.guards import Region, is_flagged, regions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments
from hybridize.tracing.views import FunctionView, ProjectView

_ASKING: Final = "hasattr"
#: What binds a field by its name, or takes it away, and how many arguments at least that has.
_BINDING: Final = frozenset({"setattr", "delattr"})
_OBJECT_AND_NAME: Final = 2
#: What is emptied where it is there (`if self.step is not None: self.step = None`) is empty after the call in any case.
_START: Final = -1
#: What lets a value outlive the call, or may do so.
_KEEPS: Final = (ir.SetAttr, ir.SetItem, ir.SetOuter, ir.Return, ir.Yield)


def makers_of_short_lived(function: FunctionView) -> set[Code]:
    """The functions that make all the graphs of a function, if none of these outlives the call that makes it."""
    project = function.project
    makers = {code for code, _ in project.solution.world.hybrids.get(function.code, ())}
    frames = [frame for code in makers for frame in project.solution.frames.get(code, ())]
    if not frames or not all(code.is_function for code in makers):
        return set()
    return set() if any(_keeps(frame, function.code) for frame in frames) else makers


def _keeps(frame: Frame, code: Code) -> bool:
    """Whether a call may store or give away a graph of a function, or a function of its own, which may hold one."""
    return any(
        _is_graph(obj, code, frame.code)
        for instr in index_of(frame.code).of(*_KEEPS, ir.Call)
        for slot in _kept(frame, instr)
        for obj in frame.vals[slot] or ()
    )


def _kept(frame: Frame, instr: Instr) -> list[int]:
    if isinstance(instr, ir.Call):  # code of the project may keep what it is given, and so may what nobody knows
        known = frame.vals[instr.function] or ()
        by_others = any(isinstance(o, Unknown) for o in known)
        by_project = bool(called_at(frame, instr.position, DIRECT))
        return [slot for slot in arguments(instr) if slot >= 0] if by_project or by_others else []
    if isinstance(instr, ir.SetCell) and instr.name in frame.code.cells:
        return []
    assert isinstance(instr, _KEEPS)
    return [instr.value]


def _is_graph(obj: Obj, code: Code, maker: Code) -> bool:
    func = obj.func if isinstance(obj, Bound) else obj
    if isinstance(func, Func):
        outer = func.code.parent
        while outer is not None and outer is not maker:
            outer = outer.parent
        return outer is maker
    return denotes(obj, code)


def remade_at(project: ProjectView, code: Code, position: int) -> list[tuple[Code, int]]:
    """Where what is made somewhere comes to be another one: there, or, under a condition that asks only whether there
    is one yet, where the field or variable that holds it is emptied.
    """
    frames = project.solution.frames.get(code, ())
    guards = [region for region in regions(code).get(position, ()) if _asks_for_what_it_makes(code, region)]
    if not frames or not guards or not all(is_flagged(frame, position) for frame in frames):
        return [(code, position)]
    inside = {instr.position for region in guards for instr in region.block}
    names = {name for region in guards for name in _asked(region)}
    return [
        (where, _START if any(_asked(region) == {name} for region in regions(where).get(at, ())) else at)
        for name in names
        for where, at in _bound(project).get(name, ())
        if not (where is code and at in inside) and not where.is_body and where.name not in SETTING_UP
    ]


def _asked(region: Region) -> frozenset[str]:
    """The names of what a condition reads, but for the function that asks."""
    return region.tested - {_ASKING}


def _asks_for_what_it_makes(code: Code, region: Region) -> bool:
    """Whether a condition only asks whether something is there that the code under it puts there."""
    if not _asked(region) <= region.written(code) or len(_asked(region)) != 1:
        return False
    index = index_of(code)
    made = index.source(region.test) if region.test >= 0 else None
    while isinstance(made, ir.Unary) and made.operator == "not":
        made = index.source(made.operand)
    if isinstance(made, ir.Compare):
        return made.operator in ("is", "is not", "in", "not in")
    if isinstance(made, ir.Call):
        return _ASKING in region.tested and len(made.arguments) == _OBJECT_AND_NAME
    return isinstance(made, (ir.Attr, ir.Global, ir.Cell))


@solved
def _bound(project: ProjectView) -> dict[str, list[tuple[Code, int]]]:
    """Where fields and variables are bound or taken away, by name."""
    found: dict[str, list[tuple[Code, int]]] = {}
    for code, frames in project.solution.frames.items():
        index = index_of(code)
        for instr in index.of(ir.SetAttr, ir.SetOuter, ir.DelAttr, ir.Unbinding):
            found.setdefault(instr.name, []).append((code, instr.position))
        calls = index.of(ir.Call) if not _BINDING.isdisjoint(index.names) else ()
        for call in (each for each in calls if len(each.arguments) >= _OBJECT_AND_NAME):
            given = {o for frame in frames for o in frame.vals[call.arguments[1][0]] or ()}
            for name in (o.const for o in given if isinstance(o, Lit) and isinstance(o.const, str)):
                found.setdefault(name, []).append((code, call.position))
    return found
