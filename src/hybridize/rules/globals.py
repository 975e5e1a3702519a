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
)
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
