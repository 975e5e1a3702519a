"""What Keras finds by name: `keras.losses.get("mse")`, `keras.initializers.get("he_normal")` and their like."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE, Bound, Func, Inst, LibInst, Lit, Prim, Unknown, Value, lib, unknown
from hybridize.domain.unknowns import Why
from hybridize.library.index import lookup
from hybridize.library.spec import Call, Spec, parametrized


@parametrized
def _by_name(call: Call, what: str) -> Value:
    """A function of the name, or an instance of the class; what is no name stays as it is."""
    module = call.name.rpartition(".")[0]
    result = BOTTOM
    for obj in call.arg(0, "identifier"):
        text = getattr(obj, "const", None)
        if not isinstance(text, str):
            keeps = isinstance(obj, (Func, Inst, Bound, LibInst)) or obj is NONE
            result = join(result, obj.value if keeps else unknown(what).value)
            continue
        camel = "".join(part[:1].upper() + part[1:] for part in text.split("_"))
        found = next((e for n in (text, camel) if (e := lookup(f"{module}.{n}")) is not None), None)
        if found is None:
            result = join(result, unknown(what).value)
        elif found.kind == "class":
            made = call.engine.calls.call_value(call.frame, call.pos, lib(found.name).value, [], {}, How.CALL)
            result = join(result, made)
        else:
            result = join(result, lib(found.name).value)
    return result


def unknown_setting(name: str) -> Unknown:
    """A setting of a layer of which nobody knows what it is."""
    return unknown(f"the setting `{name}` of a layer", Why.ACTIVATION if name == "activation" else Why.OTHER)


def activations(given: Value) -> Value:
    """Activations by name, or as functions."""
    result = BOTTOM
    for obj in given:
        if isinstance(obj, Lit) and isinstance(obj.const, str):
            result = join(result, lib(f"keras.activations.{obj.const}").value)
        elif obj is NONE:
            result = join(result, lib("keras.activations.linear").value)
        elif isinstance(obj, Prim) and obj.kind == "str":
            result = join(result, unknown_setting("activation").value)
        else:
            result = join(result, obj.value)
    return result


FUNCTIONS: Final[dict[str, Spec]] = {
    "keras.activations.get": Spec(lambda call: activations(call.arg(0))),
    "keras.initializers.get": Spec(_by_name("an initializer")),
    "keras.regularizers.get": Spec(_by_name("a regularizer")),
    "keras.constraints.get": Spec(_by_name("a constraint")),
    "keras.losses.get": Spec(_by_name("a loss")),
}
