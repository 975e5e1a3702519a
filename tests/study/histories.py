"""Tiny git histories for the tests of mining."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


@dataclass
class History:
    """A repository that grows by calls of `commit`, one day a commit."""

    path: Path
    day: int = 0
    shas: dict[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls, path: Path) -> History:
        path.mkdir(parents=True)
        history = cls(path)
        history.git("init", "-q", "-b", "main")
        return history

    def git(self, *arguments: str | bytes, stdin: bytes | None = None) -> str:
        date = f"{1_600_000_000 + 86_400 * self.day} +0000"
        # Tests that a hook of git runs, or `rebase --exec`, must not write to the repository that is at work.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment = {**kept, **ENVIRONMENT, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], input=stdin, capture_output=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(self, message: str | bytes, files: dict[str | bytes, str | bytes | None]) -> str:
        """Write (or, for null, remove) files and commit; returns the commit's name."""
        self.day += 1
        root = os.fsencode(self.path)
        for name, content in files.items():
            target = os.path.join(root, os.fsencode(name))
            if content is None:
                os.unlink(target)
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)
        self.git("add", "-A")
        data = message.encode() if isinstance(message, str) else message
        self.git("commit", "-q", "--allow-empty", "-F", "-", stdin=data)
        sha = self.git("rev-parse", "HEAD")
        self.shas[data.decode("utf-8", "replace").split("\n")[0]] = sha
        return sha

    def forget(self, oid: str) -> None:
        """Lose an object, as a partial snapshot does."""
        (self.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
