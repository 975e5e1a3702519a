"""What the room `source` hands to the rooms below it."""

from bisect import bisect_right
from pathlib import Path

from hybridize.records import dataclass


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file to analyze, not yet read.

    `path` is absolute. `relative` is the same file seen from the root of the project, with `/` on every system; it is
    what reports print. `explicit` says that the user named this very file.
    """

    path: str
    relative: str
    explicit: bool = False

    @property
    def is_notebook(self) -> bool:
        """Whether the file holds a Jupyter notebook."""
        return self.relative.endswith(".ipynb")


@dataclass(frozen=True, slots=True)
class SourceError:
    """Why a file or folder could not be used: one line of text.

    `path` is relative to the root of the project. `line` counts from 1, and is 1 where the file as a whole is meant.
    """

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a project, ordered by `relative`.

    `missing` holds the given paths that do not exist: mistakes in the command, not in the project.
    """

    root: Path
    files: tuple[FileRef, ...]
    errors: tuple[SourceError, ...] = ()
    missing: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell of a notebook.

    `index` is its place among all cells of the notebook, from 0; `first_line` the line of the module's text where it
    starts, from 1; `source` its text before anything was masked; `masked` the lines of the cell, from 1, that are no
    Python.
    """

    index: int
    id: str | None
    first_line: int
    line_count: int
    source: str
    masked: frozenset[int]


@dataclass(frozen=True, slots=True)
class CellMap:
    """Which lines of a notebook's text are which lines of which cell."""

    cells: tuple[Cell, ...]
    starts: tuple[int, ...]

    def locate(self, line: int) -> tuple[Cell, int]:
        """The cell that holds a line of the text, and the line in that cell, both lines from 1.

        Raises `LookupError` for a line that is in no cell.
        """
        place = bisect_right(self.starts, line) - 1
        if place >= 0:
            cell = self.cells[place]
            if line < cell.first_line + cell.line_count:
                return cell, line - cell.first_line + 1
        raise LookupError(f"line {line} is in no cell")

    def line_of(self, index: int, line: int) -> int:
        """The line of the text for a line of the cell with this `index`; raises `LookupError` where there is none."""
        for cell in self.cells:
            if cell.index == index and 1 <= line <= cell.line_count:
                return cell.first_line + line - 1
        raise LookupError(f"cell {index} has no line {line}")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text and all that is needed to write it back byte for byte.

    `text` has no byte order mark and keeps its line ends. For a notebook it is the Python of the code cells, one
    after the other, `data` is the JSON, and `problems` names the cells that were left out because they are no Python.
    `encoding` is a codec's name; `newline` the line end most used (`"\\n"` for a text of one line).
    """

    ref: FileRef
    data: bytes
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    cells: CellMap | None = None
    problems: tuple[SourceError, ...] = ()
