"""For which programs of a project a global seed counts (HY207)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

if TYPE_CHECKING:
    from pathlib import Path

LIB = "import tensorflow as tf\ndef noisy(x):\n    return x + tf.random.normal([3])\n"
CALL = "import tensorflow as tf\nfrom lib import noisy\nnoisy(tf.ones([3]))\n"
SEED = "import tensorflow as tf\ntf.random.set_seed(1)\n"
TEST = "import tensorflow as tf\nfrom lib import noisy\ndef test_it():\n"
TEST += "    tf.random.set_seed(1)\n    noisy(tf.ones([3]))\n"


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        ({"main.py": SEED + CALL}, True),
        ({"main.py": CALL, "other.py": SEED}, False),
        ({"main.py": "import other\n" + CALL, "other.py": SEED}, True),
        ({"main.py": CALL, "second.py": "import other\n", "other.py": SEED}, False),
        ({"main.py": "import second\n" + CALL, "second.py": "import other\n", "other.py": SEED}, True),
        ({"main.py": CALL, "test_it.py": TEST}, True),
        (
            {"main.py": CALL, "test_it.py": "import tensorflow as tf\ndef test_it():\n    tf.random.set_seed(1)\n"},
            False,
        ),
    ],
    ids=[
        "the script",
        "another",
        "what it imports",
        "what another imports",
        "what that imports",
        "a test that gets there",
        "another test",
    ],
)
def test_where_the_seed_counts(files: dict[str, str], counts: bool, tmp_path: Path) -> None:
    for name, text in {**files, "lib.py": LIB}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    (noisy,) = [f for f in report.functions if f.facts.qualname == "noisy"]
    assert ("HY207" in [s.code for s in noisy.statuses]) is counts


def test_a_library_s_callers_choose_their_seeds(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "lib"\n', encoding="utf-8")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text(LIB, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    for all_safe in (True, False):
        report = analyze([tmp_path], Config(all_safe=all_safe), repairs=False)
        (noisy,) = [f for f in report.functions if f.facts.qualname == "noisy"]
        assert (noisy.decision.action is Action.CONVERT_TO_HYBRID) is all_safe
        assert any("very numbers" in each.message for each in noisy.facts.assumptions)
