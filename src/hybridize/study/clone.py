"""Clones of the subjects: bare, of the contents only what mining reads, several at once, resumable."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

AT_ONCE: Final = 20_000
"""Contents asked for by one fetch."""
_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+")
_SCHEMES: Final = ("https://", "http://", "ssh://", "file://")


class CloneError(Exception):
    """A list of subjects can't be used, or git fails; the message is one line for the user."""


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
    paths: Sequence[str] = ("*.py",),
    done: Callable[[Cloned], None] = lambda _: None,
) -> list[Cloned]:
    """Clone what is not there yet; a clone that was broken off leaves nothing that looks whole.

    Args:
        subjects: names and addresses.
        folder: gets a folder owner+name.git for each.
        jobs: how many at once.
        seconds: how long one git command may take.
        paths: of the files whose contents are brought, of all commits.
        done: called for each as it is ready.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        waiting = [pool.submit(_clone, name, url, folder, seconds, paths) for name, url in dict(subjects).items()]
        results = []
        try:
            for future in as_completed(waiting):
                results.append(future.result())
                done(results[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(results, key=lambda one: one.name)


def _clone(name: str, url: str, folder: Path, seconds: int, paths: Sequence[str]) -> Cloned:
    target = folder / (name.replace("/", "+") + ".git")
    if target.is_dir():
        return Cloned(name, target)
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        _git(seconds, "clone", "--quiet", "--bare", "--filter=blob:none", "--", url, str(part))
        _bring_contents(part, paths, seconds)
    except CloneError as error:
        shutil.rmtree(part, ignore_errors=True)
        return Cloned(name, target, error=str(error))
    part.rename(target)
    return Cloned(name, target, new=True)


def _bring_contents(clone: Path, paths: Sequence[str], seconds: int) -> None:
    """Fetch the contents that mining reads, many at once: it never asks the network, and git would for each alone."""

    def git(*words: str, given: str | None = None) -> str:
        return _git(seconds, "-C", str(clone), *words, given=given)

    missing = {
        line[1:] for line in git("rev-list", "--objects", "--all", "--missing=print").split("\n") if line[:1] == "?"
    }
    if not missing:
        return  # the server gave everything at once
    changes = git("log", "--all", "--format=", "--raw", "--no-abbrev", "--no-renames", "--root", "--", *paths)
    listed = {oid for line in changes.split("\n") if line[:1] == ":" for oid in line.split()[2:4]}
    with suppress(CloneError):  # no commit at all
        listed |= {line.split()[2] for line in git("ls-tree", "-r", "HEAD").splitlines() if line.endswith(".py")}
    wanted = sorted(missing & listed)
    for start in range(0, len(wanted), AT_ONCE):
        some = "".join(f"{oid}\n" for oid in wanted[start : start + AT_ONCE])
        git("-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
            "--recurse-submodules=no", "--filter=blob:none", "--stdin", "origin", given=some)  # fmt: skip


def _git(seconds: int, *words: str, given: str | None = None) -> str:
    """What a git command prints.

    Raises:
        CloneError: it fails, or is not done in time.
    """
    # A hook, a helper or a question for a password of this machine has no place in a batch.
    environment = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "http:https:ssh:file",
    }
    try:
        ended = subprocess.run(
            ["git", *words], input=given or "", capture_output=True, text=True, errors="replace", check=False,
            timeout=seconds, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CloneError(f"not done in {seconds} seconds") from None
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or [f"git says {ended.returncode}"]
        # What else git says, advice, comes after what went wrong.
        raise CloneError(next((line for line in said if line.startswith(("fatal: ", "error: "))), said[-1]))
    return ended.stdout
