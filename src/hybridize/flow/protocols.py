"""What `with`, `except`, `isinstance` and patterns give."""

from __future__ import annotations

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE, Class, Inst, Lib, Lit, Prim, Stream, Tensor, Tup, Value, unknown
from hybridize.flow.attributes import Attributes
from hybridize.flow.cells import Cells
from hybridize.flow.frames import INSTANCES, Frame
from hybridize.flow.narrowing import narrowed
from hybridize.flow.parts import Parts
from hybridize.library.defaults import context_value
from hybridize.library.spec import Call


class Protocols:
    """The small protocols of statements."""

    def __init__(self, engine: Parts, cells: Cells, attributes: Attributes) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.attributes = attributes

    def caught(self, frame: Frame, kinds: Value | None) -> Value:
        """The value of `e` in `except kinds as e`."""
        result = BOTTOM
        for obj in kinds or BOTTOM:
            if isinstance(obj, Class):
                self.cells.read(frame, obj.absent(INSTANCES))
                for inst in self.world.instances.get(obj, ()):
                    result = join(result, inst.value)
            elif isinstance(obj, Lib):
                result = join(result, self.cells.library_instance(frame, 0, obj.name).value)
        return result or unknown("a caught exception").value

    def enter_context(self, frame: Frame, value: Value, pos: int) -> Value:
        """What `with value as x` binds."""
        result = BOTTOM
        for obj in value:
            if isinstance(obj, Inst):
                method = self.attributes.find_method(frame, obj, "__enter__") or self.attributes.find_method(
                    frame, obj, "__aenter__"
                )
                if method:
                    result = join(result, self.engine.calls.call_value(frame, pos, method, [], {}, How.CONTEXT))
                    continue
            if isinstance(obj, Stream) and obj.kind == "generator":
                result = join(result, obj.element)
                continue
            result = join(result, context_value(Call(self.engine, frame, pos, "__enter__", [], {}, obj)))
        return result

    def exit_context(self, frame: Frame, value: Value, pos: int) -> None:
        """Leaves a `with` block."""
        for obj in value:
            if isinstance(obj, Inst):
                method = self.attributes.find_method(frame, obj, "__exit__") or self.attributes.find_method(
                    frame, obj, "__aexit__"
                )
                if method:
                    nothing = NONE.value
                    self.engine.calls.call_value(frame, pos, method, [nothing, nothing, nothing], {}, How.CONTEXT)

    def narrow(self, frame: Frame, value: Value, kinds: Value, polarity: bool) -> Value:
        """The objects of a value that may (not) be instances of a type."""
        return narrowed(self.engine, frame, value, kinds, polarity)

    def match_position(self, frame: Frame, value: Value, index: int, pos: int) -> Value:
        """What a class pattern's positional part captures."""
        result = BOTTOM
        for obj in value:
            if isinstance(obj, Inst):
                names = self.world.dataclasses.get(obj.cls)
                if names is None:
                    listed = self.attributes.class_lookup(frame, obj.cls, "__match_args__")
                    for args in listed:
                        if isinstance(args, Tup) and index < len(args.items):
                            for name in args.items[index]:
                                if isinstance(name, Lit):
                                    result = join(result, self.attributes.get_attr(frame, obj, str(name.const), pos))
                elif index < len(names):
                    result = join(result, self.attributes.get_attr(frame, obj, names[index], pos))
            elif isinstance(obj, Tup) and index < len(obj.items):
                result = join(result, obj.items[index])
            elif isinstance(obj, (Lit, Prim, Tensor)):
                result = join(result, obj.value)
        return result or unknown("a captured part").value
