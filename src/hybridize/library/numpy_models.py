"""All models of NumPy, gathered from the package beside this module."""

from __future__ import annotations

from typing import Final

from hybridize.library.numpy import analysis, arrays, core, others, random
from hybridize.library.spec import ClassSpec, Spec

FUNCTIONS: Final[dict[str, Spec]] = {**core.FUNCTIONS, **others.FUNCTIONS, **analysis.FUNCTIONS, **random.FUNCTIONS}
CLASSES: Final[dict[str, ClassSpec]] = {**arrays.CLASSES, **others.CLASSES, **random.CLASSES}
