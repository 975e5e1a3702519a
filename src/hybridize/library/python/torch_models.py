"""PyTorch, as far as projects use it beside TensorFlow: it computes no TensorFlow, and what changes in place says so.

A tensor stands for its views, too: what changes one changes the other.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, FLOAT_V, INT_V, STR_V, Value, stream
from hybridize.library.python.rules import (
    array,
    give,
    instance,
    itself,
    listed,
    methods,
    nothing,
    opaque,
    properties,
    table,
    text,
    text_dict,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Spec

_TENSOR: Final = "torch.Tensor"
_MODULE: Final = "torch.nn.Module"
_tensor: Final = instance(_TENSOR)

_VIEWS: Final = (
    "to cpu cuda detach view view_as reshape squeeze unsqueeze transpose permute expand expand_as contiguous narrow "
    "flatten unbind split chunk t select data float double half long int byte bool type type_as __getitem__ __iter__ "
    "requires_grad_ retain_grad_ unfold diagonal"
)
_PURE: Final = (
    "add sub mul div pow matmul mm bmm dot exp log log1p sqrt rsqrt abs neg sign sin cos tanh sigmoid relu softmax "
    "log_softmax logsumexp sum mean prod std var norm max min argmax argmin topk sort argsort cumsum cumprod clamp "
    "ceil floor round eq ne lt le gt ge all any nonzero masked_fill masked_select masked_scatter index_select "
    "index_add index_fill gather scatter scatter_add repeat repeat_interleave tril triu clone new new_zeros new_ones "
    "new_tensor new_full new_empty fill_diagonal outer cross roll flip unique where isnan isinf logical_not "
    "logical_and logical_or addmm baddbmm lerp erf atan2 median mode kthvalue __add__ __radd__ __sub__ __rsub__ "
    "__mul__ __rmul__ __truediv__ __rtruediv__ __matmul__ __pow__ __neg__ __invert__ __and__ __or__ __eq__ __ne__ "
    "__lt__ __le__ __gt__ __ge__"
)
_IN_PLACE: Final = (
    "add_ sub_ mul_ div_ pow_ exp_ log_ sqrt_ clamp_ clip_ fill_ zero_ copy_ masked_fill_ masked_scatter_ scatter_ "
    "scatter_add_ index_fill_ index_add_ index_copy_ squeeze_ unsqueeze_ t_ transpose_ tanh_ sigmoid_ relu_ neg_ abs_ "
    "round_ floor_ set_ resize_ detach_ addcmul_ addcdiv_ __setitem__ __iadd__ __isub__ __imul__ __itruediv__"
)
_DRAWN: Final = "uniform_ normal_ bernoulli_ random_ exponential_ log_normal_ cauchy_ geometric_"
_TENSOR_CLASS: Final = ClassSpec(
    methods={
        **methods(_VIEWS, itself),
        **methods(_PURE, _tensor),
        **methods(_IN_PLACE, itself, "mutate"),
        **methods(_DRAWN, itself, "mutate", "random"),
        **methods("bernoulli multinomial", _tensor, "random"),
        **methods("backward", nothing, "mutate"),
        **methods("register_hook", opaque, "mutate"),
        **methods("numpy __array__", array),
        **methods("tolist", listed(FLOAT_V)),
        **methods("item __float__", give(FLOAT_V)),
        **methods("dim numel nelement __len__ __int__ get_device", give(INT_V)),
        **methods("is_floating_point is_contiguous __bool__", truth),
        "size": Spec(lambda call: INT_V if call.args else stream("tuple", INT_V).value),
    },
    properties={
        "shape": give(stream("tuple", INT_V).value),
        **properties("data grad T mT real imag", itself),
        **properties("device dtype layout", give(STR_V)),
        **properties("requires_grad is_cuda is_leaf", truth),
        "ndim": give(INT_V),
    },
)


def _called(call: Call) -> Value:
    """A module runs its `forward`."""
    found = BOTTOM
    if call.receiver is not None:
        forward = call.engine.attributes.find_method(call.frame, call.receiver, "forward")
        if forward:
            found = call.engine.calls.call_value(call.frame, call.pos, forward, call.args, call.kwargs, How.CALL)
    return found or _tensor(call)


_MODULE_CLASS: Final = ClassSpec(
    methods={
        **methods("to cuda cpu eval train float half double requires_grad_ apply share_memory", itself, "mutate"),
        **methods(
            "load_state_dict register_buffer register_parameter add_module register_module zero_grad "
            "register_forward_hook register_backward_hook",
            nothing,
            "mutate",
        ),
        **methods("parameters buffers", lambda call: call.list_of(_tensor(call), "iterator", "tensors")),
        **methods("state_dict", lambda call: text_dict(call, _tensor(call))),
        **methods("children modules named_children named_modules named_parameters named_buffers", opaque),
        "extra_repr": Spec(text),
        "__init__": Spec(nothing),
    },
    properties={"training": truth},
    call=Spec(_called),
)
_MAKE: Final = (
    "tensor zeros ones from_numpy arange cat stack linspace eye full empty as_tensor zeros_like ones_like full_like "
    "empty_like logspace range concat hstack vstack dstack LongTensor FloatTensor ByteTensor BoolTensor"
)
_COMPUTE: Final = (
    "add sub subtract mul multiply div divide true_divide pow matmul mm bmm dot mv outer einsum tensordot exp expm1 "
    "log log1p log2 log10 sqrt rsqrt abs neg sign sin cos tan tanh asin acos atan atan2 sinh cosh sigmoid relu "
    "softmax log_softmax logsumexp sum mean prod std var norm max min maximum minimum argmax argmin topk sort argsort "
    "cumsum cumprod clamp clip ceil floor round eq ne lt le gt ge all any nonzero masked_select index_select gather "
    "scatter where tril triu transpose permute squeeze unsqueeze reshape flatten split chunk unbind flip roll "
    "repeat_interleave isnan isinf isfinite logical_and logical_or logical_not bincount unique median cross diag "
    "diagonal erf lerp meshgrid take narrow clone square reciprocal fmod remainder cdist histc searchsorted bucketize "
    "addmm baddbmm"
)
_FUNCTIONAL: Final = "torch.nn.functional"

FUNCTIONS: Final[dict[str, Spec]] = {
    **table("torch", f"{_MAKE} {_COMPUTE}", _tensor),
    **table(
        "torch", "randn rand randint randperm rand_like randn_like normal bernoulli multinomial", _tensor, "random"
    ),
    **table(_FUNCTIONAL, "dropout dropout1d dropout2d dropout3d alpha_dropout gumbel_softmax rrelu", _tensor, "random"),
    **table("torch", "is_tensor is_floating_point equal allclose", truth),
    **table("torch", "numel", give(INT_V)),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    _TENSOR: _TENSOR_CLASS,
    _MODULE: _MODULE_CLASS,
    "torch.nn.Parameter": ClassSpec(bases=(_TENSOR,)),
    **{
        f"torch.nn.{n}": ClassSpec(bases=(_MODULE,))
        for n in (
            "Linear Embedding Dropout Dropout2d LayerNorm BatchNorm1d BatchNorm2d Conv1d Conv2d Conv3d "
            "ConvTranspose1d ConvTranspose2d LSTM GRU RNN LSTMCell GRUCell RNNCell ReLU GELU Tanh Sigmoid Softmax "
            "LogSoftmax LeakyReLU ELU SiLU PReLU Identity Sequential ModuleList ModuleDict MaxPool1d MaxPool2d "
            "AvgPool1d AvgPool2d Flatten AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool1d MultiheadAttention "
            "Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder TransformerDecoderLayer "
            "CrossEntropyLoss MSELoss L1Loss NLLLoss BCELoss BCEWithLogitsLoss SmoothL1Loss KLDivLoss Upsample "
            "PixelShuffle ZeroPad2d DataParallel CosineSimilarity Bilinear EmbeddingBag Softplus Hardtanh ReLU6 "
            "GroupNorm InstanceNorm2d"
        ).split()
    },
}
