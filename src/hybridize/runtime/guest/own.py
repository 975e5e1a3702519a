"""Which modules are the program's, and not a library's."""

from __future__ import annotations

import os
import sys


class Own:
    """Tells by a module's name; `folders` are those with the user's code."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = tuple(os.path.realpath(folder) + os.sep for folder in folders)
        self._known: dict[str, bool] = {}

    def __call__(self, module: str) -> bool:
        found = self._known.get(module)
        if found is None:
            path = getattr(sys.modules.get(module), "__file__", None)
            real = os.path.realpath(path) if path else ""
            installed = "site-packages" in real or "dist-packages" in real
            found = module in ("__main__", "__mp_main__") or (real.startswith(self._folders) and not installed)
            self._known[module] = found
        return found
