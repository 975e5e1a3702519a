"""Finds the functions that a person means by a name or a place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from hybridize.decide.model import FunctionReport, Report
from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.report.paths import Places, relative_to_root

_PLACE = regex(r"(?P<path>.+?)(?::(?:cell (?P<cell>\d+):)?(?P<line>\d+)(?::\d+)?)?$", re.DOTALL)


#: So many functions of one name are listed.
_MOST_MATCHES = 20


class TargetError(LookupError):
    """A target means no function, or a name several; the text says which, or what was perhaps meant."""


@dataclass(frozen=True, slots=True)
class Target:
    """What an argument of `explain` means: a name, or a file and maybe a line (from 1) in it or in a cell of it."""

    text: str
    path: str | None = None
    line: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The functions meant, best first; `suggestions` where there is none."""

    functions: tuple[FunctionReport, ...] = ()
    suggestions: tuple[str, ...] = ()


def parse_target(text: str, is_file: Callable[[str], bool] = os.path.isfile) -> Target:
    """Tell a file, with or without a line, from a name (`step`, `Trainer.step`, `module:Trainer.step`)."""
    match = _PLACE.match(text)
    if match:
        path, line = match["path"], match["line"]
        if is_file(path) or path.endswith((".py", ".ipynb")):
            return Target(text, path, int(line) if line else None, int(match["cell"]) if match["cell"] else None)
    return Target(text)


def functions_of(report: Report, target: Target) -> tuple[FunctionReport, ...]:
    """The functions that a target means, at least one; raises TargetError, also for a name that means several."""
    found = find(report, target)
    if not found.functions:
        path = os.path.abspath(target.path) if target.path else None
        for error in report.errors:
            if os.path.join(report.project.root, error.path) == path:
                raise TargetError(f"{target.path}:{error.line}: {error.message}")
        hint = f"; did you mean {' or '.join(f'`{name}`' for name in found.suggestions)}?" if found.suggestions else ""
        if target.line is not None:
            raise TargetError(f"no function at {target.text}{hint}")
        raise TargetError(f"no function in {target.text}" if target.path else f"no function `{target.text}`{hint}")
    if target.path is None and len(found.functions) > 1:
        places = Places.of(report)
        names = [f"  {f.facts.id}  ({places.at(f.facts.path, f.facts.line)})" for f in found.functions[:_MOST_MATCHES]]
        more = len(found.functions) - len(names)
        rest = [f"  and {more} more"] if more else []
        raise TargetError("\n".join([f"`{target.text}` means {len(found.functions)} functions:", *names, *rest]))
    return found.functions


def named(report: Report, names: Sequence[str] | None) -> frozenset[str] | None:
    """The ids of the functions that some targets mean, None for None; raises TargetError for one that is not clear."""
    if names is None:
        return None
    return frozenset(f.facts.id for name in _split(names) for f in functions_of(report, parse_target(name)))


def _split(names: Sequence[str]) -> list[str]:
    """Names with commas between are several; a path may have a comma itself."""
    found: list[str] = []
    for name in names:
        found += [name] if "/" in name or ".py" in name else [part for part in name.split(",") if part]
    return found or list(names)


def find(report: Report, target: Target) -> Found:
    """The functions that a target means.

    A file means all functions in it; a line the innermost one that contains it, decorators included; a name the
    functions of that id, of that name in any module, or of a name that ends so, whichever comes first in this list.
    """
    if target.path is not None:
        return _by_place(report, target.path, target.line, target.cell)
    return _by_name(report.functions, target.text)


def _by_place(report: Report, path: str, line: int | None, cell: int | None) -> Found:
    wanted = relative_to_root(os.path.abspath(path), report.project.root)
    root = report.project.root
    functions = [f for f in report.functions if relative_to_root(f.facts.path, root) == wanted]
    if not functions:
        paths = sorted({relative_to_root(f.facts.path, root) for f in report.functions})
        from difflib import get_close_matches  # slow to import, and only for mistakes

        return Found(suggestions=tuple(get_close_matches(wanted, paths, n=3)))
    if line is None:
        return Found(tuple(functions))
    line = _line_in(report, wanted, line, cell)
    if line is None:
        return Found()
    around = [f for f in functions if _first_line(f) <= line <= f.facts.end_line]
    if around:
        # Of nested functions the innermost starts last.
        return Found((max(around, key=lambda f: (f.facts.line, -f.facts.end_line)),))
    nearest = sorted(functions, key=lambda f: min(abs(f.facts.line - line), abs(f.facts.end_line - line)))
    places = Places.of(report)
    return Found(suggestions=tuple(f"{path}:{places.line(wanted, f.facts.line)}" for f in nearest[:3]))


def place_of(report: Report, target: Target) -> tuple[str, int] | None:
    """The path from the root and the line that a target means; None for a target without a line."""
    if target.path is None or target.line is None:
        return None
    path = relative_to_root(os.path.abspath(target.path), report.project.root)
    line = _line_in(report, path, target.line, target.cell)
    return (path, line) if line is not None else None


def _line_in(report: Report, path: str, line: int, cell: int | None) -> int | None:
    """A line of a file, which is given from the start of a cell where there is one; None where that is not there."""
    if cell is None:
        return line
    try:
        return dict(report.notebooks)[path].line_of(cell - 1, line)
    except LookupError:
        return None


def _first_line(function: FunctionReport) -> int:
    hybridization = function.facts.hybridization
    if hybridization and hybridization.is_decorator:
        return min(hybridization.line, function.facts.line)
    return function.facts.line


def _by_name(functions: Sequence[FunctionReport], text: str) -> Found:
    module, _, name = _plain(text).rpartition(":")
    tests: tuple[Callable[[FunctionReport], bool], ...]
    if module:
        tests = (
            lambda f: f.facts.id == text,
            lambda f: _plain(f.facts.id) == f"{module}:{name}",
            lambda f: _ends_with(_plain(f.facts.id), f"{module}:{name}"),
        )
    else:
        tests = (
            lambda f: f.facts.id == text or _plain(f.facts.qualname) == name,
            lambda f: _ends_with(_plain(f.facts.qualname), name),
            # `trainer.Trainer.step`: dots all the way.
            lambda f: _ends_with(_plain(f.facts.id).replace(":", "."), name),
            # The name of a class or of an outer function: what is in it.
            lambda f: f".{name}." in f".{_plain(f.facts.qualname)}",
        )
    for test in tests:
        matches = tuple(function for function in functions if test(function))
        if matches:
            return Found(matches)
    return Found(suggestions=_close_names(functions, name))


def _plain(name: str) -> str:
    return name.replace(".<locals>", "").removesuffix("()")


def _ends_with(name: str, end: str) -> bool:
    return name == end or name.endswith(f".{end}")


def _close_names(functions: Sequence[FunctionReport], name: str) -> tuple[str, ...]:
    known: dict[str, str] = {}
    for function in functions:
        qualname = _plain(function.facts.qualname)
        known.setdefault(qualname.lower(), qualname)
        known.setdefault(qualname.rpartition(".")[2].lower(), qualname)
    from difflib import get_close_matches  # slow to import, and only for mistakes

    close = get_close_matches(name.lower(), known, n=6, cutoff=0.6)
    return tuple(dict.fromkeys(known[match] for match in close))[:3]
