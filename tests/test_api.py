"""The library interface: its documentation runs, its names are there, and asking for it costs nothing."""

from __future__ import annotations

import ast
import doctest
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hybridize
from hybridize.rewrite.journal import Journal

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "hybridize"
PROGRAM = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])


def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    print(f"loss {loss:.4f}")
    return loss


for _ in range(10):
    train_step(tf.ones([4, 2]), tf.ones([4, 1]))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path / "train.py"


def test_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples" / "image_classifier")
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, "api.md", "docs/api.md", 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(examples, out=said.append)
    assert len(examples.examples) > 20
    assert not said, "".join(said)


def test_every_name_is_there() -> None:
    assert set(hybridize.__all__) <= set(dir(hybridize))
    assert all(getattr(hybridize, name) is not None for name in hybridize.__all__)
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        hybridize.chekc  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_loads_nothing_by_itself() -> None:
    script = (
        "import sys, hybridize\n"
        "print(*(name for name in sys.modules if name.startswith('hybridize')), 'inspect' in sys.modules)\n"
        "hybridize.Config\n"
        "print('hybridize.api' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["hybridize", "False", "False"]


def test_no_room_takes_anything_from_the_top() -> None:
    """The rooms' order is checked by import-linter, which is told to overlook what the top re-exports."""
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "from hybridize import" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "hybridize":
                taken = {alias.name for alias in node.names}
                assert taken <= {"__version__"} or (taken == {"api"} and path.parent.name == "cli"), path


def test_fix_writes_what_it_says(file: Path) -> None:
    waiting = hybridize.fix(".")
    assert file.read_text() == PROGRAM
    assert not waiting.changed
    assert waiting.repaired.left[0][1].startswith("HY801 print-to-tf-print is not safe")
    fixes = hybridize.fix(file, unsafe=True)
    assert fixes.written
    assert [repair.code for repair, _ in fixes.repaired.done] == ["HY801"]
    assert fixes.files[0].result is not None
    assert file.read_bytes() == fixes.files[0].result.new
    assert not hybridize.fix(file, unsafe=True).changed


def test_a_configuration_is_that_of_the_project_or_the_one_given(file: Path) -> None:
    (file.parent / "pyproject.toml").write_text('[tool.hybridize]\nignore = ["HY003"]\n', encoding="utf-8")
    codes = {status.code for function in hybridize.check(file.parent).functions for status in function.statuses}
    assert "HY003" not in codes
    report = hybridize.check(file.parent, hybridize.Config())
    assert "HY003" in {status.code for function in report.functions for status in function.statuses}


def test_a_code_that_is_none(file: Path) -> None:
    with pytest.raises(hybridize.ConfigError, match="no code starts with `HY9999`"):
        hybridize.check(file, hybridize.Config(ignore=("HY9999",)))
    (file.parent / "pyproject.toml").write_text('[tool.hybridize]\nignore = ["HY9999"]\n', encoding="utf-8")
    with pytest.warns(UserWarning, match="HY9999"):
        hybridize.check(file)


def test_a_run_with_tests_is_not_disturbed(file: Path) -> None:
    journal = Journal.open(file.parent)
    with pytest.raises(hybridize.FixError, match="another run of `fix --verify-with` is at work here"):
        hybridize.fix(file)
    journal.close()
    hybridize.fix(file)


def test_only_one_function(file: Path) -> None:
    with pytest.raises(hybridize.TargetError, match="no function `train`"):
        hybridize.fix(file, only=["train"])
    fixes = hybridize.fix(file, only=["train.py:6"], unsafe=True, write=False)
    assert hybridize.to_dict(fixes)["files"][0]["changes"][0]["function"] == "train:train_step"
    assert file.read_text() == PROGRAM
