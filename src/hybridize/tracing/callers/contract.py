"""What a caller that is not seen could tell a graph by, where nothing in the program provably breaks.

A function that others may call owes them more than its own program shows: which exceptions it raises, that its numbers
are Python's and its lists the very ones that it keeps, that it takes a symbolic tensor of Keras. Rules block what some
caller or test is seen to notice; this is the rest, as evidence for how sure a conversion is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from hybridize.domain.objects import Tensor, Unknown
from hybridize.domain.tensors import DENSE
from hybridize.facts.model import Evidence, Ternary
from hybridize.facts.origins import called_at, roots
from hybridize.facts.side_effects.effects import SideEffects
from hybridize.facts.symbolic import CLOSURE, parameter_bit
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import operands
from hybridize.tracing.failing.exceptions import is_kept, named
from hybridize.tracing.failing.raising import Raisers
from hybridize.tracing.gradients.derived import may_be_passed_twice
from hybridize.tracing.keras.functional import fed
from hybridize.tracing.returns.results import ARRAY, PYTHON, READS, display, is_logged, parts_of, returns, site
from hybridize.tracing.views import FrameView, FunctionView, is_mutable_container

#: So many steps are gone from a result to the call that gave it.
_DEPTH: Final = 6


def open_contract(function: FunctionView) -> Evidence | None:
    """The first thing by which a caller that is not seen could tell a graph from the function; None: nothing is known.

    It asks neither who the callers are nor whether the function is public: who asks must.
    """
    return next(open_contracts(function), None)


def open_outcome(function: FunctionView) -> Evidence | None:
    """The first such thing that needs no argument of a certain kind: how a call ends."""
    return next(_outcomes(function), None)


def unknown_result(function: FunctionView) -> Evidence | None:
    """That nobody knows whether the function gives a tensor; what computes with TensorFlow by its use gives one."""
    tensors = _tensors(function)
    return next((said for view in function.views() for said in _unknown_results(view, tensors)), None)


def _tensors(function: FunctionView) -> frozenset[int]:
    """The slots of the arguments that are known or taken for tensors: what is one comes back as one."""
    known = [each for each in function.facts.parameters if each.tensor is Ternary.YES]
    return frozenset(function.code.params[each.index].slot for each in known)


def open_contracts(function: FunctionView) -> Iterator[Evidence]:
    """All such things, the gravest first: exceptions, results, arguments."""
    yield from _outcomes(function)
    for view in function.views():
        yield from _symbolic(view)
    yield from _aliases(function)


def _outcomes(function: FunctionView) -> Iterator[Evidence]:
    yield from _exceptions(function)
    for view in function.views():
        yield from _results(view, _tensors(function), declared=function.facts.gives_tensors)


def _exceptions(function: FunctionView) -> Iterator[Evidence]:
    """Exceptions that come out of a graph as others."""
    project = function.project
    raisers = project.shared("dead raisers", lambda: Raisers(project, dead=True))
    extent = project.extents.without_bodies(project.extents.of_all(function.frames))
    for frame in raisers.explicit(extent):
        for position, value in raisers.raised(frame):
            for raised in value:
                if not isinstance(raised, Unknown) and not is_kept(raised):
                    said = f"raises {named(raised)}, which comes out of a graph as a `StagingError`"
                    yield Evidence(said, frame.code.path, position >> 16)


def _results(view: FrameView, tensors: frozenset[int], *, declared: bool) -> Iterator[Evidence]:
    """Results of which something else comes back, or nobody knows what; `declared`: an annotation says tensors."""
    for instr in returns(view.frame, view):
        for part in parts_of(view, instr.value):
            if part.what in (PYTHON, ARRAY, READS) and not is_logged(view, instr.value, part):
                yield site(view, instr, f"returns {part.said}, of which a tensor comes back")
        for _, slot in display(view, instr.value):
            value = view.value(slot)
            if is_mutable_container(value) and roots(view.frame, slot):
                yield site(view, instr, "returns a container that existed before, of which another one comes back")
    if not declared:
        yield from _unknown_results(view, tensors)


def _unknown_results(view: FrameView, tensors: frozenset[int]) -> Iterator[Evidence]:
    """What is returned of which nobody knows what it is; `tensors`: the slots of arguments that are some."""
    for instr in returns(view.frame, view):
        for _, slot in display(view, instr.value):
            unknown = next((obj for obj in view.value(slot) if isinstance(obj, Unknown)), None)
            if unknown is not None and not _is_computed(view.project.effects, view.frame, slot, given=tensors):
                yield site(view, instr, f"returns something that is not known: {unknown.reason}")


def _is_computed(
    effects: SideEffects, frame: Frame, slot: int, depth: int = _DEPTH, given: frozenset[int] = frozenset()
) -> bool:
    """Whether all that is unknown of a value comes of calls that compute with TensorFlow by their use.

    So does what an operator makes of that and of whatever is beside it, and what comes in the slots that are `given`.
    """
    if slot < 0 or slot in given or not any(isinstance(obj, Unknown) for obj in frame.vals[slot] or ()):
        return True
    made = index_of(frame.code).definitions.get(slot)
    if not depth:
        return False
    if isinstance(made, ir.Call):
        callees = called_at(frame, made.position)
        results = [(each, instr.value) for each in callees for instr in index_of(each.code).of(ir.Return)]
        if made.position in frame.ops:
            return True
        if results:
            return all(_is_computed(effects, each, value, depth - 1) for each, value in results)
        return effects.used.gives_tensor_at(frame, made.position)

    def computed(each: int) -> bool:
        return _is_computed(effects, frame, each, depth - 1, given | {slot})  # what a turn of a loop had, too

    if isinstance(made, ir.Phi):
        return all(computed(each) for _, each in made.incoming)
    if isinstance(made, (ir.Operator, ir.Unary)):
        slots = operands(made)
        return any(map(computed, filter(partial(_may_be_tensor, frame), slots))) or all(map(computed, slots))
    if isinstance(made, (ir.Item, ir.Unpack, ir.Copy)):
        return computed(made.source)
    return False


def _may_be_tensor(frame: Frame, slot: int) -> bool:
    """Whether nothing but tensors, and what is not known, is in a slot."""
    value = frame.vals[slot] if slot >= 0 else None
    return bool(value) and all(
        isinstance(o, Unknown) or (isinstance(o, Tensor) and o.kind == DENSE) for o in value or ()
    )


def _symbolic(view: FrameView) -> Iterator[Evidence]:
    """Arguments that go to layers: with a symbolic tensor the function builds a part of a functional model."""
    found = fed(view)
    receiver = parameter_bit(0) if view.has_receiver else 0
    if found.layers & ~receiver & ~CLOSURE and not found.refused:
        said = "gives its argument to a layer: with a symbolic tensor it builds a model"
        yield Evidence(said, view.code.path, found.position >> 16)


def _aliases(function: FunctionView) -> Iterator[Evidence]:
    """A derivative by one argument of what another one brings: callers may pass a list and an element of it."""
    found = may_be_passed_twice(function)
    if found is not None:
        said = "derives by an argument what is computed from another one, which may hold the same tensor"
        yield Evidence(said, found.path, found.position >> 16)
