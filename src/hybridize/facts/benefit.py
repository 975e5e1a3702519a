"""What a graph would gain: operations, sizes and contractions of a call, callees included, and what they cost."""

from __future__ import annotations

from collections import Counter
from typing import Final

from hybridize.domain.objects import Bound, Lib, LibInst, Tensor, Value
from hybridize.domain.tensors import UNRESOLVED, arrived
from hybridize.facts.callgraph import components, reachable
from hybridize.facts.computation import opaque_call
from hybridize.facts.origins import runs_at_once
from hybridize.facts.work import Counts
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.program.ir import Code, Instr, Op
from hybridize.records import dataclass, replace

#: Calls that are no part of what a function computes: set-up, or Python that a host runs.
SKIPPED: Final = frozenset({"build", "class", "callback", "host", "construction"})
#: What a dim of unknown size counts as, a tensor of unknown shape, and one that a convolution gives.
_DIM: Final = 32
_ELEMENTS: Final = 1000.0
_IMAGES: Final = 1e5
_MOST: Final = 1e9
#: Turns of an unrolled loop of unknown length: guesses multiply where loops nest, and must not speak against a graph.
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class Often:
    """How often a place runs in a call, and stands in the graph; `nodes` with only a few turns of unknown loops."""

    times: float
    copies: float
    nodes: float


@dataclass(slots=True)
class Work:
    """One call: dispatches of an eager one, operations of a graph, elements written, multiplications of contractions.

    `variables` are those that are trained. `nodes` are the operations of the graph as it stands: a loop over Python
    values is unrolled, one over tensors is traced once. `updates` are how often that graph applies gradients.
    `unknown` says that something is called of which it is not known what it does: the figures are then the least.
    """

    dispatches: float = 0.0
    operations: float = 0.0
    elements: float = 0.0
    flops: float = 0.0
    variables: float = 0.0
    nodes: float = 0.0
    updates: float = 0.0
    unknown: bool = False

    def add(self, other: Work, often: Often, share: float = 1.0) -> None:
        """Adds work that is done so often; the variables are the same each time.

        `share` is how likely it is this work and not another in its place.
        """
        times = share * often.times
        self.dispatches = min(self.dispatches + times * other.dispatches, _MOST)
        self.operations = min(self.operations + times * other.operations, _MOST)
        self.elements += times * other.elements
        self.flops += times * other.flops
        self.variables += share * other.variables
        self.nodes = min(self.nodes + share * often.nodes * other.nodes, _MOST)
        self.updates = min(self.updates + share * often.copies * other.updates, _MOST)
        self.unknown = self.unknown or other.unknown

    @property
    def eager(self) -> float:
        """Microseconds of an eager call."""
        return costs.eager_time(self.dispatches, self.elements, self.flops)

    @property
    def graph(self) -> float:
        """Microseconds of a call as a graph."""
        return costs.graph_time(self.operations, self.elements, self.flops)

    @property
    def trace(self) -> float:
        """Microseconds that making the graph takes."""
        return costs.trace_time(self.nodes, self.updates * self.variables)

    @property
    def benefit(self) -> float:
        """The eager time divided by the graph's."""
        return self.eager / self.graph


class Benefits:
    """The work of frames, computed when first asked for. Calls of `hybrid` functions cost what a graph's call does."""

    def __init__(self, hybrid: set[Code], counts: Counts) -> None:
        self.hybrid = hybrid
        self.counts = counts
        self._work: dict[Frame, Work] = {}

    def work(self, frames: list[Frame]) -> Work | None:
        """The work of a function: that of the context that does most; None where it was never run."""
        found = [self._of(frame) for frame in frames]
        return max(found, key=lambda w: (w.benefit, w.operations), default=None)

    def _of(self, frame: Frame) -> Work:
        found = self._work.get(frame)
        if found is None:
            missing = sorted((f for f in reachable(frame) if f not in self._work), key=lambda f: f.uid)
            for component in components(missing):
                for each in sorted(component, key=lambda f: f.uid):
                    if each not in self._work:
                        self._work[each] = self._summed(each)
            found = self._work[frame]
        return found

    def _summed(self, frame: Frame) -> Work:
        """Own operations and those of callees; calls within a recursion count once."""
        total = Work(unknown=opaque_call(frame) is not None)
        gradients = updates = 0.0
        for pos in frame.ops:
            often = self._often(frame, pos, self.counts.runs(frame, pos))
            for instr in self.counts.places(frame.code).instructions.get(pos, ()):
                for name in _names(frame, instr):
                    if costs.differentiates(name):
                        gradients = 1.0
                    if costs.applies(name):
                        updates += often.times
                        total.updates += often.copies
                    total.add(_own(frame, instr, name), often)
        alternatives = self._alternatives(frame)
        for (pos, callee), how in frame.calls.items():
            times = self._times(frame, pos, how)
            inner = self._work.get(callee)
            if times and inner is not None:
                total.add(self._as_called(callee, inner), self._often(frame, pos, times), 1 / alternatives[pos, how])
        if gradients:
            times = costs.GRADIENT
            total = replace(
                total,
                dispatches=times * total.dispatches,
                operations=times * total.operations,
                elements=times * total.elements,
                flops=times * total.flops,
                nodes=times * total.nodes,
            )
        trained = max(total.variables, 2.0)
        total.dispatches += updates * (costs.APPLY + costs.APPLY_VARIABLE * trained)
        total.operations += updates * costs.GRAPH_APPLY_VARIABLE * trained
        return total

    def _often(self, frame: Frame, pos: int, times: float) -> Often:
        return Often(times, self.counts.copies(frame, pos), self.counts.copies(frame, pos, _FEW))

    def _alternatives(self, frame: Frame) -> dict[tuple[int, str], int]:
        """How many functions may be meant by one call: a call runs one of them, not all (`model` is one of many)."""
        found = Counter((pos, how) for (pos, _), how in frame.calls.items())
        for pair, count in found.items():
            if count > 1:
                instrs = self.counts.places(frame.code).instructions.get(pair[0], ())
                callees = [frame.vals[instr[2]] or () for instr in instrs if instr[0] == Op.CALL]
                # Calls of a chain share a position: all of them run.
                found[pair] = max(1, min(count, len(callees[0]))) if len(callees) == 1 else 1
        return found

    def _times(self, frame: Frame, pos: int, how: str) -> float:
        if how in SKIPPED and not (how == "callback" and runs_at_once(frame, pos)):
            return 0.0
        times = self.counts.runs(frame, pos)
        if how == "graph":
            if pos not in frame.ops:
                return 0.0  # a pipeline or `fit` runs it, as a graph
            times *= costs.ITERATIONS if frame.ops[pos] in costs.REPEATING else 1
        return times

    def _as_called(self, callee: Frame, inner: Work) -> Work:
        if callee.code not in self.hybrid:
            return inner
        called = inner.graph / costs.EAGER_OPERATION
        return Work(called, inner.operations, 0.0, 0.0, inner.variables, inner.nodes, inner.updates, inner.unknown)


def _names(frame: Frame, instr: Instr) -> list[str]:
    """The library operations that an instruction runs on tensors."""
    if instr[0] == Op.CALL:
        return _called(frame, instr)
    value = frame.vals[instr[1]] if instr[1] >= 0 else None
    is_tensor = any(isinstance(o, Tensor) and o.kind != "ndarray" for o in value or ())
    if not is_tensor:
        return []
    return ["tf.getitem"] if instr[0] == Op.ITEM else [f"tf.math.{instr[2]}"]


def _called(frame: Frame, instr: Instr) -> list[str]:
    noted = frame.ops[instr[-1]]
    for obj in frame.vals[instr[2]] or ():
        if isinstance(obj, Lib):
            return [obj.name] if obj.name.startswith(("tf.", "keras.")) else []
        if isinstance(obj, LibInst):
            return ["keras.Sequential" if obj.cls == "keras.Model" else obj.cls]
        if isinstance(obj, Bound) and isinstance(obj.func, str):
            name = obj.func.rpartition(":")[2]
            if noted.endswith(f".{name}"):
                return [noted]
            # Several calls of one chain share a position, which notes only the last.
            return [_METHODS.get(name, f"tf.{name}")] if name in _METHODS or isinstance(obj.receiver, Tensor) else []
    return [noted] if noted.startswith("keras.") else []


_METHODS: Final = {
    "gradient": "tf.GradientTape.gradient",
    "apply_gradients": "keras.optimizers.Optimizer.apply_gradients",
    "minimize": "keras.optimizers.Optimizer.minimize",
}


def _own(frame: Frame, instr: Instr, name: str) -> Work:
    result = frame.vals[instr[1]] if instr[1] >= 0 else None
    factor = costs.contraction(name)
    written = _elements(result, _IMAGES if factor > 1 else _ELEMENTS)
    count = costs.operations(name)
    given = frame.vals[instr[3][0][0]] if instr[0] == Op.CALL and instr[3] else None
    if instr[0] == Op.BINARY:
        given = frame.vals[instr[3]]
    dispatches, nodes = costs.dispatches(name), count
    if costs.per_step(name):
        steps = _dim(given, 1, costs.STEPS)
        count += steps * costs.per_step(name)
        nodes += 2 * costs.per_step(name)  # one step, in a loop
        dispatches += steps * costs.step_dispatches(name)
    flops = factor * written * _dim(given, -1, _DIM) if factor else 0.0
    return Work(dispatches, count, written, flops, costs.variables(name), nodes)


def _elements(value: Value | None, unknown: float) -> float:
    for obj in value or ():
        if isinstance(obj, Tensor):
            shape = arrived(obj.shape)
            if shape is None or UNRESOLVED in shape:
                return unknown
            count = 1.0
            for dim in shape:
                count *= dim if dim >= 0 else _DIM
            return count
    return 0.0


def _dim(value: Value | None, axis: int, default: int) -> int:
    for obj in value or ():
        if isinstance(obj, Tensor):
            shape = arrived(obj.shape)
            if shape is not None and -len(shape) <= axis < len(shape) and shape[axis] >= 0:
                return shape[axis]
    return default
