"""Which TensorFlow and Keras a project runs on: by its requirements, lock files, environment settings and README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from hybridize.records import dataclass, replace
from hybridize.regex import regex
from hybridize.source.declared import FILES, declared, matching, oldest_beside, origin_of, up_to_repository
from hybridize.source.private_modules import bounds
from hybridize.source.requirements import (
    KNOWN,
    NAME,
    NEWEST,
    OLDEST,
    PREVIEW,
    Release,
    Said,
    installs,
    read,
    release_of,
    text_of,
)

#: The first release that is eager unless somebody switches that off.
EAGER: Final[Release] = OLDEST
#: The first release that brings Keras 3.
_KERAS_3: Final[Release] = (2, 16)
_LAST_KERAS_2: Final[Release] = (2, 15)
#: Where releases are installed to try the project: what it runs on, though it may run on others.
_TRIED: Final = (
    "Dockerfile*",
    "*/Dockerfile*",
    "tox.ini",
    "noxfile.py",
    ".travis.yml",
    ".github/workflows/*.y*ml",
    ".gitlab-ci.yml",
    "azure-pipelines.yml",
    ".circleci/config.yml",
    "meta.yaml",
    "recipe/meta.yaml",
    "conda*/meta.yaml",
    "*requirements*.txt",
    "requirements/*.txt",
    "*/requirements*.txt",
    "*/*requirements*.txt",
    "environment*.y*ml",
    "setup.py",
    "pyproject.toml",
    "*.ipynb",
)
#: Where people write it for people, if no other file says it.
_TEXTS: Final = "[Rr][Ee][Aa][Dd][Mm][Ee]*"
_NAME: Final = NAME
#: "TensorFlow 2.4", "tensorflow==2.6.0", a badge: but "2.0" often just means the second TensorFlow.
_WRITTEN: Final = regex(
    rf"(?<![\w./-])(?:{_NAME}|TF)(?P<how>\s?==\s?|[ \t*:`-]{{1,3}}(?:version\s)?v?)"
    r"(?P<version>2\.(?:[1-9]\d?(?:\.\d+)?|0\.\d+)|1\.\d+(?:\.\d+)?|1\.x)(?![\w.+-]*[+\w/])"
    r"(?!\W{0,3}(?:(?:or|and) )?(?:later|newer|higher|above|up|greater|onwards?|and)\b)",
    re.I,
)
_MORE: Final = regex(r"\s*(?:,\s*(?:and|or)?|and|or|/|&|-|to)\s*v?(?P<version>2\.\d+)(?![\w+])")
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
#: What is new in a release, by a text that is quick to find.
_NEW: Final = {
    "jit_compile": (regex(r"\bfunction\([^)\n]*\bjit_compile\s*="), (2, 5)),
    "reduce_retracing": (regex(r"\bfunction\([^)\n]*\breduce_retracing\s*="), (2, 9)),
}
#: What no release before 2.0 has, and how programs ask which one they run on.
_EAGER_ONLY: Final = regex(
    r"\b(?:tf|tensorflow)\.(?:random\.(?:set_seed|Generator)\b|data\.AUTOTUNE\b|summary\.create_file_writer\("
    r"|config\.(?:list_physical_devices|run_functions_eagerly|set_visible_devices)\(|keras\.utils\.set_random_seed)"
)
#: What no release from 2.0 on has under this name, and what a program of the second has.
_FIRST: Final = regex(r"^import tensorflow as tf$", re.M)
_FIRST_ONLY: Final = regex(r"\btf\.(?:contrib\.\w|placeholder\(|Session\(|global_variables_initializer\()")
_SECOND_ONLY: Final = regex(
    r"\btf\.(?:function\b|GradientTape\b|compat\.|__version__|version\.VERSION)|\btensorflow\.(?:compat\.|__version__)|\btf2\b"
    r"|%tensorflow_version 2"
)
#: What no release before this one has, and how sources use it: a file that asks for an older one is of other times.
_FUNCTIONS: Final[Release] = (1, 13)
_FUNCTION: Final = regex(r"^[ \t]*@(?:tf|tensorflow)\.function\b|^[^#\n\"']*[=(]\s*(?:tf|tensorflow)\.function\(", re.M)
_FIRST_1: Final[Release] = (1, 0)
_LAST_1: Final[Release] = (1, 15)
_ASKS_RELEASE: Final = regex(r"\b(?:tf|tensorflow)\.(?:__version__|version\.VERSION)")
_ASKS_KERAS: Final = regex(r"\b(?:tf|tensorflow|keras)\.__version__\b[^\n]*(?:[<>=]=|[<>(])|\([^\n]*keras\.__version__")
#: `assert tf.__version__ == "2.9.3"`, or that it starts with a release.
_ASSERTED: Final = regex(
    r"^[ \t]*assert\b[^#\n]*\b(?:tf|tensorflow)\.__version__\s*(?:==|\.startswith\()\s*[\"']([12])\.(\d+)", re.M
)
_LEGACY: Final = regex(r"TF_USE_LEGACY_KERAS[\"']?\]?\s*(?:,|=|:)\s*[\"']?(?:1|true)", re.I)
_TF_KERAS: Final = regex(r"^\s*(?:import|from) tf_keras\b", re.M)
_OTHER_KERAS: Final = regex(
    r"\b(?:tf|tensorflow)\.keras\b|^\s*(?:import|from) keras\b|\bfrom tensorflow import .*\bkeras\b", re.M
)
#: What Keras 3 no longer has: a program that uses it runs on Keras 2 only (each was tried under 2.15 and 2.21).
#: By a text that is quick to find: what the line that holds it (and the next one) must look like.
_KERAS_2_ONLY: Final[dict[str, re.Pattern[str]]] = {
    ".add_weight(": regex(r"\.add_weight\(\s*[\"']"),  # the name; Keras 3 takes the shape first
    "optimizers.": regex(r"\boptimizers\.(?:legacy\.|\w+\([^)\n]*\blr\s*=)"),
    "learning_phase(": regex(r"\b(?:keras|K|backend)\.(?:set_)?learning_phase\("),
    "_phase(": regex(r"\b(?:keras|K|backend)\.in_(?:train|test)_phase\("),
    "keras.e": regex(r"\bkeras\.(?:experimental|estimator|engine)\b"),
    "layers.experimental": regex(r"\blayers\.experimental\b"),
    "keras.layers": regex(
        r"\b(?:AbstractRNNCell|LocallyConnected[12]D|CuDNN(?:LSTM|GRU)|DenseFeatures)\b|\bkeras\.layers\."
        r"(?:core|advanced_activations|convolutional|merge|normalization|recurrent|embeddings|wrappers|pooling|noise)\b"
    ),
    "keras.backend": regex(r"\bkeras\.backend\.(?:tensorflow_backend|[gs]et_session)\b"),
    "keras.utils": regex(
        r"\bkeras\.utils(?:\.| import )(?:\w+_utils\b|multi_gpu_model|\w+Enqueuer)|\bkeras\.utils import np_utils\b"
    ),
    "keras.wrappers": regex(r"\bkeras\.wrappers\.scikit_learn\b"),
    "keras.preprocessing": regex(r"(?<!tensorflow\.)(?<!tf\.)\bkeras\.preprocessing\.text\b"),
    "mixed_precision": regex(r"\bmixed_precision(?:\.| import )experimental\b"),
    "_generator(": regex(r"\.(?:fit|predict|evaluate)_generator\("),
    "et_hyper(": regex(r"\._[sg]et_hyper\("),
    "_resource_apply": regex(r"\bdef _resource_apply_(?:dense|sparse)\("),
    "add_metric(": regex(r"\bself\.add_metric\("),
    "add_update(": regex(r"\bself\.add_update\("),
    "_run_v2(": regex(r"\.experimental_run_v2\("),
    "ModelCheckpoint(": regex(r"\bModelCheckpoint\([^)\n]*\bperiod\s*="),
    "batch_input_shape": regex(r"\b(?:layers\.\w+|Dense|LSTM|GRU|Embedding|Conv[123]D)\([^\n]*\bbatch_input_shape\s*="),
    "aggregate_gradients": regex(r"\bexperimental_aggregate_gradients\s*="),
    "tensorflow_addons": regex(r"^(?:import|from) tensorflow_addons\b", re.M),
    "optimizer.": regex(r"\b(?:\w+_)?optimizer\.(?:weights\b|get_weights\()"),
    ".get_input_at(": regex(r"\.get_input_at\("),
    "backend.placeholder(": regex(r"\bkeras\.backend\.placeholder\("),
    "_trainable_state(": regex(r"\._[gs]et_trainable_state\("),
    "._set_inputs(": regex(r"\._set_inputs\("),
    "MeanTensor(": regex(r"\bmetrics\.MeanTensor\("),
    "predict_classes(": regex(r"\.predict_classes\("),
}
#: What only Keras 3 has.
_KERAS_3_ONLY: Final = regex(r"\bkeras\.(?:ops|random\.SeedGenerator|src)\b|\bfrom keras import .*\bops\b")


@dataclass(frozen=True, slots=True)
class Versions:
    """The releases of TensorFlow that a project may run on, and the major version of Keras.

    `tensorflow` is the release in force: the newest that is allowed, or the one that a text for people names; `keras`
    is what comes with it. What is to hold wherever the project runs has to hold from `oldest` to `newest`. `origin`
    says where all that was read: a file (from the project's folder, with its `line`, 0 where it is not one), or one of
    `tensorflow-version`, `sources`, `newest`. `legacy`: the project asks for Keras 2 on every release. `told`: a text
    for people says it, which binds nobody. `narrowed`: sources alone hold it to Keras 2."""

    tensorflow: Release = NEWEST
    keras: int = 3
    origin: str = "newest"
    oldest: Release = OLDEST
    newest: Release = NEWEST
    line: int = 0
    legacy: bool = False
    told: bool = False
    narrowed: bool = False

    def may_have_keras(self, major: int) -> bool:
        """Whether the project may run on a major version of Keras."""
        if self.legacy:
            return major == 2
        return self.newest >= _KERAS_3 if major == 3 else self.oldest < _KERAS_3

    def needs_keras(self, major: int) -> bool:
        """Whether the project runs on this major version of Keras alone."""
        return self.may_have_keras(major) and not self.may_have_keras(5 - major)

    @property
    def majors(self) -> tuple[int, ...]:
        """The major versions of Keras that the project may run on."""
        return tuple(filter(self.may_have_keras, (2, 3)))

    @property
    def binds(self) -> bool:
        """Whether a file or option says what the project runs on: not a text for people, nor a guess."""
        return self.origin not in ("newest", "sources") and not self.told

    def has(self, release: Release) -> bool:
        """Whether all releases that are not merely possible are this one or later: where nothing binds, known ones."""
        return (self.oldest if self.binds else max(self.oldest, min(KNOWN, self.newest))) >= release

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


def project_versions(root: Path, chosen: str | None, texts: Iterable[str] = ()) -> Versions:
    """The versions of a project.

    Args:
        root: its folder; requirement and lock files in it and its parents up to a repository's root are read.
        chosen: the option `tensorflow-version`, which wins over all files; with `<=` before it, it only bounds what
            they say: nothing later was there yet.
        texts: its sources; a release that one asserts counts where no file tells; one that sets `TF_USE_LEGACY_KERAS`
            or imports `tf_keras` alone runs on Keras 2, and so does a project whose files allow the newest releases
            while its sources use what Keras 3 does not have.
    """
    sources = list(texts)
    legacy = any(_LEGACY.search(text) for text in sources if "TF_USE_LEGACY_KERAS" in text) or _is_tf_keras(sources)
    bound = chosen is not None and chosen.startswith("<=")
    if chosen and not bound:
        release = release_of(chosen)
        found = Versions(release, 2, "tensorflow-version", release, release, legacy=legacy)
    else:
        found = _since(_eager(_found(root, sources), sources), sources)
        found = _until(found, release_of(chosen)) if chosen else found
        found = replace(_narrowed(_importing(found, sources), sources), legacy=legacy)
    return replace(found, keras=2 if legacy or found.tensorflow < _KERAS_3 else 3)


def _found(root: Path, sources: list[str]) -> Versions:
    """What files say, else what sources assert, else what a text for people names, else any release."""
    folder = root if root.is_dir() else root.parent
    places = up_to_repository(folder)
    for said in declared(folder, places):
        if _is_outdated(said.newest, sources):
            continue
        said = replace(said, oldest=oldest_beside(folder, places, said))
        found = Versions(said.newest, 2, said.origin, said.oldest or min(OLDEST, said.newest), said.newest, said.line)
        if said.newest != NEWEST or said.oldest == NEWEST:
            return found
        # Above the folder that asks for it stands what tries other projects.
        near = places[: said.origin.count("../") + 1]
        return _tried_within(found, folder, near, next(_told(folder, near), None))
    told = next((said for said in _told(folder, places) if not _is_outdated(said.newest, sources)), None)
    if told is not None and told.oldest == told.newest:
        exact = Versions(told.newest, 2, told.origin, told.newest, told.newest, told.line)
        return _tried_beside(exact, _tried(folder, places))
    asserted = _asserted(sources)
    if asserted is not None:
        return Versions(asserted, 2, "sources", asserted, asserted)
    tried = _tried(folder, places)
    if tried:
        release, origin, line = max(tried, key=lambda each: each[0])
        return Versions(release, 2, origin, min(KNOWN, *(each[0] for each in tried)), NEWEST, line, told=True)
    if told is not None and told.oldest is not None:
        release = told.newest if told.marked else told.oldest
        return Versions(release, 2, told.origin, min(KNOWN, told.oldest), told.newest, told.line, told=True)
    return Versions(_LAST_1, 2, "sources", _FIRST_1, _LAST_1) if _is_first(sources) else Versions()


def _is_outdated(newest: Release, sources: list[str]) -> bool:
    """Whether a file speaks of releases that have no `tf.function`, which sources use: what it says holds no more."""
    return newest < _FUNCTIONS and any("function" in text and _FUNCTION.search(text) for text in sources)


def _is_tf_keras(sources: list[str]) -> bool:
    """Whether sources import `tf_keras`, and no other Keras."""
    if not any(_TF_KERAS.search(text) for text in sources if "tf_keras" in text):
        return False
    return not any(_OTHER_KERAS.search(text) for text in sources if "keras" in text)


def _is_first(sources: list[str]) -> bool:
    """Whether sources use what only TensorFlow 1 has, and nothing of the second."""
    if any("tf" in text and (_SECOND_ONLY.search(text) or _EAGER_ONLY.search(text)) for text in sources):
        return False
    return any(_FIRST_ONLY.search(text) for text in sources if _FIRST.search(text))


def _tried_within(found: Versions, folder: Path, places: list[Path], told: Said | None) -> Versions:
    """With the newest of the releases that a project is tried on in force, where what it asks for has no end.

    `tensorflow>=2.1` of 2020 means no release of 2026. What is allowed stays as it is.
    """
    tried = [each for each in _tried(folder, places) if found.oldest <= each[0] <= found.newest]
    if told is not None and told.oldest == told.newest and found.oldest <= told.newest:
        tried.append((told.newest, told.origin, told.line))
    if not tried:
        return found
    release, origin, line = max(tried, key=lambda each: each[0])
    return replace(found, tensorflow=release, origin=origin, line=line)


def _tried_beside(exact: Versions, tried: list[tuple[Release, str, int]]) -> Versions:
    """With the releases that a project is tried on beside the one that a text for people installs."""
    if not tried:
        return exact
    release, origin, line = max([(exact.tensorflow, exact.origin, exact.line), *tried], key=lambda each: each[0])
    oldest = min(exact.oldest, *(each[0] for each in tried))
    return replace(exact, tensorflow=release, origin=origin, line=line, oldest=oldest, newest=release)


def _tried(folder: Path, places: list[Path]) -> list[tuple[Release, str, int]]:
    """The releases that files install to try the project, each with its place."""
    found: dict[Path, list[tuple[Release, int]]] = {}
    for place in places:
        for pattern in _TRIED:
            if place == folder or "/" not in pattern or pattern.startswith("."):
                found.update((file, installs(file)) for file in matching(place, pattern) if file not in found)
    return [(release, origin_of(folder, file), line) for file, each in found.items() for release, line in each]


def _eager(found: Versions, sources: list[str]) -> Versions:
    """Without the releases before 2.0, where sources use what those do not have and ask for no release."""
    if found.oldest >= EAGER or found.newest < EAGER or any(_ASKS_RELEASE.search(text) for text in sources):
        return found
    if not any(_EAGER_ONLY.search(text) for text in sources):
        return found
    return replace(found, oldest=EAGER, tensorflow=max(found.tensorflow, EAGER))


def _since(found: Versions, sources: list[str]) -> Versions:
    """With a release in force that has what sources use, where one is allowed; none before it, where no file binds."""
    binds = found.binds
    for hint, (pattern, release) in _NEW.items():
        asked = found.tensorflow if binds else found.oldest
        if asked < release <= found.newest and any(hint in t and pattern.search(t) for t in sources):
            if found.tensorflow < release:
                found = replace(found, tensorflow=release, origin="sources", line=0)
            found = found if binds else replace(found, oldest=release)
    return found


def _until(found: Versions, last: Release) -> Versions:
    """The releases up to the last one that there was, where any of those allowed was there."""
    if found.newest <= last or found.oldest > last:
        return found
    return replace(found, tensorflow=min(found.tensorflow, last), newest=last)


def _importing(found: Versions, sources: list[str]) -> Versions:
    """The releases that have the private modules which sources import, where there is any such among those allowed."""
    since, until = bounds(sources)
    oldest, newest = max(found.oldest, since), min(found.newest, until)
    if oldest > newest or (oldest, newest) == (found.oldest, found.newest):
        return found
    release = min(max(found.tensorflow, oldest), newest)
    origin, line = (found.origin, found.line) if release == found.tensorflow else ("sources", 0)
    found = replace(found, narrowed=newest < _KERAS_3 <= found.newest)
    return replace(found, tensorflow=release, oldest=oldest, newest=newest, origin=origin, line=line)


def _narrowed(found: Versions, sources: list[str]) -> Versions:
    """The releases that sources allow, too: those with the Keras that has what they use."""
    if found.newest < _KERAS_3:
        return found
    needs = _needs_keras(sources)
    if needs == 2 and found.oldest < _KERAS_3:
        origin, line = (found.origin, found.line) if found.tensorflow < _KERAS_3 else ("sources", 0)
        release = min(found.tensorflow, _LAST_KERAS_2)
        return replace(found, tensorflow=release, newest=_LAST_KERAS_2, origin=origin, line=line, narrowed=True)
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
    # What asks which release it runs on may use what only some have.
    return 2 if any(_asks_for_keras_2(text) for text in keras if not _asks_release(text)) else 0


def _asks_release(text: str) -> bool:
    return "_version__" in text and _ASKS_KERAS.search(text) is not None


def needs_keras_2(text: str) -> bool:
    """Whether a source runs on releases with Keras 2 alone."""
    return _asks_for_keras_2(text) or bounds([text])[1] < _KERAS_3


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
        said = next((_read_from(root, f) for p in FILES[:-1] for f in matching(place, p) if read(f)), None)
        known[folder] = said or _closest(root, folder.rpartition("/")[0], known)
    return known[folder]


def _read_from(root: Path, file: Path) -> Versions | None:
    said = read(file)
    if said is None:
        return None
    oldest = said.oldest or min(OLDEST, said.newest)
    return Versions(said.newest, 2, origin_of(root, file), oldest, said.newest, said.line)


def _told(folder: Path, places: list[Path]) -> Iterator[Said]:
    """What texts for people say: one release where they install it (`==`), or it is a preview of 2.0, else the newest
    that they name, or newer.

    Nothing where they say "or newer" of any.
    """
    for file in sorted(f for place in places for f in matching(place, _TEXTS)):
        text = text_of(file) or ""
        named = [(_last_of(each, text), each) for each in _WRITTEN.finditer(text)]
        if any(release < EAGER for release, _ in named) and _SECOND.search(text):
            named = [pair for pair in named if pair[0] >= EAGER]
        pinned = [pair for pair in named if "==" in pair[1]["how"]]
        if not pinned and _OPEN.search(text):
            since = None if _SECOND.search(text) else _SINCE_FIRST.search(text)
            if since is not None:
                line = text.count("\n", 0, since.start()) + 1
                yield Said(release_of(since["version"]), NEWEST, line, origin_of(folder, file), marked=True)
            continue
        if not named and (preview := PREVIEW.search(text)):
            yield Said(OLDEST, OLDEST, text.count("\n", 0, preview.start()) + 1, origin_of(folder, file))
        if not named:
            continue
        release, at = max(pinned or named, key=lambda pair: pair[0])
        line = text.count("\n", 0, at.start()) + 1
        yield Said(release, release if pinned else max(NEWEST, release), line, origin_of(folder, file))


def _last_of(found: re.Match[str], text: str) -> Release:
    """The release that is named, or the last one of a list of them ("TensorFlow 2.9, 2.10 and 2.11")."""
    release = release_of(found["version"])
    more = _MORE.match(text, found.end())
    while more is not None:
        release = max(release, release_of(more["version"]))
        more = _MORE.match(text, more.end())
    return min(release, NEWEST) if release[0] > 1 else release
