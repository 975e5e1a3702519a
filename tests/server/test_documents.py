"""What an editor may hold: notebooks, several folders, files that were never saved, odd characters and line ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_lsp", reason='needs pytest-lsp: pip install "hybridize[dev]"')

from lsprotocol import types

import hybridize
from editor import Editor, Found, capabilities, editing
from hybridize.report.items import items

pytestmark = pytest.mark.slow  # each starts a server

FADE = """\
import tensorflow as tf


@tf.function
def fade(x, level):
    return x * level


for i in range(9):
    fade(tf.ones([4]), i)
"""


def checked(root: Path, contents: dict[str, bytes] | None = None) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for item in items(hybridize.check(root, contents=contents)):
        told = (item.line, item.column, item.severity.value, item.code, item.message)
        found.setdefault(item.path, []).append(told)
    return found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_are_in_the_units_that_were_agreed_on(tmp_path: Path, encoding: str) -> None:
    """Characters beyond the first plane, tabs, a form feed (which ends no line), and Windows line ends."""
    text = FADE.replace("for i in range(9):", "\x0cfor i in range(9):").replace(
        "    fade(tf.ones([4]), i)", "\tname = '😀é'; fade(tf.ones([4]), i)"
    )
    (tmp_path / "main.py").write_bytes(text.replace("\n", "\r\n").encode())

    async def scenario() -> None:
        async with editing(tmp_path, can=capabilities(encodings=[encoding])) as editor:
            assert editor.encoding == encoding
            editor.open("main.py")
            assert await editor.everything() == checked(tmp_path) != {}
            (call,) = [d for d in await editor.diagnostics("main.py") if str(d.code) == "HY101"]
            assert call.range.start == editor.place("main.py", "fade(tf") or call.related_information
            editor.replace("main.py", "'😀é'", "'😀😀é\\n'")
            editor.replace("main.py", "'; fade", "é'; fade")
            now = editor.texts[editor.uri("main.py")].encode()
            assert await editor.everything() == checked(tmp_path, {"main.py": now})
            found = await editor.actions("main.py", editor.place("main.py", "def fade"))
            await editor.choose(found["Convert `fade` to eager: remove `tf.function`"])
            (tmp_path / "main.py").write_bytes(now)
            hybridize.fix(tmp_path, only=["fade"])
            assert editor.texts[editor.uri("main.py")].encode() == (tmp_path / "main.py").read_bytes() != now

    asyncio.run(scenario())


def test_each_folder_is_a_project_with_its_own_settings(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for folder in (one, two, three):
        folder.mkdir()
        (folder / "main.py").write_text(FADE)
    (two / "pyproject.toml").write_text('[tool.hybridize]\nignore = ["P3"]\n')
    configuration = {"": {}, three.as_uri(): {"options": {"select": ["HY"]}}}

    async def codes(editor: Editor, folder: Path) -> set[str]:
        found = await editor.everything()
        return {code for *_, code, _ in found.get(f"{folder.name}/main.py", ())}

    async def scenario() -> None:
        can = capabilities(configuration=True)
        async with editing(tmp_path, can=can, folders=[one, two, three], configuration=configuration) as editor:
            assert await codes(editor, one) == {"P3", "HY101"}
            assert await codes(editor, two) == {"HY101"}
            assert await codes(editor, three) == {"HY101"}
            editor.client.set_configuration({"options": {"ignore": ["HY101"]}}, section="hybridize", scope_uri="")
            editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
            assert await codes(editor, one) == {"P3"}
            gone = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(one.as_uri(), "one")])
            editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(gone))
            assert await codes(editor, one) == set()
            assert await codes(editor, three) == {"HY101"}

    asyncio.run(scenario())


def test_settings_that_cannot_be_used_are_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(FADE)

    async def scenario() -> None:
        options = {"options": {"selekt": ["P3"]}, "codeLens": "yes"}
        async with editing(tmp_path, options=options) as editor:
            await editor.everything()
            said = [each.message for each in editor.client.messages]
            assert "hybridize: hybridize.codeLens must be true or false" in said
            assert 'hybridize: --selekt: unknown option; did you mean "select"?' in said

    asyncio.run(scenario())


def test_a_file_outside_of_all_folders_is_in_its_own_project(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / "here").mkdir()
    other.mkdir()
    (other / "setup.py").write_text("")
    (other / "lib.py").write_text(FADE.partition("\n\nfor")[0] + "\n")
    (other / "main.py").write_text(
        "import tensorflow as tf\nfrom lib import fade\n" + FADE.partition("\n\n\n")[2][-46:]
    )

    async def scenario() -> None:
        async with editing(other, folders=[tmp_path / "here"]) as editor:
            assert await editor.everything() == {}
            editor.open("lib.py")
            assert await editor.everything() == checked(other) != {}
            editor.close("lib.py")
            assert await editor.everything() == {}

    asyncio.run(scenario())


def test_a_file_that_was_never_saved_is_one_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        "import tensorflow as tf\n\n\n@tf.function\ndef fade(x, level):\n    return x * level\n"
    )

    async def scenario() -> None:
        async with editing(tmp_path) as editor:
            before = await editor.everything()
            editor.open(
                "new.py",
                "import tensorflow as tf\nfrom lib import fade\n\nfor i in range(9):\n    fade(tf.ones([4]), i)\n",
            )
            after = await editor.everything()
            assert after == checked(tmp_path, {"new.py": editor.texts[editor.uri("new.py")].encode()}) != before

    asyncio.run(scenario())


def notebook(cells: list[tuple[str, str]]) -> dict[str, Any]:
    made = [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells]
    for cell in made:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}


CELLS = [
    ("markdown", "# A notebook"),
    ("code", "%matplotlib inline\nimport tensorflow as tf"),
    ("code", "@tf.function\ndef fade(x, level):\n    return x * level"),
    ("code", "for i in range(9):\n    fade(tf.ones([4]), i)"),
]


def open_notebook(editor: Editor, path: str, cells: list[tuple[str, str]]) -> list[str]:
    """Opens a notebook as clients do, with a document for each cell; their URIs."""
    uri = editor.uri(path)
    uris = [f"{uri.replace('file:', 'vscode-notebook-cell:')}#{i}" for i in range(len(cells))]
    kinds = {"code": types.NotebookCellKind.Code, "markdown": types.NotebookCellKind.Markup}
    document = types.NotebookDocument(
        uri,
        "jupyter-notebook",
        1,
        [types.NotebookCell(kinds[kind], cell) for (kind, _), cell in zip(cells, uris, strict=True)],
    )
    documents = [
        types.TextDocumentItem(cell, "python" if kind == "code" else "markdown", 1, source)
        for (kind, source), cell in zip(cells, uris, strict=True)
    ]
    for cell, (_, source) in zip(uris, cells, strict=True):
        editor.texts[cell], editor.versions[cell] = source, 1
    editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, documents))
    return uris


def edit_cell(editor: Editor, notebook_uri: str, cell: str, version: int, text: str) -> None:
    editor.texts[cell], editor.versions[cell] = text, version
    content = types.NotebookDocumentCellContentChanges(
        types.VersionedTextDocumentIdentifier(version=version, uri=cell),
        [types.TextDocumentContentChangeWholeDocument(text)],
    )
    editor.client.notebook_document_did_change(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(version, notebook_uri),
            types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[content])),
        )
    )


def test_cells_of_a_notebook_are_documents(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(CELLS), indent=1))

    async def scenario() -> None:
        async with editing(tmp_path) as editor:
            (closed,) = (await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))).items
            assert isinstance(closed, types.WorkspaceFullDocumentDiagnosticReport)
            assert {d.message.partition(": ")[0] for d in closed.items} == {"cell 3:2", "cell 4:2"}
            uris = open_notebook(editor, "a.ipynb", CELLS)
            found = {str(d.code): d for d in await editor.diagnostics("a.ipynb", uris[2])}
            assert {*found} == {"P3"}
            assert found["P3"].range.start == types.Position(1, 0)
            assert "cell" not in found["P3"].message
            (call,) = await editor.diagnostics("a.ipynb", uris[3])
            assert (call.code, call.range.start.line) == ("HY101", 1)
            asked = types.HoverParams(types.TextDocumentIdentifier(uris[2]), types.Position(1, 5))
            hover = await editor.client.text_document_hover_async(asked)
            assert hover is not None
            assert "to eager" in str(hover.contents)
            # A line above, in another cell too: places are those of the cell.
            edit_cell(editor, editor.uri("a.ipynb"), uris[1], 2, "# more\n" + CELLS[1][1])
            edit_cell(editor, editor.uri("a.ipynb"), uris[2], 3, "# more\n" + CELLS[2][1])
            found = {str(d.code): d for d in await editor.diagnostics("a.ipynb", uris[2])}
            assert found["P3"].range.start == types.Position(2, 0)
            lenses = types.CodeLensParams(types.TextDocumentIdentifier(uris[2]))
            (lens,) = await editor.client.text_document_code_lens_async(lenses) or ()
            assert lens.range.start.line == 1

    asyncio.run(scenario())


def test_a_cell_is_changed_as_fix_changes_it(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text(json.dumps(notebook(CELLS), indent=1))

    async def scenario() -> None:
        async with editing(tmp_path) as editor:
            uris = open_notebook(editor, "a.ipynb", CELLS)
            found = await editor.actions("a.ipynb", types.Position(1, 5), uri=uris[2])
            action = await editor.client.code_action_resolve_async(
                found["Convert `fade` to eager: remove `tf.function`"]
            )
            assert action.edit is not None
            (change,) = action.edit.document_changes or ()
            assert isinstance(change, types.TextDocumentEdit)
            assert change.text_document.uri == uris[2]
            assert change.text_document.version == 1
            (edit,) = change.edits
            assert isinstance(edit, types.TextEdit)
            assert (edit.range.start, edit.range.end) == (types.Position(0, 0), types.Position(1, 0))
            hybridize.fix(tmp_path, only=["fade"])
            assert edit.new_text + CELLS[2][1].partition("\n")[2] == json.loads(file.read_text())["cells"][2]["source"]

    asyncio.run(scenario())


def test_cells_may_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(CELLS), indent=1))

    async def scenario() -> None:
        async with editing(tmp_path) as editor:
            uris = open_notebook(editor, "a.ipynb", CELLS)
            assert await editor.diagnostics("a.ipynb", uris[2])
            structure = types.NotebookDocumentCellChangeStructure(
                types.NotebookCellArrayChange(start=2, delete_count=1, cells=[]),
                did_close=[types.TextDocumentIdentifier(uris[2])],
            )
            editor.client.notebook_document_did_change(
                types.DidChangeNotebookDocumentParams(
                    types.VersionedNotebookDocumentIdentifier(2, editor.uri("a.ipynb")),
                    types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(structure=structure)),
                )
            )
            assert await editor.diagnostics("a.ipynb", uris[2]) == []
            report = await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
            assert [d for each in report.items for d in getattr(each, "items", ())] == []

    asyncio.run(scenario())
