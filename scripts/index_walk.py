"""The public names of the installed TensorFlow, Keras and NumPy, found by walking their API modules.

Only `build_index.py` uses this; it imports the packages, so it must never be imported by hybridize itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

# Attributes of API modules that are left over from imports and belong to no API.
_STRAY = {"sys", "os", "src", "absolute_import", "division", "print_function", "annotations"}
_LEGACY_LAYERS = "keras.api._v1.keras.__internal__.legacy"  # tf.compat.v1.layers and tf.compat.v1.nn.rnn_cell
# Keras under another name: reached through the table of Keras, never through TensorFlow's.
KERAS_MODULES = ("keras", "initializers", "losses", "metrics", "optimizers")
# NumPy's modules show each other's imports, so the public ones are named.
_NUMPY_MODULES = (
    "char ctypeslib dtypes emath exceptions fft lib lib.array_utils lib.format lib.introspect lib.mixins lib.npyio "
    "lib.scimath lib.stride_tricks linalg ma ma.extras polynomial polynomial.chebyshev polynomial.hermite "
    "polynomial.hermite_e polynomial.laguerre polynomial.legendre polynomial.polynomial polynomial.polyutils "
    "random rec strings testing typing"
).split()
_MAX_DEPTH = 7


@dataclass(slots=True)
class Walk:
    """What one walk found: modules and other objects by each public dotted name."""

    modules: dict[str, ModuleType] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public attributes of a module, lazily loaded ones included; what fails to load is left out."""
    for name in sorted(set(dir(module))):
        if (name.startswith("_") and name != "__version__") or name in _STRAY:
            continue
        try:
            yield name, getattr(module, name)
        except Exception:  # a lazy loader whose target is not installed: the name does not exist here
            continue


def walk(
    module: ModuleType, path: str, accept: Callable[[str, ModuleType], ModuleType | None], found: Walk, depth: int = 0
) -> None:
    """Add everything below `module`, known as `path`, to `found`; the first object found under a name stays."""
    found.modules.setdefault(path, module)
    for name, value in _public(module):
        child = f"{path}.{name}"
        if not isinstance(value, ModuleType):
            found.objects.setdefault(child, value)
            continue
        target = accept(child, value)
        if target is not None and depth < _MAX_DEPTH:
            walk(target, child, accept, found, depth + 1)


def _accept_tensorflow(path: str, module: ModuleType) -> ModuleType | None:
    """The API module to walk under a TensorFlow name, if it is one."""
    inner = path.removeprefix("tf.compat.v1") if path.startswith("tf.compat.v1") else path.removeprefix("tf")
    head = inner.split(".")[1] if "." in inner else ""
    if head == "keras" or (head in KERAS_MODULES and not path.startswith("tf.compat.v1")):
        return None
    if path.startswith("tf.compat.") and path.split(".")[2] in ("v1", "v2"):
        return None  # each is walked from its own root
    if path.startswith("tf.compat.v1.compat."):
        return None
    name = str(getattr(module, "__name__", ""))
    if name.startswith(("tensorflow._api.", "tensorboard.summary._tf", "tensorflow_estimator.python.estimator.api")):
        return module
    # Some other import may have put an implementation package in the place of the API module of that name.
    api = "tensorflow._api.v2." + path.removeprefix("tf.")
    try:
        return importlib.import_module(api)
    except ImportError:
        return None


def _accept_v1(path: str, module: ModuleType) -> ModuleType | None:
    """As `_accept_tensorflow`, for the names below `tf.compat.v1`."""
    head = path.removeprefix("tf.compat.v1.").split(".")[0]
    if head == "keras" or path.startswith(("tf.compat.v1.compat.v1", "tf.compat.v1.compat.v2")):
        return None
    name = str(getattr(module, "__name__", ""))
    public = ("tensorflow._api.v2.compat.v1", "tensorflow_estimator.python.estimator.api", _LEGACY_LAYERS)
    return module if name.startswith(public) else None


def _accept_keras(path: str, module: ModuleType) -> ModuleType | None:
    name = str(getattr(module, "__name__", ""))
    parts = path.split(".")
    if "src" in parts or "api" in parts or "protobuf" in parts or "_tf_keras" in parts:
        return None
    return module if name.startswith("keras.") and ".src" not in name else None


def walk_tensorflow() -> Walk:
    """All names of `tf` and, below `tf.compat.v1`, those of version 1; Keras is not among them."""
    tf = importlib.import_module("tensorflow")
    found = Walk()
    walk(tf, "tf", _accept_tensorflow, found)
    # Top-level attributes that are not exported are packages of the implementation (tf.python, tf.tools).
    exported = set(tf.__all__)
    for name in [n for n in found.objects if n.count(".") == 1 and n[3:] not in exported]:
        del found.objects[name]
    walk(importlib.import_module("tensorflow._api.v2.compat.v1"), "tf.compat.v1", _accept_v1, found)
    return found


def walk_keras() -> tuple[Walk, Walk]:
    """The names of Keras under the root `keras`, and those that only `tf.compat.v1.keras` has."""
    keras = importlib.import_module("keras")
    tf = importlib.import_module("tensorflow")
    found, legacy = Walk(), Walk()
    walk(keras, "keras", _accept_keras, found)
    walk(importlib.import_module(_loaded(tf.keras).__name__), "keras", _accept_keras, found)
    if keras.__version__.startswith("2."):
        walk(importlib.import_module("keras.api._v1.keras"), "keras", _accept_keras, legacy)
    return found, legacy


def _loaded(module: Any) -> ModuleType:
    """The module behind a lazy loader."""
    dir(module)
    name = str(getattr(module, "__name__", ""))
    return sys.modules[name] if name in sys.modules else importlib.import_module(name)


def walk_numpy() -> Walk:
    """All names of NumPy under the root `np`."""
    found = Walk()
    root = importlib.import_module("numpy")
    found.modules["np"] = root
    for name, value in _public(root):
        if not isinstance(value, ModuleType):
            found.objects[f"np.{name}"] = value
    for name in _NUMPY_MODULES:
        try:
            module = getattr(root, name, None) or importlib.import_module(f"numpy.{name}")
        except ImportError:  # not in this version
            continue
        found.modules[f"np.{name}"] = module
        exported = getattr(module, "__all__", None)
        for attribute, value in _public(module):
            if not isinstance(value, ModuleType) and (exported is None or attribute in exported):
                found.objects[f"np.{name}.{attribute}"] = value
    return found
