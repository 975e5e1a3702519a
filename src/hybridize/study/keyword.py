"""How a profile's API is told in files: full names, git's search pattern, quick looks at bytes and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from hybridize.study import profile as profiles
from hybridize.study.profile import Profile


@dataclass(frozen=True)
class Keyword:
    """The API of a profile; a shipped one's by default."""

    profile: Profile = field(default_factory=profiles.built_in)

    @property
    def text(self) -> str:
        """The literal that stands for the API in texts, such as `tf.function`."""
        return self.profile.keyword

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The last names: what an import binds, a bare decorator says, and a method is called."""
        return tuple(dict.fromkeys((*(s.rpartition(".")[2] for s in self.profile.spellings), *self.profile.methods)))

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Dotted names as they are customarily written."""
        return frozenset(self.profile.spellings)

    @cached_property
    def full_names(self) -> frozenset[str]:
        """Every dotted name that means this API, by its module's real name."""
        roots = ((spelling.partition(".")) for spelling in self.profile.spellings)
        return frozenset(f"{m}.{rest}" for root, _, rest in roots for m in self.profile.roots.get(root, (root,)))

    def says(self, dotted: str, meant: str) -> bool:
        """Whether a customary name may be taken at its word where its first part stands for a module: one of about that
        name; any, where the profile does not say what the first part stands for."""
        if dotted not in self.spellings:
            return False
        root = dotted.partition(".")[0]
        return root not in self.profile.roots or meant.rpartition(".")[2] in {root, *self.tops}

    @cached_property
    def tops(self) -> frozenset[str]:
        """The packages that provide the API, as they are imported."""
        return frozenset(name.partition(".")[0] for name in self.full_names)

    @property
    def signature_argument(self) -> str | None:
        """The argument that states input types, or null."""
        return self.profile.signature

    @property
    def packages(self) -> tuple[str, ...]:
        """Distributions that provide the API."""
        return self.profile.packages

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Literals of which every line has one that `wide_pattern` matches."""
        return (*self.leaves, *self.profile.arguments)

    @property
    def strict_pattern(self) -> str:
        """POSIX extended regular expression: the literal keyword, as the paper's miner looks for it."""
        return re.escape(self.text)

    @cached_property
    def wide_pattern(self) -> str:
        """POSIX extended regular expression of lines that may change a use: also aliases and argument lines."""
        parts = [re.escape(spelling) for spelling in self.profile.spellings]
        for leaf in self.leaves:
            # A bare name is a use as decorator, where it is called, handed on or renamed.
            parts += [f"@{leaf}", f"import {leaf}", f"(^|[^A-Za-z0-9_.]){leaf}\\(", f"\\({leaf}[,)]", f"= {leaf}( |$)"]
        # Whatever its module is called.
        parts += [f"\\.{leaf}([^A-Za-z0-9_]|$)" for leaf in self.leaves]
        parts += self.profile.arguments
        return "|".join(dict.fromkeys(parts))

    def possible_in(self, data: bytes) -> bool:
        """Whether file contents can hold a use at all; a file that cannot need not be parsed."""
        leaves = [leaf for leaf in self._leaf_bytes if leaf in data]
        if not leaves:
            return False
        if any(spelling.encode() in data for spelling in self.spellings) or self._imported.search(data):
            return True
        dotted = [b"." + leaf for leaf in leaves if b"." + leaf in data]
        if any(leaf + b"(" in data for leaf in dotted if leaf[1:] in self._methods) and self._top_imported.search(data):
            return True
        if any(name + leaf in data for name in self._last_modules for leaf in dotted):
            return True
        # A search for the alternatives would look at each word of the file.
        tops = [line for top in self.tops if dotted for line in lines_with(data, top.encode())]
        names = {name for line in tops for name in self._module_alias.findall(line)}
        return any(name + leaf in data for name in names for leaf in dotted)

    @cached_property
    def _leaf_bytes(self) -> tuple[bytes, ...]:
        return tuple(leaf.encode() for leaf in self.leaves)

    @cached_property
    def _methods(self) -> tuple[bytes, ...]:
        return tuple(method.encode() for method in self.profile.methods)

    @cached_property
    def _last_modules(self) -> frozenset[bytes]:
        return frozenset(name.split(".")[-2].encode() for name in self.full_names)

    @cached_property
    def _top(self) -> str:
        return "|".join(sorted(self.tops))

    @cached_property
    def _top_imported(self) -> re.Pattern[bytes]:
        return re.compile(rf"^\s*(?:from|import)\s+(?:{self._top})\b".encode(), re.MULTILINE)

    @cached_property
    def _imported(self) -> re.Pattern[bytes]:
        """`from tensorflow import function`, over several lines too."""
        leaf = "|".join(self.leaves)
        return re.compile(rf"from\s+(?:{self._top})[\w.]*\s+import\s+(?:\([^)]*|[^\n(]*)\b(?:{leaf})\b".encode())

    @cached_property
    def _module_alias(self) -> re.Pattern[bytes]:
        """Local names of the modules that provide the API."""
        return re.compile(rf"\b(?:from|import)\s+(?:{self._top})\b[^\n]*?\bas\s+(\w+)".encode())

    def skeleton(self, text: str) -> tuple[str, ...]:
        """The lines on which a file's uses depend: files with equal skeletons need not be parsed to be compared.

        They are: lines that name the API or its arguments, what continues them, and the definition below a decorator,
        each with whether it stands inside a triple-quoted string. Where the API has another name the whole text counts.
        """
        kept: list[str] = []
        counted, quotes, position = 0, 0, 0
        for found in self._name_positions(text):
            if found < position:
                continue
            start = text.rfind("\n", 0, found) + 1
            end = text.find("\n", found)
            line = text[start : None if end < 0 else end]
            if not self._telling.search(line):
                continue
            if self._renaming.search(line):
                return (text,)
            quotes += text.count('"' * 3, counted, start) + text.count("'" * 3, counted, start)
            counted = start
            position = self._end_of_use(text, start)
            kept.append(f"{quotes % 2}{text[start:position]}")
        return tuple(kept)

    def _name_positions(self, text: str) -> list[int]:
        """Where a name of interest stands; plain searches, each far faster than one regular expression for all."""
        positions: list[int] = []
        for name in (*self.leaves, "signature", *self.profile.arguments):
            at = text.find(name)
            while at >= 0:
                positions.append(at)
                at = text.find(name, at + len(name))
        return sorted(positions)

    def _end_of_use(self, text: str, start: int) -> int:
        """Where the statement that starts on this line ends, roughly; a decorator's definition belongs to it."""
        decorator = self._decorator.match(text, start) is not None
        position, depth = start, 0
        for _ in range(40):
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            line = text[position:end]
            depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
            done = self._definition.match(line) is not None if decorator else depth <= 0
            if done or end == len(text):
                return end
            position = end + 1
        return position

    @cached_property
    def _decorator(self) -> re.Pattern[str]:
        return re.compile(r"[ \t]*@")

    @cached_property
    def _definition(self) -> re.Pattern[str]:
        return re.compile(r"\s*(?:async\s+)?(?:def|class)\b")

    @cached_property
    def _renaming(self) -> re.Pattern[str]:
        """`jit = tf.function(...)`, `import function as jit`: uses can then be anywhere."""
        leaf = f"(?:{'|'.join(self.leaves)})"
        bare = rf"\b{leaf}\b(?!\s*\(\s*[\w.]+\s*[,)])"
        return re.compile(rf"^[^#]*(?<![=!<>])=(?!=).*{bare}|\b{leaf}\s+as\b")

    @cached_property
    def _telling(self) -> re.Pattern[str]:
        """A line that uses the API or its arguments, rather than the word."""
        names = "|".join((*self.profile.arguments, "signature"))
        leaf = f"(?:{'|'.join(self.leaves)})"
        return re.compile(rf"{names}|\.\s*{leaf}\b|@{leaf}\b|(?<![\w.]){leaf}\s*[(,)\]]|\bimport\b.*\b{leaf}\b")

    @cached_property
    def literal_pattern(self) -> re.Pattern[str]:
        """The literal in running text, with its period, not as a part of a longer word; a plural s may follow."""
        return re.compile(r"(?<![\w.])(?:" + re.escape(self.text) + r")(?:s\b|(?!\w))", re.IGNORECASE)


def lines_with(data: bytes, name: bytes) -> Iterator[bytes]:
    """The lines on which a name stands."""
    at = data.find(name)
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[data.rfind(b"\n", 0, at) + 1 : end]
        at = data.find(name, end)


DEFAULT: Final = Keyword()
