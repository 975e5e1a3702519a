"""Where hybridize itself fails: that costs one function its change, and is said; it never ends a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hybridize.decide.documentation import status_of
from hybridize.decide.model import FileError, FunctionReport
from hybridize.program.ir import Code

_T = TypeVar("_T")


class Mistakes:
    """What went wrong so far, as `errors` of the report; `each` is called before each function."""

    def __init__(self, each: Callable[[], None] = lambda: None) -> None:
        self.errors: list[FileError] = []
        self._each = each

    def spare(self, code: Code, make: Callable[[], _T]) -> _T | None:
        """What `make` finds of a function; None where it fails."""
        self._each()
        try:
            return make()
        except Exception as error:
            said = f"hybridize failed on `{code.qualname}` ({type(error).__name__}: {error}), and leaves it as it is"
            found = FileError(code.path, code.line, f"{said}: please report this")
            if found not in self.errors:  # the plan may be made several times
                self.errors.append(found)
            return None

    def changed(self, code: Code, report: FunctionReport, make: Callable[[], FunctionReport]) -> FunctionReport:
        """The report that a later step makes of one; where it fails the function is left as it is."""
        made = self.spare(code, make)
        if made is None:
            return report.kept(status_of(report.facts, "failed", "hybridize failed to decide this: please report it"))
        return made
