"""The command line. Only what `--version` needs is imported here; each command imports its rooms when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["entry", "main"]

#: Commands that only analyze: nothing of the user's runs in their process, and nothing outlives it.
_ANALYZING = frozenset({"check", "explain", "fix", "report"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run `hybridize` with these arguments (default: the process's own) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["--version"], ["-V"]):
        from hybridize import __version__

        print(f"hybridize {__version__}")
        return 0
    from hybridize.cli.app import run

    return run(arguments)


def entry() -> int:
    """The process `hybridize`. An analysis holds all it makes until its end, so that collecting garbage, and freeing
    every object at the end, would cost a fifth of its time and gain nothing."""
    if next((a for a in sys.argv[1:] if not a.startswith("-")), "") not in _ANALYZING:
        return main()
    import gc
    import os

    gc.disable()
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code  # the interpreter says what is wrong with its streams
    os._exit(code)
