"""The command line. Only what `--version` needs is imported here; each command imports its rooms when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run `hybridize` with these arguments (default: the process's own) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["--version"], ["-V"]):
        from hybridize import __version__

        print(f"hybridize {__version__}")
        return 0
    from hybridize.cli.app import run

    return run(arguments)
