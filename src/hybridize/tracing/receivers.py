"""The classes whose objects a method may be called on, whoever makes them: seen ones, its own, all that inherit it.

What flow has seen are examples. A base class is decorated for all its subclasses, those in tests included, and one that
nobody makes objects of in this program may be made elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Inst
from hybridize.domain.words import OF_CLASSES, PROPERTIES
from hybridize.facts.model import FunctionKind
from hybridize.flow.hints import HintReader
from hybridize.program.code import Code
from hybridize.program.index import index_of
from hybridize.source.syntax import walk
from hybridize.tracing.views import FunctionView

_ACCESSORS: Final = PROPERTIES | {"setter", "getter"}


def is_property(code: Code) -> bool:
    """Whether a method is run by an attribute: what is decorated inside gets the object as an argument, and calls of
    the object itself may stand at the same place."""
    return not _ACCESSORS.isdisjoint(decorator_names(code))


def decorator_names(code: Code) -> Iterator[str]:
    """The names of a function's decorators, without their modules."""
    for decorator in code.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, (ast.Attribute, ast.Name)):
            yield target.attr if isinstance(target, ast.Attribute) else target.id


def receives(function: FunctionView) -> bool:
    """Whether a function has a receiver that `tf.function` refers to weakly."""
    return function.facts.kind is FunctionKind.METHOD and not is_property(function.code)


def receiver_classes(function: FunctionView) -> tuple[Class, ...]:
    """The classes whose objects may be the first parameter of a method, the nearest first; none for other functions."""
    parent = function.code.parent
    if function.facts.kind is not FunctionKind.METHOD or parent is None:
        return ()
    found: dict[Class, None] = {}
    for frame in function.frames:
        found.update((o.cls, None) for o in (frame.args[0] if frame.args else ()) if isinstance(o, Inst))
    for cls in function.project.solution.world.classes.get(parent, ()):
        found[cls] = None
        found.update((each, None) for each in cls.subclasses if _inherits(each, cls, function.code.name))
    return tuple(sorted(found, key=lambda c: (c.code is not parent, c.code.path, c.code.position)))


def _inherits(cls: Class, base: Class, name: str) -> bool:
    """Whether the objects of a class come to a method of a base: it has no other, or its own calls that of the base."""
    for each in cls.line:
        if each is base:
            return True
        cell = each.fields.get(name)
        if cell is not None and cell.value and not any(_calls_base(o, base) for o in cell.value):
            return False
    return False


def _calls_base(method: object, base: Class) -> bool:
    """Whether the text of a method asks for that of a base (`super()`, or the base by its name)."""
    code = getattr(method, "code", None)
    names = index_of(code).names if code is not None else frozenset()
    return "super" in names or base.name in names


def argument_classes(function: FunctionView, index: int) -> tuple[Class, ...]:
    """The classes of the project that the hint of a parameter names, with all that derive from them."""
    annotation, func = function.code.params[index].annotation, function.func
    if annotation is None or func is None:
        return ()
    reader = function.project.shared("hints of arguments", lambda: HintReader(function.project.solution.engine))
    found: dict[Class, None] = {}
    for node in _parts(annotation):
        for obj in reader.resolve(node, func):
            if isinstance(obj, Class):
                found.update((each, None) for each in (obj, *obj.subclasses))
    return tuple(found)


def _parts(annotation: ast.expr) -> list[ast.expr]:
    """The names in a hint, without those that stand for classes and functions themselves."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return []
    nodes: list[ast.expr] = [node for node in walk(annotation) if isinstance(node, (ast.Name, ast.Attribute))]
    if any(getattr(node, "id", getattr(node, "attr", "")) in OF_CLASSES for node in nodes):
        return []
    return nodes
