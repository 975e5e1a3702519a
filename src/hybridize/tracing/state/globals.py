"""State that libraries keep for the whole program: which functions set it, and which tell it."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Cell

#: What it is, the functions that tell it, and those that set it.
_SETTINGS: Final = (
    (
        "Keras' float type",
        "keras.backend.floatx keras.config.floatx",
        "keras.backend.set_floatx keras.config.set_floatx",
    ),
    (
        "Keras' epsilon",
        "keras.backend.epsilon keras.config.epsilon",
        "keras.backend.set_epsilon keras.config.set_epsilon",
    ),
    (
        "Keras' image data format",
        "keras.backend.image_data_format keras.config.image_data_format",
        "keras.backend.set_image_data_format keras.config.set_image_data_format",
    ),
    (
        "Keras' dtype policy",
        "keras.mixed_precision.global_policy keras.mixed_precision.dtype_policy keras.config.dtype_policy",
        "keras.mixed_precision.set_global_policy keras.mixed_precision.set_dtype_policy keras.config.set_dtype_policy",
    ),
    ("the working directory", "os.getcwd os.getcwdb pathlib.Path.cwd", "os.chdir"),
    ("the locale", "locale.getlocale locale.localeconv locale.getpreferredencoding", "locale.setlocale"),
    ("the recursion limit", "sys.getrecursionlimit", "sys.setrecursionlimit"),
    ("NumPy's print options", "np.get_printoptions", "np.set_printoptions"),
    ("NumPy's handling of errors", "np.geterr", "np.seterr"),
    ("the decimal context", "decimal.getcontext", "decimal.setcontext"),
    ("whether functions run eagerly", "tf.config.functions_run_eagerly", "tf.config.run_functions_eagerly"),
    ("TensorFlow's generator", "tf.random.get_global_generator", "tf.random.set_global_generator"),
    ("whether XLA compiles", "tf.config.optimizer.get_jit", "tf.config.optimizer.set_jit"),
    (
        "the step of summaries",
        "tf.summary.experimental.get_step",
        "tf.summary.experimental.set_step",
    ),
    (
        "what Grappler does",
        "tf.config.optimizer.get_experimental_options",
        "tf.config.optimizer.set_experimental_options",
    ),
    (
        "soft device placement",
        "tf.config.get_soft_device_placement",
        "tf.config.set_soft_device_placement",
    ),
    (
        "the logging of device placement",
        "tf.debugging.get_log_device_placement",
        "tf.debugging.set_log_device_placement",
    ),
    (
        "the use of TensorFloat-32",
        "tf.config.experimental.tensor_float_32_execution_enabled",
        "tf.config.experimental.enable_tensor_float_32_execution",
    ),
    (
        "the device policy",
        "tf.config.experimental.get_device_policy",
        "tf.config.experimental.set_device_policy",
    ),
    (
        "synchronous execution",
        "tf.config.experimental.get_synchronous_execution",
        "tf.config.experimental.set_synchronous_execution",
    ),
    (
        "the filtering of tracebacks",
        "tf.debugging.is_traceback_filtering_enabled",
        "tf.debugging.enable_traceback_filtering tf.debugging.disable_traceback_filtering",
    ),
    (
        "the number of threads",
        "tf.config.threading.get_inter_op_parallelism_threads tf.config.threading.get_intra_op_parallelism_threads",
        "tf.config.threading.set_inter_op_parallelism_threads tf.config.threading.set_intra_op_parallelism_threads",
    ),
    (
        "Keras' learning phase",
        "keras.backend.learning_phase",
        "keras.backend.set_learning_phase keras.backend.learning_phase_scope",
    ),
    (
        "whether Keras logs interactively",
        "keras.utils.is_interactive_logging_enabled keras.config.is_interactive_logging_enabled",
        "keras.utils.enable_interactive_logging keras.utils.disable_interactive_logging "
        "keras.config.enable_interactive_logging keras.config.disable_interactive_logging",
    ),
    ("TensorFlow's verbosity", "tf.compat.v1.logging.get_verbosity", "tf.compat.v1.logging.set_verbosity"),
    ("whether garbage is collected", "gc.isenabled gc.get_threshold", "gc.enable gc.disable gc.set_threshold"),
)
#: Functions that use a setting where this parameter of theirs is not given: the setting's function that tells it.
UNLESS_GIVEN: Final = {
    **dict.fromkeys(
        (f"tf.summary.{name}" for name in ("scalar", "image", "histogram", "text", "audio", "write")),
        ("step", "tf.summary.experimental.get_step"),
    ),
    **dict.fromkeys(
        ("keras.backend.in_train_phase", "keras.backend.in_test_phase"), ("training", "keras.backend.learning_phase")
    ),
}
_CELLS: Final = tuple(Cell() for _ in _SETTINGS)
#: The places that stand for such state.
GLOBALS: Final = frozenset(_CELLS)
#: By the function that tells it: the place, and what it is for people.
TELLING: Final[dict[str, tuple[Cell, str]]] = {
    name: (cell, said) for cell, (said, tells, _) in zip(_CELLS, _SETTINGS, strict=True) for name in tells.split()
}
#: By the function that sets it: the place.
SETTING: Final[dict[str, Cell]] = {
    name: cell for cell, (_, _, sets) in zip(_CELLS, _SETTINGS, strict=True) for name in sets.split()
}
