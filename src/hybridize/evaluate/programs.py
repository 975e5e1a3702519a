"""Programs of a corpus, measured as they are and refactored: what the paper's Table VII is made of. Runs user code."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median_high
from typing import Any, Final

from hybridize.api import analyze
from hybridize.config import load_config
from hybridize.decide.model import Action, Decision, FunctionReport
from hybridize.evaluate import metrics
from hybridize.evaluate.bench_report import CHATTER, ended
from hybridize.evaluate.corpus import Corpus, Program, Project
from hybridize.evaluate.measuring import ORIGINAL, Measured, Result, Run, Settings, Variant, measure
from hybridize.evaluate.processes import run as run_process
from hybridize.evaluate.project_sources import SourcesError, all_files, lay, where
from hybridize.evaluate.statistics import Ratio, ratio_of
from hybridize.evaluate.store import Pieces
from hybridize.fixing.memory import Texts, texts, unwatched
from hybridize.fixing.planner import Planner
from hybridize.guard import folder
from hybridize.records import replace
from hybridize.runtime.launch import Target
from hybridize.runtime.rewritten import MemoryFile

#: The variants, beside the original: safe changes; with repairs that are not provably the same; the functions that a
#: publication names; a patch.
SAFE: Final = "safe"
REPAIRS: Final = "repairs"
PUBLISHED: Final = "published"
EXPERT: Final = "expert"
VARIANTS: Final = (SAFE, REPAIRS, PUBLISHED, EXPERT)
_QUIET: Final = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
_UNKNOWN: Final = Ratio(math.nan)
_LAST: Final = 200  # characters of a failing program's last line


@dataclass(frozen=True, slots=True)
class Options:
    """How programs are measured.

    Attributes:
        python: the interpreter that has TensorFlow.
        variants: of `VARIANTS`; one that would be as another, or is not there, is left out.
        runs: rounds of a program without seeds; with seeds at most so many.
        timeout: seconds for one run.
        clones, cache: see `running.Settings`.
        environment: variables to set for all programs; a program's own come after.
        needs: a module that the interpreter must have.
        store: where runs are kept, so that they are not made again; None: nowhere.
    """

    python: str
    variants: tuple[str, ...] = VARIANTS
    runs: int = 3
    timeout: float | None = None
    clones: tuple[Path, ...] = ()
    cache: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: str | None = "tensorflow"
    store: Pieces | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """One variant of a program against the original.

    Attributes:
        speed_up: of whole processes by the clock, over the rounds; `cpu` the same of processor time.
        inside: that of the medians of processor time, without what Python and TensorFlow take to start.
        seconds, cpu_seconds, accuracy, loss: medians: of the original, and of the variant.
        traces: of the changed functions, in the warm-up.
        changed: the functions, by id, that the program has called in the warm-up; of a patch the files.
        rounds: how many; none where nothing that the program loads is changed.
        same: whether all metrics are the original's, seed by seed, within the tolerance.
        difference: the largest relative one of a metric.
        load: how many processes wanted each processor, at the median run.
        failure: why it could not be measured; all else is then empty.
    """

    project: str
    program: str
    variant: str
    speed_up: Ratio = _UNKNOWN
    cpu: Ratio = _UNKNOWN
    inside: float = math.nan
    seconds: tuple[float, float] = (math.nan, math.nan)
    cpu_seconds: tuple[float, float] = (math.nan, math.nan)
    accuracy: tuple[float | None, float | None] = (None, None)
    loss: tuple[float | None, float | None] = (None, None)
    traces: int = 0
    changed: tuple[str, ...] = ()
    same: bool = False
    difference: float = 0.0
    failure: str = ""
    rounds: int = 0
    published: tuple[float, ...] = ()
    load: float | None = None


def compare(corpus: Corpus, options: Options, progress: Callable[[str], None]) -> Iterator[list[Compared]]:
    """Measures the programs of a corpus, one after the other; one that cannot be is an entry with its reason."""
    start = start_up(options)
    for project in corpus.projects:
        with folder("hybridize-programs-") as name:
            place = Path(name).resolve() / project.name
            made: _Made | None = None
            for program in project.programs:
                try:
                    shutil.rmtree(place, ignore_errors=True)  # what the one before has written
                    lay(where(corpus, project, options.clones, options.cache), place, data=True)
                    made = made or _changed(corpus, project, options, place)
                    yield _program(corpus, project, program, options, place, made, start, progress)
                except (SourcesError, OSError) as error:
                    yield [Compared(project.name, program.name, SAFE, failure=" ".join(str(error).split()))]


def start_up(options: Options) -> float:
    """Processor time of an interpreter that imports TensorFlow and ends: the least of three; 0 where it has none."""
    command = [options.python, "-c", f"import {options.needs or 'sys'}"]
    runs = [run_process(command, Path(), _QUIET) for _ in range(3)]
    return min((run.cpu for run in runs if run.code == 0 and run.cpu), default=0.0)


def _program(
    corpus: Corpus,
    project: Project,
    program: Program,
    options: Options,
    place: Path,
    made: _Made,
    start: float,
    progress: Callable[[str], None],
) -> list[Compared]:
    variants = list(made.variants)
    changed: dict[str, tuple[str, ...]] = {}
    if EXPERT in options.variants and program.patch:
        files = _patched(place, (corpus.folder / program.patch).resolve())
        variants.append(Variant(EXPERT, files, files))
        changed[EXPERT] = tuple(str(file.path.relative_to(place)) for file in files)
    if not variants:
        return [_unchanged(project, program, SAFE)]
    settings = Settings(
        Target.script(str(place / program.script), program.arguments),
        options.python,
        options.runs,
        options.timeout,
        tuple(made.functions),
        (str(place),),
        place,
        needs=options.needs,
        environment={**_QUIET, **options.environment, **dict(program.environment)},
        shim=(corpus.folder / program.shim).resolve() if program.shim else None,
        seeds=program.seeds[: options.runs],
        whole=True,
    )
    kept = _Kept(options.store, _rests_on(settings, variants, place)) if options.store else None
    variants.insert(0, Variant(ORIGINAL))
    result = measure(settings, variants, lambda line: progress(f"{program.name}: {line}"), kept)
    if result.interrupted:
        raise KeyboardInterrupt
    return [_compared(project, program, result, measured, changed, start) for measured in result.variants[1:]]


class _Kept:
    """The runs of one program in the store: what they rest on is part of their keys."""

    def __init__(self, store: Pieces, rests_on: str) -> None:
        self._store, self._rests_on = store, rests_on

    def get(self, name: str) -> list[Run] | None:
        found = self._store.get(self._key(name))
        return None if found is None else [Run(**each) for each in found]

    def put(self, name: str, runs: Sequence[Run]) -> None:
        self._store.put(self._key(name), [asdict(run) for run in runs])

    def _key(self, name: str) -> str:
        return hashlib.sha256(f"{self._rests_on} {name}".encode()).hexdigest()[:32]


def _rests_on(settings: Settings, variants: Sequence[Variant], place: Path) -> str:
    """All that a program's runs rest on, wherever it is laid: interpreter, TensorFlow, its files, what is changed."""
    said = [settings.python, _release(settings), settings.target.arguments, sorted(settings.environment.items())]
    said += [[str(path.relative_to(place)), _digest(path.read_bytes())] for path in all_files(place)]
    for variant in variants:
        said.append([variant.name, *((str(f.path.relative_to(place)), _digest(f.text)) for f in variant.sources)])
    said += [
        Path(settings.target.name).relative_to(place).as_posix(),
        _digest(settings.shim.read_bytes() if settings.shim else b""),
    ]
    return _digest(json.dumps(said).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _release(settings: Settings) -> str:
    """The version of what the interpreter must have."""
    command = f"from importlib.metadata import version; print(version({settings.needs!r}))"
    return run_process([settings.python, "-c", command], Path()).out.strip() if settings.needs else ""


@dataclass(slots=True)
class _Made:
    """What is changed in a project; the watched functions of its variants have numbers of their own."""

    variants: list[Variant] = field(default_factory=list)
    functions: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, name: str, found: Texts) -> None:
        """A variant of changed files, unless it is as one before."""
        after = unwatched(found.after)
        known = [{file.path: file.text for file in variant.sources} for variant in self.variants]
        if not after or {file.path: file.text for file in after} in known:
            return
        count = len(self.functions)
        self.functions += found.described()
        self.variants.append(Variant(name, after, tuple(_renumbered(file, count) for file in found.after)))


def _renumbered(file: MemoryFile, by: int) -> MemoryFile:
    return replace(file, watch=tuple((number + by, line, decorator) for number, line, decorator in file.watch))


def _changed(corpus: Corpus, project: Project, options: Options, place: Path) -> _Made:
    config = replace(load_config((place,), corpus.options_of(project)), jobs=1, cache=False)
    report = analyze([place], config)
    made = _Made()
    for name, unsafe in ((SAFE, False), (REPAIRS, True)):
        if name in options.variants:
            plan = Planner(report, config, lambda more: analyze([place], config, contents=more), unsafe).plan()
            lines = {function.facts.id: function.facts.line for function in plan.before.functions}
            made.add(name, texts(plan.report, None, plan.repaired.contents, lines))
    if PUBLISHED in options.variants and project.refactored:
        for name in set(project.refactored).difference(f.facts.id for f in report.functions):
            raise SourcesError(f"`refactored` names `{name}`, which is no function of {project.name}")
        made.add(PUBLISHED, texts(report, [_hybrid(f) for f in report.functions if f.facts.id in project.refactored]))
    return made


def _hybrid(function: FunctionReport) -> FunctionReport:
    """With the decision to convert it, whatever ours was."""
    if function.decision.action is not Action.KEEP:
        return function
    return replace(function, decision=Decision(Action.CONVERT_TO_HYBRID))


def _patched(place: Path, patch: Path) -> tuple[MemoryFile, ...]:
    """The files of a folder that a patch changes, as it leaves them; raises SourcesError if it does not fit."""
    with folder("hybridize-patch-") as name:
        copy = Path(name) / "copy"
        shutil.copytree(place, copy)
        with patch.open("rb") as stream:
            done = subprocess.run(
                ["git", "apply", "-p1", "-"], cwd=copy, stdin=stream, capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise SourcesError(f"{patch}: {done.stderr.strip().rpartition(chr(10))[2]}")
        found = []
        for path in sorted(copy.rglob("*.py")):
            there, text = place / path.relative_to(copy), path.read_bytes()
            if not there.exists() or there.read_bytes() != text:
                found.append(MemoryFile(there, text, ()))
        return tuple(found)


def _compared(
    project: Project,
    program: Program,
    result: Result,
    measured: Measured,
    patched: Mapping[str, tuple[str, ...]],
    start: float,
) -> Compared:
    variant, timings = measured.variant.name, measured.timings()
    if measured.idle:
        return _unchanged(project, program, variant)
    called = (n for n, timing in sorted(timings.items()) if timing.calls or timing.inner)
    changed = patched.get(variant) or tuple(str(result.settings.functions[n]["id"]) for n in called)
    for which, each in (("original", result.original), (variant, measured)):
        if each.failure is not None:
            said = f"the {which} program {ended(each.failure, result.settings.timeout)}{_last_line(each.failure)}"
            return Compared(project.name, program.name, variant, changed=changed, failure=said)
    pairs = list(zip(result.original.runs, measured.runs, strict=False))
    times = (result.original.times().median, measured.times().median)
    used = (result.original.times("cpu").median, measured.times("cpu").median)
    found = [each for a, b in pairs for each in metrics.compare([a.series], [b.series])]
    missing = [name for a, b in pairs for name in metrics.missing(a.series, b.series)]
    return Compared(
        project.name,
        program.name,
        variant,
        ratio_of([a.wall / b.wall for a, b in pairs]),
        ratio_of([a.cpu / b.cpu for a, b in pairs if a.cpu and b.cpu]),
        (used[0] - start) / (used[1] - start) if min(used) > start else math.nan,
        times,
        used,
        _both(pairs, program.accuracy, metrics.is_accuracy),
        _both(pairs, program.loss, metrics.is_loss),
        sum(timing.traces for timing in timings.values()),
        changed,
        not missing and all(each.equal(result.settings.tolerance) for each in found),
        max((each.largest for each in found), default=0.0),
        rounds=len(pairs),
        published=program.published,
        load=_median([run.load for run in (*result.original.runs, *measured.runs)]),
    )


def _unchanged(project: Project, program: Program, variant: str) -> Compared:
    """Of a program that is as it was: nothing has to be measured."""
    same = Ratio(1.0)
    return Compared(project.name, program.name, variant, same, same, 1.0, same=True, published=program.published)


def _last_line(run: Run) -> str:
    """The last thing that a program said of its own end."""
    lines = [line.strip() for line in run.error.splitlines() if line.strip() and not CHATTER.match(line)]
    return f": {lines[-1][:_LAST]}" if lines else ""


def _both(
    pairs: Sequence[tuple[Run, Run]], name: str, kind: Callable[[str], bool]
) -> tuple[float | None, float | None]:
    """The medians over the rounds of a metric's last value: of the named one, or the one that is printed most often."""
    if not pairs:
        return None, None
    series = pairs[0][0].series
    known = [name] if name else sorted((n for n in series if kind(n)), key=lambda n: -len(series[n]))
    if not known:
        return None, None
    first, second = (
        _median([run.series[known[0]][-1] for run in side if run.series.get(known[0])])
        for side in zip(*pairs, strict=True)
    )
    return first, second


def _median(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return median_high(there) if there else None
