"""What files say about releases of TensorFlow: requirements, lock files, images, commands that install it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from hybridize.records import dataclass
from hybridize.regex import regex

Release: TypeAlias = tuple[int, int]

#: Where nothing says which releases a project runs on, it may be any that is eager: what nobody has touched since 2020
#: runs on none of today's.
OLDEST: Final[Release] = (2, 0)
#: What is tried on, or told to run on, a release runs on that one and later ones; on those since this one anyway.
KNOWN: Final[Release] = (2, 9)
NEWEST: Final[Release] = (2, 21)

#: The packages that bring TensorFlow.
NAME: Final = (
    r"(?:tensorflow(?:[-_](?:cpu|gpu|intel|macos|rocm|cpu-aws|aarch64|base))?"
    r"|intel[-_]tensorflow|tf[-_]nightly(?:[-_][cg]pu)?)"
)
#: A name with what it asks for. A space alone asks for nothing: "TensorFlow 2.0" describes (but see conda's lists).
_PACKAGE: Final = regex(
    rf"(?<![\w./-]){NAME}(?![\w.-]*/)(?:\[[\w,\s-]*\])?\s*[\"']?\s*(?P<rest>"
    r"(?:[=:]\s*[\"']\s*|=\s*\{[^}\n]*?version\s*=\s*[\"']|\(\s*)?(?:===?|~=|!=|<=|>=|<|>|\^|~|=)\s*v?\d[^\n\"'\]]*"
    r"|[=:]\s*(?:\{[^}\n]*?version\s*=\s*)?[\"']\s*v?\d[^\n\"'\]]*)",
    re.I,
)
_LEADS: Final = regex(r"^\(|^[=:]\s*(?:\{[^}\n]*?version\s*=\s*)?[\"']")
_CONDA: Final = regex(rf"^\s*-\s+{NAME} +(?P<rest>\d[^\n]*)", re.I)
#: Packages whose releases follow TensorFlow's: the same minor version.
_COMPANION: Final = regex(
    r"(?<![\w./-])(?:tensorflow[-_](?:estimator|text)|tf[-_]keras|tf[-_]estimator[-_]nightly)\s*==?\s*(?P<version>2\.\d+)",
    re.I,
)
#: `tensorflow-version: ["~=2.9.0", "2.10"]` of a matrix, `TF_VERSION=2.3`.
_MATRIX: Final = regex(r"\b(?:tf|tensorflow)[-_]?versions?\b[\"']?\s*[:=]\s*(?P<list>[^\n]*\d\.\d[^\n]*)", re.I)
_NUMBER: Final = regex(r"(?<![\w.])v?([12]\.\d+)(?:\.[\w*]+)?")
#: The packages and names of what came before 2.0: no release after it, and not all that 2.0 has.
PREVIEW: Final = regex(
    r"(?<![\w./-])(?:tf|tensorflow)(?:[-_]nightly)?(?:[-_][cg]pu)?[-_ =v]{0,3}2\.0(?:\.0)?[-_. ]{0,2}"
    r"(?P<stage>preview|alpha|beta|a\d|b\d|dev\d)",
    re.I,
)
#: `2.*`: any release of a major version.
_ANY: Final = regex(r"\d+(?:\.\*)")
_LOCKED: Final = regex(rf'name = "{NAME}"\s*\nversion = "(?P<version>[\d.]+)', re.I)
_LOCKED_JSON: Final = regex(rf'"{NAME}":\s*\{{[^}}]*?"version":\s*"==(?P<version>[\d.]+)', re.I)
_IMAGE: Final = regex(
    r"(?:^FROM\s+|\b(?:image|container):\s*[\"']?)\S*tensorflow/tensorflow:(?P<version>\d+\.\d+)", re.I | re.M
)
_SPECIFIER: Final = regex(r"(?P<sign>===?|~=|!=|<=|>=|<|>|\^|~|=)?\s*[\"']?v?(?P<version>\d+(?:\.\d+)?)(?:\.[\w*]+)*")
#: A constant that a set-up script composes its requirements of.
_CONSTANT: Final = regex(r"^\s*(\w+)\s*=\s*[\"'](\d[\w.]*)[\"']\s*$", re.M)
_COMPARE: Final = {
    "==": lambda have, want: have == want,
    "<": lambda have, want: have < want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    ">=": lambda have, want: have >= want,
}
_MOST: Final = 2_000_000
_LOCKS: Final = (".lock",)


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says: the oldest and the newest release that it allows (`oldest` None: any), and the line."""

    oldest: Release | None
    newest: Release
    line: int
    origin: str = ""
    marked: bool = False  # for some platforms or Pythons only; of a text: "or newer"


def text_of(file: Path) -> str | None:
    """The text of a file that is not too large; None where it cannot be read."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST:
            return None
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def read(file: Path) -> Said | None:
    """The releases that a file allows; None where it says nothing."""
    text = text_of(file)
    if text is None:
        return None
    for pattern in (_LOCKED, _LOCKED_JSON, _IMAGE):
        locked = [(release_of(each["version"]), each.start("version")) for each in pattern.finditer(text)]
        if locked:
            return Said(min(locked)[0], max(locked)[0], text.count("\n", 0, max(locked)[1]) + 1)
    if file.suffix in _LOCKS:
        return None  # what others ask for
    if file.suffix == ".py":
        text = _composed(text)
    said = list(_lines(text))
    return _joined(said) if said else None


def installs(file: Path) -> list[tuple[Release, int]]:
    """The releases, each with its line, that a file installs: itself, in an image, a matrix, by a companion."""
    text = text_of(file)
    if text is None:
        return []
    if file.suffix == ".ipynb":
        text = "\n".join(line if " install " in line else "" for line in text.splitlines())
    found = [(s.newest, s.line) for s in _lines(text) if s.oldest == s.newest]
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("#")[0]
        found += [(release_of(m["version"]), number) for m in (_IMAGE.search(code), _COMPANION.search(code)) if m]
        matrix = _MATRIX.search(code)
        if matrix is not None:
            found += [(release_of(version), number) for version in _NUMBER.findall(matrix["list"])]
    return [(release, line) for release, line in found if release <= NEWEST]


def _lines(text: str) -> Iterator[Said]:
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("#")[0]
        for found in (*_PACKAGE.finditer(code), *_CONDA.finditer(code)):
            allowed = _allowed(_LEADS.sub("", found["rest"]), number)
            if allowed is not None:
                yield allowed
        if "preview" in code and (preview := PREVIEW.search(code)) and preview["stage"].lower() == "preview":
            yield Said(OLDEST, OLDEST, number)


def _composed(text: str) -> str:
    """A set-up script with the constants that its requirements are composed of (f-strings, sums) in their places."""
    for name, value in _CONSTANT.findall(text):
        text = text.replace("{" + name + "}", value)
        text = re.sub(rf"[\"']\s*\+\s*{name}\b", f'{value}"', text)
    return text


def _joined(said: list[Said]) -> Said:
    """What several lines allow: all of them at once, but those for other platforms, or that exclude each other."""
    newest = min(each.newest for each in said)
    bounds = [each.oldest for each in said if each.oldest is not None]
    oldest = max(bounds, default=min(OLDEST, newest))
    if oldest > newest or any(each.marked for each in said):
        newest = max(each.newest for each in said)
        oldest = min(bounds, default=OLDEST) if len(bounds) == len(said) else min([*bounds, OLDEST])
    return Said(oldest, newest, next(each.line for each in said if newest == each.newest))


def _allowed(specifiers: str, line: int) -> Said | None:
    """The releases that a requirement allows, None where it says nothing."""
    said, _, marker = re.split(r"[\"'\])}]|\s#", specifiers, maxsplit=1)[0].partition(";")
    wanted = list(_specifiers(said))
    if not wanted:
        return None
    last = max([version for sign, version in wanted if sign in ("==", "<=")], default=NEWEST)
    known = [(2, minor) for minor in range(NEWEST[1] + 1)] + [(1, minor) for minor in range(16)]
    allowed = [
        release
        for release in sorted({*known, min(last, (99, 0))})
        if all(_COMPARE[sign](release, version) for sign, version in wanted)
    ]
    if not allowed:
        return None
    bounded = any(sign in ("==", ">=", ">") for sign, _ in wanted)
    return Said(allowed[0] if bounded else None, allowed[-1], line, marked=bool(marker.strip()))


def _specifiers(text: str) -> Iterator[tuple[str, Release]]:
    for part in text.split(","):
        found = _SPECIFIER.match(part.strip().strip("\"'([{ "))
        if found is None:
            continue
        sign = found["sign"] or "=="
        version = release_of(found["version"])
        if sign in ("==", "=") and _ANY.match(part.strip().lstrip("=").strip("\"' ")):
            yield ">=", (version[0], 0)
            yield "<", (version[0] + 1, 0)
        elif sign == "^" or (sign == "~=" and "." not in found["version"]) or (sign == "~=" and part.count(".") == 1):
            yield ">=", version
            yield "<", (version[0] + 1, 0)
        elif sign == "<" and re.search(r"\d+\.\d+\.[1-9]", part):
            yield "<=", version  # below 2.9.1 is still 2.9
        elif sign == ">" and re.search(r"\d+\.\d+\.\d", part):
            yield ">=", version
        elif sign in ("~", "=", "===", "~="):
            yield "==", version
        elif sign != "!=":
            yield sign, version


def release_of(text: str) -> Release:
    """The first two numbers of a version."""
    numbers = [int(n) for n in re.findall(r"\d+", text)[:2]]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)
