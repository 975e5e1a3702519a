"""A corpus: which projects are evaluated, how, and what was published (docs/evaluation.md has the file)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

#: Corpora that are part of hybridize, by the name that stands for their file.
SHIPPED: Final = Path(__file__).parent / "corpora"


class CorpusError(Exception):
    """A corpus that cannot be used; the text is one line that names the file, the project and the key."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication says of a project: its row of the paper's Table V."""

    kloc: float
    candidates: int
    refactored: int
    p1: int
    p2: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a project that can be run, and what of it counts.

    Attributes:
        script: its file, from the project's folder.
        arguments: of the command line.
        environment: variables to set.
        seeds: one run for each and variant; empty: as many as are asked for, without seed.
        accuracy, loss: names of metrics that it reports, as `bench` finds them; empty: the first that it finds.
        shim: a file, from the corpus' folder, that is run before the script, to stand in for data and downloads.
        patch: a patch of git (paths from the project's folder) with what an expert would change, to compare with.
        published: seconds before and after, by the publication.
    """

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    seeds: tuple[int, ...] = ()
    accuracy: str = ""
    loss: str = ""
    shim: str = ""
    patch: str = ""
    published: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """A project of a corpus: a folder here, or a commit of a public repository and a folder in it.

    Attributes:
        path: from the corpus' folder, or absolute; empty where there is a `repository`.
        repository: `owner/name` on GitHub, or anything that git can clone.
        commit: which; needed with `repository`.
        folder: the part of it that is evaluated.
        tensorflow: the release that it runs on; empty: found.
        options: as in `[tool.hybridize]`.
        refactored: the functions (ids) that a publication names as refactored.
    """

    name: str
    path: str = ""
    repository: str = ""
    commit: str = ""
    folder: str = "."
    tensorflow: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    published: Published | None = None
    refactored: tuple[str, ...] = ()
    programs: tuple[Program, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """Projects, and what a publication says of all: its counts of failures (the paper's Table VI) by `F1` ..."""

    name: str
    file: Path
    projects: tuple[Project, ...]
    failures: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of all projects, as in `[tool.hybridize]`; those of a project replace them."""

    @property
    def folder(self) -> Path:
        """What paths of projects are relative to."""
        return self.file.parent

    def place(self, project: Project) -> Path:
        """The folder of a project that has a `path`."""
        return (self.folder / project.path / project.folder).resolve()

    def options_of(self, project: Project) -> dict[str, Any]:
        """What holds for a project, as in `[tool.hybridize]`."""
        release = {"tensorflow-version": project.tensorflow} if project.tensorflow else {}
        return {**self.options, **project.options, **release}

    def only(self, names: Sequence[str]) -> Corpus:
        """With the named projects alone; raises CorpusError."""
        known = {project.name for project in self.projects}
        for name in names:
            if name not in known:
                raise CorpusError(f"{self.file}: no project `{name}`{_close(name, known)}")
        return replace(self, projects=tuple(project for project in self.projects if project.name in names))

    def with_programs(self, names: Sequence[str] = ()) -> Corpus:
        """The projects that have programs, with all or the named ones alone; raises CorpusError."""
        known = {program.name for project in self.projects for program in project.programs}
        if not known:
            raise CorpusError(f"{self.file}: no project has a [[project.program]]")
        for name in names:
            if name not in known:
                raise CorpusError(f"{self.file}: no program `{name}`{_close(name, known)}")
        kept = (_with_programs(project, names) for project in self.projects)
        return replace(self, projects=tuple(project for project in kept if project.programs))


def _with_programs(project: Project, names: Sequence[str]) -> Project:
    programs = tuple(each for each in project.programs if not names or each.name in names)
    return replace(project, programs=programs)


def load(given: str) -> Corpus:
    """The corpus in a file, or the one that is part of hybridize under this name; raises CorpusError."""
    file = Path(given)
    shipped = SHIPPED / f"{given}.toml"
    if not file.suffix and not file.exists() and shipped.exists():
        file = shipped
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        names = ", ".join(sorted(f"`{each.stem}`" for each in SHIPPED.glob("*.toml")))
        raise CorpusError(f"{given}: no such corpus; hybridize brings {names}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{given}: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"{file}: {error}") from None
    return _Reader(file).corpus(data)


class _Reader:
    """Makes data of a file's tables; each mistake is told with its place."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def corpus(self, data: Mapping[str, Any]) -> Corpus:
        self._known(data, ("name", "options", "failures", "project"), "the corpus")
        rows = data.get("project", [])
        if not isinstance(rows, list) or not rows:
            raise self._wrong("the corpus", "no [[project]]")
        projects = tuple(self._project(row) for row in rows)
        names = [project.name for project in projects]
        for name in names:
            if names.count(name) > 1:
                raise self._wrong(f"project `{name}`", "there are two of this name")
        failures = data.get("failures", {})
        if not isinstance(failures, dict) or not all(type(count) is int for count in failures.values()):
            raise self._wrong("the corpus", "`failures` must be a table of whole numbers")
        name = data.get("name", self._file.stem)
        options = data.get("options", {})
        if not isinstance(name, str) or not isinstance(options, dict):
            raise self._wrong("the corpus", "`name` must be a text, `options` a table")
        return Corpus(name, self._file, projects, failures, options)

    def _project(self, row: Any) -> Project:
        where = f"project `{row.get('name', '?')}`" if isinstance(row, dict) else "a project"
        published = row.get("published") if isinstance(row, dict) else None
        programs = row.get("program", []) if isinstance(row, dict) else []
        made: Project = self._record(
            Project,
            {key: value for key, value in row.items() if key not in ("published", "program")},
            where,
            published=None if published is None else self._record(Published, published, f"{where}: published"),
            programs=tuple(self._record(Program, each, f"{where}: program") for each in programs),
        )
        if bool(made.path) == bool(made.repository):
            raise self._wrong(where, "needs either `path` or `repository`")
        if made.repository and not made.commit:
            raise self._wrong(where, "`repository` needs a `commit`")
        if not made.name or made.name in (".", "..") or any(c in made.name for c in "/\\\0"):
            raise self._wrong(where, "`name` must be one that a folder can have")
        return made

    def _record(self, cls: type[Any], row: Any, where: str, **ready: Any) -> Any:
        """A dataclass from a table: unknown keys, missing ones and values of another type are mistakes."""
        if not isinstance(row, dict):
            raise self._wrong(where, "must be a table")
        wanted = {each.name: each for each in fields(cls) if each.name not in ready}
        self._known(row, tuple(wanted), where)
        values = {}
        for name, each in wanted.items():
            if name not in row:
                if each.default is MISSING and each.default_factory is MISSING:
                    raise self._wrong(where, f"`{name}` is missing")
                continue
            meaning, convert = _KINDS[str(each.type)]
            try:
                values[name] = convert(row[name])
            except (TypeError, ValueError):
                raise self._wrong(where, f"`{name}` must be {meaning}") from None
        return cls(**values, **ready)

    def _known(self, row: Mapping[str, Any], names: Sequence[str], where: str) -> None:
        for name in row:
            if name not in names:
                raise self._wrong(where, f"unknown key `{name}`{_close(name, names)}")

    def _wrong(self, where: str, what: str) -> CorpusError:
        return CorpusError(f"{self._file}: {where}: {what}")


def _close(word: str, known: Sequence[str] | set[str]) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _all(value: Any, convert: Callable[[Any], Any]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(convert, value))


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


#: By the annotation of a field: what its value must be, and what makes it of a value of TOML.
_KINDS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "str": ("a text", _text),
    "int": ("a whole number", _whole),
    "float": ("a number", _number),
    "tuple[str, ...]": ("a list of texts", lambda value: _all(value, _text)),
    "tuple[int, ...]": ("a list of whole numbers", lambda value: _all(value, _whole)),
    "tuple[float, ...]": ("a list of numbers", lambda value: _all(value, _number)),
    "tuple[tuple[str, str], ...]": (
        "a table of texts",
        lambda value: tuple((key, _text(each)) for key, each in _table(value).items()),
    ),
    "Mapping[str, Any]": ("a table", _table),
}
