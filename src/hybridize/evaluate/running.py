"""From a corpus to results: a task for each project and variant, run by an executor; what is kept is not run again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hybridize.caching.keys import tool
from hybridize.evaluate.ablations import ABLATIONS
from hybridize.evaluate.corpus import Corpus, Project
from hybridize.evaluate.execution.model import Executor, Task
from hybridize.evaluate.project_sources import clone_of, files_of, packed, packed_commit, where
from hybridize.evaluate.store import Result, Store

_FUNCTION: Final = "hybridize.evaluate.analyzing:project"
#: The variant without an ablation.
WHOLE: Final = "whole"
#: Called with how many tasks have ended, how many there are, and the result of the last one (None at the beginning).
Progress = Callable[[int, int, "Result | None"], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a corpus is evaluated.

    Attributes:
        ablations: their names, each a variant of its own beside the whole analysis.
        repairs: whether repairs are tried, too.
        clones: folders of git clones in which commits are looked for first.
        cache: the folder to which repositories are fetched that are not there.
        seconds, memory: limits of a task.
        sent: whether tasks carry the sources that are here (no file system is shared with who runs them).
        anew: whether all is made again.
    """

    ablations: tuple[str, ...] = ()
    repairs: bool = False
    clones: tuple[Path, ...] = ()
    cache: Path = Path()
    seconds: float | None = None
    memory: int | None = None
    sent: bool = False
    anew: bool = False


def run(
    corpus: Corpus, settings: Settings, executor: Executor, store: Store, progress: Progress
) -> dict[str, dict[str, Result]]:
    """The results of all projects, by variant and name, in the order of the corpus. Raises ExecutionError."""
    variants = (WHOLE, *settings.ablations)
    todo: dict[str, tuple[Project, str, str]] = {}
    found: dict[tuple[str, str], Result] = {}
    for project in corpus.projects:
        for variant in variants:
            key = _key(corpus, project, variant, settings)
            known = None if settings.anew else store.get(project.name, variant, key)
            if known is not None:
                found[variant, project.name] = known
            else:
                todo[f"{variant}/{project.name}"] = (project, variant, key)
    progress(len(found), len(found) + len(todo), None)
    for outcome in executor.run(_tasks(corpus, todo, settings)):
        project, variant, key = todo[outcome.key]
        more = {
            "corpus": corpus.name,
            "repository": project.repository,
            "commit": project.commit,
            "folder": project.folder,
        }
        found[variant, project.name] = result = store.put(project.name, variant, key, outcome, more)
        progress(len(found), len(corpus.projects) * len(variants), result)
    return {variant: {p.name: found[variant, p.name] for p in corpus.projects} for variant in variants}


def _tasks(corpus: Corpus, todo: Mapping[str, tuple[Project, str, str]], settings: Settings) -> Iterator[Task]:
    """Made one by one, when they are asked for: those that carry sources are large."""
    for name, (project, variant, _) in todo.items():
        payload = _payload(corpus, project, variant, settings)
        if settings.sent:
            payload["archive"] = _archive(corpus, project, settings)
        yield Task(name, _FUNCTION, payload, settings.seconds, settings.memory)


def _payload(corpus: Corpus, project: Project, variant: str, settings: Settings) -> dict[str, Any]:
    ablation = ABLATIONS.get(variant)
    return {
        **where(corpus, project, settings.clones, settings.cache),
        "options": corpus.options_of(project),
        "settings": dict(ablation.settings) if ablation else {},
        "repairs": settings.repairs,
    }


def _archive(corpus: Corpus, project: Project, settings: Settings) -> str:
    """The sources as they are here; empty where whoever runs the task has to fetch them."""
    if project.path:
        place = corpus.place(project)
        return packed(place) if place.is_dir() else ""
    clone = clone_of(project, (*settings.clones, settings.cache))
    return "" if clone is None else packed_commit(clone, project.commit, project.folder)


def _key(corpus: Corpus, project: Project, variant: str, settings: Settings) -> str:
    """All that a result rests on: the tool, the sources, and what is asked of them."""
    payload = _payload(corpus, project, variant, settings)
    for beside in ("path", "clones", "cache"):
        del payload[beside]
    sources = _contents(corpus.place(project)) if project.path else [project.commit]
    return hashlib.sha256("\0".join([tool().hex(), json.dumps(payload, sort_keys=True), *sources]).encode()).hexdigest()


def _contents(place: Path) -> Iterable[str]:
    for path in files_of(place):
        yield f"{path.relative_to(place)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
