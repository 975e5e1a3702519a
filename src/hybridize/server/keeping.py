"""Solved programs that are kept: forks of an analysis that stay as it was after a phase, and answer for edits.

Each has a channel to the host, and ends when the host closes it or is gone. For an edit it forks in turn: what is found
there changes nothing here, so that one program answers for any number of edits, each against what was analyzed.
"""

from __future__ import annotations

import os
import signal
import socket
import traceback
from collections.abc import Mapping
from mmap import mmap
from typing import TYPE_CHECKING, Final

from hybridize.deciding import ENTRIES_JUDGED, REST_JUDGED
from hybridize.records import dataclass
from hybridize.repairs.registry import all_repairs
from hybridize.server.frames import ANSWER, KEPT, frame, frames, write

if TYPE_CHECKING:
    from hybridize.deciding import Again, Deciding

#: The phases after which a program is kept.
PHASES: Final = (ENTRIES_JUDGED, REST_JUDGED)
#: Programs of fewer lines are not, for they are analyzed within the second; nor those of more, which take memory twice.
LEAST_LINES: Final = 3_000
_MOST_LINES: Final = 200_000
#: Seconds between two looks at whether who started a process is still there.
LOOK: Final = 0.5
_CHUNK: Final = 1 << 20
_FIRST: Final = 3  # file that is none of the three that every process has


@dataclass(frozen=True, slots=True)
class Edits:
    """Files that were edited since a program was analyzed: their bytes now, by path from the root."""

    files: Mapping[str, bytes]


class Keeper:
    """Keeps the program that a file belongs to, of those that an analysis solves.

    Args:
        focus: the file, by its path from the root.
        number: of the job that analyzes.
        channels: to the host, one for each of `PHASES`; this process holds one end of each.
    """

    def __init__(self, focus: str, number: int, channels: tuple[socket.socket, ...]) -> None:
        self._focus, self._number = focus, number
        self._channels = dict(zip(PHASES, channels, strict=True))
        self._kept = mmap(-1, 1)  # which forks of this process see, and write to

    @property
    def has_kept(self) -> bool:
        """Whether the program is kept, by whatever fork of this process has solved it."""
        return bool(self._kept[0])

    def after(self, phase: str, deciding: Deciding) -> None:
        """A phase is done: who has done it stays, as a fork."""
        program = deciding.program
        if phase not in self._channels or self._focus not in program.texts:
            return
        self._kept[0] = 1  # or as good as that: nothing is to be solved for it again
        if not LEAST_LINES <= program.lines <= _MOST_LINES:
            return
        channel = self._channels.pop(phase)
        if not os.fork():
            try:
                os.closerange(_FIRST, channel.fileno())
                os.closerange(channel.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
                _serve(channel, self._number, deciding, entries=phase == ENTRIES_JUDGED)
            finally:
                os._exit(0)
        channel.close()

    def end_with_host(self) -> None:
        """Ends this process soon after the host is gone, or wants nothing kept."""
        _end_with(*self._channels.values())


def _end_with(*channels: socket.socket) -> None:
    """Ends this process soon after the other end of one of some channels is closed."""

    def look(*_: object) -> None:
        for channel in channels:
            try:
                if channel.fileno() >= 0 and not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    os._exit(1)
            except BlockingIOError:
                pass
            except OSError:
                os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)


def _serve(channel: socket.socket, number: int, deciding: Deciding, *, entries: bool) -> None:
    """The life of who keeps a program."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    all_repairs()  # or each answer would import them
    received, working = bytearray(), 0
    write(channel.fileno(), frame(KEPT, number, frozenset(deciding.program.texts)))
    while chunk := channel.recv(_CHUNK):
        received += chunk
        for _, asked, edits in frames(received):
            _end(working)
            working = os.fork()
            if not working:
                _answer(channel, asked, deciding, edits, entries=entries)
    _end(working)


def _end(working: int) -> None:
    if working:
        os.kill(working, signal.SIGTERM)  # it finishes what it writes
        os.waitpid(working, 0)


def _answer(channel: socket.socket, number: int, deciding: Deciding, edits: Edits, *, entries: bool) -> None:
    """The life of who answers for an edit."""
    try:
        _end_with(channel)
        try:
            found: Again | None = deciding.after_edits(edits.files, entries=entries)
        except Exception:  # the next analysis has the answer
            traceback.print_exc()
            found = None
        data = frame(ANSWER, number, found)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # half a frame would spoil all others
        write(channel.fileno(), data)
    finally:
        os._exit(0)
