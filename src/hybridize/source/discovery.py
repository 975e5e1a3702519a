"""Which files belong to the project: folders are walked, ignore rules obeyed, no file is taken twice."""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from os import DirEntry, PathLike
from pathlib import Path

from hybridize.source.ignore import IgnoreRules, load_parent_rules, rules_from_file, rules_from_patterns
from hybridize.source.model import Discovery, FileRef, SourceError

#: Folders that hold no code of the project, by name, wherever they are.
DEFAULT_EXCLUDES = frozenset(
    """ .bzr .direnv .eggs .git .git-rewrite .hg .hybridize_cache .hypothesis .ipynb_checkpoints .mypy_cache .nox
    .pants.d .pyenv .pytest_cache .pytype .ruff_cache .svn .tox .venv .vscode __pycache__ __pypackages__ _build
    buck-out build dist node_modules site-packages venv wandb mlruns
    """.split()
)

_SUFFIXES = (".py", ".ipynb")
#: What says that a folder is a virtual environment, under any name, and what one holds.
_ENVIRONMENT = "pyvenv.cfg"
_OF_ENVIRONMENTS = frozenset("bin etc include Include lib Lib lib64 Scripts share".split())
# What macOS and Emacs leave beside a file: not the file.
_DEBRIS = ("._", ".#")


def is_environment(names: Collection[str]) -> bool:
    """Whether a folder that holds these names is a virtual environment: it has no code, and no other folders."""
    return _ENVIRONMENT in names and all(
        name in _OF_ENVIRONMENTS or ("." in name and not name.endswith(_SUFFIXES)) for name in names
    )


def discover(
    paths: Sequence[str | PathLike[str]],
    *,
    exclude: Sequence[str] = (),
    exclude_base: Path | None = None,
    respect_gitignore: bool = True,
) -> Discovery:
    """Find the Python files and notebooks under `paths`.

    A file given by name is always taken; a folder given by name is always walked. `exclude` holds patterns as in a
    `.gitignore`, relative to `exclude_base` (the project's root if None). The root of the project is the one folder
    given, or else the nearest folder that holds all of `paths`. Links to folders are followed once, and never
    upwards.
    """
    directories: list[str] = []
    files: list[str] = []
    missing: list[Path] = []
    failures: list[tuple[str, str]] = []
    for given in paths:
        path = os.path.abspath(os.fspath(given))
        try:
            mode = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError, ValueError):
            missing.append(Path(given))
        except OSError as error:
            failures.append((path, _reason(error)))
        else:
            if stat.S_ISDIR(mode):
                directories.append(path)
            elif stat.S_ISREG(mode):
                files.append(path)
            else:
                failures.append((path, "is neither a file nor a folder"))
    root = _common_root(directories, [*files, *(path for path, _ in failures)])
    excluded = rules_from_patterns(exclude, str(exclude_base) if exclude_base else root)
    walker = _Walker(root, excluded, respect_gitignore)
    for path, reason in failures:
        walker.fail(path, reason)
    for path in sorted(set(files)):
        walker.add(path, os.path.realpath(path), explicit=True)
    for path in sorted(set(directories)):
        parents = load_parent_rules(path) if respect_gitignore else None
        walker.walk_given(path, parents)
    walker.follow_links()
    return Discovery(
        root=Path(root),
        files=tuple(sorted(walker.files.values(), key=lambda ref: ref.relative)),
        errors=tuple(sorted(walker.errors, key=lambda error: (error.path, error.message))),
        missing=tuple(missing),
    )


def _common_root(directories: list[str], files: list[str]) -> str:
    candidates = directories + [os.path.dirname(path) for path in files]
    if not candidates:
        return os.getcwd()
    try:
        return os.path.commonpath(candidates)
    except ValueError:  # different drives
        return candidates[0]


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"


def relative_to(path: str, root: str) -> str:
    """A path seen from the root of a project, with `/`; one outside stays as it is."""
    prefix = root if root.endswith(os.sep) else root + os.sep
    if path.startswith(prefix):
        path = path[len(prefix) :]
    elif path == root:
        path = "."
    return path if os.sep == "/" else path.replace(os.sep, "/")


class _Walker:
    """The state of one discovery; `files` is keyed by real path, so that no file is taken twice."""

    def __init__(self, root: str, excluded: IgnoreRules | None, respect_gitignore: bool) -> None:
        self.root = root
        self.excluded = excluded
        self.respect_gitignore = respect_gitignore
        self.files: dict[str, FileRef] = {}
        self.errors: list[SourceError] = []
        self._seen: set[str] = set()
        self._given: list[str] = []
        self._links: list[tuple[str, IgnoreRules | None]] = []

    def fail(self, path: str, reason: str) -> None:
        self.errors.append(SourceError(relative_to(path, self.root), 1, reason))

    def add(self, path: str, real: str, *, explicit: bool = False) -> None:
        if real not in self.files:
            self.files[real] = FileRef(path, relative_to(path, self.root), explicit)

    def walk_given(self, path: str, rules: IgnoreRules | None) -> None:
        """Take all files below a folder that the user named."""
        real = os.path.realpath(path)
        self._given.append(real.rstrip(os.sep) + os.sep)
        self.walk(path, real, rules)

    def walk(self, path: str, real: str, rules: IgnoreRules | None) -> None:
        """Take all files below a folder, except through links, which wait until real folders are done."""
        todo = [(path, real, rules, True)]
        while todo:
            path, real, rules, given = todo.pop()
            if real in self._seen:
                continue
            self._seen.add(real)
            try:
                with os.scandir(path) as entries:
                    listing = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.fail(path, _reason(error))
                continue
            names = {entry.name for entry in listing}
            if is_environment(names) and not given:
                continue
            if self.respect_gitignore and ".gitignore" in names:
                rules = rules_from_file(os.path.join(path, ".gitignore"), path, rules)
            for name in self._take(listing, real, rules):
                todo.append((os.path.join(path, name), os.path.join(real, name), rules, False))

    def _take(self, listing: list[DirEntry[str]], real: str, rules: IgnoreRules | None) -> Iterator[str]:
        """Add the files of a folder and yield the names of the folders to go on with."""
        for entry in listing:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in DEFAULT_EXCLUDES and not self._ignored(entry.path, True, rules):
                    yield name
            elif name.endswith(_SUFFIXES):
                if name.startswith(_DEBRIS) or self._ignored(entry.path, False, rules):
                    continue
                if entry.is_symlink():
                    self._links.append((entry.path, rules))
                elif entry.is_file(follow_symlinks=False):
                    self.add(entry.path, os.path.join(real, name))
            elif name not in DEFAULT_EXCLUDES and entry.is_symlink():
                self._links.append((entry.path, rules))

    def _ignored(self, path: str, is_dir: bool, rules: IgnoreRules | None) -> bool:
        if self.excluded is not None and self.excluded.ignores(path, is_dir):
            return True
        return rules is not None and rules.ignores(path, is_dir)

    def follow_links(self) -> None:
        """Take what links lead to and no real folder did; links found on the way count too."""
        while self._links:
            links, self._links = sorted(self._links, key=lambda link: link[0]), []
            for path, rules in links:
                self._follow(path, rules)

    def _follow(self, path: str, rules: IgnoreRules | None) -> None:
        is_source = path.endswith(_SUFFIXES)
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            if is_source:
                self.fail(path, _reason(error))
            return
        real = os.path.realpath(path)
        if stat.S_ISDIR(mode):
            if not self._leads_home(path, real) and not self._ignored(path, True, rules):
                self.walk(path, real, rules)
        elif is_source and stat.S_ISREG(mode):
            self.add(path, real)

    def _leads_home(self, link: str, real: str) -> bool:
        """Whether a link goes above itself, or to what the walk of a given folder has seen or left out."""
        below = real.rstrip(os.sep) + os.sep
        if (os.path.realpath(os.path.dirname(link)) + os.sep).startswith(below):
            return True
        return any(below.startswith(given) or given.startswith(below) for given in self._given)
