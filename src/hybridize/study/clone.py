"""Clones of the subjects: bare, without file contents until they are asked for, several at once, resumable."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+")
_SCHEMES: Final = ("https://", "http://", "ssh://", "file://")


class CloneError(Exception):
    """The list of subjects can't be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Cloned:
    """One subject: its folder, whether it was made now, or the error."""

    name: str
    path: Path
    new: bool = False
    error: str | None = None


def listed(path: Path) -> list[tuple[str, str]]:
    """Names and addresses, of the JSON of `study subjects` or of a text file with one address or owner/name a line.

    Raises:
        CloneError: the file can't be read, or an entry is no address that we clone.
    """
    try:
        text = path.read_text("utf-8")
        if text.lstrip().startswith("{"):
            found = [(str(one["full_name"]), str(one["clone_url"])) for one in json.loads(text)["kept"]]
        else:
            lines = (line.partition("#")[0].strip() for line in text.splitlines())
            found = [_entry(line) for line in lines if line]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CloneError(f"{path}: no list of subjects: {error}") from error
    for name, url in found:
        # Other transports of git run commands; a name becomes a folder's.
        if not url.startswith(_SCHEMES) or not _NAME.fullmatch(name) or ".." in name.split("/"):
            raise CloneError(f"{path}: {name!r} at {url!r} is no repository to clone")
    return found


def _entry(line: str) -> tuple[str, str]:
    if _NAME.fullmatch(line):
        return line, f"https://github.com/{line}.git"
    return "/".join(line.rstrip("/").removesuffix(".git").split("/")[-2:]), line


def clone_all(
    subjects: Iterable[tuple[str, str]],
    folder: Path,
    *,
    jobs: int = 4,
    seconds: int = 1800,
    done: Callable[[Cloned], None] = lambda _: None,
) -> list[Cloned]:
    """Clone what is not there yet; a clone that was broken off leaves nothing that looks whole.

    Args:
        subjects: names and addresses.
        folder: gets a folder owner+name.git for each.
        jobs: how many at once.
        seconds: how long one may take.
        done: called for each as it is ready.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        waiting = [pool.submit(_clone, name, url, folder, seconds) for name, url in dict(subjects).items()]
        results = []
        try:
            for future in as_completed(waiting):
                results.append(future.result())
                done(results[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(results, key=lambda one: one.name)


def _clone(name: str, url: str, folder: Path, seconds: int) -> Cloned:
    target = folder / (name.replace("/", "+") + ".git")
    if target.is_dir():
        return Cloned(name, target)
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    # A hook, a helper or a question for a password of this machine has no place in a batch.
    environment = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "http:https:ssh:file",
    }
    command = ["git", "clone", "--quiet", "--bare", "--filter=blob:none", "--", url, str(part)]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=seconds, env=environment
        )
    except subprocess.TimeoutExpired:
        shutil.rmtree(part, ignore_errors=True)
        return Cloned(name, target, error=f"not done in {seconds} seconds")
    if ended.returncode:
        shutil.rmtree(part, ignore_errors=True)
        lines = ended.stderr.strip().splitlines() or [f"git says {ended.returncode}"]
        return Cloned(name, target, error=lines[-1])
    part.rename(target)
    return Cloned(name, target, new=True)
