"""`scripts/verdicts.py`: the same project gives the same lines, and what differs between two trees is counted."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import verdicts

SOURCE = dedent(
    """\
    import tensorflow as tf

    @tf.function
    def noisy(x):
        print("noise")
        return tf.square(x)

    print(noisy(tf.ones([2, 3])))
    """
)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    home = tmp_path_factory.mktemp("home") / "small"
    home.mkdir()
    (home / "main.py").write_text(SOURCE, encoding="utf-8")
    out = home.parent / "verdicts.txt"
    assert verdicts.main([str(home), "--out", str(out), "--evidence"]) == 0
    assert str(home) not in out.read_text(encoding="utf-8")
    return out.read_text(encoding="utf-8").splitlines()


def test_every_kind_has_its_lines_in_order(lines: list[str]) -> None:
    assert lines == sorted(lines)
    said = {line.split("\t")[3]: line for line in lines}
    assert {"decision", "fact", "finding", "parameter"} <= said.keys()
    assert said["decision"].startswith("small\tmain.py:4\tnoisy\tdecision\t")
    assert "types=dense float32 [2, 3]" in said["parameter"]
    assert any(line.startswith("small\tmain.py:5:5\tmain:noisy\tfinding\tHY") for line in lines)


def test_what_differs_is_counted_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    same = "p\ta.py:1\tf\tfact\trecursive no\n"
    old.write_text(same + "p\ta.py:1\tf\tdecision\tkeep None\np\ta.py:2\tf\tfinding\tHY101 error x\n", encoding="utf-8")
    new.write_text(same + "p\ta.py:1\tf\tdecision\tconvert_to_hybrid P1\n", encoding="utf-8")
    assert verdicts.main(["--compare", str(old), str(new)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "decision: -1 +1",
        "  convert_to_hybrid: -0 +1",
        "  keep: -1 +0",
        "- p\ta.py:1\tf\tdecision\tkeep None",
        "+ p\ta.py:1\tf\tdecision\tconvert_to_hybrid P1",
        "finding: -1 +0",
        "  HY101: -1 +0",
        "- p\ta.py:2\tf\tfinding\tHY101 error x",
    ]
    assert verdicts.main(["--compare", str(old), str(old)]) == 0


def test_a_tool_that_fails_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.hybridize]\nselect = 1\n", encoding="utf-8")
    (only,) = verdicts.lines(tmp_path)
    assert only.split("\t")[3] == "error"
