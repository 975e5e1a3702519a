"""Which releases of TensorFlow have a private module: importing one says on which releases a project runs.

Read off the files of the wheels of `tensorflow-cpu` 2.1 to 2.14, 2.16 and 2.17 and of `tensorflow` 2.15 and 2.21, each
release's first. What all of them have is left out, as is what only tests of TensorFlow import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from hybridize.regex import regex
from hybridize.source.requirements import NEWEST, Release

_ROOT: Final = "tensorflow.python."
_MODULES: Final = Path(__file__).with_suffix(".txt")
#: Where a module has always been.
_FIRST: Final[Release] = (0, 0)
#: An import that nothing stands around: what is indented may be tried, or asked for a release.
_IMPORT: Final = regex(
    r"^(?:from[ \t]+tensorflow\.python\.(?P<of>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#]*)"
    r"|import[ \t]+tensorflow\.python\.(?P<module>[\w.]+)"
    r"|from[ \t]+tensorflow\.python[ \t]+import[ \t]+(?P<top>\([^)]*\)|[^\n#]*))",
    re.M,
)
_NAME: Final = regex(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")


def bounds(texts: Iterable[str]) -> tuple[Release, Release]:
    """The first and the last release that have all private modules that some sources import."""
    first, last = _FIRST, NEWEST
    for text in texts:
        if _ROOT in text or "from tensorflow.python import" in text:
            for module in _imported(text):
                since, until = _releases(module)
                first, last = max(first, since), min(last, until)
    return first, last


def _imported(text: str) -> Iterator[str]:
    """The private modules that a source imports, below `tensorflow.python`; names in them may be modules, too."""
    for found in _IMPORT.finditer(text):
        of = found["of"] or ""
        if found["module"]:
            yield found["module"]
            continue
        for name in _NAME.finditer(found["names"] or found["top"] or ""):
            yield f"{of}.{name[1]}".lstrip(".")


def _releases(module: str) -> tuple[Release, Release]:
    """The releases that have a module: those that have all packages around it."""
    first, last = _FIRST, NEWEST
    known = _table()
    while module:
        since, until = known.get(module, (_FIRST, NEWEST))
        first, last = max(first, since), min(last, until)
        module = module.rpartition(".")[0]
    return first, last


@cache
def _table() -> dict[str, tuple[Release, Release]]:
    found: dict[str, tuple[Release, Release]] = {}
    for line in _MODULES.read_text("utf-8").splitlines()[1:]:
        since, until, *modules = line.split()
        span = (_release(since, _FIRST), _release(until, NEWEST))
        found.update(dict.fromkeys(modules, span))
    return found


def _release(said: str, otherwise: Release) -> Release:
    major, _, minor = said.partition(".")
    return (int(major), int(minor)) if minor else otherwise
