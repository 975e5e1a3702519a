"""What a caller that is not seen could tell a graph by, where nothing in the program provably breaks.

A function that others may call owes them more than its own program shows: which exceptions it raises, that its numbers
are Python's and its lists the very ones that it keeps, that it takes a symbolic tensor of Keras. Rules block what some
caller or test is seen to notice; this is the rest, as evidence for how sure a conversion is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Inst, Lib, LibInst, Unknown
from hybridize.facts.model import Evidence
from hybridize.facts.origins import roots
from hybridize.program.index import index_of
from hybridize.program.ir import Op
from hybridize.rules.exceptions import is_kept, named
from hybridize.rules.incompatibility.exception_type import Raisers
from hybridize.rules.results import ARRAY, PYTHON, READS, display, parts_of, returns, site
from hybridize.rules.values import arguments
from hybridize.rules.views import FrameView, FunctionView, is_mutable_container

#: What Keras gives a symbolic tensor to, and builds a part of a functional model.
_FUNCTIONAL: Final = (
    "keras.layers.",
    "keras.backend.",
    "keras.Model",
    "keras.Sequential",
    "keras.ops.",
    "keras.activations.",
)


def open_contract(function: FunctionView) -> Evidence | None:
    """The first thing by which a caller that is not seen could tell a graph from the function; None: nothing is known.

    It asks neither who the callers are nor whether the function is public: who asks must.
    """
    return next(open_contracts(function), None)


def open_outcome(function: FunctionView) -> Evidence | None:
    """The first such thing that needs no argument of a certain kind: how a call ends."""
    return next(_outcomes(function), None)


def open_contracts(function: FunctionView) -> Iterator[Evidence]:
    """All such things, the gravest first: exceptions, results, arguments."""
    yield from _outcomes(function)
    for view in function.views():
        yield from _symbolic(view)


def _outcomes(function: FunctionView) -> Iterator[Evidence]:
    yield from _exceptions(function)
    for view in function.views():
        yield from _results(view)


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


def _results(view: FrameView) -> Iterator[Evidence]:
    """Results of which something else comes back, or nobody knows what."""
    for instr in returns(view.frame, view):
        for part in parts_of(view, instr[2]):
            if part.what in (PYTHON, ARRAY, READS):
                yield site(view, instr, f"returns {part.said}, of which a tensor comes back")
        for _, slot in display(view, instr[2]):
            value = view.value(slot)
            if is_mutable_container(value) and roots(view.frame, slot):
                yield site(view, instr, "returns a container that existed before, of which another one comes back")
            for obj in value:
                if isinstance(obj, Unknown):
                    yield site(view, instr, f"returns something that is not known: {obj.reason}")


def _symbolic(view: FrameView) -> Iterator[Evidence]:
    """Arguments that go to layers: with a symbolic tensor the function builds a part of a functional model."""
    params = {param.slot for i, param in enumerate(view.code.params) if i or not _is_method(view)}
    index = index_of(view.code)
    for instr in index.of(Op.CALL):
        if any(index.original(slot) in params for slot in arguments(instr)) and _is_layer(view, instr[2]):
            yield site(view, instr, "gives its argument to a layer: with a symbolic tensor it builds a model")
            return


def _is_method(view: FrameView) -> bool:
    return view.code.parent is not None and view.code.parent.kind == "class"


def _is_layer(view: FrameView, slot: int) -> bool:
    for obj in view.value(slot):
        if isinstance(obj, (Inst, LibInst)):
            if any(n.startswith(_FUNCTIONAL) for n in view.project.solution.engine.mro_names(obj)):
                return True
        elif isinstance(obj, Lib) and obj.name.startswith(_FUNCTIONAL) and obj.name.rpartition(".")[2].islower():
            return True
    return False
