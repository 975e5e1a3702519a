"""What people judge on text sheets: entries that are drawn by seed, and the word that a reader puts behind each."""

from __future__ import annotations

import hashlib
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class Entry(ABC):
    """Something in a project to judge: `root` is where its source is, `data` what the JSON report says of it."""

    project: str
    root: Path
    data: Mapping[str, Any]

    @property
    @abstractmethod
    def place(self) -> str:
        """What the reader sees, and what the sample depends on: the same in each run over the same source."""

    @property
    def identity(self) -> str:
        """What tells it from all others."""
        return self.place

    @property
    def key(self) -> str:
        """A short name that a sheet knows it by."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:10]


_E = TypeVar("_E", bound=Entry)


def shuffled(found: Iterable[_E], seed: int) -> list[_E]:
    """Each of some entries once, in an order by seed, whatever theirs was."""
    pool = sorted({each.key: each for each in found}.values(), key=lambda each: each.key)
    random.Random(seed).shuffle(pool)
    return pool


def judged(
    text: str, head: re.Pattern[str], mark: re.Pattern[str], words: Sequence[str]
) -> Iterator[tuple[re.Match[str], str]]:
    """The heads of the entries of a sheet, each with the word behind its last mark: source may hold such a line, too.

    Entries that are not judged yet are left out; raises ValueError for a word that is none of `words`.
    """
    heads = list(head.finditer(text))
    ends = [each.start() for each in heads[1:]] + [len(text)]
    for each, end in zip(heads, ends, strict=True):
        found = mark.findall(text, each.end(), end)
        if not found or not found[-1]:
            continue
        if found[-1] not in words:
            raise ValueError(f"{each[1]}: {found[-1]} is none of {', '.join(words)}")
        yield each, found[-1]
