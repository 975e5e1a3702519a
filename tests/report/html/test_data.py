"""What the page is drawn from: the data, and the lines of sources that go with it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from hybridize.decide.model import Action, Call, Decision, FunctionReport, ProjectInfo, Report
from hybridize.records import replace
from hybridize.report.documentation import load_docs
from hybridize.report.html.page import render
from hybridize.report.html.page_data import page_data, places
from hybridize.report.html.page_sources import LONGEST, SMALL, sources
from report.samples import CONVERT, DEHYBRIDIZE, KEEP, RECURSIVE, SAMPLE, facts

DOCS = load_docs()


def data_of(report: Report, **diffs: str) -> dict[str, Any]:
    return page_data(report, diffs, DOCS, "hybridize 1.0")


def row(columns: dict[str, list[Any]], number: int) -> dict[str, Any]:
    return {name: column[number] for name, column in columns.items()}


def chain(data: dict[str, Any], number: int) -> list[tuple[str, str, int]]:
    """The steps of a chain, unpacked as the page does it."""
    steps, nexts = data["chains"]
    found = []
    while number:
        step = sum(steps[:number])
        message, file, line = (column[step] for column in data["steps"])
        found.append((message, data["files"][file], line))
        number -= nexts[number - 1]
    return found


def test_a_function_has_its_verdict_in_the_words_of_every_report() -> None:
    first = row(data_of(SAMPLE)["functions"], 0)
    assert first["verdict"] == "to hybrid"
    assert first["change"] == "add `@tf.function` to the definition on line 42"
    assert first["gain"] == first["won"] == 3.25
    assert first["rests"].startswith("P1: eager, tensor parameters (images, labels)")


def test_what_is_wrong_with_a_graph_is_among_the_findings() -> None:
    found = data_of(replace(SAMPLE, functions=(*SAMPLE.functions, RECURSIVE)))
    both = [row(found["findings"], i) for i in range(2)]
    assert [(each["code"], each["severity"]) for each in both] == [("HY004", "warning"), ("TF301", "warning")]
    assert both[0]["function"] == len(SAMPLE.functions)
    assert sum(sum(row[1:]) for row in found["categories"]) == 2


def test_taking_a_graph_away_wins_what_the_graph_costs() -> None:
    slow = replace(DEHYBRIDIZE, decision=Decision(Action.CONVERT_TO_EAGER, "P2", benefit=0.2))
    found = row(data_of(replace(SAMPLE, functions=(slow,)))["functions"], 0)
    assert (found["gain"], found["won"]) == (0.2, 5.0)


def test_chains_are_shared_and_come_back_whole() -> None:
    data = data_of(SAMPLE)
    expected = [
        ("calls `log`", "trainer.py", 63),
        ("calls `record`", "trainer.py", 75),
        ("appends to `self.losses`", "trainer.py", 88),
    ]
    assert chain(data, data["statuses"]["chain"][0]) == expected
    fact = data["functions"]["facts"][1][2]
    assert fact[0] == 1
    assert chain(data, fact[1]) == expected
    assert data["steps"][0].count("appends to `self.losses`") == 1


def test_the_plan_has_the_best_gain_first_and_then_what_has_none() -> None:
    better = FunctionReport(facts("trainer:best", 200), Decision(Action.CONVERT_TO_HYBRID, "P1", (), 9.0))
    data = data_of(replace(SAMPLE, functions=(DEHYBRIDIZE, CONVERT, KEEP, better)))
    assert data["plan"] == [3, 1, 0]


def test_calls_name_functions_and_files_by_number() -> None:
    calls = (
        Call("", "trainer:Trainer.fit", "main.py", 3),
        Call("trainer:Trainer.fit", "trainer:Trainer.step", "trainer.py", 63),
        Call("trainer:Trainer.fit", "gone:nobody", "trainer.py", 64),
    )
    data = data_of(replace(SAMPLE, calls=calls))
    callers, callees, lines = data["calls"]
    module = -1 - data["files"].index("main.py")
    assert [callers[0], sum(callers)] == [module, 1]
    assert [module + callees[0], 1 + callees[1]] == [1, 0]
    assert lines == [3, 63]


def test_findings_are_counted_by_the_category_of_their_rule() -> None:
    state, unknown = replace(SAMPLE.findings[0], code="HY602", name="stale-state"), SAMPLE.findings[0]
    data = data_of(replace(SAMPLE, findings=(state, unknown, state)))
    assert data["categories"] == [["state", 0, 2, 0], ["other", 0, 1, 0]]
    assert data["codes"]["HY602"][0] == "stale-state"


def test_nothing_tells_of_the_machine_or_the_time() -> None:
    text = json.dumps(data_of(replace(SAMPLE, project=ProjectInfo("/home/me/secret/nets", 3, 4200, 12.5))))
    assert "nets" in text
    assert "secret" not in text
    assert "12.5" not in text


def test_a_name_of_a_folder_that_is_nothing_to_see() -> None:
    assert data_of(replace(SAMPLE, project=ProjectInfo("/", 0, 0, 0.0)))["title"] == "project"


def test_every_line_that_something_speaks_of_is_among_the_places() -> None:
    data = data_of(SAMPLE)
    found = {data["files"][file]: ranges for file, ranges in places(data).items()}
    assert (42, 51) in found["trainer.py"]
    assert (88, 88) in found["trainer.py"]
    assert (12, 12) in found["main.py"]


def excerpt(folder: Path, name: str, *ranges: tuple[int, int]) -> dict[str, Any]:
    found = sources(str(folder), [name], {0: ranges})[0]
    assert found is not None
    return found


def test_of_a_large_project_what_is_spoken_of_is_shown_with_its_context(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"line{i}\n" for i in range(1, 101)) + "#" * SMALL)
    found = excerpt(tmp_path, "a.py", (10, 12), (13, 13), (90, 95))
    assert found["lines"] == 101
    assert [first for first, _ in found["parts"]] == [7, 87]
    assert found["parts"][0][1].split("\n") == [f"line{i}" for i in range(7, 17)]


def test_a_part_that_begins_within_a_string_says_so(tmp_path: Path) -> None:
    quotes = "'" * 3
    lines = ["x = 'a'  # don't " + '"' * 3, quotes, *["text"] * 20, quotes, "def f():", "    pass", "#" * SMALL]
    (tmp_path / "a.py").write_text("\n".join(lines))
    parts = excerpt(tmp_path, "a.py", (1, 1), (12, 12), (24, 25))["parts"]
    assert [(part[0], part[2:]) for part in parts] == [(1, []), (9, [quotes]), (21, [quotes])]


def test_files_of_a_small_project_are_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"line{i}\n" for i in range(1, 101)))
    found = excerpt(tmp_path, "a.py", (10, 12))
    assert [(first, text.count("\n")) for first, text in found["parts"]] == [(1, 99)]


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = '" + "a" * 1_000_000 + "'\n")
    found = excerpt(tmp_path, "a.py", (1, 2))
    assert found["cut"] == {"2": 1_000_006 - LONGEST}
    assert len(found["parts"][0][1]) < 2 * LONGEST


def test_what_is_not_spoken_of_and_what_is_gone_has_no_source(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert sources(str(tmp_path), ["a.py", "gone.py"], {1: [(1, 1)]}) == [None, None]


def test_cells_of_a_notebook_are_told(tmp_path: Path) -> None:
    cells = [
        {"cell_type": kind, "metadata": {}, "source": "x = 1\ny = 2", "outputs": []}
        for kind in ("code", "markdown", "code")
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    found = excerpt(tmp_path, "n.ipynb", (1, 4))
    assert found["cells"] == [[1, 1], [3, 3]]


@pytest.fixture
def page(tmp_path: Path) -> str:
    (tmp_path / "trainer.py").write_text("# " + "</script><script>alert(1)</script>\n" * 60)
    report = replace(SAMPLE, project=ProjectInfo(str(tmp_path), 3, 4200, 0.5))
    return render(report, {"trainer:Trainer.step": "--- </script>\n"}, DOCS, "1.0")


def unpacked(page: str, name: str) -> Any:
    packed = re.search(rf'id="{name}">([^<]*)<', page)
    assert packed is not None
    text = packed.group(1).translate(str.maketrans(",.:", "<>&"))
    return json.loads(zlib.decompress(base64.b85decode(text)))


def test_the_page_holds_data_and_sources_as_text_that_html_cannot_misread(page: str) -> None:
    assert page.count("<script") == page.count("</script>") == 3
    assert unpacked(page, "data")["functions"]["diff"][0] == "--- </script>\n"
    assert "</script><script>alert(1)" in unpacked(page, "sources")[0]["parts"][0][1]


def test_the_policy_names_the_hashes_of_what_is_in_the_page_and_forbids_the_rest(page: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        assert body is not None
        digest = base64.b64encode(hashlib.sha256(body.group(1).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy.group(1)


def test_the_page_asks_for_nothing_from_anywhere(page: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"<(?:link|img|iframe|object|embed)\b|@import|url\(", page)


def test_the_same_report_gives_the_same_page(page: str, tmp_path: Path) -> None:
    report = replace(SAMPLE, project=ProjectInfo(str(tmp_path), 3, 4200, 99.0))
    assert render(report, {"trainer:Trainer.step": "--- </script>\n"}, DOCS, "1.0") == page


def test_a_hostile_name_of_a_project_is_text(tmp_path: Path) -> None:
    root = tmp_path / "</title><script>alert(1)<"
    report = replace(SAMPLE, project=ProjectInfo(str(root / "\udcff<b>"), 3, 4200, 0.5))
    text = render(report, {}, DOCS, "1.0")
    assert "<title>\\udcff&lt;b&gt;: hybridize</title>" in text
    assert text.count("<script") == 3
