"""`hybridize evaluate`: from a corpus to tables, the same on every executor, and only what is new again."""

from __future__ import annotations

import csv
import html.parser
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hybridize.cli.app import run as command
from hybridize.evaluate import paper_tables as tables
from hybridize.evaluate.analyzing import code_lines, project
from hybridize.evaluate.corpus import Corpus, CorpusError, load
from hybridize.evaluate.execution.cluster import Cluster
from hybridize.evaluate.execution.local import Pool, Serial
from hybridize.evaluate.execution.model import Executor
from hybridize.evaluate.readings import OURS, PAPER, class_of
from hybridize.evaluate.running import WHOLE, Settings, run
from hybridize.evaluate.store import Result, Store

TINY = Path(__file__).resolve().parents[1] / "fixtures" / "corpus"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    shutil.copytree(TINY, tmp_path / "corpus")
    return load(str(tmp_path / "corpus" / "corpus.toml"))


def results(
    corpus: Corpus, out: Path, executor: Executor | None = None, settings: Settings | None = None
) -> tuple[dict[str, dict[str, Result]], list[str]]:
    """What is found, and which tasks were run for it."""
    made: list[str] = []

    def tell(done: int, count: int, result: Result | None) -> None:
        if result is not None:
            made.append(f"{result.variant}/{result.project}")

    return run(corpus, settings or Settings(), executor or Serial(), Store(out), tell), made


def cells(table: tables.Table) -> dict[str, dict[str, object]]:
    titles = [column.title for column in table.columns]
    assert len(set(titles)) == len(titles)
    return {str(row[0]): dict(zip(titles, row, strict=True)) for row in table.rows}


def test_table_5_counts_by_the_papers_reading(corpus: Corpus, tmp_path: Path) -> None:
    found, _ = results(corpus, tmp_path)
    rows = cells(tables.effectiveness(corpus, found[WHOLE], PAPER))
    # `step` passes; `report` has a side effect; `scaled` is hybrid, has a primitive parameter, and is made eager.
    assert {k: rows["steps"][k] for k in ("candidates", "refactored", "P1", "P3")} == {
        "candidates": 3, "refactored": 2, "P1": 1, "P3": 1,
    }  # fmt: skip
    assert rows["hinted"]["candidates"] == 1
    assert (rows["total"]["candidates"], rows["total"]["published fnc"]) == (4, 12)


def test_table_5_counts_our_decisions(corpus: Corpus, tmp_path: Path) -> None:
    found, _ = results(corpus, tmp_path)
    table = tables.effectiveness(corpus, found[WHOLE], OURS)
    assert table.members["table5-ours", "steps", "refactored"] == ["steps::train:step", "steps::train:scaled"]
    assert [cells(table)["steps"][name] for name in ("refactored", "P1", "P3")] == [2, 1, 1]
    assert {class_of(row) for row in found[WHOLE]["steps"].rows if row.id == "train:step"} == {"changed"}


def test_table_6_counts_reasons_beside_the_published_ones(corpus: Corpus, tmp_path: Path) -> None:
    found, _ = results(corpus, tmp_path)
    rows = cells(tables.failures(corpus, found[WHOLE], PAPER))
    assert [rows[name]["functions"] for name in ("F1", "F2", "F3", "F4")] == [0, 0, 1, 0]
    assert [rows[name]["published"] for name in ("F1", "F3")] == [1, 0]
    assert (rows["F3"]["alone"], rows["F3"]["P1"]) == (1, 1)


def test_differences_say_what_candidates_consist_of(corpus: Corpus, tmp_path: Path) -> None:
    found, _ = results(corpus, tmp_path)
    rows = cells(tables.differences(corpus, found[WHOLE]))
    assert [rows["hinted"][name] for name in ("published fnc", "fnc", "hint, not reached")] == [9, 1, 1]
    assert rows["hinted"]["left out: guessed"] == 1
    assert rows["steps"]["flow, reached"] == 2


def test_ablations_say_what_is_lost(corpus: Corpus, tmp_path: Path) -> None:
    found, made = results(corpus, tmp_path, settings=Settings(ablations=("hints", "index")))
    assert len(made) == 6
    rows = cells(tables.ablations(found, (PAPER,), WHOLE))
    assert rows["whole"]["paper: gone"] == 0
    assert rows["hints"]["paper: gone"] == 1  # `flat` is a candidate by its hint alone


@pytest.mark.parametrize(
    ("part", "source", "fact", "whole", "without"),
    [
        # One context for both calls of `same`: what one of them gives, the other one gives, too.
        ("contexts", "def same(x):\n    return x\n\ndef f(x):\n    return x\n\nsame(tf.ones([2]))\nf(same(3))\n",
         "tensor", "no", "yes"),
        # Followed item by item, `f` gets the 3 alone.
        ("loops", "def f(x):\n    return x\n\ndef g(x):\n    return x\n\n"
                  "for h, v in ((f, 3), (g, tf.ones([2]))):\n    h(v)\n",
         "tensor", "no", "yes"),
        # A model says that the shape of a tensor is a tuple of numbers.
        ("models", "def f(x):\n    return x\n\nf(np.shape(tf.ones([2])))\n", "primitive", "yes", "no"),
        # Only the index of names knows that this is an operation.
        ("index", "def f(x):\n    return x\n\nf(tf.sets.size(tf.ones([2])))\n", "tensor", "yes", "unknown"),
    ],
)  # fmt: skip
def test_each_part_can_be_taken_away(
    part: str, source: str, fact: str, whole: str, without: str, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(f"import numpy as np\nimport tensorflow as tf\n\n{source}")
    payload = {"name": "a", "path": str(tmp_path), "options": {}, "repairs": False}
    found = [
        {row["id"]: row[fact] for row in project({**payload, "settings": {"without": parts}})["functions"]}["a:f"]
        for parts in ([], [part])
    ]
    assert found == [whole, without]


def test_what_is_kept_is_not_made_again(corpus: Corpus, tmp_path: Path) -> None:
    first, made = results(corpus, tmp_path)
    assert made == ["whole/steps", "whole/hinted"]
    again, made = results(corpus, tmp_path)
    assert made == []
    assert again == first
    with (corpus.folder / "hinted" / "shapes.py").open("a") as file:
        file.write("x = 1\n")
    assert results(corpus, tmp_path)[1] == ["whole/hinted"]
    assert results(corpus, tmp_path, settings=Settings(repairs=True))[1] == ["whole/steps", "whole/hinted"]


def test_a_damaged_result_is_made_again(corpus: Corpus, tmp_path: Path) -> None:
    first, _ = results(corpus, tmp_path)
    file = tmp_path / "results" / "whole" / "steps.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    again, made = results(corpus, tmp_path)
    assert made == ["whole/steps"]
    assert again["whole"]["steps"].rows == first["whole"]["steps"].rows


def test_twice_the_same_and_the_same_in_processes(corpus: Corpus, tmp_path: Path) -> None:
    alone, _ = results(corpus, tmp_path / "a")
    pooled, _ = results(corpus, tmp_path / "b", Pool(2), Settings(sent=True))
    assert [r.rows for r in pooled[WHOLE].values()] == [r.rows for r in alone[WHOLE].values()]
    assert [r.findings for r in pooled[WHOLE].values()] == [r.findings for r in alone[WHOLE].values()]
    made = [{table.name: table for table in _tables(corpus, each[WHOLE])} for each in (alone, pooled)]
    assert made[0]["table6-paper"] == made[1]["table6-paper"]
    assert made[0]["differences"] == made[1]["differences"]


@pytest.mark.slow
def test_the_same_on_a_cluster_that_shares_no_files(corpus: Corpus, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    alone, _ = results(corpus, tmp_path / "a")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as workers:
        executor = Cluster(workers.scheduler_address)
        found, _ = results(corpus, tmp_path / "b", executor, Settings(sent=True))
    assert [r.rows for r in found[WHOLE].values()] == [r.rows for r in alone[WHOLE].values()]


def _tables(corpus: Corpus, found: dict[str, Result]) -> list[tables.Table]:
    return [tables.failures(corpus, found, PAPER), tables.differences(corpus, found)]


def test_a_project_that_is_not_there_is_said_and_costs_no_other(corpus: Corpus, tmp_path: Path) -> None:
    shutil.rmtree(corpus.folder / "hinted")
    found, _ = results(corpus, tmp_path)
    assert found[WHOLE]["hinted"].failure == f"failed: SourcesError: {corpus.folder / 'hinted'}: not there"
    table = tables.effectiveness(corpus, found[WHOLE], PAPER)
    assert "hinted (failed: SourcesError" in table.note
    assert cells(table)["total"]["candidates"] == 3


def test_the_command_writes_all_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["evaluate", str(TINY / "corpus.toml"), "--out", str(out), "--jobs", "1"]
    assert command(arguments) == 0
    said = capsys.readouterr().out
    assert "[2/2] hinted (whole): 2 functions" in said
    for name in ("table5-paper", "table5-ours", "table6-paper", "table6-ours", "differences", "classes", "findings"):
        for suffix in ("md", "tex", "csv", "parquet"):
            assert (out / f"{name}.{suffix}").stat().st_size
    with (out / "functions.csv").open() as file:
        listed = [row for row in csv.DictReader(file) if row["table"] == "table6-paper" and row["row"] == "F3"]
    assert [row["function"] for row in listed] == ["train:report"]
    page = (out / "index.html").read_text()
    html.parser.HTMLParser().feed(page)
    assert "train:report" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert command([*arguments, "--reading", "none"]) == 2
    assert command([*arguments, "--ablate", "hint"]) == 2
    assert "did you mean `hints`?" in capsys.readouterr().err


def test_the_step_corpus_is_meant_where_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in ([], ["corpus"]):
        assert command(["evaluate", *step, str(tmp_path / "none.toml"), "--out", str(tmp_path)]) == 2
        assert f"{tmp_path / 'none.toml'}: no such corpus" in capsys.readouterr().err
    assert command(["evaluate", "--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"    {step} " in listed for step in ("corpus", "init", "simulate", "fixes"))
    assert command(["evaluate", "simulate", "--out", str(tmp_path)]) == 2
    assert "required: DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the corpus: no [[project]]"),
        ("[[project]]\nname = 'a'\n", "project `a`: needs either `path` or `repository`"),
        ("[[project]]\nname = 'a'\nrepository = 'o/n'\n", "project `a`: `repository` needs a `commit`"),
        ("[[project]]\nname = 'a'\npath = 'x'\ncommitt = 'y'\n",
         "project `a`: unknown key `committ`; did you mean `commit`?"),
        ("[[project]]\npath = 'x'\n", "project `?`: `name` is missing"),
        ("[[project]]\nname = 'a/b'\npath = 'x'\n", "project `a/b`: `name` must be one that a folder can have"),
        ("[[project]]\nname = 'a'\npath = 'x'\n" * 2, "project `a`: there are two of this name"),
        ("[[project]]\nname = 'a'\npath = 'x'\n[[project.program]]\nname = 'p'\nscript = 3\n",
         "project `a`: program: `script` must be a text"),
        ("[[project]\n", "Expected"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(CorpusError) as raised:
        load(str(file))
    assert str(raised.value).startswith(f"{file}: {message}")
    assert "\n" not in str(raised.value)


def test_the_papers_corpus_has_its_totals() -> None:
    corpus = load("paper")
    published = [each.published for each in corpus.projects if each.published]
    assert len(published) == 19
    assert [sum(getattr(p, key) for p in published) for key in ("candidates", "refactored", "p1", "p2")] == [
        766, 326, 301, 25,
    ]  # fmt: skip
    assert sum(corpus.failures.values()) == 464
    assert all(len(each.commit) == 40 for each in corpus.projects)


def test_a_commit_of_a_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clones" / "name"
    shutil.copytree(TINY / "steps", clone / "inner")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", str(clone), *arguments], check=True)
    commit = subprocess.run(["git", "-C", str(clone), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    shutil.rmtree(clone / "inner")  # only the commit has it
    file = tmp_path / "c.toml"
    entry = f"name = 'a'\nrepository = 'owner/name'\ncommit = '{commit.stdout.strip()}'\nfolder = 'inner'\n"
    file.write_text(f"[[project]]\n{entry}")
    found, _ = results(load(str(file)), tmp_path / "out", settings=Settings(clones=(clone.parent,)))
    assert [row.id for row in found[WHOLE]["a"].rows] == ["train:step", "train:report", "train:scaled"]


def test_init_makes_a_corpus_of_folders_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"# wanted\nowner/name {'a' * 40} inner\n")
    file = tmp_path / "new.toml"
    assert command(["evaluate", "init", str(TINY), str(listed), "--out", str(file)]) == 0
    corpus = load(str(file))
    assert [each.name for each in corpus.projects] == ["hinted", "steps", "name"]
    assert (corpus.folder / corpus.projects[1].path).resolve() == TINY / "steps"
    assert (corpus.projects[2].repository, corpus.projects[2].folder) == ("owner/name", "inner")
    listed.write_text("owner/name\n")
    assert command(["evaluate", "init", str(listed), "--out", str(file)]) == 2
    assert f"{listed}:1: must be REPOSITORY COMMIT [FOLDER]" in capsys.readouterr().err


def test_lines_of_code_leave_out_blanks_comments_and_docstrings() -> None:
    assert code_lines(TINY / "hinted" / "shapes.py") == 5


def test_a_result_says_where_it_comes_from(corpus: Corpus, tmp_path: Path) -> None:
    found, _ = results(corpus, tmp_path, settings=Settings(ablations=("speculation",)))
    provenance: Any = found["speculation"]["steps"].provenance
    assert provenance["options"]["speculate"] is False
    assert {"hybridize", "python", "machine", "tensorflow", "commit", "worker"} <= provenance.keys()
