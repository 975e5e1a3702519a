"""`hybridize explain`, `rules` and `config`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.decide.model import FileError

from ..report.samples import SAMPLE
from .fake_api import FakeApi, install


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    (tmp_path / "util").mkdir()
    for name in ("trainer.py", "util/names.py", "empty.py", "broken.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return install(monkeypatch, replace(SAMPLE, project=replace(SAMPLE.project, root=str(tmp_path))))


@pytest.mark.parametrize("target", ["step", "Trainer.step", "trainer:Trainer.step", "trainer.py:44"])
def test_a_function(target: str, api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", target]) == 0
    output = capsys.readouterr().out
    assert output.startswith("trainer:Trainer.step\n  trainer.py:42, method")
    assert "Trainer.fit" not in output


def test_a_file(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "trainer.py"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("trainer:")] == [
        "trainer:Trainer.step",
        "trainer:Trainer.fit",
        "trainer:Trainer.loss",
    ]


def test_json(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "step", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "trainer:Trainer.step"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("Trainer", "`Trainer` means 3 functions:\n  trainer:Trainer.step  (trainer.py:42)\n"),
        ("stp", "no function `stp`; did you mean `Trainer.step`?"),
        ("gone.py:3", "no such file or directory: gone.py"),
        ("empty.py", "no function in empty.py"),
        ("trainer.py:1", "no function at trainer.py:1; did you mean `trainer.py:42`"),
        ("broken.py", "broken.py:3: invalid syntax"),
    ],
)
def test_what_is_not_clear(target: str, message: str, api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", target]) == 2
    assert message in capsys.readouterr().err


def test_a_code_needs_no_analysis(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "p1"]) == 0
    assert capsys.readouterr().out.startswith("P1 ")
    assert api.calls == []
    assert main(["explain", "HY0262"]) == 2
    assert "no code `HY0262`; did you mean `HY262`?" in capsys.readouterr().err
    assert api.calls == []


def test_the_project_of_a_file_elsewhere(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["explain", "../trainer.py"]) == 0
    assert api.calls[0][0] == [tmp_path]
    (tmp_path / "pyproject.toml").write_text("[tool.hybridize]\n")
    assert main(["explain", "../util/names.py"]) == 0
    assert api.calls[1][0] == [tmp_path]


def test_an_error_elsewhere_does_not_matter(api: FakeApi) -> None:
    assert isinstance(api.answer, type(SAMPLE))
    api.answer = replace(api.answer, errors=(FileError("other.py", 1, "bad"),))
    assert main(["explain", "step"]) == 0


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()][:3] == ["P1", "P2", "P3"]
    assert main(["rules", "P2", "--output-format", "json"]) == 0
    assert [doc["code"] for doc in json.loads(capsys.readouterr().out)] == ["P2"]


def test_config_says_where_each_option_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.hybridize]\nall-safe = true\nexclude = ["a"]\n')
    assert main(["config", "--world", "open"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[tool.hybridize]"
    assert f"all-safe               = true  # {file}" in lines
    assert f'exclude                = ["a"]  # {file}' in lines
    assert 'world                  = "open"  # command line' in lines
    assert "speculate              = true  # default" in lines
    assert main(["config", "--output-format", "json", "--isolated"]) == 0
    assert json.loads(capsys.readouterr().out)["all-safe"] == {"value": False, "origin": "default"}


def test_a_line_of_no_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import tensorflow as tf\n"
        "w = tf.Variable([1.0])\n"
        "for x in tf.data.Dataset.range(90):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_sum(tf.square(w * tf.cast(x, tf.float32)))\n"
        "    w.assign_sub(0.1 * tape.gradient(loss, w))\n"
    )
    assert main(["explain", f"{script}:5"]) == 0
    output = capsys.readouterr().out
    assert "HY110" in output
    assert "HY818" in output
    assert main(["explain", f"{script}:2"]) == 2
    assert "no function" in capsys.readouterr().err
