"""Objects that are made of themselves do not make the analysis endless."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

PROGRAMS = {
    "a callable object whose call is one": """\
class Again:
    pass
again = Again()
Again.__call__ = again
again(1)
""",
    "a descriptor whose get is one": """\
class Again:
    pass
Again.__get__ = Again()
class Owner:
    field = Again()
    __call__ = Again()
Owner().field
Owner()(1)
""",
    "attributes found by looking for attributes": """\
class Again:
    def __getattr__(self, name):
        return getattr(self, name + "x")
Again().a
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_ends(name: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAMS[name] + "def f(x):\n    return x\nf(1)\n")
    report = analyze([tmp_path], Config())
    assert any(f.facts.qualname == "f" and f.facts.reached for f in report.functions)
