"""One run of a function, and all that can be compared with another run from the same state."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

from .callers import reads_text
from .differ import Comparison, Difference, leaves
from .heap import Heap, Snapshot
from .holders import MISSING
from .outside import Written
from .resources import Randomness, Variables, untaped
from .streams import Streams, same_text
from .values import MISSING as NOTHING
from .values import Described, Describer

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Compare = Callable[[str, Described, Described], Iterator[Difference]]


#: How many times its limit a call may take on a busy machine.
PATIENCE = 4
#: With which the paths of Python's and NumPy's random numbers begin.
STREAM = "the stream of"


class TooLong(BaseException):
    """A graph's call was ended, since it took too long. No handler for ordinary exceptions shall stop it."""


class Outcome:
    """What a run did, described.

    Attributes:
        value, error: what it returned or raised, as such.
        result: the described value.
        state: by path, (described before, described after) of what changed.
        variables: by identity, (path, value).
        gradients: in the order of what they are for, (name, described).
        moved: whether it moved the streams of `random` and of NumPy.
        traced: it made a new trace, in which Python code runs as in the eager form.
        leaked: what eager calls raise now, since a tensor of the graph lies in a cache of `functools`.
        seconds: the call alone.
    """

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.result: Described = NOTHING
        self.state: dict[str, tuple[Described, Described]] = {}
        self.variables: dict[int, tuple[str, Any]] = {}
        self.gradients: list[tuple[str, Described]] | None = None
        self.text: dict[str, str] = {}
        self.files: dict[str, Written] = {}
        self.calls: list[str] = []
        self.same: list[str] = []
        self.notes: list[str] = []
        self.seconds = 0.0
        self.moved = (False, False)
        self.traced = False
        self.leaked: BaseException | None = None


class State:
    """The state before a call (or after it), which runs start from."""

    def __init__(self, heap: Heap, roots: list[tuple[str, Any]], home: Any) -> None:
        with untaped(heap.tf):
            self.snapshot = Snapshot(heap, roots, home)
            self.variables = Variables(heap.tf, self.snapshot.variables)
            self.randomness = Randomness(heap.np)
        self._tf = heap.tf
        self.origin = heap, roots, home

    def restore(self, caches: bool = True) -> None:
        """As it was; without `caches` these keep what was put there."""
        with untaped(self._tf):
            self.snapshot.restore(caches)
            self.variables.restore()
            self.randomness.restore()


class Trials:
    """Runs a function from one state, in several ways, and compares what came out.

    Attributes:
        identity: callers ask whether a tensor that they get is one that they gave.
        ignored: the caller does nothing with the result.
        plainly: makes a context in which watched functions are called as they were defined.
        touched: computing gradients changes state, as a custom gradient's Python code may; None: not known yet.
        recording: tapes record while gradients are computed.
    """

    def __init__(self, heap: Heap, describer: Describer, comparison: Comparison, state: State) -> None:
        self._tf, self._np = heap.tf, heap.np
        self._describer, self._comparison, self.state = describer, comparison, state
        self.identity = self.recording = self.ignored = False
        self.touched: bool | None = None
        self.plainly: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        self._exact = Comparison(heap.np, {"default": 0.0, "python": 0.0})

    def run(
        self,
        call: Callable[..., Any],
        arguments: Arguments,
        *,
        real: bool,
        gradients: bool,
        seconds: float | None = None,
        tapes: bool = False,
        graph: bool = False,
    ) -> Outcome:
        """One run. Whoever calls restores the state before another one.

        Args:
            call: the function.
            arguments: positional and named.
            real: what it prints is passed on.
            gradients: compute those that a tape around the call would give.
            seconds: a limit, for what may not end.
            tapes: the tapes that it can reach are replaced by the one around the call, which watches nothing else.
            graph: it is the hybrid form: tapes from outside know nothing of a graph's tensors, and must not be used up.
        """
        outcome = Outcome()
        args, keywords = arguments if real else self._copied(arguments, guarded=graph and not tapes)
        tape = self._tf.GradientTape(persistent=True) if gradients else None
        if tapes:
            args, keywords = self._retaped(tape, args, keywords)
        sources: list[Any] = []
        with Streams(real=real) as streams, _limit(seconds):
            try:
                with tape if tape is not None else contextlib.nullcontext():
                    if tape is not None:
                        sources = self._sources(args, keywords)
                        for source in () if tapes else sources:
                            tape.watch(source)
                    started = perf_counter()
                    outcome.value = call(*args, **keywords)
                    outcome.seconds = perf_counter() - started
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as problem:
                outcome.error = problem
        outcome.text, outcome.files, outcome.notes = streams.text, streams.files, streams.notes
        outcome.calls = streams.calls
        kept = None
        if tape is not None and outcome.error is None:
            kept = State(*self.state.origin) if real and self.touched is not False else None
            self._backwards(outcome, tape, sources)
        del tape
        with untaped(self._tf):
            self._describe(outcome)
        if kept is not None:  # the program asks for gradients itself, if it wants to
            kept.restore()
        return outcome

    def _copied(self, arguments: Arguments, *, guarded: bool) -> Arguments:
        """The arguments of a run that the program must not see: stand-ins for iterators and, if `guarded`, tapes."""
        copies = self.state.snapshot.stand_in()
        if guarded:
            copies.update(self.state.snapshot.guard_tapes(self._tf))
        args, keywords = arguments
        return tuple(copies.get(id(a), a) for a in args), {k: copies.get(id(v), v) for k, v in keywords.items()}

    def _backwards(self, outcome: Outcome, tape: Any, sources: list[Any]) -> None:
        """The gradients, and what the program's own code does on the way back."""
        before = self._marks()
        quiet = contextlib.nullcontext() if self.recording else untaped(self._tf)
        with self.plainly(), Streams(real=False) as streams, quiet:
            outcome.gradients = self._gradients(tape, sources, outcome.value)
        for name, text in streams.text.items():
            outcome.text[name] = outcome.text.get(name, "") + text
        outcome.calls += streams.calls
        if self._marks() != before:
            self.touched = True

    def _marks(self) -> list[tuple[str, int]]:
        return [(path, id(now)) for path, _, now in self.state.snapshot.changes()]

    def _describe(self, outcome: Outcome) -> None:
        describe = self._describer.describe
        if outcome.error is None:
            outcome.result = describe(outcome.value)
            outcome.same = self._identical(outcome.value)
        for path, before, after in self.state.snapshot.changes():
            outcome.state[path] = (
                NOTHING if before is MISSING else describe(before),
                NOTHING if after is MISSING else describe(after),
            )
        outcome.variables = self.state.variables.now()
        outcome.moved = self.state.randomness.moved()
        outcome.calls += ["tf.random.set_seed"] * self.state.randomness.reseeded()

    def _identical(self, value: Any) -> list[str]:
        """Which lists and dictionaries of the result were there before: whoever gets them may change them."""
        items = list(value) if isinstance(value, tuple) else [value]
        known = self.state.snapshot.paths
        kinds = (list, dict, self._tf.Tensor) if self.identity else (list, dict)
        return [known[id(v)] for v in items if isinstance(v, kinds) and id(v) in known]

    def _retaped(self, tape: Any, args: Any, keywords: Any) -> Arguments:
        found = {}
        for other in self.state.snapshot.tapes:
            found[id(other)] = tape
            self.state.snapshot.replace(other, tape)
        return tuple(found.get(id(a), a) for a in args), {k: found.get(id(v), v) for k, v in keywords.items()}

    def _sources(self, args: Any, keywords: Any) -> list[Any]:
        found: list[Any] = []
        for leaf in self._tf.nest.flatten([list(args), list(keywords.values())]):
            if isinstance(leaf, self._tf.Tensor) and leaf.dtype.is_floating and hasattr(leaf, "numpy"):
                found.append(leaf)
        return found[:100]

    def _gradients(self, tape: Any, sources: list[Any], value: Any) -> list[tuple[str, Described]] | None:
        """Of a fixed weighted sum of the results, with respect to tensor arguments and the variables that were used."""
        tf, np = self._tf, self._np
        targets = [
            t
            for t in tf.nest.flatten(value)
            if isinstance(t, tf.Tensor) and hasattr(t, "numpy") and (t.dtype.is_floating or t.dtype.is_complex)
        ]
        variables = {id(v): v for v in tape.watched_variables()}
        if not targets:
            return None
        random = np.random.RandomState(7)
        weights = [tf.cast(tf.constant(random.uniform(0.5, 1.5, t.shape.as_list())), t.dtype) for t in targets]
        try:
            found = tape.gradient(targets, [*sources, *variables.values()], output_gradients=weights)
        except Exception as error:
            return [("gradient", ("exception", type(error).__name__))]
        names = [f"gradient of argument {i + 1}" for i in range(len(sources))]
        names += [f"gradient of {getattr(v, 'path', v.name)}" for v in variables.values()]
        gradients = []
        for name, gradient in zip(names, found):
            if isinstance(gradient, tf.IndexedSlices):
                gradient = tf.convert_to_tensor(gradient)
            gradients.append((name, self._describer.describe(gradient)))
        return gradients

    def differences(self, eager: Outcome, graph: Outcome, exact: bool = False) -> list[Difference]:
        """All that is not the same (an exception on one side alone hides the rest); `exact`: to the last bit."""
        found = _errors(eager, graph)
        if found or eager.error is not None:
            return found
        compare = (self._exact if exact else self._comparison).compare
        found += self._results(eager, graph, compare)
        if eager.same != graph.same and not found:
            found.append(
                Difference("identity of result", f"`{eager.same[0]}` itself" if eager.same else "new", "a copy")
            )
        for path in dict.fromkeys((*eager.state, *graph.state)):
            one, two = eager.state.get(path), graph.state.get(path)
            before = (one or two or (NOTHING, NOTHING))[0]
            found += compare(path, one[1] if one else before, two[1] if two else before)
        found += self._variables(eager, graph, compare)
        found += self._compared_gradients(eager, graph, compare)
        for name in ("stdout", "stderr"):
            if not same_text(eager.text.get(name, ""), graph.text.get(name, "")):
                found.append(Difference(name, _line(eager.text[name]), _line(graph.text[name])))
        for name, mine, theirs in zip(("random", "numpy.random"), eager.moved, graph.moved):
            if mine and not theirs and not graph.traced:
                found.append(Difference(f"{STREAM} `{name}`", "moved", "as it was"))
        for path in dict.fromkeys((*eager.files, *graph.files)):
            texts = [side.files[path].text if path in side.files else "not written" for side in (eager, graph)]
            if not same_text(texts[0], texts[1]):
                found.append(Difference(f"file {path}", _line(texts[0]), _line(texts[1])))
        if not same_text("\n".join(eager.calls), "\n".join(graph.calls)):
            found.append(Difference("calls", _line(", ".join(eager.calls)), _line(", ".join(graph.calls))))
        return found

    def _results(self, eager: Outcome, graph: Outcome, compare: Compare) -> list[Difference]:
        """Differences of results; that a number comes back as a tensor is none where nobody looks."""
        found = list(compare("result", eager.result, graph.result))
        if not self.ignored:
            return found
        mine, theirs = (dict(leaves("result", side.result)) for side in (eager, graph))
        return [d for d in found if not self._same_number(mine.get(d.path), theirs.get(d.path))]

    def _same_number(self, eager: Described | None, graph: Described | None) -> bool:
        if eager is None or graph is None or eager[0] == graph[0]:
            return False
        try:
            return bool(self._np.allclose(eager[-1], graph[-1]))
        except (TypeError, ValueError):
            return False

    def _variables(self, eager: Outcome, graph: Outcome, compare: Compare) -> Iterator[Difference]:
        for key, (path, value) in eager.variables.items():
            other = graph.variables.get(key)
            if other is None or value is other[1]:
                continue
            describe = self._describer.describe
            yield from compare(path, describe(value), describe(other[1]))

    def _compared_gradients(self, eager: Outcome, graph: Outcome, compare: Compare) -> Iterator[Difference]:
        if eager.gradients is None or graph.gradients is None:
            return
        mine, theirs = dict(eager.gradients), dict(graph.gradients)
        if len(mine) == len(eager.gradients) and len(theirs) == len(graph.gradients) and set(mine) >= set(theirs):
            pairs = [(name, mine[name], theirs.get(name)) for name in mine]
        elif len(eager.gradients) == len(graph.gradients):  # variables made in the call, under other names
            pairs = [(a[0], a[1], b[1]) for a, b in zip(eager.gradients, graph.gradients)]
        else:
            pairs = [(name, mine.get(name, NONE), theirs.get(name)) for name in dict.fromkeys((*mine, *theirs))]
        for name, a, b in pairs:
            yield from compare(name, a, NONE if b is None else b)


NONE = ("py", "NoneType", None)


def _errors(eager: Outcome, graph: Outcome) -> list[Difference]:
    mine, theirs = eager.error, graph.error
    if mine is None and theirs is None:
        return []
    if mine is not None and theirs is not None and same_kind(mine, theirs):
        if str(mine) != str(theirs) and reads_text(type(mine), sys._getframe(1)):
            return [Difference("text of the exception", _line(str(mine)), _line(str(theirs)))]
        return []
    return [Difference("exception", said(mine), said(theirs))]


def same_kind(eager: BaseException, graph: BaseException) -> bool:
    """Whether who catches the eager exception would catch the graph's."""
    return type(graph) is type(eager) or type(eager).__name__ in [c.__name__ for c in type(graph).__mro__]


def said(error: BaseException | None) -> str:
    """An exception in a line."""
    if error is None:
        return "nothing raised"
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    text = lines[-1].strip() if lines else ""
    name = type(error).__name__
    return (text if text.startswith(name) else f"{name}: {text}")[:300]


def _line(text: str) -> str:
    shown = repr(text.strip())
    return shown if len(shown) <= 120 else f"{shown[:119]}…"


@contextlib.contextmanager
def _limit(seconds: float | None) -> Iterator[None]:
    """Raises TooLong in the main thread's Python code after some seconds, if the program has no alarm of its own.

    On a busy machine a call may take longer without being at work: then it has PATIENCE times as long.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    began, worked = perf_counter(), process_time()

    def ring(*_: object) -> None:
        if process_time() - worked < seconds and perf_counter() - began < PATIENCE * seconds:
            return
        raise TooLong(f"the graph was not done after {seconds:g} seconds")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, if it was caught
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
