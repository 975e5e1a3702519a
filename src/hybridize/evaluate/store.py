"""Results of an evaluation on disk, known by all that they rest on: of analyses a Parquet file each, others as JSON.

What is there under the key that it would get is not made again, so that a run that was cut off goes on where it was.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hybridize.evaluate.analyzing import Row
from hybridize.evaluate.execution.model import Outcome
from hybridize.guard import write_whole

#: The entry of a file's metadata that holds all but the rows.
_ENTRY: Final = b"hybridize"


class MissingError(Exception):
    """A package is missing that evaluations need; the text is one line."""


@dataclass(frozen=True, slots=True)
class Result:
    """What is known of a project under a variant: rows, findings, measures, where they come from; or the failure."""

    project: str
    variant: str
    rows: tuple[Row, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    errors: tuple[tuple[str, int, str], ...] = ()
    measures: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] | None = None
    failure: str = ""
    """Why there are no rows; empty where there are."""


class Pieces:
    """Results that are JSON, below a folder: a file for each, known by a key that says all that it rests on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "results"

    def get(self, key: str) -> Any:
        """What is there; None if nothing is, or the file is damaged."""
        try:
            return json.loads((self._folder / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Keeps it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{key}.json", json.dumps(value).encode())


class Store:
    """The results of analyses below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "results"
        self._arrow, self._parquet = libraries()

    def get(self, project: str, variant: str, key: str) -> Result | None:
        """What was found, if it rests on the same; None else, or where the file is damaged."""
        try:
            table = self._parquet.read_table(self._place(project, variant))
            entry = json.loads(table.schema.metadata[_ENTRY])
            if entry["key"] != key:
                return None
            rows = tuple(_row(each) for each in table.to_pylist())
        except (OSError, KeyError, TypeError, ValueError, self._arrow.ArrowException):
            return None
        return Result(
            project,
            variant,
            rows,
            tuple(entry["findings"]),
            tuple((path, line, text) for path, line, text in entry["errors"]),
            entry["measures"],
            entry["provenance"],
        )

    def put(self, project: str, variant: str, key: str, outcome: Outcome, more: Mapping[str, Any]) -> Result:
        """Keeps what a task has found; `more` is added to its provenance. A failure is not kept: it is tried again."""
        if outcome.value is None:
            return Result(project, variant, failure=f"{outcome.ending.value}: {outcome.error}")
        run = {
            "peak_memory": outcome.peak,
            "task_seconds": outcome.seconds,
            "attempts": outcome.attempts,
            "worker": outcome.worker,
        }
        entry = {name: outcome.value[name] for name in ("findings", "errors", "assumptions", "measures")}
        entry |= {"key": key, "provenance": {**outcome.value["provenance"], **more, **run}}
        table = self._arrow.Table.from_pylist(outcome.value["functions"], schema=_schema(self._arrow))
        table = table.replace_schema_metadata({_ENTRY: json.dumps(entry)})
        place = self._place(project, variant)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = io.BytesIO()
        self._parquet.write_table(table, data)
        write_whole(place, data.getvalue())
        found = self.get(project, variant, key)
        assert found is not None
        return found

    def _place(self, project: str, variant: str) -> Path:
        return self._folder / variant / f"{project}.parquet"


def write_table(rows: list[dict[str, Any]], file: Path) -> None:
    """Writes rows of a table as Parquet."""
    arrow, parquet = libraries()
    parquet.write_table(arrow.Table.from_pylist(rows), file)


def _row(data: dict[str, Any]) -> Row:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return Row(**values)


def _schema(arrow: Any) -> Any:
    kinds = {
        "str": arrow.string(),
        "int": arrow.int64(),
        "bool": arrow.bool_(),
        "tuple[str, ...]": arrow.list_(arrow.string()),
    }
    kinds |= {"float | None": arrow.float64(), "bool | None": arrow.bool_()}
    return arrow.schema([(name, kinds[Row.__annotations__[name]]) for name in Row.__slots__])


def libraries() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`; raises MissingError."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingError("evaluate needs pyarrow: pip install 'hybridize[evaluate]'") from None
    return pyarrow, pyarrow.parquet
