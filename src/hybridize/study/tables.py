"""Tables 1 to 4 (and any breakdown, and the findings) of given counts, and how they are written down."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hybridize.study.codebook import Facet
from hybridize.study.counts import SOURCES, Counts, Where, marks_on
from hybridize.study.findings import findings, percent, unanswered

Cell = str | int | float | None

FORMATS: Final = {"markdown": ".md", "latex": ".tex", "csv": ".csv", "html": ".html"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table before it is written: cells are texts (left) or numbers (right); null is "not known".

    `footer` counts the last rows that are totals. `marks` must be shown wherever the table is.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footer: int = 0
    notes: tuple[str, ...] = ()
    marks: tuple[str, ...] = field(default=())


def subjects_table(counts: Counts) -> Table:
    """Table 1: what was studied."""
    rows = tuple(
        (
            *(row.name, row.subjects, row.kloc, " to ".join(row.period) if row.period else None),
            *(row.all, row.keyword, row.examined),
        )
        for row in counts.subjects
    )
    notes = ["Subjects, KLOC: a subject of both portions counts once in the total."]
    if any(row[2] is None for row in rows):
        notes.append("–: not counted. The option --count-lines counts Python in the clones, if they are still there.")
    columns = ("", "subjects", "KLOC", "studied period", "commits/issues", "with keyword", "examined")
    return Table("table1", "Studied subjects", columns, rows, 1, tuple(notes), marks_on(counts, "table 1"))


def categories_table(counts: Counts) -> Table:
    """Table 2: top-level problem categories by source."""
    tops = [code for code in counts.book.children(None) if not code.retired or counts.count(Where(code.name))]
    rows: list[tuple[Cell, ...]] = []
    for code in sorted(tops, key=lambda code: -(counts.count(Where(code.name)) or 0)):
        by_source = [counts.count(Where(code.name, source=source)) for source in SOURCES]
        rows.append((code.name, code.abbreviation or "", *by_source, counts.count(Where(code.name))))
    rows.append(("Total", "", *(counts.count(Where(source=source)) for source in SOURCES), counts.count(Where())))
    columns = ("problem", "abbreviation", "commits", "issues", "total")
    return Table(
        "table2", "Top-level problem categories", columns, tuple(rows), 1, _failed(counts, "Table 2"),
        marks_on(counts, "table 2"),
    )  # fmt: skip


def breakdown_table(counts: Counts, category: str, facet: Facet, name: str, mark: str) -> Table:
    """The problems of one category by cause, symptom or fix, most frequent first as the source orders them."""
    slices = counts.breakdown(category, facet)
    total = counts.count(Where(category))
    title = f"{category}: {facet}{'es' if facet == 'fix' else 's'}"
    if slices is None:
        return Table(name, title, (facet, "count", "share"), (), 0, ("These counts have no such breakdown.",))
    rows: list[tuple[Cell, ...]] = [
        (part.label, part.count, percent(part.count, total or 0)) for part in slices
    ]  # fmt: skip
    found = sum(part.count for part in slices)
    rows.append(("Total", found, percent(found, total) if total else None))
    notes = tuple(f"{part.label}: {part.note}." for part in slices if part.note)
    return Table(name, title, (facet, "count", "share"), tuple(rows), 1, notes, marks_on(counts, mark))


def hierarchy_table(counts: Counts) -> Table:
    """Figure 1 as a table: every category with its own problems and those below it."""
    rows: list[tuple[Cell, ...]] = []
    for code in counts.book.of("category"):
        total, depth, parent = counts.count(Where(code.name)), 0, code.parent
        while parent is not None:
            above = counts.book.get("category", parent)
            depth, parent = depth + 1, above.parent if above else None
        if total:
            own = counts.count(Where(code.name, own=True)) or 0
            rows.append(("\u2003" * depth + code.name, own, total))
    rows.append(("Total", counts.count(Where()), counts.count(Where())))
    title = "Problem categories, hierarchical"
    return Table(
        "figure1", title, ("category", "own", "with all below"), tuple(rows), 1, (), marks_on(counts, "figure 1")
    )


def findings_table(counts: Counts) -> Table:
    """The findings as sentences."""
    rows = tuple((finding.number, finding.text, " ".join(finding.notes)) for finding in findings(counts))
    missing = unanswered(counts)
    notes = (f"Not answered by these counts: {', '.join(map(str, missing))}.",) if missing else ()
    return Table(
        "findings", "Findings", ("finding", "sentence", "remarks"), rows, 0, notes, marks_on(counts, "findings")
    )


def comparison_table(counts: Counts) -> Table:
    """Each top-level category's share among commits against that among issues: Fisher's exact test, Holm-corrected."""
    totals = [counts.count(Where(source=source)) or 0 for source in SOURCES]
    tops = [code.name for code in counts.book.children(None) if counts.count(Where(code.name))]
    parts = [[counts.count(Where(top, source=source)) or 0 for source in SOURCES] for top in tops]
    title, columns = "Commits against issues", ("problem", "commits", "issues", "p", "p, corrected")
    note = "p: Fisher's exact test, two-sided; corrected by Holm's method for the number of rows."
    if not all(totals):
        return Table("comparison", title, columns, (), 0, ("No problem in one of the two: nothing to compare.",))
    try:
        from scipy.stats import fisher_exact
        from statsmodels.stats.multitest import multipletests
    except ImportError as error:
        note = f"Not compared, for {error.name} is not there (extra study)."
        return Table("comparison", title, columns, (), 0, (note,))
    plain = [fisher_exact([pair, [totals[0] - pair[0], totals[1] - pair[1]]]).pvalue for pair in parts]
    corrected = multipletests(plain, method="holm")[1]
    rows = tuple(
        (
            top,
            *(f"{n}/{total} ({percent(n, total)})" for n, total in zip(pair, totals, strict=True)),
            f"{p:.4f}",
            f"{q:.4f}",
        )
        for top, pair, p, q in zip(tops, parts, plain, corrected, strict=True)
    )
    return Table("comparison", title, columns, rows, 0, (note,))


def all_tables(counts: Counts) -> tuple[Table, ...]:
    """Tables 1 to 4, the hierarchy of Figure 1, commits against issues, and the findings."""
    return (subjects_table(counts), categories_table(counts), *_paper_breakdowns(counts), hierarchy_table(counts),
            comparison_table(counts), findings_table(counts))  # fmt: skip


def _paper_breakdowns(counts: Counts) -> list[Table]:
    """Table 3 and Table 4, for the categories that play these parts in the codebook."""
    wanted: tuple[tuple[str, Facet, str, str], ...] = (
        ("performance", "fix", "table3", "table 3"),
        ("api-misuse", "cause", "table4", "table 4"),
    )
    found = []
    for role, facet, name, mark in wanted:
        code = counts.book.by_role(role)
        if code is not None:
            found.append(breakdown_table(counts, code.name, facet, name, mark))
    return found


def _failed(counts: Counts, start: str) -> tuple[str, ...]:
    return tuple(
        f"Does not sum: {check.text} should be {check.expected:g}, the parts give {check.found:g}."
        for check in counts.checks()
        if check.text.startswith(start) and not check.holds
    )


def write(table: Table, form: str) -> str:
    """The table in one of `FORMATS`.

    Raises:
        KeyError: there is no such format.
    """
    return {"markdown": markdown, "latex": latex, "csv": comma_separated, "html": html_fragment}[form](table)


def _shown(cell: Cell, thousands: str = ",") -> str:
    if cell is None:
        return "–"
    if isinstance(cell, (int, float)):
        return f"{cell:,}".replace(",", thousands)
    return cell


def _numeric(table: Table, column: int) -> bool:
    """Whether a column is to be set flush right."""
    cells = [row[column] for row in table.rows]
    return any(isinstance(cell, (int, float)) for cell in cells) or table.columns[column] == "share"


def markdown(table: Table) -> str:
    """A GitHub-flavoured table with its notes; what a name could break in it is escaped."""

    def cell(text: str) -> str:
        for plain in ("\\", "|", "<", ">", "*", "_", "`", "["):
            text = text.replace(plain, "&lt;" if plain == "<" else "\\" + plain)
        return " ".join(text.split("\n")).replace("\u2003", "&emsp;")

    lines = [f"**{_label(table)}{cell(table.title)}**", ""]
    lines.append("| " + " | ".join(cell(column) for column in table.columns) + " |")
    lines.append("|" + "|".join("---:" if _numeric(table, i) else "---" for i in range(len(table.columns))) + "|")
    first_total = len(table.rows) - table.footer
    for place, row in enumerate(table.rows):
        cells = [cell(_shown(value)) for value in row]
        if place >= first_total:
            cells = [f"**{text}**" if text else "" for text in cells]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"*{cell(note)}*  " for note in table.notes), *(f"‡ {cell(mark)}  " for mark in table.marks)]
    return "\n".join(lines).rstrip() + "\n"


def _label(table: Table) -> str:
    for prefix, word in (("table", "Table"), ("figure", "Figure")):
        if table.name.startswith(prefix) and table.name[len(prefix) :].isdigit():
            return f"{word} {table.name[len(prefix) :]}: "
    return ""


_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "‡": r"\ddag{}", "\u2003": r"\quad ",
    "<": r"\textless{}", ">": r"\textgreater{}", '"': r"\textquotedbl{}", "|": r"\textbar{}",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def latex(table: Table) -> str:
    """A `table` environment that needs the package booktabs (and T1 fonts, if a name has a double quote)."""
    columns = "".join(
        "r" if _numeric(table, i) else (r"p{0.6\linewidth}" if name == "sentence" else "l")
        for i, name in enumerate(table.columns)
    )
    shown = [i for i, name in enumerate(table.columns) if name != "remarks"]
    columns = "".join(_split_columns(columns)[i] for i in shown)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}", rf"\label{{tab:{table.name}}}"]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(_tex(table.columns[i]) for i in shown) + r" \\", r"\midrule"]
    for place, row in enumerate(table.rows):
        if table.footer and place == len(table.rows) - table.footer:
            lines.append(r"\midrule")
        lines.append(" & ".join(_tex(_shown(row[i])) for i in shown) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    remarks = [str(row[-1]) for row in table.rows if table.columns[-1] == "remarks" and row[-1]]
    for note in (*table.notes, *(f"‡ {mark}" for mark in (*remarks, *table.marks))):
        lines.append(rf"\par\smallskip{{\footnotesize {_tex(note)}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _split_columns(columns: str) -> list[str]:
    """The single column types of a `tabular` argument."""
    found: list[str] = []
    rest = columns
    while rest:
        length = rest.index("}") + 1 if rest.startswith("p{") else 1
        found.append(rest[:length])
        rest = rest[length:]
    return found


def comma_separated(table: Table) -> str:
    """The bare rows for a spreadsheet: numbers without separators, unknown cells empty, no notes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow("" if cell is None else cell.strip("\u2003") if isinstance(cell, str) else cell for cell in row)
    return text.getvalue()


def html_fragment(table: Table) -> str:
    """A `<table>` with its notes; everything is escaped."""
    align = ['class="n"' if _numeric(table, i) else "" for i in range(len(table.columns))]
    head = "".join(f"<th scope=col {align[i]}>{html.escape(c)}</th>" for i, c in enumerate(table.columns))
    body = []
    for place, row in enumerate(table.rows):
        total = " class=total" if place >= len(table.rows) - table.footer else ""
        cells = "".join(f"<td {align[i]}>{html.escape(_shown(value))}</td>" for i, value in enumerate(row))
        body.append(f"<tr{total}>{cells}</tr>")
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in table.notes)
    marks = "".join(f"<p class=mark>‡ {html.escape(mark)}</p>" for mark in table.marks)
    caption = html.escape(_label(table) + table.title)
    return (
        f"<section id={html.escape(table.name)}><table><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{notes}{marks}</section>\n"
    )


_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;margin:1.5rem 0 .5rem}caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.25rem .8rem;text-align:left;vertical-align:top;white-space:pre-wrap}
th{border-bottom:2px solid #444}td{border-bottom:1px solid #ddd}
.n{text-align:right;font-variant-numeric:tabular-nums}.total td{border-top:2px solid #444;font-weight:600}
.note{color:#555;margin:.2rem 0;font-size:.9rem}.mark{color:#8a3800;margin:.2rem 0;font-size:.9rem}
figure{margin:2rem 0}figure svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){body{background:#16181b;color:#e6e6e6}td{border-color:#333}
th,.total td{border-color:#999}
.note{color:#aaa}.mark{color:#f0a46a}figure svg{background:#fff;border-radius:6px}}
"""


def page(title: str, parts: Sequence[str]) -> str:
    """One self-contained page around `parts`, which are HTML already."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )
