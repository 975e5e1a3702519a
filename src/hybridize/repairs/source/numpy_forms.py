"""Functions of NumPy, `math` and Python itself that TensorFlow has in another form: a table of templates for HY805."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from hybridize.records import dataclass

#: dtypes of NumPy as they are written.
_DTYPES: Final = frozenset("float16 float32 float64 int8 int16 int32 int64 uint8".split())


@dataclass(frozen=True, slots=True)
class Form:
    """How a call is written with TensorFlow.

    `params` are the names of the arguments in NumPy's order, all of which must be given; `text` is the new call, with
    each argument by its name and `{tf}`. Those that are not `constant` (literals) are tensors, of one `dtype` (float,
    number, bool or any) and of one of the `ranks` (empty: any), or numbers beside them. `listed`: the first is a list
    of tensors that stands there. `exact`: to the last bit. `python`: the result was a Python number, and not an array.
    """

    params: tuple[str, ...]
    text: str
    dtype: str = "number"
    ranks: frozenset[int] = frozenset()
    listed: bool = False
    constant: frozenset[str] = frozenset()
    exact: bool = True
    python: bool = False


def _form(params: str, text: str, dtype: str = "number", **more: object) -> Form:
    return Form(tuple(params.split()), text, dtype, **more)  # type: ignore[arg-type]  # the fields of Form


_VECTOR: Final = frozenset({1})
_MATRIX: Final = frozenset({2})
_SCALAR: Final = frozenset({0})

#: By canonical name; the first that fits is taken.
FORMS: Final[Mapping[str, tuple[Form, ...]]] = {
    "np.argmax": (_form("a", "{tf}.argmax({tf}.reshape({a}, [-1]))"),),
    "np.argmin": (_form("a", "{tf}.argmin({tf}.reshape({a}, [-1]))"),),
    "np.cumsum": (_form("a", "{tf}.cumsum({tf}.reshape({a}, [-1]))", "float", exact=False),),
    "np.argsort": (
        _form("a", "{tf}.cast({tf}.argsort({a}, stable=True), {tf}.int64)"),
        _form(
            "a axis", "{tf}.cast({tf}.argsort({a}, axis={axis}, stable=True), {tf}.int64)", constant=frozenset({"axis"})
        ),
    ),
    "np.array": (
        _form("object", "{tf}.identity({object})", "any"),
        _form("object dtype", "{tf}.cast({object}, {dtype})"),
    ),
    "np.asarray": (_form("a", "{tf}.identity({a})", "any"), _form("a dtype", "{tf}.cast({a}, {dtype})")),
    "np.copy": (_form("a", "{tf}.identity({a})", "any"),),
    **{
        f"np.{name}": (_form("x", f"{{tf}}.cast({{x}}, {{tf}}.{name})"),)
        for name in ("float32", "float64", "int32", "int64")
    },
    "np.vstack": (
        _form("tup", "{tf}.stack({tup})", "any", ranks=_VECTOR, listed=True),
        _form("tup", "{tf}.concat({tup}, 0)", "any", ranks=frozenset({2, 3, 4}), listed=True),
    ),
    "np.hstack": (
        _form("tup", "{tf}.concat({tup}, 0)", "any", ranks=_VECTOR, listed=True),
        _form("tup", "{tf}.concat({tup}, 1)", "any", ranks=frozenset({2, 3, 4}), listed=True),
    ),
    "np.tile": (_form("A reps", "{tf}.tile({A}, {reps})", "any", constant=frozenset({"reps"})),),
    "np.pad": (_form("array pad_width", "{tf}.pad({array}, {pad_width})", "any", constant=frozenset({"pad_width"})),),
    "np.roll": (
        _form("a shift axis", "{tf}.roll({a}, {shift}, axis={axis})", "any", constant=frozenset({"shift", "axis"})),
        _form("a shift", "{tf}.roll({a}, {shift}, axis=0)", "any", ranks=_VECTOR, constant=frozenset({"shift"})),
    ),
    "np.split": (
        _form(
            "ary indices_or_sections axis",
            "{tf}.split({ary}, {indices_or_sections}, axis={axis})",
            "any",
            constant=frozenset({"indices_or_sections", "axis"}),
        ),
        _form(
            "ary indices_or_sections",
            "{tf}.split({ary}, {indices_or_sections})",
            "any",
            constant=frozenset({"indices_or_sections"}),
        ),
    ),
    "np.flip": (
        _form("m axis", "{tf}.reverse({m}, [{axis}])", "any", constant=frozenset({"axis"})),
        _form("m", "{tf}.reverse({m}, [0])", "any", ranks=_VECTOR),
    ),
    "np.flipud": (_form("m", "{tf}.reverse({m}, [0])", "any"),),
    "np.fliplr": (_form("m", "{tf}.reverse({m}, [1])", "any"),),
    "np.einsum": (
        _form(
            "subscripts a b",
            "{tf}.einsum({subscripts}, {a}, {b})",
            "float",
            constant=frozenset({"subscripts"}),
            exact=False,
        ),
        _form(
            "subscripts a", "{tf}.einsum({subscripts}, {a})", "float", constant=frozenset({"subscripts"}), exact=False
        ),
    ),
    "np.outer": (_form("a b", "{tf}.tensordot({a}, {b}, 0)", "float", ranks=_VECTOR),),
    "np.inner": (_form("a b", "{tf}.tensordot({a}, {b}, 1)", "float", ranks=_VECTOR, exact=False),),
    "np.tensordot": (
        _form("a b axes", "{tf}.tensordot({a}, {b}, {axes})", "float", constant=frozenset({"axes"}), exact=False),
    ),
    "np.take": (
        _form(
            "a indices axis", "{tf}.gather({a}, {indices}, axis={axis})", "any", constant=frozenset({"indices", "axis"})
        ),
    ),
    "np.diag": (
        _form("v", "{tf}.linalg.diag({v})", "any", ranks=_VECTOR),
        _form("v", "{tf}.linalg.diag_part({v})", "any", ranks=_MATRIX),
    ),
    "np.full_like": (
        _form("a fill_value", "({fill_value} * {tf}.ones_like({a}))", "float", constant=frozenset({"fill_value"})),
    ),
    "np.count_nonzero": (_form("a", "{tf}.math.count_nonzero({a})", "any"),),
    "np.trace": (_form("a", "{tf}.linalg.trace({a})", "float", ranks=_MATRIX, exact=False),),
    "np.mod": (_form("x1 x2", "{tf}.math.floormod({x1}, {x2})", "number", exact=False),),
    "np.remainder": (_form("x1 x2", "{tf}.math.floormod({x1}, {x2})", "number", exact=False),),
    "np.rint": (_form("x", "{tf}.math.rint({x})", "float"),),
    "np.fabs": (_form("x", "{tf}.abs({x})", "float"),),
    "np.average": (
        _form("a", "{tf}.reduce_mean({a})", "float", exact=False),
        _form("a axis", "{tf}.reduce_mean({a}, axis={axis})", "float", constant=frozenset({"axis"}), exact=False),
    ),
    "np.ptp": (_form("a", "({tf}.reduce_max({a}) - {tf}.reduce_min({a}))", "float"),),
    "np.tril": (_form("m", "{tf}.linalg.band_part({m}, -1, 0)"),),
    "np.triu": (_form("m", "{tf}.linalg.band_part({m}, 0, -1)"),),
    "np.swapaxes": (
        _form("a axis1 axis2", "{tf}.transpose({a})", "any", ranks=_MATRIX, constant=frozenset({"axis1", "axis2"})),
    ),
    "np.clip": (
        _form(
            "a a_min a_max",
            "{tf}.clip_by_value({a}, {a_min}, {a_max})",
            constant=frozenset({"a_min", "a_max"}),
        ),
    ),
    **{
        f"math.{name}": (_form("x", f"{{tf}}.{twin}({{x}})", "float", ranks=_SCALAR, exact=False, python=True),)
        for name, twin in (
            ("sqrt", "sqrt"),
            ("exp", "exp"),
            ("log", "math.log"),
            ("log1p", "math.log1p"),
            ("sin", "sin"),
            ("cos", "cos"),
            ("tan", "tan"),
            ("tanh", "tanh"),
            ("atan", "atan"),
            ("fabs", "abs"),
            ("isnan", "math.is_nan"),
            ("isfinite", "math.is_finite"),
            ("isinf", "math.is_inf"),
        )
    },
    "math.pow": (_form("x y", "{tf}.pow({x}, {y})", "float", ranks=_SCALAR, exact=False, python=True),),
    "builtins.max": (
        _form("x", "{tf}.reduce_max({x})", ranks=_VECTOR),
        _form("x", "{tf}.reduce_max({x})", ranks=_SCALAR, listed=True),
        _form("x y", "{tf}.maximum({x}, {y})", ranks=_SCALAR),
    ),
    "builtins.min": (
        _form("x", "{tf}.reduce_min({x})", ranks=_VECTOR),
        _form("x", "{tf}.reduce_min({x})", ranks=_SCALAR, listed=True),
        _form("x y", "{tf}.minimum({x}, {y})", ranks=_SCALAR),
    ),
    "builtins.any": (
        _form("x", "{tf}.reduce_any({x})", "bool", ranks=_VECTOR, python=True),
        _form("x", "{tf}.reduce_any({x})", "bool", ranks=_SCALAR, listed=True, python=True),
    ),
    "builtins.all": (
        _form("x", "{tf}.reduce_all({x})", "bool", ranks=_VECTOR, python=True),
        _form("x", "{tf}.reduce_all({x})", "bool", ranks=_SCALAR, listed=True, python=True),
    ),
}

#: Methods of arrays, as TensorFlow's functions.
METHODS: Final[Mapping[str, str]] = {
    "mean": "reduce_mean",
    "sum": "reduce_sum",
    "max": "reduce_max",
    "min": "reduce_min",
    "prod": "reduce_prod",
    "std": "math.reduce_std",
    "var": "math.reduce_variance",
    "argmax": "argmax",
    "argmin": "argmin",
    "any": "reduce_any",
    "all": "reduce_all",
    "squeeze": "squeeze",
    "copy": "identity",
}


def given(form: Form, call: ast.Call) -> dict[str, ast.expr] | None:
    """The arguments of a call by the names of a form's; None where they are not just these."""
    if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > len(form.params):
        return None
    found = dict(zip(form.params, call.args, strict=False))
    for word in call.keywords:
        if word.arg is None or word.arg not in form.params or word.arg in found:
            return None
        found[word.arg] = word.value
    return found if len(found) == len(form.params) else None


def dtype_text(node: ast.expr, tf: str) -> str | None:
    """A dtype of NumPy's as TensorFlow's, as written; None where it is not one that can be read."""
    name = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
    return f"{tf}.{name}" if isinstance(name, str) and name in _DTYPES else None
