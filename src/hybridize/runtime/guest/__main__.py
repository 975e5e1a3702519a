"""The start: `python THIS_FILE JOB.json` runs the job's program; a process that the program spawns calls `join`."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

#: The package's name in the user's process, where nobody else uses it.
NAME = "_hybridize_guest"


def _package() -> Any:
    """The folder of this file as a package, on no path."""
    if NAME not in sys.modules:
        folder = os.path.dirname(os.path.abspath(__file__))
        initial = os.path.join(folder, "__init__.py")
        spec: Any = importlib.util.spec_from_file_location(NAME, initial, submodule_search_locations=[folder])
        package = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = package
        keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        spec.loader.exec_module(package)
        importlib.import_module(f"{NAME}.session")
        sys.dont_write_bytecode = keep
    return sys.modules[f"{NAME}.session"]


def start(job: str) -> None:
    """Runs the program of a job in this process, as `python SCRIPT ARGUMENTS` would; ends with its exit code."""
    _package().Session(job).run()


def join(job: str) -> None:
    """Prepares a process that the program spawned: the same sources, the same report."""
    _package().Session(job).join()


if __name__ == "__main__":
    start(sys.argv[1])
