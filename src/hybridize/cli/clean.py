"""`hybridize clean`: removes the cache."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import ERROR, NOTHING
from hybridize.cli.options import add_config_options, add_paths, add_verbosity

_TAG = "CACHEDIR.TAG"
_DEFAULT_NAME = ".hybridize_cache"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser("clean", help="remove the cache", description="Removes the cache of these projects.")
    add_paths(parser)
    add_verbosity(parser)
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Remove every cache folder that is ours: named as by default, or marked as a cache."""
    import os
    import shutil

    from hybridize.cli.output import complain, write
    from hybridize.cli.session import configure, paths_of

    paths = paths_of(args)
    config = configure(args, paths)
    bases = [*paths, *([str(config.directory)] if config.directory else [])]
    folders = dict.fromkeys(os.path.abspath(os.path.join(base, config.cache_dir)) for base in bases)
    code, removed = NOTHING, 0
    for folder in folders:
        if not os.path.isdir(folder) or os.path.islink(folder):
            continue
        if os.path.basename(folder) != _DEFAULT_NAME and not os.path.isfile(os.path.join(folder, _TAG)):
            complain(f"{folder}: not removed: it has no {_TAG}, so it may not be a cache")
            code = ERROR
            continue
        try:
            shutil.rmtree(folder)
        except OSError as error:
            complain(f"{folder}: not removed: {(error.strerror or str(error)).lower()}")
            code = ERROR
        else:
            removed += 1
            if not args.quiet:
                write(f"removed {os.path.relpath(folder)}\n")
    if not removed and code == NOTHING and not args.quiet:
        write("no cache here\n")
    return code
