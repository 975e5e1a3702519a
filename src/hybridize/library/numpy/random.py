"""NumPy's random numbers: the module's functions, `RandomState` and `Generator`. Each draw changes the host's state."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import INT_V, NONE, NONE_V, Lit, Prim, Value, prim, tensor, unknown
from hybridize.domain.tensors import NDARRAY, UNRESOLVED, Shape
from hybridize.library.operands import INFER, Args, Impossible, Unsure, expand
from hybridize.library.shapes import broadcast_all
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, nothing, parametrized

_RANDOM: Final = ("random",)
#: Distributions by the names of their parameters; the last is `size`.
_FLOATS: Final[dict[str, str]] = {
    "normal": "loc scale size",
    "uniform": "low high size",
    "lognormal": "mean sigma size",
    "laplace": "loc scale size",
    "logistic": "loc scale size",
    "gumbel": "loc scale size",
    "vonmises": "mu kappa size",
    "wald": "mean scale size",
    "beta": "a b size",
    "gamma": "shape scale size",
    "f": "dfnum dfden size",
    "exponential": "scale size",
    "chisquare": "df size",
    "pareto": "a size",
    "power": "a size",
    "rayleigh": "scale size",
    "standard_gamma": "shape size",
    "standard_t": "df size",
    "weibull": "a size",
    "triangular": "left mode right size",
    "noncentral_chisquare": "df nonc size",
    "noncentral_f": "dfnum dfden nonc size",
    "standard_normal": "size",
    "standard_exponential": "size",
    "standard_cauchy": "size",
    "random_sample": "size",
    "random": "size",
    "ranf": "size",
    "sample": "size",
}
_INTS: Final[dict[str, str]] = {
    "binomial": "n p size",
    "poisson": "lam size",
    "geometric": "p size",
    "hypergeometric": "ngood nbad nsample size",
    "logseries": "p size",
    "negative_binomial": "n p size",
    "zipf": "a size",
}


def _drawn(dtype: str, parameters: str, typed: bool = False) -> Rule:
    """Numbers of a distribution: as many as `size` says, else as the parameters have; one is a Python number."""
    names = tuple(parameters.split())

    def one(call: Call) -> Value:
        args = Args(call, "np.random", (*names, "dtype") if typed else names)
        found = args.dtype("dtype", default=dtype) if typed else dtype
        try:
            if args.given("size"):
                return tensor(NDARRAY, found, sized(args)).value
            shape = broadcast_all(args.tensor(n).shape for n in names[:-1] if args.given(n))
        except (Unsure, Impossible):
            return tensor(NDARRAY, found).value
        if shape == ():
            return prim("float" if dtype.startswith("float") else "int", True).value
        return tensor(NDARRAY, found, shape).value

    return lambda call: _with_sizes(call, one, names)


def _with_sizes(call: Call, one: Rule, names: tuple[str, ...]) -> Value:
    """Runs a rule for each choice of arguments; a size that is passed as None is `x.shape[0]` of a batch: a number.

    NumPy draws on the host, where every size is known; that None itself is passed on is much rarer.
    """
    place = names.index("size")
    args, kwargs = list(call.args), dict(call.kwargs)
    if place < len(args):
        args[place] = _known(args[place])
    elif "size" in kwargs:
        kwargs["size"] = _known(kwargs["size"])
    return expand(Call(call.engine, call.frame, call.pos, call.name, args, kwargs, call.receiver, call.rest), one)


def _known(size: Value) -> Value:
    return size - NONE_V | INT_V if NONE in size else size


def sized(args: Args) -> Shape:
    """The `size` argument."""
    return tuple(UNRESOLVED if d == INFER else d for d in args.dims("size"))


def _by_dims(call: Call) -> Value:
    """`rand(2, 3)`: dims one by one."""
    if call.rest:
        return tensor(NDARRAY, "float64").value
    if not call.args:
        return prim("float", True).value
    args = Args(call, "np.random")
    dims: list[int] = []
    for value in call.args:
        try:
            (dim,) = args.dims_of(next(iter(value))) if len(value) == 1 else (UNRESOLVED,)
        except Unsure:
            dim = UNRESOLVED
        dims.append(max(dim, UNRESOLVED))
    return tensor(NDARRAY, "float64", tuple(dims)).value


def _integers(scalar: bool) -> Rule:
    names = ("low", "high", "size", "dtype")

    def one(call: Call) -> Value:
        args = Args(call, "np.random", names)
        dtype = args.dtype("dtype", default="int64")
        try:
            if args.given("size"):
                return tensor(NDARRAY, dtype, sized(args)).value
            shape = broadcast_all(args.tensor(n).shape for n in ("low", "high") if args.given(n))
        except (Unsure, Impossible):
            return tensor(NDARRAY, dtype).value
        if shape == () and scalar and not args.given("dtype"):
            return prim("int", True).value
        return tensor(NDARRAY, dtype, shape).value

    return lambda call: _with_sizes(call, one, names)


def _choice(call: Call) -> Value:
    args = Args(call, "np.random", ("a", "size", "replace", "p"))
    try:
        source = args.tensor("a")
        dtype = "int64" if source.python else source.dtype
        if not args.given("size"):
            if source.python:
                return prim("int", True).value
            inner = source.shape[1:] if source.shape else None
            return tensor(NDARRAY, dtype, inner).value
        inner = source.shape[1:] if source.shape else () if source.python else None
        if dtype == "string":
            dtype = None
        dims = sized(args)
        return tensor(NDARRAY, dtype, None if inner is None or dims is None else (*dims, *inner)).value
    except (Unsure, Impossible):
        return tensor(NDARRAY).value


def _permutation(call: Call) -> Value:
    value = call.arg(0, "x")
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, (Lit, Prim)) and obj.kind == "int":
            size = obj.const if isinstance(obj, Lit) else UNRESOLVED
            return tensor(NDARRAY, "int64", (size,)).value
    x = Args(call, "np.random").operand(value)
    return tensor(NDARRAY, x.dtype, x.shape).value


def _shuffle(call: Call) -> Value:
    for obj in call.arg(0, "x"):
        call.effect("mutate", call.name, obj)
    return NONE_V


def _multivariate(call: Call) -> Value:
    args = Args(call, "np.random", ("mean", "cov", "size"))
    try:
        inner = args.tensor("mean").known
        dims = sized(args) if args.given("size") else ()
        return tensor(NDARRAY, "float64", (*(dims or ()), *inner)).value
    except (Unsure, Impossible):
        return tensor(NDARRAY, "float64").value


@parametrized
def _counts(call: Call, dtype: str, *names: str) -> Value:
    args = Args(call, "np.random", names)
    try:
        inner = args.tensor(names[-2]).known
        dims = sized(args) if args.given("size") else ()
        return tensor(NDARRAY, dtype, (*(dims or ()), *inner)).value
    except (Unsure, Impossible):
        return tensor(NDARRAY, dtype).value


@parametrized
def _generator(call: Call, name: str) -> Value:
    if call.arg(0, "seed", NONE_V) == NONE_V and name != call.name.rpartition(".")[0]:
        call.effect("random")  # without a seed it asks the system for one
    return call.made(name).value


def _of_object(methods: dict[str, Spec]) -> dict[str, Spec]:
    """The methods of a generator object: drawing from it changes the object, and nothing else."""
    return {name: Spec(spec.rule, effects=("mutate",) if spec.effects else ()) for name, spec in methods.items()}


_DRAWS: Final[dict[str, Spec]] = {
    **{name: Spec(_drawn("float64", p), effects=_RANDOM) for name, p in _FLOATS.items()},
    **{name: Spec(_drawn("int64", p), effects=_RANDOM) for name, p in _INTS.items()},
    "choice": Spec(_choice, effects=_RANDOM),
    "permutation": Spec(_permutation, effects=_RANDOM),
    "shuffle": Spec(_shuffle, effects=_RANDOM),
    "multivariate_normal": Spec(_multivariate, effects=_RANDOM),
    "multinomial": Spec(_counts("int64", "n", "pvals", "size"), effects=_RANDOM),
    "dirichlet": Spec(_counts("float64", "alpha", "size"), effects=_RANDOM),
    "bytes": Spec(lambda call: prim("bytes", True).value, effects=_RANDOM),
}
_STATE: Final[dict[str, Spec]] = {
    **_DRAWS,
    "rand": Spec(_by_dims, effects=_RANDOM),
    "randn": Spec(_by_dims, effects=_RANDOM),
    "randint": Spec(_integers(True), effects=_RANDOM),
    "random_integers": Spec(_integers(True), effects=_RANDOM),
    "seed": Spec(nothing, effects=_RANDOM),
    "set_state": Spec(nothing, effects=_RANDOM),
    "get_state": Spec(lambda call: unknown("the state of a random generator").value),
}
_TYPED: Final = ("random", "standard_normal", "standard_exponential")
_GENERATOR: Final[dict[str, Spec]] = {
    **_DRAWS,
    **{name: Spec(_drawn("float64", "size", typed=True), effects=_RANDOM) for name in _TYPED},
    "integers": Spec(_integers(False), effects=_RANDOM),
    "permuted": Spec(_permutation, effects=_RANDOM),
    "spawn": Spec(lambda call: call.list_of(_generator("np.random.Generator")(call)), effects=_RANDOM),
}

FUNCTIONS: Final[dict[str, Spec]] = {
    **{f"np.random.{name}": spec for name, spec in _STATE.items()},
    "np.random.default_rng": Spec(_generator("np.random.Generator")),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "np.random.RandomState": ClassSpec(
        methods=_of_object(_STATE), parameters=("seed",), make=_generator("np.random.RandomState")
    ),
    "np.random.Generator": ClassSpec(methods=_of_object(_GENERATOR), parameters=("bit_generator",)),
}
