"""From inputs to a report: part by part, side by side, and from what was kept where nothing has changed.

What no import connects is a program of its own (`source.parts`): it is analyzed apart, in a process of its own where
there are several, which gives its memory back. What is found in a part is kept by all that it rests on.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hybridize.caching import keys
from hybridize.caching.packing import pack, unpacked
from hybridize.caching.spaced import Spaced
from hybridize.config import Config
from hybridize.decide.model import FileError, PartReport
from hybridize.heap import Uncollected
from hybridize.records import replace
from hybridize.source import Inputs, Part, SourceError, SourceText, find_parts, outline, parse
from hybridize.source.borrowed import Borrowed, Known
from hybridize.source.parts import SMALL_PROJECT, Outline
from hybridize.source.spacing import Spacing
from hybridize.workers import MOST_TASKS, available, can_fork, run

if TYPE_CHECKING:
    from hybridize.caching.store import Store
    from hybridize.deciding import After, Deciding, Progress
    from hybridize.program.build import Program

#: Fewer lines than these beside the largest part are analyzed here: processes would cost more than they save.
_FEW = 1_500
#: More lines than these are analyzed in processes also one after the other, for the sake of memory.
_MANY = 100_000
#: What so many lines have left behind is collected before more is analyzed here.
_LEFT = 20_000
#: So many lines keep their syntax trees from finding the parts to lowering them (some 1.5 MB per thousand).
_KEPT = 200_000


class Analysis:
    """An analysis of a project.

    Args:
        inputs: all that was read.
        config: the options in force.
        repairs: whether to look for repairs.
        progress: told about phases.
        store: what was found before; None to find everything anew.
        after: told of each phase of what is not known from before, in the process that analyzes.
    """

    def __init__(
        self,
        inputs: Inputs,
        config: Config,
        *,
        repairs: bool,
        progress: Progress | None,
        store: Store | None,
        after: After | None = None,
    ) -> None:
        self._inputs, self._config, self._repairs = inputs, config, repairs
        self._progress, self._store, self._after = progress, store, after
        self._keys = keys.Keys(inputs, config) if store is not None else None
        self._trees: dict[str, ast.Module] = {}
        self._functions: dict[str, int] = {}
        self._spacings: dict[str, Spacing | None] = {}

    def reports(self) -> list[PartReport]:
        """What is found in each part, in the order of their first files."""
        found = self._whole()
        if found is None:
            with Uncollected():
                found = self._anew()
        return found if self._repairs else [_bare(each) for each in found]

    def _anew(self) -> list[PartReport]:
        outlines = self._outlines()
        known = {path: each for path, each in outlines.items() if not isinstance(each, SourceError)}
        self._functions = {path: each[1] for path, each in known.items()}
        self._spacings = {path: each[2] for path, each in known.items()}
        parts, asked = find_parts(self._inputs.files, self._inputs.imports, outlines), self._inputs.asked
        if asked is not None:
            parts = [part for part in parts if any(ref.relative in asked for ref in part.files)]
        return self._found(parts)

    def _found(self, parts: Sequence[Part]) -> list[PartReport]:
        """What is found in some parts, where they are as they were without looking for it."""
        small = sum(self._functions.values()) <= SMALL_PROJECT
        names = (
            [self._keys.part(part, (small, self._is_alone(part))) for part in parts] if self._keys is not None else []
        )
        kept = self._store.get(names) if self._store is not None else {}
        known = [unpacked(kept.get(name)) for name in names] or [None] * len(parts)
        found = {i: each for i, each in enumerate(known) if isinstance(each, PartReport)}
        fresh: dict[bytes, bytes] = {}
        if self._store is not None and self._keys is not None:
            spaced = Spaced(self._store, self._keys, self._spacings, fresh)
            for i, part in enumerate(parts):
                if i not in found:
                    moved = spaced.report(part, (small, self._is_alone(part)), names[i])
                    if moved is not None:
                        found[i] = moved
        missing = [i for i in range(len(parts)) if i not in found]
        for i, made in self._analyzed([parts[i] for i in missing]):
            number = missing[i]
            if made is None:
                found[number] = _lost(parts[number])
                continue
            report = unpacked(made) if isinstance(made, bytes) else made
            assert isinstance(report, PartReport)
            found[number] = report
            if names:
                fresh[names[number]] = made if isinstance(made, bytes) else pack(made)
        if self._store is not None and self._keys is not None and parts:
            if self._inputs.asked is None and all(name in kept or name in fresh for name in names):
                fresh[self._keys.project()] = pack(names)
            self._store.put(fresh)
        return [found[i] for i in range(len(parts))]

    def _whole(self) -> list[PartReport] | None:
        """What was found when all was as it is now."""
        if self._store is None or self._keys is None:
            return None
        key = self._keys.project()
        names = unpacked(self._store.get([key]).get(key))
        return self._all(names) if isinstance(names, list) else None

    def _all(self, names: list[bytes]) -> list[PartReport] | None:
        """What was found by these names; None where some of it is gone."""
        kept = self._store.get(names) if self._store is not None else {}
        found = [each for name in names if isinstance(each := unpacked(kept.get(name)), PartReport)]
        return found if len(found) == len(names) else None

    def _is_alone(self, part: Part) -> bool:
        """Whether a part is all that can run: what Python does not parse calls nothing."""
        own, read = {ref.relative for ref in part.files}, self._inputs.read
        others = (ref.relative for ref in self._inputs.files if ref.relative not in own)
        return all(path not in self._functions and not isinstance(read[path], SourceError) for path in others)

    def _outlines(self) -> dict[str, Outline | SourceError]:
        """What each file imports and how many functions it has."""
        inputs, lines = self._inputs, 0
        known = self._known()
        fresh: dict[bytes, bytes] = {}
        found: dict[str, Outline | SourceError] = {}
        for done, ref in enumerate(inputs.files):
            if self._progress is not None:
                self._progress("reading", done, len(inputs.files))
            text = inputs.read[ref.relative]
            if isinstance(text, SourceError):
                found[ref.relative] = text
                continue
            if ref.relative in known:
                found[ref.relative] = known[ref.relative]
                continue
            tree = parse(text)
            found[ref.relative] = (
                tree
                if isinstance(tree, SourceError)
                else outline(tree, text.text, spaced=self._keys is not None and not ref.is_notebook)
            )
            lines += text.text.count("\n")
            if isinstance(tree, ast.Module) and lines <= _KEPT:
                self._trees[ref.relative] = tree
            if self._keys is not None and not isinstance(tree, SourceError):
                fresh[self._keys.outline(ref.relative)] = pack(found[ref.relative])
        if self._store is not None:
            self._store.put(fresh)
        return found

    def _known(self) -> dict[str, Outline]:
        if self._store is None or self._keys is None:
            return {}
        names = {ref.relative: self._keys.outline(ref.relative) for ref in self._inputs.files}
        kept = self._store.get(names.values())
        found = ((path, unpacked(kept.get(name))) for path, name in names.items())
        return {path: each for path, each in found if isinstance(each, tuple)}

    def _analyzed(self, parts: Sequence[Part]) -> Iterator[tuple[int, bytes | PartReport | None]]:
        """What is found in each of some parts, as it comes, packed where it comes from another process."""
        weights = [sum(_lines(self._inputs.read[ref.relative]) for ref in part.files) for part in parts]
        jobs = self._config.jobs or available()
        apart = len(parts) > 1 and ((jobs > 1 and sum(weights) - max(weights) >= _FEW) or sum(weights) > _MANY)
        if not apart or len(parts) > MOST_TASKS or not can_fork():
            yield from self._one_by_one(parts, weights)
            return
        prepare()
        done, total = 0, sum(weights)

        def tell() -> None:
            if self._progress is not None:
                self._progress("analyzing lines", done, total)

        try:
            for i, packed in run(weights, lambda i: pack(self._part(parts[i], None)), min(jobs, len(parts)), tell):
                done += weights[i]
                yield i, packed
        finally:
            gc.unfreeze()

    def _one_by_one(self, parts: Sequence[Part], weights: Sequence[int]) -> Iterator[tuple[int, PartReport]]:
        left = 0
        for i in sorted(range(len(parts)), key=lambda i: weights[i]):  # nothing is to be collected after the largest
            if left > _LEFT:
                gc.collect()
                left = 0
            yield i, self._part(parts[i], self._progress)
            left += weights[i]

    def _part(self, part: Part, progress: Progress | None) -> PartReport:
        from hybridize.library import registry
        from hybridize.program.build import build_program

        registry.load()
        reading = None if progress is None else lambda done: progress("reading", done, len(part.files))
        program = build_program(part.files, self._inputs.imports, reading, self._inputs.read, self._trees)
        mine = sum(self._functions.get(ref.relative, 0) for ref in part.files)
        beside = sum(self._functions.values()) - mine
        program = replace(program, beside=beside, alone=self._is_alone(part))
        deciding = self._decided(program, progress) if program.files else None
        unread = tuple(FileError(e.path, e.line, e.message) for e in program.errors)
        if deciding is None:
            return PartReport(program.files, program.lines, unread=unread)
        return PartReport(
            program.files,
            program.lines,
            tuple(deciding.functions),
            tuple(deciding.findings),
            tuple(deciding.bundles),
            unread,
            tuple(deciding.mistakes.errors),
            tuple(deciding.calls),
            _borrowed(program),
        )

    def _decided(self, program: Program, progress: Progress | None) -> Deciding:
        from hybridize.deciding import Deciding

        deciding = Deciding(program, self._config, self._inputs)
        # What is kept answers whoever asks next, too.
        deciding.run(progress, repairs=self._repairs or self._store is not None, after=self._after)
        return deciding


def prepare() -> None:
    """Imports what each process would import for itself."""
    from hybridize.deciding import Deciding  # noqa: F401
    from hybridize.library import registry
    from hybridize.rules.registry import all_rules

    registry.load()
    all_rules()
    gc.collect()
    gc.freeze()


def _lines(read: SourceText | SourceError) -> int:
    return read.text.count("\n") + 1 if isinstance(read, SourceText) else 1


def _bare(report: PartReport) -> PartReport:
    """A report as it is where nobody looks for repairs."""
    return replace(report, repairs=(), findings=tuple(replace(each, fix=None) for each in report.findings))


def _borrowed(program: Program) -> tuple[tuple[str, Known], ...]:
    """By file the names of libraries that it has through others of the program."""
    trees = {name: node for name, each in program.modules.items() if isinstance(node := each.code.node, ast.Module)}
    borrowed = Borrowed(trees, program.imports)
    found = ((program.modules[name].code.path, borrowed.names(name)) for name in trees)
    return tuple((path, names) for path, names in found if names)


def _lost(part: Part) -> PartReport:
    """What is told of a part whose process died: mostly for want of memory."""
    first, more = part.files[0].relative, len(part.files) - 1
    said = "the process that analyzed it died, for want of memory perhaps" + (
        f"; so {more} files beside it" if more else ""
    )
    return PartReport(0, 0, failed=(FileError(first, 1, said),))
