"""From what the child told to verdicts, and to the rules that explain an exception."""

from typing import Any

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport
from hybridize.runtime.explain_error import error_places, rule_of
from hybridize.runtime.launch import Ended
from hybridize.runtime.verify import judge


def functions(tmp_path: Any) -> tuple[FunctionReport, ...]:
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\n\ndef f(x):\n    return x.numpy()\n\ndef g(x):\n    return x * 2\n"
        "f(tf.constant(1.0))\ng(tf.constant(1.0))\n"
    )
    return analyze([tmp_path], Config()).functions


def told(number: int, pid: int = 1, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "event": "function", "pid": pid, "function": number, "calls": 3, "in_graph": 0, "compared": 2, "alone": 1,
        "traces": 1, "creators": 0, "specs": 1, "retraces": False, "causes": [], "verdict": "equal", "level": "",
        "differences": [], "first": 0, "error": None, "callees": [], "through": [], "skipped": {}, "notes": [],
        "eager_seconds": 0.002, "graph_seconds": 0.001, "trace_seconds": 0.1, "rounding": 0.0,
    }  # fmt: skip
    return {**event, **changes}


ERROR = {
    "type": "AttributeError",
    "bases": ["Exception"],
    "message": 'in user code:\n\n    File "/x/a.py", line 4, in f  *\n        return x.numpy()\n\n'
    "    AttributeError: 'SymbolicTensor' object has no attribute 'numpy'\n",
    "frames": [["/lib/tensorflow/x.py", 7, "call", ""]],
}


def test_the_last_word_of_every_process_counts_and_the_worst_verdict(tmp_path: Any) -> None:
    events = (
        told(0, calls=1, verdict=None),
        told(0),
        told(0, pid=2, verdict="raised", first=1, error=ERROR),
    )
    f, g = judge(functions(tmp_path), Ended(0, 1.0, "exit", events))
    assert (f.kind, f.calls, f.failed, f.first) == ("raised", 6, True, 1)
    assert [code for code, _, _ in f.rules] == ["HY301"]
    assert (g.kind, g.failed) == ("not reached", False)
    assert g.objection == "not verified: not reached"


def test_how_far_equal_numbers_are_apart_is_told(tmp_path: Any) -> None:
    events = (told(1, largest=[2e-7, 4e-6]), told(1, pid=2, largest=[1e-7, 9e-6]))
    _, g = judge(functions(tmp_path), Ended(0, 1.0, "exit", events))
    assert (g.kind, g.largest) == ("equal", (2e-7, 4e-6))


def test_kinds(tmp_path: Any) -> None:
    both = functions(tmp_path)

    def kind(**changes: Any) -> str:
        return judge(both, Ended(0, 1.0, "exit", (told(1, **changes),)))[1].kind

    assert kind() == "equal"
    assert kind(verdict="random") == "random"
    assert kind(retraces=True) == "retraces"
    assert kind(retraces=True, verdict="different") == "different"
    assert kind(verdict=None, calls=0, in_graph=2) == "in graphs"
    assert kind(verdict=None, skipped={"why": 3}) == "not compared"


def test_what_is_equal_and_not_slower_has_no_objection(tmp_path: Any) -> None:
    both = functions(tmp_path)

    def objection(**changes: Any) -> str | None:
        return judge(both, Ended(0, 1.0, "exit", (told(1, **changes),)))[1].objection

    assert objection() is None
    assert objection(eager_times=[0.003], graph_times=[0.001]) is None
    assert "few calls" in (objection(eager_times=[0.001], graph_times=[0.003]) or "")
    causes = [{"parameter": "n", "kind": "Python int", "count": 9, "examples": ["1", "2"]}]
    assert "`n`: Python int (1, 2)" in (objection(retraces=True, causes=causes, traces=10) or "")


def test_a_graph_that_ends_the_process_has_raised(tmp_path: Any) -> None:
    events = (told(1), {"event": "graph", "pid": 1, "function": 0, "runs": True})
    f, g = judge(functions(tmp_path), Ended(-11, 1.0, "exit", events))
    assert (f.kind, g.kind) == ("raised", "equal")
    assert "ended the process" in str((f.error or {})["message"])
    assert judge(functions(tmp_path), Ended(-2, 1.0, "interrupted", events))[0].kind == "not reached"


def test_words_of_tensorflow_lead_to_rules() -> None:
    words = {
        "ValueError: tf.function only supports singleton tf.Variables created on the first call.": "HY250",
        "ValueError: f(x) should not modify its Python input arguments.": "HY205",
        "NotImplementedError: Cannot convert a symbolic tf.Tensor (x:0) to a numpy array.": "HY340",
        "TypeError: unhashable type: 'dict'": "HY260",
        "Something: else": None,
    }
    for text, code in words.items():
        kind, _, message = text.partition(": ")
        found = rule_of({"type": kind, "bases": [], "message": message, "frames": []})
        assert (found[0] if found else None) == code, text
    assert error_places(ERROR) == {("/x/a.py", 4), ("/lib/tensorflow/x.py", 7)}
