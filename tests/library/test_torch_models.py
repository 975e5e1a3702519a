"""PyTorch beside TensorFlow: it computes no TensorFlow, modules run `forward`, and what works in place is told."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import Ternary

TEXT = """
import numpy as np
import torch
import torch.nn.functional as F

class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = []
    def forward(self, x):
        self.calls.append(1)
        return F.relu(x)
gate = Gate()
def converted(array):
    return torch.from_numpy(array).float().sum()
def scaled(array):
    x = torch.from_numpy(array)
    x.mul_(2.0)
    return x
def clear(x):
    x.zero_()
def gated(array):
    return gate(torch.from_numpy(array))
converted(np.ones(2)), scaled(np.ones(2)), gated(np.ones(2)), clear(torch.zeros(3))
"""


def test_torch(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(TEXT, "utf-8")
    found = {f.facts.qualname: f.facts for f in analyze([tmp_path], Config()).functions}
    assert found["converted"].tensor_computation.value is Ternary.NO
    assert found["converted"].python_side_effects.value is Ternary.NO
    assert found["gated"].python_side_effects.value is Ternary.YES
    assert found["clear"].python_side_effects.value is Ternary.YES
