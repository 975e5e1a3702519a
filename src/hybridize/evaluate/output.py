"""Tables into files: Markdown, CSV, LaTeX, Parquet, the functions behind each cell, and one HTML page with all."""

from __future__ import annotations

import base64
import csv
import html
import io
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from hybridize.evaluate.paper_tables import Table
from hybridize.evaluate.store import write_table
from hybridize.evaluate.tables import render
from hybridize.guard import write_whole

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}
main {{ padding: 1rem 1.5rem; }}
.wide {{ overflow-x: auto; }}
.wide table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }}
.wide th, .wide td {{ padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: left; }}
.wide td.number {{ text-align: right; white-space: nowrap; }}
.wide details {{ display: inline-block; text-align: left; }}
.wide li {{ font-family: var(--mono); font-size: .8rem; }}
figure {{ margin: 1rem 0; max-width: 56rem; background: #fff; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
#: So many functions behind a cell are listed in the page; all of them are in `functions.csv`.
_LISTED: Final = 50


def write(tables: Sequence[Table], plots: Mapping[str, Path], title: str, out: Path) -> list[Path]:
    """Writes all forms of some tables below a folder, and gives the files."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for suffix, text in (("md", _text(table, "markdown")), ("tex", _text(table, "latex")), ("csv", _csv(table))):
            written.append(out / f"{table.name}.{suffix}")
            write_whole(written[-1], text.encode("utf-8", "backslashreplace"))
        written.append(out / f"{table.name}.parquet")
        write_table(_records(table), written[-1])
    written.append(out / "functions.csv")
    write_whole(written[-1], _functions(tables).encode("utf-8", "backslashreplace"))
    written.append(out / "tables.md")
    whole = "\n".join(f"## {table.title}\n\n{_text(table, 'markdown')}\n{table.note}\n" for table in tables)
    write_whole(written[-1], f"# {title}\n\n{whole}".encode("utf-8", "backslashreplace"))
    written.append(out / "index.html")
    write_whole(written[-1], page(tables, plots, title).encode("utf-8", "backslashreplace"))
    return written


def page(tables: Sequence[Table], plots: Mapping[str, Path], title: str) -> str:
    """One HTML document with all tables and plots (SVG files, by caption); it loads nothing."""
    style = (resources.files("hybridize.report.html") / "assets" / "page.css").read_text(encoding="utf-8")
    parts = [_section(table) for table in tables]
    for caption, file in plots.items():
        data = base64.b64encode(file.read_bytes()).decode("ascii")
        words = html.escape(caption)
        parts.append(
            f'<figure><img alt="{words}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{words}</figcaption></figure>"
        )
    return _PAGE.format(title=html.escape(title), style=style, body="\n".join(parts))


def _section(table: Table) -> str:
    heads = "".join(f'<th scope="col">{html.escape(column.title)}</th>' for column in table.columns)
    rows = []
    for row in table.rows:
        cells = []
        for column, value in zip(table.columns, row, strict=True):
            ids = table.members.get((table.name, str(row[0]), column.title), [])
            number = isinstance(value, (int, float))
            words = html.escape(
                render([column], [[value]], "text").splitlines()[1].strip() if number else str(value or "")
            )
            if ids and number:
                items = "".join(f"<li>{html.escape(id_)}</li>" for id_ in ids[:_LISTED])
                more = f"<li>… {len(ids) - _LISTED} more in functions.csv</li>" if len(ids) > _LISTED else ""
                words = f"<details><summary>{words}</summary><ul>{items}{more}</ul></details>"
            cells.append(f'<td class="number">{words}</td>' if number else f"<td>{words}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = f'<p class="sub">{html.escape(table.note)}</p>' if table.note else ""
    return (
        f'<section><h2>{html.escape(table.title)}</h2><div class="wide" tabindex="0" role="region" '
        f'aria-label="{html.escape(table.title)}"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{note}</section>"
    )


def _text(table: Table, style: str) -> str:
    return render(table.columns, table.rows, style)


def _records(table: Table) -> list[dict[str, object]]:
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.rows]


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.title for column in table.columns])
    writer.writerows(["" if value is None else value for value in row] for row in table.rows)
    return text.getvalue()


def _functions(tables: Sequence[Table]) -> str:
    """Which functions each cell counts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "row", "column", "project", "function"])
    for table in tables:
        for (name, row, column), ids in table.members.items():
            writer.writerows([name, row, column, *id_.split("::", 1)] for id_ in ids)
    return text.getvalue()
