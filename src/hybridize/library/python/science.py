"""Numerical packages whose values are arrays: scipy, scikit-learn, scikit-image, numexpr, sparse matrices."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, FLOAT_V, NONE_V, Container, LibInst, Tensor, Value, tensor, tup, unknown
from hybridize.domain.tensors import NDARRAY, UNRESOLVED
from hybridize.library.convert import dim_of
from hybridize.library.python.rules import (
    ARRAY_V,
    array,
    call_back,
    functions_in,
    give,
    instance,
    itself,
    methods,
    opaque,
    remember,
    table,
    text_dict,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized
from hybridize.library.stubs import read

_ARRAY_OR_FLOAT: Final = join(ARRAY_V, FLOAT_V)
_arrays: Final = give(tup([ARRAY_V, ARRAY_V]).value)
_either: Final = give(_ARRAY_OR_FLOAT)


def sampled(value: Value) -> Value:
    """Some of the rows of arrays: everything but the first dim stays."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            shape = None if not obj.shape else (UNRESOLVED, *obj.shape[1:])
            result = join(result, tensor(NDARRAY, obj.dtype if obj.kind == NDARRAY else None, shape).value)
        elif isinstance(obj, (LibInst, Container)):
            result = join(result, obj.value)
        else:
            result = join(result, unknown("a part of split data").value)
    return result


def _random_unless_seeded(call: Call) -> None:
    if call.kwargs.get("random_state", NONE_V) & NONE_V and call.constant(-1, "shuffle", True) is not False:
        call.effect("random", call.name)


def _split(call: Call) -> Value:
    """`train_test_split(x, y)`: a list of twice as many parts as arguments."""
    _random_unless_seeded(call)
    if call.rest or not call.args:
        return call.list_of(sampled(call.every()))
    made = call.new("list", "split")
    for i, value in enumerate(call.args):
        part = _fresh_lists(call, sampled(value))
        call.write(made.cell(2 * i), part)
        call.write(made.cell(2 * i + 1), part)
    return made.value


def _fresh_lists(call: Call, value: Value) -> Value:
    lists = frozenset(o for o in value if isinstance(o, Container))
    if not lists:
        return value
    return join(value - lists, call.list_of(call.elements(lists), "list", "part"))


def _shuffled(call: Call) -> Value:
    _random_unless_seeded(call)
    parts = [_fresh_lists(call, sampled(value)) for value in call.args]
    return parts[0] if len(parts) == 1 else call.list_of(join(BOTTOM, call.every())) if call.rest else tup(parts).value


@parametrized
def _called(call: Call, result: Rule) -> Value:
    """A solver: calls the functions it is given with arrays."""
    for value in (*call.args, *call.kwargs.values()):
        for obj in functions_in(value):
            count = len(getattr(getattr(obj, "code", None), "params", ())) or 1
            call_back(call, obj.value, *[_ARRAY_OR_FLOAT] * min(count, 6))
    return result(call)


def _fitted(call: Call) -> Value:
    remember(call, "fitted", NONE_V)
    return call.receiver.value if call.receiver is not None else BOTTOM


_optimum: Final = _called(instance("scipy.optimize.OptimizeResult"))

# scipy ---------------------------------------------------------------------------------------------------------------

_DISTRIBUTIONS: Final = (
    "norm uniform expon gamma beta t chi2 f lognorm poisson binom bernoulli geom truncnorm multivariate_normal laplace "
    "logistic cauchy pareto dirichlet wishart invgamma halfnorm rayleigh vonmises randint nbinom multinomial gumbel_r"
)
_DISTRIBUTION: Final = ClassSpec(
    methods={
        **methods(
            "pdf logpdf pmf logpmf cdf logcdf ppf sf isf entropy mean var std median moment stats interval fit", _either
        ),
        **methods("rvs", array, "random"),
        **methods("freeze", itself),
    },
)


def _distribution_functions() -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for name in _DISTRIBUTIONS.split():
        for method, spec in _DISTRIBUTION.methods.items():
            found[f"scipy.stats.{name}.{method}"] = (
                spec if method != "freeze" else Spec(instance("scipy.stats.Distribution"))
            )
        found[f"scipy.stats.{name}"] = Spec(instance("scipy.stats.Distribution"))
    return found


# scikit-learn --------------------------------------------------------------------------------------------------------


def _hypercube(call: Call) -> Value:
    """As many points as are asked for, else one for each dim."""
    columns, asked = dim_of(call.arg(0, "n") or BOTTOM), call.arg(1, "samples")
    rows = columns if asked is None or asked == NONE_V else dim_of(asked)
    return tensor(NDARRAY, "float64", (max(rows, UNRESOLVED), max(columns, UNRESOLVED))).value


def _data_set(call: Call) -> Value:
    if call.constant(-1, "return_X_y") is True:
        return tup([ARRAY_V, ARRAY_V]).value
    return instance("sklearn.utils.Bunch")(call)


_FUNCTIONS, CLASSES = read("science", globals())
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    **_distribution_functions(),
    **table("scipy.optimize", "fmin fmin_l_bfgs_b fmin_bfgs fmin_cg fsolve brentq bisect newton nnls", _called(opaque)),
    **table("scipy.optimize", "curve_fit linear_sum_assignment", _called(_arrays)),
    **table("scipy.optimize", "approx_fprime check_grad", _called(array)),
    **table("scipy.integrate", "quad dblquad nquad", _called(give(tup([FLOAT_V, FLOAT_V]).value))),
    **table("scipy.integrate", "odeint", _called(array)),
    **table("scipy.integrate", "solve_ivp", _called(opaque)),
    "sklearn.model_selection.ParameterGrid": Spec(
        lambda call: call.list_of(text_dict(call, unknown("a setting").value))
    ),
}
