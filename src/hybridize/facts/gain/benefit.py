"""What a graph would gain: operations, sizes and contractions of a call, callees included, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Final

from hybridize.domain.calls import ANY, BY_OTHERS, SETS_UP, How
from hybridize.domain.objects import Lib, LibInst, Lit, Stream, Tup
from hybridize.facts.calls.callgraph import components, reachable
from hybridize.facts.calls.keras_graphs import library_loops
from hybridize.facts.calls.operations import Operation, examples_of, operations, own, symbolic
from hybridize.facts.calls.work import Counts
from hybridize.facts.gain.computation import opaque_call, opaque_places
from hybridize.facts.origins import call_at, calls_of, runs_at_once
from hybridize.facts.tapes import recording
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.library.dialect import CHOOSING
from hybridize.library.keras import sizes
from hybridize.library.keras.ready import ready
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.records import dataclass, field, replace

#: Calls that are no part of what a function computes: set-up, or Python that a host runs.
SKIPPED: Final = SETS_UP | BY_OTHERS
_DONE: Final = ANY - SKIPPED
_MOST: Final = 1e9
#: What is called and not known computes, for all we know, this share of what is known; that gains nothing.
_UNKNOWN: Final = 0.3
_READY_NAMES: Final = "keras.applications."
#: What a model calls the symbolic tensors that it begins with.
_BEGINS: Final = ("inputs", "input")
#: Models are looked into so deeply: models of models, helpers that call layers.
_DEPTH: Final = 8
#: Turns of an unrolled loop of unknown length: guesses multiply where loops nest, and must not speak against a graph.
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class Often:
    """How often a place runs in a call, and stands in the graph; `nodes` with only a few turns of unknown loops."""

    times: float
    copies: float
    nodes: float


_ONE: Final = Often(1.0, 1.0, 1.0)
#: What a tape sees of the call of a graph.
_TAPED_CALL: Final = 10.0


@dataclass(slots=True)
class Work:
    """One call: dispatches of an eager one, operations of a graph, elements written, multiplications of contractions.

    `variables` are those that are trained. `nodes` are the operations of the graph as it stands: a loop over Python
    values is unrolled, one over tensors is traced once. `updates` are how often that graph applies gradients.
    `unknown` says that something is called of which it is not known what it does: the figures are then the least;
    `outside` the microseconds that such calls, and the library's own loops over a model, take beside that, `looping`
    those of the loops alone.
    `taped` are the operations of which a tape knows each (those of a graph are one), `weights` the elements of the
    variables as far as they are known, `guessed` the microseconds that rest on sizes that are not. `derives` says how
    often gradients are taken at one place of the graph, `assigns` that variables get new values. `spared` are the
    microseconds of computing that a graph leaves out: what derivatives of derivatives have in common.
    """

    dispatches: float = 0.0
    operations: float = 0.0
    elements: float = 0.0
    flops: float = 0.0
    variables: float = 0.0
    nodes: float = 0.0
    updates: float = 0.0
    unknown: bool = False
    outside: float = 0.0
    looping: float = 0.0
    taped: float = 0.0
    weights: float = 0.0
    guessed: float = 0.0
    derives: float = 0.0
    assigns: bool = False
    spared: float = 0.0

    def add(self, other: Work, often: Often, share: float = 1.0) -> None:
        """Adds work that is done so often; the variables are the same each time.

        `share` is how likely it is this work and not another in its place.
        """
        times = share * often.times
        self.dispatches = min(self.dispatches + times * other.dispatches, _MOST)
        self.operations = min(self.operations + times * other.operations, _MOST)
        self.elements += times * other.elements
        self.flops += times * other.flops
        self.taped = min(self.taped + times * other.taped, _MOST)
        self.guessed += times * other.guessed
        self.spared += times * other.spared
        self.variables += share * other.variables
        self.weights += share * other.weights
        self.nodes = min(self.nodes + share * often.nodes * other.nodes, _MOST)
        self.updates = min(self.updates + share * often.copies * other.updates, _MOST)
        self.unknown = self.unknown or other.unknown
        self.outside += times * other.outside
        self.looping += times * other.looping
        self.derives = max(self.derives, min(often.copies * other.derives, _MOST))
        self.assigns = self.assigns or other.assigns

    @property
    def trains(self) -> bool:
        """Whether it is a step of training: by an optimizer, or with gradients that variables are moved by."""
        return self.steps > 0

    @property
    def steps(self) -> float:
        """How many steps of training the graph holds, unrolled ones each."""
        return max(self.updates, self.derives if self.assigns else 0.0)

    @property
    def eager(self) -> float:
        """Microseconds of an eager call."""
        return costs.eager_time(self.dispatches, self.elements, self.flops)

    @property
    def graph(self) -> float:
        """Microseconds of a call as a graph."""
        return costs.graph_time(self.operations, self.elements, self.flops, self.spared)

    @property
    def trace(self) -> float:
        """Microseconds that making the graph takes."""
        return costs.trace_time(self.nodes, self.updates * self.variables)

    @property
    def benefit(self) -> float:
        """The eager time divided by the graph's."""
        return self.eager / self.graph

    @property
    def cautious(self) -> float:
        """What may be expected: the middle over the sizes that are likely; calls that are not known leave less."""
        more = _UNKNOWN * self.eager if self.unknown else 0.0
        left = costs.left(self.elements, self.flops, self.spared)
        middle = costs.middle(self.eager + more, self.graph + more, self.guessed, left * self.guessed)
        return min(self.benefit, middle)


@dataclass(slots=True)
class _Doing:
    """What a frame does itself, and what it calls: how often each callee, and how likely it is that one.

    `gradients` says how often it derives what is done, each with the number of tapes that record that; `applied` how
    often it applies gradients, by which optimizer.
    """

    own: Work
    gradients: list[tuple[float, int]] = field(default_factory=list)
    applied: list[tuple[float, str]] = field(default_factory=list)
    calls: list[tuple[Frame, Often, float]] = field(default_factory=list)


class Benefits:
    """The work of frames, computed when first asked for. Calls of `hybrid` functions cost what a graph's call does."""

    def __init__(self, hybrid: set[Code], counts: Counts, frames: Mapping[Code, list[Frame]] | None = None) -> None:
        self.hybrid = hybrid
        self.counts = counts
        self.frames = frames or {}
        self._work: dict[Frame, Work] = {}
        self._models: dict[tuple[LibInst, int | None], Work] = {}
        self._doing: dict[tuple[Frame, int | None], _Doing] = {}
        self._loops: dict[tuple[Frame, int], Work] = {}

    def where(self, hybrid: set[Code], changed: Iterable[Frame] | None = None) -> Benefits:
        """The same where other functions are hybrid; `changed`: only these contexts, and what calls them, do others."""
        other = Benefits(hybrid, self.counts, self.frames)
        if changed is not None:
            anew = set(changed)
            other._work = {frame: work for frame, work in self._work.items() if frame not in anew}
        other._models, other._doing = self._models, self._doing
        return other

    def work(self, frames: list[Frame]) -> Work | None:
        """The work of a function: that of the context that does most; None where it was never run."""
        found = [self.of(frame) for frame in frames]
        return max(found, key=lambda w: (w.eager, w.benefit), default=None)

    def relayed(self, frames: list[Frame]) -> list[Code]:
        """The hybrid functions that frames call, where these compute nothing else and call each once; else nothing."""
        found: dict[Code, None] = {}
        seen = set(frames)
        todo = list(frames)
        while todo:
            frame = todo.pop()
            if frame.ops:
                return []
            looped = index_of(frame.code).looped
            for (pos, callee), how in frame.calls.items():
                if callee.code not in self.hybrid:
                    if how not in SKIPPED and callee not in seen:
                        seen.add(callee)
                        todo.append(callee)
                elif pos in looped:
                    return []
                else:
                    found[callee.code] = None
        return list(found)

    def steps(self, frames: list[Frame]) -> Code | None:
        """A hybrid function that some frames call for each element of a data set: the steps are graphs already.

        In a graph the loop is one `Dataset.reduce`, which ran 1.7 to 3.1 times as long as Python's on a CPU.
        """
        for frame in frames:
            around = self.counts.places(frame.code).around
            for pos, callee in frame.calls:
                loops = around.get(pos, ()) if callee.code in self.hybrid else ()
                if any(_goes_over_data(frame, loop) for loop in loops):
                    return callee.code
        return None

    def around(self, frame: Frame, loop: ir.Loop | None) -> Work:
        """The work of a loop of a frame, or of the frame."""
        whole = self.of(frame)
        if loop is None:
            return whole
        key = (frame, loop.entry)
        if key not in self._loops:
            self._loops[key] = self._summed(frame, loop)
        return self._loops[key]

    def of(self, frame: Frame) -> Work:
        """The work of one context of a function."""
        found = self._work.get(frame)
        if found is None:
            missing = sorted(reachable(frame, self._work), key=lambda f: f.uid)
            for component in components(missing, self._work):
                for each in sorted(component, key=lambda f: f.uid):
                    self._work[each] = self._summed(each)
            found = self._work[frame]
        return found

    def _summed(self, frame: Frame, loop: ir.Loop | None = None) -> Work:
        """Own operations and those of callees, or only what a loop holds; calls within a recursion count once."""
        key = frame, None if loop is None else loop.entry
        doing = self._doing.get(key)
        if doing is None:
            doing = self._doing[key] = self._does(frame, loop)
        total = Work()
        total.add(doing.own, _ONE)
        for callee, often, share in doing.calls:
            inner = self._work.get(callee)
            if inner is not None:
                total.add(self._as_called(callee, inner), often, share)
        if doing.gradients:
            total = _differentiated(total, doing.gradients)
        trained = max(total.variables, 2.0)
        for times, optimizer in doing.applied:
            total.dispatches += times * (costs.APPLY + costs.apply_variable(optimizer) * trained)
            total.operations += times * costs.GRAPH_APPLY_VARIABLE * trained
            total.elements += times * costs.APPLY_WRITES * total.weights
        return total

    def _does(self, frame: Frame, loop: ir.Loop | None) -> _Doing:
        """What a frame, or a loop of it, does whatever is hybrid."""
        around = self.counts.places(frame.code).around
        assigns = any(map(costs.assigns, frame.ops.values()))
        own = Work(unknown=opaque_call(frame) is not None, assigns=assigns)
        if own.unknown:
            places = [pos for pos in opaque_places(frame) if loop is None or loop in around.get(pos, ())]
            own.outside = costs.OUTSIDE * sum(self.counts.runs(frame, pos) for pos in places)
        for pos, method in library_loops(frame):
            if loop is None or loop in around.get(pos, ()):
                own.looping += costs.LIBRARY_LOOPS.get(method, 0.0) * self.counts.runs(frame, pos)
        own.outside += own.looping
        doing, examples = _Doing(own), examples_of(frame)
        for pos in frame.ops:
            if loop is not None and loop not in around.get(pos, ()):
                continue
            often = self._often(frame, pos, self.counts.runs(frame, pos))
            for instr in self.counts.places(frame.code).instructions.get(pos, ()):
                for operation in operations(frame, instr, examples):
                    if costs.differentiates(operation.name):
                        doing.gradients.append((often.times, recording(frame, pos)))
                        own.derives = max(own.derives, often.copies)
                    if costs.applies(operation.name):
                        doing.applied.append((often.times, operation.owner))
                        own.updates += often.copies
                    own.add(self._done_by(operation), often, operation.share)
        alternatives = self.alternatives(frame)
        for (pos, callee), how in frame.calls.items():
            if loop is None or loop in around.get(pos, ()):
                times = self.times(frame, pos, how)
                if times:
                    doing.calls.append((callee, self._often(frame, pos, times), 1 / alternatives[pos, how]))
        return doing

    def _done_by(self, operation: Operation) -> Work:
        """What an operation does: its own work, and that of the layers of a model that the library runs."""
        done = Work(
            operation.dispatches,
            operation.operations,
            operation.elements,
            operation.flops,
            operation.variables,
            operation.nodes,
            taped=operation.operations,
            weights=operation.weights,
            spared=operation.spared,
            guessed=operation.guessed * costs.computing_time(operation.elements, operation.flops),
        )
        if operation.model is not None:
            done.add(self._model(operation.model, operation.examples, 0), _ONE)
        return done

    def _model(self, model: LibInst, examples: int | None, depth: int) -> Work:
        """The work of a call of a model of the library: that of its layers, as far as they are known."""
        key = model, examples
        found = self._models.get(key)
        if found is None:
            self._models[key] = Work()  # a model that holds itself
            found = self._models[key] = self._model_work(model, examples, depth)
        return found

    def _model_work(self, model: LibInst, examples: int | None, depth: int) -> Work:
        total = Work()
        made_at, position = model.site
        builders = [f for f in self.frames.get(made_at, ()) if f.uid == model.frame]
        for builder in builders:
            name = _maker(builder, position)
            if name.startswith(_READY_NAMES):
                return _ready(builder, position, name, examples)
        for layer, share in sizes.inside(model):
            self._add_layer(total, layer, share, examples, depth)
        if not total.operations and "$outputs" in model.fields:
            for builder in builders:
                self._add_symbolic(total, builder, _ONE, examples, set())
        whole = next((o for f in builders for o in _over(f, position) if o is not model), None)
        if whole is not None and depth < _DEPTH:
            total.add(self._model(whole, examples, depth + 1), _ONE)
        if not total.operations:  # layers that are not known
            dispatches, count = costs.UNKNOWN_MODEL
            total = Work(dispatches, count, 0.0, 0.0, 6.0, count, taped=count)
        return total

    def _add_layer(self, total: Work, layer: LibInst, share: float, examples: int | None, depth: int) -> None:
        if not sizes.is_layer(layer):
            if depth < _DEPTH:
                total.add(self._model(layer, examples, depth + 1), _ONE, share)
            return
        operation = own(Operation(layer.cls, layer), None, None, examples=examples)
        total.add(self._done_by(operation), Often(share, share, share))

    def _add_symbolic(self, total: Work, frame: Frame, often: Often, examples: int | None, seen: set[Frame]) -> None:
        """Adds what a function calls on symbolic tensors of Keras: the model that it makes does that at each call."""
        if frame in seen or len(seen) > _DEPTH * _DEPTH:
            return
        seen.add(frame)
        for pos in frame.ops:
            times = often.times * self.counts.runs(frame, pos)
            for instr in self.counts.places(frame.code).instructions.get(pos, ()):
                if symbolic(frame, instr):
                    for operation in operations(frame, instr, examples):
                        total.add(self._done_by(operation), Often(times, times, times), operation.share)
        for pos, callee in calls_of(frame, _DONE):
            times = often.times * self.counts.runs(frame, pos)
            self._add_symbolic(total, callee, Often(times, times, times), examples, seen)

    def _often(self, frame: Frame, pos: int, times: float) -> Often:
        return Often(times, self.counts.copies(frame, pos), self.counts.copies(frame, pos, _FEW))

    def alternatives(self, frame: Frame) -> dict[tuple[int, How], int]:
        """How many functions may be meant by one call: a call runs one of them, not all (`model` is one of many)."""
        found = Counter((pos, how) for (pos, _), how in frame.calls.items())
        for pair, count in found.items():
            if count > 1:
                instrs = self.counts.places(frame.code).instructions.get(pair[0], ())
                callees = [frame.vals[instr.function] or () for instr in instrs if isinstance(instr, ir.Call)]
                if any(isinstance(o, Lib) and o.name in CHOOSING for value in callees for o in value):
                    continue
                # Calls of a chain share a position: all of them run.
                found[pair] = max(1, min(count, len(callees[0]))) if len(callees) == 1 else 1
        return found

    def times(self, frame: Frame, pos: int, how: How) -> float:
        """How often eager code makes one call in each call of its own; none of those that others make."""
        if how in SKIPPED and not (how is How.CALLBACK and runs_at_once(frame, pos)):
            return 0.0
        times = self.counts.runs(frame, pos)
        if how is How.GRAPH:
            if pos not in frame.ops:
                return 0.0  # a pipeline or `fit` runs it, as a graph
            times *= costs.ITERATIONS if frame.ops[pos] in costs.REPEATING else 1
        return times

    def _as_called(self, callee: Frame, inner: Work) -> Work:
        if callee.code not in self.hybrid:
            return inner
        # One dispatch that takes long, and writes less; what it computes is the same in a graph around it.
        called = (costs.GRAPH_CALL + costs.GRAPH_OPERATION * inner.operations) / costs.EAGER_OPERATION
        written = inner.elements * costs.fused(inner.operations)
        return replace(inner, dispatches=called, elements=written, taped=_TAPED_CALL)


def _maker(frame: Frame, position: int) -> str:
    """What is called at a place of a frame, if it is a function of the library."""
    call = call_at(frame.code, position)
    names = [o.name for o in frame.vals[call.function] or () if isinstance(o, Lib)] if call else []
    return frame.ops.get(position) or next(iter(names), "")


def _ready(frame: Frame, position: int, name: str, examples: int | None) -> Work:
    """The work of a model that comes whole, for images of the size that it is made for."""
    call = call_at(frame.code, position)
    slot = next((slot for key, slot in call.keywords if key == "input_shape"), None) if call else None
    shapes = [o for o in frame.vals[slot] or () if isinstance(o, Tup)] if slot is not None else []
    numbers = [o.const for item in shapes[0].items[:2] for o in item if isinstance(o, Lit)] if len(shapes) == 1 else []
    sides = [number for number in numbers if isinstance(number, int)]
    does = ready(name.rpartition(".")[2], prod(sides) if len(sides) == 2 else None)
    count, flops = does.operations, does.flops * (sizes.IMAGES if examples is None else examples)
    work = Work(does.dispatches, count, 0.0, flops, does.variables, count, taped=count, weights=does.weights)
    share = 1.0 if examples is None else 0.0 if len(sides) == 2 else costs.UNSEEN
    work.guessed = share * costs.computing_time(0.0, flops)
    return work


def _over(frame: Frame, position: int) -> Iterator[LibInst]:
    """The models that one is made over: it begins with their inputs, and computes what their layers do, or some."""
    call, made = call_at(frame.code, position), index_of(frame.code)
    if call is None:
        return
    given = [slot for key, slot in call.keywords if key == "inputs"] + [slot for slot, _ in call.arguments[:1]]
    todo = list(given)
    while todo:
        source = made.source(todo.pop())
        if isinstance(source, ir.Sequence):
            todo += operands(source)
        elif isinstance(source, ir.Attr) and source.name in _BEGINS:
            yield from (o for o in frame.vals[source.owner] or () if isinstance(o, LibInst))


def _differentiated(work: Work, gradients: list[tuple[float, int]]) -> Work:
    """The work with walks back over it: what a tape records is done again, its Python code is not.

    A derivative that no tape records while others are recorded is one of those: its walk goes over theirs.
    """
    deepest = max(depth for _, depth in gradients)
    walks = sum(times * costs.walk(deepest - depth) for times, depth in gradients)
    times, back = (1 + walks, walks / 2) if deepest else (costs.GRADIENT, 1.0)
    in_graph = max(costs.GRADIENT, 1 + costs.WALK_IN_GRAPH * walks) if deepest else times
    if deepest:  # points, which are more than the examples that were guessed
        work = replace(_called_with(work, costs.POINTS), guessed=costs.POINTS * work.guessed)
    computing = costs.computing_time(work.elements, work.flops)
    return replace(
        work,
        dispatches=min(
            work.dispatches + costs.TAPE * sum(t for t, _ in gradients) + costs.BACKWARD * back * work.taped, _MOST
        ),
        operations=min(in_graph * work.operations, _MOST),
        elements=times * work.elements,
        flops=times * work.flops,
        nodes=min(times * work.nodes, _MOST),
        taped=min(times * work.taped, _MOST),
        guessed=times * work.guessed,
        spared=in_graph * work.spared + max(times - in_graph, 0.0) * computing,
    )


def _called_with(work: Work, times: float) -> Work:
    """The work for so many times the examples that were guessed: of a model for its layers, say."""
    computing = costs.computing_time(work.elements, work.flops)
    more = 1 + (times - 1) * min(work.guessed / computing, 1.0) if computing else 1.0
    return replace(work, elements=more * work.elements, flops=more * work.flops)


def _goes_over_data(frame: Frame, loop: ir.Loop) -> bool:
    """Whether a loop goes over a data set."""
    value = frame.vals[loop.iterable] or () if loop.is_for else ()
    return any(isinstance(obj, Stream) and obj.is_data for obj in value)
