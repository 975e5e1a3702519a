"""`$/progress`: how far an analysis is, for what takes more than a moment."""

from __future__ import annotations

import asyncio
import itertools
from typing import Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from hybridize.server.client import Client
from hybridize.server.projects import Project

#: Seconds before anything is shown.
PATIENCE: Final = 0.5
_NUMBERS = itertools.count(1)


class Reported:
    """One analysis, as the client shows it; the user may end it there."""

    def __init__(self, client: Client, project: Project) -> None:
        self._client, self._project = client, project
        self._token = f"hybridize/{next(_NUMBERS)}"
        self._asked = self._shown = self._ended = False
        self._last = "starting"
        self._task = asyncio.get_running_loop().create_task(self._begin()) if client.can_show_progress else None

    def report(self, phase: str, done: int, total: int) -> None:
        """The analysis is in a phase; `total` 0 where nobody knows how much there is."""
        self._last = f"{phase} {done:,}/{total:,}" if total else phase
        if self._shown:
            percentage = min(100 * done // total, 100) if total else None
            said = types.WorkDoneProgressReport(message=self._last, percentage=percentage)
            self._client.work_done_progress.report(self._token, said)

    def end(self) -> None:
        """It is over, one way or the other."""
        self._ended = True
        if self._shown:
            self._shown = False
            self._client.work_done_progress.end(self._token, types.WorkDoneProgressEnd())
            self._client.work_done_progress.tokens.pop(self._token, None)
        elif self._task is not None and not self._asked:
            self._task.cancel()

    async def _begin(self) -> None:
        await asyncio.sleep(PATIENCE)
        self._asked = True
        progress = self._client.work_done_progress
        try:
            await progress.create_async(self._token)
        except JsonRpcException:
            return  # the client does not want to show any
        if self._ended:
            progress.tokens.pop(self._token, None)
            return
        title = f"hybridize: {self._project.root.name}"
        progress.begin(self._token, types.WorkDoneProgressBegin(title, message=self._last, cancellable=True))
        progress.tokens[self._token].add_done_callback(lambda _: self._project.close())
        self._shown = True
