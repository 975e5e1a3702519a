"""Reading and writing the heap: cells, attributes, items, iteration. Every read subscribes the reading frame."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from hybridize.domain.lattice import collapse, join, join_all, widen
from hybridize.domain.objects import (
    BASES,
    BOTTOM,
    EVERY,
    INT_V,
    NONE,
    REST,
    STR_V,
    Bound,
    Cell,
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
    prim,
    tup,
    unknown,
    wrapper,
)
from hybridize.flow.frames import INSTANCES, PATIENCE, SHARED, ExhaustedError, Frame, Step
from hybridize.flow.members import is_enumeration, item_of, member_of, members_of, named
from hybridize.library import registry
from hybridize.library.defaults import library_attribute, operator_item
from hybridize.library.lengths import LOST, hold_alike, length_of, note_length
from hybridize.library.protocols import ask, look_up
from hybridize.library.spec import Call
from hybridize.program.ir import Code, Op

if TYPE_CHECKING:
    from hybridize.flow.world import World


#: So deep may binding by `__get__` nest.
MAX_BINDING: Final = 8


class HeapAccess:
    """The part of the engine that reads and writes objects."""

    if TYPE_CHECKING:
        world: World
        binding: int
        work: int
        limit: int

        def enqueue(self, frame: Frame) -> None: ...
        def wake(self, readers: Mapping[Step, int]) -> None: ...
        def call_value(
            self,
            frame: Frame,
            pos: int,
            func: Value,
            args: list[Value],
            kwargs: Mapping[str, Value] = ...,
            how: str = ...,
            rest: Value = ...,
        ) -> Value: ...
        def symbolic_call(self, frame: Frame) -> None: ...
        def note_hybrid(self, frame: Frame, pos: int, func: Value, options: Mapping[str, Value]) -> None: ...
        def import_named(self, frame: Frame, name: str) -> Value: ...
        def note_cached(self, func: Value) -> None: ...
        def note_fixture(self, func: Value, options: Mapping[str, Value]) -> None: ...
        def note_parameters(self, target: Value, pos: int, names: Value, values: Value) -> None: ...
        def mark_dataclass(self, cls: Class) -> None: ...
        def narrow(self, frame: Frame, value: Value, kinds: Value, polarity: bool) -> Value: ...

    # Cells ---------------------------------------------------------------------------------------------------------

    def read(self, frame: Frame, cell: Cell) -> Value:
        """The value of a cell; the frame runs again when it grows."""
        step = frame.step
        cell.readers[step] = step.runs
        return cell.value

    def items(self, frame: Frame, obj: Heap) -> list[tuple[Any, Value]]:
        """The fields of an object or constant keys of a container, with their values; the frame runs again when there
        are more."""
        self.read(frame, obj.absent(EVERY))
        return [(name, self.read(frame, cell)) for name, cell in obj.fields.items()]

    def write(self, frame: Frame, cell: Cell, value: Value, pos: int) -> None:
        """Adds a value to a cell."""
        cell.writes[frame.code, pos] = None
        old = cell.value
        if value is old or not value:
            return
        new = join(old, value)
        if new is not old and new != old:
            growth = self.world.count_growth(cell)
            if growth > PATIENCE:
                new = widen(old, new)
                if growth > 4 * PATIENCE:
                    new = collapse(new, 0) if growth > 16 * PATIENCE else collapse(new)
                if new == old:
                    return
            cell.value = new
            if cell.readers:
                self.wake(cell.readers)

    def container(self, frame: Frame, pos: int, kind: str, tag: str = "") -> Container:
        """The container that a site allocates in a frame."""
        key = self.world.site(kind, frame, pos, tag)
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = Container(kind, (frame.code, pos), uid_of(key, frame))
        assert isinstance(found, Container)
        return found

    def backing(self, obj: Obj, method: str) -> Container:
        """The container behind an instance of a class that derives from a built-in one (`class C(dict)`)."""
        key = (obj, "backing")
        found = self.world.allocated.get(key)
        if found is None:
            kind = next((_CONTAINERS[n] for n in self.mro_names(obj) if n in _CONTAINERS), method)
            site = obj.site if isinstance(obj, Heap) else (None, 0)
            found = self.world.allocated[key] = Container(kind.partition(".")[0], site, 0)
            found.exact = False
        assert isinstance(found, Container)
        return found

    def container_behind(self, obj: Inst) -> Container | None:
        """The container behind an instance, if its class derives from a built-in one."""
        if obj.cls.derives_container is None:
            obj.cls.derives_container = any(n in _CONTAINERS for n in self.mro_names(obj))
        return self.backing(obj, "dict") if obj.cls.derives_container else None

    def twin(self, frame: Frame, pos: int, source: Inst, tag: str) -> Inst:
        """The instance that copying another makes at a site; its fields are left to the caller."""
        key = self.world.site(source.cls, frame, pos, tag)
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = Inst(source.cls, (frame.code, pos), uid_of(key, frame))
            self.note_instance(source.cls, found)
        assert isinstance(found, Inst)
        return found

    def note_instance(self, cls: Class, inst: Inst) -> None:
        """Remembers that a class has an instance."""
        self.world.instances.setdefault(cls, []).append(inst)
        self.wake(cls.absent(INSTANCES).readers)

    def made_instance(self, frame: Frame, pos: int, cls: Class) -> Inst:
        """The instance of a project class that a site allocates in a frame, not initialized."""
        key = self.world.site(cls, frame, pos, "instance")
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = Inst(cls, (frame.code, pos), uid_of(key, frame))
            self.note_instance(cls, found)
        assert isinstance(found, Inst)
        return found

    def library_instance(self, frame: Frame, pos: int, cls: str) -> LibInst:
        """The instance of a library class that a site allocates in a frame."""
        key = self.world.site(cls, frame, pos, "instance")
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = LibInst(cls, (frame.code, pos), uid_of(key, frame))
        assert isinstance(found, LibInst)
        return found

    def is_exact(self, frame: Frame, container: Container) -> bool:
        """Whether the constant keys of a container are all it has; the frame runs again when that ends."""
        if container.exact:
            container.reshaped[frame.step] = frame.step.runs
        else:
            self.read(frame, container.absent(EVERY))
        return container.exact

    def lose_exactness(self, container: Container) -> None:
        """Notes that a container may hold more than its constant keys."""
        if container.exact or container.count not in (None, LOST):
            container.exact = False
            container.count = LOST
            self.wake(container.reshaped)

    # Attributes ----------------------------------------------------------------------------------------------------

    def get_attrs(self, frame: Frame, value: Value, name: str, pos: int) -> Value:
        """An attribute of any object of a value."""
        self.work += 1
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
        match obj:
            case Inst():
                return self._instance_attr(frame, obj, name, pos)
            case Mod():
                return self.module_attr(frame, obj, name)
            case Class():
                return self._class_attr(frame, obj, name, pos)
            case Lib():
                return library_attribute(obj.name, name)
            case Tup() if obj.names is not None and name in obj.names:
                return obj.items[obj.names.index(name)]
            case Unknown():
                return obj.part("an attribute")
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
            value: Value = rule(Call(self, frame, pos, f"{cls}.{name}", [], {}, obj))
            return value
        if name == "__class__":
            return lib(cls).value
        if registry.method_spec(cls, name) is not None:
            return bound(name, obj).value
        if cls in _COMPLETE and name not in _COMPLETE[cls]:
            return BOTTOM  # reading it raises: that alternative ends here
        return unknown(f"attribute `{name}` of a {cls.rpartition('.')[2]}").value

    def _instance_attr(self, frame: Frame, obj: Inst, name: str, pos: int) -> Value:
        own = self.read(frame, obj.cell(name))
        found = self.class_lookup(frame, obj.cls, name)
        result = own
        if self.world.intercepted and frame.code.name != "__getattribute__":
            result = join(result, ask(self, frame, obj.value, ("__getattribute__",), pos, literal(name).value))
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
                elif not own or not isinstance(item, Func | Wrapper | Lib | Lit):
                    result = join(result, self.bind(frame, item, obj, pos))
        if own and not found and all(code.name == "__getattr__" for code, _ in obj.cell(name).writes):
            ask(self, frame, obj.value, ("__getattr__",), pos, literal(name).value)  # kept there: it made it once
        if result:
            return result
        if obj.rest is None:
            self.read(frame, obj.absent(REST))
        else:
            result = self.read(frame, obj.rest)
            if result:
                ask(self, frame, obj.value, ("__getattr__",), pos, literal(name).value)
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
                    value: Value = rule(Call(self, frame, pos, f"{base.name}.{name}", [], {}, obj))
                    return value
                if registry.method_spec(base.name, name) is not None:
                    return bound(name, obj).value
        getter = self.class_lookup(frame, obj.cls, "__getattr__")
        if getter:
            method = self.bind_all(frame, getter, obj, pos)
            return self.call_value(frame, pos, method, [literal(name).value], {}, "attribute")
        for base in obj.cls.mro:
            if isinstance(base, Lib) and base.name != "builtins.object":
                return unknown(f"attribute `{name}` of {base.name}").value
        if obj.cls.foreign:
            return unknown(f"attribute `{name}` of a class with an unknown base").value
        frame.stuck = True
        return unknown(f"attribute `{name}`, never set").value if frame.lenient else BOTTOM

    def _always_own(self, frame: Frame, cls: Class) -> frozenset[str]:
        """The fields that the constructor of a class sets whatever happens: they hide those of the class."""
        made = self.class_lookup(frame, cls, "__init__")
        return min((fields_set(o.code) if isinstance(o, Func) else frozenset() for o in made), default=frozenset())

    def _property(self, frame: Frame, prop: Wrapper, obj: Obj, pos: int) -> Value:
        return self.call_value(frame, pos, prop.inner, [obj.value], {}, "property")

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

    def library_bases(self, cls: Class) -> list[str]:
        """The library classes in the method resolution order."""
        return [base.name for base in cls.mro if isinstance(base, Lib)]

    def mro_names(self, obj: Obj) -> tuple[str, ...]:
        """The names of the library classes that an object's class derives from, bases of bases included."""
        if isinstance(obj, Inst):
            names = self.library_bases(obj.cls)
        elif isinstance(obj, Class):
            names = self.library_bases(obj)
        elif isinstance(obj, LibInst):
            names = [obj.cls]
        else:
            return ()
        return tuple(dict.fromkeys(base for name in names for base in registry.class_chain(name)))

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
            case Lib(name=name) if name.startswith("builtins.") and isinstance(receiver, Inst):
                base, _, method = name.rpartition(".")  # `__getattr__ = dict.__getitem__`
                if base in self.mro_names(receiver) and registry.method_spec(base, method) is not None:
                    return bound(method, receiver).value
            case Inst():
                owner = receiver.cls.value if isinstance(receiver, Inst) else NONE.value
                if self.binding >= MAX_BINDING:  # a descriptor whose `__get__` is a descriptor, and so on
                    return item.value
                self.binding += 1
                try:
                    return ask(self, frame, item.value, ("__get__",), pos, receiver.value, owner) or item.value
                finally:
                    self.binding -= 1
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
            own = self.read(frame, obj.fields.get(name) or obj.absent(name))
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
            return member_of(self, frame, obj, name, result, pos)
        if name in ("__name__", "__qualname__"):
            return literal(obj.name).value
        if name == "__mro__":
            return tup([b.value for b in obj.mro]).value
        if obj.metaclass is not None:
            meta = self.class_lookup(frame, obj.metaclass, name)
            if meta:
                return self.bind_all(frame, meta, obj, pos)
        for base in self.library_bases(obj):
            if registry.method_spec(base, name) is not None:
                # A class method makes instances of the class that it is asked of.
                return bound(f"{base}:{name}", obj).value if name == "from_config" else lib(f"{base}.{name}").value
        return unknown(f"class attribute `{name}`").value

    def _wrapper_attr(self, frame: Frame, obj: Wrapper, name: str, pos: int) -> Value:
        if obj.kind == "super":
            return self._super_attr(frame, obj, name, pos)
        if obj.kind == "property" and name in ("setter", "getter", "deleter"):
            return property_accessor(obj, name)
        if obj.kind == "dispatch" and name == "register":
            options = (("generic", obj.inner),)
            return wrapper("decorator", BOTTOM, "functools.singledispatch.register", options).value
        cls = f"wrapper.{obj.kind}"
        if registry.method_spec(cls, name) is not None:
            return bound(name, obj).value
        if obj.kind == "partial" and name == "func":
            return obj.inner
        if name in ("python_function", "__wrapped__"):
            return obj.inner
        return self.get_attrs(frame, obj.inner, name, pos)

    def _super_attr(self, frame: Frame, obj: Wrapper, name: str, pos: int) -> Value:
        """`super().name`: the next class in the receiver's method resolution order."""
        start, receiver = obj.extra
        cls = receiver.cls if isinstance(receiver, Inst) else receiver
        mro = cls.mro if isinstance(cls, Class) else ()
        if isinstance(cls, Class):
            self.read(frame, cls.absent(BASES))
        after = mro[mro.index(start) + 1 :] if start in mro else ()
        for base in after:
            if isinstance(base, Class):
                value = self.read(frame, base.fields.get(name) or base.absent(name))
                if value:
                    if isinstance(receiver, Class):
                        return self._bind_super_class(frame, value, receiver, pos)
                    return self.bind_all(frame, value, receiver, pos)
            elif isinstance(base, Lib):
                if registry.method_spec(base.name, name) is not None:
                    return bound(f"{base.name}:{name}", receiver).value
                rule = registry.property_rule(base.name, name)
                if rule is not None:
                    value = rule(Call(self, frame, pos, f"{base.name}.{name}", [], {}, receiver))
                    return value
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
        cell = obj.fields.get(name)
        if cell is not None:
            return self.read(frame, cell)
        self.read(frame, obj.absent(name))
        return unknown(f"function attribute `{name}`").value

    def _library_instance_attr(self, frame: Frame, obj: LibInst, name: str, pos: int) -> Value:
        rule = registry.property_rule(obj.cls, name)
        if rule is not None:
            value: Value = rule(Call(self, frame, pos, f"{obj.cls}.{name}", [], {}, obj))
            return value
        if registry.method_spec(obj.cls, name) is not None:
            return bound(name, obj).value
        value = self.read(frame, obj.fields.get(name) or obj.absent(name))
        if value:
            return value
        if name == "__class__":
            return lib(obj.cls).value
        return bound(name, obj).value

    def set_attr(self, frame: Frame, obj: Obj, name: str, value: Value, pos: int) -> None:
        """Sets an attribute of an object."""
        match obj:
            case Inst():
                found = self.class_lookup(frame, obj.cls, name)
                for item in found:
                    if isinstance(item, Wrapper) and item.kind == "property":
                        setter = item.extra[0] if item.extra else BOTTOM
                        if setter:
                            self.call_value(frame, pos, setter, [obj.value, value], {}, "property")
                            return
                    elif isinstance(item, Inst) and self.class_lookup(frame, item.cls, "__set__"):
                        ask(self, frame, item.value, ("__set__",), pos, obj.value, value)
                        return
                hook = self.class_lookup(frame, obj.cls, "__setattr__")
                if hook:
                    method = self.bind_all(frame, hook, obj, pos)
                    self.call_value(frame, pos, method, [literal(name).value, value], {}, "attribute")
                self.write(frame, obj.cell(name), value, pos)
                if name == "__dict__":
                    self._take_namespace(frame, obj, value, pos)
            case Heap():
                self.write(frame, obj.cell(name), value, pos)
                if isinstance(obj, Mod) and not value:
                    obj.cell(name)
            case Lib():
                frame.effect("state", None, f"{obj.name}.{name}", pos)
                return
            case Wrapper():  # a decorated function
                for inner in obj.inner:
                    if isinstance(inner, Func):
                        frame.effect("attribute", inner, name, pos)
                return
            case _:
                return
        frame.effect("attribute", obj, name, pos)

    def _take_namespace(self, frame: Frame, obj: Inst, value: Value, pos: int) -> None:
        """`self.__dict__ = names`: what a dictionary holds, or the object itself as one, become its attributes."""
        for source in value:
            held = self.container_behind(source) if isinstance(source, Inst) else source
            if isinstance(held, Container) and held.kind == "dict":
                self.is_exact(frame, held)  # the frame runs again when there are more keys
                for key, cell in list(held.fields.items()):
                    if isinstance(key, str):
                        self.write(frame, obj.cell(key), self.read(frame, cell), pos)
                if held.rest is not None:
                    self.write(frame, obj.rest_cell(), self.read(frame, held.rest), pos)

    def del_attr(self, frame: Frame, obj: Obj, name: str, pos: int) -> None:
        """Deletes an attribute of an object: a deleter, a descriptor or `__delattr__` may stand in for that."""
        if isinstance(obj, Inst):
            for item in self.class_lookup(frame, obj.cls, name):
                if isinstance(item, Wrapper) and item.kind == "property" and item.extra[1:2] and item.extra[1]:
                    self.call_value(frame, pos, item.extra[1], [obj.value], {}, "property")
                    return
                if ask(self, frame, item.value, ("__delete__",), pos, obj.value):
                    return
            if ask(self, frame, obj.value, ("__delattr__",), pos, literal(name).value):
                return
        frame.effect("attribute", obj, name, pos)

    def set_field(self, frame: Frame, obj: Obj, name: str, value: Value, pos: int) -> None:
        """Sets a field without noting an effect (what library code does to its own objects)."""
        if isinstance(obj, Heap):
            self.write(frame, obj.cell(name), value, pos)

    # Modules -------------------------------------------------------------------------------------------------------

    def module_attr(self, frame: Frame, obj: Mod, name: str) -> Value:
        """A name of a project module: its variable, a submodule, or what a wildcard import brings."""
        cell = obj.fields.get(name)
        if cell is None and name in obj.code.bound:
            cell = obj.cell(name)
        if cell is not None:
            value = self.read(frame, cell)
            if value:
                return value
        else:
            self.read(frame, obj.absent(name))
        sub = self.world.submodule(obj, name)
        if sub is not None:
            self.import_module(frame, sub)
            return sub.value
        if name == "__name__":
            return STR_V
        if name in ("__file__", "__doc__"):
            return STR_V
        for library in self.world.wildcards.get(obj, ()):
            found = library_attribute(library, name, only_known=True)
            if found:
                return found
        getter = self.read(frame, obj.fields.get("__getattr__") or obj.absent("__getattr__"))
        if getter and not name.startswith("__"):
            return self.call_value(frame, 0, getter, [literal(name).value], {}, "attribute")
        if cell is not None:
            frame.stuck = True
            return unknown(f"`{name}` of module {obj.name}, never set").value if frame.lenient else BOTTOM
        return BOTTOM

    def import_module(self, frame: Frame, module: Mod) -> None:
        """Runs a module's body if it has not run yet."""
        raise NotImplementedError

    # Items ---------------------------------------------------------------------------------------------------------

    def get_item(self, frame: Frame, owner: Value, index: Value, pos: int, *, quiet: bool = False) -> Value:
        """`owner[index]`; `quiet`: as `get` reads, which inserts nothing into a `defaultdict`."""
        result = BOTTOM
        ask(self, frame, index, ("__index__",), pos)
        for obj in owner:
            result = join(result, self._item(frame, obj, index, pos, quiet))
        return result

    def class_of_namespace(self, container: Container) -> Value:
        """The class that is made of a namespace."""
        found = self.world.allocated.get((container, "class"))
        return found.value if found is not None else BOTTOM

    def send(self, frame: Frame, generator: Stream, value: Value, pos: int) -> None:
        """Sends a value to a generator of the project."""
        if generator.origin is not None:
            self.write(frame, self.world.sent(generator.origin), value, pos)

    def reads_insert(self, container: Container) -> None:
        """Notes that reading a missing key of a container inserts it (`defaultdict`)."""
        self.world.allocated[container, "inserts"] = container

    def _item(self, frame: Frame, obj: Obj, index: Value, pos: int, quiet: bool = False) -> Value:
        match obj:
            case Tup():
                return self._tuple_item(obj, index)
            case Container():
                look_up(self, frame, index, pos)
                if not quiet and (obj, "inserts") in self.world.allocated:
                    frame.effect("item", obj, obj.kind, pos)
                    self.write(frame, self.world.key_cell(obj), index, pos)
                return self._container_item(frame, obj, index, pos)
            case Stream():
                return (
                    obj.element
                    if obj.kind in ("tuple", "range")
                    else operator_item(Call(self, frame, pos, "getitem", [index], {}, obj))
                )
            case Inst():
                method = self.class_lookup(frame, obj.cls, "__getitem__")
                if method:
                    bound_method = self.bind_all(frame, method, obj, pos)
                    return self.call_value(frame, pos, bound_method, [index], {}, "operator")
                behind = self.container_behind(obj)
                if behind is not None:
                    missing = ask(self, frame, obj.value, ("__missing__",), pos, index)
                    return join(missing, self._container_item(frame, behind, index, pos))
                for base in obj.cls.mro:
                    if isinstance(base, Lib) and registry.method_spec(base.name, "__getitem__"):
                        return self.call_value(frame, pos, bound("__getitem__", obj).value, [index], {}, "operator")
                return unknown("an item of an object").value
            case Wrapper(kind="namespace"):
                names = [key.const for key in index if isinstance(key, Lit) and isinstance(key.const, str)]
                found = join_items(tuple(self.get_attr(frame, obj.extra[0], name, pos) for name in names))
                return found if len(names) == len(index) else join(found, obj.inner)
            case Class() if is_enumeration(obj):
                keys = named(index)
                if keys is None:
                    return members_of(self, frame, obj, pos)
                return join_items(tuple(item_of(self, frame, obj, key, pos) for key in keys))
            case Lib() | Class():
                return obj.value  # a generic alias: `list[int]`
            case Lit() if obj is NONE:
                return BOTTOM
        return operator_item(Call(self, frame, pos, "getitem", [index], {}, obj))

    def _tuple_item(self, obj: Tup, index: Value) -> Value:
        items = obj.items
        result = BOTTOM
        for key in index:
            match key:
                case Lit(const=int() as i) if -len(items) <= i < len(items):
                    result = join(result, items[i])
                case Lit(const=int()):
                    continue
                case Wrapper(kind="slice"):
                    bounds = constant_slice(key)
                    if bounds is None:
                        return join_items(items)
                    result = join(result, tup(items[bounds], obj.kind).value)
                case _:
                    return join_items(items) or unknown("an item of an empty tuple").value
        return result

    def _container_item(self, frame: Frame, obj: Container, index: Value, pos: int) -> Value:
        result = BOTTOM
        for key in index:
            match key:
                case Lit(const=int() as i) if obj.kind == "list" and i < 0:
                    n = len(obj.fields)
                    if self.is_exact(frame, obj) and -i <= n:
                        result = join(result, self.read(frame, obj.cell(n + i)))
                    else:
                        result = join(result, self.elements(frame, obj.value, pos))
                case Lit():
                    cell = obj.fields.get(key.const)
                    result = join(result, self.read(frame, cell or obj.absent(key.const)))
                    if obj.rest is not None:
                        result = join(result, self.read(frame, obj.rest))
                    elif cell is None:
                        result = join(result, self.read(frame, obj.rest_cell()))
                    else:
                        self.read(frame, obj.absent(REST))
                case Wrapper(kind="slice"):
                    result = join(result, self._list_slice(frame, obj, key, pos))
                case _:
                    result = join(result, self.values_of(frame, obj))
        return result

    def _list_slice(self, frame: Frame, obj: Container, key: Wrapper, pos: int) -> Value:
        made = self.container(frame, pos, "list", "slice")
        bounds = constant_slice(key)
        if bounds is not None and self.is_exact(frame, obj):
            cells = list(obj.fields.values())[bounds]
            for i, cell in enumerate(cells):
                self.write(frame, made.cell(i), self.read(frame, cell), pos)
        else:
            length = None if bounds is None else length_of(self, frame, obj.value)
            hold_alike(self, made)
            note_length(self, made, None if length is None or bounds is None else len(range(length)[bounds]))
            self.write(frame, made.rest_cell(), self.values_of(frame, obj), pos)
        return made.value

    def values_of(self, frame: Frame, obj: Container) -> Value:
        """The join of all elements (values, for a dict) of a container."""
        return join_all(self.cells_of(frame, obj))

    def cells_of(self, frame: Frame, obj: Container) -> list[Value]:
        """The elements of a container (values, for a dict), cell by cell."""
        self.work += 1
        if self.work > self.limit:
            raise ExhaustedError
        return [self.read(frame, cell) for cell in (obj.rest_cell(), obj.absent(EVERY), *obj.fields.values())]

    def keys_of(self, frame: Frame, obj: Container) -> Value:
        """The join of the keys of a dict."""
        count, result = obj.keys
        if count != len(obj.fields):
            for key in list(obj.fields)[count:]:
                result = join(result, literal(key).value)
            obj.keys = len(obj.fields), result
        if not self.is_exact(frame, obj):
            result = join(result, self.read(frame, self.world.key_cell(obj)))
        return result

    def set_item(self, frame: Frame, obj: Obj, index: Value, value: Value, pos: int) -> None:
        """`obj[index] = value`."""
        match obj:
            case Container():
                look_up(self, frame, index, pos)
                frame.effect("item", obj, obj.kind, pos)
                self.set_item_quietly(frame, obj, index, value, pos)
            case Inst():
                method = self.class_lookup(frame, obj.cls, "__setitem__")
                if method:
                    bound_method = self.bind_all(frame, method, obj, pos)
                    self.call_value(frame, pos, bound_method, [index, value], {}, "operator")
                    return
                frame.effect("item", obj, "item", pos)
                behind = self.container_behind(obj)
                if behind is not None:
                    self.set_item_quietly(frame, behind, index, value, pos)
            case Tensor():
                frame.effect("item", obj, obj.kind, pos)
            case Lib():
                frame.effect("io" if obj.name == "os.environ" else "state", None, obj.name, pos)
            case Wrapper(kind="namespace"):
                for key in index:
                    name = key.const if isinstance(key, Lit) and isinstance(key.const, str) else "a computed attribute"
                    self.set_field(frame, obj.extra[0], name, value, pos)
                    frame.effect("attribute", obj.extra[0], name, pos)
            case Heap() | Unknown():
                frame.effect("item", obj, "item", pos)

    def set_item_quietly(self, frame: Frame, obj: Container, index: Value, value: Value, pos: int) -> None:
        """Puts a value into a container, without noting an effect."""
        for key in index:
            if isinstance(key, Lit) and (obj.kind != "list" or key.const in obj.fields) and len(obj.fields) < 64:
                if key.const not in obj.fields and obj.exact and obj.site[1] != pos:
                    obj.cell(key.const)
                    self.wake(obj.reshaped)
                self.write(frame, obj.cell(key.const), value, pos)
            else:
                self.lose_exactness(obj)
                self.write(frame, obj.rest_cell(), value, pos)
                if obj.kind == "dict":
                    self.write(frame, self.world.key_cell(obj), key.value, pos)

    # Iteration -----------------------------------------------------------------------------------------------------

    def elements(self, frame: Frame, value: Value, pos: int) -> Value:
        """What iterating over a value gives, joined over all elements."""
        self.work += 1
        if self.work > self.limit:
            raise ExhaustedError
        result = BOTTOM
        for obj in value:
            result = join(result, self._elements(frame, obj, pos))
        return result

    def _elements(self, frame: Frame, obj: Obj, pos: int) -> Value:
        match obj:
            case Tup():
                if obj.kind in ONE_SHOT:
                    frame.effect("iterator", obj, obj.kind, pos)
                return join_items(obj.items)
            case Container():
                if obj.kind in ONE_SHOT:
                    frame.effect("iterator", obj, obj.kind, pos)
                return self.keys_of(frame, obj) if obj.kind == "dict" else self.values_of(frame, obj)
            case Stream():
                if obj.kind in ONE_SHOT:
                    frame.effect("iterator", obj, obj.kind, pos)
                arrive = registry.method_spec(obj.kind, "__iter__") if "." in obj.kind else None
                if arrive is not None and arrive[1].rule is not None:
                    made = arrive[1].rule(Call(self, frame, pos, f"{obj.kind}.__iter__", [], {}, obj))
                    return join_items(tuple(o.element for o in made if isinstance(o, Stream)))
                return obj.element
            case LibInst() if registry.method_spec(obj.cls, "__next__") is not None:
                frame.effect("iterator", obj, obj.cls, pos)
            case Lit(kind="str"):
                return STR_V
            case Lit():
                return BOTTOM
            case Prim(kind="str"):
                return STR_V
            case Prim(kind="bytes"):
                return INT_V
            case Inst():
                method = self.class_lookup(frame, obj.cls, "__iter__")
                if method:
                    bound_method = self.bind_all(frame, method, obj, pos)
                    made = self.call_value(frame, pos, bound_method, [], {}, "operator")
                    return self._next_of(frame, made, obj, pos)
                getter = self.class_lookup(frame, obj.cls, "__getitem__")
                if getter:
                    bound_method = self.bind_all(frame, getter, obj, pos)
                    return self.call_value(frame, pos, bound_method, [prim("int", True).value], {}, "operator")
                behind = self.container_behind(obj)
                if behind is not None:
                    return self._elements(frame, behind, pos)
                for name in self.mro_names(obj):
                    if registry.method_spec(name, "__iter__"):
                        return self.call_value(frame, pos, bound("__iter__", obj).value, [], {}, "operator")
                return unknown("an element of an object").value
            case Class() if is_enumeration(obj):
                return members_of(self, frame, obj, pos)
            case Class() | Func() | Mod():
                return BOTTOM
        return operator_item(Call(self, frame, pos, "iter", [], {}, obj))

    def _next_of(self, frame: Frame, iterator: Value, source: Obj, pos: int) -> Value:
        """The elements of what `__iter__` returned: an object with `__next__`, or any iterable."""
        result = BOTTOM
        for obj in iterator:
            if isinstance(obj, Inst):
                method = self.class_lookup(frame, obj.cls, "__next__")
                if method:
                    bound_method = self.bind_all(frame, method, obj, pos)
                    result = join(result, self.call_value(frame, pos, bound_method, [], {}, "operator"))
                elif obj is not source:
                    result = join(result, self._elements(frame, obj, pos))
            else:
                result = join(result, self._elements(frame, obj, pos))
        return result


#: What can be iterated over only once: doing so changes it for whoever else holds it.
ONE_SHOT = frozenset({"generator", "iterator", "zip", "map", "filter", "enumerate", "reversed"})
_CONTAINERS = {
    "builtins.dict": "dict",
    "builtins.list": "list",
    "builtins.set": "set",
    "collections.OrderedDict": "dict",
    "collections.deque": "deque",
}
#: What NumPy's own truth values have besides: the models do not keep them apart from Python's.
_OF_SCALARS = frozenset(
    "T all any argmax argmin argsort astype base byteswap choose clip compress copy cumprod cumsum data diagonal dtype "
    "dump dumps fill flags flat flatten item itemset itemsize max mean min nbytes ndim newbyteorder nonzero numpy prod "
    "ptp put ravel repeat reshape resize round searchsorted setfield setflags shape size sort squeeze std strides sum "
    "swapaxes take tobytes tofile tolist tostring trace transpose var view".split()
)
#: Built-in types that values of these kinds are surely of, with all their attributes.
_COMPLETE = {
    "builtins.list": frozenset(dir(list)),
    "builtins.str": frozenset(dir(str)),
    "builtins.bool": frozenset(dir(bool)) | _OF_SCALARS,
}
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


@cache
def fields_set(code: Code) -> frozenset[str]:
    """The attributes of its first parameter that a function sets on every path, before anything else can end it."""
    if not code.params:
        return frozenset()
    found = [i for i in code.body if i[0] == Op.SET_ATTR and i[2] == code.params[0].slot]
    return frozenset(str(i[3]) for i in found)


def namespace(obj: Obj) -> Value:
    """`vars(obj)`, `obj.__dict__`, `globals()`: a dictionary whose items are the attributes of an object."""
    return wrapper("namespace", unknown("a namespace dictionary").value, obj).value


def property_accessor(prop: Wrapper, name: str) -> Value:
    """The decorator `@x.setter`: called with a function it gives the property with that accessor."""
    return bound(f"property.{name}", prop).value


def uid_of(key: tuple[Any, ...], frame: Frame) -> int:
    """The frame number of an object that is allocated under a site's name."""
    return SHARED if key[-1] is None else frame.uid


def registry_class(obj: Obj) -> str:
    """The library class that models a built-in value."""
    match obj:
        case Tensor():
            return f"tensor.{obj.kind}"
        case Lit() | Prim():
            return f"builtins.{obj.kind}"
        case Tup():
            return "tensor.TensorShape" if obj.kind == "TensorShape" else "builtins.tuple"
        case Container():
            return f"builtins.{obj.kind}" if "." not in obj.kind else obj.kind
        case Stream():
            if obj.kind == "TensorShape":
                return "tensor.TensorShape"
            return obj.kind if "." in obj.kind else f"builtins.{obj.kind}"
        case LibInst():
            return obj.cls
        case Wrapper():
            return f"wrapper.{obj.kind}"
        case _:
            return "builtins.object"


def constant_slice(key: Wrapper) -> slice | None:
    """The slice that a slice value denotes, if all its parts are constants."""
    parts: list[int | None] = []
    for part in key.extra[:3]:
        if not part:
            parts.append(None)
            continue
        if len(part) != 1:
            return None
        (obj,) = part
        if not isinstance(obj, Lit) or not (obj.const is None or isinstance(obj.const, int)):
            return None
        parts.append(obj.const)
    return slice(*parts)


def join_items(items: tuple[Value, ...]) -> Value:
    """The join of the items of a tuple."""
    result = BOTTOM
    for item in items:
        result = join(result, item)
    return result
