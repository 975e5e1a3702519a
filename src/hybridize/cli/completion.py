"""`hybridize completion SHELL`: the script that completes command lines in a shell, made of the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hybridize.cli.errors import NOTHING, UsageError
from hybridize.cli.options import OneOf

SHELLS = ("bash", "zsh", "fish")
_EPILOG = (
    'bash: eval "$(hybridize completion bash)" in ~/.bashrc. zsh: hybridize completion zsh > _hybridize in a folder of '
    "$fpath. fish: hybridize completion fish > ~/.config/fish/completions/hybridize.fish."
)
#: What arguments are called that are files, and folders.
_FILES = frozenset({"FILE", "PATH", "TARGET", "SCRIPT [ARGUMENT...]", "STUDY.db"})
_FOLDERS = frozenset({"DIR", "FOLDER", "REPO"})


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "completion",
        help="print the script that completes command lines in a shell",
        description="Prints the script that completes commands, options, their values and codes in a shell.",
        epilog=_EPILOG,
    )
    parser.add_argument("shell", type=OneOf(*SHELLS), metavar="SHELL", help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from hybridize.cli.app import whole_parser
    from hybridize.cli.output import write

    try:
        import shtab
    except ModuleNotFoundError:
        raise UsageError(
            '`hybridize completion` needs shtab: install it with `pip install "hybridize[completion]"`'
        ) from None
    parser = whole_parser()
    codes = tuple(_codes())
    for action in _actions(parser):
        if isinstance(action.type, OneOf):
            action.choices = action.type.choices
        elif action.metavar in ("CODE", "CODES"):
            action.choices = codes
        elif action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    write(shtab.complete(parser, args.shell) + "\n")
    return NOTHING


def _codes() -> Iterator[str]:
    from hybridize.report.documentation import load_docs

    return (doc.code for doc in load_docs().values())


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of a parser and its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
