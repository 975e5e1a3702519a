"""Calls of library code: the models of functions, methods and instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Bound, Class, Inst, LibInst, Obj, Value, unknown, unknown_result
from hybridize.flow.cells import Cells, registry_class
from hybridize.flow.frames import ExhaustedError, Frame
from hybridize.flow.parts import Parts
from hybridize.library import registry
from hybridize.library.arguments import CANNOT_TELL, Impossible
from hybridize.library.defaults import default_call, unknown_method
from hybridize.library.protocols import answer
from hybridize.library.spec import Call, Rule

#: So many library calls may be open within each other (a layer that wraps itself would nest without end).
MAX_RULES: Final = 150
#: The libraries whose models an evaluation may take away (`World.without`).
_ABLATED: Final = frozenset({"tf", "keras", "np"})


class LibraryCalls:
    """What calling library code gives, by its models."""

    def __init__(self, engine: Parts, cells: Cells) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells

    def apply_rule(self, rule: Rule, call: Call) -> Value:
        """Applies a model.

        What it cannot tell is unknown. A mistake costs its value, not the analysis; `world.note_failure` keeps it.
        """
        if self.cells.rules_open >= MAX_RULES:
            return unknown("the result of library calls that nest without end").value
        self.cells.rules_open += 1
        try:
            return rule(call)
        except ExhaustedError:
            raise
        except Impossible:
            call.refuse()
            return unknown_result(call.name).value
        except CANNOT_TELL:
            return unknown_result(call.name).value
        except Exception as error:
            self.world.note_failure(f"{call.name}: {type(error).__name__}: {error}")
            call.frame.effect("foreign_call", None, call.name, call.pos)
            return unknown_result(call.name).value
        finally:
            self.cells.rules_open -= 1

    def call_library(
        self,
        frame: Frame,
        pos: int,
        name: str,
        args: list[Value],
        kwargs: Mapping[str, Value],
        rest: Value = BOTTOM,
    ) -> Value:
        """Calls a function or class of a library."""
        spec = registry.function_spec(name)
        if self.world.without and registry.root_of(name) in _ABLATED:
            if "index" in self.world.without and spec is None and not registry.is_listed(name):
                frame.effect("foreign_call", None, name, pos)
                return unknown_result(name).value
            if "models" in self.world.without:
                spec = None
        answer(self.engine, frame, name, args, pos)
        call = Call(self.engine, frame, pos, name, args, kwargs, None, rest)
        if spec is not None:
            for effect in spec.effects:
                frame.effect(effect, None, name, pos)
            if spec.op:
                frame.computes(pos, name)
            return self.apply_rule(spec.rule or default_call, call)
        made = registry.class_spec(name)
        if made is not None:
            for effect in made.effects:
                frame.effect(effect, None, name, pos)
            return self.apply_rule(default_call, call)
        head, _, method = name.rpartition(".")
        if args and registry.method_spec(head, method) is not None:
            return self._unbound_method(frame, pos, head, method, args, kwargs, rest)
        return self.apply_rule(default_call, call)

    def _unbound_method(
        self, frame: Frame, pos: int, cls: str, method: str, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> Value:
        """`Class.method(receiver, ...)` of a library class."""
        result = BOTTOM
        for receiver in args[0]:
            made = Bound(f"{cls}:{method}", receiver)
            result = join(result, self.call_method(frame, pos, made, args[1:], kwargs, rest))
        return result

    def call_method(
        self, frame: Frame, pos: int, method: Bound, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> Value:
        assert isinstance(method.func, str)
        receiver = method.receiver
        cls, _, name = method.func.rpartition(":")
        classes = (cls,) if cls else self._library_classes(receiver)
        for candidate in classes:
            found = registry.method_spec(candidate, name)
            if found is not None:
                owner, spec = found
                call = Call(self.engine, frame, pos, f"{owner}.{name}", args, kwargs, receiver, rest)
                for effect in spec.effects:
                    frame.effect(effect, receiver if effect == "mutate" else None, f"{owner}.{name}", pos)
                if spec.op:
                    frame.computes(pos, call.name)
                return self.apply_rule(spec.rule or default_call, call)
        full = f"{classes[0] if classes else 'object'}.{name}"
        return unknown_method(Call(self.engine, frame, pos, full, args, kwargs, receiver, rest))

    def _library_classes(self, receiver: Obj) -> tuple[str, ...]:
        if isinstance(receiver, Inst):
            return receiver.cls.library
        return receiver.library if isinstance(receiver, Class) else (registry_class(receiver),)

    def call_instance(
        self, frame: Frame, pos: int, obj: LibInst, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> Value:
        spec = registry.call_spec(obj.cls)
        call = Call(self.engine, frame, pos, f"{obj.cls}.__call__", args, kwargs, obj, rest)
        if spec is not None and spec.rule is not None:
            if spec.op:
                frame.computes(pos, obj.cls)
            return self.apply_rule(spec.rule, call)
        return unknown_method(call)
