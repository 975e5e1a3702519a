"""`hybridize server`: a language server, for editors."""

from __future__ import annotations

import argparse
import os

from hybridize.cli.errors import ERROR, NOTHING, UsageError


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "server",
        help="a language server, for editors",
        description="Speaks the Language Server Protocol with an editor (docs/editors.md says how to set it up).",
    )
    channel = parser.add_mutually_exclusive_group()
    channel.add_argument("--stdio", action="store_true", help="speak on stdin and stdout (the default)")
    channel.add_argument("--tcp", metavar="HOST:PORT", help="wait for one client there instead")


def run(args: argparse.Namespace) -> int:
    """Serve until the client ends it, or is gone."""
    if not hasattr(os, "fork"):
        raise UsageError("`hybridize server` needs a system that can fork processes: on Windows, run it in WSL")
    try:
        from hybridize.server.serving import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs", "attr"):
            raise
        raise UsageError('`hybridize server` needs pygls: install it with `pip install "hybridize[lsp]"`') from None
    return NOTHING if serve(_address(args.tcp) if args.tcp else None) else ERROR


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"--tcp: `{text}` is no HOST:PORT")
    return host.strip("[]"), int(port)
