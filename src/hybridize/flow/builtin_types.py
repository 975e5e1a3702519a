"""Which attributes values of the built-in types have."""

from __future__ import annotations

from typing import Final

from hybridize.domain.unknowns import Why

#: What NumPy's own truth values have besides: the models do not keep them apart from Python's.
_OF_SCALARS: Final = frozenset(
    "T all any argmax argmin argsort astype base byteswap choose clip compress copy cumprod cumsum data diagonal dtype "
    "dump dumps fill flags flat flatten item itemset itemsize max mean min nbytes ndim newbyteorder nonzero numpy prod "
    "ptp put ravel repeat reshape resize round searchsorted setfield setflags shape size sort squeeze std strides sum "
    "swapaxes take tobytes tofile tolist tostring trace transpose var view".split()
)
#: Built-in types that values of these kinds are surely of, with all their attributes.
COMPLETE: Final = {
    "builtins.list": frozenset(dir(list)),
    "builtins.str": frozenset(dir(str)),
    "builtins.bool": frozenset(dir(bool)) | _OF_SCALARS,
}
#: Those that a value of such a kind may not quite be of: what reads another attribute than these most likely raises.
_USUAL: Final = {
    **{f"builtins.{kind.__name__}": frozenset(dir(kind)) for kind in (tuple, dict, set, frozenset, bytes)},
    **{f"builtins.{kind.__name__}": frozenset(dir(kind)) | _OF_SCALARS for kind in (int, float, complex)},
    "builtins.ellipsis": frozenset(dir(...)),
}


def why_lacking(cls: str, name: str) -> Why:
    """Why an attribute of a built-in value is not known: its type has none of that name, or the models do not say."""
    known = _USUAL.get(cls)
    return Why.LACKING if known is not None and name not in known else Why.OTHER
