"""Whole families of names that behave alike, for what the tables do not list one by one.

`family_function` and `family_class` answer for names of packages that are known well enough to say what any of them
does: every `pytest.mark.*` leaves its function as it is, every function of TensorFlow Probability computes and
has no effect in Python, every one of `matplotlib.pyplot` changes the current figure.
"""

from __future__ import annotations

from functools import cache

from hybridize.library.python.gaussian import MODEL
from hybridize.library.python.probability import CLASSES, computes
from hybridize.library.spec import ClassSpec, Spec
from hybridize.library.stubs import read

_FUNCTIONS, _CLASSES = read("families", {"computes": computes})
_CLASSES |= {
    "gpflow.models.": MODEL,
    "gpflow.likelihoods.": CLASSES["gpflow.likelihoods.Likelihood"],
    "gpflow.kernels.": CLASSES["gpflow.kernels.Kernel"],
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
