"""Numbers: math, cmath, statistics, operator, random, decimal and fractions."""

from __future__ import annotations

import math
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, FLOAT_V, INT_V, NONE_V, Lit, Tensor, Value, literal, prim, tup, unknown
from hybridize.domain.unknowns import Why
from hybridize.domain.words import COMPARISONS
from hybridize.library.lengths import hold_alike, note_length
from hybridize.library.operators import SPECIAL, binary, compare, inplace, unary
from hybridize.library.python.rules import (
    BYTES_V,
    call_back,
    change,
    changes_first,
    constructor,
    give,
    integer,
    later,
    note_eager_only,
    nothing,
    opaque,
    same,
    table,
    truth,
    varying,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized
from hybridize.library.stubs import read

_FLOATS: Final = (
    "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh degrees "
    "radians erf erfc gamma lgamma pow fabs fmod copysign hypot ldexp remainder fsum dist cbrt exp2 nextafter ulp "
    "sumprod"
)
_INTEGERS: Final = "floor ceil trunc factorial gcd lcm comb perm isqrt"
_FOLDED: Final = frozenset(
    "sqrt exp log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh degrees radians pow fabs fmod floor "
    "ceil trunc gcd isqrt hypot copysign".split()
)
_BOUND: Final = 1e6


@parametrized
def _math(call: Call, kind: str) -> Value:
    """A function of numbers; folded for constants, since dims are often computed so (`int(math.log2(n))`)."""
    every = call.every()
    if note_eager_only(call, every):
        return prim(kind, True).value
    name = call.name.rpartition(".")[2]
    consts = call.constants()
    if consts and name in _FOLDED and not call.kwargs and not call.rest and all(map(_foldable, consts)):
        try:
            return literal(getattr(math, name)(*consts)).value
        except (ArithmeticError, TypeError, ValueError):
            return prim(kind).value
    return prim(kind, varying(call)).value


def _foldable(const: object) -> bool:
    return isinstance(const, (int, float)) and abs(const) < _BOUND


def _prod(call: Call) -> Value:
    """`math.prod`, `statistics.mean`: a number of the elements' kind; of tensors a tensor."""
    elements = call.elements(call.arg(0))
    found = frozenset(o for o in elements if isinstance(o, Tensor))
    if found:
        if any(o.kind != "ndarray" for o in found if isinstance(o, Tensor)):
            call.frame.computes(call.pos, call.name)
        return found
    only_ints = bool(elements) and all(getattr(o, "kind", "") in ("int", "bool") for o in elements)
    return INT_V if only_ints and call.name == "math.prod" else join(FLOAT_V, INT_V)


# The operator module -------------------------------------------------------------------------------------------------

_BINARY: Final = {f"operator.{name}{'_' if name in ('and', 'or') else ''}": op for op, name in SPECIAL.items()}
_UNARY: Final = {"operator.neg": "-", "operator.pos": "+", "operator.invert": "~", "operator.inv": "~"}


def _operator(op: str) -> Rule:
    apply = compare if op in COMPARISONS else binary
    return lambda call: apply(call.engine, call.frame, op, call.arg(0), call.arg(1), call.pos)


def _inplace(op: str) -> Rule:
    return lambda call: inplace(call.engine, call.frame, op, call.arg(0), call.arg(1), call.pos)


def _unary(op: str) -> Rule:
    return lambda call: unary(call.engine, call.frame, op, call.arg(0), call.pos)


@parametrized
def _getter(call: Call, kind: str) -> Value:
    """`attrgetter("a", "b.c")`, `itemgetter(1)`, `methodcaller("f", x)`: a callable that keeps its arguments."""
    options = {f"{i}": value for i, value in enumerate(call.args)}
    return later(f"operator.{kind}.__call__", {**options, **call.kwargs})


def _kept(call: Call) -> list[Value]:
    found: list[Value] = []
    while str(len(found)) in call.kwargs:
        found.append(call.kwargs[str(len(found))])
    return found


def _attributes(call: Call) -> Value:
    results = []
    for value in _kept(call):
        result = call.arg(0)
        names = [o.const for o in value if isinstance(o, Lit) and isinstance(o.const, str)]
        if len(names) != 1 or len(value) != 1:
            return unknown("a computed attribute (`attrgetter`)", Why.COMPUTED).value
        for name in names[0].split("."):
            result = call.engine.attributes.get_attrs(call.frame, result, name, call.pos)
        results.append(result)
    return results[0] if len(results) == 1 else tup(results).value


def _items(call: Call) -> Value:
    results = [call.engine.heap.get_item(call.frame, call.arg(0), key, call.pos) for key in _kept(call)]
    return results[0] if len(results) == 1 else tup(results).value


def _method(call: Call) -> Value:
    name, *args = _kept(call) or [BOTTOM]
    named = {key: value for key, value in call.kwargs.items() if not key.isdigit()}
    result = BOTTOM
    for obj in name:
        if isinstance(obj, Lit) and isinstance(obj.const, str):
            func = call.engine.attributes.get_attrs(call.frame, call.arg(0), obj.const, call.pos)
            result = join(result, call_back(call, func, *args, **named))
        else:
            call.effect("unknown_call", "a method by a computed name (`methodcaller`)")
    return result


def _set_item(call: Call) -> Value:
    for obj in call.arg(0):
        call.engine.heap.set_item(call.frame, obj, call.arg(1), call.arg(2), call.pos)
    return NONE_V


_OPERATORS: Final[dict[str, Rule]] = {
    **{name: _operator(op) for name, op in _BINARY.items()},
    **{
        f"operator.i{name.rpartition('.')[2].rstrip('_')}": _inplace(op)
        for name, op in _BINARY.items()
        if op not in COMPARISONS
    },
    **{name: _unary(op) for name, op in _UNARY.items()},
    "operator.abs": same,
    "operator.index": integer,
    "operator.getitem": lambda call: call.engine.heap.get_item(call.frame, call.arg(0), call.arg(1), call.pos),
    "operator.setitem": _set_item,
    "operator.delitem": changes_first(),
    "operator.iconcat": _inplace("+"),
    "operator.concat": _operator("+"),
    "operator.contains": lambda call: compare(call.engine, call.frame, "in", call.arg(1), call.arg(0), call.pos),
    "operator.is_": lambda call: compare(call.engine, call.frame, "is", call.arg(0), call.arg(1), call.pos),
    "operator.is_not": lambda call: compare(call.engine, call.frame, "is not", call.arg(0), call.arg(1), call.pos),
    "operator.not_": truth,
    "operator.truth": truth,
    "operator.countOf": integer,
    "operator.indexOf": integer,
    "operator.length_hint": integer,
    "operator.attrgetter": _getter("attrgetter"),
    "operator.itemgetter": _getter("itemgetter"),
    "operator.methodcaller": _getter("methodcaller"),
    "operator.attrgetter.__call__": _attributes,
    "operator.itemgetter.__call__": _items,
    "operator.methodcaller.__call__": _method,
    "operator.call": lambda call: call_back(call, call.arg(0), *call.args[1:], **call.kwargs),
}

# Random numbers ------------------------------------------------------------------------------------------------------


def _element(call: Call) -> Value:
    return call.elements(call.arg(0, "seq"))


@parametrized
def _sample(call: Call, place: int) -> Value:
    """A list of as many elements as the argument at a place says."""
    made = call.new("list", "sample")
    hold_alike(call.engine, made)
    call.write(made.rest_cell(), call.elements(call.arg(0, "population")))
    size = call.constant(place, "k", None if call.given(place, "k") else 1)
    note_length(call.engine, made, size if isinstance(size, int) else None)
    return made.value


def _shuffle(call: Call) -> Value:
    change(call, call.arg(0, "x"))
    return NONE_V


_UNIFORM: Final = (
    "random uniform gauss normalvariate triangular betavariate expovariate gammavariate lognormvariate paretovariate "
    "vonmisesvariate weibullvariate binomialvariate"
)
_DRAWS: Final[dict[str, Rule]] = {
    **{name: give(prim("float", True).value) for name in _UNIFORM.split()},
    **{name: give(prim("int", True).value) for name in ("randint", "randrange", "getrandbits")},
    "choice": _element,
    "choices": _sample(-1),
    "sample": _sample(1),
    "shuffle": _shuffle,
    "seed": nothing,
    "getstate": opaque,
    "setstate": nothing,
    "randbytes": give(BYTES_V),
}
_GENERATOR: Final = ClassSpec(
    # A generator of one's own is an object like any other: drawing from it changes it, and nothing else.
    methods={
        **{name: Spec(rule, effects=("mutate",)) for name, rule in _DRAWS.items() if name != "getstate"},
        "getstate": Spec(opaque),
        "__init__": constructor("x"),
    },
)

_FUNCTIONS, _CLASSES = read("numbers", globals())
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    **{f"math.{name}": Spec(_math("float")) for name in _FLOATS.split()},
    **{f"math.{name}": Spec(_math("int")) for name in _INTEGERS.split()},
    "statistics.mode": Spec(lambda call: call.elements(call.arg(0))),
    "statistics.multimode": Spec(lambda call: call.list_of(call.elements(call.arg(0)), "list", "modes")),
    **{name: Spec(rule) for name, rule in _OPERATORS.items()},
    **{f"random.{name}": Spec(rule, effects=("random",)) for name, rule in _DRAWS.items() if name != "getstate"},
    **table("secrets", "randbelow randbits", give(prim("int", True).value), "random"),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **_CLASSES,
    "random.Random": _GENERATOR,
    "random.SystemRandom": ClassSpec(methods={n: Spec(r, effects=("random",)) for n, r in _DRAWS.items()}),
}
