"""Words of Python that several rooms ask for: special methods, kinds of values, operators, methods of containers."""

from __future__ import annotations

from typing import Final

#: Methods that give a new object its first fields: no side effect of theirs.
CONSTRUCTORS: Final = frozenset({"__init__", "__post_init__", "__new__", "__setstate__"})
#: The same, and what frameworks call once for each object before they use it.
BUILDERS: Final = CONSTRUCTORS | {"build"}
#: All that runs while a class or an object is made.
SETTING_UP: Final = BUILDERS | {"__init_subclass__"}

#: Kinds of real numbers, and the classes that make them.
NUMBERS: Final = frozenset({"int", "float", "bool"})
NUMBER_CLASSES: Final = frozenset(f"builtins.{kind}" for kind in NUMBERS)
#: What can be iterated over only once: doing so changes it for whoever else holds it.
ONE_SHOT: Final = frozenset({"generator", "iterator", "zip", "map", "filter", "enumerate", "reversed"})
#: Built-in functions that go through what they are given only when their result is gone through.
LAZY: Final = frozenset(f"builtins.{name}" for name in ("map", "filter", "zip", "enumerate"))
#: Generic types of a hint that say nothing about the type of the value.
OF_CLASSES: Final = frozenset({"Callable", "Type", "type"})

#: Decorators that make a method an attribute.
PROPERTIES: Final = frozenset({"property", "cached_property", "abstractproperty"})
#: Decorators of methods: what they make is looked up on the class.
METHOD_DECORATORS: Final = PROPERTIES | {"staticmethod", "classmethod"}
#: Functions that may read or run any name.
REFLECTIVE: Final = frozenset({"exec", "eval", "globals", "locals", "vars"})

COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
#: Operators that work element by element.
ELEMENTWISE: Final = frozenset({"+", "-", "*", "/", "//", "%", "**"})

#: Built-in containers that can change.
MUTABLE: Final = ("list", "dict", "set")
#: Methods of lists that add to them, and those of dictionaries that give views.
APPENDS: Final = frozenset({"append", "extend", "insert"})
VIEWS: Final = frozenset({"items", "keys", "values"})
