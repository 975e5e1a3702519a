"""Finding the model of a library name.

Names are canonical (see `hybridize.library.index`): roots `tf.`, `keras.`, `np.` whatever the import. The tables of a
root are gathered when its first name is asked for, so that libraries that a project does not use cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from hybridize.domain.objects import Class, Inst, LibInst, Obj
from hybridize.domain.session import imported
from hybridize.library.index import canonical, known_package, lookup
from hybridize.library.python.packages import MODULES
from hybridize.library.spec import ClassSpec, Rule, Spec

#: What builds on models, and is asked for those of whole families of names.
_ALIASES: Final = "hybridize.library.tensorflow.aliases"
_FAMILIES: Final = "hybridize.library.python.families"
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "tf": (
        "hybridize.library.tensorflow.core",
        "hybridize.library.tensorflow.math",
        "hybridize.library.tensorflow.data",
        "hybridize.library.tensorflow.data_sources",
        "hybridize.library.tensorflow.control",
        "hybridize.library.tensorflow.objects",
        "hybridize.library.tensorflow.lookup",
        "hybridize.library.tensorflow.queues",
        "hybridize.library.tensorflow.outside",
        "hybridize.library.tensorflow.members",
    ),
    "tensor": ("hybridize.library.tensorflow.values", "hybridize.library.numpy_models"),
    "keras": (
        "hybridize.library.keras.core",
        "hybridize.library.keras.named",
        "hybridize.library.keras.training",
        "hybridize.library.keras.optimizers",
        "hybridize.library.keras.datasets",
        "hybridize.library.keras.callbacks",
        "hybridize.library.keras.layers",
        "hybridize.library.keras.saving",
        "hybridize.library.tensorflow.members",
    ),
    "np": ("hybridize.library.numpy_models",),
    "builtins": ("hybridize.library.python.functions", "hybridize.library.python.containers"),
    "wrapper": (
        "hybridize.library.tensorflow.core",
        "hybridize.library.tensorflow.control",
        "hybridize.library.python.functions",
        "hybridize.library.python.containers",
    ),
}


@cache
def normalize(name: str) -> str:
    """The canonical spelling of a dotted name."""
    return canonical(name) if known_package(name) else name


def root_of(name: str) -> str:
    """The first part of a dotted name."""
    return name.partition(".")[0]


@cache
def _table(root: str, attribute: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for module in _TABLES.get(root) or MODULES.get(root, ()):
        loaded = imported(module)
        for name, spec in getattr(loaded, attribute, {}).items():
            key = normalize(name)
            old = table.get(key)
            table[key] = merged(old, spec) if isinstance(old, ClassSpec) else spec
    return table


def load() -> None:
    """Gathers the models of TensorFlow, Keras, NumPy and the built-ins: all that hold objects, before any are named."""
    for root in _TABLES:
        for attribute in ("FUNCTIONS", "CLASSES"):
            _table(root, attribute)


def mro_names(obj: Obj) -> tuple[str, ...]:
    """The names of the library classes that an object's class derives from, bases of bases included."""
    if isinstance(obj, LibInst):
        return class_chain(obj.cls)
    cls = obj.cls if isinstance(obj, Inst) else obj
    if not isinstance(cls, Class):
        return ()
    if cls.names is None:
        cls.names = tuple(dict.fromkeys([base for name in cls.library for base in class_chain(name)]))
    return cls.names


def merged(first: ClassSpec, second: ClassSpec) -> ClassSpec:
    """Two parts of the model of one class as one."""
    return ClassSpec(
        bases=first.bases + tuple(b for b in second.bases if b not in first.bases),
        methods={**first.methods, **second.methods},
        properties={**first.properties, **second.properties},
        make=second.make or first.make,
        call=second.call or first.call,
        parameters=second.parameters or first.parameters,
        effects=first.effects + second.effects,
        assigned=first.assigned | second.assigned,
    )


@cache
def function_spec(name: str) -> Spec | None:
    """The model of a library function: its own, or that of the family of names it belongs to."""
    found: Spec | None = _table(root_of(name), "FUNCTIONS").get(name)
    if found is None and name.startswith(("tf.compat.v1.", "tf.raw_ops.")):
        return cast("Spec | None", imported(_ALIASES).alias_spec(name))
    if found is not None or root_of(name) in _TABLES or _owner_is_class(name):
        return found
    return cast("Spec | None", imported(_FAMILIES).family_function(name))


@cache
def class_spec(name: str) -> ClassSpec | None:
    """The model of a library class: its own, or that of the family of names it belongs to."""
    found: ClassSpec | None = _table(root_of(name), "CLASSES").get(name)
    if found is not None or root_of(name) in _TABLES or name in _table(root_of(name), "FUNCTIONS"):
        return found
    return cast("ClassSpec | None", imported(_FAMILIES).family_class(name))


def _owner_is_class(name: str) -> bool:
    """Whether a name is that of an attribute of a class, or of a class: no family of functions has it."""
    owner = name.rpartition(".")[0]
    return any(n in _table(root_of(name), "CLASSES") for n in (name, owner)) or owner.rpartition(".")[2][:1].isupper()


def is_listed(name: str) -> bool:
    """Whether a table names a function or class itself."""
    return name in _table(root_of(name), "FUNCTIONS") or name in _table(root_of(name), "CLASSES")


@cache
def class_chain(name: str) -> tuple[str, ...]:
    """A library class and its bases, nearest first: by its model, and by the index."""
    chain: dict[str, None] = {}
    todo = [name]
    while todo:
        current = todo.pop(0)
        if current in chain:
            continue
        chain[current] = None
        spec = class_spec(current)
        bases = [normalize(base) for base in spec.bases] if spec else []
        if known_package(current):
            entry = lookup(current)
            if entry is not None:
                bases += entry.mro
        todo = bases + todo
    return tuple(chain)


@cache
def _specs(cls: str) -> tuple[ClassSpec, ...]:
    """The models of a library class and its bases, nearest first."""
    return tuple(spec for name in class_chain(cls) if (spec := class_spec(name)) is not None)


@cache
def method_spec(cls: str, method: str) -> tuple[str, Spec] | None:
    """The model of a method of a library class, with the class that defines it."""
    for name in class_chain(cls):
        spec = class_spec(name)
        if spec is not None and method in spec.methods:
            return name, spec.methods[method]
    return None


@cache
def property_rule(cls: str, name: str) -> Rule | None:
    """The rule of a property of a library class, or None."""
    return next((spec.properties[name] for spec in _specs(cls) if name in spec.properties), None)


@cache
def is_assigned(cls: str, name: str) -> bool:
    """Whether setting a property of a library object assigns to one of its variables."""
    return any(name in spec.assigned for spec in _specs(cls))


def is_fixed(cls: str, name: str) -> bool:
    """Whether a property tells what a library object was made as."""
    return any(name in spec.fixed for spec in _specs(cls))


@cache
def call_spec(cls: str) -> Spec | None:
    """What calling an instance of a library class does."""
    return next((spec.call for spec in _specs(cls) if spec.call is not None), None)


@cache
def make_rule(name: str) -> Rule | None:
    """What constructing a library class gives, by the nearest model that says so; None for a plain instance."""
    return next((spec.make for spec in _specs(name) if spec.make is not None), None)


@cache
def is_class(name: str) -> bool:
    """Whether a library name denotes a class, as far as models, the index and naming tell."""
    if class_spec(name) is not None:
        return True
    if function_spec(name) is not None:
        return False
    if known_package(name):
        entry = lookup(name)
        if entry is not None:
            return entry.kind == "class"
    last = name.rpartition(".")[2]
    return last[:1].isupper() and not last.isupper()


@cache
def parameter_names(name: str) -> tuple[str, ...]:
    """The names of the positional parameters of a library callable, as far as the model or the index knows them."""
    spec = class_spec(name) or function_spec(name)
    if spec is not None and spec.parameters:
        return spec.parameters
    if known_package(name):
        entry = lookup(name)
        if entry is not None and entry.parameters is not None:
            return tuple(p.name for p in entry.parameters if p.kind in ("positional", "positional_only"))
    return ()
