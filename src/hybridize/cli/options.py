"""The arguments that several commands share; the options of `Config` come from its own table."""

from __future__ import annotations

import argparse
from typing import Any

from hybridize.cli.parser import did_you_mean
from hybridize.config import OPTIONS

FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit")
_METAVARS = {
    "codes": "CODES",
    "strings": "PATTERN",
    "number": "N",
    "path": "FOLDER",
    "paths": "FOLDER",
    "table": "PATTERN:CODES",
    "version": "VERSION",
    "confidence": "LEVEL",
    "world": "WORLD",
}


def add_paths(parser: argparse.ArgumentParser) -> None:
    """The files and folders to analyze."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: the current folder)")


def add_stdin(parser: argparse.ArgumentParser) -> None:
    """A text on stdin in place of a file."""
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="with `-` as PATH: stdin is the text of this file of its project"
    )


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Every option of `[tool.hybridize]`, by the same name, and where the configuration comes from."""
    group = parser.add_argument_group("options of [tool.hybridize]")
    for option in OPTIONS:
        flag = f"--{option.name}"
        settings: dict[str, Any] = {"dest": option.field, "default": None, "help": option.help}
        if option.kind == "boolean":
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **settings)
        elif option.kind == "codes":
            group.add_argument(flag, action="append", metavar="CODES", **settings)
        elif option.kind in ("strings", "paths", "table"):
            group.add_argument(flag, action="append", metavar=_METAVARS[option.kind], **settings)
        else:
            group.add_argument(flag, metavar=_METAVARS[option.kind], **settings)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    source.add_argument("--isolated", action="store_true", help="read no configuration file")


def add_output_options(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """The format, and where the report goes."""
    add_format(parser, formats)
    parser.add_argument("--output-file", metavar="FILE", help="write there instead of stdout")


def add_format(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """`--output-format`; the first is the default."""
    parser.add_argument(
        "--output-format", type=OneOf(*formats), default=formats[0], metavar="FORMAT", help=", ".join(formats)
    )


class OneOf:
    """A type of argument: one of a few words, with a hint for a word that is nearly right."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def __call__(self, text: str) -> str:
        """The word; raises `ArgumentTypeError`."""
        if text not in self.choices:
            hint = did_you_mean(text, self.choices)
            raise argparse.ArgumentTypeError(f"`{text}` is none of {', '.join(self.choices)}{hint}")
        return text


def add_program(parser: argparse.ArgumentParser, *, tests: bool = True) -> None:
    """The program, with `tests` a run of pytest too. Whatever follows it is the program's own."""
    group = parser.add_argument_group("the program (it is run: this executes user code)")
    group.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGUMENT...]", help="a file, as for python"
    )
    group.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module, as for python -m"
    )
    if tests:
        group.add_argument(
            "--pytest", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="tests: the arguments of pytest"
        )
    group.add_argument(
        "--project",
        action="append",
        metavar="PATH",
        help="what to analyze (default: the current folder or the script's)",
    )


def add_interpreter(group: argparse._ActionsContainer) -> None:
    """How the program is run."""
    group.add_argument("--python", metavar="FILE", help="the interpreter that has TensorFlow (default: this one)")
    group.add_argument("--timeout", type=float, metavar="SECONDS", help="end the program after so long")


def add_verification(group: argparse._ActionsContainer) -> None:
    """How the program is run, and how much is compared."""
    add_interpreter(group)
    group.add_argument("--max-calls", type=int, default=3, metavar="N", help="calls of each signature to compare (3)")
    group.add_argument("--full", action="store_true", help="compare all calls (slow)")
    group.add_argument(
        "--memory", type=int, default=2048, metavar="MB", help="state that is remembered for one call, at most (2048)"
    )
    group.add_argument(
        "--call-timeout", type=float, default=60.0, metavar="SECONDS", help="limit for one call of a graph (60)"
    )
    group.add_argument(
        "--once", action="store_true", help="run the program once only: do not compare how it ends as a whole"
    )
    group.add_argument("--hide-output", action="store_true", help="do not show what the program prints")


def add_verbosity(parser: argparse.ArgumentParser) -> None:
    """How much to say."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="only what there is to do; no summary")
    group.add_argument("-v", "--verbose", action="store_true", help="all evidence; the traceback of an internal error")


def overrides(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line says about options of `Config`; None for those it does not mention."""
    given: dict[str, Any] = {}
    for option in OPTIONS:
        value = getattr(args, option.field, None)
        if option.kind == "codes" and value is not None:
            value = [code for codes in value for code in codes.split(",") if code.strip()]
        given[option.field] = value
    return given
