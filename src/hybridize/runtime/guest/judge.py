"""Differences of one call -> what they mean: noise, other random numbers, rounding, or something else for good."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .differ import Comparison, Difference, digest, leaf_form, leaves
from .outside import Written, put_file
from .resources import AlignedSeeds, global_seed, no_tapes, untaped
from .trial import STREAM, Arguments, Outcome, State, Trials
from .values import ARRAYS, Described, shown

#: Operations that draw from a stream of their own, by the order of their calls.
RANDOM = frozenset(
    "RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal RandomShuffle Multinomial RandomGamma"
    " RandomPoisson RandomPoissonV2 ParameterizedTruncatedNormal RandomCrop SampleDistortedBoundingBox"
    " SampleDistortedBoundingBoxV2 UniformCandidateSampler LogUniformCandidateSampler FixedUnigramCandidateSampler"
    " LearnedUnigramCandidateSampler ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 AnonymousRandomSeedGenerator"
    " AnonymousSeedGenerator DummySeedGenerator".split()
)
#: How far inputs are moved to see what rounding does, in units of the dtype's precision, and how much more is allowed.
STEPS, FACTOR = 4, 8


class Judge:
    """Runs the function again, as far as it takes to know what its differences mean.

    Args:
        tensorflow, numpy: the imported modules.
        trials: of the present call.
        forms: the eager one, the graph, and what makes a graph that is traced anew.
        arguments: of the call.
        gradients: as in the runs that are judged.
    """

    def __init__(
        self,
        tensorflow: Any,
        numpy: Any,
        trials: Trials,
        forms: tuple[Callable[..., Any], Callable[..., Any], Callable[[], Callable[..., Any]]],
        arguments: Arguments,
        gradients: bool,
    ) -> None:
        self._tf, self._np, self._trials = tensorflow, numpy, trials
        self._eager, self._graph, self._fresh = forms
        self._arguments, self._gradients = arguments, gradients
        self._files: dict[str, Written] = {}
        self.rounding = 0.0
        self.noise: set[str] = set()
        self.level = ""
        self._drawn: set[str] = set()

    def remaining(self, found: list[Difference], eager: Outcome, graph: Outcome, random: bool) -> list[Difference]:
        """The differences that stand; `random`: the graph draws random numbers. The state is not put back."""
        self._files = eager.files
        again = self._again(self._eager)
        self.noise = {d.path for d in self._trials.differences(eager, again)}
        left = [d for d in found if d.path not in self.noise]
        if random and (left or self.noise):
            return self._aligned(left, eager, graph) or self._seeded(found)
        left += self._unlike(eager, graph)
        if any(d.path.startswith("gradient ") for d in left) and not self._trials.touched:
            left = self._alone(left)
        if any(d.error is not None for d in left):
            left = self._sensible(left, eager)
        return left

    def _alone(self, left: list[Difference]) -> list[Difference]:
        """Without gradients that are equal where no tape but ours is open.

        Under others nothing records while gradients are computed, which one that a tape computes anew needs.
        """
        self._trials.recording = True
        try:
            with no_tapes():
                eager, graph = self._again(self._eager), self._again(self._graph)
        finally:
            self._trials.recording = False
        wrong = {d.path for d in self._trials.differences(eager, graph)}
        return [d for d in left if not d.path.startswith("gradient ") or d.path in wrong]

    def with_tapes(self) -> list[Difference]:
        """Differences in what tapes that the function can reach are told to watch: others stand in for them."""
        mine = self._again(self._eager, tapes=True)
        theirs = self._again(self._fresh(), tapes=True)
        return self._trials.differences(mine, theirs)

    def _again(self, call: Callable[..., Any], turn: int | None = None, tapes: bool = False) -> Outcome:
        self._trials.state.restore()
        for path, file in self._files.items():
            put_file(path, file.before)
        arguments = self._arguments
        if turn is not None:
            with untaped(self._tf):
                arguments = self._nudged(turn)
        return self._trials.run(call, arguments, real=False, gradients=self._gradients or tapes, tapes=tapes)

    def finish(self) -> None:
        """The files as the eager run left them."""
        for path, file in self._files.items():
            put_file(path, file.after)

    def _aligned(self, left: list[Difference], eager: Outcome, graph: Outcome) -> list[Difference]:
        """Both runs once more, drawing the same numbers; else the form and the distribution must do.

        What does not depend on the numbers that are drawn is not excused by them.
        """
        AlignedSeeds.renew()
        with AlignedSeeds():
            other = self._again(self._eager)
        AlignedSeeds.renew()
        fresh = self._fresh()
        for _ in range(2):  # what happens once per trace shows at the second run
            with AlignedSeeds():
                mine = self._again(self._eager)
            with AlignedSeeds():
                theirs = self._again(fresh)
        drawn = self._drawn = {d.path for d in self._trials.differences(mine, other, exact=True)}
        standing = [d for d in left if d.path not in drawn]
        differing = self._trials.differences(mine, theirs)
        stream = [d for d in differing if d.path.startswith(STREAM)]  # of Python or NumPy: frozen in the graph
        if stream:
            return stream
        found = [d for d in differing if d.path in drawn or d.path == "exception"]
        self.level = "the same numbers when both draw from one stream"
        if any(d.path == "exception" for d in found):
            return found
        if found:
            self.level = "compared by shape and distribution"
            paths = {d.path for d in found}
            unlike = {path for path, a, b in self._pairs(eager, graph) if path in paths and not self._alike(a, b)}
            standing += [d for d in found if d.path in unlike]
        return standing

    def _seeded(self, found: list[Difference]) -> list[Difference]:
        """What is reproducible eagerly, since the program has set a global seed, and other numbers in the graph."""
        drawn = [d for d in found if d.path in self._drawn]
        if not drawn or global_seed() is None:
            return []
        self.level = ""
        for each in drawn:
            each.path = f"{each.path} (random numbers under the global seed)"
        return drawn

    def _alike(self, eager: Described, graph: Described) -> bool:
        return Comparison(self._np, {}).alike(eager, graph)

    def _pairs(self, eager: Outcome, graph: Outcome) -> Iterator[tuple[str, Described, Described]]:
        """The leaves that both have, by path."""
        mine, theirs = dict(self._leaves(eager)), dict(self._leaves(graph))
        for path, value in mine.items():
            if path in theirs:
                yield path, value, theirs[path]

    def _leaves(self, outcome: Outcome) -> Iterator[tuple[str, Described]]:
        yield from leaves("result", outcome.result)
        for path, (_, after) in outcome.state.items():
            yield from leaves(path, after)
        for name, value in outcome.gradients or ():
            yield name, value
        for path, value in outcome.variables.values():
            if path in self.noise:
                yield path, ("V", value.dtype.name, tuple(value.shape), value.numpy())

    def _unlike(self, eager: Outcome, graph: Outcome) -> list[Difference]:
        """Noise that has not even the form in common."""
        return [
            Difference(path, shown(a), shown(b))
            for path, a, b in self._pairs(eager, graph)
            if path in self.noise and leaf_form(a) != leaf_form(b)
        ]

    def noisy(self, eager: Outcome, graph: Outcome) -> Iterator[tuple[str, Any, Any, bool]]:
        """The noisy leaves as hashable values, and whether two equal ones can be no accident."""
        for path, a, b in self._pairs(eager, graph):
            if path in self.noise:
                yield path, digest(a), digest(b), a[0] in ARRAYS or isinstance(a[-1], float)

    def _sensible(self, left: list[Difference], eager: Outcome) -> list[Difference]:
        """Without what the last digits of the inputs move as much: a graph rounds differently."""
        moved: dict[str, float] = {}
        for turn in range(2):
            outcome = self._again(self._eager, turn=turn)
            if outcome.error is not None:
                return left
            for d in self._trials.differences(eager, outcome, exact=True):
                moved[d.path] = max(moved.get(d.path, 0.0), float("inf") if d.error is None else d.error)
        copied = self._again(self._eager, turn=-1)  # other objects, the same numbers
        for d in self._trials.differences(eager, copied):
            moved.pop(d.path, None)
        standing = [d for d in left if d.error is None or not d.error <= FACTOR * moved.get(d.path, 0.0)]
        if len(standing) < len(left):
            self.rounding = max([d.error or 0.0 for d in left if d not in standing], default=0.0)
        return standing

    def _nudged(self, turn: int) -> Arguments:
        """The arguments, and the variables in place, moved by some units in the last place (turn -1: only copied)."""
        random = self._np.random.RandomState(11 + max(turn, 0))

        def nudge(value: Any) -> Any:
            tensor = isinstance(value, self._tf.Tensor) and hasattr(value, "numpy")
            if not (tensor or isinstance(value, self._np.ndarray)) or not _is_float(value.dtype):
                return value
            array = value.numpy() if tensor else value
            step = STEPS * _epsilon(self._np, array.dtype) if turn >= 0 else 0.0
            moved = (array * (1 + step * random.uniform(-1, 1, array.shape))).astype(array.dtype)
            return self._tf.constant(moved, dtype=value.dtype) if tensor else moved

        with contextlib.suppress(Exception):
            for _, variable, value in self._trials.state.variables.values.values():
                if _is_float(value.dtype):
                    variable.assign(nudge(value))
        args, keywords = self._arguments
        try:
            return self._tf.nest.map_structure(nudge, (tuple(args), dict(keywords)))  # type: ignore[no-any-return]
        except (TypeError, ValueError):
            return self._arguments


def _is_float(dtype: Any) -> bool:
    return "float" in str(getattr(dtype, "name", dtype))


def _epsilon(np: Any, dtype: Any) -> float:
    try:
        return float(np.finfo(dtype).eps)
    except ValueError:  # bfloat16
        return 0.0078


def is_random(graph: Any) -> bool:
    """Whether any trace of a hybrid function draws random numbers."""
    try:
        functions = graph._list_all_concrete_functions()
    except Exception:
        return False
    for function in functions:
        try:
            definition = function.graph.as_graph_def()
        except Exception:
            continue
        if any(node.op in RANDOM for node in definition.node):
            return True
        if any(node.op in RANDOM for inner in definition.library.function for node in inner.node_def):
            return True
    return False


@contextlib.contextmanager
def state_kept(after: State) -> Iterator[None]:
    """Whatever runs in here, the state is then that of `after`."""
    try:
        yield
    finally:
        after.restore()
