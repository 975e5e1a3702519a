"""What is known of a function, as Markdown: the verdict, why, what is assumed, what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from hybridize.decide.model import FunctionReport
from hybridize.facts.model import Evidence
from hybridize.regex import regex
from hybridize.report.explain import explain
from hybridize.report.style import one_line
from hybridize.report.words import change, rests, rests_on, tensor_type, told_by, verdict
from hybridize.server.projects import State, first_line
from hybridize.server.views import View

#: So many steps of a chain are shown, and so many reasons.
_MOST_STEPS, _MOST_REASONS = 6, 8
#: What Markdown would take for its own.
_SPECIAL = regex(r"([\\*_{}\[\]<>#|~])")


def hovered(state: State, view: View, line: int) -> FunctionReport | None:
    """The function whose decorators or name are on a line."""
    found = state.around(view, line)
    return found if found is not None and first_line(found) <= line <= found.facts.line else None


def hover_text(state: State, function: FunctionReport, kind: types.MarkupKind) -> types.MarkupContent:
    """The text in the kind that the client shows."""
    if kind is types.MarkupKind.PlainText:
        return types.MarkupContent(kind, plain(state, function))
    return types.MarkupContent(kind, "\n".join(_lines(state, function)))


def plain(state: State, function: FunctionReport) -> str:
    """What `hybridize explain` prints."""
    return explain(state.report, function, lambda path: path)


def _lines(state: State, function: FunctionReport) -> Iterator[str]:
    facts, decision = function.facts, function.decision
    yield f"**hybridize: {verdict(function)}** `{one_line(facts.qualname)}`"
    yield ""
    yield _escape(rests_on(function))
    described = change(state.report, function)
    if described:
        yield f"\nChange: {_escape(described)}"
    if decision.confidence is not None:
        yield f"\nConfidence: {rests(function)}"
        yield from _chain(state, decision.grounds, "")
    if function.told:
        yield "\n**Why**\n"
    for status in function.told[:_MOST_REASONS]:
        yield f"- `{status.code}` {status.name}: {_escape(status.message)} ({_place(state, status.path, status.line)})"
        yield from _chain(state, told_by(status), "  ")
    if len(function.told) > _MOST_REASONS:
        yield f"- and {len(function.told) - _MOST_REASONS} more"
    typed = [(p.name, tensor_type(kind)) for p in facts.parameters for kind in p.tensor_types[:1]]
    if typed:
        yield "\n**Tensors that arrive**\n"
    for name, kind in typed:
        yield f"- `{name}`: {_escape(kind)}"
    if facts.assumptions:
        yield "\n**Assumed**\n"
        yield from _chain(state, facts.assumptions, "")
    bundle = state.bundles.get(facts.id)
    if bundle is not None and bundle.repairs:
        yield "\n**Repairs**\n"
        for each in bundle.repairs:
            doubt = f" (unsafe: {_escape(each.doubt)})" if each.doubt else " (safe)"
            yield f"- `{each.code}` {each.name}: {_escape(each.says)}{doubt}"


def _chain(state: State, chain: Iterable[Evidence], indent: str) -> Iterator[str]:
    steps = list(dict.fromkeys(chain))
    for number, step in enumerate(steps[:_MOST_STEPS], 1):
        yield f"{indent}{number}. {_escape(step.message)} ({_place(state, step.path, step.line)})"
    if len(steps) > _MOST_STEPS:
        yield f"{indent}{_MOST_STEPS + 1}. and {len(steps) - _MOST_STEPS} more steps"


def _place(state: State, path: str, line: int) -> str:
    """A link that editors follow."""
    view = state.views[path]
    found = view.locate((max(line, 1), 1, max(line, 1), 1))
    shown = _escape(f"{path} {view.where(line)}" if view.where(line) else f"{path}:{line}")
    return f"[{shown}]({found.uri.replace('(', '%28').replace(')', '%29')}#L{found.range.start.line + 1})"


def _escape(text: str) -> str:
    """A text as Markdown that shows it as it is; what stands between backticks stays."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:  # an odd one of them is itself a character
        return _SPECIAL.sub(r"\\\1", one_line(text)).replace("`", "\\`")
    return "`".join(part if i % 2 else _SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))
