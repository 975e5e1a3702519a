"""Modules of the project: running them, names in them, and what imports bind."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, EVERY, STR_V, Lit, Mod, Value, lib, literal, unknown
from hybridize.domain.unknowns import Why
from hybridize.flow.cells import Cells
from hybridize.flow.frames import Frame
from hybridize.flow.functions import FunctionCalls
from hybridize.flow.heap import HeapAccess
from hybridize.flow.parts import Parts
from hybridize.library.builtin_names import BUILTINS
from hybridize.library.defaults import library_attribute, library_module

_BUILTINS: Final = {name: lib(f"builtins.{name}").value for name in BUILTINS}


class Imports:
    """What modules give."""

    def __init__(self, engine: Parts, cells: Cells, heap: HeapAccess, functions: FunctionCalls) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells
        self.heap = heap
        self.functions = functions

    def module_attr(self, frame: Frame, obj: Mod, name: str) -> Value:
        """A name of a project module: its variable, a submodule, or what a wildcard import brings."""
        cell = obj.fields.get(name)
        if cell is None and name in obj.code.bound:
            cell = obj.cell(name)
        if cell is not None:
            value = self.cells.read(frame, cell)
            if value:
                return value
        else:
            self.cells.read(frame, obj.absent(name))
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
        getter = self.cells.read(frame, obj.fields.get("__getattr__") or obj.absent("__getattr__"))
        if getter and not name.startswith("__"):
            return self.engine.calls.call_value(frame, 0, getter, [literal(name).value], {}, How.ATTRIBUTE)
        if cell is not None:
            frame.stuck = True
            return unknown(f"`{name}` of module {obj.name}, never set").value if frame.lenient else BOTTOM
        return BOTTOM

    def global_value(self, frame: Frame, name: str) -> Value:
        """A name that has no value in the module yet: a builtin, or what a wildcard import brings."""
        module = frame.module
        if name in module.code.bound:
            module.cell(name).readers[frame.step] = frame.step.runs
            if name in _BUILTINS:
                return _BUILTINS[name]
            found = self._wildcard(module, name)
            if found:
                return found
            frame.stuck = True
            return unknown(f"`{name}`, not bound yet").value if frame.lenient else BOTTOM
        module.absent(name).readers[frame.step] = frame.step.runs
        if name in _BUILTINS:
            return _BUILTINS[name]
        if name == "__name__":
            return STR_V
        if name in ("__file__", "__doc__", "__package__"):
            return STR_V
        found = self._wildcard(module, name)
        if found:
            return found
        return unknown(f"the name `{name}`, which nothing defines", Why.UNDEFINED).value

    def _wildcard(self, module: Mod, name: str) -> Value:
        for library in self.world.wildcards.get(module, ()):
            found = library_attribute(library, name, only_known=True)
            if found:
                return found
        return BOTTOM

    def import_module(self, frame: Frame, module: Mod) -> None:
        """Runs the body of a module unless it has run or is running."""
        found = self.world.module_frames.get(module)
        if found is None:
            found = self.functions.make_frame(module.code, module, None, module)
            found.uses = 1
            self.world.module_frames[module] = found
            if self.cells.depth < 120:
                self.engine.run(found)
            else:
                self.cells.enqueue(found)

    def import_named(self, frame: Frame, name: str) -> Value:
        """`importlib.import_module(name)`, relative to the module of the call where the name begins with dots."""
        rest = name.lstrip(".")
        level = len(name) - len(rest)
        if not level:
            return self.import_name(frame, name, False)
        target = self.world.resolve(frame.module.name, rest, level)
        module = self.world.modules.get(target) if target is not None else None
        if module is None:
            return unknown(f"module `{name}`, which is not in the project").value
        self.import_module(frame, module)
        return module.value

    def import_name(self, frame: Frame, name: str, top: bool) -> Value:
        """`import a.b.c`: binds `a`, or `c` itself under an alias."""
        target = self.world.resolve(frame.module.name, name, 0)
        if target is None:
            return library_module(name.partition(".")[0] if top else name)
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            part = self.world.resolve(frame.module.name, ".".join(parts[:i]), 0)
            if part is not None and part in self.world.modules:
                self.import_module(frame, self.world.modules[part])
        chosen = self.world.resolve(frame.module.name, parts[0], 0) if top else target
        module = self.world.modules.get(chosen) if chosen else None
        return module.value if module is not None else library_module(parts[0] if top else name)

    def import_from(self, frame: Frame, module: str, level: int, name: str) -> Value:
        """`from m import name`."""
        target = self.world.resolve(frame.module.name, module, level)
        source = self.world.modules.get(target) if target is not None else None
        if source is None:
            if level:
                return unknown(f"module `{'.' * level}{module}`, which is not in the project").value
            return library_attribute(module, name)
        self.import_module(frame, source)
        value = self.module_attr(frame, source, name)
        if value:
            return value
        inner = self.world.resolve(frame.module.name, f"{module}.{name}" if module else name, level)
        if inner is not None and inner in self.world.modules:
            self.import_module(frame, self.world.modules[inner])
            return self.world.modules[inner].value
        if name in source.code.bound:
            frame.stuck = True
            return unknown(f"`{name}` of {source.name}, never set").value if frame.lenient else BOTTOM
        return unknown(f"`{name}`, which {source.name} does not define").value

    def import_star(self, frame: Frame, module: str, level: int, pos: int) -> None:
        """`from m import *`."""
        target = self.world.resolve(frame.module.name, module, level)
        source = self.world.modules.get(target) if target is not None else None
        mine = frame.module
        if source is None:
            self._note_wildcard(mine, module)
            return
        self.import_module(frame, source)
        self.cells.read(frame, source.absent(EVERY))
        step, place, fields = frame.step, (frame.code, pos), source.fields
        for name in self._exported(frame, source):
            cell, mirror = fields.get(name), mine.cell(name)
            if cell is None or not cell.value:
                self.cells.write(frame, mirror, self.module_attr(frame, source, name), pos)
                continue
            cell.readers[step] = step.runs
            if mirror.value is cell.value:  # as it mostly is: modules run often until all that they import is there
                mirror.writes[place] = None
            else:
                self.cells.write(frame, mirror, cell.value, pos)
        for library in self.world.wildcards.get(source, ()):
            self._note_wildcard(mine, library)

    def _note_wildcard(self, module: Mod, library: str) -> None:
        """Remembers that a module has all names of a library: whoever looked for one in vain looks again."""
        libraries = self.world.wildcards.setdefault(module, [])
        if library not in libraries:
            libraries.append(library)
            self.cells.wake(module.absent(EVERY).readers)
            for cell in (*module.fields.values(), *module.awaited.values()):
                if not cell.value:
                    self.cells.wake(cell.readers)

    def _exported(self, frame: Frame, source: Mod) -> list[str]:
        listed = source.fields.get("__all__")
        if listed is not None and listed.value:
            names = [
                obj.const
                for container in self.cells.read(frame, listed)
                for obj in self.heap.elements(frame, container.value, 0)
                if isinstance(obj, Lit) and isinstance(obj.const, str)
            ]
            if names:
                return sorted(names)
        return sorted({n for n in (*source.code.bound, *source.fields) if not n.startswith("_")})
