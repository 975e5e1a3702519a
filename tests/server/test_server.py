"""The language server as an editor meets it: a real process, and a client of pytest-lsp."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp", reason='needs pytest-lsp: pip install "hybridize[dev]"')

from lsprotocol import types

import hybridize
from editor import Editor, capabilities, editing
from hybridize.report.links import help_uri

pytestmark = pytest.mark.slow  # each starts a server

STEP = """\
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(32), tf.keras.layers.Dense(4)])
        self.optimizer = tf.keras.optimizers.Adam()

    def train_step(self, images, labels):
        with tf.GradientTape() as tape:
            scores = self.model(images)
            loss = tf.reduce_mean(tf.square(scores - labels))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def shouted(x):
    for _ in range(20):
        x = tf.matmul(x, x) + tf.sin(x)
    print("done")
    return x


@tf.function
def fade(x, level):
    return x * level


trainer = Trainer()
for i in range(100):
    trainer.train_step(tf.ones([8, 4]), tf.ones([8, 4]))
    shouted(tf.ones([4, 4]))
    fade(tf.ones([4]), i)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "main.py").write_text(STEP)
    return tmp_path


def test_diagnostics_are_pushed_with_the_version_they_are_true_of(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project, options={"delay": 400}) as editor:
            uri = editor.open("main.py")
            first = await _published(editor, uri, 1)
            step = next(d for d in first.diagnostics if d.code == "P1")
            editor.edit("main.py", 0, 0, "# one\n# two\n")
            moved = await _published(editor, uri, 2)  # at once, before any analysis
            assert [d.code for d in moved.diagnostics] == [d.code for d in first.diagnostics]
            again = next(d for d in moved.diagnostics if d.code == "P1")
            assert again.range.start.line == step.range.start.line + 2
            assert again.range.start.character == step.range.start.character
            assert editor.checked()["main.py"] == [editor.found(uri, d) for d in await editor.diagnostics("main.py")]

    asyncio.run(scenario())


async def _published(editor: Editor, uri: str, version: int) -> types.PublishDiagnosticsParams:
    for _ in range(600):
        for each in editor.published:
            if each.uri == uri and each.version == version and each.diagnostics:
                return each
        await asyncio.sleep(0.05)
    raise AssertionError(f"nothing was published for version {version}")


def test_a_client_that_asks_is_not_told_as_well(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project, can=capabilities(pulls=True, refreshes=True)) as editor:
            editor.open("main.py")
            found = await editor.diagnostics("main.py")
            assert "P1" in [each.code for each in found]
            asked = types.TextDocumentIdentifier(editor.uri("main.py"))
            full = await editor.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(asked))
            same = types.DocumentDiagnosticParams(asked, previous_result_id=full.result_id)
            report = await editor.client.text_document_diagnostic_async(same)
            assert isinstance(report, types.RelatedUnchangedDocumentDiagnosticReport)
            editor.replace("main.py", "    def train_step", "    @tf.function\n    def train_step")
            for _ in range(600):
                if "P1" not in [each.code for each in await editor.diagnostics("main.py")]:
                    break
                await asyncio.sleep(0.05)
            assert editor.client.diagnostic_refresh_count >= 2
            assert editor.published == []

    asyncio.run(scenario())


def test_a_diagnostic_says_what_it_rests_on(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open("main.py")
            found = {str(each.code): each for each in await editor.diagnostics("main.py")}
            retraced = next(each for code, each in found.items() if code.startswith("HY1"))
            assert retraced.severity == types.DiagnosticSeverity.Warning
            assert retraced.related_information
            assert all(each.location.uri == editor.uri("main.py") for each in retraced.related_information)
            assert found["P1"].severity == types.DiagnosticSeverity.Information
            about = retraced.code_description
            assert (about and about.href) == help_uri(str(retraced.code))  # none while nobody has published the site
            editor.edit("main.py", 0, 0, "import os  # hybridize: ignore[HY101] -- to no purpose\n")
            tags = [tag for each in await editor.diagnostics("main.py") for tag in each.tags or ()]
            assert tags == [types.DiagnosticTag.Unnecessary]

    asyncio.run(scenario())


def test_hover_tells_the_verdict_and_why(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open("main.py")
            await editor.diagnostics("main.py")

            async def hover(text: str, within: int = 0) -> str:
                at = editor.place("main.py", text, within)
                asked = types.HoverParams(types.TextDocumentIdentifier(editor.uri("main.py")), at)
                found = await editor.client.text_document_hover_async(asked)
                assert found is None or isinstance(found.contents, types.MarkupContent)
                return found.contents.value if found is not None else ""

            step = await hover("def train_step", 6)
            assert "**hybridize: to hybrid** `Trainer.train_step`" in step
            assert "add `@tf.function`" in step
            assert "dense float32 \\[8, 4\\]" in step
            shouted = await hover("def shouted", 6)
            assert "keep eager" in shouted
            assert "HY003" in shouted
            assert f"({editor.uri('main.py')}#L21)" in shouted  # a link to the print
            assert "**Repairs**" in shouted
            assert "to eager" in await hover("@tf.function")
            assert await hover("for _ in range") == ""
            assert await hover("import tensorflow") == ""

    asyncio.run(scenario())


ACTIONS = [  # where, how its title begins, `--only`, whether it is unsafe
    ("def train_step", "Convert `Trainer.train_step` to hybrid", "Trainer.train_step", False),
    ("def fade", "Convert `fade` to eager: remove `tf.function`", "fade", False),
    ("def shouted", "Repair and convert `shouted` (unsafe)", "shouted", True),
    ("def shouted", "Fix all of hybridize in this file", "main.py", False),
]


@pytest.mark.parametrize("resolves", [True, False], ids=["resolved when chosen", "as a command"])
def test_an_action_gives_the_file_that_fix_gives(project: Path, resolves: bool) -> None:
    async def scenario() -> None:
        async with editing(project, can=capabilities(resolves=resolves)) as editor:
            uri = editor.open("main.py")
            for place, title, only, unsafe in ACTIONS:
                editor.rewrite("main.py", STEP)
                found = await editor.actions("main.py", editor.place("main.py", place))
                await editor.choose(next(each for name, each in found.items() if name.startswith(title)))
                named = str(project / only) if only.endswith(".py") else only
                fixes = hybridize.fix(project, only=[named], unsafe=unsafe, write=False)
                (wanted,) = [f.result.new for f in fixes.files if f.result is not None and f.result.changed]
                assert editor.texts[uri].encode() == wanted != STEP.encode()

    asyncio.run(scenario())


def test_what_is_not_saved_is_what_is_changed(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            uri = editor.open("main.py")
            editor.replace("main.py", "def train_step", "def unsaved_step")
            editor.replace("main.py", "trainer.train_step(", "trainer.unsaved_step(")
            found = await editor.actions("main.py", editor.place("main.py", "def unsaved_step"))
            text = editor.texts[uri]
            await editor.choose(found["Convert `Trainer.unsaved_step` to hybrid"])
            assert editor.texts[uri] == text.replace("    def unsaved", "    @tf.function\n    def unsaved")
            assert (project / "main.py").read_text() == STEP

    asyncio.run(scenario())


def test_the_whole_plan_is_one_command(project: Path) -> None:
    (project / "other.py").write_text("from main import Trainer\n\nTrainer()\n")
    fixes = hybridize.fix(project, write=False)
    wanted = {file.path: file.result.new for file in fixes.files if file.result is not None and file.result.changed}

    async def scenario() -> None:
        async with editing(project) as editor:
            uri = editor.open("main.py")
            assert await editor.command("hybridize.applyPlan") is True
            assert {"main.py": editor.texts[uri].encode()} == wanted
            assert not [d for d in await editor.diagnostics("main.py") if str(d.code).startswith("P")]
            with pytest.raises(Exception, match="nothing to change"):
                await editor.command("hybridize.applyPlan")

    asyncio.run(scenario())


def test_a_finding_is_silenced_with_a_reason(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            uri = editor.open("main.py")
            before = await editor.diagnostics("main.py")
            found = await editor.actions("main.py", editor.place("main.py", "def train_step"))
            await editor.choose(found["Ignore P1 here, with a reason"])
            assert "labels):  # hybridize: ignore[P1] -- TODO: say why\n" in editor.texts[uri]
            after = await editor.diagnostics("main.py")
            assert [d.code for d in after] == [d.code for d in before if d.code != "P1"]

    asyncio.run(scenario())


def test_explain_is_what_the_command_line_prints(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open("main.py")
            found = await editor.actions("main.py", editor.place("main.py", "def fade"))
            await editor.choose(found["Explain the verdict on `fade`"])
            report = hybridize.check(project)
            (wanted,) = hybridize.explain(report, "fade")
            assert editor.client.messages[-1].message == wanted.text

    asyncio.run(scenario())


def test_only_the_kinds_that_are_asked_for(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open("main.py")
            at = editor.place("main.py", "def train_step")
            assert [*await editor.actions("main.py", at, ["source.fixAll"])] == ["Fix all of hybridize in this file"]
            quick = await editor.actions("main.py", at, ["quickfix"])
            assert [*quick] == ["Convert `Trainer.train_step` to hybrid", "Ignore P1 here, with a reason"]
            assert await editor.actions("main.py", at, ["refactor"]) == {}

    asyncio.run(scenario())


def test_lenses_stand_above_functions_and_move_with_them(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project, options={"delay": 60_000}) as editor:
            uri = editor.open("main.py")
            asked = types.CodeLensParams(types.TextDocumentIdentifier(uri))
            lenses: list[types.CodeLens] = []
            while not lenses:
                await asyncio.sleep(0.05)
                lenses = list(await editor.client.text_document_code_lens_async(asked) or [])
            titles = {each.command.title: each.range.start.line for each in lenses if each.command}
            step, repaired, fade = titles
            assert step.startswith("P1: the graph is about ")
            assert step.endswith(" times as fast as eager code — add `@tf.function`")
            assert repaired.startswith("HY003 python-side-effects — repair (HY8")
            assert fade.startswith("P3: eager code is about ")
            assert fade.endswith(" times as fast as the graph — remove the decorator")
            assert [*titles.values()] == [8, 17, 24]
            editor.edit("main.py", 0, 0, "\n\n\n")
            lenses = list(await editor.client.text_document_code_lens_async(asked) or [])
            assert [each.range.start.line for each in lenses] == [11, 20, 27]

    asyncio.run(scenario())


def test_inlay_hints_are_there_where_they_are_wanted(project: Path) -> None:
    async def hints(options: dict[str, object]) -> list[str]:
        async with editing(project, options=options) as editor:
            uri = editor.open("main.py")
            await editor.diagnostics("main.py")
            whole = types.Range(types.Position(0, 0), types.Position(100, 0))
            asked = types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
            return [str(each.label) for each in await editor.client.text_document_inlay_hint_async(asked) or []]

    assert asyncio.run(hints({})) == []
    assert asyncio.run(hints({"inlayHints": True})) == ["to hybrid", "keep eager: python-side-effects", "to eager"]


def test_files_on_disk_are_looked_at_when_they_change(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            assert await editor.everything() == editor.checked() != {}
            (project / "main.py").write_text(STEP.replace("    def train_step", "    @tf.function\n    def train_step"))
            change = types.FileEvent(editor.uri("main.py"), types.FileChangeType.Changed)
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
            assert await editor.everything() == editor.checked()
            assert "P1" not in [code for *_, code, _ in (await editor.everything())["main.py"]]

    asyncio.run(scenario())


def test_what_takes_long_is_shown_and_can_be_ended(tmp_path: Path) -> None:
    steps = "\n\n".join(STEP.partition("trainer =")[0].replace("shouted", f"shouted_{i}") for i in range(60))
    (tmp_path / "main.py").write_text(steps + STEP.partition("\n\n\n")[2])

    async def scenario() -> None:
        async with editing(tmp_path, can=capabilities(progress=True)) as editor:
            reports = editor.client.progress_reports
            while not any(reports.values()):
                await asyncio.sleep(0.02)
            (token,) = reports
            editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
            while len(reports[token]) < 2 or reports[token][-1].kind != "end":
                await asyncio.sleep(0.02)
            assert reports[token][0].kind == "begin"
            assert reports[token][0].cancellable
            assert await editor.everything() == {}  # nobody looks any more, until something changes
            editor.open("main.py")
            assert await editor.everything() == editor.checked() != {}

    asyncio.run(scenario())
