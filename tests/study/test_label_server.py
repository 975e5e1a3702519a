"""The labelling server without a browser: who may ask, what it answers, and what a hostile diff becomes."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from hybridize.study.label import diff
from hybridize.study.label.items import _safe
from hybridize.study.label.server import MAX_BODY, LabelServer, Settings
from hybridize.study.store import ChangedFile, ChangedFunction


@pytest.fixture
def server(study_file: Path) -> Iterator[LabelServer]:
    running = LabelServer(Settings(study_file), 0)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def ask(
    server: LabelServer, path: str, data: Any = None, raw: bytes | None = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    body = raw if raw is not None else None if data is None else json.dumps(data).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
    connection.request("GET" if body is None else "POST", path, body, sent)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    kind = answer.headers.get_content_type()
    return answer.status, json.loads(content) if kind == "application/json" else content, dict(answer.headers)


def join(server: LabelServer, *names: str) -> None:
    for name in names:
        assert ask(server, "/api/raters", {"name": name})[0] == 200


def blank(**changes: Any) -> dict[str, Any]:
    return {"is_fix": None, "comment": "", "discuss": False, **changes}


def test_it_listens_on_loopback_only(server: LabelServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_is_one_origin_with_a_strict_policy(server: LabelServer) -> None:
    for path in ("/", "/app.js", "/form.js", "/views.js", "/style.css"):
        code, content, headers = ask(server, path)
        assert code == 200
        assert b"http://" not in content
        assert b"https://" not in content
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert b"innerHTML" not in b"".join(ask(server, f"/{name}.js")[1] for name in ("app", "form", "views"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_rebinding_and_forgery_are_turned_away(server: LabelServer, headers: dict[str, str]) -> None:
    for path, data in (("/", None), ("/api/state", None), ("/api/raters", {"name": "eve"})):
        assert ask(server, path, data, **headers)[0] == 403
    assert ask(server, "/api/state")[1]["raters"] == []


def test_only_json_of_a_sane_size_is_taken(server: LabelServer) -> None:
    assert ask(server, "/api/raters", raw=b"name=eve", Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert ask(server, "/api/raters", raw=b'{"name":"eve"}', Content_Type="text/plain")[0] == 415
    assert ask(server, "/api/raters", raw=b"x", Content_Length=str(MAX_BODY + 1))[0] == 413
    assert ask(server, "/api/raters", raw=b"x", Content_Length="-1")[0] == 413
    for body in (b"", b"nonsense", b"[]", b"[" * 100_000, b"\xff\xfe"):
        assert ask(server, "/api/raters", raw=body)[0] == 400
    assert ask(server, "/api/draft", {"item": 3, "rater": "x", "form": {}, "revision": 0})[0] == 400
    assert ask(server, "/../server.py")[0] == 404
    assert ask(server, "/api/none", {})[0] == 404


def test_a_rating_from_draft_to_reconciled(server: LabelServer, items: list[str]) -> None:
    join(server, "ana", "bo")
    item = items[0]
    draft = {"item": item, "rater": "ana", "form": blank(is_fix=True), "revision": 0}
    code, answer, _ = ask(server, "/api/draft", draft)
    assert (code, answer["revision"], answer["state"]) == (200, 1, "draft")
    assert [problem["field"] for problem in answer["problems"]] == ["category"]
    code, answer, _ = ask(server, "/api/draft", draft)
    assert (code, answer["current"]["revision"]) == (409, 1)
    assert ask(server, "/api/submit", draft | {"revision": 1})[0] == 422
    good = blank(is_fix=True, category={"choice": "Test", "new": "", "comment": ""})
    assert ask(server, "/api/submit", draft | {"revision": 1, "form": good})[0] == 200
    assert ask(server, "/api/compare", {"item": item, "rater": "ana"})[0] == 403
    no = {"item": item, "rater": "bo", "form": blank(is_fix=False), "revision": 0}
    assert ask(server, "/api/submit", no)[0] == 200
    code, answer, _ = ask(server, "/api/compare", {"item": item, "rater": "ana"})
    assert [one["rater"] for one in answer["ratings"]] == ["ana", "bo"]
    final = {"item": item, "rater": "ana", "forms": [good], "tag": answer["tag"]}
    assert ask(server, "/api/reconcile", final)[0] == 200
    assert ask(server, "/api/reconcile", final | {"forms": [blank(is_fix=False)]})[0] == 409
    assert ask(server, "/api/agreement?round=one")[1]["ratings"] == 2


def test_two_raters_saving_at_once_lose_nothing(server: LabelServer, items: list[str]) -> None:
    join(server, "ana", "bo")
    codes: list[int] = []

    def type_text(rater: str) -> None:
        for revision in range(25):
            data = {"item": items[0], "rater": rater, "form": blank(comment="x" * (revision + 1)), "revision": revision}
            codes.append(ask(server, "/api/draft", data)[0])

    raters = [threading.Thread(target=type_text, args=(rater,)) for rater in ("ana", "bo")]
    for thread in raters:
        thread.start()
    for thread in raters:
        thread.join()
    assert codes == [200] * 50
    for rater in ("ana", "bo"):
        rating = ask(server, f"/api/item?rater={rater}&id={quote(items[0])}")[1]["rating"]
        assert (rating["revision"], rating["form"]["comment"]) == (25, "x" * 25)


def test_nobody_sees_anothers_answer_in_queue_item_or_state(server: LabelServer, items: list[str]) -> None:
    join(server, "ana", "bo")
    form = blank(is_fix=False, comment="SECRET")
    ask(server, "/api/submit", {"item": items[0], "rater": "ana", "form": form, "revision": 0})
    for path in (
        "/api/queue?rater=bo&round=one",
        f"/api/item?rater=bo&id={quote(items[0])}",
        "/api/state",
        "/api/agreement?round=one",
    ):
        code, answer, _ = ask(server, path)
        assert code == 200
        assert "SECRET" not in json.dumps(answer)


def test_an_issue_thread_and_a_changeset_are_shown(server: LabelServer, items: list[str]) -> None:
    join(server, "ana")
    issue = ask(server, f"/api/item?rater=ana&id={quote(items[4])}")[1]["item"]
    assert issue["comments"][0]["body"] == "same here"
    change = ask(server, f"/api/item?rater=ana&id={quote(items[0])}")[1]["item"]
    assert change["url"] == f"https://example.org/o/r/commit/{1:040x}"
    assert change["files"][0]["functions"] == [{"name": "step", "added": 1, "removed": 0, "line": 10}]
    assert ask(server, "/api/item?rater=ana&id=commit:none")[0] == 403


def changed(before: str | None, after: str | None, *functions: ChangedFunction) -> ChangedFile:
    return ChangedFile("M", "a.py", "a.py", before, after, False, "tree", functions)


def test_side_by_side_aligns_marks_words_and_folds_the_rest() -> None:
    before = "\n".join(f"line {n}" for n in range(100)) + "\n"
    after = before.replace("line 50\n", "line fifty\n").replace("line 70\n", "line 70\nnew\n")
    rows = diff.side_by_side(changed(before, after), "tf.function")["rows"]
    assert [row["t"] for row in rows if row["t"] != "="] == ["gap", "~", "gap", "+", "gap"]
    edited = next(row for row in rows if row["t"] == "~")
    assert (edited["l"]["n"], edited["l"]["m"], edited["r"]["m"]) == (51, [(5, 7)], [(5, 10)])
    everything = diff.side_by_side(changed(before, after), "tf.function", everything=True)["rows"]
    assert len(everything) == 101
    assert sum(row["count"] if row["t"] == "gap" else 1 for row in rows) == 101


def test_the_changed_function_is_whole_and_its_uses_are_marked() -> None:
    before = "a\n" * 30 + "def f():\n" + "    b\n" * 20 + "c\n" * 30
    after = before.replace("def f", "@function\ndef f")
    function = ChangedFunction("f", 1, 0, (), ("@function",), (31, 51), (31, 52))
    rows = diff.side_by_side(changed(before, after, function), "tf.function")["rows"]
    inside = [row for row in rows if row["t"] != "gap" and row["r"]["f"]]
    assert len(inside) == 22
    assert [row["r"]["s"] for row in rows if row["t"] != "gap" and row["r"] and row["r"]["u"]] == ["@function"]


@pytest.mark.parametrize(("before", "after"), [(None, "a\n"), ("a\n", None), ("", ""), ("a", "a\n"), ("a\r\n", "a\n")])
def test_edges_of_files(before: str | None, after: str | None) -> None:
    found = diff.side_by_side(changed(before, after), "tf.function")
    assert not found["missing"]


def test_a_huge_rewrite_is_shown_without_aligning_it() -> None:
    before = "\n".join(f"old {n}" for n in range(9000))
    after = "\n".join(f"new {n}" for n in range(9000))
    assert len(diff.side_by_side(changed(before, after), "tf.function")["rows"]) == 9000


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "https://a b", 'https://a"b', "", None])
def test_only_web_addresses_become_links(url: str | None) -> None:
    assert _safe(url) is None


def test_with_a_token_only_who_has_the_address_gets_data(study_file: Path) -> None:
    running = LabelServer(Settings(study_file, token="s3cret"), 0)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    try:
        assert running.url.endswith("/#token=s3cret")
        assert ask(running, "/")[0] == 200
        for path, data in (("/api/state", None), ("/api/raters", {"name": "eve"})):
            assert ask(running, path, data)[0] == 401
            assert ask(running, path, data, X_Token="s3cre")[0] == 401
        assert ask(running, "/api/state", X_Token="s3cret")[1]["raters"] == []
    finally:
        running.shutdown()
        running.server_close()
        thread.join()
