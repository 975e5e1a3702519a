"""Which TensorFlow and Keras a project runs on: by its requirements, lock files, environment settings and README."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from hybridize.records import dataclass, replace
from hybridize.regex import regex

Release: TypeAlias = tuple[int, int]

#: The releases whose facts we know apart; a project on an older one is judged by the first.
OLDEST: Final[Release] = (2, 9)
NEWEST: Final[Release] = (2, 21)
#: The first release that is eager unless somebody switches that off.
EAGER: Final[Release] = (2, 0)
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
_TEXTS: Final = "[Rr][Ee][Aa][Dd][Mm][Ee]*"
_NAME: Final = r"tensorflow(?:[-_](?:cpu|gpu|intel|macos|rocm|cpu-aws))?"
_PACKAGE: Final = regex(
    rf"(?<![\w./-]){_NAME}(?![\w.-]*[/:])(?:\[[\w,\s-]*\])?\s*[\"']?\s*(?:[=:]\s*)?(?P<rest>.*)", re.I
)
#: "TensorFlow 2.4", "tensorflow==2.6.0", a badge: but "2.0" often just means the second TensorFlow.
_WRITTEN: Final = regex(
    rf"(?<![\w./-])(?:{_NAME}|TF)(?P<how>\s?==\s?|[ \t*:`-]{{1,3}}(?:version\s)?v?)"
    r"(?P<version>2\.(?:[1-9]\d?(?:\.\d+)?|0\.\d+)|1\.\d+(?:\.\d+)?|1\.x)(?![\w.+-]*[+\w/])"
    r"(?!\W{0,3}(?:(?:or|and) )?(?:later|newer|higher|above|up|greater|onwards?|and)\b)",
    re.I,
)
#: "2.15 or newer", "TensorFlow >= 2.4", "TensorFlow 2.3+".
_OPEN: Final = regex(
    rf"(?<![\w./-])(?:{_NAME}|TF)\W{{1,4}}(?:version\s)?v?[12]\.\d+(?:\.\d+)?"
    r"(?:\s*\+|\W{0,3}(?:or|and)?\s*(?:later|newer|higher|above|up|greater|onwards?)\b)"
    rf"|(?<![\w./-])(?:{_NAME}|TF)\W{{0,3}}(?:version\s)?(?:>=|≥|>|at least|from)\s*v?[12]\.\d",
    re.I,
)
#: "TensorFlow 2", which what is said of TensorFlow 1 beside it is not about; and "TensorFlow >= 1.4", "1.4 or newer".
_SECOND: Final = regex(rf"(?<![\w./-])(?:{_NAME}|TF)\W{{0,4}}(?:version\s)?v?2(?!\d)", re.I)
_SINCE_FIRST: Final = regex(
    rf"(?<![\w./-])(?:{_NAME}|TF)\W{{0,4}}(?:version\s)?(?:>=|≥|>|at least|from)?\s*v?(?P<version>1\.\d+)", re.I
)
#: What no release before 2.0 has, and how programs ask which one they run on.
_EAGER_ONLY: Final = regex(
    r"\b(?:tf|tensorflow)\.(?:random\.(?:set_seed|Generator)\b|data\.AUTOTUNE\b|summary\.create_file_writer\("
    r"|config\.(?:list_physical_devices|run_functions_eagerly|set_visible_devices)\(|keras\.utils\.set_random_seed)"
)
_ASKS_RELEASE: Final = regex(r"\b(?:tf|tensorflow)\.(?:__version__|version\.VERSION)")
#: `2.*`: any release of a major version.
_ANY: Final = regex(r"\d+(?:\.\*)")
_LOCKED: Final = regex(rf'name = "{_NAME}"\s*\nversion = "(?P<version>[\d.]+)', re.I)
_LOCKED_JSON: Final = regex(rf'"{_NAME}":\s*\{{[^}}]*?"version":\s*"==(?P<version>[\d.]+)', re.I)
_IMAGE: Final = regex(r"^FROM\s+\S*tensorflow/tensorflow:(?P<version>\d+\.\d+)", re.I | re.M)
_SPECIFIER: Final = regex(r"(?P<how>===?|~=|!=|<=|>=|<|>|\^|~|=)?\s*[\"']?v?(?P<version>\d+(?:\.\d+)?)(?:\.[\w*]+)*")
_COMPARE: Final = {
    "==": lambda have, want: have == want,
    "<": lambda have, want: have < want,
    "<=": lambda have, want: have <= want,
    ">": lambda have, want: have > want,
    ">=": lambda have, want: have >= want,
}
#: `assert tf.__version__ == "2.9.3"`, or that it starts with a release.
_ASSERTED: Final = regex(
    r"^[ \t]*assert\b[^#\n]*\b(?:tf|tensorflow)\.__version__\s*(?:==|\.startswith\()\s*[\"']([12])\.(\d+)", re.M
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
    "tensorflow_addons": regex(
        r"^(?:import|from)[ ]tensorflow_addons\b", re.M
    ),  # which cannot be imported beside Keras 3
    "MeanTensor(": regex(r"\bmetrics\.MeanTensor\("),
    "predict_classes(": regex(r"\.predict_classes\("),
    "experimental_run_v2(": regex(r"\.experimental_run_v2\("),
}
#: What only Keras 3 has: a project that uses it runs there, whatever it keeps for older releases.
_KERAS_3_ONLY: Final = regex(r"\bkeras\.(?:ops|random\.SeedGenerator|src)\b|\bfrom keras import .*\bops\b")
_MOST: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Versions:
    """The releases of TensorFlow that a project may run on, and the major version of Keras.

    `tensorflow` is the release in force: the newest that is allowed, or the one that a text for people names; `keras`
    is what comes with it. What is to hold wherever the project runs has to hold from `oldest` to `newest`. `origin`
    says where all that was read: a file (from the project's folder, with its `line`, 0 where it is not one), or one of
    `tensorflow-version`, `sources`, `newest`. `legacy`: the project asks for Keras 2 on every release. `told`: a text
    for people says it, which binds nobody.
    """

    tensorflow: Release = NEWEST
    keras: int = 3
    origin: str = "newest"
    oldest: Release = OLDEST
    newest: Release = NEWEST
    line: int = 0
    legacy: bool = False
    told: bool = False

    def may_have_keras(self, major: int) -> bool:
        """Whether the project may run on a major version of Keras."""
        if self.legacy:
            return major == 2
        return self.newest >= _KERAS_3 if major == 3 else self.oldest < _KERAS_3

    def needs_keras(self, major: int) -> bool:
        """Whether the project runs on this major version of Keras alone."""
        return self.may_have_keras(major) and not self.may_have_keras(5 - major)

    @property
    def binds(self) -> bool:
        """Whether a file or option says what the project runs on: not a text for people, nor a guess."""
        return self.origin not in ("newest", "sources") and not self.told

    @property
    def source(self) -> str:
        """Where the releases were read, for people."""
        said = _SAID.get(self.origin)
        if said is not None:
            return said
        return f"{self.origin}:{self.line}{', which binds nobody' if self.told else ''}"


_SAID: Final = {
    "tensorflow-version": "the option tensorflow-version",
    "sources": "what the sources use",
    "newest": "no file says which",
}


@dataclass(frozen=True, slots=True)
class _Said:
    """What a file says: the oldest and the newest release that it allows (`oldest` None: any), and the line."""

    oldest: Release | None
    newest: Release
    line: int
    origin: str = ""
    marked: bool = False  # for some platforms or Pythons only; of a text: "or newer"


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
    legacy = any(_LEGACY.search(text) for text in sources if "TF_USE_LEGACY_KERAS" in text)
    if chosen:
        release = _release(chosen)
        found = Versions(release, 2, "tensorflow-version", release, release, legacy=legacy)
    else:
        found = replace(_narrowed(_eager(_found(root, sources), sources), sources), legacy=legacy)
    return replace(found, keras=2 if legacy or found.tensorflow < _KERAS_3 else 3)


def _found(root: Path, sources: list[str]) -> Versions:
    """What files say, else what sources assert, else what a text for people names, else any release."""
    folder = root if root.is_dir() else root.parent
    places = _up_to_repository(folder)
    for said in _declared(folder, places):
        return Versions(said.newest, 2, said.origin, said.oldest or min(OLDEST, said.newest), said.newest, said.line)
    told = next(_told(folder, places), None)
    if told is not None and told.oldest == told.newest:
        return Versions(told.newest, 2, told.origin, told.newest, told.newest, told.line)
    asserted = _asserted(sources)
    if asserted is not None:
        return Versions(asserted, 2, "sources", asserted, asserted)
    if told is not None and told.oldest is not None:
        release = told.newest if told.marked else told.oldest
        return Versions(release, 2, told.origin, min(OLDEST, told.oldest), told.newest, told.line, told=True)
    return Versions()


def _eager(found: Versions, sources: list[str]) -> Versions:
    """Without the releases before 2.0, where sources use what those do not have and ask for no release."""
    if found.oldest >= EAGER or found.newest < EAGER or any(_ASKS_RELEASE.search(text) for text in sources):
        return found
    if not any(_EAGER_ONLY.search(text) for text in sources):
        return found
    return replace(found, oldest=EAGER, tensorflow=max(found.tensorflow, EAGER))


def _narrowed(found: Versions, sources: list[str]) -> Versions:
    """The releases that sources allow, too: those with the Keras that has what they use."""
    if found.newest < _KERAS_3:
        return found
    needs = _needs_keras(sources)
    if needs == 2 and found.oldest < _KERAS_3:
        origin, line = (found.origin, found.line) if found.tensorflow < _KERAS_3 else ("sources", 0)
        release = min(found.tensorflow, _LAST_KERAS_2)
        return replace(found, tensorflow=release, newest=_LAST_KERAS_2, origin=origin, line=line)
    if needs == 3 and found.tensorflow >= _KERAS_3:
        return replace(found, oldest=max(found.oldest, _KERAS_3))
    return found


def _asserted(sources: list[str]) -> Release | None:
    """The newest release that some source asserts to run on."""
    found = [_ASSERTED.search(text) for text in sources if "__version__" in text]
    return max(((int(m[1]), int(m[2])) for m in found if m is not None), default=None)


def _needs_keras(sources: list[str]) -> int:
    """The major version of Keras that has what some source uses; 0 where both have."""
    keras = [text for text in sources if "keras" in text or "tensorflow" in text]
    if any("keras" in text and _KERAS_3_ONLY.search(text) for text in keras):
        return 3
    return 2 if any(_asks_for_keras_2(text) for text in keras) else 0


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


def _declared(folder: Path, places: list[Path]) -> Iterator[_Said]:
    """What the files say that declare it, most binding first."""
    for place in places:
        # Beside the project's folder there are other projects: of a parent only its own files count.
        for pattern in _FILES if place == folder else _FILES[:-1]:
            for file in _matching(place, pattern):
                said = _read(file)
                if said is not None:
                    yield replace(said, origin=_from(folder, file))


def old_folders(root: Path, paths: Iterable[str]) -> dict[str, Versions]:
    """What the own requirements of folders below a project's say, where that is a release before 2.0.

    Args:
        root: the project's folder.
        paths: its files, from there.

    Returns:
        By file, the releases that the closest folder with requirements allows; nothing for files of later ones.
    """
    known: dict[str, Versions | None] = {"": None}
    found = {path: _closest(root, path.rpartition("/")[0], known) for path in paths}
    return {path: said for path, said in found.items() if said is not None and said.oldest < EAGER}


def _closest(root: Path, folder: str, known: dict[str, Versions | None]) -> Versions | None:
    if folder not in known:
        place = root / folder
        said = next((_read_from(root, f) for p in _FILES[:-1] for f in _matching(place, p) if _read(f)), None)
        known[folder] = said or _closest(root, folder.rpartition("/")[0], known)
    return known[folder]


def _read_from(root: Path, file: Path) -> Versions | None:
    said = _read(file)
    if said is None:
        return None
    oldest = said.oldest or min(OLDEST, said.newest)
    return Versions(said.newest, 2, _from(root, file), oldest, said.newest, said.line)


def _from(folder: Path, file: Path) -> str:
    return os.path.relpath(file, folder).replace(os.sep, "/")


def _told(folder: Path, places: list[Path]) -> Iterator[_Said]:
    """What texts for people say: one release where they install it (`==`), else the newest that they name, or newer.

    Nothing where they say "or newer" of any.
    """
    for file in sorted(f for place in places for f in _matching(place, _TEXTS)):
        text = _text(file) or ""
        named = [(_release(each["version"]), each) for each in _WRITTEN.finditer(text)]
        if any(release < EAGER for release, _ in named) and _SECOND.search(text):
            named = [pair for pair in named if pair[0] >= EAGER]
        pinned = [pair for pair in named if "==" in pair[1]["how"]]
        if not pinned and _OPEN.search(text):
            since = None if _SECOND.search(text) else _SINCE_FIRST.search(text)
            if since is not None:
                line = text.count("\n", 0, since.start()) + 1
                yield _Said(_release(since["version"]), NEWEST, line, _from(folder, file), marked=True)
            continue
        if not named:
            continue
        release, at = max(pinned or named, key=lambda pair: pair[0])
        line = text.count("\n", 0, at.start()) + 1
        yield _Said(release, release if pinned else max(NEWEST, release), line, _from(folder, file))


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


def _read(file: Path) -> _Said | None:
    text = _text(file)
    if text is None:
        return None
    for pattern in (_LOCKED, _LOCKED_JSON, _IMAGE):
        locked = [(_release(each["version"]), each.start("version")) for each in pattern.finditer(text)]
        if locked:
            return _Said(min(locked)[0], max(locked)[0], text.count("\n", 0, max(locked)[1]) + 1)
    said: list[_Said] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _PACKAGE.search(line.split("#")[0])
        allowed = _allowed(found["rest"], number) if found is not None else None
        if allowed is not None:
            said.append(allowed)
    return _joined(said) if said else None


def _joined(said: list[_Said]) -> _Said:
    """What several lines allow: all of them at once, but those for other platforms, or that exclude each other."""
    newest = min(each.newest for each in said)
    bounds = [each.oldest for each in said if each.oldest is not None]
    oldest = max(bounds, default=min(OLDEST, newest))
    if oldest > newest or any(each.marked for each in said):
        newest = max(each.newest for each in said)
        oldest = min(bounds, default=OLDEST) if len(bounds) == len(said) else min([*bounds, OLDEST])
    return _Said(oldest, newest, next(each.line for each in said if newest == each.newest))


def _allowed(specifiers: str, line: int) -> _Said | None:
    """The releases that a requirement allows, None where it says nothing."""
    said, _, marker = specifiers.partition(";")
    wanted = list(_specifiers(said))
    if not wanted:
        return None
    last = max([version for how, version in wanted if how in ("==", "<=")], default=NEWEST)
    known = [(2, minor) for minor in range(NEWEST[1] + 1)] + [(1, minor) for minor in range(16)]
    allowed = [
        release
        for release in sorted({*known, min(last, (99, 0))})
        if all(_COMPARE[how](release, version) for how, version in wanted)
    ]
    if not allowed:
        return None
    bounded = any(how in ("==", ">=", ">") for how, _ in wanted)
    return _Said(allowed[0] if bounded else None, allowed[-1], line, marked=bool(marker.strip()))


def _specifiers(text: str) -> Iterator[tuple[str, Release]]:
    for part in text.split(","):
        found = _SPECIFIER.match(part.strip().strip("\"'([{ "))
        if found is None:
            continue
        how = found["how"] or "=="
        version = _release(found["version"])
        if how in ("==", "=") and _ANY.match(part.strip().lstrip("=").strip("\"' ")):
            yield ">=", (version[0], 0)
            yield "<", (version[0] + 1, 0)
        elif how == "^" or (how == "~=" and "." not in found["version"]) or (how == "~=" and part.count(".") == 1):
            yield ">=", version
            yield "<", (version[0] + 1, 0)
        elif how == "<" and re.search(r"\d+\.\d+\.[1-9]", part):
            yield "<=", version  # below 2.9.1 is still 2.9
        elif how == ">" and re.search(r"\d+\.\d+\.\d", part):
            yield ">=", version
        elif how in ("~", "=", "===", "~="):
            yield "==", version
        elif how != "!=":
            yield how, version


def _release(text: str) -> Release:
    numbers = [int(n) for n in re.findall(r"\d+", text)[:2]]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0)
