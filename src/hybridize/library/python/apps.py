"""Programs: absl, click, fire, typer, hydra, gin, tqdm, six, wandb, mlflow, numba, tree, easydict and other helpers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    NONE_V,
    STR_V,
    Class,
    Container,
    Tup,
    Value,
    lib,
    optional_int,
    prim,
    stream,
    tup,
    unknown,
)
from hybridize.library.python.functions import FUNCTIONS as BUILTINS
from hybridize.library.python.rules import (
    SCALAR_V,
    call_back,
    decorator,
    functions_in,
    instance,
    iterator_of,
    opaque,
    pass_through,
    recall,
    remember,
)
from hybridize.library.spec import Call, Rule, Spec, parametrized
from hybridize.library.stubs import read

# Starting programs ----------------------------------------------------------------------------------------------------


def _run_main(call: Call) -> Value:
    """`app.run(main)` calls `main` with the arguments that are left."""
    call_back(call, functions_in(call.arg(0, "main")), call.list_of(STR_V, "list", "argv"))
    return BOTTOM


def _fire(call: Call) -> Value:
    """`fire.Fire(f)` calls `f` (or the methods of a class) with values from the command line."""
    for obj in functions_in(call.arg(0, "component")):
        code = getattr(obj, "code", None)
        if isinstance(obj, Class):
            call.call(obj.value)
            continue
        params = [p for p in getattr(code, "params", ()) if not p.has_default and not p.is_starred]
        call.call(obj.value, *[SCALAR_V] * len(params))
    return NONE_V


def _command(call: Call) -> Value:
    """`@click.command()`, `@click.option(...)`: the function stays what it is."""
    return decorator(call) if functions_in(call.arg(0)) else pass_through()


@parametrized
def _flag(call: Call, kind: Value) -> Value:
    """`DEFINE_integer(name, default, help)`: also gives a holder whose `value` the flag is."""
    default = call.arg(1, "default")
    return instance("absl.flags.FlagHolder", value=join(kind, default))(call)


def _number(default: Value) -> Value:
    return join(optional_int(default), default)


@parametrized
def _flags(call: Call, kind: Value) -> Value:
    return instance("absl.flags.FlagHolder", value=call.list_of(kind))(call)


def _integer_flag(call: Call) -> Value:
    return instance("absl.flags.FlagHolder", value=_number(call.arg(1, "default")))(call)


# Progress bars --------------------------------------------------------------------------------------------------------


def _bar(call: Call) -> Value:
    """`tqdm(iterable)`: prints, and gives the elements on."""
    made = call.made("tqdm.tqdm")
    call.keep(made, "iterable", call.arg(0, "iterable"))
    return made.value


def _bar_range(call: Call) -> Value:
    made = call.made("tqdm.tqdm")
    call.keep(made, "iterable", stream("range", prim("int", True).value).value)
    return made.value


def _bar_elements(call: Call) -> Value:
    call.effect("print", "a progress bar")
    over = frozenset(o for o in recall(call, "iterable") if o is not call.receiver)  # `self.items = tqdm(self.items)`
    element = call.elements(over)
    return element if call.name == "iter" else iterator_of(call, element)


def _bar_constructed(call: Call) -> Value:
    remember(call, "iterable", call.arg(0, "iterable"))
    return NONE_V


def _mapped(call: Call) -> Value:
    items = [call.elements(value) for value in call.args[1:]]
    return call.list_of(call_back(call, call.arg(0), *items) if items and all(items) else BOTTOM)


# six, future, past ----------------------------------------------------------------------------------------------------


@parametrized
def _method(call: Call, name: str) -> Value:
    found = call.engine.attributes.get_attrs(call.frame, call.arg(0), name, call.pos)
    return call.call(found, *call.args[1:])


def _builtin(name: str) -> Spec:
    return BUILTINS[f"builtins.{name}"]


# Nested structures ----------------------------------------------------------------------------------------------------


def leaves(call: Call, value: Value, depth: int = 6) -> Value:
    """What nested lists, tuples and dicts hold at last."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, (Container, Tup)) and depth:
            inner = call.values(obj) if isinstance(obj, Container) else call.elements(obj.value)
            result = join(result, leaves(call, inner, depth - 1))
        else:
            result = join(result, obj.value)
    return result


def _structure_map(call: Call) -> Value:
    """`tree.map_structure(f, a, b)`: tuples keep their form, the leaves of other containers are mixed."""
    mapped = _mapped_structure(call, list(call.args[1:]), 4)
    return mapped or unknown("a mapped structure").value


def _mapped_structure(call: Call, values: list[Value], depth: int) -> Value:
    first = values[0] if values else BOTTOM
    if len(first) == 1 and depth:
        (obj,) = first
        if isinstance(obj, Tup) and len(values) == 1:
            return tup([_mapped_structure(call, [i], depth - 1) for i in obj.items], obj.kind, obj.names).value
        if isinstance(obj, Container):
            inner = [leaves(call, value) for value in values]
            made = call.new(obj.kind, f"structure{depth}")
            call.engine.cells.lose_exactness(made)
            call.write(made.rest_cell(), call_back(call, call.arg(0), *inner))
            return made.value
    return call_back(call, call.arg(0), *[leaves(call, value) for value in values]) if all(values) else BOTTOM


def _access(call: Call) -> Value:
    """`EasyDict(d)`: a dict whose keys are attributes."""
    made = call.made("easydict.EasyDict")
    for obj in call.arg(0):
        if isinstance(obj, Container) and obj.kind == "dict":
            for key, item in call.engine.cells.items(call.frame, obj):
                if isinstance(key, str):
                    call.keep(made, key, item)
    for key, value in call.kwargs.items():
        call.keep(made, key, value)
    return made.value


def _access_item(call: Call) -> Value:
    key = call.constant(0, "")
    return (recall(call, key) if isinstance(key, str) else BOTTOM) or SCALAR_V


_SIX_NAMES: Final = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys", "viewitems": "items"}

_RULES: Final[dict[str, Rule]] = {
    "_get": lambda call: join(_access_item(call), call.arg(1, "", NONE_V)),
}
_FUNCTIONS, CLASSES = read("apps", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    "absl.app.call_after_init": Spec(lambda call: call_back(call, call.arg(0)) and NONE_V),
    "numba.prange": _builtin("range"),
    # Python 2 and 3
    **{f"six.{name}": Spec(_method(to)) for name, to in _SIX_NAMES.items()},
    **{f"six.moves.{name}": _builtin(name) for name in ("range", "zip", "map", "filter", "input")},
    "six.moves.xrange": _builtin("range"),
    "six.moves.reduce": Spec(lambda call: _reduced(call)),
    "six.with_metaclass": Spec(lambda call: call.arg(1) or lib("builtins.object").value),
    "six.next": _builtin("next"),
    "past.builtins.xrange": _builtin("range"),
    "tree.map_structure_with_path": Spec(
        lambda call: call_back(call, call.arg(0), unknown("a path").value, leaves(call, call.arg(1)))
    ),
    "tree.flatten": Spec(lambda call: call.list_of(leaves(call, call.arg(0)))),
    "tree.flatten_with_path": Spec(
        lambda call: call.list_of(tup([unknown("a path").value, leaves(call, call.arg(0))]).value)
    ),
    "tree.traverse": Spec(lambda call: call_back(call, call.arg(0), leaves(call, call.arg(1))) or opaque(call)),
    "more_itertools.chunked": Spec(lambda call: iterator_of(call, call.list_of(call.elements(call.arg(0))))),
    "more_itertools.flatten": Spec(lambda call: iterator_of(call, call.elements(call.elements(call.arg(0))))),
}


def _reduced(call: Call) -> Value:
    from hybridize.library.python.iteration import FUNCTIONS as ITERATION

    rule = ITERATION["functools.reduce"].rule
    return rule(call) if rule is not None else BOTTOM
