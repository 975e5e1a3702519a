"""Shadow mode: the program goes on with what its functions do eagerly; beside it, from the same state, run graphs."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from time import perf_counter  # the clock itself: the one of `time` is watched during runs
from typing import Any
from weakref import WeakSet

from . import traces
from .callers import ignored
from .differ import Comparison, Difference
from .heap import Heap
from .judge import Judge, is_random, state_kept
from .novelty import Lookout, Novelty
from .own import Own
from .record import Record
from .resources import taped
from .results import Results
from .subject import Call, Shadow, Subject
from .suspended import suspends, watched
from .timer import converted
from .trial import Outcome, State, TooLong, Trials, said, same_kind
from .values import Describer

#: Calls that are compared after the first ones of a signature: programs do something else at every round number.
SAMPLED = frozenset(
    {2**n for n in range(3, 24)} | {k * 10**n + more for n in range(1, 7) for k in (1, 2, 5) for more in (0, 1)}
)
PERIOD = 1.0  # seconds between two reports
#: Calls that are timed eagerly and as a graph in turn once the comparison is done.
TIMED = 8


class Watcher:
    """Decides how each call of a watched function is run, and keeps the records."""

    def __init__(self, job: Any, reporter: Any) -> None:
        options = job["options"]
        self._reporter = reporter
        self._is_own = Own(job["own"])
        self._identity = {n for n, f in enumerate(job["functions"]) if f.get("identity")}
        self._reverse = {n for n, f in enumerate(job["functions"]) if f.get("reverse")}
        self._apart = {n for n, f in enumerate(job["functions"]) if f.get("apart")}  # compared, and converted nowhere
        self._max_calls = int(options.get("max_calls", 3))
        self._full = bool(options.get("full"))
        self._call_seconds = options.get("call_seconds", 60.0)
        self._memory = int(options.get("memory", 1 << 30))
        self._tolerances = options["tolerances"]
        self._share = float(options.get("share", 0.8))
        self.records: dict[int, Record] = {}
        self._subjects: dict[int, WeakSet[Subject]] = {}
        self._lock = threading.RLock()
        self._tracing: list[Record] = []  # whose graphs run at the moment
        self._plain = 0
        self._started = self._told = perf_counter()
        self._spent = 0.0
        self.tf: Any = None
        atexit.register(self.finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def watch(self, number: int, decorator: Any = None) -> Any:
        """The decorator of a watched function."""

        def decorate(function: Any) -> Any:
            inner = getattr(function, "__func__", function)
            if decorator is None or (suspends(inner) and inner is not function):
                return function
            self._begin()
            record = self.records.setdefault(number, Record(number, number in self._reverse))
            if suspends(inner):
                return watched(record, function, decorator, lambda: self.tf.executing_eagerly() and not self._tracing)
            try:
                shadow = Shadow(self, record, function, decorator)
            except Exception as problem:
                record.calls += 1
                record.differ("raised", [], problem)
                return function
            self._subjects.setdefault(number, WeakSet()).add(shadow.__hybridize__)
            return shadow

        return decorate

    def _begin(self) -> None:
        if self.tf is None:
            self.tf = importlib.import_module("tensorflow")
            numpy = importlib.import_module("numpy")
            self.heap = Heap(self.tf, numpy, self._is_own, self._memory)
            self._describer = Describer(self.tf, numpy, lambda cls: self._is_own(cls.__module__))
            self._comparison = Comparison(numpy, self._tolerances)
            self._lookout = Lookout(self.heap)
            self.results = Results(self._describer)

    def finish(self) -> None:
        """Tells all records."""
        for record in list(self.records.values()):
            self._reporter.tell("function", **record.as_json())
        self._reporter.tell("spent", seconds=self._spent)

    def _tick(self) -> None:
        now = perf_counter()
        if now - self._told > PERIOD:
            self._told = now
            self.finish()

    def _forked(self) -> None:
        self._lock = threading.RLock()
        self._tracing, self._plain = [], 0
        for record in self.records.values():
            record.reset()

    def call(self, call: Call) -> Any:
        """Runs a call of a watched function."""
        if not self.tf.executing_eagerly() or self._plain or self._tracing:
            return self._called(call)
        return self.results.around(call.subject.record.number, lambda: self._called(call))

    def _called(self, call: Call) -> Any:
        record = call.subject.record
        args, keywords = call.arguments
        if self._plain and not self._tracing and self.tf.executing_eagerly():
            return call.reference()(*args, **keywords)
        record.calls += 1
        self._tick()
        if not self.tf.executing_eagerly():
            return self._in_graph(call)
        if self._tracing:  # eager code that a graph calls
            for outer in self._tracing:
                outer.callees.add(record.number)
            return (call.reference() if self._stays(record) else call.candidate())(*args, **keywords)
        reason = self._against()
        if record.bad or (record.retraces and record.traces > 8) or reason:
            if reason:
                record.skip(reason)
            return call.reference()(*args, **keywords)
        if not self._lock.acquire(blocking=False):
            record.skip("called in several threads at once")
            return call.reference()(*args, **keywords)
        try:
            return self._temporary(call) if call.temporary and not record.reverse else self._choose(call)
        finally:
            self._lock.release()

    def _against(self) -> str:
        """Why no eager call can be compared now."""
        tf = self.tf
        if tf.config.functions_run_eagerly():
            return "tf.config.run_functions_eagerly is on"
        if tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context():
            return "called in a replica of a strategy"
        return ""

    def _choose(self, call: Call) -> Any:
        subject, record = call.subject, call.subject.record
        bound = call.bound()
        parts = subject.signatures.parts(bound)
        key = (call.receiver, tuple(parts.items()))
        number = subject.seen[key] = subject.seen.get(key, 0) + 1
        due = self._full or self._due(record, number)
        state = self._lookout.state(call.holders(), getattr(subject.function, "__globals__", None))
        if state is not None:
            novelty = subject.novelties.setdefault(call.receiver, Novelty())
            due = due or (self._affordable() and record.compared < 16 * self._max_calls and novelty.new(state))
            if due:
                novelty.learn(state)
        if due:
            return self._compare(call, bound, parts, key)
        eager, graph = len(record.eager_times), len(record.graph_times)
        if record.singles or (record.verdict is None and record.skipped) or record.number in self._apart:
            return call.reference()(*call.arguments[0], **call.arguments[1])
        if eager <= graph and eager < TIMED + self._max_calls and key in subject.known:
            started = perf_counter()
            try:
                value = call.reference()(*call.arguments[0], **call.arguments[1])
            except Exception as problem:
                self._after(call, bound, problem)
                raise
            record.timed(eager=perf_counter() - started)
            return value
        return self._alone(call, bound, parts, key)

    def _due(self, record: Record, number: int) -> bool:
        """Whether the call is compared: the first of each signature, and a few later ones, if there is time for it."""
        if number <= min(2, self._max_calls) and record.compared < 8 * self._max_calls:
            return True
        if not self._affordable():
            return False
        return record.compared < 16 * self._max_calls and (number <= self._max_calls or record.calls in SAMPLED)

    def _affordable(self) -> bool:
        """Whether comparing has not yet taken its share of the time."""
        elapsed = perf_counter() - self._started
        return self._spent <= self._share * (elapsed - self._spent) + 2.0

    def _alone(self, call: Call, bound: Any, parts: Any, key: Any) -> Any:
        """The graph, and nothing else."""
        record = call.subject.record
        args, keywords = call.arguments
        record.alone += 1
        before = traces.count(call)
        started = perf_counter()
        try:
            value = call.candidate()(*args, **keywords)
        except Exception as problem:
            try:
                value = call.reference()(*args, **keywords)
            except Exception as other:
                if not same_kind(other, problem):
                    record.differ("raised", [], problem)
                raise
            record.differ("raised", [], problem)
            return value
        seconds = perf_counter() - started
        if not traces.note(call, before, bound, parts, key):
            record.timed(graph=seconds)
        return value

    def _after(self, call: Call, bound: Any, problem: Exception) -> None:
        """The eager form raised: if the graph raises, too (an iterator has ended, say), it must be of the same kind."""
        record = call.subject.record
        roots = [*bound, (call.subject.function.__name__, call.subject.function)]
        trials = self._trials(call, roots, None)
        form = traces.form(call)
        if form is None or trials.state.snapshot.truncated:
            return
        with self._graph_runs(record):
            graph = trials.run(
                form, call.arguments, real=False, gradients=False, seconds=self._call_seconds, graph=True
            )
        once = trials.state.snapshot.tripped()
        trials.state.restore()
        if once is None and graph.error is not None and not same_kind(problem, graph.error):
            record.differ("raised", [], graph.error)

    def _in_graph(self, call: Call) -> Any:
        """A call while a graph is traced: the hybrid function becomes part of it."""
        record = call.subject.record
        args, keywords = call.arguments
        record.in_graph += 1
        for outer in self._tracing:
            outer.callees.add(record.number)
        if record.reverse:
            return call.reference()(*args, **keywords)
        if self._stays(record):
            return self._inlined(call)
        if self._tracing:
            return call.candidate()(*args, **keywords)
        try:
            return call.candidate()(*args, **keywords)
        except Exception as problem:
            value = self._inlined(call)
            record.differ("raised", [], problem)
            return value

    def _stays(self, record: Record) -> bool:
        """Whether a function is to others what it is without the conversion."""
        return record.bad or record.number in self._apart

    def _inlined(self, call: Call) -> Any:
        """The plain function as part of the graph that is being traced, converted by AutoGraph if the rest is."""
        return converted(call.reference())(*call.arguments[0], **call.arguments[1])

    @contextlib.contextmanager
    def _graph_runs(self, record: Record) -> Iterator[None]:
        self._tracing.append(record)
        try:
            yield
        finally:
            self._tracing.pop()

    def _compare(self, call: Call, bound: Any, parts: Any, key: Any) -> Any:
        """Both forms from the same state; the eager one is what the program sees."""
        subject, record = call.subject, call.subject.record
        started = perf_counter()
        roots = [*bound, (getattr(subject.function, "__name__", "function"), subject.function)]
        home = getattr(subject.function, "__globals__", None)
        try:
            trials = self._trials(call, roots, home)
            snapshot = trials.state.snapshot
            reason = "is too large to be remembered" if snapshot.truncated else ""
            if snapshot.meeting and threading.active_count() > 1:
                reason = f"is other threads', too (`{snapshot.meeting}`)"
        except Exception as problem:  # objects of the program's that can't be read
            reason = f"can't be read ({type(problem).__name__})"
        if reason:
            record.skip(f"the state that it can reach {reason}")
            return call.reference()(*call.arguments[0], **call.arguments[1])
        record.compared += 1
        self._reporter.tell("graph", function=record.number, runs=True)
        gradients = taped()
        before = traces.count(call)
        graph, new, form = self._run_graph(call, trials, gradients, before, bound, parts, key)
        once = trials.state.snapshot.tripped()
        if once is not None:
            record.single(f"`{once}` can be read only once")
            self._reporter.tell("graph", function=record.number, runs=False)
            return call.reference()(*call.arguments[0], **call.arguments[1])
        eager = trials.run(call.reference(), call.arguments, real=True, gradients=gradients)
        subject.touched = bool(trials.touched)
        self._verdict(call, trials, (roots, home), (eager, graph), form, gradients)
        if not new and eager.error is None and graph.error is None:
            record.timed(eager.seconds, graph.seconds)
        elif not record.first_graph:
            record.first_graph = graph.seconds
        self._reporter.tell("graph", function=record.number, runs=False)
        if record.compared <= 2 * self._max_calls:  # whatever ends the process soon
            self._reporter.tell("function", **record.as_json())
        self._spent += perf_counter() - started - eager.seconds
        if eager.error is not None:
            raise eager.error
        return eager.value

    def _run_graph(
        self, call: Call, trials: Trials, gradients: bool, before: int, bound: Any, parts: Any, key: Any
    ) -> tuple[Outcome, int, Any]:
        """The graph's run, the state put back; the number of new traces; the hybrid function."""
        with self._graph_runs(call.subject.record):
            graph = self._trial(trials, lambda *a, **k: call.candidate()(*a, **k), call.arguments, gradients)
        new = traces.note(call, before, bound, parts, key)
        graph.traced = bool(new)
        if new and graph.error is None and trials.state.snapshot.cached():
            trials.state.restore(caches=False)
            with self._plainly():
                graph.leaked = trials.run(call.reference(), call.arguments, real=False, gradients=False).error
        form = traces.form(call)
        made = any(holder.made() for holder in trials.state.snapshot.traces)
        trials.state.restore()
        record = call.subject.record
        inner = [s for n in {record.number, *record.callees} for s in self._subjects.get(n, ())]
        if made or any(subject.made() for subject in inner):
            # These traces hold variables that the eager run will make again: from now on others must be made.
            for subject in inner:
                subject.renew()
        return graph, new, form

    def _trials(self, call: Call, roots: Any, home: Any) -> Trials:
        trials = Trials(self.heap, self._describer, self._comparison, State(self.heap, roots, home))
        trials.identity = call.subject.record.number in self._identity
        trials.touched, trials.plainly = call.subject.touched, self._plainly
        trials.ignored = ignored(sys._getframe(1))
        return trials

    @contextlib.contextmanager
    def _plainly(self) -> Iterator[None]:
        """Watched functions that eager code calls in here are called as they were defined."""
        tracing, self._tracing = self._tracing, []
        self._plain += 1
        try:
            yield
        finally:
            self._plain -= 1
            self._tracing = tracing

    def _trial(self, trials: Trials, form: Any, arguments: Any, gradients: bool) -> Outcome:
        """A run of the hybrid form that the program does not see."""
        return trials.run(form, arguments, real=False, gradients=gradients, seconds=self._call_seconds, graph=True)

    def _temporary(self, call: Call) -> Any:
        """A method of an object that nobody else holds: a hybrid function does not hold it either.

        So the eager run comes first, and then, without the object, the graph; all that can be compared is an exception.
        """
        record = call.subject.record
        args, keywords = call.arguments
        if record.compared >= 8 * self._max_calls:
            return call.reference()(*args, **keywords)
        record.compared += 1
        value = call.reference()(*args, **keywords)
        roots = [*enumerate(args), (call.subject.function.__name__, call.subject.function)]
        trials = self._trials(call, roots, None)
        problem: BaseException | None = None
        try:
            form = call.candidate()
        except Exception as error:
            problem = error
        else:
            call.forget()
            with self._graph_runs(record):
                graph = trials.run(
                    form, call.arguments, real=False, gradients=False, seconds=self._call_seconds, graph=True
                )
            problem = None if trials.state.snapshot.tripped() else graph.error
            trials.state.restore()
        if problem is None:
            record.passed("equal")
        else:
            record.differ("raised", [], problem)
        return value

    def _verdict(
        self, call: Call, trials: Trials, where: Any, outcomes: tuple[Outcome, Outcome], form: Any, gradients: bool
    ) -> None:
        eager, graph = outcomes
        record = call.subject.record
        record.notes += [n for n in graph.notes if n not in record.notes]
        self._comparison.taken()
        left = trials.differences(eager, graph)
        within = self._comparison.taken()
        level = ""
        watched = not left and bool(trials.state.snapshot.tapes) and eager.error is None
        if watched or (left and left[0].path != "exception"):
            self._plain += 1
            try:
                with state_kept(State(self.heap, *where)):
                    forms = (call.reference(), call.candidate(), self._fresh(call))
                    random = is_random(call.reference() if record.reverse else form)
                    judge = Judge(self.tf, self.heap.np, trials, forms, call.arguments, gradients)
                    left, level = self._judged(judge, left, eager, graph, record, random)
            finally:
                self._plain -= 1
        if record.again and not left and graph.error is None:
            graph.error = ValueError("tf.function only supports singleton tf.Variables created on the first call")
            left = [Difference("exception", "nothing raised", f"ValueError: {graph.error}")]
        record.again = False
        if graph.leaked is not None and eager.error is None and not left:
            graph.error, left = graph.leaked, [Difference("exception", "nothing raised", said(graph.leaked))]
        if left:
            self._differs(call, left, graph)
        else:
            if not level:
                record.largest = max(record.largest, within)
            record.passed("random" if level else "equal", level)

    @staticmethod
    def _judged(
        judge: Judge, left: Any, eager: Outcome, graph: Outcome, record: Record, random: bool
    ) -> tuple[Any, str]:
        """The differences that stand, and how random results were compared."""
        if not left:
            return judge.with_tapes(), ""
        try:
            left = judge.remaining(left, eager, graph, random)
        finally:
            judge.finish()
        record.rounding = max(record.rounding, judge.rounding)
        if not random:
            left += record.frozen(judge.noisy(eager, graph))
        return left, judge.level

    def _fresh(self, call: Call) -> Any:
        def make() -> Any:
            if call.subject.record.reverse:
                return call.candidate()
            hybrid = call.subject.decorator(call.subject.function)
            bound = hybrid if call.instance is None else hybrid.__get__(call.instance, call.owner)

            def run(*args: Any, **keywords: Any) -> Any:
                with self._graph_runs(call.subject.record):
                    return bound(*args, **keywords)

            return run

        return make

    def _differs(self, call: Call, left: Any, graph: Outcome) -> None:
        """A watched function that it calls may be the cause: then it is tried again with that one left as it was."""
        record = call.subject.record
        culprits = {n for n in record.callees - record.through if n in self.records and self.records[n].bad}
        raised = left[0].path == "exception" and graph.error is not None
        error = graph.error if raised else None
        if isinstance(error, TooLong):
            error.__traceback__ = None
        record.differ("raised" if raised else "different", left, error)
        if culprits - {record.number}:
            record.through |= culprits - {record.number}
            record.provisional = True
            for subject in self._subjects.get(record.number, ()):
                subject.renew()
                subject.seen.clear()
        self._reporter.tell("function", **record.as_json())
