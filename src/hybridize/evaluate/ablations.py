"""What an evaluation may take away from the analysis, to see what each part of it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Ablation:
    """A part that is taken away, in words, and the fields of `Config` that do it."""

    meaning: str
    settings: Mapping[str, Any]


def _without(part: str) -> Mapping[str, Any]:
    return MappingProxyType({"without": (part,)})


#: By the name that `--ablate` takes.
ABLATIONS: Final[Mapping[str, Ablation]] = MappingProxyType(
    {
        "speculation": Ablation("nothing is guessed", MappingProxyType({"speculate": False})),
        "hints": Ablation("type hints say nothing", MappingProxyType({"follow_type_hints": False})),
        "contexts": Ablation("one context for all calls of a function", _without("contexts")),
        "loops": Ablation("no loop is followed item by item", _without("loops")),
        "models": Ablation(
            "functions of TensorFlow, Keras and NumPy have no model of their own: an operation gives a tensor of "
            "unknown shape",
            _without("models"),
        ),
        "index": Ablation(
            "nor does the index of names say which of them are operations: what has no model is unknown code",
            _without("index"),
        ),
    }
)
