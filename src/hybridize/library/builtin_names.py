"""The names that Python defines everywhere."""

from __future__ import annotations

import builtins
from typing import Final

BUILTINS: Final = frozenset(dir(builtins)) | {"WindowsError", "unicode", "xrange", "raw_input", "basestring", "long"}
