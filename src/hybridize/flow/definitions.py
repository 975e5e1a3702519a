"""Definitions: the function and class objects that `def` and `class` make, and what making a class sets off."""

from __future__ import annotations

from hybridize.domain.calls import How
from hybridize.domain.objects import (
    BOTTOM,
    Class,
    Func,
    Inst,
    Lib,
    LibInst,
    Obj,
    Unknown,
    Value,
    Wrapper,
    lib,
    literal,
    tup,
    unknown,
)
from hybridize.flow.attributes import Attributes
from hybridize.flow.cells import Cells
from hybridize.flow.classes import linearize
from hybridize.flow.frames import Frame
from hybridize.flow.functions import FunctionCalls
from hybridize.flow.parts import Parts
from hybridize.library.protocols import ask
from hybridize.program.ir import Code


class Definitions:
    """Makes functions and classes."""

    def __init__(self, engine: Parts, cells: Cells, attributes: Attributes, functions: FunctionCalls) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.attributes = attributes
        self.functions = functions

    def function_object(self, frame: Frame, code: Code, pos: int) -> Func:
        """The function object that a `def` or lambda makes in a frame."""
        key = (code, frame, "function")
        found = self.world.allocated.get(key)
        if found is None:
            made = Func(code, frame.module, (frame.code, pos), frame.uid)
            if code.name == "__getattribute__" and not self.world.intercepted:
                self.world.intercepted = True
                self._enqueue_all()
            for name in code.free:
                if name in frame.cells:
                    made.cells[name] = frame.cells[name]
            made.owner = frame.namespace
            if frame.func is not None and made.owner is None:
                made.owner = frame.func.owner
            found = self.world.allocated[key] = made
        assert isinstance(found, Func)
        return found

    def defaults_changed(self, func: Func) -> None:
        """Notes that the defaults of a function have grown: who has called it with them calls it again."""
        for callee in self.world.contexts(func.code).frames.values():
            if callee.func is func:
                self.cells.wake(callee.waiters)

    def class_object(self, frame: Frame, code: Code, bases: list[Obj], keywords: dict[str, int], pos: int) -> Class:
        """The class that a `class` statement makes in a frame; its body runs at once."""
        key = (code, frame, "class")
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = Class(code, frame.module, (frame.code, pos), frame.uid)
            self.world.classes.setdefault(code, []).append(found)
        cls = found
        assert isinstance(cls, Class)
        new_bases = tuple(_base_class(b) for b in bases)
        if new_bases != cls.bases or len(cls.mro) == 1:
            self._set_bases(cls, new_bases)
        contexts = self.world.contexts(code)
        body = contexts.frames.get(cls)
        if body is None:
            body = self.functions.make_frame(code, frame.module, None, cls)
            body.namespace = cls
            for name in code.free:
                if name in frame.cells:
                    body.cells[name] = frame.cells[name]
            contexts.frames[cls] = body
            body.callers[frame] = None
            self.functions.note_call(frame, pos, body, How.CLASS)
            self.engine.run(body)
            self._special_bases(cls)
        for base in bases:
            if isinstance(base, Wrapper) and base.kind == "namedtuple" and "__new__" not in cls.fields:
                self.world.tuple_fields[cls] = base.extra[0]
        self._name_descriptors(frame, cls, pos)
        self.functions.note_call(frame, pos, body, How.CLASS)
        self._announce(frame, cls, {name: frame.vals[slot] or BOTTOM for name, slot in keywords.items()}, pos)
        return cls

    def _set_bases(self, cls: Class, bases: tuple[Obj, ...]) -> None:
        """Lets a class derive from others; whoever has looked further than in the class itself looks again."""
        cls.bases = bases
        for each in (cls, *cls.subclasses):
            before = each.mro
            linearize(each)
            if each.mro == before:
                continue
            each.foreign = any(isinstance(b, Unknown) for b in each.mro)
            each.derives_container = None
            for base in each.line[1:]:
                if each not in base.subclasses:
                    base.subclasses.append(each)
            for cell in each.awaited.values():
                self.cells.wake(cell.readers)

    def _enqueue_all(self) -> None:
        """Marks all frames to be run again, where something has changed that they all rest on."""
        for frame in self.world.frames:
            if frame.runs:
                frame.steps.clear()
                self.cells.enqueue(frame)

    def _announce(self, frame: Frame, cls: Class, keywords: dict[str, Value], pos: int) -> None:
        """Tells the bases about a new class (`__init_subclass__`), and notes its metaclass."""
        metas = [o for o in keywords.pop("metaclass", BOTTOM) if isinstance(o, Class)]
        metas += [b.metaclass for b in cls.mro if isinstance(b, Class) and b.metaclass is not None]
        cls.metaclass = metas[0] if metas else None
        if cls.metaclass is not None:
            self._make_by(frame, cls, cls.metaclass, pos)
        for base in cls.mro[1:]:
            cell = base.fields.get("__init_subclass__") if isinstance(base, Class) else None
            if cell is not None and cell.value:
                for hook in self.cells.read(frame, cell):
                    inner = hook.inner if isinstance(hook, Wrapper) else hook.value
                    self.engine.calls.call_value(frame, pos, inner, [cls.value], keywords)
                break

    def _make_by(self, frame: Frame, cls: Class, meta: Class, pos: int) -> None:
        """Has a metaclass of the project make and initialize a class; what `type.__new__` gives is the class itself."""
        hooks = [self.attributes.class_lookup(frame, meta, name) for name in ("__new__", "__init__")]
        if not any(hooks):
            return
        space = self.cells.container(frame, pos, "dict", f"namespace {cls.name}")
        self.world.allocated[space, "class"] = cls
        for name, cell in list(cls.fields.items()):
            self.cells.write(frame, space.cell(name), cell.value, pos)
        given = [literal(cls.name).value, tup([b.value for b in cls.bases]).value, space.value]
        for hook, first in zip(hooks, (meta, cls), strict=True):
            for item in hook:
                inner = item.inner if isinstance(item, Wrapper) else item.value
                self.engine.calls.call_value(frame, pos, inner, [first.value, *given], {}, How.CONSTRUCTION)

    def _name_descriptors(self, frame: Frame, cls: Class, pos: int) -> None:
        """Tells descriptors under which name they stand in a class (`__set_name__`)."""
        for name, cell in list(cls.fields.items()):
            for obj in cell.value:
                if isinstance(obj, Inst):
                    ask(self.engine, frame, obj.value, ("__set_name__",), pos, cls.value, literal(name).value)

    def _special_bases(self, cls: Class) -> None:
        """Notes named tuples and what derives from data classes."""
        names = cls.library
        if "typing.NamedTuple" in names:
            own = tuple(n for n in _annotated_fields(cls))
            self.world.tuple_fields[cls] = own

    def mark_dataclass(self, cls: Class, taken_apart: bool) -> None:
        """Notes that a class is a data class; `taken_apart`: one of `attrs`, whose instances are structures."""
        fields: list[str] = []
        for base in reversed(cls.mro):
            if isinstance(base, Class):
                own = (_made_fields(base) if taken_apart else None) or _annotated_fields(base)
                fields += [n for n in own if n not in fields]
        self.world.dataclasses[cls] = tuple(fields)
        if taken_apart:
            cls.structure = tuple(fields)


def _base_class(obj: Obj) -> Obj:
    """The class that a base expression denotes."""
    if isinstance(obj, Wrapper) and obj.kind == "namedtuple":
        return lib("builtins.object")
    if isinstance(obj, Wrapper) and obj.inner:
        return min(obj.inner, key=repr)
    if isinstance(obj, (Class, Lib, Unknown)):
        return obj
    if isinstance(obj, LibInst) and obj.cls in ("collections.namedtuple", "builtins.type"):
        return lib("builtins.object")
    return unknown("a base class")


def _is_declared(obj: Obj) -> bool:
    return isinstance(obj, LibInst) and obj.cls == "dataclasses.field"


def _made_fields(cls: Class) -> list[str]:
    """The names of a class body that `attr.ib` declares, in order, where some have no annotation."""
    names = [name for name, cell in cls.fields.items() if any(map(_is_declared, cell.value))]
    return names if any(name not in cls.code.fields for name in names) else []


def _annotated_fields(cls: Class) -> list[str]:
    """The annotated names of a class body, in order."""
    return list(cls.code.fields)
