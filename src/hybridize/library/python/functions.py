"""Built-in functions: those on objects and names here, the others from the modules beside this one."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    NONE,
    NONE_V,
    STR_V,
    Class,
    Container,
    Func,
    Heap,
    Inst,
    LibInst,
    Lit,
    Prim,
    Tensor,
    Unknown,
    Value,
    Wrapper,
    lib,
    literal,
    unknown,
    unknown_result,
    wrapper,
)
from hybridize.domain.unknowns import Why
from hybridize.library.protocols import SHOWN, show
from hybridize.library.python import scalars, sequences
from hybridize.library.python.computed import models_in
from hybridize.library.python.sequences import give, special
from hybridize.library.spec import Call, ClassSpec, Rule, Spec


def _getattr(call: Call) -> Value:
    result = call.arg(2)
    name = call.constant(1, "")
    if isinstance(name, str):
        found = call.engine.attributes.get_attrs(call.frame, call.arg(0), name, call.pos)
        if result and any(isinstance(o, Unknown) for o in found):
            return join(found, result)
        return found or result
    names = [o.const for o in call.arg(1) if isinstance(o, Lit) and isinstance(o.const, str)]
    if names and len(names) == len(call.arg(1)):
        for each in names:
            result = join(result, call.engine.attributes.get_attrs(call.frame, call.arg(0), each, call.pos))
        return result
    for obj in call.arg(0):
        result = join(result, models_in(call.engine, call.frame, obj))
    return join(result, unknown("a computed attribute (`getattr`)", Why.COMPUTED).value)


def _setattr(call: Call) -> Value:
    name = call.constant(1, "")
    for obj in call.arg(0):
        if isinstance(name, str):
            call.engine.attributes.set_attr(call.frame, obj, name, call.arg(2), call.pos)
        elif isinstance(obj, Inst):
            call.write(obj.rest_cell(), call.arg(2))
            call.effect("attribute", "a computed attribute", obj)
    return NONE_V


def _super(call: Call) -> Value:
    frame = call.frame
    if call.args:
        starts = [o for o in call.arg(0) if isinstance(o, Class)]
        receivers = list(call.arg(1))
    else:
        frame.looks_at_arguments()
        func = frame.func
        while func is not None and func.owner is None:
            return unknown("super() outside a method").value
        starts = [func.owner] if func is not None and func.owner is not None else []
        receivers = list(frame.args[0]) if frame.args else []
        if not receivers and func is not None:
            return unknown("super() in a nested function").value
    result = BOTTOM
    for start in starts:
        for receiver in receivers:
            result = join(result, wrapper("super", BOTTOM, start, receiver).value)
    return result or unknown("super()").value


def _isinstance(call: Call) -> Value:
    value = call.arg(0)
    for kind in call.arg(1):
        if isinstance(kind, Class) and kind.metaclass is not None:
            hook = call.engine.attributes.get_attrs(call.frame, kind.metaclass.value, "__instancecheck__", call.pos)
            call.call(frozenset(o for o in hook if isinstance(o, Func)), kind.value, value, how=How.OPERATOR)
    yes = call.engine.protocols.narrow(call.frame, value, call.arg(1), True)
    no = call.engine.protocols.narrow(call.frame, value, call.arg(1), False)
    if yes and no:
        return BOOL_V
    return literal(bool(yes)).value if value else BOTTOM


#: What every eager tensor has.
_OF_TENSORS: Final = frozenset({"shape", "dtype", "numpy", "get_shape", "ndim"})


def _hasattr(call: Call) -> Value:
    name = call.constant(1, "")
    value = call.arg(0)
    for obj in value:
        if isinstance(obj, Inst) and isinstance(name, str) and name not in obj.fields:
            found = call.engine.attributes.find_method(call.frame, obj, name)  # asking runs a property
            hook = call.engine.attributes.find_method(call.frame, obj, "__getattr__") if not found else BOTTOM
            if hook:
                call.call(hook, literal(name).value)
    if value and name in _OF_TENSORS and all(isinstance(o, Tensor) and o.kind in ("dense", "variable") for o in value):
        return literal(True).value
    return BOOL_V


def _property(call: Call) -> Value:
    deleter = call.arg(2, "fdel")
    return wrapper("property", call.arg(0, "fget"), call.arg(1, "fset"), *([deleter] if deleter else [])).value


def _type(call: Call) -> Value:
    if len(call.args) == 3:
        return unknown("a class made by `type`").value
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Inst):
            result = join(result, obj.cls.value)
        elif isinstance(obj, LibInst):
            result = join(result, lib(obj.cls).value)
        elif isinstance(obj, (Lit, Prim)):
            result = join(result, lib("types.NoneType" if obj is NONE else f"builtins.{obj.kind}").value)
        elif isinstance(obj, Container):
            result = join(result, lib(f"builtins.{obj.kind}").value)
        elif isinstance(obj, Tensor) and obj.kind == "dense":
            result = join(result, lib("tf.python.framework.ops.EagerTensor").value)
        else:
            result = join(result, unknown("a type").value)
    return result


def _wrap(kind: str) -> Rule:
    return lambda call: wrapper(kind, call.arg(0)).value


def _vars(call: Call) -> Value:
    name = call.name.rpartition(".")[2]
    unclear = unknown("a namespace dictionary", Why.COMPUTED).value
    if name == "globals":
        return wrapper("namespace", unclear, call.frame.module).value
    result = BOTTOM
    for obj in call.arg(0):
        result = join(result, wrapper("namespace", unclear, obj).value if isinstance(obj, Heap) else unclear)
    return result or unclear


def _print(call: Call) -> Value:
    """Output, except into a buffer: then that is changed."""
    for value in call.args:
        show(call.engine, call.frame, value, SHOWN, call.pos)
    for obj in call.arg(-1, "file", NONE_V):
        if isinstance(obj, LibInst) and obj.cls in ("io.StringIO", "io.BytesIO"):
            call.effect("mutate", "print", obj)
        elif isinstance(obj, Inst) and call.engine.attributes.find_method(call.frame, obj, "write"):
            special(call, obj, "write", STR_V)
        else:
            call.effect("print", call.name)
    return NONE_V


def _delattr(call: Call) -> Value:
    name = call.constant(1, "", "a computed attribute")
    for obj in call.arg(0):
        call.engine.attributes.del_attr(call.frame, obj, str(name), call.pos)
    return NONE_V


def _view(call: Call) -> Value:
    """A memory view writes into what it views."""
    return call.arg(0)


_NOTHING: Final = give(NONE_V)


_RULES: Final[dict[str, Rule]] = {
    **sequences.RULES,
    **scalars.RULES,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "delattr": _delattr,
    "super": _super,
    "isinstance": _isinstance,
    "issubclass": give(BOOL_V),
    "callable": lambda call: BOOL_V,
    "property": _property,
    "staticmethod": _wrap("staticmethod"),
    "classmethod": _wrap("classmethod"),
    "type": _type,
    "object": lambda call: call.made("builtins.object").value,
    "print": _print,
    "vars": _vars,
    "locals": _vars,
    "globals": _vars,
    "memoryview": _view,
}


def _exec(call: Call) -> Value:
    """`exec(code, names)`: fills the dictionary with what the code defines."""
    for obj in call.arg(1, "globals"):
        if isinstance(obj, Container) and obj.kind == "dict":
            call.write(obj.rest_cell(), unknown("a name that `exec` defines", Why.EXECUTED).value)
    return NONE_V


_EFFECTS: Final[dict[str, tuple[str, Rule]]] = {
    "input": ("io", give(STR_V)),
    "open": ("io", lambda call: call.made("io.TextIOWrapper").value),
    "exec": ("unknown_call", _exec),
    "eval": ("unknown_call", give(unknown_result("eval", Why.EVALUATED).value)),
    "compile": ("unknown_call", give(unknown("compiled code").value)),
    "__import__": ("unknown_call", give(unknown("a computed import").value)),
    "exit": ("io", give(BOTTOM)),
    "quit": ("io", give(BOTTOM)),
    "breakpoint": ("io", _NOTHING),
    "help": ("io", _NOTHING),
}


FUNCTIONS: Final[dict[str, Spec]] = {
    **{f"builtins.{name}": Spec(rule) for name, rule in _RULES.items()},
    **{f"builtins.{name}": Spec(rule, effects=(effect,)) for name, (effect, rule) in _EFFECTS.items()},
}


def _property_setter(call: Call) -> Value:
    old = call.receiver
    assert isinstance(old, Wrapper)
    if call.name.endswith("setter"):
        return wrapper("property", old.inner, call.arg(0), *old.extra[1:]).value
    if call.name.endswith("deleter"):
        return wrapper("property", old.inner, *(old.extra or (BOTTOM,))[:1], call.arg(0)).value
    return wrapper("property", call.arg(0), *old.extra).value


CLASSES: Final[dict[str, ClassSpec]] = {
    "wrapper.property": ClassSpec(
        methods={f"property.{name}": Spec(_property_setter) for name in ("setter", "getter", "deleter")}
    ),
}
