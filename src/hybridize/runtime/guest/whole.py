"""The program with its conversions, or without some of them, and nobody between: how it ends is told."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from .judge import STEPS, is_random
from .suspended import suspends
from .timer import _eager


class Watcher:
    """Gives each function the form that the job asks for.

    Options: `left` has the numbers of the functions that stay as they are; with `nudge` (a seed, not 0) what these get
    and give is moved by some units in the last place, which shows what rounding does to the program.
    """

    def __init__(self, job: Any, reporter: Any) -> None:
        self._left = set(job["options"].get("left", ()))
        self._nudge = int(job["options"].get("nudge", 0))
        self._reverse = {n for n, f in enumerate(job["functions"]) if f.get("reverse")}
        self._reporter = reporter
        self._hybrid: list[tuple[int, Any]] = []

    def watch(self, number: int, decorator: Any = None) -> Any:
        """The decorator of a function."""

        def decorate(function: Any) -> Any:
            inner = getattr(function, "__func__", function)
            if decorator is None or suspends(inner):
                return function
            if (number in self._left) == (number in self._reverse):
                hybrid = decorator(function)
                self._hybrid.append((number, hybrid))
                return hybrid
            if self._nudge and inspect.isfunction(function) and number not in self._reverse:
                return self._moved(function)
            return function

        return decorate

    def _moved(self, function: Any) -> Any:
        import numpy as np
        import tensorflow as tf

        random = np.random.RandomState(self._nudge)

        @functools.wraps(function)
        def moved(*args: Any, **keywords: Any) -> Any:
            if not _eager():
                return converted(tf, function)(*args, **keywords)
            return function(*(_nudged(tf, np, random, a) for a in args), **keywords)

        moved.autograph_info__ = ()  # type: ignore[attr-defined]
        return moved

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


def converted(tf: Any, function: Any) -> Any:
    """As AutoGraph would run it at this place."""
    internal = tf.__internal__.autograph
    return internal.tf_convert(function, internal.control_status_ctx())
