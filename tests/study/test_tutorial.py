"""A whole small study: the commands of docs/study-tutorial.md, against repositories and a GitHub of our own."""

from __future__ import annotations

import argparse
import csv
import json
import shlex
from pathlib import Path

import pytest

from hybridize.study import cli, cli_label, tables
from hybridize.study.store import connect
from hybridize.study.tally import from_database
from study.github_server import World, issue, repository, serving
from study.histories import History

PAGE = Path(__file__).parents[2] / "docs" / "study-tutorial.md"
PLAIN = "import tensorflow as tf\n\n\ndef step(x):\n    return x\n"
HYBRID = PLAIN.replace("def", "@tf.function\ndef")


def commands() -> list[list[str]]:
    lines = PAGE.read_text("utf-8").splitlines()
    return [shlex.split(line)[2:] for line in lines if line.startswith("    hybridize study ")]


def run(words: list[str]) -> int:
    parser = argparse.ArgumentParser()
    cli.add_commands(parser)
    return cli.run(parser.parse_args(words))


def fill(path: Path, labels: list[str]) -> None:
    rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    for number, row in enumerate(rows):
        label = labels[number % len(labels)]
        row["is_fix"], row["category"] = ("yes", label) if label else ("no", "")
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.slow
def test_the_tutorial_from_subjects_to_the_bundle_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    history = History.new(tmp_path / "origin")
    for number in range(12):
        text = (HYBRID if number % 2 else PLAIN) + f"# {number}\n"
        history.commit(f"Fix error {number}", {"model.py": text})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli_label, "_serve", lambda args: 0)
    world = World(repositories=[repository("GPflow/GPflow", 900, clone_url=f"file://{history.path}")])
    world.files["/repos/GPflow/GPflow/contents/setup.py"] = "requirements = ['tensorflow>=2.2']"
    with serving(world):
        for number in range(1, 6):
            issue(world, number, f"tf.function fails {number}", "2021-02-03", comments=number % 2)
        Path("threads.json").write_text(json.dumps(world.issues))
        Path("jax.toml").write_text('title = "Hybridization bugs in JAX programs"\n')
        for words in commands():
            if words[0] == "subjects" or "--download" in words:
                words += ["--api", world.base]
            if words[:2] == ["mine", "clones/*"]:
                words[1:2] = [str(path) for path in Path("clones").iterdir()]
            if "--import-csv" in words:
                fill(Path("ana.csv"), ["Test", "Other", ""])
            assert run(words) == 0, (words, capsys.readouterr().err)
            if "--import-csv" in words:
                assert run(["label", "study.db", "--rater", "Bo", "--export-csv", "bo.csv"]) == 0
                fill(Path("bo.csv"), ["Test", "Other", ""])
                assert run(["label", "study.db", "--rater", "Bo", "--import-csv", "bo.csv"]) == 0
    out = capsys.readouterr().out
    assert "Cohen's kappa" in out
    assert "items reconciled" in out
    study, again = connect("study.db"), connect("again.db")
    counts, opened = from_database(study), from_database(again)
    assert counts.problems
    assert {problem.source for problem in counts.problems} == {"commit", "issue"}
    assert tables.categories_table(opened).rows == tables.categories_table(counts).rows
    assert tables.subjects_table(opened) == tables.subjects_table(counts)
    study.close()
    again.close()


def test_the_tutorial_names_no_command_that_is_not_tried() -> None:
    tried = {words[0] for words in commands()}
    assert {"subjects", "clone", "mine", "suggest", "issues", "label", "agree", "tables", "figures", "bundle"} <= tried
