"""Files that state library versions, and what changed in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Final

PATHS: Final = ("*requirements*.txt", "*setup.cfg", "*pyproject.toml", "*Pipfile", "*environment*.yml")
"""Besides `setup.py`, which is searched as Python anyway."""
_PATHS: Final = re.compile("|".join(map(translate, PATHS)))


def is_requirements(path: str) -> bool:
    """Whether a path is one of these files."""
    return _PATHS.match(path) is not None


def differences(before: str, after: str, packages: Sequence[str]) -> list[tuple[str, str, str, int]]:
    """Changed requirements of the packages: (package, before, after, line after)."""
    olds, news = _stated(before, packages), _stated(after, packages)
    return [
        (name, olds[name][0], news[name][0], news[name][1])
        for name in sorted(olds.keys() & news.keys())
        if olds[name][0] != news[name][0]
    ]


def _stated(text: str, packages: Sequence[str]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    names = "|".join(re.escape(name) for name in sorted(packages, key=len, reverse=True))
    pattern = re.compile(
        rf"(?<![\w.-])({names})(?![\w.-])(?:\[[\w,-]+\])?\s*((?:[<>=~!]=?=?|=\s*[\"'])[^\"'#;\]\n]*)", re.IGNORECASE
    )
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            continue
        for match in pattern.finditer(line):
            found[match[1].lower()] = (match[2].strip(" ,\"'="), number)
    return found
