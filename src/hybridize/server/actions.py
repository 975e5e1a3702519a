"""Code actions: convert, repair, silence with a reason, explain, and all of a file at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from lsprotocol.types import CodeAction, CodeActionKind, Command, Diagnostic

from hybridize.decide.model import Action, FunctionReport
from hybridize.repairs.model import Bundle
from hybridize.report.hints import promising
from hybridize.report.style import one_line
from hybridize.server.buffers import Buffer
from hybridize.server.diagnostics import SOURCE
from hybridize.server.projects import Project, State
from hybridize.server.silence import silenced

if TYPE_CHECKING:
    from hybridize.server.app import Server
    from hybridize.server.session import Session

FIX_ALL: Final = "source.fixAll.hybridize"
FIX, PLAN, EXPLAIN = "hybridize.fix", "hybridize.applyPlan", "hybridize.explain"
#: What a comment cannot silence: a file that cannot be read, a comment that silences nothing.
_LOUD: Final = frozenset({"unreadable-file", "unused-suppression"})
_CHANGES: Final = {
    Action.CONVERT_TO_HYBRID: "Convert `{name}` to hybrid",
    Action.CONVERT_TO_EAGER: "Convert `{name}` to eager: remove `tf.function`",
    Action.RECONFIGURE: "Reconfigure the `tf.function` of `{name}`",
}


def code_actions(session: Session, server: Server, params: types.CodeActionParams) -> list[CodeAction]:
    """What can be done at a place; edits that take time are made when one is chosen."""
    found = session.document(params.text_document.uri)
    if found is None or found[0].state is None:
        return []
    project, view, buffer = found
    state = found[0].state
    ours = [each for each in params.context.diagnostics if each.source == SOURCE and isinstance(each.data, dict)]
    names = [each.data["function"] for each in ours if isinstance(each.data, dict) and each.data.get("function")]
    around = state.around(view, view.place(buffer, params.range.start)[0])
    functions = [state.named(name) for name in dict.fromkeys(names)]
    chosen = {each.facts.id: each for each in (*functions, around) if each is not None}
    made: list[CodeAction] = []
    for function in chosen.values():
        made += _Maker(project, state, server).actions(function, ours)
    made += _silencing(buffer, session, ours, params.text_document.uri, server)
    made += [_explaining(project, each) for each in chosen.values()]
    made += _Maker(project, state, server).fix_all(view.snapshot.path)
    return [each for each in made if _is_wanted(each.kind, params.context.only)]


def _is_wanted(kind: CodeActionKind | str | None, only: Sequence[CodeActionKind | str] | None) -> bool:
    name = _text(kind or "")
    if only is None:
        return True
    return any(name == _text(each) or name.startswith(f"{_text(each)}.") or not _text(each) for each in only)


def _text(kind: CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, CodeActionKind) else kind


class _Maker:
    """Makes actions whose edits are those of `hybridize fix`, found when the client resolves them."""

    def __init__(self, project: Project, state: State, server: Server) -> None:
        self._project, self._state, self._server = project, state, server

    def actions(self, function: FunctionReport, ours: Sequence[Diagnostic]) -> Iterator[CodeAction]:
        """For one function: its change, its repairs that are safe, and all of them."""
        name, identity = one_line(function.facts.qualname), function.facts.id
        about = [d for d in ours if isinstance(d.data, dict) and d.data.get("function") == identity]
        title = _CHANGES.get(function.decision.action)
        bundle = next((b for b in promising(self._state.report) if b.function == identity), None)
        if title is not None:
            yield self._action(title.format(name=name), [identity], about, preferred=True)
        if bundle is not None:
            yield from self._repairs(bundle, name, about, preferred=title is None)

    def _repairs(self, bundle: Bundle, name: str, about: list[Diagnostic], *, preferred: bool) -> Iterator[CodeAction]:
        what = "Repair" if bundle.hybrid else "Repair and convert"
        safe = [each for each in bundle.repairs if each.safe] if bundle.hybrid or bundle.safe else []
        if safe:
            codes = ", ".join(dict.fromkeys(f"{each.code} {each.name}" for each in safe))
            yield self._action(f"{what} `{name}`: {codes}", [bundle.function], about, preferred=preferred)
        if not bundle.safe:
            codes = ", ".join(dict.fromkeys(f"{each.code} {each.name}" for each in bundle.repairs))
            yield self._action(f"{what} `{name}` (unsafe): {codes}", [bundle.function], about, unsafe=True)

    def fix_all(self, path: str) -> Iterator[CodeAction]:
        """All changes of a file that need no doubt, where there are some."""
        functions = self._state.functions.get(path, ())
        names = {each.facts.id for each in functions}
        repaired = any(each.function in names for each in promising(self._state.report))
        if repaired or any(each.decision.action is not Action.KEEP for each in functions):
            yield self._action("Fix all of hybridize in this file", sorted(names), [], kind=FIX_ALL)

    def _action(
        self,
        title: str,
        functions: Sequence[str],
        about: list[Diagnostic],
        *,
        unsafe: bool = False,
        preferred: bool = False,
        kind: str = CodeActionKind.QuickFix.value,
    ) -> CodeAction:
        data = request(self._project, functions, unsafe=unsafe)
        action = CodeAction(title, kind=kind, diagnostics=about or None, is_preferred=preferred or None)
        if self._server.resolves_edits:
            action.data = data
        else:
            action.command = Command(title, FIX, arguments=[data])
        return action


def request(project: Project, functions: Sequence[str] | None, *, unsafe: bool = False) -> dict[str, Any]:
    """What says which functions (ids; None for all) of which project are to be changed."""
    return {"project": str(project.path), "functions": functions and list(functions), "unsafe": unsafe}


def _explaining(project: Project, function: FunctionReport) -> CodeAction:
    title = f"Explain the verdict on `{one_line(function.facts.qualname)}`"
    arguments = [{"project": str(project.path), "function": function.facts.id}]
    return CodeAction(title, command=Command(title, EXPLAIN, arguments=arguments))


def _silencing(
    buffer: Buffer, session: Session, ours: Sequence[Diagnostic], uri: str, server: Server
) -> Iterator[CodeAction]:
    for diagnostic in ours:
        data = diagnostic.data if isinstance(diagnostic.data, dict) else {}
        if data.get("name") in _LOUD:
            continue
        found = silenced(buffer.text, diagnostic.range.start.line, str(diagnostic.code))
        if found is None:
            continue
        place = session.documents.units.position(buffer.text, found[0])
        edit = types.TextEdit(types.Range(place, place), found[1])
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, buffer.version)
        change = (
            types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, [edit])])
            if server.takes_versions
            else types.WorkspaceEdit(changes={uri: [edit]})
        )
        title = f"Ignore {diagnostic.code} here, with a reason"
        yield CodeAction(title, kind=CodeActionKind.QuickFix, diagnostics=[diagnostic], edit=change)
