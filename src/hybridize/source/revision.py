"""Files as they were in a revision of git, read from its objects alone.

The working tree is never given to git, so that neither hooks nor filters, drivers or monitors that a repository
configures are run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from typing import Final

#: What would start another program while objects are read: a monitor, a transport for objects that are not here.
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never")
#: Variables for git that are the user's own.
_KEPT: Final = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES")
_SHOWN: Final = 200  # characters of what git says


class RevisionError(Exception):
    """The revision cannot be read; the text is one line for the user."""


class Revision:
    """One commit of the repository around a folder."""

    def __init__(self, folder: str, name: str) -> None:
        """Finds the commit.

        Args:
            folder: any folder of the repository.
            name: whatever git takes for a revision.

        Raises:
            RevisionError: there is no git, no repository, or no such commit.
        """
        self.top = os.path.realpath(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").rstrip(b"\r\n")))
        if not name or name.startswith("-"):
            raise RevisionError(f"`{name}` is no revision")
        try:
            found = _git(self.top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except RevisionError:
            raise RevisionError(
                f"git knows no revision `{name}` in {self.top} (a shallow clone has only the last)"
            ) from None
        self.commit = found.decode("ascii").strip()
        self._objects, self._modules = self._tree()
        self._inner: dict[str, Revision | None] = {}

    def read(self, path: str) -> bytes | None:
        """A file's bytes by its absolute path; None where the revision has no such file.

        Raises:
            RevisionError: git fails, or the object is not in this clone.
        """
        relative = os.path.relpath(os.path.realpath(path), self.top).replace(os.sep, "/")
        for module in self._modules:
            if relative.startswith(f"{module}/"):
                inner = self._module(module)
                return inner.read(path) if inner is not None else None
        name = self._objects.get(relative)
        if name is None:
            return None
        now = _bytes_of(path)  # nearly every file is as it was: git is asked for the others only
        return now if now is not None and _is_object(name, now) else _git(self.top, "cat-file", "blob", name)

    def _tree(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The names of the objects of files by path, and the commits of submodules."""
        objects: dict[str, str] = {}
        modules: dict[str, str] = {}
        for entry in _git(self.top, "ls-tree", "-r", "-z", "--full-tree", self.commit).split(b"\0"):
            head, _, path = entry.partition(b"\t")
            if path:
                _, kind, name = head.decode("ascii").split()
                (modules if kind == "commit" else objects)[os.fsdecode(path)] = name
        return objects, modules

    def _module(self, path: str) -> Revision | None:
        """The commit that a submodule was at; None where it is not in this clone."""
        if path not in self._inner:
            folder = os.path.join(self.top, path)
            try:
                found = Revision(folder, self._modules[path])
                self._inner[path] = found if found.top == os.path.realpath(folder) else None
            except RevisionError:
                self._inner[path] = None
        return self._inner[path]


def _bytes_of(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _is_object(name: str, data: bytes) -> bool:
    """Whether git calls these bytes by this name."""
    algorithm = "sha1" if len(name) == 40 else "sha256"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == name


def _git(folder: str, *arguments: str) -> bytes:
    """What a command of git prints; raises RevisionError with the first line that it complains with."""
    # A hook of git that runs us says by variables where it is, whatever folder is asked for.
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT)}
    environ |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *_SAFE, "-C", folder, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environ,
            check=False,
        )
    except OSError as error:
        raise RevisionError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RevisionError((said[0].removeprefix("fatal: ") if said else f"git {arguments[0]} failed")[:_SHOWN])
    return done.stdout
