"""Plots of an evaluation, as a paper would have them: cost against size, and reasons as bars."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hybridize.evaluate.plot import available
from hybridize.evaluate.readings import Reading
from hybridize.evaluate.store import Result

#: So many reasons have a bar of their own.
_BARS: Final = 16
#: The same data give the same file.
_STEADY: Final = {"svg.hashsalt": "hybridize", "svg.fonttype": "none"}


def save(results: Mapping[str, Result], readings: Sequence[Reading], folder: Path) -> dict[str, Path]:
    """Writes the plots as SVG and PDF: the SVG files by caption. Nothing without matplotlib, or without a result."""
    known = [result for result in results.values() if not result.failure]
    if not available() or not known:
        return {}
    made = {"Time of analysis against size": _cost(known, folder / "cost")}
    for reading in readings:
        reasons = Counter(
            reason for r in known for _, verdict in reading.candidates(r.rows).values() for reason in verdict.failures
        )
        if reasons:
            made[f"Why candidates fail, reading: {reading.name}"] = _bars(reasons, folder / f"reasons-{reading.name}")
    return made


def _cost(results: Sequence[Result], file: Path) -> Path:
    points = [(r.measures["code_lines"] / 1000, r.measures["seconds"], r.project) for r in results if r.measures]
    with figure(file, (6.0, 4.0)) as axes:
        axes.plot([p[0] for p in points], [p[1] for p in points], "o", markersize=4)
        for size, seconds, name in points if len(points) <= 25 else ():
            axes.annotate(name, (size, seconds), textcoords="offset points", xytext=(4, 3), fontsize=6)
        if all(p[0] > 0 and p[1] > 0 for p in points):
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel("thousand lines of code")
        axes.set_ylabel("seconds")
    return file.with_suffix(".svg")


def _bars(reasons: Counter[str], file: Path) -> Path:
    most = reasons.most_common(_BARS)[::-1]
    with figure(file, (6.0, 0.8 + 0.25 * len(most))) as axes:
        bars = axes.barh([name for name, _ in most], [count for _, count in most])
        axes.bar_label(bars, padding=2, fontsize=8)
        axes.set_xlabel("functions (some have several reasons)")
    return file.with_suffix(".svg")


@contextmanager
def figure(file: Path, size: tuple[float, float]) -> Iterator[Any]:
    """The axes of a plot (inches), which is then written as SVG and PDF beside each other."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    with matplotlib.rc_context(_STEADY):
        made, axes = pyplot.subplots(figsize=size)
        yield axes
        made.tight_layout()
        made.savefig(file.with_suffix(".svg"), metadata={"Date": None})
        made.savefig(file.with_suffix(".pdf"), metadata={"CreationDate": None})
        pyplot.close(made)
