"""The program with its conversions, or without some of them, and nobody between: how it ends is told."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from typing import Any

from .clocks import pace
from .heap import Heap, Snapshot
from .judge import STEPS, is_random
from .own import Own
from .resources import untaped
from .results import Results
from .suspended import suspends
from .timer import Timed, converted, disguised, eager
from .values import Describer

#: How many times as fast clocks run, by the seed of the nudge.
CLOCKS = (53.0, 0.5, 7.0)


class Watcher:
    """Gives each function the form that the job asks for.

    Options: `left` has the numbers of the functions that stay as they are; with `nudge` (a seed, not 0) what these get,
    and the variables that they reach, is moved by some units in the last place, and clocks run at another speed: that
    shows what rounding and the time that the program takes do to it.
    """

    def __init__(self, job: Any, reporter: Any) -> None:
        self._left = set(job["options"].get("left", ()))
        self._nudge = int(job["options"].get("nudge", 0))
        if self._nudge:
            pace(CLOCKS[self._nudge % len(CLOCKS)])
        self._calls: dict[int, int] = {}
        self._reverse = {n for n, f in enumerate(job["functions"]) if f.get("reverse")}
        self._reporter = reporter
        self._hybrid: list[tuple[int, Any]] = []
        self._is_own = Own(job["own"])
        self._tf: Any = None
        self.results: Any = None

    def watch(self, number: int, decorator: Any = None) -> Any:
        """The decorator of a function."""

        def decorate(function: Any) -> Any:
            inner = getattr(function, "__func__", function)
            if decorator is None or suspends(inner):
                return function
            if (number in self._left) == (number in self._reverse):
                hybrid = decorator(function)
                self._hybrid.append((number, hybrid))
                return Timed(self, number, hybrid)
            return self._plain(number, function) if inspect.isfunction(function) else function

        return decorate

    def call(self, number: int, function: Any, args: Any, keywords: Any) -> Any:
        """A call of a hybrid function."""
        if not eager():
            return function(*args, **keywords)
        return self._begun().around(number, lambda: function(*args, **keywords))

    def _begun(self) -> Any:
        if self.results is None:
            tf, np = importlib.import_module("tensorflow"), importlib.import_module("numpy")
            self.results = Results(Describer(tf, np, lambda cls: self._is_own(cls.__module__)))
            self._random = np.random.RandomState(self._nudge)
            self._tf, self._np = tf, np
            self._heap = Heap(tf, np, self._is_own, 1 << 30)
        return self.results

    def _plain(self, number: int, function: Any) -> Any:
        @functools.wraps(function)
        def plain(*args: Any, **keywords: Any) -> Any:
            if not eager():
                return converted(function)(*args, **keywords)
            self._begun()
            if self._nudge and number not in self._reverse:
                args = self._moved(number, function, args, keywords)
            return self.call(number, function, args, keywords)

        return disguised(plain, function)

    def _moved(self, number: int, function: Any, args: Any, keywords: Any) -> tuple[Any, ...]:
        """The arguments moved by rounding; at the 1st, 2nd, 4th, 8th, ... call variables are, too."""
        count = self._calls[number] = self._calls.get(number, 0) + 1
        if count & (count - 1) == 0:
            roots = [(str(i), value) for i, value in enumerate((*args, *keywords.values(), function))]
            with contextlib.suppress(Exception), untaped(self._tf):
                for _, variable in Snapshot(self._heap, roots).variables.values():
                    moved = _nudged(self._tf, self._np, self._random, variable.read_value())
                    variable.assign(moved)
        return tuple(_nudged(self._tf, self._np, self._random, a) for a in args)

    def finish(self) -> None:
        """Tells which functions' graphs draw random numbers."""
        drawing = set()
        for number, hybrid in self._hybrid:
            forms = [hybrid, *getattr(hybrid, "_descriptor_cache", {}).values()]
            if any(is_random(form) for form in forms):
                drawing.add(number)
        self._reporter.tell("drawing", functions=sorted(drawing))


def _nudged(tf: Any, np: Any, random: Any, value: Any) -> Any:
    """A tensor of fractions moved by rounding; anything else as it is (whole numbers are labels, or masks)."""
    if not isinstance(value, tf.Tensor) or not hasattr(value, "numpy") or value.dtype not in (tf.float32, tf.float64):
        return value
    array = value.numpy()
    if not array.size or bool(np.all(array == np.floor(array))):
        return value
    steps = 1 + STEPS * np.finfo(array.dtype).eps * random.uniform(-1, 1, array.shape)
    return value * tf.constant(steps.astype(array.dtype))
