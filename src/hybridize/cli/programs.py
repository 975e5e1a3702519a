"""What the commands that run user code share: which program, and what is analyzed for it."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path

from hybridize.cli.errors import UsageError
from hybridize.runtime.launch import Target


def check_limits(args: argparse.Namespace) -> None:
    """Raises UsageError for limits of time that are none."""
    for option, seconds in (("--timeout", args.timeout), ("--call-timeout", getattr(args, "call_timeout", None))):
        if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
            raise UsageError(f"{option} is a number of seconds above 0")


def target_of(args: argparse.Namespace) -> Target:
    """The program that is meant; raises UsageError if none is, or it isn't there."""
    chosen = [name for name in ("program", "module", "pytest") if getattr(args, name) not in (None, [])]
    if args.pytest == []:
        chosen.append("pytest")
    if len(chosen) != 1:
        raise UsageError("name one program: SCRIPT, -m MODULE or --pytest ARGUMENTS")
    prefix = {"program": [], "module": ["-m"], "pytest": ["--pytest"]}[chosen[0]]
    return target_in([*prefix, *getattr(args, chosen[0])])


def target_in(words: Sequence[str]) -> Target:
    """The program in `SCRIPT ...`, `-m MODULE ...` or `--pytest ...`; raises UsageError if there is none."""
    first, *rest = words or [""]
    if first == "--pytest":
        return Target.module("pytest", rest)
    if first == "-m" and rest:
        return Target.module(rest[0], rest[1:])
    return script_in(words, "SCRIPT, -m MODULE or --pytest ARGUMENTS")


def script_in(words: Sequence[str], forms: str) -> Target:
    """The script in `SCRIPT ...`; raises UsageError with the `forms` that the command takes if there is none."""
    first, *rest = words or [""]
    if first == "--":
        first, *rest = rest or [""]
    if not first or first.startswith("-"):
        said = f"unknown option {first}: what belongs to the program comes after it" if first else "name a program"
        raise UsageError(f"{said} ({forms})")
    if not os.path.exists(first):
        raise UsageError(f"no such file: {first}")
    return Target.script(first, rest)


def paths_of(args: argparse.Namespace, target: Target) -> list[str]:
    """What is analyzed: as said, else the current folder if the program is in it, else the script's folder."""
    if args.project:
        return list(args.project)
    if target.kind == "script":
        script = Path(target.name).resolve()
        if Path.cwd() not in script.parents:
            return [str(script.parent)]
    return ["."]
