"""Files -> program: reads, parses and lowers every module of a project."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from hybridize.domain.session import Session
from hybridize.heap import Uncollected
from hybridize.program.ir import Code
from hybridize.program.lowering import lower_module, walk_codes
from hybridize.records import dataclass, field
from hybridize.source import FileRef, ImportTable, ModuleInfo, SourceError, SourceText, count_lines, parse, read_source
from hybridize.source.parts import SMALL_PROJECT

#: Syntax trees that Python accepts may nest deeper than a recursive walk of default depth.
_RECURSION_LIMIT = 12_000
#: So many lines of a program keep their syntax trees (some 1.5 MB per thousand); others are parsed again where asked.
_KEPT_LINES = 200_000


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A module of the project: its identity, its text and its code. A namespace package has neither file nor text."""

    info: ModuleInfo
    text: SourceText | None
    code: Code


@dataclass(frozen=True, slots=True)
class Program:
    """All modules of a project, by identifier, with what could not be read."""

    modules: dict[str, ModuleSource]
    imports: ImportTable
    errors: tuple[SourceError, ...]
    lines: int
    session: Session = field(default_factory=Session)  # that has the constants of the code
    beside: int = 0  # functions of the project that are in other programs
    alone: bool = True  # it is all that the project has

    @property
    def is_small(self) -> bool:
        """Whether the project is small enough to be followed in detail."""
        return len(self.functions()) + self.beside <= SMALL_PROJECT

    @property
    def files(self) -> int:
        """How many files were read and lowered."""
        return sum(1 for module in self.modules.values() if module.text is not None)

    @property
    def texts(self) -> dict[str, str]:
        """The sources that were read, by path from the root."""
        return {m.code.path: m.text.text for m in self.modules.values() if m.text is not None}

    def functions(self) -> list[tuple[ModuleSource, Code]]:
        """Every `def` of the program with its module, by path and line."""
        found = [
            (module, code) for module in self.modules.values() for code in walk_codes(module.code) if code.is_function
        ]
        found.sort(key=lambda pair: (pair[1].path, pair[1].position))
        return found


def build_program(
    files: Sequence[FileRef],
    imports: ImportTable,
    progress: Callable[[int], None] | None = None,
    read: Mapping[str, SourceText | SourceError] = MappingProxyType({}),
    trees: Mapping[str, ast.Module] = MappingProxyType({}),
) -> Program:
    """Reads and lowers files; what cannot be read or parsed becomes an error and stops nothing else.

    `read` and `trees` have what was read and parsed already, by path from the root.
    """
    session = Session()
    with session.active():
        return _built(files, imports, progress, read, trees, session)


def _built(
    files: Sequence[FileRef],
    imports: ImportTable,
    progress: Callable[[int], None] | None,
    read: Mapping[str, SourceText | SourceError],
    trees: Mapping[str, ast.Module],
    session: Session,
) -> Program:
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    modules: dict[str, ModuleSource] = {}
    errors: list[SourceError] = []
    lines = 0
    with Uncollected():
        for done, ref in enumerate(sorted(files, key=lambda f: f.relative)):
            if progress is not None:
                progress(done)
            text = read[ref.relative] if ref.relative in read else read_source(ref)
            if isinstance(text, SourceError):
                errors.append(text)
                continue
            errors += text.problems
            lines += count_lines(text.text)
            info = imports.module_of(ref)
            module = _lower(text, trees.get(ref.relative), info, keep=lines <= _KEPT_LINES)
            if isinstance(module, SourceError):
                errors.append(module)
            else:
                modules[info.id] = module
    for id_, info in imports.modules.items():
        if info.file is None:
            empty = lower_module(ast.Module([], []), info.directory or ".", id_)
            modules.setdefault(id_, ModuleSource(info, None, empty))
    return Program(modules, imports, tuple(errors), lines, session)


def _lower(text: SourceText, parsed: ast.Module | None, info: ModuleInfo, keep: bool) -> ModuleSource | SourceError:
    tree = parse(text) if parsed is None else parsed
    if isinstance(tree, SourceError):
        return tree
    try:
        code = lower_module(tree, text.ref.relative, info.id)
    except RecursionError:
        return SourceError(text.ref.relative, 1, "nests too deeply to be analyzed")
    except Exception as error:  # the parser lets pass what only the compiler refuses: `break` outside of a loop
        return _refused(text, tree, error)
    if not keep:
        for each in walk_codes(code):
            each.node = None
    return ModuleSource(info, text, code)


def _refused(text: SourceText, tree: ast.Module, error: Exception) -> SourceError:
    """Why a file cannot be lowered: Python does not take it either, or it is our mistake."""
    path = text.ref.relative
    try:
        compile(tree, path, "exec", dont_inherit=True)
    except SyntaxError as wrong:
        return SourceError(path, wrong.lineno or 1, f"is not valid Python: {wrong.msg}")
    except Exception as other:
        error = other
    return SourceError(path, 1, f"hybridize failed to read it ({type(error).__name__}: {error}): please report this")
