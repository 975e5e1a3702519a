"""Functions that yield or await: as graphs they raise before anything of their body runs; there is no more to see."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .differ import Difference
from .record import Record
from .trial import said


def suspends(function: Any) -> bool:
    """Whether calls of a function give what runs later: a generator, a coroutine."""
    kinds = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(kind(function) for kind in kinds)


def watched(record: Record, function: Any, decorator: Callable[[Any], Any], ready: Callable[[], bool]) -> Any:
    """A function of the same kind (others ask for that) that notes what a graph makes of its calls.

    `ready` says whether a graph may be tried now.
    """
    hybrid = decorator(function)

    def called(args: Any, keywords: Any) -> None:
        record.calls += 1
        if record.bad or not ready():
            return
        record.compared += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that nothing awaits it
                hybrid(*args, **keywords)
        except Exception as problem:
            record.differ("raised", [Difference("exception", "nothing raised", said(problem))], problem)
        else:
            record.skip("what it gives runs later")

    return functools.wraps(function)(_alike(function, called))


def _alike(function: Any, called: Callable[[Any, Any], None]) -> Any:
    if inspect.iscoroutinefunction(function):

        async def awaited(*args: Any, **keywords: Any) -> Any:
            called(args, keywords)
            return await function(*args, **keywords)

        return awaited
    if inspect.isasyncgenfunction(function):

        async def streamed(*args: Any, **keywords: Any) -> Any:
            called(args, keywords)
            async for item in function(*args, **keywords):  # what is sent to it gets lost
                yield item

        return streamed

    def generated(*args: Any, **keywords: Any) -> Any:
        called(args, keywords)
        return (yield from function(*args, **keywords))

    return generated
