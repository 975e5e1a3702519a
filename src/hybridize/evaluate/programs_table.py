"""Table VII of measured programs: a row for each variant, the geometric means, and the speed-ups as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hybridize.evaluate.paper_tables import Table
from hybridize.evaluate.pictures import figure
from hybridize.evaluate.plot import available
from hybridize.evaluate.programs import VARIANTS, Compared
from hybridize.evaluate.statistics import ratio_of
from hybridize.evaluate.tables import Column
from hybridize.report.words import counted

#: Below it a refactored program is slower, and that is said.
SLOWER: Final = 0.97
_COLUMNS: Final = (
    Column("program"),
    Column("variant"),
    Column("rounds"),
    *(Column(name, ".2f") for name in ("original s", "refactored s", "speed-up", "low", "high")),
    Column("p", ".2g"),
    *(Column(f"cpu {name}", ".2f") for name in ("original s", "refactored s", "speed-up", "without start-up")),
    *(Column(name, ".5g") for name in ("accuracy", "refactored accuracy", "loss", "refactored loss")),
    Column("metrics"),
    Column("traces"),
    Column("changed"),
    Column("published", ".2f"),
    Column("note"),
)


def programs_table(found: Sequence[Compared]) -> Table:
    """Table VII, without columns in which nothing is known of any program."""
    rows = [_row(each) for each in found]
    shown = [n for n in range(len(_COLUMNS)) if any(row[n] not in (None, "") and row[n] == row[n] for row in rows)]
    return Table(
        "table7",
        "Table VII: programs as they are and refactored",
        tuple(_COLUMNS[n] for n in shown),
        tuple(tuple(row[n] for n in shown) for row in rows),
        _note(found),
    )


def means(found: Sequence[Compared]) -> list[tuple[str, str]]:
    """For each variant, in words, the geometric mean of the speed-ups with its interval; what is slower is named."""
    said = []
    for variant in VARIANTS:
        mine = [each for each in found if each.variant == variant and not each.failure]
        if not mine:
            continue
        words = f"geometric mean {_mean([e.speed_up.value for e in mine], counted(len(mine), 'program'))}"
        words += f", by processor time {_mean([e.cpu.value for e in mine])}"
        words += f", by that without start-up {_mean([e.inside for e in mine])}"
        slow = [f"{each.program} {each.speed_up.value:.2f}" for each in mine if each.speed_up.value < SLOWER]
        words += f"; slower: {', '.join(slow)}" if slow else f"; none below {SLOWER}"
        different = [f"{each.program} {each.difference:.1%}" for each in mine if not each.same]
        words += f"; other metrics: {', '.join(different)}" if different else ""
        said.append((variant, words))
    return said


def _mean(ratios: Sequence[float], *more: str) -> str:
    """Of the known ones, with interval and p of the paired test."""
    mean = ratio_of([each for each in ratios if each > 0])
    said = [] if math.isnan(mean.low) else [f"{mean.low:.2f} to {mean.high:.2f}", f"p {mean.probability:.1g}"]
    return f"{mean.value:.2f}" + (f" ({', '.join([*said, *more])})" if said or more else "")


def _note(found: Sequence[Compared]) -> str:
    lines = [f"{variant}: {words}." for variant, words in means(found)]
    lines.append("Intervals are of 95%, p is of a paired t-test, both on logarithms of the rounds' ratios.")
    loads = [each.load for each in found if each.load is not None]
    if loads:
        lines.append(f"While they ran, {min(loads):.1f} to {max(loads):.1f} processes wanted each processor.")
    return " ".join(lines)


def _row(each: Compared) -> tuple[object, ...]:
    if each.failure:
        return (each.program, each.variant, 0, *(None,) * (len(_COLUMNS) - 4), each.failure)
    slow = f"slower than {SLOWER}" if each.speed_up.value < SLOWER else "" if each.rounds else "unchanged: counts as 1"
    return (
        each.program,
        each.variant,
        each.rounds,
        *each.seconds,
        each.speed_up.value,
        each.speed_up.low,
        each.speed_up.high,
        each.speed_up.probability,
        *each.cpu_seconds,
        each.cpu.value,
        each.inside,
        *each.accuracy,
        *each.loss,
        "same" if each.same else f"up to {each.difference:.1%} other",
        each.traces,
        len(each.changed),
        each.published[0] / each.published[1] if len(each.published) == 2 else None,
        slow,
    )


def plot(found: Sequence[Compared], file: Path) -> dict[str, Path]:
    """The speed-ups with their intervals on a log axis: the SVG file by caption; nothing without matplotlib."""
    known = [each for each in found if not each.failure]
    if not known or not available():
        return {}
    names = list(dict.fromkeys(each.program for each in known))[::-1]
    with figure(file, (6.5, 1.2 + 0.3 * len(names))) as axes:
        for number, variant in enumerate(v for v in VARIANTS if any(each.variant == v for each in known)):
            mine = [each for each in known if each.variant == variant]
            places = [names.index(each.program) - 0.15 * number for each in mine]
            values = [each.speed_up.value for each in mine]
            spread = [[_distance(each, end) for each in mine] for end in ("low", "high")]
            axes.errorbar(values, places, xerr=spread, fmt="o", markersize=4, capsize=2, label=variant)
        axes.axvline(1.0, color="gray", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_xlabel("speed-up (original divided by refactored)")
        axes.legend(fontsize=8)
    return {"Speed-ups of programs, with intervals of 95%": file.with_suffix(".svg")}


def _distance(each: Compared, end: str) -> float:
    limit = getattr(each.speed_up, end)
    return 0.0 if math.isnan(limit) else abs(limit - each.speed_up.value)
