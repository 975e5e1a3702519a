"""Making instances of classes of the project, as `type.__call__` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Class, Inst, Lib, LibInst, Unknown, Value, Wrapper, tup
from hybridize.flow.attributes import Attributes
from hybridize.flow.cells import Cells
from hybridize.flow.frames import Frame
from hybridize.flow.library_calls import LibraryCalls
from hybridize.flow.members import by_value, is_enumeration
from hybridize.flow.parts import Parts
from hybridize.library import registry
from hybridize.library.spec import Call

_FACTORIES: Final = {f"builtins.{kind}": kind for kind in ("list", "dict", "set")}


class Construction:
    """What calling a class of the project gives."""

    def __init__(self, engine: Parts, cells: Cells, library: LibraryCalls, attributes: Attributes) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.library = library
        self.attributes = attributes

    def instantiate(
        self, frame: Frame, pos: int, cls: Class, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> Value:
        """`C(...)`: an instance of this site and frame, initialized; or what a metaclass protocol gives."""
        special = self._special_class(frame, pos, cls, args, kwargs)
        if special is not None:
            return special
        if cls.metaclass is not None:
            hook = self.attributes.class_lookup(frame, cls.metaclass, "__call__")
            if hook:
                return self.engine.calls.call_value(
                    frame, pos, self.attributes.bind_all(frame, hook, cls, pos), args, kwargs, How.CALL, rest
                )
        return self.construct(frame, pos, cls, args, kwargs, rest)

    def construct(
        self, frame: Frame, pos: int, cls: Class, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> Value:
        """What `type.__call__` does: makes an instance and initializes it."""
        maker = self.attributes.class_lookup(frame, cls, "__new__")
        if maker:
            made = self._call_new(frame, pos, cls, maker, args, kwargs, rest)
            if made is not None:
                return made
        inst = self.cells.made_instance(frame, pos, cls)
        self._initialize(frame, pos, inst, args, kwargs, rest)
        return inst.value

    def _initialize(
        self, frame: Frame, pos: int, inst: Inst, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> None:
        cls = inst.cls
        init = self.attributes.class_lookup(frame, cls, "__init__")
        if init:
            self.engine.calls.call_value(
                frame, pos, self.attributes.bind_all(frame, init, inst, pos), args, kwargs, How.CONSTRUCTION, rest
            )
        elif cls in self.world.dataclasses:
            self._fill_dataclass(frame, pos, inst, args, kwargs)
        else:
            self._library_init(frame, pos, inst, args, kwargs)

    def _library_init(self, frame: Frame, pos: int, inst: Inst, args: list[Value], kwargs: Mapping[str, Value]) -> None:
        for base in inst.cls.library:
            found = registry.method_spec(base, "__init__")
            if found is not None and found[1].rule is not None:
                self.library.apply_rule(
                    found[1].rule, Call(self.engine, frame, pos, f"{base}.__init__", args, kwargs, inst)
                )
                return

    def _special_class(
        self, frame: Frame, pos: int, cls: Class, args: list[Value], kwargs: Mapping[str, Value]
    ) -> Value | None:
        """Named tuples and enumerations."""
        names = self.world.tuple_fields.get(cls)
        if names is not None:
            items = []
            for i, name in enumerate(names):
                default = self.attributes.class_lookup(frame, cls, name)
                items.append(args[i] if i < len(args) else kwargs.get(name, default))
            return tup(items, "tuple", names).value
        if len(args) == 1 and not kwargs and self.world.is_small and is_enumeration(cls):
            return by_value(self.engine, frame, cls, args[0], pos) or None
        return None

    def _call_new(
        self,
        frame: Frame,
        pos: int,
        cls: Class,
        maker: Value,
        args: list[Value],
        kwargs: Mapping[str, Value],
        rest: Value,
    ) -> Value | None:
        """Calls a project `__new__`; None where what it gives is just an instance of the class."""
        result = BOTTOM
        for item in maker:
            inner = item.inner if isinstance(item, Wrapper) else item.value
            result = join(
                result,
                self.engine.calls.call_value(frame, pos, inner, [cls.value, *args], kwargs, How.CONSTRUCTION, rest),
            )
        for obj in result:
            if isinstance(obj, Inst) and cls in obj.cls.mro:
                self._initialize(frame, pos, obj, args, kwargs, rest)
        if result and not any(isinstance(o, Unknown) for o in result):
            return result
        return None

    def _fill_dataclass(
        self, frame: Frame, pos: int, inst: Inst, args: list[Value], kwargs: Mapping[str, Value]
    ) -> None:
        for i, name in enumerate(self.world.dataclasses[inst.cls]):
            value = args[i] if i < len(args) else kwargs.get(name, BOTTOM)
            if not value:
                value = self._field_default(frame, pos, self.attributes.class_lookup(frame, inst.cls, name), name)
            self.cells.write(frame, inst.cell(name), value, pos)
        after = self.attributes.class_lookup(frame, inst.cls, "__post_init__")
        if after:
            self.engine.calls.call_value(
                frame, pos, self.attributes.bind_all(frame, after, inst, pos), [], {}, How.CONSTRUCTION
            )

    def _field_default(self, frame: Frame, pos: int, default: Value, name: str) -> Value:
        """The default of a data class field, `field(default=..., default_factory=...)` included."""
        result = BOTTOM
        for obj in default:
            if isinstance(obj, LibInst) and obj.cls == "dataclasses.field":
                factory = self.cells.read(frame, obj.cell("default_factory"))
                result = join(result, self.cells.read(frame, obj.cell("default")))
                for made in factory:
                    kind = _FACTORIES.get(made.name) if isinstance(made, Lib) else None
                    if kind is not None:  # each field has its own
                        result = join(result, self.cells.container(frame, pos, kind, f"field {name}").value)
                    else:
                        result = join(
                            result, self.engine.calls.call_value(frame, pos, made.value, [], {}, How.CONSTRUCTION)
                        )
            else:
                result = join(result, obj.value)
        return result
