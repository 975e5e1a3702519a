"""Programs that are kept: an edit within a function has an answer before the whole analysis is done, and then that."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp", reason='needs pytest-lsp: pip install "hybridize[dev]"')

from editor import Editor, editing
from hybridize.server.keeping import LEAST_LINES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes in /proc"),
]

MAIN = """\
import tensorflow as tf
from layers import f0


def scaled(x):
    y = tf.sin(tf.matmul(x, x))
    return y


@tf.function
def step(x):
    return scaled(x) + f0(x)


for i in range(1000):
    step(tf.ones([4, 4]))
"""
LAYER = """\
def f{0}(x, times=3):
    for _ in range(times):
        x = tf.matmul(x, x) + tf.cast({0}, x.dtype)
        x = tf.nn.relu(x) - tf.reduce_mean(x)
    return f{1}(x)


"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One that takes some seconds."""
    count = LEAST_LINES // 4
    layers = "".join(LAYER.format(i, i + 1) for i in range(count))
    (tmp_path / "layers.py").write_text(f"import tensorflow as tf\n\n\n{layers}def f{count}(x):\n    return x\n")
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


@pytest.fixture
def mark(project: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What all processes of a server started from here have in their environment."""
    monkeypatch.setenv("HYBRIDIZE_TEST", str(project))
    return f"HYBRIDIZE_TEST={project}".encode()


def processes(mark: bytes) -> set[int]:
    """The processes of a server, whoever their parents are."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found - {os.getpid()}


async def until_kept(editor: Editor, mark: bytes) -> set[int]:
    """The two processes that keep the program, once these are all beside the server and its host, and wait."""
    seen: list[set[int]] = []
    for _ in range(1_200):
        family = {editor.pid, *_descendants(editor.pid)}
        mine = {pid for pid in processes(mark) - family if _waits(pid)}
        seen.append(mine if len(family) == 2 and processes(mark) == family | mine else set())
        if len(mine) == 2 and all(each == mine for each in seen[-5:]) and len(seen) > 5:
            return mine
        await asyncio.sleep(0.05)
    raise AssertionError("no program is kept")


def _waits(pid: int) -> bool:
    try:
        return ") S " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _descendants(pid: int) -> set[int]:
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return {*children, *(each for child in children for each in _descendants(child))}


def told(editor: Editor, path: str, since: int) -> list[list[str]]:
    """The codes of a document that were published, one list for each time."""
    uri = editor.uri(path)
    return [[str(d.code) for d in each.diagnostics] for each in editor.published[since:] if each.uri == uri]


#: Edits of a function's body, and of what is around it, with a code that is told then.
EDITS = {
    "a body": ({"    return y\n": "    print(y)\n    return y\n"}, "HY201"),
    "a parameter": ({"step(x):": "step(x, n=1):", "step(tf.ones([4, 4]))": "step(tf.ones([4, 4]), i)"}, "HY101"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_answered_before_it_is_analyzed_and_then_as_check_does(
    project: Path, mark: bytes, name: str
) -> None:
    changes, code = EDITS[name]

    async def scenario() -> None:
        async with editing(project, options={"cache": False}) as editor:
            editor.open("main.py")
            await editor.diagnostics("main.py")
            first = await until_kept(editor, mark)
            since, text = len(editor.published), MAIN
            for old, new in changes.items():
                text = text.replace(old, new)
            editor.rewrite("main.py", text)
            while not any(code in codes for codes in told(editor, "main.py", since)):
                await asyncio.sleep(0.01)
            assert processes(mark) >= first, "what was kept has answered"
            assert await editor.everything() == editor.checked()
            assert code in [str(each.code) for each in await editor.diagnostics("main.py")]
            assert not first & await until_kept(editor, mark), "another program is kept"

    asyncio.run(scenario())


def test_an_edit_is_analyzed_though_the_process_dies_that_was_asked_about_it(project: Path, mark: bytes) -> None:
    async def scenario() -> None:
        async with editing(project, options={"cache": False}) as editor:
            editor.open("main.py")
            await editor.diagnostics("main.py")
            keepers = await until_kept(editor, mark)
            for each in keepers:
                os.kill(each, signal.SIGSTOP)
            (host,) = _descendants(editor.pid)
            editor.replace("main.py", "    return y\n", "    print(y)\n    return y\n")
            await asyncio.sleep(0.5)
            os.kill(host, signal.SIGKILL)
            for each in keepers:
                os.kill(each, signal.SIGCONT)
            assert await editor.everything() == editor.checked()
            await until_kept(editor, mark)

    asyncio.run(scenario())


def test_a_program_is_kept_whose_report_was_known(project: Path, mark: bytes, tmp_path: Path) -> None:
    async def scenario() -> None:
        for _ in range(2):
            async with editing(project, options={"options": {"cache-dir": str(tmp_path / "cache")}}) as editor:
                editor.open("main.py")
                await editor.diagnostics("main.py")
                first = await until_kept(editor, mark)
                editor.open("layers.py")  # which changes nothing
                await editor.diagnostics("layers.py")
                assert await until_kept(editor, mark) == first

    asyncio.run(scenario())


@pytest.mark.parametrize("whose", ["server", "host"])
def test_nothing_that_is_kept_outlives_what_keeps_it(project: Path, mark: bytes, whose: str) -> None:
    async def scenario() -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011, PT012 (whatever a client says whose server is gone)
            async with editing(project, options={"cache": False}) as editor:
                editor.open("main.py")
                await editor.diagnostics("main.py")
                mine = await until_kept(editor, mark)
                (host,) = _descendants(editor.pid)
                os.kill(editor.pid if whose == "server" else host, signal.SIGKILL)
                for _ in range(200):
                    if not mine & processes(mark):
                        break
                    await asyncio.sleep(0.01)
                assert not mine & processes(mark)
                raise RuntimeError("all are gone")

    asyncio.run(scenario())
