"""Attributes: of instances, classes, functions, library objects and modules, found and bound as Python does."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BASES,
    BOTTOM,
    NONE,
    REST,
    STR_V,
    Bound,
    Class,
    Container,
    Func,
    Heap,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
    bound,
    lib,
    literal,
    tup,
    unknown,
    wrapper,
)
from hybridize.domain.unknowns import ATTRIBUTE, Why
from hybridize.flow.builtin_types import COMPLETE, why_lacking
from hybridize.flow.cells import Cells, is_made_when_asked, is_made_with, registry_class
from hybridize.flow.frames import Frame
from hybridize.flow.library_calls import LibraryCalls
from hybridize.flow.members import fields_set, is_own_field, member_of, tuple_member
from hybridize.flow.parts import Parts
from hybridize.library import registry
from hybridize.library.defaults import library_attribute, of_member
from hybridize.library.index import known_package, lookup
from hybridize.library.protocols import ask
from hybridize.library.spec import Call

#: So deep may binding by `__get__` nest.
MAX_BINDING: Final = 8
_OF_MEMBERS: Final = frozenset({"value", "_value_", "name", "_name_"})  # of enumerations: their values have none
_OBJECT_METHODS = frozenset(
    {
        "__init__",
        "__setattr__",
        "__getattribute__",
        "__delattr__",
        "__init_subclass__",
        "__new__",
        "__repr__",
        "__str__",
    }
    | {"__eq__", "__hash__", "__enter__", "__exit__", "__post_init__"}
)


#: What has the attributes of its built-in type and no others.
_PLAIN: Final = (Container, Tensor, Lit, Prim, Stream)


class Attributes:
    """Reads and writes attributes."""

    def __init__(self, engine: Parts, cells: Cells, library: LibraryCalls) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.library = library

    def get_attrs(self, frame: Frame, value: Value, name: str, pos: int) -> Value:
        """An attribute of any object of a value."""
        self.cells.work += 1
        if len(value) == 1:
            (only,) = value
            return self.get_attr(frame, only, name, pos)
        result = BOTTOM
        for obj in value:
            if obj is not NONE:
                result = join(result, self.get_attr(frame, obj, name, pos))
        return result

    def get_attr(self, frame: Frame, obj: Obj, name: str, pos: int) -> Value:
        """An attribute of an object."""
        if isinstance(obj, Inst):  # not as a case: a call of `isinstance` is twice as fast
            return self._instance_attr(frame, obj, name, pos)
        if isinstance(obj, _PLAIN):
            return self._value_attr(frame, obj, name, pos)
        match obj:
            case Mod():
                return self.engine.imports.module_attr(frame, obj, name)
            case Class():
                return self._class_attr(frame, obj, name, pos)
            case Lib():
                return library_attribute(obj.name, name)
            case Tup() if obj.names is not None and name in obj.names:
                return obj.items[obj.names.index(name)]
            case Tup() if obj.names is not None and (found := tuple_member(self.engine, frame, obj, name, pos)):
                return found
            case Unknown():
                return obj.part(ATTRIBUTE)
            case Wrapper():
                return self._wrapper_attr(frame, obj, name, pos)
            case Func():
                return self._function_attr(frame, obj, name)
            case LibInst():
                return self._library_instance_attr(frame, obj, name, pos)
            case Bound():
                if name in ("__self__", "__func__"):
                    return obj.receiver.value if name == "__self__" else BOTTOM
                inner = obj.func
                return self.get_attr(frame, inner, name, pos) if isinstance(inner, Obj) else unknown(f".{name}").value
        return self._value_attr(frame, obj, name, pos)

    def _value_attr(self, frame: Frame, obj: Obj, name: str, pos: int) -> Value:
        """An attribute of a built-in value: a method or property by its type's model."""
        cls = registry_class(obj)
        rule = registry.property_rule(cls, name)
        if rule is not None:
            return self.library.apply_rule(rule, Call(self.engine, frame, pos, f"{cls}.{name}", [], {}, obj))
        if name == "__class__":
            return lib(cls).value
        if registry.method_spec(cls, name) is not None:
            return bound(name, obj).value
        if obj in self.world.members and name in _OF_MEMBERS:
            return STR_V if "name" in name else obj.value
        if cls in COMPLETE and name not in COMPLETE[cls]:
            return BOTTOM  # reading it raises: that alternative ends here
        if isinstance(obj, Tup) and obj.names is not None:
            return unknown(f"attribute `{name}` of a named tuple").value
        return unknown(f"attribute `{name}` of a {cls.rpartition('.')[2]}", why_lacking(cls, name)).value

    def plain_attrs(self, frame: Frame, value: Value, name: str, pos: int) -> Value:
        """What `object.__getattribute__` gives: a class that defines its own is not asked again."""
        result = BOTTOM
        for obj in value:
            if isinstance(obj, Inst):
                result = join(result, self._instance_attr(frame, obj, name, pos, plain=True))
            else:
                result = join(result, self.get_attr(frame, obj, name, pos))
        return result

    def _instance_attr(self, frame: Frame, obj: Inst, name: str, pos: int, *, plain: bool = False) -> Value:
        own = self.cells.read(frame, obj.cell(name))
        found = self.class_lookup(frame, obj.cls, name)
        result = own
        if self.world.intercepted and not plain and frame.code.name != "__getattribute__":
            result = join(result, ask(self.engine, frame, obj.value, ("__getattribute__",), pos, literal(name).value))
        if found:
            for item in found:
                if isinstance(item, Wrapper) and item.kind == "property":
                    if item.extra[2:]:
                        frame.effect("attribute", obj, name, pos)  # a cached property is kept in the instance
                    result = join(result, self._property(frame, item, obj, pos))
                elif own and isinstance(item, LibInst) and item.cls == "dataclasses.field":
                    continue  # what a data class declares; its instances have their own
                elif own and isinstance(item, Container) and name in self._always_own(frame, obj.cls):
                    continue
                elif own and isinstance(item, Lit) and not is_made_with(obj, name):
                    result = join(result, item.value)  # until the method that sets it has run
                elif not own or not isinstance(item, (Func, Wrapper, Lib, Lit)):
                    result = join(result, self.bind(frame, item, obj, pos))
        if own and not found and is_made_when_asked(obj.cell(name)):
            ask(
                self.engine, frame, obj.value, ("__getattr__",), pos, literal(name).value
            )  # kept there: it made it once
        if result:
            return result
        if obj.rest is None:
            self.cells.read(frame, obj.absent(REST))
        else:
            result = self.cells.read(frame, obj.rest)
            if result:
                ask(self.engine, frame, obj.value, ("__getattr__",), pos, literal(name).value)
                return result
        return self._inherited_attr(frame, obj, name, pos)

    def _inherited_attr(self, frame: Frame, obj: Inst, name: str, pos: int) -> Value:
        """What a library base, `__getattr__` or an unknown base gives."""
        if name == "__class__":
            return obj.cls.value
        if name == "__dict__":
            return namespace(obj)
        for base in obj.cls.mro:
            if isinstance(base, Lib):
                rule = registry.property_rule(base.name, name)
                if rule is not None:
                    return self.library.apply_rule(
                        rule, Call(self.engine, frame, pos, f"{base.name}.{name}", [], {}, obj)
                    )
                if registry.method_spec(base.name, name) is not None:
                    return bound(name, obj).value
        getter = self.class_lookup(frame, obj.cls, "__getattr__")
        if getter:
            method = self.bind_all(frame, getter, obj, pos)
            return self.engine.calls.call_value(frame, pos, method, [literal(name).value], {}, How.ATTRIBUTE)
        own = is_own_field(obj.cls, name)
        for base in obj.cls.mro:
            if isinstance(base, Lib) and base.name != "builtins.object" and not own:
                return unknown(f"attribute `{name}` of {base.name}", field_of=base.name).value
        if obj.cls.foreign:
            return unknown(f"attribute `{name}` of a class with an unknown base").value
        frame.stuck = True
        here, why = (" here", Why.LACKING) if own else ("", Why.UNSET)
        return unknown(f"attribute `{name}`, never set{here}", why).value if frame.lenient else BOTTOM

    def _always_own(self, frame: Frame, cls: Class) -> frozenset[str]:
        """The fields that the constructor of a class sets whatever happens: they hide those of the class."""
        made = self.class_lookup(frame, cls, "__init__")
        return min((fields_set(o.code) if isinstance(o, Func) else frozenset() for o in made), default=frozenset())

    def _property(self, frame: Frame, prop: Wrapper, obj: Obj, pos: int) -> Value:
        return self.engine.calls.call_value(frame, pos, prop.inner, [obj.value], {}, How.PROPERTY)

    def class_lookup(self, frame: Frame, cls: Class, name: str) -> Value:
        """A name in the namespaces of a class and its project bases, nearest first."""
        if name[:2] == "__" == name[-2:] and name not in self.world.special:
            return BOTTOM
        step = frame.step
        run = step.runs
        for base in cls.line:
            cell = base.fields.get(name)
            if cell is not None:
                cell.readers[step] = run
                if cell.value:
                    if base is not cls:
                        cls.absent(name).readers[step] = run
                    return cell.value
        cls.absent(name).readers[step] = run
        return BOTTOM

    def bind(self, frame: Frame, item: Obj, receiver: Obj, pos: int) -> Value:
        """What a class attribute becomes when it is read through an instance (or class, for class methods)."""
        match item:
            case Func():
                return bound(item, receiver).value
            case Wrapper():
                if item.kind == "staticmethod":
                    return item.inner
                if item.kind == "classmethod":
                    cls: Obj = receiver.cls if isinstance(receiver, Inst) else receiver
                    return self.bind_all(frame, item.inner, cls, pos)
                if item.kind == "property":
                    return self._property(frame, item, receiver, pos)
                if item.kind in ("hybrid", "scoped", "dispatch"):
                    return bound(item, receiver).value
                if item.kind == "partialmethod":
                    return wrapper("partial", self.bind_all(frame, item.inner, receiver, pos), *item.extra).value
            case Lib(name=name) if name.startswith("builtins.") and isinstance(receiver, Inst):
                base, _, method = name.rpartition(".")  # `__getattr__ = dict.__getitem__`
                if base in registry.mro_names(receiver) and registry.method_spec(base, method) is not None:
                    return bound(method, receiver).value
            case Inst():
                owner = receiver.cls.value if isinstance(receiver, Inst) else NONE.value
                if self.cells.binding >= MAX_BINDING:  # a descriptor whose `__get__` is a descriptor, and so on
                    return item.value
                self.cells.binding += 1
                try:
                    return ask(self.engine, frame, item.value, ("__get__",), pos, receiver.value, owner) or item.value
                finally:
                    self.cells.binding -= 1
        return item.value

    def bind_all(self, frame: Frame, value: Value, receiver: Obj, pos: int) -> Value:
        """Binds every object of a value."""
        result = BOTTOM
        for item in value:
            result = join(result, self.bind(frame, item, receiver, pos))
        return result

    def find_method(self, frame: Frame, obj: Obj, name: str) -> Value:
        """A method that the project defines on an object's class, bound; bottom if there is none."""
        if not isinstance(obj, Inst):
            return BOTTOM
        if name[:2] == "__" == name[-2:]:  # Python looks for special methods in the class alone
            if name not in self.world.special:
                return BOTTOM
        else:
            own = self.cells.read(frame, obj.fields.get(name) or obj.absent(name))
            if own:
                return own
        return self.bind_all(frame, self.class_lookup(frame, obj.cls, name), obj, 0)

    def _class_attr(self, frame: Frame, obj: Class, name: str, pos: int) -> Value:
        found = self.class_lookup(frame, obj, name)
        if found:
            result = BOTTOM
            for item in found:
                if isinstance(item, Wrapper) and item.kind == "classmethod":
                    result = join(result, self.bind_all(frame, item.inner, obj, pos))
                elif isinstance(item, Wrapper) and item.kind == "staticmethod":
                    result = join(result, item.inner)
                else:
                    result = join(result, item.value)
            return member_of(self.engine, frame, obj, name, result, pos)
        if name in ("__name__", "__qualname__"):
            return literal(obj.name).value
        if name == "__mro__":
            return tup([b.value for b in obj.mro]).value
        if obj.metaclass is not None:
            meta = self.class_lookup(frame, obj.metaclass, name)
            if meta:
                return self.bind_all(frame, meta, obj, pos)
        for base in obj.library:
            if registry.method_spec(base, name) is not None:
                # A class method makes instances of the class that it is asked of.
                return bound(f"{base}:{name}", obj).value if name == "from_config" else lib(f"{base}.{name}").value
        return unknown(f"class attribute `{name}`").value

    def _wrapper_attr(self, frame: Frame, obj: Wrapper, name: str, pos: int) -> Value:
        if obj.kind == "super":
            return self._super_attr(frame, obj, name, pos)
        if obj.kind == "property" and name in ("setter", "getter", "deleter"):
            # Called with a function it gives the property with that accessor.
            return bound(f"property.{name}", obj).value
        if obj.kind == "dispatch" and name == "register":
            options = (("generic", obj.inner),)
            return wrapper("decorator", BOTTOM, "functools.singledispatch.register", options).value
        cls = f"wrapper.{obj.kind}"
        if registry.method_spec(cls, name) is not None:
            return bound(name, obj).value
        if obj.kind == "partial" and name == "func":
            return obj.inner
        if obj.kind == "partial" and name == "keywords":
            return self._keywords(frame, obj, pos)
        if name in ("python_function", "__wrapped__"):
            return obj.inner
        return self.get_attrs(frame, obj.inner, name, pos)

    def _keywords(self, frame: Frame, obj: Wrapper, pos: int) -> Value:
        """The dictionary of a partial's keywords, which calls read."""
        made = self.world.allocated.get((obj, "keywords"))
        if not isinstance(made, Container):
            made = self.world.allocated[obj, "keywords"] = self.cells.container(frame, pos, "dict", "keywords")
        for key, value in obj.extra[1] if len(obj.extra) > 1 else ():
            self.cells.write(frame, made.cell(key), value, pos)
        return made.value

    def _super_attr(self, frame: Frame, obj: Wrapper, name: str, pos: int) -> Value:
        """`super().name`: the next class in the receiver's method resolution order."""
        start, receiver = obj.extra
        cls = receiver.cls if isinstance(receiver, Inst) else receiver
        mro = cls.mro if isinstance(cls, Class) else ()
        if isinstance(cls, Class):
            self.cells.read(frame, cls.absent(BASES))
        after = mro[mro.index(start) + 1 :] if start in mro else ()
        for base in after:
            if isinstance(base, Class):
                value = self.cells.read(frame, base.fields.get(name) or base.absent(name))
                if value:
                    if isinstance(receiver, Class):
                        return self._bind_super_class(frame, value, receiver, pos)
                    return self.bind_all(frame, value, receiver, pos)
            elif isinstance(base, Lib):
                if registry.method_spec(base.name, name) is not None:
                    return bound(f"{base.name}:{name}", receiver).value
                rule = registry.property_rule(base.name, name)
                if rule is not None:
                    return self.library.apply_rule(
                        rule, Call(self.engine, frame, pos, f"{base.name}.{name}", [], {}, receiver)
                    )
        if name == "__call__" and isinstance(receiver, Class):
            return wrapper("construct", receiver.value).value
        if name in _OBJECT_METHODS:
            return bound(f"builtins.object:{name}", receiver).value
        return unknown(f"`super().{name}`").value

    def _bind_super_class(self, frame: Frame, value: Value, receiver: Class, pos: int) -> Value:
        result = BOTTOM
        for item in value:
            if isinstance(item, Wrapper) and item.kind == "classmethod":
                result = join(result, self.bind_all(frame, item.inner, receiver, pos))
            elif isinstance(item, Func) and item.code.name in ("__new__", "__init_subclass__"):
                result = join(result, bound(item, receiver).value if item.code.name != "__new__" else item.value)
            else:
                result = join(result, item.inner if isinstance(item, Wrapper) else item.value)
        return result

    def _function_attr(self, frame: Frame, obj: Func, name: str) -> Value:
        if name in ("__name__", "__qualname__"):
            return literal(obj.code.name).value
        if name == "__doc__" or name == "__module__":
            return STR_V
        if name == "__get__":
            return wrapper("binder", obj.value).value
        cell = obj.fields.get(name)
        if cell is not None:
            return self.cells.read(frame, cell)
        self.cells.read(frame, obj.absent(name))
        return unknown(f"function attribute `{name}`").value

    def _library_instance_attr(self, frame: Frame, obj: LibInst, name: str, pos: int) -> Value:
        rule = registry.property_rule(obj.cls, name)
        if rule is not None:
            return self.library.apply_rule(rule, Call(self.engine, frame, pos, f"{obj.cls}.{name}", [], {}, obj))
        if registry.method_spec(obj.cls, name) is not None:
            return bound(name, obj).value
        value = self.cells.read(frame, obj.fields.get(name) or obj.absent(name))
        if value:
            return value
        if name in ("__class__", "__dict__"):
            return lib(obj.cls).value if name == "__class__" else namespace(obj)
        if obj.cls == "types.ModuleType":
            return unknown("an attribute that code in a module may set").value
        entry = lookup(f"{obj.cls}.{name}") if known_package(obj.cls) else None
        found = of_member(entry) if entry is not None and entry.kind == "property" else None
        return found or bound(name, obj).value

    def set_attr(self, frame: Frame, obj: Obj, name: str, value: Value, pos: int) -> None:
        """Sets an attribute of an object."""
        match obj:
            case Inst():
                found = self.class_lookup(frame, obj.cls, name)
                for item in found:
                    if isinstance(item, Wrapper) and item.kind == "property":
                        setter = item.extra[0] if item.extra else BOTTOM
                        if setter:
                            self.engine.calls.call_value(frame, pos, setter, [obj.value, value], {}, How.PROPERTY)
                            return
                    elif isinstance(item, Inst) and self.class_lookup(frame, item.cls, "__set__"):
                        ask(self.engine, frame, item.value, ("__set__",), pos, obj.value, value)
                        return
                hook = self.class_lookup(frame, obj.cls, "__setattr__")
                if hook:
                    method = self.bind_all(frame, hook, obj, pos)
                    self.engine.calls.call_value(frame, pos, method, [literal(name).value, value], {}, How.ATTRIBUTE)
                self.cells.write(frame, obj.cell(name), value, pos)
                if name == "__dict__":
                    self._take_namespace(frame, obj, value, pos)
            case Heap():
                self.cells.write(frame, obj.cell(name), value, pos)
                if isinstance(obj, Mod) and not value:
                    obj.cell(name)
            case Lib():
                frame.effect("state", obj, f"{obj.name}.{name}", pos)
                return
            case Wrapper():  # a decorated function: its attributes are kept, and looked for, with the function inside
                for inner in obj.inner:
                    if isinstance(inner, (Func, Wrapper)):
                        self.set_attr(frame, inner, name, value, pos)
                return
            case _:
                return
        frame.effect("attribute", obj, name, pos)

    def _take_namespace(self, frame: Frame, obj: Inst, value: Value, pos: int) -> None:
        """`self.__dict__ = names`: what a dictionary holds, or the object itself as one, become its attributes."""
        for source in value:
            held = self.cells.container_behind(source) if isinstance(source, Inst) else source
            if isinstance(held, Container) and held.kind == "dict":
                self.cells.is_exact(frame, held)  # the frame runs again when there are more keys
                for key, cell in list(held.fields.items()):
                    if isinstance(key, str):
                        self.cells.write(frame, obj.cell(key), self.cells.read(frame, cell), pos)
                if held.rest is not None:
                    self.cells.write(frame, obj.rest_cell(), self.cells.read(frame, held.rest), pos)

    def del_attr(self, frame: Frame, obj: Obj, name: str, pos: int) -> None:
        """Deletes an attribute of an object: a deleter, a descriptor or `__delattr__` may stand in for that."""
        if isinstance(obj, Inst):
            for item in self.class_lookup(frame, obj.cls, name):
                if isinstance(item, Wrapper) and item.kind == "property" and item.extra[1:2] and item.extra[1]:
                    self.engine.calls.call_value(frame, pos, item.extra[1], [obj.value], {}, How.PROPERTY)
                    return
                if ask(self.engine, frame, item.value, ("__delete__",), pos, obj.value):
                    return
            if ask(self.engine, frame, obj.value, ("__delattr__",), pos, literal(name).value):
                return
        frame.effect("attribute", obj, name, pos)

    def set_field(self, frame: Frame, obj: Obj, name: str, value: Value, pos: int) -> None:
        """Sets a field without noting an effect (what library code does to its own objects)."""
        if isinstance(obj, Heap):
            self.cells.write(frame, obj.cell(name), value, pos)


def namespace(obj: Obj) -> Value:
    """`vars(obj)`, `obj.__dict__`, `globals()`: a dictionary whose items are the attributes of an object."""
    return wrapper("namespace", unknown("a namespace dictionary", Why.COMPUTED).value, obj).value
