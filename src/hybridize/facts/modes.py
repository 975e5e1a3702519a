"""The execution mode of each function: hybrid by a decorator in any spelling, or by an explicit call."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from hybridize.domain.objects import NONE_V, Lit, Value
from hybridize.facts.model import Hybridization
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program.ir import Code


def hybridization(solution: Solution, code: Code) -> Hybridization | None:
    """How a function is made hybrid, or None."""
    places = solution.world.hybrids.get(code)
    if not places:
        return None
    for node in code.decorators:
        position = node.lineno << 16 | min(node.col_offset, 0xFFFF)
        options = next((o for (where, pos), o in places.items() if where is code.parent and pos == position), None)
        if options is not None:
            given = _arguments(solution, code, node)
            return Hybridization(node.lineno, given, True, _held(options, {name for name, _ in given}))
    (where, pos) = min(places, key=lambda p: (p[0].path, p[1]))
    del where
    return Hybridization(pos >> 16, (), False)


def is_traced_call(caller: Frame, position: int, callee: Frame) -> bool:
    """Whether a call goes to the graph that `tf.function(f)` gives, not to `f` itself."""
    return caller.calls.get((position, callee)) == "hybrid"


def traced_frames(frames: list[Frame], made: Hybridization | None) -> list[Frame]:
    """The frames of a function that run as a graph.

    A decorator stands before all calls. What `tf.function(f)` gives is another object than `f`, which other code may
    call as it is: only the frames that are called by way of the graph are traced. Where no call is seen (the graph is
    given away), any may be.
    """
    if made is None or made.is_decorator:
        return frames
    found = [f for f in frames if any(not c.gone and is_traced_call(c, p, f) for c, p in f.incoming if c is not None)]
    return found or frames


def _arguments(solution: Solution, code: Code, node: ast.expr) -> tuple[tuple[str, str], ...]:
    """The arguments of a decorator by parameter name, as they stand in the source."""
    if not isinstance(node, ast.Call):
        return ()
    out = [(_NAMES[i + 1] if i + 1 < len(_NAMES) else str(i), ast.unparse(arg)) for i, arg in enumerate(node.args)]
    out += [(kw.arg or "**", ast.unparse(kw.value)) for kw in node.keywords]
    return tuple(out)


def _held(options: Mapping[str, Value], given: set[str]) -> tuple[tuple[str, str], ...]:
    """The options that do not stand in the source of the decorator, by name: constants as text, others as `...`."""
    found: list[tuple[str, str]] = []
    for name, value in sorted(options.items()):
        if name not in given and name != "func" and value and value != NONE_V:
            only = next(iter(value)) if len(value) == 1 else None
            found.append((name, repr(only.const) if isinstance(only, Lit) else "..."))
    return tuple(found)


_NAMES = (
    "func",
    "input_signature",
    "autograph",
    "jit_compile",
    "reduce_retracing",
    "experimental_implements",
    "experimental_autograph_options",
    "experimental_relax_shapes",
    "experimental_compile",
    "experimental_follow_type_hints",
)
