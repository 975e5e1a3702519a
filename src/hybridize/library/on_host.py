"""Functions that compute on the host, by name: they read the values of what they are given."""

from __future__ import annotations

from typing import Final

#: Libraries whose functions do.
_ROOTS: Final = frozenset(
    "np math cmath statistics decimal fractions scipy sklearn skimage pandas cv2 PIL librosa matplotlib seaborn json "
    "pickle struct".split()
)
_NAMES: Final = frozenset(
    {"copy.deepcopy", "builtins.complex", "builtins.bin", "builtins.hex", "builtins.oct", "operator.index"}
)
#: What they tell from the type alone.
_STATIC: Final = frozenset(
    "np.shape np.ndim np.isscalar np.iterable np.dtype np.issubdtype np.result_type np.broadcast_shapes".split()
)
#: Functions that would take a symbolic tensor but not a number made from one.
HOST_NUMBERS: Final = frozenset(
    {f"builtins.{name}" for name in ("round", "chr", "divmod", "hash", "bytes", "bytearray")} | {"itertools.islice"}
)


def on_host(name: str) -> bool:
    """Whether a function computes on the host."""
    root = name.partition(".")[0]
    computes = root in _ROOTS and name not in _STATIC and not name.startswith("np.testing.TestCase.")
    return computes or name in _NAMES or name in HOST_NUMBERS or name.startswith("tensor.ndarray.")
