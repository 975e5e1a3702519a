"""`tf.experimental.numpy`: NumPy's functions, as operations on tensors."""

from __future__ import annotations

from typing import Final

from hybridize.library.numpy import functions
from hybridize.library.operands import Args, DtypeRule, op, value_rule
from hybridize.library.spec import Spec, parametrized

_PREFIX: Final = "tf.experimental.numpy."
#: Those whose result differs from NumPy's own, so that they have no exact rule yet.
_DIFFERENT: Final = frozenset("allclose array_equal isscalar shape size ndim iscomplexobj isrealobj".split())
#: Functions of NumPy that it does not have.
_ABSENT: Final = frozenset("trunc rint left_shift right_shift column_stack array_split".split())
#: Its sums of unsigned ints have other dtypes than NumPy's.
_SUMS: Final = frozenset("sum prod cumsum cumprod nansum nanprod trace".split())


@parametrized
def _no_unsigned(a: Args, rule: DtypeRule) -> str | None:
    found = rule(a)
    return None if found == "uint64" else found


def _table() -> dict[str, Spec]:
    made: dict[str, Spec] = {}
    for name, (dtype, shape) in functions.table().items():
        if name not in _ABSENT:
            made[_PREFIX + name] = op(_no_unsigned(dtype) if name in _SUMS else dtype, shape)
    for name, rule in functions.values().items():
        if name not in _ABSENT and name not in _DIFFERENT:
            made[_PREFIX + name] = Spec(value_rule(rule, "unknown"), op=True)
    return made


FUNCTIONS: Final[dict[str, Spec]] = _table()
