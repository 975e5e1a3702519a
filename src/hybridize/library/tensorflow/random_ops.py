"""Random operations: stateful ones change TensorFlow's own state only, which is no Python side effect."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value
from hybridize.domain.tensors import Shape
from hybridize.library.operands import Args, Unsure, chosen, common, group, op, same
from hybridize.library.shapes import broadcast_all, like, shaped
from hybridize.library.spec import Call, Spec, nothing, parametrized
from hybridize.library.tensorflow.creation import count_of


@parametrized
def _with_parameters(a: Args, *names: str, leading: bool = False) -> Shape:
    """The given shape, in front of (`leading`) or broadcast against the parameters' shapes."""
    dims = a.dims("shape")
    parameters = broadcast_all(a.tensor(n).shape for n in names if a.given(n))
    if parameters is None:
        raise Unsure
    return (*dims, *parameters) if leading else dims


def _categorical(a: Args) -> Shape:
    return (a.tensor("logits").known[0], count_of(a, "num_samples"))


def _splits(a: Args) -> Shape:
    return (count_of(a, "num") if a.given("num") else 2, *a.tensor("seed").known)


def _generator(call: Call) -> Value:
    return call.made("tf.random.Generator").value


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(
        "tf.random.normal tf.random.truncated_normal tf.random.stateless_normal tf.random.stateless_truncated_normal "
        "tf.random.uniform tf.random.stateless_uniform",
        op(chosen("float32"), shaped()),
    ),
    "tf.random.stateless_parameterized_truncated_normal": op(
        lambda a: common(a.tensor(n) for n in ("means", "stddevs", "minvals", "maxvals") if a.given(n)), shaped()
    ),
    "tf.random.gamma": op(chosen("float32"), _with_parameters("alpha", "beta", leading=True)),
    "tf.random.poisson": op(chosen("float32"), _with_parameters("lam", leading=True)),
    "tf.random.stateless_gamma": op(chosen("float32"), shaped()),
    "tf.random.stateless_poisson": op(chosen("int32"), shaped()),
    "tf.random.stateless_binomial": op(chosen("int32", "output_dtype"), shaped()),
    **group("tf.random.categorical tf.random.stateless_categorical", op(chosen("int64"), _categorical)),
    "tf.random.split": op(same("seed"), _splits),
    "tf.random.fold_in": op(same("seed"), like("seed")),
    **group("tf.random.set_seed tf.random.set_global_generator", Spec(nothing, effects=("random",))),
    "tf.random.get_global_generator": Spec(_generator),
}
