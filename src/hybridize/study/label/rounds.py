"""Rounds: which items are rated together, in a random order that a seed fixes."""

from __future__ import annotations

import random
import sqlite3

from hybridize.study.label.ratings import Refused
from hybridize.study.store import DatabaseError, transaction


def check(connection: sqlite3.Connection, name: str | None) -> None:
    """See that a round that somebody names is there; null names none.

    Raises:
        DatabaseError: it is not; the message says which there are.
    """
    known = {
        row[0]
        for row in connection.execute(
            "SELECT round FROM item WHERE round IS NOT NULL UNION SELECT round FROM rating WHERE round IS NOT NULL"
        )
    }
    if name is not None and name not in known:
        raise DatabaseError(f"there is no round {name!r}; there are {', '.join(sorted(known - {''})) or 'none'}")


def make_round(connection: sqlite3.Connection, name: str, size: int | None = None, seed: int = 0) -> int:
    """Give selected items that are in no round yet, drawn at random, to a round; returns how many.

    Args:
        connection: the study database.
        name: the round; it may exist, the items then come after those that it has.
        size: how many at most; null: all.
        seed: the same seed draws the same items in the same order.

    Raises:
        Refused: the name is empty or no single line, or the size is negative.
    """
    if not name.strip() or not name.isprintable():
        raise Refused("A round's name is one line of printable characters.")
    if size is not None and size < 0:
        raise Refused("A round's size can't be negative.")
    with transaction(connection):
        # Items that somebody has rated without a round stay there: a rating belongs to the round it was given in.
        free = [
            row[0]
            for row in connection.execute(
                "SELECT id FROM item WHERE selected = 1 AND round IS NULL"
                " AND id NOT IN (SELECT item FROM rating) ORDER BY id"
            )
        ]
        drawn = random.Random(seed).sample(free, len(free) if size is None else min(size, len(free)))
        last = connection.execute("SELECT max(queue_position) FROM item WHERE round = ?", (name,)).fetchone()[0] or 0
        connection.executemany(
            "UPDATE item SET round = ?, queue_position = ? WHERE id = ?",
            [(name, last + place, item) for place, item in enumerate(drawn, 1)],
        )
    return len(drawn)
