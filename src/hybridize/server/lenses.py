"""Lines above functions that are to be changed, and hints behind definitions."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from hybridize.decide.model import Action, FunctionReport
from hybridize.report.hints import promising
from hybridize.report.summary import reasons
from hybridize.report.words import edit, gain, verdict
from hybridize.server.actions import FIX, request
from hybridize.server.buffers import Buffer
from hybridize.server.projects import Project, State, first_line
from hybridize.server.views import View


def lenses(project: Project, state: State, view: View, buffer: Buffer) -> Iterator[types.CodeLens]:
    """One for each function of a document that is to be changed, or that a repair unlocks."""
    bundles = {bundle.function: bundle for bundle in promising(state.report)}
    for function in state.functions.get(view.snapshot.path, ()):
        bundle, unsafe = bundles.get(function.facts.id), False
        if function.decision.action is not Action.KEEP:
            title = _title(function)
        elif bundle is not None:
            unsafe = not bundle.safe
            codes = ", ".join(dict.fromkeys(each.code for each in bundle.repairs))
            what = f"repair ({codes})" if bundle.hybrid else f"repair ({codes}) and convert"
            title = f"{_reason(function)} — {what}{', unsafe' if unsafe else ''}"
        else:
            continue
        line = first_line(function)
        place = view.locate((line, function.facts.column, line, function.facts.column))
        if place.uri == buffer.uri:
            data = request(project, [function.facts.id], unsafe=unsafe)
            yield types.CodeLens(place.range, command=types.Command(title, FIX, arguments=[data]))


def _title(function: FunctionReport) -> str:
    """What a click does, and what is gained: both sides named, as everywhere."""
    decision = function.decision
    gained = gain(function)
    said = f"{decision.precondition or 'P0'}: {gained}" if gained else decision.precondition or "P0"
    return f"{said} — {edit(function) or verdict(function)}"


def _reason(function: FunctionReport) -> str:
    status = next(iter(function.told), None)
    return f"{status.code} {status.name}" if status is not None else verdict(function)


def inlay_hints(state: State, view: View, buffer: Buffer, asked: types.Range) -> Iterator[types.InlayHint]:
    """The verdict on each candidate, behind the line of its `def`."""
    for function in state.functions.get(view.snapshot.path, ()):
        facts = function.facts
        if not facts.candidate and facts.hybridization is None:
            continue
        why = reasons(function)
        label = verdict(function) + (f": {why[0].name}" if why else "")
        end = len(view.snapshot.text.line(facts.line - 1).rstrip()) + 1
        place = view.locate((facts.line, end, facts.line, end))
        if place.uri == buffer.uri and asked.start.line <= place.range.start.line <= asked.end.line:
            yield types.InlayHint(place.range.end, label, padding_left=True)
