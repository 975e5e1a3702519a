"""Iteration and functions of functions: itertools, functools, heapq, bisect."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Bound,
    Func,
    Lit,
    Value,
    Wrapper,
    prim,
    tup,
    unknown,
    wrapper,
)
from hybridize.library.protocols import order
from hybridize.library.python.functions import FUNCTIONS as BUILTINS
from hybridize.library.python.rules import (
    call_back,
    change,
    changes_first,
    functions_in,
    iterator_of,
    later,
    pass_through,
    same,
    unpacked,
)
from hybridize.library.python.sequences import known_items
from hybridize.library.spec import Call, Rule, Spec

_COUNTER: Final = prim("int", True).value

# itertools -----------------------------------------------------------------------------------------------------------


def _joined_elements(call: Call) -> Value:
    result = call.elements(call.rest)
    for value in call.args:
        result = join(result, call.elements(value))
    return result


def _chain(call: Call) -> Value:
    return iterator_of(call, _joined_elements(call))


def _chain_nested(call: Call) -> Value:
    return iterator_of(call, call.elements(call.elements(call.arg(0, "iterable"))))


def _columns(call: Call) -> list[Value]:
    return [call.elements(value) for value in call.args]


def _rows(call: Call, items: list[Value]) -> Value:
    """Tuples with these items; of elements that are not known yet nothing."""
    if call.rest:
        return unknown("tuples of an unknown length").value
    return tup(items).value if items and all(items) else BOTTOM


def _zip_longest(call: Call) -> Value:
    filler = call.kwargs.get("fillvalue", NONE_V)
    return iterator_of(call, _rows(call, [join(item, filler) if item else item for item in _columns(call)]))


def _product(call: Call) -> Value:
    repeat = call.kwargs.get("repeat")
    if repeat is None:
        return iterator_of(call, _rows(call, _columns(call)))
    return iterator_of(call, _sized(call, _columns(call), repeat))


def _sized(call: Call, items: list[Value], length: Value) -> Value:
    """Tuples that repeat these items as often as a length says."""
    if len(length) == 1:
        (obj,) = length
        if isinstance(obj, Lit) and isinstance(obj.const, int) and 0 < obj.const <= 16:
            return _rows(call, items * obj.const)
    element = BOTTOM
    for item in items:
        element = join(element, item)
    return BUILTINS["builtins.tuple"].rule(_again(call, call.list_of(element, "list", "row"))) if element else BOTTOM  # type: ignore[misc]


def _again(call: Call, *args: Value) -> Call:
    return Call(call.engine, call.frame, call.pos, call.name, list(args), {}, None)


def _combinations(call: Call) -> Value:
    element = call.elements(call.arg(0, "iterable"))
    return iterator_of(call, _sized(call, [element], call.arg(1, "r")) if element else BOTTOM)


def _pairwise(call: Call) -> Value:
    element = call.elements(call.arg(0))
    return iterator_of(call, tup([element, element]).value if element else BOTTOM)


def _batched(call: Call) -> Value:
    element = call.elements(call.arg(0))
    return iterator_of(call, _sized(call, [element], call.arg(1, "n")) if element else BOTTOM)


def _same_elements(call: Call) -> Value:
    return iterator_of(call, call.elements(call.arg(0, "iterable")))


def _repeat(call: Call) -> Value:
    return iterator_of(call, call.arg(0, "object"))


def _count(call: Call) -> Value:
    step = join(call.arg(0, "start"), call.arg(1, "step"))
    floats = any(getattr(o, "kind", "") == "float" for o in step)
    return iterator_of(call, prim("float", True).value if floats else _COUNTER)


def _groupby(call: Call) -> Value:
    element = call.elements(call.arg(0, "iterable"))
    if not element:
        return iterator_of(call, BOTTOM)
    key = call_back(call, call.arg(1, "key", NONE_V), element) or element
    return iterator_of(call, tup([key, iterator_of(call, element, "group")]).value)


def _starmap(call: Call) -> Value:
    result = BOTTOM
    for row in call.elements(call.arg(1)):
        result = join(result, call.call(call.arg(0), *unpacked(call, row.value)))
    return iterator_of(call, result)


def _accumulate(call: Call) -> Value:
    element = call.elements(call.arg(0, "iterable"))
    total = join(element, call.kwargs.get("initial", BOTTOM))
    func = call.arg(1, "func", NONE_V)
    if func is not NONE_V and total:
        total = join(total, call_back(call, func, total, element))
    elif any(getattr(o, "kind", "") == "int" for o in element):
        total = join(total, _COUNTER)
    return iterator_of(call, total)


def _filtered(call: Call) -> Value:
    element = call.elements(call.arg(1))
    if element:
        call_back(call, call.arg(0), element)
    return iterator_of(call, element)


def _tee(call: Call) -> Value:
    element = call.elements(call.arg(0))
    count = call.constant(1, "n", 2)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= 8:
        return call.list_of(iterator_of(call, element), "list", "tee")
    return tup([iterator_of(call, element, f"tee{i}") for i in range(count)]).value


# functools -----------------------------------------------------------------------------------------------------------


def _partial(call: Call) -> Value:
    if not call.args:
        return unknown("a partial function").value
    first = (*call.args[1:], *([call.rest] if call.rest else []))
    return wrapper("partial", call.args[0], first, tuple(call.kwargs.items())).value


def _partialmethod(call: Call) -> Value:
    """A method with arguments of its own, which comes to be when it is asked of an object."""
    return wrapper("partialmethod", call.arg(0), tuple(call.args[1:]), tuple(call.kwargs.items())).value


#: A reduction goes through so many known items one by one.
_MOST_FOLDED: Final = 16


def _reduce(call: Call) -> Value:
    element = call.elements(call.arg(1))
    total = call.arg(2) or element
    if not total or not element:
        return total
    items = known_items(call, call.arg(1))
    if items and len(items) <= _MOST_FOLDED:
        total = call.arg(2) or items.pop(0)
        for item in items:
            total = call_back(call, call.arg(0), total, item) if total and item else BOTTOM
        return total
    for _ in range(3):  # the accumulator is an argument of the next call
        new = join(total, call_back(call, call.arg(0), total, element))
        if new == total:
            break
        total = new
    return total


def _cache(call: Call) -> Value:
    """A function whose results are kept, whether this decorates it or is called with it."""
    found = functions_in(call.arg(0)) if call.args else BOTTOM
    if not found or len(call.args) != 1:
        return later("functools.cache")
    call.engine.notes.note_cached(found)
    return found


_REGISTER: Final = "functools.singledispatch.register"


def _singledispatch(call: Call) -> Value:
    return wrapper("dispatch", call.arg(0)).value if call.args else unknown("a dispatched function").value


def _singledispatch_method(call: Call) -> Value:
    """A method that its first argument after the receiver chooses."""
    return wrapper("dispatch", call.arg(0), "method").value if call.args else unknown("a dispatched method").value


def _register(call: Call) -> Value:
    """`f.register(fn)`, `f.register(type, fn)`, `@f.register(type)`: `fn` may be called instead of `f`."""
    generic = call.kwargs.get("generic", BOTTOM)
    given = [a for a in call.args if any(isinstance(o, (Func, Wrapper, Bound)) for o in a)]
    kinds = call.kwargs.get("kinds") or (call.args[0] if call.args else BOTTOM)
    if not given:
        return later(_REGISTER, {"generic": generic, "kinds": kinds})
    if kinds == given[-1]:
        kinds = BOTTOM  # its annotation says for which type
    for func in generic:
        if isinstance(func, Func):
            call.engine.attributes.set_field(call.frame, func, "<dispatched>", tup([kinds, given[-1]]).value, call.pos)
    return given[-1]


def _property(call: Call) -> Value:
    """A cached property: no setter, no deleter, and what it gives is kept."""
    return wrapper("property", call.arg(0, "func"), BOTTOM, BOTTOM, "cached").value


def _compare_key(call: Call) -> Value:
    call_back(call, call.kwargs.get("compare", BOTTOM), call.arg(0), call.arg(0))
    return call.arg(0)


# heapq and bisect ----------------------------------------------------------------------------------------------------


def _ordered(call: Call, more: Value = BOTTOM) -> None:
    """Elements of a heap or a sorted list are compared with each other."""
    order(call.engine, call.frame, join(call.elements(call.arg(0)), more), call.pos)


def _push(call: Call) -> Value:
    _ordered(call, call.arg(1))
    change(call, call.arg(0), call.arg(1))
    return NONE_V


def _pop(call: Call) -> Value:
    _ordered(call)
    change(call, call.arg(0))
    return call.elements(call.arg(0))


def _push_pop(call: Call) -> Value:
    _ordered(call, call.arg(1))
    change(call, call.arg(0), call.arg(1))
    return join(call.elements(call.arg(0)), call.arg(1))


def _ranked(call: Call) -> Value:
    element = call.elements(call.arg(1, "iterable"))
    if element:
        call_back(call, call.arg(2, "key", NONE_V), element)
    return call.list_of(element, "list", "ranked")


def _merge(call: Call) -> Value:
    element = _joined_elements(call)
    if element:
        call_back(call, call.kwargs.get("key", NONE_V), element)
    return iterator_of(call, element)


def _bisect(call: Call) -> Value:
    call_back(call, call.kwargs.get("key", NONE_V), call.elements(call.arg(0)))
    return INT_V


def _insort(call: Call) -> Value:
    call_back(call, call.kwargs.get("key", NONE_V), call.arg(1))
    return _push(call)


_RULES: Final[dict[str, Rule]] = {
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_nested,
    "itertools.product": _product,
    "itertools.zip_longest": _zip_longest,
    "itertools.islice": _same_elements,
    "itertools.cycle": _same_elements,
    "itertools.compress": _same_elements,
    "itertools.repeat": _repeat,
    "itertools.count": _count,
    "itertools.combinations": _combinations,
    "itertools.combinations_with_replacement": _combinations,
    "itertools.permutations": _combinations,
    "itertools.pairwise": _pairwise,
    "itertools.batched": _batched,
    "itertools.groupby": _groupby,
    "itertools.starmap": _starmap,
    "itertools.accumulate": _accumulate,
    "itertools.takewhile": _filtered,
    "itertools.dropwhile": _filtered,
    "itertools.filterfalse": _filtered,
    "itertools.tee": _tee,
    "functools.partial": _partial,
    "functools.partialmethod": _partialmethod,
    "functools.reduce": _reduce,
    "functools.wraps": lambda call: pass_through(),
    "functools.wraps.__call__": same,
    "functools.update_wrapper": lambda call: call.arg(0, "wrapper"),
    "functools.lru_cache": _cache,
    "functools.cache": _cache,
    "functools.singledispatch": _singledispatch,
    _REGISTER: _register,
    "functools.singledispatchmethod": _singledispatch_method,
    "functools.cached_property": _property,
    "functools.total_ordering": same,
    "functools.cmp_to_key": lambda call: later("functools.cmp_to_key.__call__", {"compare": call.arg(0)}),
    "functools.cmp_to_key.__call__": _compare_key,
    "heapq.heappush": _push,
    "heapq.heappop": _pop,
    "heapq.heapify": changes_first(),
    "heapq.heappushpop": _push_pop,
    "heapq.heapreplace": _push_pop,
    "heapq.nlargest": _ranked,
    "heapq.nsmallest": _ranked,
    "heapq.merge": _merge,
    "bisect.bisect": _bisect,
    "bisect.bisect_left": _bisect,
    "bisect.bisect_right": _bisect,
    "bisect.insort": _insort,
    "bisect.insort_left": _insort,
    "bisect.insort_right": _insort,
}
FUNCTIONS: Final[dict[str, Spec]] = {name: Spec(rule) for name, rule in _RULES.items()}
