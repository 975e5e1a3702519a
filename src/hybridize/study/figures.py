"""Figures 1 to 4 of given counts: sunburst of categories, symptom pies, commits against issues.

Matplotlib is imported only when a figure is drawn; it comes with the `study` extra. Colours are Paul Tol's "muted"
scheme, which stays distinct under the common colour-vision deficiencies; every wedge and bar has its label beside it
too.
"""

from __future__ import annotations

import html
import io
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hybridize.study.codebook import Code
from hybridize.study.counts import NOT_SPLIT, SOURCES, Counts, Slice, Source, Where, marks_on
from hybridize.study.findings import percent

FORMATS: Final = {"png": ".png", "svg": ".svg", "pdf": ".pdf", "html": ".html"}
PALETTE: Final = ("#332288", "#CC6677", "#44AA99", "#DDCC77", "#882255", "#88CCEE", "#117733", "#AA4499", "#999933")
COMMITS: Final = "#4477AA"
ISSUES: Final = "#EE6677"
REST: Final = "#D8D8D8"
_INK: Final = "#1b1b1b"
_DPI: Final = 160


class MissingMatplotlib(RuntimeError):
    """Figures need the `study` extra; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure before it is drawn. `text` says in words what it shows, for those who can't see it."""

    name: str
    title: str
    text: str
    draw: Callable[[Any], None]
    size: tuple[float, float]  # inches
    marks: tuple[str, ...] = ()


def all_figures(counts: Counts) -> tuple[Figure, ...]:
    """Figures 1 to 4, as far as the counts have something to show."""
    found = [_sunburst(counts), *_pies(counts), _bars(counts)]
    return tuple(figure for figure in found if figure is not None)


def _sunburst(counts: Counts) -> Figure | None:
    wedges = layout(counts)
    if not wedges:
        return None
    total = counts.count(Where()) or 0
    text = "; ".join(f"{wedge.name} {wedge.total}" for wedge in wedges)
    return Figure(
        "figure1",
        "Problem categories, hierarchical",
        f"{total} problems: {text}.",
        lambda canvas: _draw_sunburst(canvas, wedges, total),
        (12.2, 7.5),
        marks_on(counts, "figure 1"),
    )


def _pies(counts: Counts) -> list[Figure | None]:
    wanted = (("figure2", "figure 2", "api-misuse"), ("figure3", "figure 3", "incompatibility"))
    found: list[Figure | None] = []
    for name, mark, role in wanted:
        code = counts.book.by_role(role)
        slices = counts.breakdown(code.name, "symptom") if code else None
        if code is None or not slices:
            continue
        found.append(_pie(name, f"{code.name}: symptoms", slices, marks_on(counts, mark)))
    return found


def _pie(name: str, title: str, slices: Sequence[Slice], marks: tuple[str, ...]) -> Figure:
    total = sum(part.count for part in slices)
    text = "; ".join(f"{part.label} {part.count} ({percent(part.count, total)})" for part in slices)
    return Figure(name, title, f"{total} problems: {text}.", lambda c: _draw_pie(c, slices, total), (8.2, 4.6), marks)


def _bars(counts: Counts) -> Figure | None:
    tops = [code for code in counts.book.children(None) if counts.count(Where(code.name))]
    tops.sort(key=lambda code: -(counts.count(Where(code.name)) or 0))
    if not tops:
        return None

    def number(code: Code, source: Source) -> int:
        return counts.count(Where(code.name, source=source)) or 0

    rows = [(code, number(code, SOURCES[0]), number(code, SOURCES[1])) for code in tops]
    text = "; ".join(f"{code.name} {commits} in commits, {issues} in issues" for code, commits, issues in rows)
    return Figure(
        "figure4",
        "Problem categories: commits against issues",
        text + ".",
        lambda canvas: _draw_bars(canvas, rows),
        (9.6, 5.2),
        marks_on(counts, "figure 4"),
    )


@dataclass(frozen=True, slots=True)
class Wedge:
    """One category in the sunburst: turns from `start` to `end` (1 is all round), ring 0 innermost."""

    name: str
    label: str
    ring: int
    start: float
    end: float
    total: int
    own: int
    family: int

    @property
    def angle(self) -> float:
        """The direction of its middle, in radians, clockwise from the top."""
        return math.pi * (self.start + self.end)

    @property
    def roomy(self) -> bool:
        """Whether its label fits inside."""
        return self.ring == 0 and self.end - self.start >= 0.1


def layout(counts: Counts) -> list[Wedge]:
    """Where each category that has problems stands; children lie over their parent.

    All is turned so that the narrow top-level wedges look left, where their labels have room.
    """
    total = counts.count(Where()) or 0
    if total == 0:
        return []
    found: list[Wedge] = []

    def place(code: Code, ring: int, start: float, family: int) -> float:
        number = counts.count(Where(code.name)) or 0
        if number == 0:
            return start
        end = start + number / total
        own = counts.count(Where(code.name, own=True)) or 0
        label = code.name if not code.abbreviation else f"{code.name} ({code.abbreviation})"
        found.append(Wedge(code.name, label, ring, start, end, number, own, family))
        if family == 0 and ring == 0:
            # The first family ends on the right; its children go there, beside their labels.
            start += own / total
        for child in _by_size(counts, code.name):
            start = place(child, ring + 1, start, family)
        return end

    position = 0.0
    for family, top in enumerate(_by_size(counts, None)):
        position = place(top, 0, position, family)
    narrow = [wedge for wedge in found if wedge.ring == 0 and not wedge.roomy]
    turn = 0.75 - (narrow[0].start + narrow[-1].end) / 2 if narrow else 0.0
    return [replace(wedge, start=wedge.start + turn, end=wedge.end + turn) for wedge in found]


def _by_size(counts: Counts, parent: str | None) -> list[Code]:
    return sorted(counts.book.children(parent), key=lambda code: -(counts.count(Where(code.name)) or 0))


_RING: Final = (0.32, 0.82, 1.00, 1.14, 1.24)
"""Radii of the rings' borders."""
_EDGE: Final = 1.30
_COLUMN: Final = 1.46


def _radii(ring: int) -> tuple[float, float]:
    if ring + 1 < len(_RING):
        return _RING[ring], _RING[ring + 1]
    return _RING[-1] + 0.1 * (ring - len(_RING) + 1), _RING[-1] + 0.1 * (ring - len(_RING) + 2)


def _draw_sunburst(canvas: Any, wedges: Sequence[Wedge], total: int) -> None:
    from matplotlib.patches import Wedge as Patch

    axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-2.6, 2.6)
    axes.set_ylim(-1.6, 1.6)
    outside: list[Wedge] = []
    for wedge in wedges:
        inner, outer = _radii(wedge.ring)
        first, last = 90 - 360 * wedge.end, 90 - 360 * wedge.start
        colour = _family_colour(wedge.family, wedge.ring)
        axes.add_patch(
            Patch((0, 0), outer, first, last, width=outer - inner, facecolor=colour, edgecolor="white", lw=0.8)
        )
        if wedge.roomy:
            at = ((inner + outer) / 2 * math.sin(wedge.angle), (inner + outer) / 2 * math.cos(wedge.angle))
            words = f"{wedge.label.replace(' (', chr(10) + '(')}\n{wedge.total}"
            if wedge.own < wedge.total:
                words += f"\n(own {wedge.own})"
            axes.text(*at, words, ha="center", va="center", fontsize=9.5, color=_contrast(colour), linespacing=1.2)
        else:
            outside.append(wedge)
    axes.text(0, 0, f"{total}\nproblems", ha="center", va="center", fontsize=13, color=_INK, weight="bold")
    _label_outside(axes, outside)


def _label_outside(axes: Any, wedges: Sequence[Wedge]) -> None:
    """Labels in a column left and right, each with a line to its wedge, two lines' height apart at least."""
    for side in (1, -1):
        mine = [w for w in wedges if (math.sin(w.angle) >= 0) == (side > 0)]
        mine.sort(key=lambda w: (-math.cos(w.angle), w.ring))
        heights = spread([-_EDGE * 1.1 * math.cos(w.angle) for w in mine], 0.15, 1.5)
        for wedge, height in zip(mine, heights, strict=True):
            inner, outer = _radii(wedge.ring)
            points = [(r * math.sin(wedge.angle), r * math.cos(wedge.angle)) for r in ((inner + outer) / 2, _EDGE)]
            points.append((side * (_COLUMN - 0.04), -height))
            axes.plot(*zip(*points, strict=True), color="#5a5a5a", lw=0.7, solid_joinstyle="round", zorder=3)
            axes.plot(*points[0], marker="o", ms=2.6, color=_INK, mec="white", mew=0.4, zorder=4)
            number = f"{wedge.total} (own {wedge.own})" if 0 < wedge.own < wedge.total else str(wedge.total)
            axes.text(
                side * _COLUMN, -height, textwrap.fill(f"{wedge.label}: {number}", 36), color=_INK, fontsize=8.8,
                ha="left" if side > 0 else "right", va="center", linespacing=1.0,
                weight="bold" if wedge.ring == 0 else "normal",
            )  # fmt: skip


def spread(wanted: Sequence[float], step: float, limit: float) -> list[float]:
    """Positions in the same (ascending) order, at least `step` apart, within ±`limit` if they fit, near the wanted.

    Overlapping neighbours form a block that stands around the mean of what its members want.
    """
    blocks: list[tuple[float, int]] = []  # (sum of wanted, each less its offset in the block; members)
    for value in wanted:
        blocks.append((value, 1))
        while len(blocks) > 1:
            (low_sum, low_n), (high_sum, high_n) = blocks[-2:]
            if low_sum / low_n + low_n * step <= high_sum / high_n + 1e-12:
                break
            blocks[-2:] = [(low_sum + high_sum - high_n * low_n * step, low_n + high_n)]
    placed = [total / members + i * step for total, members in blocks for i in range(members)]
    for i in range(len(placed) - 1, -1, -1):
        ceiling = limit if i == len(placed) - 1 else placed[i + 1] - step
        placed[i] = min(placed[i], ceiling)
    for i in range(len(placed)):
        floor = -limit if i == 0 else placed[i - 1] + step
        placed[i] = max(placed[i], floor)
    return placed


def _draw_pie(canvas: Any, slices: Sequence[Slice], total: int) -> None:
    from matplotlib.patches import Wedge as Patch

    axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-2.45, 2.45)
    axes.set_ylim(-1.3, 1.3)
    turn = 0.0
    places: list[tuple[Slice, float, str]] = []
    for number, part in enumerate(slices):
        end = turn + part.count / total
        named = part.label != NOT_SPLIT
        colour = PALETTE[number % len(PALETTE)] if named else REST
        axes.add_patch(
            Patch(
                (0, 0), 1.0, 90 - 360 * end, 90 - 360 * turn, facecolor=colour, edgecolor="white", lw=1.2,
                hatch=None if named else "///",
            )
        )  # fmt: skip
        middle = 2 * math.pi * (turn + end) / 2
        if end - turn >= 0.06:
            axes.text(
                0.62 * math.sin(middle), 0.62 * math.cos(middle), str(part.count), ha="center", va="center",
                fontsize=13, color=_contrast(colour), weight="bold",
                bbox=None if named else {"facecolor": "white", "edgecolor": "none", "pad": 2.0},
            )  # fmt: skip
        places.append((part, middle, colour))
        turn = end
    _label_pie(axes, places, total)


def _label_pie(axes: Any, places: Sequence[tuple[Slice, float, str]], total: int) -> None:
    for side in (1, -1):
        mine = [place for place in places if (math.sin(place[1]) >= 0) == (side > 0)]
        mine.sort(key=lambda place: -math.cos(place[1]))
        heights = spread([-1.08 * math.cos(middle) for _, middle, _ in mine], 0.27, 1.15)
        for (part, middle, _), height in zip(mine, heights, strict=True):
            bend = (1.05 * math.sin(middle), 1.05 * math.cos(middle))
            line = list(
                zip((0.96 * math.sin(middle), 0.96 * math.cos(middle)), bend, (side * 1.22, -height), strict=True)
            )
            axes.plot(*line, color="#5a5a5a", lw=0.8)
            label = f"{textwrap.fill(part.label, 28)}\n{part.count} ({percent(part.count, total)})"
            align = "left" if side > 0 else "right"
            axes.text(side * 1.26, -height, label, ha=align, va="center", fontsize=9.5, color=_INK, linespacing=1.2)


def _draw_bars(canvas: Any, rows: Sequence[tuple[Code, int, int]]) -> None:
    axes = canvas.add_axes((0.07, 0.26, 0.91, 0.68))
    places = range(len(rows))
    commits, issues = [row[1] for row in rows], [row[2] for row in rows]
    axes.bar(places, commits, 0.72, color=COMMITS, label="commits")
    axes.bar(places, issues, 0.72, bottom=commits, color=ISSUES, label="issues", hatch="//", edgecolor="white", lw=0)
    tallest = max(a + b for a, b in zip(commits, issues, strict=True))
    for place, (_, low, high) in enumerate(rows):
        for number, base in ((low, 0), (high, low)):
            if number >= 0.055 * tallest:
                box = {"facecolor": ISSUES, "edgecolor": "none", "pad": 1.2} if base else None
                colour = _contrast(ISSUES) if base else "white"
                axes.text(
                    place,
                    base + number / 2,
                    str(number),
                    ha="center",
                    va="center",
                    color=colour,
                    fontsize=9.5,
                    bbox=box,
                )
        split = low and high and min(low, high) < 0.055 * tallest
        above, box = low + high + 0.012 * tallest, {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        style = {"ha": "center", "va": "bottom", "color": _INK, "bbox": box}
        if split:
            axes.text(place, above, f"{low} + {high}", fontsize=8, **style)
        axes.text(
            place, above + (0.036 * tallest if split else 0), str(low + high), fontsize=9.5, weight="bold", **style
        )
    names = [f"{code.name}\n({code.abbreviation})" if code.abbreviation else code.name for code, _, _ in rows]
    axes.set_xticks(list(places), names, rotation=38, ha="right", rotation_mode="anchor", fontsize=9)
    axes.set_ylabel("problems", fontsize=10, color=_INK)
    axes.set_ylim(0, tallest * 1.12)
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.yaxis.grid(True, color="#e2e2e2", lw=0.8)
    axes.set_axisbelow(True)
    for spine in ("top", "right", "left"):
        axes.spines[spine].set_visible(False)
    axes.tick_params(axis="both", length=0, colors=_INK)
    handles, labels = axes.get_legend_handles_labels()
    # Above the axes: inside, it would cover grid lines or a tall last bar.
    axes.legend(
        handles[::-1], labels[::-1], frameon=False, fontsize=10, ncols=2,
        loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0,
    )  # fmt: skip


def _family_colour(family: int, ring: int) -> str:
    """The family's colour, lighter on outer rings; greys once the palette is used up."""
    base = PALETTE[family] if family < len(PALETTE) else ("#7a7a7a", "#a5a5a5")[family % 2]
    share = 1 - 0.30 * min(ring, 3)
    parts = [int(base[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * share):02x}" for part in parts)


def _contrast(colour: str) -> str:
    """Black or white, whichever reads better on `colour` (WCAG relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else _INK


def render(figure: Figure, form: str) -> bytes:
    """The figure as bytes in one of `FORMATS`; the same input gives the same bytes.

    Raises:
        MissingMatplotlib: matplotlib is not installed.
        KeyError: there is no such format.
    """
    if form == "html":
        from hybridize.study.tables import page

        return page(figure.title, [html_part(figure)]).encode()
    if form not in FORMATS:
        raise KeyError(form)
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingMatplotlib("figures need matplotlib: pip install 'hybridize[study]'") from error
    # A dollar in a name is no formula.
    settings = {"svg.hashsalt": figure.name, "svg.fonttype": "none", "text.parse_math": False, "hatch.linewidth": 0.6}
    settings["font.family"] = "DejaVu Sans"
    with matplotlib.rc_context(settings):
        canvas = Canvas(figsize=figure.size, facecolor="white")
        FigureCanvasAgg(canvas)
        figure.draw(canvas)
        target = io.BytesIO()
        metadata = {"Title": figure.title} | {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        canvas.savefig(target, format=form, dpi=_DPI, metadata=metadata)
    return target.getvalue()


def html_part(figure: Figure) -> str:
    """A `<figure>` with the drawing inside, its text and its marks."""
    drawing = render(figure, "svg").decode()
    drawing = drawing[drawing.index("<svg") :].replace(
        "<svg", f'<svg role="img" aria-label="{html.escape(figure.text)}"', 1
    )
    marks = "".join(f"<p class=mark>‡ {html.escape(mark)}</p>" for mark in figure.marks)
    number = figure.name.removeprefix("figure")
    caption = f"Figure {number}: {figure.title}. {figure.text}"
    return f"<figure>{drawing}<figcaption class=note>{html.escape(caption)}</figcaption>{marks}</figure>\n"
