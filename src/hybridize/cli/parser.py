"""An argument parser that answers a mistake with one line and what was probably meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NoReturn

from hybridize.cli.errors import UsageError


class Parser(argparse.ArgumentParser):
    """`ArgumentParser` without abbreviations; mistakes raise `UsageError`."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]

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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean `x`?`, or nothing."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else ""
