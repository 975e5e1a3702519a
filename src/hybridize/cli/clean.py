"""`hybridize clean`: removes what earlier runs have kept."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import ERROR, NOTHING
from hybridize.cli.options import add_config_options, add_paths


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "clean",
        help="remove the results that earlier runs have kept",
        description="Removes what earlier runs have kept of all projects; it is found anew when it is asked for.",
    )
    add_paths(parser)
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the file, and say how large it was."""
    from hybridize.caching.store import Store, folder_of
    from hybridize.cli.output import complain, write
    from hybridize.cli.session import configure, paths_of

    store = Store(folder_of(configure(args, paths_of(args))))
    try:
        size = store.clear()
    except OSError as error:
        complain(f"{store.file}: cannot be removed: {(error.strerror or str(error)).lower()}")
        return ERROR
    write(f"{store.file}: {size / 1e6:.1f} MB removed\n" if size else f"{store.file}: there is nothing to remove\n")
    return NOTHING
