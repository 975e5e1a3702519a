"""docs/concepts.md: its programs print what stands below them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")
PROGRAM, PRINTED = zip(*re.findall(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", PAGE, re.DOTALL), strict=True)


@pytest.mark.tensorflow
def test_the_programs_print_what_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    file = tmp_path / "concepts.py"
    file.write_text("print('---')\n".join(PROGRAM), encoding="utf-8")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split("---\n") == list(PRINTED)


def test_nothing_is_printed_unseen() -> None:
    assert len(PROGRAM) > 8
    assert [bool(printed) for printed in PRINTED] == ["print(" in program for program in PROGRAM]
