"""What is asked of each field, and needs the whole program, is gathered once: the work grows with the program alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action
from hybridize.facts.side_effects import scratch
from hybridize.facts.state import stores
from hybridize.facts.unknown import excused

#: A field that is stored before each read of the same call, one for each class, and code that reads fields by computed
#: names and all at once.
CLASS = """\
class M{0}(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(1.0)
    def __call__(self, x):
        self._scale{0} = tf.sqrt(tf.abs(x)) + 1.0
        for _ in range(12):
            x = tf.tanh(x) * self.w
        return self._scaled(x)
    def _scaled(self, x):
        return x * self._scale{0}
M{0}()(tf.ones([3]))
"""
READS = """\
class Settings:
    def __init__(self):
        self.rate = 0.1
settings = Settings()
print(vars(settings), [getattr(settings, name) for name in ("rate",)])
"""


def _work(tmp_path: Path, classes: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often tables are looked up, and structures gone through, for a program of so many classes."""
    folder = tmp_path / str(classes)
    folder.mkdir()
    text = "import tensorflow as tf\n" + "".join(map(CLASS.format, range(classes))) + READS
    (folder / "main.py").write_text(text, "utf-8")
    calls: Counter[str] = Counter()
    with monkeypatch.context() as patched:
        for module, name in ((scratch, "index_of"), (stores, "index_of"), (excused, "index_of"), (excused, "held")):

            def counted(*args: object, _asked: object = getattr(module, name), _name: str = name) -> object:
                calls[_name] += 1
                assert callable(_asked)
                return _asked(*args)

            patched.setattr(module, name, counted)
        found = analyze([folder], Config(all_safe=True)).functions
    converted = [f for f in found if f.decision.action is Action.CONVERT_TO_HYBRID]
    assert len(converted) >= classes
    return calls


def test_fields_are_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (_work(tmp_path, classes, monkeypatch) for classes in (8, 32))
    assert 0 < many["index_of"] < 5 * few["index_of"]
    assert many["held"] == few["held"] > 0
