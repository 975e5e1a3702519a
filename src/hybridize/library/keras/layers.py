"""Shape rules of Keras layers."""

from __future__ import annotations

from typing import Final

from hybridize.library.spec import ClassSpec

CLASSES: Final[dict[str, ClassSpec]] = {}
