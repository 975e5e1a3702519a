"""Calling a value: functions with their contexts, methods, classes, callable objects, library functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    NONE,
    STR_V,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Obj,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
    lib,
    tensor,
    tup,
    unknown,
    wrapper,
)
from hybridize.domain.tensors import DENSE
from hybridize.domain.unknowns import RESULT
from hybridize.flow.attributes import Attributes
from hybridize.flow.cells import Cells
from hybridize.flow.construction import Construction
from hybridize.flow.frames import ExhaustedError, Frame
from hybridize.flow.functions import FunctionCalls
from hybridize.flow.imports import Imports
from hybridize.flow.library_calls import MAX_RULES, LibraryCalls
from hybridize.flow.parts import Parts
from hybridize.flow.protocols import Protocols
from hybridize.library import registry
from hybridize.library.builtin_names import BUILTINS
from hybridize.library.convert import of_graph
from hybridize.library.defaults import is_wrapped
from hybridize.library.protocols import ask
from hybridize.library.spec import Call
from hybridize.library.tensorflow.specs import converted, makes_graphs, signature_items

#: The field of a function that holds what is registered for other types (`functools.singledispatch`).
DISPATCHED: Final = "<dispatched>"


def dispatching(obj: Wrapper) -> int:
    """Which argument chooses among what is registered: the first, after the receiver of a method."""
    return 1 if obj.extra else 0


_CALLABLE: Final = (Func, Bound, Wrapper)
_NO_KWARGS: Final[Mapping[str, Value]] = {}


class Calls:
    """Calls values."""

    def __init__(
        self,
        engine: Parts,
        cells: Cells,
        library: LibraryCalls,
        attributes: Attributes,
        functions: FunctionCalls,
        imports: Imports,
        protocols: Protocols,
        construction: Construction,
    ) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.library = library
        self.attributes = attributes
        self.functions = functions
        self.imports = imports
        self.protocols = protocols
        self.construction = construction

    def call_value(
        self,
        frame: Frame,
        pos: int,
        func: Value,
        args: list[Value],
        kwargs: Mapping[str, Value] = _NO_KWARGS,
        how: How = How.CALL,
        rest: Value = BOTTOM,
    ) -> Value:
        """Calls any object of a value; `rest` stands for further arguments whose number is not known."""
        self.cells.work += 1
        if self.cells.work > self.cells.limit:
            raise ExhaustedError
        if len(func) == 1:
            (only,) = func
            return self.call_obj(frame, pos, only, args, kwargs, how, rest)
        result = BOTTOM
        for obj in self._without_stand_ins(frame, pos, func):
            if obj is not NONE:
                result = join(result, self.call_obj(frame, pos, obj, args, kwargs, how, rest))
        return result

    def _without_stand_ins(self, frame: Frame, pos: int, func: Value) -> Iterable[Obj]:
        """What a call goes to: where one of several is what makes graphs, the others only take its place at times.

        They give what behaves like the function that they are given; what they do beside is no part of it.
        """
        made = [obj for obj in func if makes_graphs(obj)]
        if not made or len(made) == len(func):
            return func
        self.world.switched.add((frame.code, pos))
        return made

    def call_obj(
        self,
        frame: Frame,
        pos: int,
        obj: Obj,
        args: list[Value],
        kwargs: Mapping[str, Value],
        how: How,
        rest: Value,
    ) -> Value:
        """Calls one object."""
        match obj:
            case Func():
                return self.functions.call_function(frame, pos, obj, args, kwargs, how, rest, False)
            case Bound():
                if isinstance(obj.func, str):
                    return self.library.call_method(frame, pos, obj, args, kwargs, rest)
                if isinstance(obj.func, Func):
                    full = [obj.receiver.value, *args]
                    return self.functions.call_function(frame, pos, obj.func, full, kwargs, how, rest, True)
                return self.call_obj(frame, pos, obj.func, [obj.receiver.value, *args], kwargs, how, rest)
            case Class():
                return self.construction.instantiate(frame, pos, obj, args, kwargs, rest)
            case Inst():
                return self._call_instance(frame, pos, obj, args, kwargs, how, rest)
            case Lib():
                return self.library.call_library(frame, pos, obj.name, args, kwargs, rest)
            case LibInst():
                return self.library.call_instance(frame, pos, obj, args, kwargs, rest)
            case Wrapper():
                return self._call_wrapper(frame, pos, obj, args, kwargs, how, rest)
            case Stream(kind="generator") if len(args) == 1 and _is_definition(args[0]):
                # Only what `contextmanager` makes can be called: it decorates.
                return wrapper("scoped", args[0], BOTTOM, frame, pos).value
            case Unknown():
                frame.effect("unknown_call", obj, obj.reason, pos)
                self.escape(frame, args, kwargs, pos)
                if len(args) == 1 and not kwargs and is_wrapped(args[0], pos):
                    return args[0]  # an unknown decorator: what it wraps is called all the same
                return obj.part(RESULT, 60)
        return unknown("the result of calling a value that is not callable").value

    def escape(self, frame: Frame, args: list[Value], kwargs: Mapping[str, Value], pos: int) -> None:
        """Notes functions that code outside the model receives: it may call them at any time."""
        for value in (*args, *kwargs.values()):
            for obj in value:
                if isinstance(obj, _CALLABLE):
                    self.world.escaped[obj] = None

    def _call_instance(
        self, frame: Frame, pos: int, obj: Inst, args: list[Value], kwargs: Mapping[str, Value], how: How, rest: Value
    ) -> Value:
        method = self.attributes.class_lookup(frame, obj.cls, "__call__")
        if method:
            if self.cells.rules_open >= MAX_RULES:  # a callable object whose `__call__` is a callable object, and so on
                return unknown("the result of calls that nest without end").value
            bound_method = self.attributes.bind_all(frame, method, obj, pos)
            self.cells.rules_open += 1
            try:
                return self.call_value(frame, pos, bound_method, args, kwargs, how, rest)
            finally:
                self.cells.rules_open -= 1
        for base in obj.cls.library:
            spec = registry.call_spec(base)
            if spec is not None and spec.rule is not None:
                if spec.op:
                    frame.computes(pos, base)
                return self.library.apply_rule(
                    spec.rule, Call(self.engine, frame, pos, f"{base}.__call__", args, kwargs, obj, rest)
                )
        frame.effect("unknown_call", obj, f"a call of an instance of `{obj.cls.name}`", pos)
        return unknown(f"the result of calling an instance of `{obj.cls.name}`").value

    def _call_wrapper(
        self,
        frame: Frame,
        pos: int,
        obj: Wrapper,
        args: list[Value],
        kwargs: Mapping[str, Value],
        how: How,
        rest: Value,
    ) -> Value:
        match obj.kind:
            case "partial":
                first, named = obj.extra
                return self.call_value(frame, pos, obj.inner, [*first, *args], {**dict(named), **kwargs}, how, rest)
            case "namedtuple":
                (names,) = obj.extra
                items = [args[i] if i < len(args) else kwargs.get(name, rest) for i, name in enumerate(names)]
                return tup([item or unknown("a field of a named tuple").value for item in items], "tuple", names).value
            case "hybrid":
                if obj.extra[1:]:
                    args, kwargs = self._signed(obj, args, kwargs)
                return of_graph(self.call_value(frame, pos, obj.inner, args, kwargs, How.HYBRID, rest))
            case "scoped":
                self._in_scope(frame, pos, obj)
                return self.call_value(frame, pos, obj.inner, args, kwargs, how, rest)
            case "dispatch":
                return self._dispatch(frame, pos, obj, args, kwargs, how, rest)
            case "custom_gradient":
                return self._with_gradient(self.call_value(frame, pos, obj.inner, args, kwargs, how, rest), frame, pos)
            case "binder":  # `function.__get__(receiver)`
                return join_all(
                    [self.attributes.bind_all(frame, obj.inner, o, pos) for o in args[0] if o is not NONE]
                    if args
                    else []
                )
            case "construct":
                made = [
                    self.construction.construct(frame, pos, c, args, kwargs, rest)
                    for c in obj.inner
                    if isinstance(c, Class)
                ]
                return join_all(made)
            case "decorator":
                # A configured decorator (`tf.function(jit_compile=True)`): calling it applies it.
                name, options = obj.extra
                return self.library.call_library(frame, pos, name, args, dict(options))
        return self.call_value(frame, pos, obj.inner, args, kwargs, how, rest)

    def _signed(
        self, obj: Wrapper, args: list[Value], kwargs: Mapping[str, Value]
    ) -> tuple[list[Value], Mapping[str, Value]]:
        """The arguments of a function that has an `input_signature`, as they arrive in it."""
        specs = signature_items(obj.extra[1])
        func = next(iter(obj.inner), None)
        if specs is None or not isinstance(func, Func):
            return args, kwargs
        first = 1 if func.code.in_class else 0
        names = [param.name for param in func.code.params[first:]]
        named = dict(zip(names, specs, strict=False))
        given = [converted(a, s) for a, s in zip(args[first:], specs, strict=False)]
        keywords = {k: converted(v, named[k]) if k in named else v for k, v in kwargs.items()}
        return [*args[:first], *given, *args[first + len(given) :]], keywords

    def _dispatch(
        self,
        frame: Frame,
        pos: int,
        obj: Wrapper,
        args: list[Value],
        kwargs: Mapping[str, Value],
        how: How,
        rest: Value,
    ) -> Value:
        """`functools.singledispatch`: what is registered for the first argument's type, else the function itself."""
        result = BOTTOM
        at = dispatching(obj)
        left = args[at] if len(args) > at else BOTTOM
        for func in obj.inner if left else ():
            for kinds, chosen in self.registered(frame, func):
                inside = self.protocols.narrow(frame, args[at], kinds, True) if kinds else args[at]
                left = self.protocols.narrow(frame, left, kinds, False) if kinds else left
                if inside:
                    given = [*args[:at], inside, *args[at + 1 :]]
                    result = join(result, self.call_value(frame, pos, chosen, given, kwargs, how, rest))
        if left or len(args) <= at:
            given = [*args[:at], left, *args[at + 1 :]] if len(args) > at else args
            result = join(result, self.call_value(frame, pos, obj.inner, given, kwargs, how, rest))
        return result

    def registered(self, frame: Frame, func: Obj) -> list[tuple[Value, Value]]:
        """What is registered for a dispatched function: the types, and the function that is called for them."""
        pairs = self.cells.read(frame, func.cell(DISPATCHED)) if isinstance(func, Func) else BOTTOM
        found = [pair.items if isinstance(pair, Tup) else (BOTTOM, pair.value) for pair in pairs]
        return [(kinds or self._annotated(frame, chosen), chosen) for kinds, chosen in found]

    def _annotated(self, frame: Frame, functions: Value) -> Value:
        """The type that functions say their first argument has."""
        result = BOTTOM
        for func in functions:
            hint = func.code.params[0].annotation if isinstance(func, Func) and func.code.params else None
            names: list[str] = []
            while isinstance(hint, ast.Attribute):
                names.insert(0, hint.attr)
                hint = hint.value
            if not isinstance(func, Func) or not isinstance(hint, ast.Name):
                return BOTTOM
            found = self.imports.module_attr(frame, func.module, hint.id)
            if not found and hint.id in BUILTINS:
                found = lib(f"builtins.{hint.id}").value
            for name in names:
                found = self.attributes.get_attrs(frame, found, name, 0)
            result = join(result, found)
        return result

    def _with_gradient(self, result: Value, frame: Frame, pos: int) -> Value:
        """What a function under `tf.custom_gradient` gives: its result; its gradient function may be called later."""
        found = BOTTOM
        for obj in result:
            if not isinstance(obj, Tup) or len(obj.items) != 2:
                found = join(found, obj.value)
                continue
            value, gradient = obj.items
            found = join(found, value)
            outer = [list(o.items) if isinstance(o, Tup) else [o.value] for o in value]
            upstream = outer[0] if len(outer) == 1 else [value]
            if gradient and all(isinstance(o, Tensor) for item in upstream for o in item):
                dense = [join_all(tuple(tensor(DENSE, o.dtype, o.shape).value for o in i)) for i in upstream]  # type: ignore[attr-defined]
                self.call_value(frame, pos, gradient, dense, {}, How.CALLBACK)
        return found

    def _in_scope(self, frame: Frame, pos: int, scope: Wrapper) -> None:
        """Enters and leaves the context manager that decorates a function: an object, or a generator made anew."""
        manager, definer, place = scope.extra
        if manager:
            self.protocols.enter_context(frame, manager, pos)
            self.protocols.exit_context(frame, manager, pos)
            return
        for where, callee in list(definer.calls):
            if where == place and callee.code.is_generator:
                self.functions.note_call(frame, pos, callee, How.CALL)

    def spread(self, frame: Frame, value: Value, pos: int) -> list[Value] | None:
        """The values of `*value` in order, if their number is known."""
        if len(value) != 1:
            lengths = [self._spread_one(frame, obj) for obj in value]
            known = [items for items in lengths if items is not None]
            if len(known) == len(lengths) and known and len({len(items) for items in known}) == 1:
                return [join_all(column) for column in zip(*known, strict=True)]
            return None
        (obj,) = value
        if isinstance(obj, Container) and obj.kind == "generator":
            frame.effect("iterator", obj, obj.kind, pos)
        return self._spread_one(frame, obj)

    def _spread_one(self, frame: Frame, obj: Obj) -> list[Value] | None:
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container) and obj.kind in ("list", "generator") and self.cells.is_exact(frame, obj):
            return [self.cells.read(frame, cell) for cell in list(obj.fields.values())]
        if isinstance(obj, Stream) and isinstance(obj.element, frozenset) and obj.kind == "items":
            return None
        return None

    def spread_mapping(self, frame: Frame, value: Value, kwargs: dict[str, Value], pos: int) -> None:
        """Adds `**value` to keyword arguments; what is not known by name goes under `**`."""
        for obj in value:
            if isinstance(obj, Container) and obj.kind == "dict":
                for key, cell in list(obj.fields.items()):
                    if isinstance(key, str):
                        kwargs[key] = join(kwargs.get(key, BOTTOM), self.cells.read(frame, cell))
                if not self.cells.is_exact(frame, obj):
                    kwargs["**"] = join(kwargs.get("**", BOTTOM), self.cells.read(frame, obj.rest_cell()))
            elif isinstance(obj, Inst) and self.attributes.find_method(frame, obj, "keys"):
                ask(self.engine, frame, obj.value, ("keys",), pos)
                item = ask(self.engine, frame, obj.value, ("__getitem__",), pos, STR_V)
                kwargs["**"] = join(kwargs.get("**", BOTTOM), item or unknown("an unpacked mapping").value)
            elif not isinstance(obj, Lit):
                kwargs["**"] = join(kwargs.get("**", BOTTOM), unknown("an unpacked mapping").value)

    def unpackable(self, frame: Frame, obj: Obj, pos: int) -> list[Value] | None:
        """The items of an object by position, if their number is known."""
        return self._spread_one(frame, obj)


def _is_definition(value: Value) -> bool:
    return bool(value) and all(isinstance(o, (Func, Class)) for o in value)
