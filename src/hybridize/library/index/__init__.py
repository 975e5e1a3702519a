"""The public API of TensorFlow, Keras and NumPy as data: names, aliases, kinds, parameters, classes, releases.

    entry = lookup("tensorflow.keras.layers.Dense")      # or "keras.layers.Dense", "tf_keras.layers.Dense", ...
    entry.name, entry.kind                                # "keras.layers.Dense", "class"
    canonical("tensorflow.add")                           # "tf.math.add"
    bind(lookup("tf.reshape"), [x, shape], {}).values     # {"tensor": x, "shape": shape}

Importing this costs nothing; the first question about a package reads that package's names, the first one about
parameters its records. `scripts/build_index.py` makes the data from installed packages; how canonical names are chosen
is said there.
"""

from hybridize.library.index.lookup import (
    canonical,
    is_subclass,
    known_package,
    lookup,
    members,
    release_of,
    symbols,
    versions,
)
from hybridize.library.index.model import (
    RELEASES,
    Binding,
    Entry,
    Kind,
    Parameter,
    ParameterKind,
    Release,
    bind,
    bind_parameters,
)

__all__ = [
    "RELEASES",
    "Binding",
    "Entry",
    "Kind",
    "Parameter",
    "ParameterKind",
    "Release",
    "bind",
    "bind_parameters",
    "canonical",
    "is_subclass",
    "known_package",
    "lookup",
    "members",
    "release_of",
    "symbols",
    "versions",
]
