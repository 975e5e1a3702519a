"""`hybridize config`: the options in force, and where each comes from."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import NOTHING
from hybridize.cli.options import add_config_options, add_format, add_paths, add_verbosity


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "config",
        help="show the options in force and where each comes from",
        description="Shows the options in force for these paths, and where each comes from.",
    )
    add_paths(parser)
    add_format(parser, ("text", "json"))
    add_verbosity(parser)
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show them as a section that could be pasted into `pyproject.toml`."""
    import json
    from pathlib import Path

    from hybridize.api import versions_of
    from hybridize.cli.output import write
    from hybridize.cli.session import configure, paths_of
    from hybridize.config import OPTIONS, SECTION
    from hybridize.report.json_report import versions_to_dict
    from hybridize.report.words import releases

    paths = paths_of(args)
    config = configure(args, paths)
    values = config.values()
    versions = versions_of([Path(path) for path in paths], config)
    if args.output_format == "json":
        entries = {name: {"value": value, "origin": config.origins[name]} for name, value in values.items()}
        entries["tensorflow-version"]["found"] = versions_to_dict(versions)
        write(json.dumps(entries, indent=1) + "\n")
        return NOTHING
    width = max(len(name) for name in values)
    helps = {option.name: option.help for option in OPTIONS}
    lines = [f"[{SECTION}]"]
    for name, value in values.items():
        if args.verbose:
            lines += ["", f"# {helps[name]}"]
        # JSON's scalars, strings and lists are TOML's as well.
        text = "# " + name if value is None else f"{name.ljust(width)} = {json.dumps(value, ensure_ascii=False)}"
        origin = "not set" if value is None else config.origins[name]
        lines.append(f"{text}  # {origin}{f': {releases(versions)}' if name == 'tensorflow-version' else ''}")
    write("\n".join(lines) + "\n")
    return NOTHING
