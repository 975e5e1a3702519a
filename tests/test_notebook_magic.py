"""`%load_ext hybridize` and `%%hybridize` in a real shell of IPython."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hybridize

pytest.importorskip("IPython")

STEP = "def step(x):\n    for _ in range(30):\n        x = tf.tanh(x)\n    return x\n"
RUNS = "\nfor _ in range(1000):\n    if ready:\n        step(tf.ones([3, 3]))"


class Shell:
    """A shell, what it displayed, and what it puts into the next cell."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.ip: Any = InteractiveShell.instance()
        self.shown: list[Any] = []
        self.next: str | None = None

    def run(self, cell: str) -> Any:
        """A cell, as a user would run it; what it raised is raised."""
        result = self.ip.run_cell(cell, store_history=True)
        result.raise_error()
        return result.result


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    InteractiveShell.clear_instance()
    made = Shell()
    monkeypatch.setattr("IPython.display.display", made.shown.append)
    monkeypatch.setattr(made.ip, "set_next_input", lambda text, replace=False: setattr(made, "next", text))
    made.run("%load_ext hybridize")
    made.run("import tensorflow as tf")
    made.run("import os\nready = os.environ.get('READY')")
    yield made
    made.ip.history_manager.end_session()
    InteractiveShell.clear_instance()


def test_a_cell_has_its_verdicts_and_runs(shell: Shell) -> None:
    shell.run(f"%%hybridize\n{STEP}{RUNS}")
    (shown,) = shell.shown
    assert [(row.place, row.name, row.verdict) for row in shown.rows] == [("line 2", "step", "to hybrid")]
    assert repr(shown).startswith("line 2  to hybrid  step  P1: ")
    assert "<td style='text-align:left'><code>step</code></td>" in shown._repr_html_()
    assert shell.run("step.__name__") == "step"


def test_earlier_cells_and_modules_are_context(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("import tensorflow as tf\n\n\ndef deep(x):\n    return tf.tanh(x)\n")
    shell.run(STEP)
    shell.run(
        "%%hybridize --no-run\nfrom deep import deep\n\ndef use(x):\n    return deep(step(x))\n\nuse(tf.ones([3]))"
    )
    places = {row.name: row.place for row in shell.shown[0].rows}
    assert places == {"use": "line 4", "step": "In [4]:1", "deep": "deep.py:4"}


def test_no_run_does_not_run(shell: Shell) -> None:
    shell.run("%%hybridize --no-run\nnowhere = 1 / 0\n")
    assert "nowhere" not in shell.ip.user_ns
    assert repr(shell.shown[0]) == "no function in this cell, and none that it calls"


def test_fix_puts_the_rewritten_cell_below(shell: Shell) -> None:
    shell.run(f"%%hybridize --fix\n{STEP}{RUNS}")
    assert shell.next == f"@tf.function\n{STEP}{RUNS}"
    assert "step" not in shell.ip.user_ns


def test_hostile_names_stay_text(shell: Shell) -> None:
    shell.run("%%hybridize --no-run\ndef f(x):\n    return tf.nn.relu(x) < x\n\nf(tf.ones([3]))\n'<script>'\n")
    assert "<script" not in shell.shown[0]._repr_html_()


def test_a_mistake_is_told(shell: Shell) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match="unknown option --fxi"):
        shell.run("%%hybridize --fxi\nx = 1")


def test_a_function_of_a_cell_is_explained(shell: Shell) -> None:
    shell.run("label = 'a'")
    shell.run(f"# a cell\n{STEP}{RUNS}")
    found = hybridize.explain(shell.ip.user_ns["step"])
    assert found.function.facts.qualname == "step"
    assert "verdict: to hybrid" in repr(found)
