"""Whether a function computes on tensors, and what in it cannot be traced."""

from __future__ import annotations

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import NDARRAY
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
    """Tensor operations and eager-only uses of each frame, callees included."""

    def __init__(self, solution: Solution) -> None:
        self.ops: dict[Frame, Evidence | None] = {}
        self.opaque: dict[Frame, bool] = {}
        self.eager_only: dict[Frame, tuple[Evidence, ...]] = {}
        self.symbolic: dict[Frame, Evidence | None] = {}
        for component in components([f for group in solution.frames.values() for f in group]):
            self._summarize(component)

    def _summarize(self, component: list[Frame]) -> None:
        op: Evidence | None = None
        opaque = False
        eager: tuple[Evidence, ...] = ()
        for frame in sorted(component, key=lambda f: f.uid):
            op = op or _own_op(frame)
            eager = eager or _own_eager(frame)
            opaque = opaque or any(e.kind in ("unknown_call", "foreign_call") for e in frame.effects.values())
            for (pos, callee), how in sorted(frame.calls.items(), key=lambda c: (c[0][0], c[0][1].uid)):
                if how in _SKIPPED:
                    continue
                if op is None and self.ops.get(callee) is not None:
                    op = self.ops[callee]
                if not eager and how not in ("host", "graph") and self.eager_only.get(callee):
                    step = Evidence(f"calls `{callee.code.name}`", frame.code.path, pos >> 16)
                    eager = (step, *self.eager_only[callee])
                opaque = opaque or self.opaque.get(callee, False)
        for frame in component:
            self.ops[frame], self.opaque[frame], self.eager_only[frame] = op, opaque, eager

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


def _own_eager(frame: Frame) -> tuple[Evidence, ...]:
    for effect in sorted(frame.effects.values(), key=lambda e: e.position):
        if effect.kind != "eager_only":
            continue
        if isinstance(effect.target, Tensor) and effect.target.kind == NDARRAY:
            continue
        return (Evidence(f"uses `{effect.detail}`, which works only eagerly", frame.code.path, effect.position >> 16),)
    return ()


def hazards(code: Code, frames: list[Frame], computation: Computation) -> tuple[Hazard, ...]:
    """What in a function cannot be traced."""
    found: list[Hazard] = []
    here = (code.path, code.line)
    if code.is_async:
        found.append(Hazard("async-function", "is a coroutine", (Evidence("is a coroutine", *here),)))
    elif code.is_generator:
        found.append(Hazard("generator", "is a generator", (Evidence("is a generator", *here),)))
    if code.name in _PYTHON_PROTOCOLS:
        found.append(
            Hazard(
                "special-method",
                "Python itself calls it and asks for Python values",
                (Evidence(f"`{code.name}` is a special method", *here),),
            )
        )
    if code.abstract:
        found.append(Hazard("abstract-function", "only raises", (Evidence("only raises", *here),)))
    for frame in frames:
        chain = computation.eager_only.get(frame)
        if chain:
            found.append(Hazard("eager-only-call", chain[-1].message, chain))
            break
    for frame in frames:
        if any(isinstance(o, Tensor) and o.kind == "symbolic" for value in frame.args for o in value):
            said = Evidence("receives Keras symbolic tensors", *here)
            found.append(Hazard("symbolic-argument", said.message, (said,)))
            break
    return tuple(found)
