"""Mines many clones, several at a time: each in a process of its own with its own connection to the one database."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from functools import partial
from multiprocessing.managers import SyncManager
from pathlib import Path
from queue import Queue
from typing import Final

from hybridize.guard import end_with_parent
from hybridize.study.history import GitError, Repository
from hybridize.study.mine import MineOptions, Miner, MineResult, Progress, repository_name, settle_items
from hybridize.study.store import connect, transaction

#: Seconds between two looks at what those who mine side by side have told.
_PAUSE: Final = 0.2


def mine_all(
    database: Path, paths: Sequence[Path], options: MineOptions, jobs: int, show: Callable[[str], None]
) -> Iterator[MineResult]:
    """What mining each clone brought, as it ends. Repositories are numbered as they are named, whatever ends first.

    Args:
        database: must be tied to the options' profile already.
        paths: clones.
        options: of the mined set.
        jobs: clones at a time.
        show: told of the progress within a clone.
    """
    urls = [_url(path) for path in paths]
    names = [repository_name(path, url) for path, url in zip(paths, urls, strict=True)]
    with closing(connect(database)) as connection, transaction(connection):
        for name, path in zip(names, paths, strict=True):
            connection.execute(
                "INSERT INTO repository (name, path) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, str(path.resolve()))
            )
    told = [
        (database, path, name, url, options, f"[{number}/{len(paths)}]")
        for number, (path, name, url) in enumerate(zip(paths, names, urls, strict=True), 1)
    ]
    if jobs == 1 or len(paths) == 1:
        yield from (mine_one(*each, show) for each in told)
    else:
        yield from _side_by_side(told, min(jobs, len(paths)), show)
    with closing(connect(database)) as connection, transaction(connection):
        settle_items(connection)


def mine_one(
    database: Path,
    path: Path,
    name: str,
    url: str | None,
    options: MineOptions,
    label: str,
    show: Callable[[str], None],
) -> MineResult:
    """Mine one clone over a connection of its own."""
    with closing(connect(database)) as connection:
        return Miner(connection, Repository(path), name, options, url).run(_progress(show, label))


def _side_by_side(
    told: Sequence[tuple[Path, Path, str, str | None, MineOptions, str]], jobs: int, show: Callable[[str], None]
) -> Iterator[MineResult]:
    # Not forks: a connection that is open in the parent must not be used by its children.
    context = multiprocessing.get_context("spawn")
    # Where the system has addresses that are no files, nothing is left of it if we are killed.
    manager = SyncManager(f"\0hybridize-{os.urandom(12).hex()}" if sys.platform == "linux" else None, ctx=context)
    ending = partial(end_with_parent, os.getpid())
    manager.start(ending)
    with manager, ProcessPoolExecutor(jobs, mp_context=context, initializer=ending) as pool:
        said: Queue[str] = manager.Queue()
        left: set[Future[MineResult]] = {pool.submit(mine_one, *each, said.put) for each in told}
        try:
            while left:
                done, left = wait(left, _PAUSE, FIRST_COMPLETED)
                while not said.empty():
                    show(said.get())
                yield from (task.result() for task in done)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _url(path: Path) -> str | None:
    try:
        return Repository(path).url()
    except GitError:
        return None


def _progress(show: Callable[[str], None], label: str) -> Progress:
    def told(name: str, seen: int, of: int, kept: int) -> None:
        if seen % 50 == 0 or seen == of:
            show(f"{label} {name}: {seen} of {of} commits, {kept} changesets")

    return told
