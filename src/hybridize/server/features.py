"""What the server answers, by the protocol's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from lsprotocol import types

from hybridize.decide.model import FunctionReport
from hybridize.server.actions import EXPLAIN, FIX, FIX_ALL, PLAN, code_actions
from hybridize.server.app import Server
from hybridize.server.client_edits import NothingToDo, plan_edit
from hybridize.server.client_settings import SECTION, Settings, read_settings
from hybridize.server.diagnostics import Published, result_id
from hybridize.server.hover import hover_text, hovered, plain
from hybridize.server.lenses import inlay_hints, lenses
from hybridize.server.projects import Project
from hybridize.server.session import path_of, relative
from hybridize.source import DEFAULT_EXCLUDES

#: Seconds to wait for what a client that can be asked has set.
_PATIENCE: Final = 2.0
#: What an analysis reads.
_WATCHED: Final = ("**/*.{py,ipynb,toml,cfg,txt}", "**/.gitignore")


def initialize(ls: Server, params: types.InitializeParams) -> None:
    """The client says who it is and what it can do."""
    ls.began(params)
    ls.session.given = params.initialization_options
    _settle(ls, None, {}, _PATIENCE if ls.asks_settings else 0)


async def initialized(ls: Server, params: types.InitializedParams) -> None:
    """The client is ready: ask what it has set, watch files, and begin."""
    await _ask_settings(ls, None)
    workspace = ls.client_capabilities.workspace
    watches = workspace.did_change_watched_files if workspace is not None else None
    if watches is not None and watches.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(each) for each in _WATCHED])
        registration = types.Registration("hybridize-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await ls.client_register_capability_async(types.RegistrationParams([registration]))


async def shutdown(ls: Server, params: None) -> None:
    """The client wants the end: nothing is analyzed any more, and no process is left."""
    ls.session.close()
    await ls.session.workers.ended()


async def did_change_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    """The user has set something."""
    ls.session.touch()  # who asks from now on waits for what it means
    await _ask_settings(ls, params.settings)


async def _ask_settings(ls: Server, told: object) -> None:
    """Takes the settings that the client has for each folder, or those that it told."""
    if not ls.asks_settings:
        _settle(ls, told, {})
        return
    folders = dict(ls.session.folders)
    asked = [types.ConfigurationItem(section=SECTION)]
    asked += [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in folders]
    answers = list(await ls.workspace_configuration_async(types.ConfigurationParams(asked)))
    _settle(ls, answers[0] if answers else None, dict(zip(folders.values(), answers[1:], strict=False)))


def _settle(ls: Server, given: object, by_folder: Mapping[Path, object], delay: float = 0) -> None:
    """What was given at the start stays where nothing else is set."""
    wrong: dict[str, None] = {}

    def read(other: object) -> Settings:
        settings, messages = read_settings(ls.session.given, other)
        wrong.update(dict.fromkeys(messages))
        return settings

    ls.session.settings = read(given)
    ls.session.configure({path: read(each) for path, each in by_folder.items()}, delay)
    for message in wrong:
        ls.say(message, types.MessageType.Error)


async def did_change_folders(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """The user opened or closed folders."""
    for folder in params.event.removed:
        ls.session.remove_folder(folder.uri)
    for folder in params.event.added:
        ls.session.add_folder(folder.uri)
    ls.session.touch()
    await _ask_settings(ls, None)


def did_change_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    """Files have changed on disk."""
    paths = [path for change in params.changes if (path := path_of(change.uri)) is not None]
    wanted = [str(path) for path in paths if DEFAULT_EXCLUDES.isdisjoint(path.parts)]
    if wanted:
        ls.session.touch(wanted)


def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    """A document is on disk now."""
    path = path_of(params.text_document.uri)
    if path is not None:
        ls.session.touch([str(path)])


async def diagnostic(ls: Server, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    """The diagnostics of a document: those of its text as it is, unless the client can be told to ask again."""
    uri = params.text_document.uri
    buffer = ls.session.documents.buffers.get(uri)
    path = path_of(buffer.notebook or uri if buffer is not None else uri)
    project = ls.session.project(path) if path is not None else None
    published = Published(None, ())
    if path is not None and project is not None:
        if not ls.is_told_to_refresh or project.state is None:
            await project.current()
        published = ls.session.diagnostics.of_document(project, relative(path, project.root), uri)
    name = result_id(published.found)
    if name == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=name)
    return types.RelatedFullDocumentDiagnosticReport(items=published.found, result_id=name)


async def workspace_diagnostic(ls: Server, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
    """The diagnostics of all documents."""
    known = {each.uri: each.value for each in params.previous_result_ids}
    reports: list[types.WorkspaceDocumentDiagnosticReport] = []
    told = set()
    for project in list(ls.session.projects.values()):
        if not ls.is_told_to_refresh or project.state is None:
            await project.current()
        for uri, published in ls.session.diagnostics.of_project(project):
            told.add(uri)
            name = result_id(published.found)
            if known.get(uri) == name:
                same = types.WorkspaceUnchangedDocumentDiagnosticReport(uri, name, published.version)
                reports.append(same)
            else:
                reports.append(
                    types.WorkspaceFullDocumentDiagnosticReport(uri, published.found, published.version, result_id=name)
                )
    gone = [uri for uri in known if uri not in told]
    reports += [types.WorkspaceFullDocumentDiagnosticReport(uri, (), None, result_id=result_id(())) for uri in gone]
    return types.WorkspaceDiagnosticReport(reports)


def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """What is known of the function whose name or decorator is there."""
    found = ls.session.document(params.text_document.uri)
    if found is None or found[0].state is None:
        return None
    _, view, buffer = found
    state = found[0].state
    function = hovered(state, view, view.place(buffer, params.position)[0])
    return types.Hover(hover_text(state, function, ls.hover_kind)) if function is not None else None


def actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """What can be done there."""
    return code_actions(ls.session, ls, params)


async def resolve_action(ls: Server, action: types.CodeAction) -> types.CodeAction:
    """The edits of an action that was chosen."""
    if isinstance(action.data, dict):
        action.edit = await _planned(ls, action.data)
    return action


def code_lens(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The lines above functions that are to be changed."""
    found = ls.session.document(params.text_document.uri)
    if found is None or found[0].state is None or not found[0].settings.codeLens:
        return []
    project, view, buffer = found
    return list(lenses(project, found[0].state, view, buffer))


def inlay_hint(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    """The verdicts behind definitions, where the user wants them."""
    found = ls.session.document(params.text_document.uri)
    if found is None or found[0].state is None or not found[0].settings.inlayHints:
        return []
    _, view, buffer = found
    return list(inlay_hints(found[0].state, view, buffer, params.range))


async def fix(ls: Server, *arguments: Any) -> bool:
    """Changes some functions (`project`, `functions`, `unsafe`) by edits that the client applies."""
    edit = await _planned(ls, arguments[0] if arguments else {})
    applied = await ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label="hybridize"))
    if not applied.applied:
        raise NothingToDo(applied.failure_reason or "the client did not apply the edits")
    return True


async def apply_plan(ls: Server, *arguments: Any) -> bool:
    """Changes whole projects, that of a URI or all: the argument is the URI, or `{"uri": ..., "unsafe": ...}`."""
    given = arguments[0] if arguments else None
    uri = given.get("uri") if isinstance(given, dict) else given
    unsafe = isinstance(given, dict) and bool(given.get("unsafe"))
    path = path_of(uri) if isinstance(uri, str) else None
    mine = ls.session.project(path) if path is not None else None
    projects = [mine] if mine is not None else list(ls.session.projects.values()) if uri is None else []
    if not projects:
        raise NothingToDo(f"no project of {uri}")
    done, reasons = False, []
    for project in projects:
        try:
            done |= await fix(ls, {"project": str(project.path), "functions": None, "unsafe": unsafe})
        except NothingToDo as nothing:
            reasons.append(str(nothing))
    if not done:
        raise NothingToDo("; ".join(reasons))
    return True


def explain(ls: Server, *arguments: Any) -> str:
    """What `hybridize explain` prints of a function: shown to the user, and returned."""
    given = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
    project, function = _function(ls, given)
    assert project.state is not None  # or there is no function
    text = plain(project.state, function)
    if not given.get("quiet"):
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))
    return text


def _function(ls: Server, given: Mapping[str, Any]) -> tuple[Project, FunctionReport]:
    project = ls.session.projects.get(Path(str(given.get("project"))))
    function = project.state.named(str(given.get("function"))) if project is not None and project.state else None
    if project is None or function is None:
        raise NothingToDo(f"no function {given.get('function')}")
    return project, function


async def _planned(ls: Server, data: Mapping[str, Any]) -> types.WorkspaceEdit:
    project = ls.session.projects.get(Path(str(data.get("project"))))
    if project is None:
        raise NothingToDo(f"no project {data.get('project')}")
    functions = data.get("functions")
    chosen = frozenset(functions) if functions is not None else None
    return await plan_edit(ls.session, ls, project, chosen, unsafe=bool(data.get("unsafe")))


FEATURES: Final[Mapping[str, tuple[Callable[..., Any], Any]]] = {
    types.INITIALIZE: (initialize, None),
    types.INITIALIZED: (initialized, None),
    types.SHUTDOWN: (shutdown, None),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (did_change_configuration, None),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (did_change_folders, None),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (did_change_files, None),
    types.TEXT_DOCUMENT_DID_SAVE: (did_save, types.SaveOptions(include_text=False)),
    types.TEXT_DOCUMENT_DIAGNOSTIC: (
        diagnostic,
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="hybridize"),
    ),
    types.WORKSPACE_DIAGNOSTIC: (workspace_diagnostic, None),
    types.TEXT_DOCUMENT_HOVER: (hover, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        actions,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True),
    ),
    types.CODE_ACTION_RESOLVE: (resolve_action, None),
    types.TEXT_DOCUMENT_CODE_LENS: (code_lens, None),
    types.TEXT_DOCUMENT_INLAY_HINT: (inlay_hint, None),
}
COMMANDS: Final[Mapping[str, Callable[..., Any]]] = {FIX: fix, PLAN: apply_plan, EXPLAIN: explain}
