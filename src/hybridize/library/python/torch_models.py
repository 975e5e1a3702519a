"""PyTorch, as far as projects use it beside TensorFlow: it computes no TensorFlow, and what changes in place says so.

A tensor stands for its views, too: what changes one changes the other.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, INT_V, Value, stream
from hybridize.library.python.rules import instance, text_dict
from hybridize.library.spec import Call, Rule
from hybridize.library.stubs import read

_TENSOR: Final = "torch.Tensor"
_tensor: Final = instance(_TENSOR)

_RULES: Final[dict[str, Rule]] = {
    "_size": lambda call: INT_V if call.args else stream("tuple", INT_V).value,
    "_parameters": lambda call: call.list_of(_tensor(call), "iterator", "tensors"),
    "_state_dict": lambda call: text_dict(call, _tensor(call)),
}


def _called(call: Call) -> Value:
    """A module runs its `forward`."""
    found = BOTTOM
    if call.receiver is not None:
        forward = call.engine.attributes.find_method(call.frame, call.receiver, "forward")
        if forward:
            found = call.engine.calls.call_value(call.frame, call.pos, forward, call.args, call.kwargs, How.CALL)
    return found or _tensor(call)


FUNCTIONS, CLASSES = read("torch_models", globals() | _RULES)
