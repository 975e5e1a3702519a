"""Containers among the arguments that TensorFlow takes apart and puts together again, not as they were.

Lists, tuples and mappings are taken apart for their tensors. What derives from list or tuple comes back as a plain one;
a mapping is made anew by its class, without arguments or of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Container, Func, Inst, Lib, Obj
from hybridize.domain.session import solved
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.views import ProjectView

_SEQUENCES: Final = {"builtins.list": list, "builtins.tuple": tuple}
_MAPPING: Final = "builtins.dict"
#: What keys are that Python compares with each other, but with no others.
_KEYS: Final[dict[type, str]] = {
    str: "texts",
    bytes: "bytes",
    **dict.fromkeys((int, float, bool), "numbers"),
    tuple: "tuples",
    type(None): "None",
}


@solved
def rebuilt(project: ProjectView, obj: Obj) -> str | None:
    """Why an object cannot be taken apart, or put together again, as a sentence; None where it can."""
    if isinstance(obj, Container) and obj.kind == "dict":
        if (obj, "rebuilt") in project.solution.world.allocated:
            return "is a `Counter` or `ChainMap`, which TensorFlow makes anew of pairs"
        kinds = sorted({_KEYS.get(type(k), "") for k in obj.fields} - {""})
        if len(kinds) > 1:
            return f"is a dict with {' and '.join(kinds)} as keys, which TensorFlow sorts"
    elif isinstance(obj, Inst) and any(isinstance(b, Lib) and b.name == _MAPPING for b in obj.cls.mro):
        made = next(
            (c.fields["__init__"] for c in obj.cls.mro if isinstance(c, Class) and "__init__" in c.fields), None
        )
        for func in made.value if made is not None else ():
            if isinstance(func, Func):
                needed = [p for p in func.code.params[1:] if not p.is_starred and not p.has_default]
                if needed:
                    return f"is a `{obj.cls.name}`, which TensorFlow makes anew without `{needed[0].name}`"
    return None


def plain_reads(frame: Frame, value: frozenset[Obj]) -> Iterator[tuple[str, int, str]]:
    """The attributes that code reads of lists and tuples of own classes: class, position and name of each."""
    own = {o: kind for o in value if isinstance(o, Inst) for kind in (_sequence(o),) if kind is not None}
    for instr in index_of(frame.code).of(ir.Attr) if own else ():
        for obj in frame.vals[instr.owner] or ():
            if isinstance(obj, Inst) and obj in own and not hasattr(own[obj], instr.name):
                yield obj.cls.name, instr.position, instr.name


def _sequence(obj: Inst) -> type | None:
    if any(isinstance(c, Class) and "_fields" in c.fields for c in obj.cls.mro):
        return None
    names = [b.name for b in obj.cls.mro if isinstance(b, Lib)]
    if "typing.NamedTuple" in names:
        return None
    return next((_SEQUENCES[name] for name in names if name in _SEQUENCES), None)
