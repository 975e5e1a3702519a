"""From a study to results: a task for each changeset, which checks the trees before and after; and their tables."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from hybridize.api import analyze
from hybridize.caching.keys import tool
from hybridize.config import Config
from hybridize.evaluate import fixes_judging as judging
from hybridize.evaluate.corpus import Project
from hybridize.evaluate.execution.model import Executor, Task
from hybridize.evaluate.fixes import KINDS, Fix
from hybridize.evaluate.paper_tables import Table
from hybridize.evaluate.project_sources import clone_of, packed_commit, run_git, unpack
from hybridize.evaluate.store import Pieces
from hybridize.evaluate.tables import Column
from hybridize.guard import folder
from hybridize.report.json_report import to_dict

Json = dict[str, Any]
#: Called with how many tasks have ended, how many there are, the repository, and why the last one failed (if it did).
Progress = Callable[[int, int, str, str], None]
#: Outcomes that say that the report does not know the function as the study does: counted, and in no rate.
_UNJUDGED: Final = ("absent", "eager")
_NOTE: Final = (
    "Foreseen: an addition that is proposed, covered by a graph, safe but left by the plan, or repairable; of the "
    "others an error, a warning or a change. Gone after: of the foreseen, those where the tool "
    "has nothing against the tree after. Untouched: the same said of candidates "
    "(graphs) of the same trees that the changeset leaves alone. Functions that the report does not know as the study "
    "does (`absent`, `eager`) are in no rate. Intervals: Wilson, 95%."
)
#: From which day on there was which release of TensorFlow.
_RELEASED: Final = (
    ("2020-01-08", "2.1"),
    ("2020-05-07", "2.2"),
    ("2020-07-27", "2.3"),
    ("2020-12-14", "2.4"),
    ("2021-05-13", "2.5"),
    ("2021-08-11", "2.6"),
    ("2021-11-04", "2.7"),
    ("2022-02-02", "2.8"),
    ("2022-05-16", "2.9"),
    ("2022-09-06", "2.10"),
    ("2022-11-18", "2.11"),
    ("2023-03-23", "2.12"),
    ("2023-07-05", "2.13"),
    ("2023-09-26", "2.14"),
    ("2023-11-14", "2.15"),
    ("2024-03-08", "2.16"),
    ("2024-07-11", "2.17"),
    ("2024-10-24", "2.18"),
    ("2025-03-12", "2.19"),
    ("2025-08-13", "2.20"),
    ("2026-03-06", "2.21"),
)
_FUNCTION: Final = "hybridize.evaluate.fixes_running:changeset"


def changeset(payload: Mapping[str, Any]) -> Json:
    """What the tool says before and after one changeset: the task that executors call.

    Args:
        payload: `name` of the project, `fixes` as dictionaries, `before` and `after`, packed sources, and `release`,
            the newest of TensorFlow at that time.

    Returns:
        `fixes`: for each its outcome, codes, whether it was foreseen and is gone after; `untouched`: see judging.
    """
    fixes = [Fix(**each) for each in payload["fixes"]]
    first, second = (_tree(payload["name"], payload[side], payload["release"]) for side in ("before", "after"))
    rows = []
    for fix in fixes:
        outcome, codes = judging.before(first, fix)
        rows.append(
            {
                **asdict(fix),
                "outcome": outcome,
                "codes": sorted({code for code in codes if code}),
                "foreseen": judging.foreseen(fix.kind, outcome),
                "gone": judging.gone(second, fix, codes),
            }
        )
    return {"fixes": rows, "untouched": judging.untouched(first, fixes)}


def newest_at(day: str) -> str:
    """The newest release of TensorFlow on a day (YYYY-MM-DD); 2.0 before it came, since its previews count for it."""
    return max((pair for pair in _RELEASED if pair[0] <= day), default=("", "2.0"))[1]


def _tree(name: str, archive: str, release: str) -> judging.Tree:
    with folder("hybridize-fixes-") as out:
        place = Path(out) / name
        place.mkdir()
        unpack(archive, place)
        (place / ".git").mkdir(exist_ok=True)  # so that this folder is the project's root
        # A tree of 2020 that names no release runs on none of a later year.
        config = Config(jobs=1, cache=False, tensorflow_version=f"<={release}")
        # Of what is said as JSON, so that it is compared as users see it.
        return judging.Tree(json.loads(json.dumps(to_dict(analyze([place], config)))))


def run(
    fixes: Sequence[Fix],
    mirrors: Sequence[Path],
    executor: Executor,
    out: Path,
    limits: tuple[float | None, int | None],
    progress: Progress,
) -> tuple[list[Json], list[str]]:
    """The results by changeset, and a line for each that has none. What is kept below `out` is not made again.

    `limits`: seconds and bytes of memory of a task. Raises ExecutionError.
    """
    groups: dict[str, list[Fix]] = {}
    for fix in fixes:
        groups.setdefault(f"{fix.repository}@{fix.commit}", []).append(fix)
    store, keys = Pieces(out), {name: _key(group) for name, group in groups.items()}
    found = {name: known for name, key in keys.items() if (known := store.get(key)) is not None}
    todo = {name: group for name, group in groups.items() if name not in found}
    failed: dict[str, str] = {}
    done = len(found)
    for outcome in executor.run(_tasks(todo, mirrors, limits, failed)):
        done += 1
        if outcome.value is None:
            failed[outcome.key] = f"{outcome.ending.value}: {outcome.error}".splitlines()[0]
        else:
            found[outcome.key] = outcome.value
            store.put(keys[outcome.key], outcome.value)
        progress(done, len(groups), outcome.key, failed.get(outcome.key, ""))
    return [found[name] for name in groups if name in found], [f"{name}: {why}" for name, why in sorted(failed.items())]


def _tasks(
    todo: Mapping[str, Sequence[Fix]],
    mirrors: Sequence[Path],
    limits: tuple[float | None, int | None],
    failed: dict[str, str],
) -> Iterator[Task]:
    """Made one by one, when they are asked for: each carries two trees."""
    from hybridize.evaluate.project_sources import SourcesError

    for key, group in todo.items():
        repository, _, commit = key.rpartition("@")
        name = repository.rpartition("/")[2] or repository
        clone = clone_of(Project(name, repository=repository, commit=commit), mirrors)
        if clone is None:
            failed[key] = "no clone among the mirrors has it"
            continue
        revisions = {"before": f"{commit}^", "after": commit}
        try:
            sides = {side: packed_commit(clone, revision, ".") for side, revision in revisions.items()}
            release = newest_at(run_git(clone, "show", "--no-patch", "--format=%cs", commit).decode().strip())
        except SourcesError as error:
            failed[key] = str(error)
            continue
        payload = {"name": name, "fixes": [asdict(fix) for fix in group], "release": release, **sides}
        yield Task(key, _FUNCTION, payload, *limits)


def _key(group: Sequence[Fix]) -> str:
    """All that a result rests on: the tool and the changes that are asked for."""
    return hashlib.sha256(tool() + json.dumps([asdict(fix) for fix in group]).encode()).hexdigest()[:32]


def tables(results: Sequence[Json]) -> list[Table]:
    """Rates by kind beside those of functions that nobody touched, outcomes by kind, and the changes one by one."""
    every = [fix for each in results for fix in each["fixes"]]
    rows = sorted(every, key=lambda fix: (KINDS.index(fix["kind"]), *_id(fix)))
    return [_rates(rows, results), _outcomes(rows), _changes(rows)]


def _rates(rows: Sequence[Json], results: Sequence[Json]) -> Table:
    judged = [row for row in rows if row["outcome"] not in _UNJUDGED]
    lines = []
    for kind in (*KINDS, "all"):
        of_kind = [row for row in judged if kind in (row["kind"], "all")]
        if not of_kind:
            continue
        said = [row for row in of_kind if row["foreseen"]]
        repositories = len({row["repository"] for row in of_kind})
        beside = "" if kind in ("all", "relocated") else _beside(results, "eager" if kind == "added" else "hybrid")
        gone = _share(sum(row["gone"] for row in said), len(said))
        lines.append((kind, len(of_kind), repositories, _share(len(said), len(of_kind)), gone, beside))
    titles = ("kind", "changes", "repositories", "foreseen", "gone after", "untouched")
    return Table(
        "fixes", "What people changed, and what the tool says", tuple(map(Column, titles)), tuple(lines), _NOTE
    )


def _beside(results: Sequence[Json], mode: str) -> str:
    number, said = (sum(each["untouched"][mode][i] for each in results) for i in (0, 1))
    return _share(said, number)


def _outcomes(rows: Sequence[Json]) -> Table:
    groups: dict[tuple[str, str], list[Json]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["outcome"]), []).append(row)
    lines = []
    for kind, outcome in sorted(groups, key=lambda pair: (KINDS.index(pair[0]), -len(groups[pair]), pair[1])):
        group = groups[kind, outcome]
        codes = Counter(code for row in group for code in row["codes"])
        most = sorted(codes.items(), key=lambda pair: (-pair[1], pair[0]))[:8]
        lines.append((kind, outcome, len(group), ", ".join(f"{code} {n}" for code, n in most)))
    titles = ("kind", "outcome", "changes", "codes")
    return Table("fixes-outcomes", "Outcomes", tuple(map(Column, titles)), tuple(lines))


def _changes(rows: Sequence[Json]) -> Table:
    titles = ("kind", "repository", "commit", "path", "function", "outcome", "codes", "foreseen", "gone")
    lines = tuple(tuple(_cell(row[title]) for title in titles) for row in rows)
    return Table("fixes-changes", "The changes", tuple(map(Column, titles)), lines)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else value


def _id(fix: Json) -> tuple[str, str, str, str]:
    return fix["repository"], fix["commit"], fix["path"], fix["function"]


def _share(part: int, whole: int) -> str:
    """A share with its 95% interval."""
    if not whole:
        return "0 of 0"
    from scipy.stats import binomtest

    interval = binomtest(part, whole).proportion_ci(0.95, "wilson")
    return f"{part} of {whole}: {part / whole:.0%} ({interval.low:.0%} to {interval.high:.0%})"
