"""Suggestions name what a person would name: one case for each way a use comes, goes, moves or changes."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from hybridize.study.compare import FilePair
from hybridize.study.history import Repository
from hybridize.study.mine import MineOptions, Miner
from hybridize.study.store import connect, suggestions
from hybridize.study.suggest import suggest, suggest_all
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import EMPTY

sys.path.insert(0, str(Path(__file__).parent))
from histories import History

IMPORT = "import tensorflow as tf\n\n"
BODY = "    a = x + 1\n    b = a * 2\n    c = b - 3\n    return c\n"


def function(name: str, decorator: str = "", body: str = BODY, parameter: str = "x") -> str:
    return f"{decorator}{chr(10) if decorator else ''}def {name}({parameter}):\n{body}\n"


def method(owner: str, *functions: str) -> str:
    inner = "".join("    " + line + "\n" if line else "\n" for text in functions for line in text.split("\n"))
    return f"class {owner}:\n{inner}\n"


def primary(before: str | None, after: str | None) -> str:
    return kinds(before, after)[0]


def kinds(before: str | None, after: str | None) -> list[str]:
    pair = FilePair(
        None if before is None else "a.py",
        None if after is None else "a.py",
        EMPTY if before is None else find_uses(IMPORT + before),
        EMPTY if after is None else find_uses(IMPORT + after),
    )
    return [suggestion.kind for suggestion in suggest([pair])]


F, G = function("f"), function("g", body="    q = x / 5\n    return q\n")
HF = function("f", "@tf.function")
HG = function("g", "@tf.function", body="    q = x / 5\n    return q\n")
SIGNATURE = "input_signature=[tf.TensorSpec([None], tf.float32)]"

CASES = {
    "decorator added": (F, HF, "add_decorator"),
    "decorator removed": (HF, F, "remove_decorator"),
    "decorator commented out": (HF, F.replace("def", "# @tf.function\ndef"), "remove_decorator"),
    "decorator uncommented": ("# @tf.function\n" + F, HF, "re_add"),
    "new file with a hybrid function": (None, HF, "other"),
    "new hybrid function": (F, F + HG, "other"),
    "hybrid function deleted": (F + HG, F, "other"),
    "file deleted": (HF, None, "other"),
    "argument added": (HF, function("f", "@tf.function(reduce_retracing=True)"), "change_argument"),
    "argument value": (
        function("f", "@tf.function(experimental_relax_shapes=False)"),
        function("f", "@tf.function(experimental_relax_shapes=True)"),
        "change_argument",
    ),
    "argument dropped": (function("f", "@tf.function(autograph=False)"), HF, "change_argument"),
    "signature added": (HF, function("f", f"@tf.function({SIGNATURE})"), "add_signature"),
    "signature instead of nothing, on one without arguments": (
        function("f", "@tf.function(input_signature=None)"),
        function("f", f"@tf.function({SIGNATURE})"),
        "add_signature",
    ),
    "signature dropped": (function("f", f"@tf.function({SIGNATURE})"), HF, "change_argument"),
    "signature changed": (
        function("f", f"@tf.function({SIGNATURE})"),
        function("f", f"@tf.function({SIGNATURE})").replace("None", "1"),
        "change_argument",
    ),
    "signature in a variable changed": (
        "S = [tf.TensorSpec([1])]\n" + function("f", "@tf.function(input_signature=S)"),
        "S = [tf.TensorSpec([None])]\n" + function("f", "@tf.function(input_signature=S)"),
        "change_argument",
    ),
    "signature moved into a variable": (
        function("f", f"@tf.function({SIGNATURE})"),
        SIGNATURE.replace("input_signature", "S") + "\n" + function("f", "@tf.function(input_signature=S)"),
        "other",
    ),
    "relocated to another function": (HF + G, F + HG, "relocate"),
    "relocated to a new function": (HF, F + HG, "relocate"),
    "relocated within a class": (
        method("M", function("call", "@tf.function", parameter="self"), G),
        method("M", function("call", parameter="self"), HG),
        "relocate",
    ),
    "more added than removed": (
        HF + "".join(function(f"h{n}", body=f"    return {n}\n") for n in range(5)),
        F + "".join(function(f"h{n}", "@tf.function", body=f"    return {n}\n") for n in range(5)),
        "add_decorator",
    ),
    "moved into a class": (HF, method("M", HF), "relocate"),
    "re-indented": (HF, "if True:\n" + "".join(f"    {line}\n" for line in HF.split("\n")), "other"),
    "nested": (HF, "def main():\n" + "".join(f"    {line}\n" for line in HF.split("\n")), "relocate"),
    "renamed": (HF, HF.replace("def f", "def step"), "relocate"),
    "renamed class": (method("A", HF), method("B", HF), "relocate"),
    "order swapped": (HF + HG, HG + HF, "other"),
    "parameter added": (HF, HF.replace("(x)", "(x, y)"), "other"),
    "reformatted": (
        function("f", "@tf.function(autograph=False)"),
        function("f", "@tf.function(\n    autograph = False,\n)"),
        "other",
    ),
    "only text": (F, F + '"""Now with tf.function"""\n', "other"),
    "only a comment": (HF, HF + "# tf.function is fast\n", "other"),
    "alias introduced, same meaning": (
        HF,
        "function = tf.function\n" + function("f", "@function"),
        "other",
    ),
    "alias with arguments": (
        HF,
        "function = tf.function(reduce_retracing=True)\n" + function("f", "@function"),
        "change_argument",
    ),
    "alias's arguments changed": (
        "function = tf.function(reduce_retracing=False)\n" + function("f", "@function"),
        "function = tf.function(reduce_retracing=True)\n" + function("f", "@function"),
        "change_argument",
    ),
    "alias applied": (
        "function = tf.function\n" + F,
        "function = tf.function\n" + function("f", "@function"),
        "add_decorator",
    ),
    "alias switched off": (
        "function = tf.function\n" + function("f", "@function"),
        "function = lambda f: f\n" + function("f", "@function"),
        "remove_decorator",
    ),
    "wrapping call added": (F, F + "f = tf.function(f)\n", "add_decorator"),
    "wrapping call removed": (F + "g = tf.function(f)\n", F + "g = f\n", "remove_decorator"),
    "wrapping call instead of decorator": (HF, F + "f = tf.function(f)\n", "relocate"),
    "wrapping call with a signature": (
        F + "g = tf.function(f)\n",
        F + f"g = tf.function(f, {SIGNATURE})\n",
        "add_signature",
    ),
    "wrapping call of something else's method": (
        "def main(m):\n    return m.call\n",
        "def main(m):\n    return tf.function(m.call)\n",
        "add_decorator",
    ),
    "wrapped expression renamed": (
        "def main(m):\n    return tf.function(m.likelihood)\n",
        "def main(m):\n    return tf.function(m.elbo)\n",
        "other",
    ),
    "first of two of one name": (
        F + function("f", body="    return 0\n"),
        HF + function("f", body="    return 0\n"),
        "add_decorator",
    ),
    "another of the same name put first": (
        HF,
        function("f", body="    return 0\n") + HF,
        "other",
    ),
    "module kept as a field": (
        "class B:\n    def compile(self, func):\n        return self.tf.function(func)\n",
        "class B:\n    def compile(self, func):\n        return func\n",
        "remove_decorator",
    ),
    "Python 2": (F + "print 'x'\n", HF + "print 'x'\n", "add_decorator"),
    "another object of the same name": (HF, function("f", "@backend.function"), "other"),
    "back from another object of the same name": (function("f", "@backend.function(x=1)"), HF, "other"),
    "decorator of what is wrapped, too": (HF + "f = tf.function(f)\n", F + "f = tf.function(f)\n", "remove_decorator"),
    "wrapping call with arguments instead of a decorator": (
        HF,
        F + "f = tf.function(f, jit_compile=True)\n",
        "relocate",
    ),
    "one line renamed": (
        function("f", "@tf.function", "    return x + 1\n"),
        function("step", "@tf.function", "    return x + 1\n"),
        "relocate",
    ),
    "another function wrapped where one was": (
        "def build():\n    def old(x):\n        return x + 1\n    return tf.function(old)\n",
        "def build():\n    def new(x, y):\n        return x * y\n    return tf.function(new)\n",
        "relocate",
    ),
    "one of as many moved as deleted": (HF + HG, method("M", HF), "relocate"),
    "one function instead of two wrapped at six places": (
        function("call", "@tf.function", parameter="layer, x")
        + "".join(function(f"test{n}", body="    return call(m.f, x)\n") for n in range(6)),
        "".join(function(f"test{n}", body="    return tf.function(m.f)(x)\n") for n in range(6)),
        "relocate",
    ),
    "arguments of more than moved": (
        HF + G + "".join(function(f"h{n}", "@tf.function", f"    return {n}\n") for n in range(3)),
        F + HG + "".join(function(f"h{n}", "@tf.function(jit_compile=True)", f"    return {n}\n") for n in range(3)),
        "change_argument",
    ),
}


@pytest.mark.parametrize(("before", "after", "kind"), CASES.values(), ids=CASES.keys())
def test_the_primary_kind(before, after, kind):
    assert primary(before, after) == kind


def test_several_may_hold():
    before = HF + G
    after = function("f", f"@tf.function({SIGNATURE})") + HG
    assert set(kinds(before, after)) == {"add_decorator", "add_signature", "other"}


def test_moved_to_another_file():
    pairs = [
        FilePair("a.py", "a.py", find_uses(IMPORT + HF), find_uses(IMPORT)),
        FilePair(None, "b.py", EMPTY, find_uses(IMPORT + method("M", HF))),
    ]
    assert suggest(pairs)[0].kind == "relocate"
    assert "moved" in suggest(pairs)[0].evidence[0].message


def test_pulled_up_into_the_base_class():
    def call(decorator: str) -> str:
        return method("Base", function("call", decorator, "    raise NotImplementedError\n"))

    pairs = [
        FilePair("base.py", "base.py", find_uses(IMPORT + call("")), find_uses(IMPORT + call("@tf.function"))),
        FilePair("sub.py", "sub.py", find_uses(IMPORT + method("Sub", HF.replace("f(", "call("))), find_uses(IMPORT)),
    ]
    assert suggest(pairs)[0].kind == "relocate"


def test_new_code_counts_where_the_message_says_that_it_is_for_hybridization():
    pair = FilePair("a.py", "a.py", find_uses(IMPORT + F), find_uses(IMPORT + F + HG))
    assert suggest([pair], message="Run inference in a helper with tf.function")[0].kind == "add_decorator"
    assert suggest([pair], message="Add a metric")[0].kind == "other"
    assert suggest([pair], message="tf.function decorated helpers")[0].kind == "add_decorator"
    assert suggest([pair], message="Add JIT option")[0].kind == "add_decorator"
    test = FilePair("a_test.py", "a_test.py", pair.before, pair.after)
    assert suggest([test], message="Test the helper with tf.function")[0].kind == "other"


def test_code_that_comes_and_goes_around_one_change_is_a_rewrite():
    gone = "".join(function(f"h{n}", "@tf.function", body=f"    return {n}\n") for n in range(3))
    pair = FilePair(
        "a.py",
        "a.py",
        find_uses(IMPORT + HF + gone),
        find_uses(IMPORT + function("f", "@tf.function(autograph=False)")),
    )
    assert suggest([pair])[0].kind == "other"


def test_code_in_files_of_its_own_does_not_hide_what_happened_to_old_code():
    new = "".join(function(f"h{n}", "@tf.function", body=f"    return {n}\n") for n in range(5))
    pairs = [
        FilePair("a.py", "a.py", find_uses(IMPORT + F), find_uses(IMPORT + HF)),
        FilePair(None, "b.py", EMPTY, find_uses(IMPORT + new)),
    ]
    assert suggest(pairs)[0].kind == "add_decorator"


def test_pushed_into_another_files_function_of_another_class():
    def call(owner: str, name: str, decorator: str) -> str:
        return method(owner, function(name, decorator, parameter="self"))

    pairs = [
        FilePair(
            "a.py",
            "a.py",
            find_uses(IMPORT + call("A", "step", "@tf.function")),
            find_uses(IMPORT + call("A", "_step", "")),
        ),
        FilePair(
            "b.py",
            "b.py",
            find_uses(IMPORT + call("B", "step", "")),
            find_uses(IMPORT + call("B", "step", "@tf.function")),
        ),
    ]
    assert suggest(pairs)[0].kind == "relocate"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Docs; added tf.function back to f", "re_add"),
        ("Re-add the decorator", "re_add"),
        ("Fall back to tf.function", "add_decorator"),
    ],
)
def test_a_message_may_say_that_a_use_comes_back(message, kind):
    assert (
        suggest([FilePair("a.py", "a.py", find_uses(IMPORT + F), find_uses(IMPORT + HF))], message=message)[0].kind
        == kind
    )


def test_a_wrapping_call_put_under_a_condition_goes():
    free = "def build(f, fast):\n    f = tf.function(f)\n    return f\n"
    bound = "def build(f, fast):\n    if fast:\n        f = tf.function(f)\n    return f\n"
    assert primary(free, bound) == "remove_decorator"
    assert primary(bound, free) == "add_decorator"


def test_confidences_are_shares_and_clear_cases_are_surer():
    def first(before: str, after: str) -> float:
        found = suggest([FilePair("a.py", "a.py", find_uses(IMPORT + before), find_uses(IMPORT + after))])
        assert all(0 <= s.confidence <= 1 for s in found)
        assert sum(s.confidence for s in found) <= 1.01
        return found[0].confidence

    assert first(F, HF) > first(HF + G, F + HG)


def test_evidence_names_function_and_line():
    evidence = suggest([FilePair("a.py", "a.py", find_uses(IMPORT + F), find_uses(IMPORT + HF))])[0].evidence[0]
    assert (evidence.message, evidence.path, evidence.line) == ("f gets @tf.function", "a.py", 3)


# -- with a history --------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return connect(tmp_path / "study.db")


def suggested(database: sqlite3.Connection, history: History) -> dict[str, list[str]]:
    Miner(database, Repository(history.path), "o/n", MineOptions(all_changes=True)).run()
    suggest_all(database)
    return {
        row["title"]: [s.kind for s in suggestions(database, row["id"])]
        for row in database.execute("SELECT id, title FROM item")
    }


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.new(tmp_path / "r")


def test_re_added_after_an_earlier_removal(database, history):
    history.commit("start", {"a.py": IMPORT + HF})
    history.commit("off", {"a.py": IMPORT + F})
    history.commit("unrelated", {"a.py": IMPORT + F + HG})
    history.commit("on again", {"a.py": IMPORT + HF + HG})
    found = suggested(database, history)
    assert {title: kinds[0] for title, kinds in found.items()} == {
        "start": "other",
        "off": "remove_decorator",
        "unrelated": "other",
        "on again": "re_add",
    }


def test_another_files_removal_is_no_history(database, history):
    history.commit("start", {"a.py": IMPORT + HF, "b.py": IMPORT + F})
    history.commit("off in a", {"a.py": IMPORT + F})
    history.commit("on in b", {"b.py": IMPORT + HF})
    assert suggested(database, history)["on in b"] == ["add_decorator", "other"]


def test_a_library_upgrade_by_itself_and_beside(database, history):
    history.commit("start", {"a.py": IMPORT + F, "requirements.txt": "tensorflow==2.1\n"})
    history.commit("both", {"a.py": IMPORT + HF, "requirements.txt": "tensorflow>=2.3\n"})
    history.commit("text", {"a.py": IMPORT + HF + "# tf.function\n", "requirements.txt": "tensorflow>=2.4\n"})
    found = suggested(database, history)
    assert found["both"][0] == "add_decorator"
    assert "upgrade_library" in found["both"]
    assert found["text"] == ["upgrade_library", "other"]


def test_a_suggestion_is_no_rating(database, history):
    history.commit("start", {"a.py": IMPORT + HF})
    suggested(database, history)
    assert database.execute("SELECT count(*) FROM rating").fetchone()[0] == 0


def test_changesets_that_are_not_selected_are_not_looked_at(database, history):
    history.commit("new thing", {"a.py": IMPORT + HF})
    history.commit("fix it", {"a.py": IMPORT + F})
    Miner(database, Repository(history.path), "o/n", MineOptions()).run()
    assert suggest_all(database) == 1


def test_suggesting_again_changes_nothing(database, history):
    history.commit("start", {"a.py": IMPORT + HF})
    first = suggested(database, history)
    suggest_all(database, again=True)
    assert suggested(database, history) == first
