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
from hybridize.evaluate.sources import clone_of, export, packed, unpack
from hybridize.evaluate.tables import Column
from hybridize.guard import folder, write_whole
from hybridize.report.json_report import to_dict

Json = dict[str, Any]
#: Called with how many tasks have ended, how many there are, the repository, and why the last one failed (if it did).
Progress = Callable[[int, int, str, str], None]
_FUNCTION: Final = "hybridize.evaluate.fixes_running:changeset"


def changeset(payload: Mapping[str, Any]) -> Json:
    """What the tool says before and after one changeset: the task that executors call.

    Args:
        payload: `name` of the project, `fixes` as dictionaries, `before` and `after`, packed sources.

    Returns:
        `fixes`: for each its outcome, codes, whether it was foreseen and is gone after; `untouched`: see judging.
    """
    fixes = [Fix(**each) for each in payload["fixes"]]
    first, second = (_tree(payload["name"], payload[side]) for side in ("before", "after"))
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


def _tree(name: str, archive: str) -> judging.Tree:
    with folder("hybridize-fixes-") as out:
        place = Path(out) / name
        place.mkdir()
        unpack(archive, place)
        (place / ".git").mkdir(exist_ok=True)  # so that this folder is the project's root
        # Of what is said as JSON, so that it is compared as users see it.
        return judging.Tree(json.loads(json.dumps(to_dict(analyze([place], Config(jobs=1, cache=False))))))


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
    places = {name: out / "results" / f"{_key(group)}.json" for name, group in groups.items()}
    todo = {name: group for name, group in groups.items() if not places[name].exists()}
    failed: dict[str, str] = {}
    done = len(groups) - len(todo)
    for outcome in executor.run(_tasks(todo, mirrors, limits, failed)):
        done += 1
        if outcome.value is None:
            failed[outcome.key] = f"{outcome.ending.value}: {outcome.error}".splitlines()[0]
        else:
            places[outcome.key].parent.mkdir(parents=True, exist_ok=True)
            write_whole(places[outcome.key], json.dumps(outcome.value).encode())
        progress(done, len(groups), outcome.key, failed.get(outcome.key, ""))
    found = [json.loads(place.read_bytes()) for place in places.values() if place.exists()]
    return found, [f"{name}: {why}" for name, why in sorted(failed.items())]


def _tasks(
    todo: Mapping[str, Sequence[Fix]],
    mirrors: Sequence[Path],
    limits: tuple[float | None, int | None],
    failed: dict[str, str],
) -> Iterator[Task]:
    """Made one by one, when they are asked for: each carries two trees."""
    from hybridize.evaluate.sources import SourcesError

    for key, group in todo.items():
        repository, _, commit = key.rpartition("@")
        name = repository.rpartition("/")[2] or repository
        clone = clone_of(Project(name, repository=repository, commit=commit), mirrors)
        if clone is None:
            failed[key] = "no clone among the mirrors has it"
            continue
        try:
            sides = {side: _packed(clone, rev) for side, rev in (("before", f"{commit}^"), ("after", commit))}
        except SourcesError as error:
            failed[key] = str(error)
            continue
        payload = {"name": name, "fixes": [asdict(fix) for fix in group], **sides}
        yield Task(key, _FUNCTION, payload, *limits)


def _packed(clone: Path, commit: str) -> str:
    with folder("hybridize-fixes-") as out:
        export(clone, commit, ".", Path(out))
        return packed(Path(out))


def _key(group: Sequence[Fix]) -> str:
    """All that a result rests on: the tool and the changes that are asked for."""
    return hashlib.sha256(tool() + json.dumps([asdict(fix) for fix in group]).encode()).hexdigest()[:32]


def tables(results: Sequence[Json]) -> list[Table]:
    """Rates by kind beside those of functions that nobody touched, outcomes by kind, and the changes one by one."""
    rows = sorted((fix for each in results for fix in each["fixes"]), key=lambda fix: (KINDS.index(fix["kind"]), *_id(fix)))
    judged = [row for row in rows if row["outcome"] not in ("absent", "eager")]
    return [_rates(judged, results), _outcomes(rows), _changes(rows)]


def _rates(judged: Sequence[Json], results: Sequence[Json]) -> Table:
    counts = {mode: [sum(each["untouched"][mode][i] for each in results) for i in (0, 1)] for mode in ("eager", "hybrid")}
    lines = []
    for kind in (*KINDS, "all"):
        of_kind = [row for row in judged if kind in (row["kind"], "all")]
        if of_kind:
            said = [row for row in of_kind if row["foreseen"]]
            repositories = len({row["repository"] for row in of_kind})
            number, base = counts["eager" if kind == "added" else "hybrid"]
            beside = "" if kind in ("all", "relocated") else _share(base, number)
            gone = _share(sum(row["gone"] for row in said), len(said))
            lines.append((kind, len(of_kind), repositories, _share(len(said), len(of_kind)), gone, beside))
    return Table(
        "fixes",
        "What people changed, and what the tool says",
        (Column("kind"), Column("changes", "d"), Column("repositories", "d"), Column("foreseen"), Column("gone after"), Column("untouched")),
        tuple(lines),
        "Foreseen: an addition that is proposed, covered by a graph, safe but left by the plan, or repairable; of the "
        "others an error, a warning or a change. Gone after: of the foreseen. Untouched: the same said of candidates "
        "(graphs) of the same trees that the changeset leaves alone. Intervals: Wilson, 95%.",
    )  # fmt: skip


def _outcomes(rows: Sequence[Json]) -> Table:
    counted = Counter((row["kind"], row["outcome"]) for row in rows)
    lines = []
    for kind, outcome in sorted(counted, key=lambda pair: (KINDS.index(pair[0]), -counted[pair], pair[1])):
        of_both = [row for row in rows if (row["kind"], row["outcome"]) == (kind, outcome)]
        codes = Counter(code for row in of_both for code in row["codes"])
        told = ", ".join(f"{code} {n}" for code, n in sorted(codes.items(), key=lambda pair: (-pair[1], pair[0]))[:8])
        lines.append((kind, outcome, len(of_both), told))
    return Table("fixes-outcomes", "Outcomes", (Column("kind"), Column("outcome"), Column("changes", "d"), Column("codes")), tuple(lines))  # fmt: skip


def _changes(rows: Sequence[Json]) -> Table:
    names = ("kind", "repository", "commit", "path", "function", "outcome", "codes", "foreseen", "gone")
    lines = tuple(
        tuple(", ".join(row[name]) if name == "codes" else "yes" if row[name] is True else "no" if row[name] is False else row[name] for name in names)
        for row in rows
    )  # fmt: skip
    return Table("fixes-changes", "The changes", tuple(Column(name) for name in names), lines)


def _id(fix: Json) -> tuple[str, str, str, str]:
    return fix["repository"], fix["commit"], fix["path"], fix["function"]


def _share(part: int, whole: int) -> str:
    """A share with its 95% interval."""
    if not whole:
        return "0 of 0"
    from scipy.stats import binomtest

    interval = binomtest(part, whole).proportion_ci(0.95, "wilson")
    return f"{part} of {whole}: {part / whole:.0%} ({interval.low:.0%} to {interval.high:.0%})"
