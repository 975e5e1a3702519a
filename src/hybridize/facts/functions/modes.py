"""The execution mode of each function: hybrid by a decorator in any spelling, or by an explicit call."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from hybridize.domain.objects import BOTTOM, Func, Lit, Obj, Value, Wrapper
from hybridize.facts.model import Hybridization
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.library.dialect import FUNCTION_PARAMETERS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code


def hybridization(solution: Solution, code: Code) -> Hybridization | None:
    """How a function is made hybrid, or None."""
    places = solution.world.hybrids.get(code)
    if not places:
        return None
    conditional = _may_stay_eager(solution, code)
    for node in code.decorators:
        position = _position(node)
        if code.parent is not None and (code.parent, position) in places:
            arguments = _arguments(node)
            given = _given(places[code.parent, position], arguments)
            return Hybridization(node.lineno, arguments, True, given, conditional)
    place = min(places, key=lambda p: (p[0].path, p[1]))
    return Hybridization(place[1] >> 16, (), False, _given(places[place], ()), conditional)


def _position(node: ast.expr) -> int:
    return node.lineno << 16 | min(node.col_offset, 0xFFFF)


def _given(options: Mapping[str, Value], arguments: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The arguments that say something and do not stand at the place itself."""
    here = {name for name, _ in arguments}
    others = ((name, value) for name, value in sorted(options.items()) if name not in here)
    return tuple(name for name, value in others if value and not (all(map(_is_off, value)) and name != "autograph"))


def _may_stay_eager(solution: Solution, code: Code) -> bool:
    """Whether a decorator of a function may give the function itself: a flag decides, or a stand-in."""
    if code.parent is None:
        return False
    switched = solution.world.switched
    made = index_of(code.parent)
    for position in map(_position, code.decorators):
        if (code.parent, position) in switched:
            return True
        slots = [i.target for i in made.of(ir.Call) if i.position == position and len(i.arguments) == 1]
        for frame in solution.frames.get(code.parent, ()):
            if any(_is_either(frame.vals[slot] or BOTTOM, code) for slot in slots):
                return True
    return False


def _is_either(value: Value, code: Code) -> bool:
    """Whether a value is a function as it was defined, or what `tf.function` makes of it."""
    plain = any(isinstance(obj, Func) and obj.code is code for obj in value)
    return plain and any(isinstance(obj, Wrapper) and obj.kind == "hybrid" for obj in value)


def _is_off(obj: Obj) -> bool:
    """Whether an option is left as it is: None, or False."""
    return isinstance(obj, Lit) and (obj.const is None or obj.const is False)


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


def _arguments(node: ast.expr) -> tuple[tuple[str, str], ...]:
    """The arguments of a decorator by parameter name, as they stand in the source."""
    if not isinstance(node, ast.Call):
        return ()
    out = [
        (FUNCTION_PARAMETERS[i + 1] if i + 1 < len(FUNCTION_PARAMETERS) else str(i), ast.unparse(arg))
        for i, arg in enumerate(node.args)
    ]
    out += [(kw.arg or "**", ast.unparse(kw.value)) for kw in node.keywords]
    return tuple(out)
