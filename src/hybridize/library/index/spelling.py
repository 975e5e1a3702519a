"""One spelling for the roots of names: `tf.`, `keras.` and `np.`, whichever way the packages are imported."""

from __future__ import annotations

from typing import Final

_TENSORFLOW: Final = frozenset({"tensorflow", "tensorflow_core", "tf"})
_KERAS: Final = frozenset({"keras", "tf_keras"})
_NUMPY: Final = frozenset({"numpy", "np"})
# Names of built-in types that NumPy 1.24 took away; `np.bool` and `np.long` came back as types of NumPy.
_NUMPY_BUILTINS: Final = {
    "int": "int",
    "float": "float",
    "complex": "complex",
    "object": "object",
    "str": "str",
    "unicode": "str",
}
# Parts of Keras that TensorFlow also shows at its own top level.
KERAS_MODULES: Final = frozenset({"keras", "initializers", "losses", "metrics", "optimizers"})


def known_root(name: str) -> str | None:
    """`tf`, `keras` or `np` for a dotted name below one of the covered packages, or None."""
    root = name.partition(".")[0]
    if root in _TENSORFLOW:
        return "tf"
    if root in _KERAS:
        return "keras"
    return "np" if root in _NUMPY else None


def normalized(name: str) -> str:
    """`name` with its root in the index's spelling; a name of another package comes back as it is.

    Names through `tf.compat.v2` and through TensorFlow's generated modules lose that detour. All roads to Keras end
    in `keras.`, those through `tf.compat.v1` too. What NumPy once had of the built-in types is `builtins.float`.
    """
    root, *rest = name.split(".")
    if root in _TENSORFLOW:
        return _tensorflow(rest)
    if root in _KERAS:
        return _keras(rest)
    if root not in _NUMPY:
        return name
    builtin = _NUMPY_BUILTINS.get(rest[0]) if rest else None
    return ".".join(["builtins", builtin, *rest[1:]] if builtin else ["np", *rest])


def _tensorflow(rest: list[str]) -> str:
    while True:
        head = rest[:2]
        if head in (["_api", "v2"], ["compat", "v2"]):
            rest = rest[2:]
        elif head == ["_api", "v1"]:
            rest = ["compat", "v1", *rest[2:]]
        elif head == ["compat", "v1"] and rest[2:4] in (["compat", "v1"], ["compat", "v2"]):
            rest = rest[2:]
        else:
            break
    if rest[:1] == ["keras"]:
        return _keras(rest[1:])
    if rest[:2] == ["python", "keras"]:
        return _keras(rest[2:])
    if rest[:3] == ["compat", "v1", "keras"]:
        return _keras(rest[3:])
    if rest and rest[0] in KERAS_MODULES:
        return _keras(rest)
    return ".".join(["tf", *rest])


def _keras(rest: list[str]) -> str:
    if rest[:1] == ["api"]:
        rest = rest[3:] if rest[1:2] in (["_v1"], ["_v2"]) else rest[1:]
    elif rest[:1] == ["_tf_keras"]:
        rest = rest[2:]
    if rest[:1] == ["optimizer_v2"]:  # TensorFlow's own copy of Keras
        rest = ["optimizers", *rest[1:]]
    return ".".join(["keras", *rest])
