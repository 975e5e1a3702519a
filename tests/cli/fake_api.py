"""An engine for tests of the command line: it answers with a report made by hand, and remembers how it was asked."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hybridize
from hybridize.config import Config
from hybridize.decide.model import Report


class FakeApi(types.ModuleType):
    """Stands for `hybridize.api`."""

    def __init__(self, report: Report | Callable[[], Report] | BaseException) -> None:
        super().__init__("hybridize.api")
        self.answer = report
        self.calls: list[tuple[list[Path], Config]] = []

    @staticmethod
    def inputs_of(paths: Sequence[Path], config: Config) -> Any:
        """Nothing is read."""
        return types.SimpleNamespace(read={}, files=())

    def analyze(
        self,
        paths: Sequence[Path],
        config: Config,
        *,
        progress: Any = None,
        contents: Any = None,
        repairs: bool = True,
        store: Any = None,
    ) -> Report:
        self.calls.append((list(paths), config))
        if isinstance(self.answer, BaseException):
            raise self.answer
        report = self.answer if isinstance(self.answer, Report) else self.answer()
        missing = tuple(str(path) for path in paths if not path.exists())
        return replace(report, missing=missing)

    def debug(self, paths: Sequence[Path], config: Config, what: str) -> str:
        return f"{what} of {', '.join(map(str, paths))}\n"


def install(monkeypatch: pytest.MonkeyPatch, report: Report | Callable[[], Report] | BaseException) -> FakeApi:
    """Put the fake in the place of `hybridize.api`."""
    fake = FakeApi(report)
    monkeypatch.setitem(sys.modules, "hybridize.api", fake)
    monkeypatch.setattr(hybridize, "api", fake, raising=False)
    return fake
