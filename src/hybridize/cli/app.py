"""Dispatch: which command is meant, and what happens when it fails."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Final, cast

from hybridize.cli.errors import BROKEN_PIPE, ERROR, INTERRUPTED, UsageError
from hybridize.cli.output import complain
from hybridize.cli.parser import Parser, did_you_mean

# Name -> module and one line for --help. A module has `add_parser(subparsers)` and `run(args) -> int`.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("hybridize.cli.check", "decide for every function whether it should run eagerly or as a graph, and why"),
    "fix": ("hybridize.cli.fix", "make the changes, or show them (--diff)"),
    "bench": ("hybridize.cli.bench", "run a program (user code!) as it is and converted: times, traces, metrics"),
    "verify": (
        "hybridize.cli.verify",
        "run a program (user code!) and compare eager and graph results of every converted function",
    ),
    "explain": ("hybridize.cli.explain", "why this verdict, step by step; or what a code means"),
    "report": ("hybridize.cli.report", "write the whole analysis as one HTML page, to look at and to share"),
    "rules": ("hybridize.cli.rules", "list the codes of preconditions, statuses and rules"),
    "config": ("hybridize.cli.config", "show the options in force and where each comes from"),
    "server": ("hybridize.cli.server", "a language server, for editors"),
    "clean": ("hybridize.cli.clean", "remove the results that earlier runs have kept"),
    "completion": ("hybridize.cli.completion", "print the script that completes command lines in a shell"),
    "evaluate": ("hybridize.cli.evaluate", "many projects, and the tables of the paper for them"),
    "study": ("hybridize.cli.study", "the empirical study's pipeline"),
}


#: What the system says where a stream takes no more.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO)


def run(arguments: Sequence[str]) -> int:
    """Parse, run the command, and turn whatever goes wrong into an exit code and a line on stderr."""
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except UsageError as error:
        complain(str(error))
        return ERROR
    except SystemExit as stop:  # --help
        return stop.code if isinstance(stop.code, int) else ERROR if stop.code else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            return _internal(error, arguments)
        _silence_stdout()
        complain(f"the output cannot be written: {(error.strerror or str(error)).lower()}")
        return ERROR
    except Exception as error:
        return _internal(error, arguments)


def _dispatch(arguments: Sequence[str]) -> int:
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        raise UsageError(_unknown_command(command))
    parser, modules = _parser(command, alone=arguments[:1] == [command])
    if not arguments:
        parser.print_help()
        return ERROR
    args, extras = parser.parse_known_args(arguments)
    if args.command is None:
        parser.unknown(extras)
    if extras:
        _place_extras(args, extras, modules)
    module, _ = modules[args.command]
    return cast(Callable[[argparse.Namespace], int], module.run)(args)


def whole_parser() -> Parser:
    """The parser with all commands: what completes command lines, and what the reference is made of."""
    parser, subparsers = _root()
    for name, (module_name, _) in COMMANDS.items():
        _module(name, module_name).add_parser(subparsers)
    return parser


def _root() -> tuple[Parser, argparse._SubParsersAction[Parser]]:
    """The parser without its commands, and what takes them."""
    parser = Parser(
        prog="hybridize",
        description="Decides which TensorFlow functions should run as graphs, says why, and makes the change.",
        epilog="`hybridize COMMAND --help` says more. Exit code 0: nothing to report, 1: something, 2: an error.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=Parser, prog=parser.prog
    )
    return parser, subparsers


def _parser(command: str | None, *, alone: bool) -> tuple[Parser, dict[str, tuple[ModuleType, Parser | None]]]:
    """The parser, complete only for the command that is meant: the others are not imported for it.

    Where the command stands `alone` in front, nobody gets to see that there are others, and they are left out.
    """
    parser, subparsers = _root()
    modules: dict[str, tuple[ModuleType, Parser | None]] = {}
    for name, (module_name, help_text) in COMMANDS.items():
        if name == command:
            module = _module(name, module_name)
            module.add_parser(subparsers)
            modules[name] = module, subparsers.choices.get(name)
        elif not alone:
            subparsers.add_parser(name, help=help_text)
    return parser, modules


def _module(command: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"`hybridize {command}` is not part of this installation") from None


def _place_extras(
    args: argparse.Namespace, extras: list[str], modules: Mapping[str, tuple[ModuleType, Parser | None]]
) -> None:
    """Paths after options end up among the unknown arguments (argparse takes positionals in one run only)."""
    if "paths" in args and not any(extra.startswith("-") for extra in extras):
        args.paths = [*(args.paths or []), *extras]
        return
    parser = modules[args.command][1]
    if parser is not None:
        parser.unknown(extras)


#: What other tools call commands that we have, too.
_ELSEWHERE: Final = {"rule": "explain CODE", "lint": "check", "linter": "rules", "lsp": "server", "diff": "fix --diff"}


def _unknown_command(word: str) -> str:
    known = _ELSEWHERE.get(word)
    hint = f"; did you mean `hybridize {known}`?" if known else did_you_mean(word, COMMANDS)
    if not hint and (os.path.exists(word) or "/" in word or word.endswith(".py")):
        hint = f"; did you mean `hybridize check {word}`?"
    return f"unknown command `{word}`{hint}\nrun `hybridize --help` to see what there is"


def _internal(error: Exception, arguments: Sequence[str]) -> int:
    text = " ".join(str(error).split())
    if "--verbose" in arguments or "-v" in arguments:
        import traceback

        complain("".join(traceback.format_exception(error)).rstrip(), label="internal error")
    else:
        complain(
            f"{type(error).__name__}{f': {text}' if text else ''} (--verbose shows the traceback; please report it)",
            label="internal error",
        )
    return ERROR


def _silence_stdout() -> None:
    # Whatever is still buffered must not raise again when the interpreter ends.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
