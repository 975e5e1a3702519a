"""An argument parser that answers a mistake with one line and what was probably meant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from hybridize.cli.errors import UsageError

_WIDTH = 80  # of a terminal that does not say


class _Formatter(argparse.HelpFormatter):
    """As wide as the terminal. `argparse` makes one for each argument, and would import `shutil` for the width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_terminal_width() - 2)


class Parser(argparse.ArgumentParser):
    """`ArgumentParser` without abbreviations; mistakes raise `UsageError`.

    `steps` are those of a command that takes its first one to be meant where none is named.
    """

    steps: Sequence[str] = ()

    def __init__(self, *args: object, **kwargs: object) -> None:
        kwargs.setdefault("allow_abbrev", False)
        kwargs.setdefault("formatter_class", _Formatter)
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As of `ArgumentParser`, with the first of `steps` in front where none is there."""
        if self.steps and (not args or args[0] not in (*self.steps, "-h", "--help")):
            args = [self.steps[0], *(args or ())]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage."""
        raise UsageError(f"{message}\nrun `{self.prog} --help` to see what there is")

    def unknown(self, extras: Sequence[str]) -> NoReturn:
        """The mistake of arguments that nothing takes."""
        word = next((extra for extra in extras if extra.startswith("-")), extras[0])
        if not word.startswith("-"):
            self.error(f"unexpected argument `{word}`")
        self.error(f"unknown option `{word}`{did_you_mean(word.partition('=')[0], self.option_names())}")

    def option_names(self) -> list[str]:
        """The options that `--help` shows."""
        return [
            name for action in self._actions for name in action.option_strings if action.help is not argparse.SUPPRESS
        ]


def _terminal_width() -> int:
    """As `shutil.get_terminal_size` finds it."""
    said = os.environ.get("COLUMNS", "")
    if said.isdigit() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _WIDTH  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        return _WIDTH


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean `x`?`, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else ""
