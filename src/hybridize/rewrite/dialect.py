"""The decorators that this tool writes. The only place of the room that knows TensorFlow by name."""

from hybridize.rewrite.model import DecoratorDialect

TENSORFLOW = DecoratorDialect(
    module="tensorflow",
    attribute="function",
    alias="tf",
    modules=("tensorflow", "tensorflow.compat.v2", "tensorflow.compat.v1", "tensorflow.compat.v1.compat.v2"),
    internals=(
        "tensorflow.python.eager.def_function.function",
        "tensorflow.python.eager.polymorphic_function.function",
        "tensorflow.python.eager.polymorphic_function.polymorphic_function.function",
    ),
    parameters=(
        "func",
        "input_signature",
        "autograph",
        "jit_compile",
        "reduce_retracing",
        "experimental_implements",
        "experimental_autograph_options",
        "experimental_attributes",
        "experimental_relax_shapes",
        "experimental_compile",
        "experimental_follow_type_hints",
    ),
    outermost_of=(
        "tensorflow.custom_gradient",
        "tensorflow.compat.v2.custom_gradient",
        "tensorflow.compat.v1.custom_gradient",
        "tensorflow.python.ops.custom_gradient.custom_gradient",
    ),
)
