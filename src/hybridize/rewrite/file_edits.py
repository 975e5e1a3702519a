"""Changes to one file -> verified edits; what fails is dropped with its reason, the rest stays."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hybridize.rewrite.model import DecoratorChange, FileResult, KnownNames, apply_edits
from hybridize.rewrite.post_condition import verify_against
from hybridize.rewrite.propose import ParsedFile, Proposal, propose
from hybridize.rewrite.sections import NOWHERE, Around


def plan_edits(
    source: bytes,
    changes: Iterable[DecoratorChange],
    *,
    path: Path | None = None,
    known_names: KnownNames = (),
    around: Around = NOWHERE,
) -> FileResult:
    """Minimal edits for the changes, verified: every other byte stays as it is. Nothing is written, nothing raised.

    A change that can't be made, or whose result fails `verify`, is in `dropped` with its reason. `known_names` tells
    what names mean that the file gets from elsewhere, `around` what else tells where a new import goes. The path is
    that of the first change unless given.
    """
    wanted = tuple(changes)
    path = path or (wanted[0].path if wanted else Path())
    try:
        file = ParsedFile(source, known_names, around)
    except (SyntaxError, ValueError) as error:
        dropped = tuple((change, f"the file does not parse: {error}") for change in wanted)
        return FileResult(path, source, source, (), (), (), dropped)
    proposal = propose(file, wanted)
    failed: list[tuple[DecoratorChange, str]] = []
    kept, final = _settle(file, proposal.planned, failed, known_names)
    return FileResult(
        path=path,
        original=source,
        new=apply_edits(source, final.edits),
        edits=tuple(final.edits),
        applied=tuple(kept),
        unchanged=tuple(proposal.unchanged),
        dropped=(*proposal.dropped, *failed),
    )


def _settle(
    file: ParsedFile,
    changes: list[DecoratorChange],
    failed: list[tuple[DecoratorChange, str]],
    known_names: KnownNames,
) -> tuple[list[DecoratorChange], Proposal]:
    """The largest part of the changes, by halves, that passes the post-condition; the others go to `failed`."""
    proposal = propose(file, changes)
    problem = _problem(file, proposal, changes, known_names)
    if problem is None:
        return changes, proposal
    if len(changes) == 1:
        failed.append((changes[0], problem))
        return [], Proposal()
    middle = len(changes) // 2
    first, first_proposal = _settle(file, changes[:middle], failed, known_names)
    second, second_proposal = _settle(file, changes[middle:], failed, known_names)
    if not first or not second:
        return (first, first_proposal) if first else (second, second_proposal)
    both = [*first, *second]
    proposal = propose(file, both)
    problem = _problem(file, proposal, both, known_names)
    if problem is None:
        return both, proposal
    failed.extend((change, problem) for change in second)  # each half is right, but not together
    return first, first_proposal


def _problem(
    file: ParsedFile, proposal: Proposal, changes: list[DecoratorChange], known_names: KnownNames
) -> str | None:
    if not changes:
        return None
    try:
        new = apply_edits(file.text.data, proposal.edits)
    except ValueError as error:
        return str(error)
    return verify_against(file, new, changes, known_names)
