"""What the parser lets pass and the compiler refuses is an error of its file: the other files are analyzed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x = 1\nbreak\n", 2, "'break' outside loop"),
        ("for i in range(3):\n    def f():\n        continue\n", 3, "'continue' not properly in loop"),
        ("while True:\n    class A:\n        break\n", 3, "'break' outside loop"),
    ],
)
def test_a_jump_out_of_no_loop(text: str, line: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(text, "utf-8")
    (tmp_path / "right.py").write_text("def f(x):\n    return x\n", "utf-8")
    report = analyze([tmp_path], Config())
    assert [f.facts.qualname for f in report.functions] == ["f"]
    (error,) = report.errors
    assert (error.path, error.line) == ("wrong.py", line)
    assert error.message == f"is not valid Python: {said}"
