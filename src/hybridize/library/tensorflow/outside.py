"""What TensorFlow's Python side does to the world: files, settings of the process, logs, profiles."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import BOOL_V, INT_V, NONE_V, STR_V, Value, prim, unknown
from hybridize.library.spec import Call, ClassSpec, Rule, Spec


def _give(value: Value) -> Rule:
    return lambda call: value


def _made(cls: str) -> Rule:
    return lambda call: call.made(cls).value


def _itself(call: Call) -> Value:
    return call.receiver.value if call.receiver is not None else NONE_V


def _table(prefix: str, names: str, rule: Rule, *effects: str) -> dict[str, Spec]:
    return {f"{prefix}{name}": Spec(rule, effects=effects) for name in names.split()}


_nothing: Final = _give(NONE_V)
_strings: Final[Rule] = lambda call: call.list_of(STR_V, "list", "names")  # noqa: E731  # one of a table of rules
_CONTENTS: Final = prim("bytes").value | STR_V

FUNCTIONS: Final[dict[str, Spec]] = {
    **_table("tf.io.gfile.", "makedirs mkdir remove rmtree copy rename", _nothing, "io"),
    **_table("tf.io.gfile.", "exists isdir", _give(BOOL_V)),
    **_table("tf.io.gfile.", "glob listdir", _strings),
    **_table("tf.io.gfile.", "join", _give(STR_V)),
    **_table("tf.io.", "write_graph", _give(STR_V), "io"),
    **_table("tf.train.", "write_graph update_checkpoint_state", _nothing, "io"),
    **_table("tf.config.", "set_soft_device_placement set_logical_device_configuration", _nothing, "state"),
    **_table("tf.config.", "experimental_connect_to_cluster experimental_connect_to_host", _nothing, "state"),
    **_table("tf.config.optimizer.", "set_jit set_experimental_options", _nothing, "state"),
    **_table("tf.config.threading.", "set_inter_op_parallelism_threads", _nothing, "state"),
    **_table("tf.config.threading.", "set_intra_op_parallelism_threads", _nothing, "state"),
    **_table("tf.config.experimental.", "set_synchronous_execution", _nothing, "state"),
    **_table("tf.config.experimental.", "enable_op_determinism set_device_policy", _nothing, "state"),
    **_table("tf.config.experimental.", "enable_tensor_float_32_execution", _nothing, "state"),
    **_table("tf.summary.experimental.", "set_step", _nothing, "state"),
    "tf.summary.experimental.get_step": Spec(_give(INT_V | NONE_V)),
    **_table("tf.debugging.", "enable_check_numerics disable_check_numerics", _nothing, "state"),
    **_table("tf.debugging.", "enable_traceback_filtering disable_traceback_filtering", _nothing, "state"),
    **_table("tf.profiler.experimental.", "start stop", _nothing, "io"),
    **_table("tf.summary.", "trace_off", _nothing, "state"),
    "tf.summary.create_noop_writer": Spec(_made("tf.summary.SummaryWriter")),
    **_table("tf.compat.v1.logging.", "debug info warn warning error fatal log log_every_n", _nothing, "print"),
    **_table("tf.compat.v1.logging.", "set_verbosity", _nothing, "state"),
    **_table("tf.compat.v1.", "disable_v2_behavior enable_v2_behavior set_random_seed", _nothing, "state"),
    **_table("tf.compat.v1.", "reset_default_graph", _nothing, "state"),
    # Loaded once for the process, whoever asks again.
    **_table("tf.load_", "library op_library", _give(unknown("a library of operations").value)),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "tf.io.gfile.GFile": ClassSpec(
        methods={
            **_table("", "read readline", _give(_CONTENTS), "io"),
            **_table("", "readlines", _strings, "io"),
            **_table("", "write seek tell size", _give(INT_V), "io"),
            **_table("", "flush close", _nothing, "io"),
            **_table("", "__iter__ __next__", _give(STR_V), "io"),
            "__enter__": Spec(_itself),
        },
        effects=("io",),
    ),
    "tf.io.TFRecordWriter": ClassSpec(
        methods={**_table("", "write flush close", _nothing, "io"), "__enter__": Spec(_itself)}, effects=("io",)
    ),
    "tf.train.CheckpointManager": ClassSpec(
        methods={
            **_table("", "save restore_or_initialize", _give(STR_V), "io"),
            "sync": Spec(_nothing),
        },
    ),
    **{
        f"tf.train.{name}": ClassSpec(
            methods={
                "SerializeToString": Spec(_give(prim("bytes").value)),
                **_table("", "ParseFromString MergeFromString CopyFrom Clear", _nothing, "mutate"),
            }
        )
        for name in ("Example", "SequenceExample", "Features", "Feature", "FloatList", "Int64List", "BytesList")
    },
    "tf.profiler.experimental.Profile": ClassSpec(effects=("io",)),
}
