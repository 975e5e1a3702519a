"""TensorFlow Probability and TensorFlow Addons: they compute with TensorFlow and have no effects in Python."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    LibInst,
    Tensor,
    Tup,
    Value,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE
from hybridize.library.defaults import OF_JOINT
from hybridize.library.python.gaussian import MODELS
from hybridize.library.python.rules import call_back, functions_in, give, instance, recall
from hybridize.library.spec import Call, Rule
from hybridize.library.stubs import read

TENSOR_V: Final = tensor(DENSE).value


def computes(call: Call) -> Value:
    """A TensorFlow computation whose result's shape is not known."""
    call.frame.computes(call.pos, call.name)
    return TENSOR_V


def _like_input(call: Call) -> Value:
    """A layer or function that keeps shape and dtype."""
    call.frame.computes(call.pos, call.name)
    found = BOTTOM
    for obj in call.arg(0, "inputs"):
        if isinstance(obj, Tensor):
            kind = DENSE if obj.kind in (VARIABLE, NDARRAY) else obj.kind
            found = join(found, tensor(kind, obj.dtype, obj.shape).value)
    return found or TENSOR_V


def _moved(call: Call) -> Value:
    """`chain.forward(x)`: a tensor if all parts of the chain take and give tensors, else perhaps a structure."""
    call.frame.computes(call.pos, call.name)
    kept = join(recall(call, "bijectors"), join(recall(call, "bijector"), recall(call, "argument 0")))
    nested = frozenset(o for o in kept if isinstance(o, (Container, Tup)))
    parts = join(kept - nested, call.elements(nested) if nested else BOTTOM)
    plain = all(isinstance(o, LibInst) and ".bijectors." in o.cls and o.cls in CLASSES for o in parts)
    return TENSOR_V if plain else unknown("a value of a bijector, which may be a structure").value


_TRANSFORMS: Final = instance("tensorflow_probability.distributions.TransformedDistribution")


def _called(call: Call) -> Value:
    """`bijector(x)`: of a distribution another one, of a bijector a chain of both, of anything else its value."""
    kinds = [o.cls.rpartition(".")[0] if isinstance(o, LibInst) else "" for o in call.arg(0)]
    if kinds and all(kind.endswith(".distributions") for kind in kinds):
        return _TRANSFORMS(call)
    if kinds and all(kind.endswith(".bijectors") for kind in kinds):
        return instance("tensorflow_probability.bijectors.Chain")(call)
    return _moved(call)


def _chain(call: Call) -> Value:
    """`sample_chain(...)` calls the trace function and the kernel's target."""
    for func in functions_in(call.kwargs.get("trace_fn", NONE_V)):
        call_back(call, func.value, TENSOR_V, unknown("the results of a kernel").value)
    call.frame.computes(call.pos, call.name)
    return unknown("the states of a chain").value


def _kernel(call: Call) -> Value:
    target = call.kwargs.get("target_log_prob_fn", call.arg(0))
    for func in functions_in(target):
        count = len(getattr(getattr(func, "code", None), "params", ())) or 1
        call_back(call, func.value, *[TENSOR_V] * min(count, 6))
    return instance("tensorflow_probability.mcmc.TransitionKernel")(call)


def _value_and_gradient(call: Call) -> Value:
    value = call_back(call, call.arg(0), *call.args[1:]) if call.args else BOTTOM
    call.frame.computes(call.pos, call.name)
    return tup([value or TENSOR_V, TENSOR_V]).value


def _minimized(call: Call) -> Value:
    """`lbfgs_minimize(value_and_gradients_function, initial_position)`."""
    call_back(call, call.arg(0), TENSOR_V)
    call.frame.computes(call.pos, call.name)
    return unknown("the results of an optimizer").value


def _named_tuple(_: Call) -> Value:
    """A tuple with methods of its own, of which nothing is known but that a graph may hold and return it."""
    return unknown("a named tuple of TF-Agents").value


_PAIR: Final = tup([TENSOR_V, TENSOR_V]).value


def _moments(call: Call) -> Value:
    """Mean and variance."""
    call.frame.computes(call.pos, call.name)
    return _PAIR


def _assigned(call: Call) -> Value:
    """Another value for a parameter, which stays what it is."""
    call.frame.computes(call.pos, call.name)
    return call.receiver.value if call.receiver is not None else BOTTOM


_RULES: Final[dict[str, Rule]] = {
    "_shape": give(stream("TensorShape", INT_V).value),
    "_sample_of_joint": lambda call: unknown(OF_JOINT).value,
}
FUNCTIONS, CLASSES = read("probability", globals() | _RULES)
CLASSES |= MODELS
