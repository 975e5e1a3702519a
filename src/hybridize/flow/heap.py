"""Members of modules, items of containers, what iteration gives: the heap as the steps of the engine see it."""

from __future__ import annotations

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    EVERY,
    INT_V,
    NONE,
    REST,
    STR_V,
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
    literal,
    prim,
    tup,
    unknown,
)
from hybridize.domain.unknowns import Why
from hybridize.domain.words import ONE_SHOT
from hybridize.flow.attributes import Attributes
from hybridize.flow.cells import Cells
from hybridize.flow.frames import ExhaustedError, Frame
from hybridize.flow.library_calls import LibraryCalls
from hybridize.flow.members import is_enumeration, item_of, members_of, named
from hybridize.flow.parts import Parts
from hybridize.library import registry
from hybridize.library.annotations import made_alias
from hybridize.library.defaults import operator_item
from hybridize.library.lengths import hold_alike, length_of, note_length
from hybridize.library.protocols import ask, look_up
from hybridize.library.python.computed import models_in
from hybridize.library.spec import Call


class HeapAccess:
    """Reads and writes items of objects."""

    def __init__(self, engine: Parts, cells: Cells, library: LibraryCalls, attributes: Attributes) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.library = library
        self.attributes = attributes

    def get_item(self, frame: Frame, owner: Value, index: Value, pos: int, *, quiet: bool = False) -> Value:
        """`owner[index]`; `quiet`: as `get` reads, which inserts nothing into a `defaultdict`."""
        result = BOTTOM
        ask(self.engine, frame, index, ("__index__",), pos)
        for obj in owner:
            result = join(result, self._item(frame, obj, index, pos, quiet))
        return result

    def _item(self, frame: Frame, obj: Obj, index: Value, pos: int, quiet: bool = False) -> Value:
        match obj:
            case Tup():
                return self._tuple_item(obj, index)
            case Container():
                look_up(self.engine, frame, index, pos)
                if not quiet and (obj, "inserts") in self.world.allocated:
                    frame.effect("item", obj, obj.kind, pos)
                    self.cells.write(frame, self.world.key_cell(obj), index, pos)
                return self._container_item(frame, obj, index, pos)
            case Stream(kind="tuple") if all(isinstance(key, Wrapper) and key.kind == "slice" for key in index):
                copied = self.cells.container(frame, pos, "list", "slice")
                self.cells.lose_exactness(copied)
                self.cells.write(frame, copied.rest_cell(), obj.element, pos)
                return copied.value
            case Stream():
                return (
                    obj.element
                    if obj.kind in ("tuple", "range")
                    else operator_item(Call(self.engine, frame, pos, "getitem", [index], {}, obj))
                )
            case Inst():
                method = self.attributes.class_lookup(frame, obj.cls, "__getitem__")
                if method:
                    bound_method = self.attributes.bind_all(frame, method, obj, pos)
                    return self.engine.calls.call_value(frame, pos, bound_method, [index], {}, How.OPERATOR)
                behind = self.cells.container_behind(obj)
                if behind is not None:
                    missing = ask(self.engine, frame, obj.value, ("__missing__",), pos, index)
                    return join(missing, self._container_item(frame, behind, index, pos))
                for base in obj.cls.mro:
                    if isinstance(base, Lib) and registry.method_spec(base.name, "__getitem__"):
                        return self.engine.calls.call_value(
                            frame, pos, bound("__getitem__", obj).value, [index], {}, How.OPERATOR
                        )
                return unknown("an item of an object", Why.PART).value
            case Wrapper(kind="namespace"):
                names = [key.const for key in index if isinstance(key, Lit) and isinstance(key.const, str)]
                found = join_all(tuple(self.attributes.get_attr(frame, obj.extra[0], name, pos) for name in names))
                if len(names) == len(index):
                    return found
                return join(found, join(models_in(self.engine, frame, obj.extra[0]), obj.inner))
            case Class() if is_enumeration(obj):
                keys = named(index)
                if keys is None:
                    return members_of(self.engine, frame, obj, pos)
                return join_all(tuple(item_of(self.engine, frame, obj, key, pos) for key in keys))
            case Lib() if obj.name.startswith("np."):
                return operator_item(Call(self.engine, frame, pos, "getitem", [index], {}, obj))
            case Lib() | Class():
                return made_alias(obj, index, frame.module)  # `list[int]`
            case Lit() if obj is NONE:
                return BOTTOM
        return operator_item(Call(self.engine, frame, pos, "getitem", [index], {}, obj))

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
                        return join_all(items)
                    result = join(result, tup(items[bounds], obj.kind).value)
                case _:
                    return join_all(items) or unknown("an item of an empty tuple", Why.PART).value
        return result

    def _container_item(self, frame: Frame, obj: Container, index: Value, pos: int) -> Value:
        result = BOTTOM
        for key in index:
            match key:
                case Lit(const=int() as i) if obj.kind == "list" and i < 0:
                    n = len(obj.fields)
                    if self.cells.is_exact(frame, obj) and -i <= n:
                        result = join(result, self.cells.read(frame, obj.cell(n + i)))
                    else:
                        result = join(result, self.elements(frame, obj.value, pos))
                case Lit():
                    cell = obj.fields.get(key.const)
                    result = join(result, self.cells.read(frame, cell or obj.absent(key.const)))
                    if obj.rest is not None:
                        result = join(result, self.cells.read(frame, obj.rest))
                    elif cell is None:
                        result = join(result, self.cells.read(frame, obj.rest_cell()))
                    else:
                        self.cells.read(frame, obj.absent(REST))
                case Wrapper(kind="slice"):
                    result = join(result, self._list_slice(frame, obj, key, pos))
                case _:
                    result = join(result, self.values_of(frame, obj))
        return result

    def _list_slice(self, frame: Frame, obj: Container, key: Wrapper, pos: int) -> Value:
        made = self.cells.container(frame, pos, "list", "slice")
        bounds = constant_slice(key)
        if bounds is not None and self.cells.is_exact(frame, obj):
            cells = list(obj.fields.values())[bounds]
            for i, cell in enumerate(cells):
                self.cells.write(frame, made.cell(i), self.cells.read(frame, cell), pos)
        else:
            length = None if bounds is None else length_of(self.engine, frame, obj.value)
            hold_alike(self.engine, made)
            note_length(self.engine, made, None if length is None or bounds is None else len(range(length)[bounds]))
            self.cells.write(frame, made.rest_cell(), self.values_of(frame, obj), pos)
        return made.value

    def values_of(self, frame: Frame, obj: Container) -> Value:
        """The join of all elements (values, for a dict) of a container."""
        return join_all(self.cells_of(frame, obj))

    def cells_of(self, frame: Frame, obj: Container) -> list[Value]:
        """The elements of a container (values, for a dict), cell by cell."""
        self.cells.work += 1
        if self.cells.work > self.cells.limit:
            raise ExhaustedError
        step = frame.step
        run = step.runs
        values: list[Value] = []
        for cell in (obj.rest_cell(), obj.absent(EVERY), *obj.fields.values()):
            cell.readers[step] = run
            if cell.value:
                values.append(cell.value)
        return values

    def keys_of(self, frame: Frame, obj: Container) -> Value:
        """The join of the keys of a dict."""
        count, result = obj.keys
        if count != len(obj.fields):
            for key in list(obj.fields)[count:]:
                result = join(result, literal(key).value)
            obj.keys = len(obj.fields), result
        if not self.cells.is_exact(frame, obj):
            result = join(result, self.cells.read(frame, self.world.key_cell(obj)))
        return result

    def set_item(self, frame: Frame, obj: Obj, index: Value, value: Value, pos: int) -> None:
        """`obj[index] = value`."""
        match obj:
            case Container():
                look_up(self.engine, frame, index, pos)
                frame.effect("item", obj, obj.kind, pos)
                self.set_item_quietly(frame, obj, index, value, pos)
            case Inst():
                method = self.attributes.class_lookup(frame, obj.cls, "__setitem__")
                if method:
                    bound_method = self.attributes.bind_all(frame, method, obj, pos)
                    self.engine.calls.call_value(frame, pos, bound_method, [index, value], {}, How.OPERATOR)
                    return
                frame.effect("item", obj, "item", pos)
                behind = self.cells.container_behind(obj)
                if behind is not None:
                    self.set_item_quietly(frame, behind, index, value, pos)
                elif any(isinstance(b, Lib) and registry.method_spec(b.name, "__setitem__") for b in obj.cls.mro):
                    self.engine.calls.call_value(
                        frame, pos, bound("__setitem__", obj).value, [index, value], {}, How.OPERATOR
                    )
            case Tensor():
                frame.effect("item", obj, obj.kind, pos)
            case Stream(kind="tuple"):  # a list that a hint or docstring speaks of
                frame.effect("item", obj, "list", pos)
            case Lib():
                frame.effect("io" if obj.name == "os.environ" else "state", None, obj.name, pos)
            case Wrapper(kind="namespace"):
                for key in index:
                    name = key.const if isinstance(key, Lit) and isinstance(key.const, str) else "a computed attribute"
                    self.attributes.set_field(frame, obj.extra[0], name, value, pos)
                    frame.effect("attribute", obj.extra[0], name, pos)
            case Heap() | Unknown():
                frame.effect("item", obj, "item", pos)

    def set_item_quietly(self, frame: Frame, obj: Container, index: Value, value: Value, pos: int) -> None:
        """Puts a value into a container, without noting an effect."""
        for key in index:
            if isinstance(key, Lit) and (obj.kind != "list" or key.const in obj.fields) and len(obj.fields) < 64:
                if key.const not in obj.fields and obj.exact and obj.site[1] != pos:
                    obj.cell(key.const)
                    self.cells.wake(obj.reshaped)
                self.cells.write(frame, obj.cell(key.const), value, pos)
            else:
                self.cells.lose_exactness(obj)
                self.cells.write(frame, obj.rest_cell(), value, pos)
                if obj.kind == "dict":
                    self.cells.write(frame, self.world.key_cell(obj), key.value, pos)

    def take_keys(self, frame: Frame, obj: Container, source: Container, pos: int) -> None:
        """Adds the keys of one dict that are not constants to those of another."""
        self.cells.write(frame, self.world.key_cell(obj), self.cells.read(frame, self.world.key_cell(source)), pos)

    def elements(self, frame: Frame, value: Value, pos: int) -> Value:
        """What iterating over a value gives, joined over all elements."""
        self.cells.work += 1
        if self.cells.work > self.cells.limit:
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
                return join_all(obj.items)
            case Container():
                if obj.kind in ONE_SHOT:
                    frame.effect("iterator", obj, obj.kind, pos)
                return self.keys_of(frame, obj) if obj.kind == "dict" else self.values_of(frame, obj)
            case Stream():
                if obj.kind in ONE_SHOT:
                    frame.effect("iterator", obj, obj.kind, pos)
                arrive = registry.method_spec(obj.kind, "__iter__") if "." in obj.kind else None
                if arrive is not None and arrive[1].rule is not None:
                    made = self.library.apply_rule(
                        arrive[1].rule, Call(self.engine, frame, pos, f"{obj.kind}.__iter__", [], {}, obj)
                    )
                    return join_all(tuple(o.element for o in made if isinstance(o, Stream)))
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
                method = self.attributes.class_lookup(frame, obj.cls, "__iter__")
                if method:
                    bound_method = self.attributes.bind_all(frame, method, obj, pos)
                    made = self.engine.calls.call_value(frame, pos, bound_method, [], {}, How.OPERATOR)
                    return self._next_of(frame, made, obj, pos)
                getter = self.attributes.class_lookup(frame, obj.cls, "__getitem__")
                if getter:
                    bound_method = self.attributes.bind_all(frame, getter, obj, pos)
                    return self.engine.calls.call_value(
                        frame, pos, bound_method, [prim("int", True).value], {}, How.OPERATOR
                    )
                behind = self.cells.container_behind(obj)
                if behind is not None:
                    return self._elements(frame, behind, pos)
                for name in registry.mro_names(obj):
                    if registry.method_spec(name, "__iter__"):
                        return self.engine.calls.call_value(
                            frame, pos, bound("__iter__", obj).value, [], {}, How.OPERATOR
                        )
                return unknown("an element of an object", Why.PART).value
            case Class() if is_enumeration(obj):
                return members_of(self.engine, frame, obj, pos)
            case Class() | Func() | Mod():
                return BOTTOM
        return operator_item(Call(self.engine, frame, pos, "iter", [], {}, obj))

    def _next_of(self, frame: Frame, iterator: Value, source: Obj, pos: int) -> Value:
        """The elements of what `__iter__` returned: an object with `__next__`, or any iterable."""
        result = BOTTOM
        for obj in iterator:
            if isinstance(obj, Inst):
                method = self.attributes.class_lookup(frame, obj.cls, "__next__")
                if method:
                    bound_method = self.attributes.bind_all(frame, method, obj, pos)
                    result = join(result, self.engine.calls.call_value(frame, pos, bound_method, [], {}, How.OPERATOR))
                elif obj is not source:
                    result = join(result, self._elements(frame, obj, pos))
            else:
                result = join(result, self._elements(frame, obj, pos))
        return result


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
