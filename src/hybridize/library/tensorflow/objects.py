"""Objects of TensorFlow that make or hold tensors: initializers and random generators."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import BOTTOM, LibInst, Value, tensor
from hybridize.domain.tensors import DENSE, DYNAMIC
from hybridize.library.convert import PYTHON_TF, type_of_value
from hybridize.library.operands import Args, expand, sure
from hybridize.library.spec import Call, ClassSpec, Spec, parametrized

_GENERATOR: Final = "tf.random.Generator"


@parametrized
def _shaped(call: Call, parameters: str, default: str | None) -> Value:
    """A tensor of the shape that the first argument gives; the parameters of the method by position."""

    def one(inner: Call) -> Value:
        a = Args(inner, "", tuple(parameters.split()))
        dtype = a.dtype("dtype", default=default)
        return tensor(DENSE, dtype, sure(lambda b: b.dims("shape"), a)).value

    return expand(call, one)


def _constant(call: Call) -> Value:
    """`tf.constant_initializer(value)(shape, dtype)`: the dtype is that of the value if none is given."""
    receiver = call.receiver
    value = call.field(receiver, "value") if isinstance(receiver, LibInst) else BOTTOM
    return _shaped("shape dtype", type_of_value(call, value, PYTHON_TF)[0])(call)


def _generator(call: Call) -> Value:
    return call.made(_GENERATOR).value


FUNCTIONS: Final[dict[str, Spec]] = {
    f"{_GENERATOR}.{name}": Spec(_generator)
    for name in ("from_seed", "from_state", "from_key_counter", "from_non_deterministic_state")
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "tf.zeros_initializer": ClassSpec(call=Spec(_shaped("shape dtype", "float32"), op=True)),
    "tf.ones_initializer": ClassSpec(call=Spec(_shaped("shape dtype", "float32"), op=True)),
    "tf.random_normal_initializer": ClassSpec(call=Spec(_shaped("shape dtype", "float32"), op=True)),
    "tf.random_uniform_initializer": ClassSpec(call=Spec(_shaped("shape dtype", "float32"), op=True)),
    "tf.constant_initializer": ClassSpec(call=Spec(_constant, op=True)),
    _GENERATOR: ClassSpec(
        methods={
            "normal": Spec(_shaped("shape mean stddev dtype", "float32"), op=True),
            "truncated_normal": Spec(_shaped("shape mean stddev dtype", "float32"), op=True),
            "uniform": Spec(_shaped("shape minval maxval dtype", "float32"), op=True),
            "uniform_full_int": Spec(_shaped("shape dtype", "uint64"), op=True),
            "binomial": Spec(_shaped("shape counts probs dtype", "int32"), op=True),
            "make_seeds": Spec(lambda call: tensor(DENSE, "int64", (2, DYNAMIC)).value, op=True),
            "split": Spec(lambda call: call.list_of(_generator(call))),
            "skip": Spec(lambda call: tensor(DENSE, "int64", (3,)).value, op=True),
        }
    ),
}
