"""The method resolution order of classes, project and library ones together (C3, with a fallback)."""

from __future__ import annotations

from hybridize.domain.objects import Class, Lib, Obj, Unknown, lib
from hybridize.library import registry

OBJECT = "builtins.object"


def order_of(obj: Obj) -> list[Obj]:
    """The linearization of a base."""
    if isinstance(obj, Class):
        return list(obj.mro)
    if isinstance(obj, Lib):
        return [lib(name) for name in registry.class_chain(obj.name)]
    return [obj]


def linearize(cls: Class) -> None:
    """Computes `mro` from `bases`: C3 as Python does; depth first where the bases are inconsistent."""
    sequences = [order_of(base) for base in cls.bases]
    sequences.append(list(cls.bases))
    merged = _merge([s for s in sequences if s])
    if merged is None:
        merged = []
        for sequence in sequences:
            merged += [obj for obj in sequence if obj not in merged]
    bottom = lib(OBJECT)
    cls.mro = (cls, *[obj for obj in merged if obj is not bottom and obj is not cls], bottom)
    cls.line = tuple([obj for obj in cls.mro if isinstance(obj, Class)])
    cls.library = tuple([obj.name for obj in cls.mro if isinstance(obj, Lib)])
    cls.names = None


def _merge(sequences: list[list[Obj]]) -> list[Obj] | None:
    result: list[Obj] = []
    while sequences:
        for sequence in sequences:
            head = sequence[0]
            if not any(head in other[1:] for other in sequences):
                break
        else:
            return None
        result.append(head)
        sequences = [[obj for obj in s if obj is not head] for s in sequences]
        sequences = [s for s in sequences if s]
    return result


def bases_after(cls: Class, owner: Class) -> tuple[tuple[str, ...], bool]:
    """The library classes after one of the project in the order of a class, and whether an unknown one is there."""
    order = cls.mro[cls.mro.index(owner) + 1 :] if owner in cls.mro else ()
    chain = [name for base in order if isinstance(base, Lib) for name in registry.class_chain(base.name)]
    return tuple(dict.fromkeys(chain)), any(isinstance(base, Unknown) for base in order)
