"""Mines many clones, several at a time: each in a process of its own with its own connection to the one database."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path

from hybridize.guard import end_with_parent
from hybridize.study.history import GitError, Repository
from hybridize.study.mine import MineOptions, Miner, MineResult, Progress, repository_name, settle_items
from hybridize.study.store import connect, transaction


def mine_all(
    database: Path, paths: Sequence[Path], options: MineOptions, jobs: int, show: Callable[[str], None]
) -> Iterator[MineResult]:
    """What mining each clone brought, as it ends. Repositories are numbered as they are named, whatever ends first.

    Args:
        database: must be tied to the options' profile already.
        paths: clones.
        options: of the mined set.
        jobs: clones at a time.
        show: told of the progress within a clone, where there is one job.
    """
    urls = [_url(path) for path in paths]
    names = [repository_name(path, url) for path, url in zip(paths, urls, strict=True)]
    with closing(connect(database)) as connection, transaction(connection):
        for name, path in zip(names, paths, strict=True):
            connection.execute(
                "INSERT INTO repository (name, path) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, str(path.resolve()))
            )
    if jobs == 1 or len(paths) == 1:
        for number, told in enumerate(zip(paths, names, urls, strict=True), 1):
            yield mine_one(database, *told, options, _progress(show, f"[{number}/{len(paths)}]"))
    else:
        # Not forks: a connection that is open in the parent must not be used by its children.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(jobs, len(paths)), mp_context=context, initializer=end_with_parent) as pool:
            tasks = [pool.submit(mine_one, database, *told, options) for told in zip(paths, names, urls, strict=True)]
            try:
                for task in as_completed(tasks):
                    yield task.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    with closing(connect(database)) as connection, transaction(connection):
        settle_items(connection)


def mine_one(
    database: Path, path: Path, name: str, url: str | None, options: MineOptions, progress: Progress | None = None
) -> MineResult:
    """Mine one clone over a connection of its own."""
    with closing(connect(database)) as connection:
        return Miner(connection, Repository(path), name, options, url).run(progress)


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
