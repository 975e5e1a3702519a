"""What `--all-safe` converts of a library that is called with all kinds of arguments, against what graphs do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

from . import grid


@pytest.mark.tensorflow
def test_no_function_is_converted_that_differs_for_an_argument_of_its_tests(tmp_path: Path) -> None:
    chosen = grid.sample(120, seed=20261128)  # a minute for a thousand
    grid.write_library(tmp_path, chosen)
    asked = subprocess.run([sys.executable, grid.__file__, tmp_path], capture_output=True, text=True, check=True)
    same = json.loads(asked.stdout.splitlines()[-1])
    report = analyze([tmp_path], Config(all_safe=True))
    converted = {f.facts.qualname for f in report.functions if f.decision.action is Action.CONVERT_TO_HYBRID}
    wrong = [chosen[i] for i, outcome in enumerate(same) if outcome is False and f"f{i}" in converted]
    assert [pair for pair in wrong if (pair[0], *pair[1]) not in grid.KNOWN] == []
    # And not by converting little: of those with a tensor or an array in the first place.
    right = [i for i, outcome in enumerate(same) if outcome and chosen[i][1][0] in grid.FIRST]
    assert sum(f"f{i}" in converted for i in right) >= 0.85 * len(right)
