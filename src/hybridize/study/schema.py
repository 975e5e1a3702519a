"""The study's one database file: tables, versioned migrations, and how it is opened.

Everything the study knows is in one SQLite file. Two processes may write to it at once: the file is in WAL mode, every
write is a short immediate transaction, and a writer waits for the other instead of failing.

Times are ISO 8601 texts in UTC (`2021-01-14T09:30:00Z`). Booleans are 0 and 1. JSON columns end in `_json`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

BUSY_TIMEOUT_MS: Final = 30_000

_VERSION_1: Final = """
CREATE TABLE repository (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,              -- "owner/name" where known, else the folder's name
    path TEXT NOT NULL,                     -- where the clone was when it was mined
    url TEXT,                               -- web address of the repository, for links; null if unknown
    head TEXT,                              -- commit that HEAD named when it was mined
    commits INTEGER,                        -- commits without merges, within the period
    candidates INTEGER,                     -- those that git named as touching the keyword
    state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'started', 'done', 'failed')),
    options_json TEXT NOT NULL DEFAULT '{}',-- what it was mined with; other options mine it again
    error TEXT,
    mined_at TEXT
);

CREATE TABLE changeset (                    -- a commit that adds or removes a use
    id INTEGER PRIMARY KEY,
    repository_id INTEGER NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    sha TEXT NOT NULL,
    author TEXT NOT NULL,
    authored_at TEXT NOT NULL,
    committed_at TEXT NOT NULL DEFAULT '',  -- orders a history: re-added means removed before
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    is_bug_fix INTEGER NOT NULL CHECK (is_bug_fix IN (0, 1)),   -- by the paper's filter on subject and body
    touches_use INTEGER NOT NULL CHECK (touches_use IN (0, 1)), -- 0: the keyword only in text, comments or strings
    uses_added INTEGER NOT NULL DEFAULT 0,
    uses_removed INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL CHECK (state IN ('done', 'partial', 'failed')),  -- partial: some file could not be read
    error TEXT,
    UNIQUE (repository_id, sha)
);
CREATE INDEX changeset_sha ON changeset (sha);

CREATE TABLE source_text (                  -- file contents, once per content
    oid TEXT PRIMARY KEY,                   -- git's object name
    text BLOB NOT NULL                      -- zlib-compressed UTF-8
);

CREATE TABLE file_change (
    id INTEGER PRIMARY KEY,
    changeset_id INTEGER NOT NULL REFERENCES changeset (id) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('A', 'C', 'D', 'M', 'R', 'T')),  -- as git names them
    path_before TEXT,                       -- null: the file is new
    path_after TEXT,                        -- null: the file is gone
    oid_before TEXT,                        -- into source_text; there only if the file has the keyword on either side
    oid_after TEXT,
    is_test INTEGER NOT NULL CHECK (is_test IN (0, 1)),          -- "test" in the file's name, as the paper's miner does
    method TEXT NOT NULL CHECK (method IN ('tree', 'tokens', 'text', 'unread'))  -- how uses were found
);
CREATE INDEX file_change_changeset ON file_change (changeset_id);

CREATE TABLE change (                       -- a function (or module top level) whose uses changed
    id INTEGER PRIMARY KEY,
    file_change_id INTEGER NOT NULL REFERENCES file_change (id) ON DELETE CASCADE,
    qualname TEXT NOT NULL,                 -- "Class.method"; "<module>" for the top level
    qualname_before TEXT,                   -- null: the function is new
    qualname_after TEXT,                    -- null: the function is gone
    uses_added INTEGER NOT NULL DEFAULT 0,
    uses_removed INTEGER NOT NULL DEFAULT 0,
    uses_before_json TEXT NOT NULL DEFAULT '[]',   -- source texts of the uses
    uses_after_json TEXT NOT NULL DEFAULT '[]',
    line_before INTEGER, end_line_before INTEGER,  -- decorators included; lines count from 1
    line_after INTEGER, end_line_after INTEGER
);
CREATE INDEX change_file_change ON change (file_change_id);

CREATE TABLE issue (                        -- an issue thread (pull requests count as issues)
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,                   -- the file it came from
    project TEXT NOT NULL,                  -- "owner/name"
    number INTEGER,
    url TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    author TEXT,
    state TEXT,
    is_pull_request INTEGER NOT NULL DEFAULT 0 CHECK (is_pull_request IN (0, 1)),
    labels_json TEXT NOT NULL DEFAULT '[]',
    created_at TEXT,
    closed_at TEXT,
    has_keyword INTEGER NOT NULL CHECK (has_keyword IN (0, 1)), -- the literal, with its period
    has_code INTEGER NOT NULL CHECK (has_code IN (0, 1)),
    sampled INTEGER                         -- place in the draw, from 1; negative: beyond its size
);

CREATE TABLE issue_comment (
    id INTEGER PRIMARY KEY,
    issue_id INTEGER NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,              -- from 1, in the thread's order
    author TEXT,
    created_at TEXT,
    body TEXT NOT NULL,
    is_social INTEGER NOT NULL DEFAULT 0 CHECK (is_social IN (0, 1)),
    UNIQUE (issue_id, position)
);

CREATE TABLE item (                         -- what is rated: a changeset or an issue thread
    id TEXT PRIMARY KEY,                    -- "commit:<sha>" or "issue:<url>": stable over databases
    kind TEXT NOT NULL CHECK (kind IN ('commit', 'issue')),
    changeset_id INTEGER REFERENCES changeset (id) ON DELETE CASCADE,
    issue_id INTEGER REFERENCES issue (id) ON DELETE CASCADE,
    project TEXT NOT NULL,
    title TEXT NOT NULL,
    happened_at TEXT,                       -- when authored or opened
    selected INTEGER NOT NULL DEFAULT 1 CHECK (selected IN (0, 1)),  -- 0: left out by filter or sample
    round TEXT,                             -- null: not yet given to a round
    dataset TEXT NOT NULL DEFAULT '',
    queue_position INTEGER,                 -- order within the round; ties by id
    CHECK ((kind = 'commit') = (changeset_id IS NOT NULL)),
    CHECK ((kind = 'issue') = (issue_id IS NOT NULL))
);
CREATE INDEX item_round ON item (round, queue_position);

CREATE TABLE suggestion (                   -- a pre-fill; never counted as a rating
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL REFERENCES item (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('add_decorator', 'remove_decorator', 'change_argument', 'add_signature',
                                       'relocate', 're_add', 'upgrade_library', 'other')),
    is_primary INTEGER NOT NULL CHECK (is_primary IN (0, 1)),
    evidence_json TEXT NOT NULL,            -- [{"message", "path", "line"}]
    rules_json TEXT NOT NULL DEFAULT '[]',  -- codes of rules that fire before and not after
    category TEXT,                          -- the likely problem category, by those rules
    tool_version TEXT NOT NULL,
    UNIQUE (item, kind)
);

CREATE TABLE codebook (
    version INTEGER PRIMARY KEY,
    source TEXT NOT NULL,                   -- "built-in" or the file's name
    loaded_at TEXT NOT NULL
);

CREATE TABLE code (                         -- one name of the codebook
    id INTEGER PRIMARY KEY,
    facet TEXT NOT NULL CHECK (facet IN ('category', 'cause', 'symptom', 'fix')),
    name TEXT NOT NULL,
    abbreviation TEXT,
    definition TEXT NOT NULL DEFAULT '',
    parent_id INTEGER REFERENCES code (id),
    is_abstract INTEGER NOT NULL DEFAULT 0 CHECK (is_abstract IN (0, 1)),  -- groups others, is never chosen
    position INTEGER NOT NULL DEFAULT 0,    -- order in menus
    added_by TEXT,                          -- rater who typed it in; null: from the codebook
    codebook_version INTEGER NOT NULL REFERENCES codebook (version),
    retired INTEGER NOT NULL DEFAULT 0 CHECK (retired IN (0, 1)),
    UNIQUE (facet, name)
);

CREATE TABLE rater (
    name TEXT PRIMARY KEY,
    initials TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL DEFAULT 'rater' CHECK (role IN ('rater', 'reconciler', 'admin')),
    created_at TEXT NOT NULL
);

CREATE TABLE rating (
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL REFERENCES item (id),
    rater TEXT NOT NULL REFERENCES rater (name),
    round TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'submitted')),  -- a draft is never counted
    is_fix INTEGER CHECK (is_fix IN (0, 1)),
    category_id INTEGER REFERENCES code (id),
    cause_id INTEGER REFERENCES code (id),
    symptom_id INTEGER REFERENCES code (id),
    fix_id INTEGER REFERENCES code (id),
    comment TEXT NOT NULL DEFAULT '',
    category_comment TEXT NOT NULL DEFAULT '',
    cause_comment TEXT NOT NULL DEFAULT '',
    symptom_comment TEXT NOT NULL DEFAULT '',
    fix_comment TEXT NOT NULL DEFAULT '',
    discuss INTEGER NOT NULL DEFAULT 0 CHECK (discuss IN (0, 1)),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1,    -- for optimistic locking: two tabs of one rater
    UNIQUE (item, rater, round)
);
CREATE INDEX rating_rater ON rating (rater, round);

CREATE TABLE rating_event (                 -- append-only: undo, and what a crash must not lose
    id INTEGER PRIMARY KEY,
    rating_id INTEGER NOT NULL REFERENCES rating (id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    before_json TEXT NOT NULL,
    after_json TEXT NOT NULL
);

CREATE TABLE reconciled (                   -- the final rows; an item may have several
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL REFERENCES item (id),
    position INTEGER NOT NULL DEFAULT 1,
    is_fix INTEGER NOT NULL CHECK (is_fix IN (0, 1)),
    category_id INTEGER REFERENCES code (id),
    cause_id INTEGER REFERENCES code (id),
    symptom_id INTEGER REFERENCES code (id),
    fix_id INTEGER REFERENCES code (id),
    comment TEXT NOT NULL DEFAULT '',
    reconciler TEXT NOT NULL REFERENCES rater (name),
    updated_at TEXT NOT NULL,
    UNIQUE (item, position)
);

CREATE TABLE provenance (                   -- one row per command that wrote
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    command TEXT NOT NULL,
    options_json TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    python_version TEXT NOT NULL,
    git_version TEXT,
    heads_json TEXT NOT NULL DEFAULT '{}'   -- repository name -> commit of HEAD
);

CREATE VIEW rating_named AS                 -- ratings with names instead of numbers
SELECT r.id, r.item, r.rater, r.round, r.state, r.is_fix, c.name AS category, a.name AS cause, s.name AS symptom,
       f.name AS fix, r.comment, r.category_comment, r.cause_comment, r.symptom_comment, r.fix_comment, r.discuss,
       r.created_at, r.updated_at, i.kind, i.project
FROM rating r JOIN item i ON i.id = r.item
LEFT JOIN code c ON c.id = r.category_id LEFT JOIN code a ON a.id = r.cause_id
LEFT JOIN code s ON s.id = r.symptom_id LEFT JOIN code f ON f.id = r.fix_id;

CREATE VIEW reconciled_named AS
SELECT r.id, r.item, r.position, r.is_fix, c.name AS category, a.name AS cause, s.name AS symptom, f.name AS fix,
       r.comment, r.reconciler, r.updated_at, i.kind, i.project
FROM reconciled r JOIN item i ON i.id = r.item
LEFT JOIN code c ON c.id = r.category_id LEFT JOIN code a ON a.id = r.cause_id
LEFT JOIN code s ON s.id = r.symptom_id LEFT JOIN code f ON f.id = r.fix_id;
"""

_VERSION_2: Final = """
-- Makers of hybrid functions that the file imports from its project: [[local name, [[argument, source], ...]], ...]
ALTER TABLE file_change ADD COLUMN outside_before_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE file_change ADD COLUMN outside_after_json TEXT NOT NULL DEFAULT '[]';
"""

_VERSION_3: Final = """
CREATE TABLE mined_set (                    -- one row: what every changeset of this file was mined with
    id INTEGER PRIMARY KEY CHECK (id = 1),
    profile_json TEXT NOT NULL,
    options_json TEXT,                      -- null: nothing was mined yet
    all_changes INTEGER NOT NULL DEFAULT 0 CHECK (all_changes IN (0, 1))
);
-- Of a history that is being mined: [what was listed, commits of that list that are done, the last of them, candidates]
ALTER TABLE repository ADD COLUMN resume_json TEXT;
CREATE TABLE issue_read (                   -- every thread that was looked at, with the keyword or without
    url TEXT PRIMARY KEY
);
INSERT INTO issue_read SELECT url FROM issue;
-- 1: the filters keep it, so that a sample may draw it; what is in the sample, `item.selected` says
ALTER TABLE issue ADD COLUMN eligible INTEGER NOT NULL DEFAULT 0;
UPDATE issue SET eligible = sampled IS NOT NULL
    OR EXISTS (SELECT 1 FROM item WHERE item.issue_id = issue.id AND item.selected);
CREATE TABLE response (                     -- what an API answered: for conditional requests, to tell what was asked
    url TEXT PRIMARY KEY,
    etag TEXT,
    next_url TEXT,
    at TEXT NOT NULL,
    body BLOB NOT NULL                      -- zlib-compressed JSON
);
"""

_VERSION_4: Final = """
ALTER TABLE suggestion ADD COLUMN confidence REAL;  -- how likely a rater would name this kind, 0 to 1
"""

MIGRATIONS: Final[tuple[str, ...]] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4)
"""Script `i` takes a database from version `i` to `i + 1`. Append only; a released script never changes."""


class DatabaseError(Exception):
    """The file is no study database, or a newer tool wrote it. The message is one line for the user."""


def connect(path: str | Path, *, create: bool = True) -> sqlite3.Connection:
    """Open (and by default create) a study database and bring it to the newest version.

    Rows are `sqlite3.Row`. The connection is in autocommit mode; wrap writes in `transaction`.

    Raises:
        DatabaseError: the file is missing and `create` is false, is no study database, or is newer than this tool.
    """
    if not create and not Path(path).is_file():
        raise DatabaseError(f"no study database at {path}")
    try:
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot open {path}: {error}") from error
    connection.row_factory = sqlite3.Row
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA foreign_keys = ON")
        if str(path) != ":memory:":
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        _migrate(connection, str(path))
    except sqlite3.DatabaseError as error:
        connection.close()
        raise DatabaseError(f"{path} is not a study database: {error}") from error
    except DatabaseError:
        connection.close()
        raise
    return connection


def create(path: Path, version: int) -> sqlite3.Connection:
    """A new database at an older version, without checks of references: for who fills in what was written then."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    with transaction(connection):
        for script in MIGRATIONS[:version]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version}")
    return connection


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """Run the scripts that the file has not seen, each in one transaction, safe against a second opener."""
    if _version(connection) == len(MIGRATIONS):
        return
    with transaction(connection):
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise DatabaseError(f"{path} has version {version}; this tool knows {len(MIGRATIONS)}: update hybridize")
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise DatabaseError(f"{path} is a database of something else")
        for script in MIGRATIONS[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """Single statements: `executescript` would commit the surrounding transaction."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One immediate transaction: it takes the write lock at once, so that it can't deadlock with another writer.

    Inside another transaction it joins that one.
    """
    if connection.in_transaction:
        yield connection
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
