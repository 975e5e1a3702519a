"""A picture of a measurement: the times of all runs by variant, and the losses of the variants over each other."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from hybridize.evaluate import metrics
from hybridize.evaluate.measuring import Result

FORMATS = (".svg", ".png", ".pdf")


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def save(result: Result, path: Path) -> None:
    """Writes the picture; the suffix says the format. Raises OSError if the file cannot be written."""
    importlib.import_module("matplotlib").use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    name = _longest_loss(result)
    figure, axes = pyplot.subplots(1, 2 if name else 1, figsize=(9.0 if name else 5.0, 3.6), squeeze=False)
    _times(axes[0][0], result)
    if name:
        _losses(axes[0][1], result, name)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def _times(axis: Any, result: Result) -> None:
    for place, measured in enumerate(result.variants):
        times = measured.times()
        if not times.values:
            continue
        axis.bar(place, times.median, width=0.6, alpha=0.4, color=f"C{place}")
        axis.plot([place] * len(times.values), times.values, "o", color=f"C{place}", markersize=4)
        label = f"{times.median:.1f} s"
        if place:
            label += f"\n{result.verdict(measured).ratio:.2f}x"
        axis.annotate(label, (place, max(times.values)), ha="center", va="bottom", fontsize=8)
    axis.set_xticks(range(len(result.variants)), [m.variant.name for m in result.variants], fontsize=8)
    axis.set_ylabel("seconds (whole process)")
    axis.margins(y=0.2)
    axis.set_title(str(result.settings.target), fontsize=9)


def _losses(axis: Any, result: Result, name: str) -> None:
    for place, measured in enumerate(result.variants):
        series = measured.series()
        if series and name in series[0]:
            values = series[0][name]
            style = "-" if place == 0 else "--"
            axis.plot(range(1, len(values) + 1), values, style, color=f"C{place}", label=measured.variant.name)
    axis.set_xlabel("report")
    axis.set_ylabel(name)
    axis.legend(fontsize=8)


def _longest_loss(result: Result) -> str | None:
    series = result.original.series()
    names = [name for name in series[0] if metrics.is_loss(name) and len(series[0][name]) > 1] if series else []
    return max(names, key=lambda n: len(series[0][n]), default=None)
