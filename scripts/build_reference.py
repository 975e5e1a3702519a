"""Writes what the command line takes, from its parsers and the table of options: two pages and the manual page.

python scripts/build_reference.py           # write docs/reference.md, docs/settings.md, man/hybridize.1
python scripts/build_reference.py --check   # exit with 1 if one of them is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hybridize.cli.app import whole_parser
from hybridize.config import OPTIONS, SECTION, Config, Option, wanted

ROOT = Path(__file__).parent.parent
#: The group of options that are settings: each is described once.
SETTINGS = f"options of [{SECTION}]"


@dataclass(frozen=True)
class Argument:
    """One line of help: how it is written, and what it means."""

    form: str
    help: str


@dataclass(frozen=True)
class Command:
    """A command that can be typed."""

    name: str
    synopsis: str
    about: str
    ends: str
    groups: tuple[tuple[str, tuple[Argument, ...]], ...]
    configured: bool


def commands(parser: argparse.ArgumentParser | None = None) -> Iterator[Command]:
    """All commands, in the order of `--help`; those of `study` after it."""
    parser = parser or whole_parser()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield _command(command)
                yield from commands(command)


def _command(parser: argparse.ArgumentParser) -> Command:
    groups: list[tuple[str, tuple[Argument, ...]]] = []
    positional: list[str] = []
    for group in parser._action_groups:
        shown = [a for a in group._group_actions if a.help is not argparse.SUPPRESS and a.dest != "help"]
        steps = [a for a in shown if isinstance(a, argparse._SubParsersAction)]
        positional += [_metavar(a) for a in shown if not a.option_strings]
        arguments = [Argument(_form(a), _help(a)) for a in shown if a not in steps]
        arguments += [Argument(s.dest, s.help or "") for a in steps for s in a._choices_actions]
        if arguments and group.title != SETTINGS:
            groups.append((group.title or "", tuple(arguments)))
    options = any(a.option_strings and a.dest != "help" for a in parser._actions)
    words = [parser.prog, *(["[OPTION...]"] if options else []), *positional]
    configured = any(group.title == SETTINGS for group in parser._action_groups)
    about, ends = parser.description or "", parser.epilog or ""
    return Command(parser.prog, " ".join(words), about, ends, tuple(groups), configured)


def _metavar(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if isinstance(action, argparse._SubParsersAction) or action.nargs in (None, argparse.REMAINDER):
        return name
    return f"[{name}]" if action.nargs == "?" else f"[{name}...]" if action.nargs == "*" else f"{name}..."


def _form(action: argparse.Action) -> str:
    if not action.option_strings:
        return action.metavar if isinstance(action.metavar, str) else action.dest
    if action.nargs == 0:
        return ", ".join(action.option_strings)
    if action.choices and not isinstance(action.metavar, str):
        value = "{" + ",".join(map(str, action.choices)) + "}"
    else:
        value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.nargs in ("*", "+"):
        value += "..."
    return ", ".join(f"{name} {value}" for name in action.option_strings)


def _help(action: argparse.Action) -> str:
    text = action.help or ""
    return re.sub(r"%\((\w+)\)s", lambda found: str(getattr(action, found[1])), text).replace("%%", "%")


def default(option: Option) -> str:
    """What holds where an option is not given."""
    if option.unset:
        return option.unset
    value = Config().values()[option.name]
    return f"`{str(value).lower()}`" if isinstance(value, bool | int) else f'`"{value}"`'


def flags(option: Option) -> str:
    """How an option is written on the command line."""
    (action,) = [a for a in _check()._actions if a.dest == option.field]
    if isinstance(action, argparse.BooleanOptionalAction):
        return f"`--{option.name}`, `--no-{option.name}`"
    often = isinstance(action, argparse._AppendAction)
    return f"`--{option.name} {action.metavar}`" + (", repeatable" if often else "")


def _check() -> argparse.ArgumentParser:
    (action,) = [a for a in whole_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    found: argparse.ArgumentParser = action.choices["check"]
    return found


def settings_page() -> str:
    """docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Written by `scripts/build_reference.py` from the table of options; do not edit.",
        "",
        f"They stand in `pyproject.toml` under `[{SECTION}]`, and have the same names on the command line, which",
        "wins. The file is the nearest one at or above the first path that has the section, or `--config FILE`;",
        "`--isolated` reads none. An unknown option or value is an error that names the file. `hybridize config`",
        "shows what is in force and where each comes from.",
        "",
        "| option | default | meaning |",
        "|---|---|---|",
        *(f"| [`{o.name}`](#{o.name}) | {default(o)} | {o.help} |" for o in OPTIONS),
        "",
        "All of them at once, with values that are not the defaults:",
        "",
        "```toml",
        f"[{SECTION}]",
        *(f"{o.name} = {o.example}" for o in OPTIONS),
        "```",
        "",
        "A selector is a code, the start of one, a name, or `ALL`. Of two that match, the longer one wins; of two as",
        "long, `ignore`. A precondition that is not selected leaves the function as it is (`keep`). Errors are never",
        "deselected.",
    ]
    for o in OPTIONS:
        lines += ["", f"## {o.name}", "", f"{o.help} It is {wanted(o)}. Default: {default(o)}.", ""]
        lines += [f"On the command line: {flags(o)}."]
        if o.name in MORE:
            lines += ["", MORE[o.name]]
    return "\n".join(lines) + "\n"


#: Where more is told.
MORE = {
    "all-safe": "What the plan leaves out, and why: HY010, HY021, HY025, HY026, HY027 ([codes](rules/README.md)).",
    "cache": "[What is kept, and what it rests on](cli.md#parts-jobs-and-the-cache).",
    "confidence": "[What a conversion rests on](confidence.md).",
    "ignore": "[Comments, patterns and baselines](cli.md#living-with-it) do it place by place.",
    "jobs": "[What is analyzed side by side](cli.md#parts-jobs-and-the-cache).",
    "tensorflow-version": "[How the release is found](cli.md#living-with-it).",
}


def reference_page() -> str:
    """docs/reference.md."""
    lines = [
        "# All commands and options",
        "",
        "Written by `scripts/build_reference.py` from the command line's parsers; do not edit. What they do is told in",
        "[The command line](cli.md). `-h` or `--help` behind any command says the same.",
    ]
    for command in commands():
        lines += ["", f"## {command.name.partition(' ')[2]}", "", f"    {command.synopsis}", "", command.about]
        lines += ["", command.ends] if command.ends else []
        for title, arguments in command.groups:
            lines += ["", f"| {title} | |", "|---|---|"]
            lines += [f"| `{_cell(a.form)}` | {_cell(a.help)} |" for a in arguments]
        if command.configured:
            lines += ["", "And the [settings](settings.md), each by its name."]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def manual() -> str:
    """man/hybridize.1, in the language of troff."""
    lines = [
        '.TH HYBRIDIZE 1 "" "hybridize" "User Commands"',
        ".SH NAME",
        "hybridize \\- decides which TensorFlow functions should run as graphs, says why, and makes the change",
        ".SH SYNOPSIS",
        ".B hybridize",
        ".I COMMAND",
        "[OPTION...] [ARGUMENT...]",
        ".SH DESCRIPTION",
        _roff(
            "Reads a project and says, for every function, whether it runs eagerly or as a graph today, whether it "
            "should, why, and what the change is. It needs neither annotations nor TensorFlow for that, and never runs "
            "or imports what it reads; "
            "only bench, verify and the --verify options of fix run programs."
        ),
        ".SH COMMANDS",
    ]
    for command in commands():
        lines += [f".SS {_roff(command.synopsis)}", _roff(command.about)]
        for title, arguments in command.groups:
            if title not in ("positional arguments", "options"):
                lines += [".PP", f"{_roff(title)}:"]
            for a in arguments:
                lines += [".TP", f".B {_roff(a.form)}", _roff(a.help)]
        if command.configured:
            lines += [".PP", "And the settings, each by its name."]
        if command.ends:
            lines += [".PP", _roff(command.ends)]
    lines += [
        ".SH SETTINGS",
        _roff(f"Options of [{SECTION}] in pyproject.toml, by the same names on the command line, which wins."),
    ]
    for o in OPTIONS:
        lines += [
            ".TP",
            f".B {_roff(flags(o).replace('`', ''))}",
            _roff(f"{o.help} Default: {default(o)}.".replace("`", "")),
        ]
    lines += [
        ".SH EXIT STATUS",
        "0: nothing to report, or all is done. 1: something to report, or left. 2: a usage or internal error.",
        ".SH ENVIRONMENT",
        ".TP",
        ".B NO_COLOR, FORCE_COLOR",
        "forbid and force colours, which else are for terminals.",
        ".TP",
        ".B COLUMNS",
        "the width of text.",
    ]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """A text as it is, whatever troff would take for its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith(".") else text


FILES = {"docs/reference.md": reference_page, "docs/settings.md": settings_page, "man/hybridize.1": manual}


def main() -> int:
    """Write, or compare."""
    check, stale = "--check" in sys.argv[1:], []
    for name, make in FILES.items():
        path, wanted_text = ROOT / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != wanted_text:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(wanted_text, encoding="utf-8")
    for name in stale:
        print(f"{name} {'is out of date' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
