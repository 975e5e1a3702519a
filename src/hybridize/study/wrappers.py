"""A project's own makers of hybrid functions, across its files: `from .compat import maybe_function as function`.

A maker is an alias of the API or a function that returns what the API makes of its parameter (`uses` finds both). Which
names a project has for them is read off its newest commit; what an import means, off the commit that is looked at.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property, lru_cache, partial
from typing import Final

from hybridize.study import tree
from hybridize.study.blobs import Blobs
from hybridize.study.history import GitError, Repository
from hybridize.study.keyword import Keyword
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import Outside

MOST_FILES: Final = 300
"""Files of the newest commit that are searched for makers."""
DEPTH: Final = 3
"""How many files a maker may be imported through."""
SHORTEST_NAME: Final = 4
"""Shorter names would stand on too many lines to be looked for in a history."""


class Wrappers:
    """The makers of one repository; reads git objects, and nothing at all where the newest commit defines none."""

    def __init__(self, repository: Repository, keyword: Keyword, blobs: Blobs) -> None:
        self._repository = repository
        self._keyword = keyword
        self._blobs = blobs
        self._entries = lru_cache(8)(partial(tree.entries, sizes=False))
        self._makers: dict[tuple[str, str, int], dict[str, tuple[tuple[str, str], ...]]] = {}

    @cached_property
    def _lines(self) -> list[tuple[str, str]]:
        """Path and text of the newest commit's lines that name the API, or give one of its last names another."""
        words = (*self._keyword.profile.spellings, *(f"{leaf} as " for leaf in self._keyword.leaves))
        try:
            asked = [part for word in words for part in ("-e", word)]
            listing = self._repository.run("grep", "-zIF", *asked, "HEAD", "--", "*.py")
        except GitError:  # no match, or no commit
            return []
        lines = (line.partition("\0") for line in listing.decode("utf-8", "backslashreplace").split("\n") if line)
        return [(path.partition(":")[2], text) for path, _, text in lines]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the makers are called where they are defined, in order."""
        spellings = self._keyword.profile.spellings
        paths = dict.fromkeys(path for path, line in self._lines if any(word in line for word in spellings))
        found: set[str] = set()
        for path in list(paths)[:MOST_FILES]:
            text = self._text(f"HEAD:{path}")
            if text is not None and self._made.search(text):
                found |= {name for name, _ in find_uses(text, self._keyword).makers}
        # One called as the API's last name stands in nearly every file: looking there takes forty times as long.
        found -= {*self._keyword.leaves}
        return tuple(sorted(name for name in found if len(name) >= SHORTEST_NAME and name.isidentifier()))

    @cached_property
    def _made(self) -> re.Pattern[str]:
        """A line that may make a maker: what stands there is given a plain name, or returned."""
        return re.compile(rf"^\s*(?:return\b|\w+\s*=)[^\n]*\b(?:{'|'.join(self._keyword.leaves)})\b", re.MULTILINE)

    @property
    def searched(self) -> tuple[str, ...]:
        """Names to look for in a history: the makers', and other names of the API itself."""
        return (*self.names, *self._renamed)

    @property
    def pattern(self) -> str:
        """Alternatives for git's search, each with its bar; empty where there are no names."""
        return "".join(f"|{name}" for name in dict.fromkeys(self.searched))

    @cached_property
    def _renamed(self) -> tuple[str, ...]:
        """What the newest commit's imports call the API: `from jax import jit as compiled`."""
        renaming = re.compile(rf"(?:^|[ (,])({'|'.join(self._keyword.leaves)}) as ([A-Za-z_])")
        named = re.compile(rf"\b(?:{'|'.join(self._keyword.leaves)}) as (\w+)")
        found = {name for _, line in self._lines if renaming.search(line) for name in named.findall(line)}
        return tuple(sorted(name for name in found if len(name) >= SHORTEST_NAME and name.isascii()))

    def mentioned(self, data: bytes) -> bool:
        """Whether a file may use a maker."""
        return any(name.encode() in data for name in self.names)

    def outside(self, revision: str, path: str, text: str) -> Outside:
        """The makers that a file of a commit imports from other files of that commit, by their local names."""
        return tuple(sorted(self._imported(revision, path, text, DEPTH).items()))

    def _imported(self, revision: str, path: str, text: str, depth: int) -> dict[str, tuple[tuple[str, str], ...]]:
        files = self._entries(self._repository, revision)
        found: dict[str, tuple[tuple[str, str], ...]] = {}
        if not depth or path not in files:
            return found
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return found
        for node in body:
            if isinstance(node, ast.ImportFrom):
                source = tree.module_file(files, path, node.module or "", node.level)
                makers = self._of(revision, source, depth) if source else {}
                for alias in node.names:
                    local = alias.asname or alias.name
                    if alias.name in makers:
                        found[local] = makers[alias.name]
                        continue
                    dotted = f"{node.module}.{alias.name}" if node.module else alias.name
                    found |= self._module(revision, tree.module_file(files, path, dotted, node.level), local, depth)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    source = tree.module_file(files, path, alias.name, 0)
                    found |= self._module(revision, source, alias.asname or alias.name, depth)
        return found

    def _module(
        self, revision: str, source: str | None, local: str, depth: int
    ) -> dict[str, tuple[tuple[str, str], ...]]:
        if source is None:
            return {}
        return {f"{local}.{name}": bound for name, bound in self._of(revision, source, depth).items()}

    def _of(self, revision: str, path: str, depth: int) -> dict[str, tuple[tuple[str, str], ...]]:
        """What a file offers: its own makers and those it imports."""
        entry = self._entries(self._repository, revision)[path]
        key = (revision, entry.oid, depth)
        if key not in self._makers:
            self._makers[key] = {}  # for files that import each other
            text = self._text(entry.oid)
            if text is not None and self.mentioned(text.encode("utf-8", "replace")):
                imported = self._imported(revision, path, text, depth - 1)
                own = find_uses(text, self._keyword, tuple(sorted(imported.items()))).makers
                self._makers[key] = imported | dict(own)
        return self._makers[key]

    def _text(self, name: str) -> str | None:
        data = self._blobs.read(name)
        return None if data is None or len(data) > tree.FILE_LIMIT else data.decode("utf-8", "replace")
