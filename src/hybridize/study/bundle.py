"""A study as one archive to publish, and back: tables, figures, codebook, all rows with their history, checksums.

Raters and authors are pseudonyms, in columns and inside texts. Addresses of repositories, commits and threads stay:
without them nobody could check anything. The same study gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from hybridize import __version__
from hybridize.study import codebook_store, figures, schema, store, tables
from hybridize.study.tally import from_database

MAX_BYTES: Final = 4_000_000_000
MAX_MEMBERS: Final = 500
_MEMBER: Final = re.compile(r"(?:[a-z]+/)?[A-Za-z0-9_-]+(?:\.[a-z]+)?")
_SUMS: Final = "SHA256SUMS"
_LEFT_OUT: Final = ("response",)  # what the interface answered, people and all
_RATERS: Final = {("rater", "name"), ("rating", "rater"), ("reconciled", "reconciler"), ("code", "added_by")}
_AUTHORS: Final = {("changeset", "author"), ("issue", "author"), ("issue_comment", "author")}
_EXACT: Final = re.compile(
    r"(?:^|_)(?:id|sha|oid.*|url|project|name|head|item|path_before|path_after|at|etag|kind|state)$"
)
_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TRAILER: Final = re.compile(r"(?im)^(\s*[\w-]+-by:).*$")
_MENTION: Final = re.compile(r"(?<![\w.`/])@(?=[A-Za-z0-9-]*[A-Za-z0-9])[A-Za-z0-9-]+(?![\w.(/-])")
_FOLDER: Final = re.compile(r'"(?:/|[A-Za-z]:\\\\)(?:[^"]*[/\\])?([^"/\\]*)"')


class BundleError(Exception):
    """Nothing was made; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Citation:
    """What the citation file says."""

    title: str
    creators: tuple[str, ...]


class Pseudonyms:
    """Names of people -> "rater-1", "author-1"; numbered by a digest, so that the order tells nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.raters = self._of(connection, sorted(_RATERS), "rater")
        self.authors = self._of(connection, sorted(_AUTHORS), "author")
        self.initials = {
            row["initials"]: self.raters[row["name"]].replace("rater-", "R")
            for row in connection.execute("SELECT name, initials FROM rater")
        }
        both = self.authors | self.raters
        known = sorted((name for name in both if len(name) > 2), key=lambda name: (-len(name), name))
        self._both = both
        self._pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in known)) if known else None

    @staticmethod
    def _of(connection: sqlite3.Connection, columns: Iterable[tuple[str, str]], word: str) -> dict[str, str]:
        names = {
            row[0]
            for table, column in columns
            for row in connection.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        }
        ordered = sorted(names, key=lambda name: hashlib.sha256(name.encode("utf-8", "replace")).digest())
        return {name: f"{word}-{number}" for number, name in enumerate(ordered, 1)}

    def value(self, table: str, column: str, value: Any) -> Any:
        """A cell as it may be published."""
        if value is None or isinstance(value, int | float):
            return value
        if (table, column) in _RATERS:
            return self.raters[value]
        if (table, column) in _AUTHORS:
            return self.authors[value]
        if (table, column) == ("rater", "initials"):
            return self.initials[value]
        if (table, column) == ("repository", "path"):
            return ""
        if isinstance(value, bytes):
            text = zlib.decompress(value).decode("utf-8", "replace")
            return {"text": self.text(text, mentions=False)}
        if table == "provenance" and column.endswith("_json"):
            return self.text(_FOLDER.sub(r'"\1"', value))
        return value if _EXACT.search(column) else self.text(value)

    def text(self, text: str, *, mentions: bool = True) -> str:
        """A text without the names that we know, addresses of mail, signatures and (not in code) mentions."""
        text = _TRAILER.sub(r"\1 somebody", text)
        if self._pattern:
            text = self._pattern.sub(lambda found: self._both[found[0]], text)
        text = _MAIL.sub("somebody@example.invalid", text)
        # In texts `@tf.function` and the like are code: a mention has no period, and is no name of the language.
        return _MENTION.sub("@somebody", text) if mentions else text


def make(connection: sqlite3.Connection, target: Path, citation: Citation, pictures: bool = True) -> list[str]:
    """Write the archive; says what is in it.

    Raises:
        BundleError: the file can't be written, or a library is missing.
    """
    members = _members(connection, citation, pictures)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(members.items()))
    members[_SUMS] = sums.encode()
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in sorted(members.items()):
                info = zipfile.ZipInfo(name)  # of 1980: the same study, the same bytes
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, data)
    except OSError as error:
        raise BundleError(f"cannot write {target}: {error.strerror or error}") from error
    return sorted(members)


def _members(connection: sqlite3.Connection, citation: Citation, pictures: bool) -> dict[str, bytes]:
    names = Pseudonyms(connection)
    counts = from_database(connection)
    members: dict[str, bytes] = {}
    for table in tables.all_tables(counts):
        for form, ending in tables.FORMATS.items():
            if form != "html":
                members[f"tables/{table.name}{ending}"] = names.text(tables.write(table, form)).encode()
    if pictures:
        try:
            for figure in figures.all_figures(counts):
                for form in ("pdf", "svg", "png"):
                    members[f"figures/{figure.name}.{form}"] = figures.render(figure, form)
        except figures.MissingMatplotlib as error:
            raise BundleError(str(error)) from error
    book = asdict(codebook_store.read(connection))
    members["codebook.json"] = (names.text(json.dumps(book, indent=1, sort_keys=True)) + "\n").encode()
    rows: dict[str, int] = {}
    for table_name in _tables(connection):
        lines = list(_dump(connection, table_name, names.value))
        rows[table_name] = len(lines)
        members[f"data/{table_name}.jsonl"] = "".join(lines).encode()
    last = connection.execute("SELECT max(at) FROM provenance").fetchone()[0]
    manifest = {
        "version": 1, "schema": len(schema.MIGRATIONS), "rows": rows, "last_change": last,
        "hybridize": __version__, "python": platform.python_version(), "git": store.git_version(),
    }  # fmt: skip
    members["manifest.json"] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    members["README.md"] = _readme(citation, rows).encode()
    members["CITATION.cff"] = _cff(citation, str(last or "")[:10]).encode()
    return members


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(row[0] for row in found if row[0] not in _LEFT_OUT)


def _dump(connection: sqlite3.Connection, table: str, shown: Callable[[str, str, Any], Any]) -> Iterable[str]:
    for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1"):
        yield json.dumps({name: shown(table, name, row[name]) for name in row.keys()}) + "\n"  # noqa: SIM118


def _readme(citation: Citation, rows: dict[str, int]) -> str:
    lines = "\n".join(f"| `data/{name}.jsonl` | {number} |" for name, number in rows.items())
    return f"""# {citation.title}

An empirical study of hybridization, made by `hybridize study` {__version__}.

- `tables/`: the tables and findings, as Markdown, LaTeX and CSV; `figures/`: the figures, as PDF, SVG and PNG.
- `codebook.json`: the names that raters chose from, with definitions.
- `data/`: everything that was mined, rated and reconciled, one JSON object a line. `rating_event` is the
  history of each rating; `provenance` says which command ran when, with which options and versions, on which commits,
  and what was searched for.
- `manifest.json`: versions; `{_SUMS}`: checksums (`sha256sum -c {_SUMS}`).

| file | rows |
|---|---:|
{lines}

`hybridize study bundle --open FILE --out study.db` makes a study of it again.

People are pseudonyms ("rater-1", "author-1"), also inside texts as far as their names are known to the study;
signatures, mail addresses and mentions are taken out. Repositories, commits and threads keep their addresses,
and who follows them finds their authors. The rights in mined code and texts are their authors'.
"""


def _cff(citation: Citation, released: str) -> str:
    people = "".join(f"  - name: {json.dumps(name)}\n" for name in citation.creators or ("The authors of the study",))
    when = f'date-released: "{released}"\n' if released else ""
    return (
        "cff-version: 1.2.0\nmessage: If you use these data, please cite them.\ntype: dataset\n"
        f"title: {json.dumps(citation.title)}\nauthors:\n{people}{when}"
    )


def open_bundle(source: Path, target: Path, max_bytes: int = MAX_BYTES) -> dict[str, int]:
    """Make a database of an archive; says how many rows each table has. Nothing of it is written anywhere else.

    Raises:
        BundleError: it is no such archive, was changed, is too large, or the target is there already.
    """
    if target.exists():
        raise BundleError(f"{target} is there already")
    try:
        members = _read(source, max_bytes)
        manifest = json.loads(members["manifest.json"])
        version = int(manifest["schema"])
    except (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, NotImplementedError) as error:
        raise BundleError(f"{source} is no bundle of a study: {error}") from error
    if not 1 <= version <= len(schema.MIGRATIONS):
        raise BundleError(f"{source} has version {version}; this tool knows {len(schema.MIGRATIONS)}: update hybridize")
    try:
        with closing(schema.create(target, version)) as connection, store.transaction(connection):
            rows = {name: _load(connection, name, members) for name in _tables(connection)}
            broken = connection.execute("PRAGMA foreign_key_check").fetchone()
            if broken:
                raise BundleError(f"{source}: a row of {broken[0]} names one of {broken[2]} that is not there")
        store.connect(target, create=False).close()
    except (sqlite3.Error, ValueError, TypeError, KeyError, AttributeError) as error:
        _remove(target)
        raise BundleError(f"{source}: its data do not fit: {error}") from error
    except BaseException:
        _remove(target)
        raise
    return rows


def _remove(target: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{target}{ending}").unlink(missing_ok=True)


def _read(source: Path, max_bytes: int) -> dict[str, bytes]:
    """The members, each against its checksum; what does not look like ours is refused before it is unpacked."""
    with zipfile.ZipFile(source) as archive:
        infos = archive.infolist()
        for info in infos:
            if not _MEMBER.fullmatch(info.filename):
                raise BundleError(f"{source}: {info.filename!r} is no name of a bundle's file")
        if len(infos) > MAX_MEMBERS or len({info.filename for info in infos}) != len(infos):
            raise BundleError(f"{source}: too many files, or one twice")
        if sum(info.file_size for info in infos) > max_bytes:
            raise BundleError(f"{source}: unpacks to more than {max_bytes} bytes; --max-bytes allows more")
        members = {info.filename: archive.read(info) for info in infos}
    sums = dict(line.split("  ", 1)[::-1] for line in members[_SUMS].decode().splitlines())
    for name, data in members.items():
        if name != _SUMS and sums.get(name) != hashlib.sha256(data).hexdigest():
            raise BundleError(f"{source}: {name} was changed: its checksum differs")
    for name in sums:
        if name not in members:
            raise BundleError(f"{source}: {name} is missing")
    return members


def _load(connection: sqlite3.Connection, table: str, members: dict[str, bytes]) -> int:
    columns = [row["name"] for row in connection.execute(f"PRAGMA table_info({table})")]
    rows = []
    for line in members[f"data/{table}.jsonl"].decode().splitlines():
        row = json.loads(line)
        if set(row) != set(columns):
            raise BundleError(f"data/{table}.jsonl: other columns than {', '.join(columns)}")
        rows.append([_cell(row[name]) for name in columns])
    marks = ", ".join("?" * len(columns))
    connection.execute(f"DELETE FROM {table}")
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
    return len(rows)


def _cell(value: Any) -> Any:
    return zlib.compress(value["text"].encode("utf-8", "replace")) if isinstance(value, dict) else value
