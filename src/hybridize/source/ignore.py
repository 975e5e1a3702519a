"""Ignore rules as Git knows them: one link of the chain per `.gitignore`, the deepest asked first."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from hybridize.records import dataclass


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one ignore file, valid below `base` (a folder, ending in a separator), and those above it."""

    base: str
    spec: Any
    parent: "IgnoreRules | None" = None

    def ignores(self, path: str, is_dir: bool) -> bool:
        """Whether an absolute path is ignored; its parent folders are taken not to be."""
        rules: IgnoreRules | None = self
        tail = "/" if is_dir else ""
        while rules is not None:
            if path.startswith(rules.base):
                verdict = rules.spec.check_file(path[len(rules.base) :] + tail).include
                if verdict is not None:
                    return bool(verdict)
            rules = rules.parent
        return False


def rules_from_patterns(patterns: Sequence[str], base: str, parent: IgnoreRules | None = None) -> IgnoreRules | None:
    """A link for these patterns; `parent` itself where none of them says anything."""
    useful = [pattern for pattern in patterns if pattern.strip() and not pattern.startswith("#")]
    if not useful:
        return parent
    return IgnoreRules(base.rstrip(os.sep) + os.sep, _compile(useful), parent)


def rules_from_file(path: str, base: str, parent: IgnoreRules | None) -> IgnoreRules | None:
    """A link for an ignore file; a file that cannot be read has no rules."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            patterns = file.read().splitlines()
    except OSError:
        return parent
    return rules_from_patterns(patterns, base, parent)


def load_parent_rules(directory: str) -> IgnoreRules | None:
    """The rules that folders above `directory` set for it, up to the root of its Git repository.

    None where these rules ignore `directory` itself: whoever names an ignored folder wants what is in it.
    """
    above = list(_parents_in_repository(directory))
    if not above:
        return None
    repository = above[-1]
    rules = rules_from_file(os.path.join(repository, ".git", "info", "exclude"), repository, None)
    for folder in reversed(above):
        if rules is not None and folder != repository and rules.ignores(folder, True):
            return None
        if folder != directory:  # the walk itself reads that one
            rules = rules_from_file(os.path.join(folder, ".gitignore"), folder, rules)
    return rules


def _parents_in_repository(directory: str) -> Iterable[str]:
    """`directory` and the folders above it, up to the one that holds `.git`; nothing outside a repository."""
    folders = []
    folder = directory
    while True:
        folders.append(folder)
        if os.path.lexists(os.path.join(folder, ".git")):
            return folders
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()
        folder = parent


def _compile(patterns: list[str]) -> Any:
    from pathspec import GitIgnoreSpec  # only projects with patterns pay for the import

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError:  # Git skips a line it does not understand, and so do we
        return GitIgnoreSpec.from_lines([pattern for pattern in patterns if _is_valid(pattern)])


def _is_valid(pattern: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return False
    return True
