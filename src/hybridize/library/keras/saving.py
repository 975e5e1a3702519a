"""What Keras writes to files by its name, and finds by it again: functions registered, or given with a file."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Func, Value, Wrapper, lib, unknown
from hybridize.library.spec import Call, Rule, Spec, parametrized

#: The effect of naming an object for files. Of a container all that is in it.
SAVED: Final = "saved"
#: The effect of naming it for layers alone: what `compile` was given is not made anew, or found by its plain name.
LAYERS: Final = "saved layers"
#: Files in which losses and metrics have nothing but their names.
_OLD_FILES: Final = (".h5", ".hdf5")


def _registered(call: Call) -> Value:
    """What `register_keras_serializable(...)` gives, called on a function or class."""
    for obj in call.arg(0):
        if isinstance(obj, (Func, Wrapper)):
            call.effect(SAVED, "keras.saving.register_keras_serializable", obj)
    return call.arg(0)


@parametrized
def _given(call: Call, index: int, rule: Rule) -> Value:
    """A rule for what takes `custom_objects` at a position."""
    for obj in call.arg(index, "custom_objects"):
        call.effect(SAVED, call.name, obj)
    return rule(call)


def _load(call: Call) -> Value:
    """A file is loaded: what `compile` was given is made anew unless it is told not to."""
    path = call.constant(0, "filepath")
    plain = call.constant(2, "compile") is False or (isinstance(path, str) and path.endswith(_OLD_FILES))
    for obj in call.arg(1, "custom_objects"):
        call.effect(LAYERS if plain else SAVED, call.name, obj)
    return _model(call)


def _custom_objects(call: Call) -> Value:
    """The dictionary that names functions and classes for all files."""
    made = call.new("dict", "custom objects")
    call.engine.cells.lose_exactness(made)
    call.write(made.rest_cell(), unknown("a custom object").value)
    call.effect(SAVED, call.name, made)
    return made.value


def _model(call: Call) -> Value:
    return call.made("keras.Model").value


FUNCTIONS: Final[dict[str, Spec]] = {
    "keras.utils.register_keras_serializable": Spec(
        lambda call: lib("keras.utils.registered").value, parameters=("package", "name")
    ),
    "keras.utils.registered": Spec(_registered),  # what the decorator above gives
    "keras.utils.get_custom_objects": Spec(_custom_objects),
    "keras.utils.custom_object_scope": Spec(_given(0, lambda call: unknown("a scope of custom objects").value)),
    "keras.models.load_model": Spec(_load, effects=("io",)),
    "keras.models.model_from_json": Spec(_given(1, _model)),
    "keras.models.model_from_config": Spec(_given(1, _model)),
}
