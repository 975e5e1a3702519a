"""Which TensorFlow and Keras a project runs on: by its requirements, lock files, environment settings and README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from hybridize.records import dataclass
from hybridize.regex import regex

Release: TypeAlias = tuple[int, int]

#: The releases whose facts we know apart; a project on an older one is judged by the first.
OLDEST: Final[Release] = (2, 9)
NEWEST: Final[Release] = (2, 21)
#: The first release that brings Keras 3.
_KERAS_3: Final[Release] = (2, 16)
_LAST_KERAS_2: Final[Release] = (2, 15)
#: Where versions are looked for, most binding first.
_FILES: Final = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "requirements*.txt",
    "requirements/*.txt",
    "constraints*.txt",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "environment*.y*ml",
    "conda*.y*ml",
    "Pipfile",
    "Dockerfile*",
    "*/requirements*.txt",
)
#: Where people write it for people, if no other file says it.
_TOLD: Final = "[Rr][Ee][Aa][Dd][Mm][Ee]*"
_NAME: Final = r"tensorflow(?:[-_](?:cpu|gpu|intel|macos|rocm|cpu-aws))?"
_PACKAGE: Final = regex(
    rf"(?<![\w./-]){_NAME}(?![\w.-]*[/:])(?:\[[\w,\s-]*\])?\s*[\"']?\s*(?:[=:]\s*)?(?P<rest>.*)", re.I
)
#: "TensorFlow 2.4", "tensorflow==2.6.0", a badge: but "2.0" often just means the second TensorFlow.
_WRITTEN: Final = regex(
    rf"(?<![\w./-])(?:{_NAME}|TF)(?P<how>\s?==\s?|[ \t*:`-]{{1,3}}(?:version\s)?v?)"
    r"(?P<version>2\.(?:[1-9]\d?(?:\.\d+)?|0\.\d+))(?![\w.+-]*[+\w/])"
    r"(?!\W{0,3}(?:(?:or|and) )?(?:later|newer|higher|above|up|greater|onwards?|and)\b)",
    re.I,
)
_LOCKED: Final = regex(rf'name = "{_NAME}"\s*\nversion = "(?P<version>[\d.]+)', re.I)
_LOCKED_JSON: Final = regex(rf'"{_NAME}":\s*\{{[^}}]*?"version":\s*"==(?P<version>[\d.]+)', re.I)
_IMAGE: Final = regex(r"^FROM\s+\S*tensorflow/tensorflow:(?P<version>\d+\.\d+)", re.I | re.M)
_SPECIFIER: Final = regex(r"(?P<how>===?|~=|!=|<=|>=|<|>|\^|~|=)?\s*[\"']?v?(?P<version>\d+(?:\.\d+)?)(?:\.[\w*]+)*")
_COMPARE: Final = {
    "==": lambda have, want: have == want,
    "~=": lambda have, want: have == want,
    "<": lambda have, want: have < want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    ">=": lambda have, want: have >= want,
}
#: `assert tf.__version__ == "2.9.3"`, or that it starts with a release.
_ASSERTED: Final = regex(
    r"^[ \t]*assert\b[^#\n]*\b(?:tf|tensorflow)\.__version__\s*(?:==|\.startswith\()\s*[\"'](2)\.(\d+)", re.M
)
_LEGACY: Final = regex(r"TF_USE_LEGACY_KERAS[\"']?\]?\s*(?:,|=|:)\s*[\"']?(?:1|true)", re.I)
#: What Keras 3 no longer has: a program that uses it runs on Keras 2 only (each was tried under 2.15 and 2.21).
#: By a text that is quick to find: what the line that holds it (and the next one) must look like.
_KERAS_2_ONLY: Final = {
    ".add_weight(": regex(r"\.add_weight\(\s*[\"']"),  # the name; Keras 3 takes the shape first
    "optimizers.": regex(r"\boptimizers\.(?:legacy\.|\w+\([^)\n]*\blr\s*=)"),
    "learning_phase(": regex(r"\b(?:keras|K|backend)\.(?:set_)?learning_phase\("),
    "_phase(": regex(r"\b(?:keras|K|backend)\.in_(?:train|test)_phase\("),
    "keras.e": regex(r"\bkeras\.(?:experimental|estimator)\."),
    "layers.experimental": regex(r"\blayers\.experimental\b"),
    "keras.layers": regex(r"\b(?:AbstractRNNCell|LocallyConnected[12]D|CuDNN(?:LSTM|GRU)|DenseFeatures)\b"),
    "_generator(": regex(r"\.(?:fit|predict|evaluate)_generator\("),
    "et_hyper(": regex(r"\._[sg]et_hyper\("),
}
#: What only Keras 3 has: a project that uses it runs there, whatever it keeps for older releases.
_KERAS_3_ONLY: Final = regex(r"\bkeras\.(?:ops|random\.SeedGenerator|src)\b|\bfrom keras import .*\bops\b")
_MOST: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Versions:
    """The TensorFlow release that decides facts which differ between releases, and the major version of Keras.

    `origin` says where it was read: a file of the project, `tensorflow-version`, `sources`, or `newest`.
    """

    tensorflow: Release = NEWEST
    keras: int = 3
    origin: str = "newest"


def project_versions(root: Path, chosen: str | None, texts: Iterable[str] = ()) -> Versions:
    """The versions of a project.

    Args:
        root: its folder; requirement and lock files in it and its parents up to a repository's root are read.
        chosen: the option `tensorflow-version`, which wins over all files.
        texts: its sources; a release that one asserts counts where no file tells; one that sets `TF_USE_LEGACY_KERAS`
            or imports `tf_keras` alone runs on Keras 2, and so does a project whose files allow the newest releases
            while its sources use what Keras 3 does not have.
    """
    sources = list(texts)
    if chosen:
        numbers = [int(n) for n in re.findall(r"\d+", chosen)[:2]]
        release: Release | None = (numbers[0], numbers[1] if len(numbers) > 1 else 0)
        origin = "tensorflow-version"
    else:
        release, origin = _from_files(root)
    if release is None:
        release, origin = _asserted(sources), "sources"
    if release is None:
        release, origin = NEWEST, "newest"
    if not chosen and release >= _KERAS_3 and _needs_keras_2(sources):
        release, origin = _LAST_KERAS_2, "sources"
    legacy = release < _KERAS_3 or any(_LEGACY.search(text) for text in sources if "TF_USE_LEGACY_KERAS" in text)
    return Versions(release, 2 if legacy else 3, origin)


def _asserted(sources: list[str]) -> Release | None:
    """The newest release that some source asserts to run on."""
    found = [_ASSERTED.search(text) for text in sources if "__version__" in text]
    return max(((int(m[1]), int(m[2])) for m in found if m is not None), default=None)


def _needs_keras_2(sources: list[str]) -> bool:
    """Whether some source uses what Keras 3 does not have, and none what only Keras 3 has."""
    keras = [text for text in sources if "keras" in text or "tensorflow" in text]
    if any("keras" in text and _KERAS_3_ONLY.search(text) for text in keras):
        return False
    return any(_asks_for_keras_2(text) for text in keras)


def _asks_for_keras_2(text: str) -> bool:
    for hint, pattern in _KERAS_2_ONLY.items():
        place = text.find(hint)
        while place >= 0:
            start = text.rfind("\n", 0, place) + 1
            end = text.find("\n", text.find("\n", place) + 1)
            found = pattern.search(text, start, end if end > place else len(text))
            if found is not None and "#" not in text[start : found.start()]:
                return True
            place = text.find(hint, place + len(hint))
    return False


def _from_files(root: Path) -> tuple[Release | None, str]:
    folder = root if root.is_dir() else root.parent
    places = _up_to_repository(folder)
    for place in places:
        # Beside the project's folder there are other projects: of a parent only its own files count.
        for pattern in _FILES if place == folder else _FILES[:-1]:
            for file in _matching(place, pattern):
                found = _read(file)
                if found is not None:
                    return found, file.name
    for file in sorted(f for place in places for f in _matching(place, _TOLD)):
        found = _told(file)
        if found is not None:
            return found, file.name
    return None, ""


def _told(file: Path) -> Release | None:
    """The newest release that a text for people names by its number."""
    text = _text(file)
    found = [_release(each["version"]) for each in _WRITTEN.finditer(text or "")]
    return max(found, default=None)


def _up_to_repository(folder: Path) -> list[Path]:
    """A folder and those above it up to the root of its repository; the folder alone where it is in none."""
    places = [folder, *folder.parents]
    for i, place in enumerate(places):
        if (place / ".git").exists():
            return places[: i + 1]
    return [folder]


def _matching(place: Path, pattern: str) -> list[Path]:
    """The files of a folder that match; none where it cannot be listed (folders beside it may come and go)."""
    try:
        return sorted(place.glob(pattern))
    except OSError:
        return []


def _text(file: Path) -> str | None:
    """The text of a file that is not too large; None where it cannot be read."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST:
            return None
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _read(file: Path) -> Release | None:
    text = _text(file)
    if text is None:
        return None
    for pattern in (_LOCKED, _LOCKED_JSON, _IMAGE):
        locked = pattern.search(text)
        if locked is not None:
            return _release(locked["version"])
    best: Release | None = None
    for line in text.splitlines():
        found = _PACKAGE.search(line.split("#")[0])
        allowed = _newest_allowed(found["rest"]) if found is not None else None
        if allowed is not None and (best is None or allowed < best):
            best = allowed
    return best


def _newest_allowed(specifiers: str) -> Release | None:
    """The newest release that a requirement allows, None where it says nothing."""
    wanted = list(_specifiers(specifiers.split(";")[0]))
    if not wanted:
        return None
    last = max([version for how, version in wanted if how in ("==", "~=", "<=")], default=NEWEST)
    known = [(2, minor) for minor in range(NEWEST[1] + 1)] + [(1, minor) for minor in range(16)]
    for release in sorted({*known, min(last, (99, 0))}, reverse=True):
        if all(_COMPARE[how](release, version) for how, version in wanted):
            return release
    return None


def _specifiers(text: str) -> Iterator[tuple[str, Release]]:
    for part in text.split(","):
        found = _SPECIFIER.match(part.strip().strip("\"'([{ "))
        if found is None:
            continue
        how = found["how"] or "=="
        version = _release(found["version"])
        if how == "^" or (how == "~=" and "." not in found["version"]) or (how == "~=" and part.count(".") == 1):
            yield ">=", version
            yield "<", (version[0] + 1, 0)
        elif how == "<" and re.search(r"\d+\.\d+\.[1-9]", part):
            yield "<=", version  # below 2.9.1 is still 2.9
        elif how == ">" and re.search(r"\d+\.\d+\.\d", part):
            yield ">=", version
        elif how in ("~", "=", "==="):
            yield "==", version
        elif how != "!=":
            yield how, version


def _release(text: str) -> Release:
    numbers = [int(n) for n in re.findall(r"\d+", text)[:2]]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)
