"""The raw index of one environment: canonical names, aliases, records and implementation paths.

Canonical name of an object with several public names, in this order:

1. what the package itself declares first (`_tf_api_names`, `_tf_api_names_v1`, `_keras_api_names`,
   `_api_export_path`), if that name exists. It is the name under which the package documents the object:
   `tf.math.add` rather than `tf.add`, `keras.Model` rather than `keras.models.Model`. TensorFlow dtypes go by their own
   name (`tf.float32`).
2. otherwise the lowest of: names outside `tf.compat.v1`, without `experimental` or `legacy`, whose last part is the
   object's own name, with the fewest parts, first in the alphabet.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from index_describe import Describer, Record
from index_walk import Walk, walk_keras, walk_numpy, walk_tensorflow

_V1 = "tf.compat.v1."


def collect() -> dict[str, Any]:
    """Everything the index needs to know about the packages of this interpreter."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow, numpy = walk_tensorflow(), walk_numpy()
    keras, keras_v1 = walk_keras()
    for name, value in keras_v1.objects.items():
        keras.objects.setdefault(name, value)  # a name that both versions have means the one of version 2
    walks = {"tensorflow": tensorflow, "keras": keras, "numpy": numpy}
    canonical = {table: canonical_names(found) for table, found in walks.items()}
    names: dict[int, str] = {}
    for table in ("numpy", "keras", "tensorflow"):  # TensorFlow shows some classes of NumPy as its own
        for name, value in walks[table].objects.items():
            if _has_identity(value):
                names.setdefault(id(value), canonical[table][name])
    for name, value in keras_v1.objects.items():
        if _has_identity(value):  # defaults and bases may be the version 1 twin of a class
            names.setdefault(id(value), canonical["keras"].get(name, name))
    describer = Describer(names, _eager_classes())
    tables = {table: _table(found, canonical[table], describer) for table, found in walks.items()}
    tables["tensorflow"]["private"] = implementation_paths("tensorflow.python.", names, loose=True)
    tables["keras"]["private"] = implementation_paths("keras.src.", names, loose=False)
    return {"packages": package_versions(), "tables": tables}


def package_versions() -> dict[str, str]:
    """The versions of the covered packages in this interpreter."""
    return {name: str(importlib.import_module(name).__version__) for name in ("tensorflow", "keras", "numpy")}


def canonical_names(found: Walk) -> dict[str, str]:
    """The canonical name of every name of an object; modules are their own."""
    groups: dict[int, list[str]] = defaultdict(list)
    canonical: dict[str, str] = {}
    for name, value in found.objects.items():
        if _has_identity(value):
            groups[id(value)].append(name)
        else:
            canonical[name] = name
    for names in groups.values():
        chosen = _choose(names, found.objects[names[0]])
        canonical.update(dict.fromkeys(names, chosen))
    return canonical


def _has_identity(value: Any) -> bool:
    """Whether two names of this object are two names of one symbol; plain values may be equal by accident."""
    if inspect.isclass(value) or callable(value):
        return True
    return type(value).__name__ == "DType"


def _choose(names: list[str], value: Any) -> str:
    if type(value).__name__ == "DType" and f"tf.{value.name}" in names:
        return f"tf.{value.name}"
    for declared in _declared(value):
        if declared in names:
            return declared
    own = str(getattr(value, "__name__", ""))

    def rank(name: str) -> tuple[bool, bool, bool, int, str]:
        parts = name.split(".")
        return (
            name.startswith(_V1),
            bool({"experimental", "legacy"} & set(parts)),
            parts[-1] != own,
            len(parts),
            name,
        )

    return min(names, key=rank)


def _declared(value: Any) -> Iterable[str]:
    """The names that the package declares for an object, canonical ones first."""
    seen = 0
    while value is not None and seen < 10:
        own = vars(value) if hasattr(value, "__dict__") else {}
        for name in own.get("_tf_api_names", ()) or ():
            yield f"tf.{name}"
        for name in own.get("_tf_api_names_v1", ()) or ():
            yield f"{_V1}{name}"
        for name in own.get("_keras_api_names", ()) or ():
            yield name
        exported = own.get("_api_export_path", ())
        yield from [exported] if isinstance(exported, str) else exported
        decorated = own.get("_tf_decorator")
        value = own.get("__wrapped__") or getattr(decorated, "_decorated_target", None)
        seen += 1


def _eager_classes() -> dict[int, type]:
    """For a public class whose values are made by a hidden subclass at run time, that subclass."""
    tf = importlib.import_module("tensorflow")
    return {id(tf.Tensor): type(tf.constant(0)), id(tf.Variable): type(tf.Variable(0))}


def _table(found: Walk, canonical: Mapping[str, str], describer: Describer) -> dict[str, Any]:
    records: dict[str, Record] = {name: {"k": "module"} for name in found.modules}
    for name, value in found.objects.items():
        if canonical[name] == name:
            records[name] = describer.describe(value)
    aliases = {name: target for name, target in canonical.items() if name != target}
    return {"records": records, "aliases": aliases}


def implementation_paths(prefix: str, names: Mapping[int, str], *, loose: bool) -> dict[str, str]:
    """Where public objects can be had from inside the package; `loose` also counts modules that only import them."""
    paths: dict[str, str] = {}
    root, cut = ("tf", len("tensorflow")) if prefix.startswith("tensorflow") else ("", 0)
    for module_name, module in sorted(sys.modules.items()):
        if not module_name.startswith(prefix) or not isinstance(module, ModuleType) or "_pb2" in module_name:
            continue
        for attribute, value in sorted(vars(module).items()):
            target = names.get(id(value)) if _has_identity(value) else None
            if attribute.startswith("_") or target is None or target.startswith(("np.", "tf.raw_ops.")):
                continue
            if loose or getattr(value, "__module__", None) == module_name:
                paths[f"{root}{module_name[cut:]}.{attribute}"] = target
    return paths
