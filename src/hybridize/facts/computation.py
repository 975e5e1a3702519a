"""Whether a function computes on tensors, and what by its nature is no candidate for a graph."""

from __future__ import annotations

from hybridize.facts.callgraph import components
from hybridize.facts.model import Evidence, Fact, Hazard, Ternary
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program.ir import Code

_NOT_COMPUTATION = ("tf.io", "tf.train")
#: Special methods whose results Python itself uses, or that make or destroy objects: a graph's tensors do not serve.
_PYTHON_PROTOCOLS = frozenset(
    f"__{name}__"
    for name in (
        "init new post_init del init_subclass class_getitem setattr getattr getattribute delattr set_name get set "
        "delete enter exit aenter aexit repr str format bytes len bool hash eq ne lt le gt ge contains iter next "
        "reversed index int float complex copy deepcopy reduce reduce_ex getstate setstate dir sizeof missing"
    ).split()
)
_SKIPPED = frozenset({"build", "class", "callback"})


class Computation:
    """Tensor operations of each frame, callees included."""

    def __init__(self, solution: Solution) -> None:
        self.ops: dict[Frame, Evidence | None] = {}
        self.opaque: dict[Frame, bool] = {}
        self.order = components([f for group in solution.frames.values() for f in group])
        for component in self.order:
            self._summarize(component)

    def _summarize(self, component: list[Frame]) -> None:
        op: Evidence | None = None
        opaque = False
        for frame in sorted(component, key=lambda f: f.uid):
            op = op or _own_op(frame)
            opaque = opaque or any(e.kind in ("unknown_call", "foreign_call") for e in frame.effects.values())
            for (_pos, callee), how in sorted(frame.calls.items(), key=lambda c: (c[0][0], c[0][1].uid)):
                if how in _SKIPPED:
                    continue
                if op is None and self.ops.get(callee) is not None:
                    op = self.ops[callee]
                opaque = opaque or self.opaque.get(callee, False)
        for frame in component:
            self.ops[frame], self.opaque[frame] = op, opaque

    def fact(self, frames: list[Frame]) -> Fact:
        """Whether some TensorFlow operation happens, on tensors that are not just arrays."""
        for frame in frames:
            found = self.ops.get(frame)
            if found is not None:
                return Fact(Ternary.YES, (found,))
        if not frames or any(self.opaque.get(frame) for frame in frames):
            return Fact(Ternary.UNKNOWN)
        return Fact(Ternary.NO)


def _own_op(frame: Frame) -> Evidence | None:
    for pos, name in sorted(frame.ops.items()):
        if not name.startswith(_NOT_COMPUTATION):
            return Evidence(f"computes with `{name}`", frame.code.path, pos >> 16)
    return None


def hazards(code: Code) -> tuple[Hazard, ...]:
    """What a function is that makes a graph pointless, whatever its values are."""
    here = (code.path, code.line)
    found: list[Hazard] = []
    if code.name in _PYTHON_PROTOCOLS:
        said = Evidence(f"`{code.name}` is a special method", *here)
        found.append(Hazard("special-method", "Python itself calls it and asks for Python values", (said,)))
    if code.abstract:
        found.append(Hazard("abstract-function", "only raises", (Evidence("only raises", *here),)))
    return tuple(found)
