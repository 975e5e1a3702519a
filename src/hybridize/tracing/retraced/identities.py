"""Variables that arrive as arguments and are told apart by identity: they share a graph, made for the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.hits import Hit, Level
from hybridize.tracing.values import argument
from hybridize.tracing.views import FunctionView

#: Methods that stand for an object's identity, and the function that gives it.
REFERENCES: Final = ("ref", "experimental_ref")
_ID: Final = "builtins.id"
_SAID: Final = "asks for the identity of a variable that arrives as an argument: all of a shape share one graph"


def told_apart(function: FunctionView) -> Iterator[Hit]:
    """`v.ref()` and `id(v)` of a parameter that receives variables."""
    index = index_of(function.code)
    if "id" not in index.names and index.attributes.keys().isdisjoint(REFERENCES):
        return
    for view in function.views():
        given = {p.slot for i, p in enumerate(function.code.params) if i or not view.has_receiver}
        for instr in index.of(ir.Call):
            func = index.source(instr.function)
            slot = func.owner if isinstance(func, ir.Attr) and func.name in REFERENCES else -1
            if slot < 0 and _ID in view.names(instr.function):
                slot = argument(instr, 0)
            if slot < 0 or index.original(slot) not in given or not index.uses.get(instr.target):
                continue
            if any(isinstance(o, Tensor) and o.kind == VARIABLE for o in view.value(slot)):
                yield Hit(instr.position, _SAID, level=Level.WARNING)
