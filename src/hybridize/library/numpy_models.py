"""All models of NumPy, gathered from the package beside this module."""

from __future__ import annotations

from typing import Final

from hybridize.library.numpy import core
from hybridize.library.spec import Spec

FUNCTIONS: Final[dict[str, Spec]] = {**core.FUNCTIONS}
