"""Whole families of names that behave alike, for what the tables do not list one by one.

`family_function` and `family_class` answer for names of packages that are known well enough to say what any of them
does: every `pytest.mark.*` leaves its function as it is, every function of TensorFlow Probability computes and
has no effect in Python, every one of `matplotlib.pyplot` changes the current figure.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from hybridize.domain.objects import FLOAT_V, NONE_V, unknown
from hybridize.library.python.gaussian import MODEL
from hybridize.library.python.probability import CLASSES, computes
from hybridize.library.python.rules import (
    ARRAY_V,
    SCALAR_V,
    decorator,
    give,
    instance,
    methods,
    nothing,
    opaque,
    text,
    truth,
)
from hybridize.library.spec import ClassSpec, Spec

_QUIET: Final = Spec(opaque)
#: By prefix; the longest that fits decides.
_FUNCTIONS: Final[dict[str, Spec]] = {
    "pytest.mark.": Spec(decorator),
    "tensorflow_probability.": Spec(computes),
    "tensorflow_probability.python.internal.": _QUIET,
    "tensorflow_addons.": Spec(computes),
    "tensorflow_addons.utils.": _QUIET,
    "tensorflow_addons.options.": Spec(nothing, effects=("state",)),
    "tensorflow_text.": Spec(computes),
    "tensorflow_transform.": Spec(computes),
    "torch.nn.functional.": Spec(instance("torch.Tensor")),
    "tensorflow_io.": Spec(opaque, effects=("io",)),
    # Operations of a graph: what they decode is given to them.
    **dict.fromkeys((f"tensorflow_io.{n}." for n in ("image", "audio", "genome")), Spec(computes)),
    "tensorflow_io.audio.AudioIO": Spec(opaque, effects=("io",)),
    "tensorflow_graphics.": Spec(computes),
    "gpflow.logdensities.": Spec(computes),
    "gpflow.likelihoods.utils.": Spec(computes),
    "gpflow.kullback_leiblers.": Spec(computes),
    "gpflow.covariances.": Spec(computes),
    "tensorflow_datasets.": Spec(opaque, effects=("io",)),
    "absl.logging.": Spec(nothing, effects=("print",)),
    "absl.flags.": Spec(opaque, effects=("state",)),
    "matplotlib.": Spec(opaque, effects=("state",)),
    "seaborn.": Spec(opaque, effects=("state",)),
    "plotly.": Spec(opaque, effects=("state",)),
    "bokeh.": Spec(opaque, effects=("state",)),
    "wandb.": Spec(opaque, effects=("io",)),
    "mlflow.": Spec(opaque, effects=("io",)),
    "scipy.": Spec(give(ARRAY_V)),
    "scipy.io.": Spec(opaque, effects=("io",)),
    "scipy.stats.": _QUIET,
    "scipy.optimize.": Spec(opaque, effects=("unknown_call",)),
    "sklearn.metrics.": Spec(give(FLOAT_V)),
    "sklearn.datasets.": Spec(opaque, effects=("io", "random")),
    "skimage.": Spec(give(ARRAY_V)),
    "skimage.io.": Spec(opaque, effects=("io",)),
    "unittest.mock.": Spec(opaque, effects=("state",)),
    "os.path.": Spec(text),
    "os.": Spec(opaque, effects=("io",)),
    "shutil.": Spec(opaque, effects=("io",)),
    "subprocess.": Spec(opaque, effects=("io",)),
    "socket.": Spec(opaque, effects=("io",)),
    "requests.": Spec(opaque, effects=("io",)),
    "urllib.request.": Spec(opaque, effects=("io",)),
    "sqlite3.": Spec(opaque, effects=("io",)),
    "psutil.": Spec(opaque, effects=("environment",)),
    "platform.": Spec(text, effects=("environment",)),
    "math.": Spec(give(FLOAT_V)),
    "random.": Spec(give(SCALAR_V), effects=("random",)),
    "time.": Spec(give(SCALAR_V), effects=("clock",)),
    "string.": Spec(text),
    "keyword.": Spec(truth),
    "typing.": Spec(give(unknown("a type").value)),
    "typing_extensions.": Spec(give(unknown("a type").value)),
    "warnings.": Spec(give(NONE_V), effects=("state",)),
    "gc.": Spec(opaque, effects=("state",)),
    "ast.": _QUIET,
    "inspect.": _QUIET,
    "dis.": _QUIET,
    "packaging.": _QUIET,
    "distutils.version.": _QUIET,
    "textwrap.": Spec(text),
    "html.": Spec(text),
}
#: Packages whose classes hold no state of the world: making one and calling its methods changes at most the object.
_CLASSES: Final[dict[str, ClassSpec]] = {
    "gpflow.models.": MODEL,
    "gpflow.likelihoods.": CLASSES["gpflow.likelihoods.Likelihood"],
    "gpflow.kernels.": CLASSES["gpflow.kernels.Kernel"],
    "gpflow.mean_functions.": ClassSpec(bases=("tf.Module",), methods=methods("__call__", computes)),
    "gpflow.inducing_variables.": ClassSpec(bases=("tf.Module",)),
    "tensorflow_probability.": ClassSpec(),
    "tensorflow_addons.layers.": ClassSpec(bases=("keras.layers.Layer",)),
    "tensorflow_addons.optimizers.": ClassSpec(bases=("keras.optimizers.Optimizer",)),
    "tensorflow_addons.losses.": ClassSpec(bases=("keras.losses.Loss",)),
    "tensorflow_addons.metrics.": ClassSpec(bases=("keras.metrics.Metric",)),
    "tensorflow_addons.": ClassSpec(),
    "sklearn.": ClassSpec(bases=("sklearn.base.BaseEstimator",)),
    "scipy.": ClassSpec(),
    "matplotlib.": ClassSpec(),
    "typing.": ClassSpec(),
    "packaging.": ClassSpec(),
    "distutils.version.": ClassSpec(),
}


@cache
def family_function(name: str) -> Spec | None:
    """The model of a function by its package, for names without a model of their own; None for classes."""
    last = name.rpartition(".")[2]
    if last[:1].isupper() and not last.isupper():
        return None
    prefix = _longest(name, tuple(_FUNCTIONS))
    return _FUNCTIONS[prefix] if prefix else None


@cache
def family_class(name: str) -> ClassSpec | None:
    """The model of a class by its package, for names without a model of their own."""
    last = name.rpartition(".")[2]
    if not last[:1].isupper() or last.isupper():
        return None
    prefix = _longest(name, tuple(_CLASSES))
    return _CLASSES[prefix] if prefix else None


def _longest(name: str, prefixes: tuple[str, ...]) -> str:
    return max((p for p in prefixes if name.startswith(p)), key=len, default="")
