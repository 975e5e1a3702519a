"""Starts a server with all its features, and speaks with a client until that is gone."""

from __future__ import annotations

import logging
import os
from typing import Any

from hybridize.server.app import Server
from hybridize.server.client_edits import NothingToDo, Outdated
from hybridize.server.features import COMMANDS, FEATURES


def serve(tcp: tuple[str, int] | None = None) -> bool:
    """Speaks with one client until it is gone, on stdin and stdout, or at a host and port.

    Returns:
        Whether it said that it would go.
    """
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_unexpected)
    server = make_server()
    if tcp is not None:
        server.start_tcp(*tcp)
    else:
        out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what prints does not print into the protocol
        server.start_io(stdout=out)
    return server.ended_well


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether an error is one of ours, and not an answer to the user."""
    return not (record.exc_info and isinstance(record.exc_info[1], (NothingToDo, Outdated)))


def make_server() -> Server:
    """A server with all its features."""
    server = Server()
    for name, (handler, options) in FEATURES.items():
        _register(server.feature(name, options) if options is not None else server.feature(name), handler)
    for name, handler in COMMANDS.items():
        _register(server.command(name), handler)
    return server


def _register(register: Any, handler: Any) -> None:
    register(handler)
