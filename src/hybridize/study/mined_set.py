"""What a database was mined with: one profile and one set of options, so that no count mixes two."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime

from hybridize.study import profile as profiles
from hybridize.study.profile import Profile

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class SetError(ValueError):
    """The command does not go with what the database was mined with; one line that says what to do."""


def profile_of(connection: sqlite3.Connection) -> Profile | None:
    """The profile that the database is tied to, or null if it is still free."""
    row = connection.execute("SELECT profile_json FROM mined_set").fetchone()
    if row is not None:
        return Profile.from_json(row[0])
    # A file that an earlier version mined: each repository says with which keyword.
    old = connection.execute("SELECT options_json FROM repository WHERE options_json != '{}' LIMIT 1").fetchone()
    return None if old is None else profiles.for_keyword(json.loads(old[0]).get("keyword", "tf.function"))


def tie(connection: sqlite3.Connection, profile: Profile) -> None:
    """Tie the database to a profile, unless it is.

    Raises:
        SetError: it is tied to another one.
    """
    present = profile_of(connection)
    if present is not None and present != profile:
        other = f"profile {present.name} ({present.keyword})"
        if present.name == profile.name:
            other = f"another version of profile {present.name}"
        raise SetError(f"this database holds a study of {other}: give a new file for {profile.keyword}")
    connection.execute(
        "INSERT INTO mined_set (id, profile_json) VALUES (1, ?) ON CONFLICT DO NOTHING", (profile.as_json(),)
    )


def tie_options(connection: sqlite3.Connection, identity: str, all_changes: bool) -> None:
    """Tie the database to the options that decide which changesets are found; select all of them if asked to.

    Raises:
        SetError: it was mined with other options.
    """
    row = connection.execute("SELECT options_json, all_changes FROM mined_set").fetchone()
    if row["options_json"] is None:
        if connection.execute("SELECT 1 FROM changeset LIMIT 1").fetchone():
            raise SetError("an earlier version of hybridize mined this database: give a new file to --out")
        connection.execute("UPDATE mined_set SET options_json = ?, all_changes = ?", (identity, int(all_changes)))
        return
    if row["options_json"] != identity:
        old, new = json.loads(row["options_json"]), json.loads(identity)
        was = ", ".join(_said(key, old.get(key)) for key in sorted({*old, *new}) if old.get(key) != new.get(key))
        raise SetError(f"this database was mined with {was}: give the same again, or a new file to --out")
    if row["all_changes"] and not all_changes:
        raise SetError("this database was mined with --all-changes: give it again, or a new file to --out")
    if all_changes and not row["all_changes"]:
        connection.execute("UPDATE item SET selected = 1 WHERE kind = 'commit'")
        connection.execute("UPDATE mined_set SET all_changes = 1")


def _said(key: str, value: object) -> str:
    option = f"--{key.replace('_', '-')}"
    if isinstance(value, str):
        return f"{option} {value}"
    return option if value else f"no {option}"


def moment(text: str, *, end: bool) -> str:
    """A date or time as git takes it without guessing: a bare date is that whole day, in UTC.

    Raises:
        ValueError: it is neither `YYYY-MM-DD` nor an ISO 8601 time.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"not a date: {text!r}; write YYYY-MM-DD, or YYYY-MM-DDTHH:MM:SSZ") from None
    if _DATE.fullmatch(text) and end:
        found = found.replace(hour=23, minute=59, second=59)
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")
