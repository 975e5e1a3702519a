"""How sure a suggestion is: features of a changeset, and a small multinomial logistic model over the kinds.

`scripts/study_suggestions.py` fits it on labels of our own (`benchmarks/study_labels.tsv`) and writes the coefficients;
here they are only evaluated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

WORDS: Final[dict[str, re.Pattern[str]]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "hybridization": r"decorator|auto_?graph|eager|graph mode|retrac|recompil|\bjit|\bxla",
        "adding": r"\badd(?:s|ed|ing)?\b|enabl|introduc|\bnew\b",
        "removing": r"remov|delet|disabl|\bdrop|obsolete|redundant|spurious",
        "moving": r"\bmov(?:e|ed|es|ing)\b|refactor|renam|clean|split|reorgani|restructur|relocat",
        "fixing": r"\bfix|\bbug\b|error|issue",
        "again": r"revert|restor|undo|re-?enabl|re-?add|bring back|put back",
        "speed": r"speed|fast|perform|accelerat|optimi[sz]|slow",
        "whole": r"initial|first commit|release|merge|squashed|porting|migrat",
        "style": r"format|lint|style|black\b|yapf|pep8|typo|docstring|comment",
    }.items()
}
UNSURE: Final = 0.85
"""Below this confidence a primary suggestion is called unsure."""


@dataclass(frozen=True, slots=True)
class Model:
    """Coefficients: one row of weights (by feature) and an intercept for each kind.

    `calibration` is slope and offset of a logistic curve from the probability of the rules' kind to how often that kind
    was right.
    """

    kinds: tuple[str, ...]
    features: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]
    calibration: tuple[float, float] = (1.0, 0.0)

    def confidences(self, features: Mapping[str, float]) -> dict[str, float]:
        """The probability of each kind; they sum to 1."""
        values = [features.get(name, 0.0) for name in self.features]
        scores = [
            intercept + sum(weight * value for weight, value in zip(row, values, strict=True))
            for row, intercept in zip(self.weights, self.intercepts, strict=True)
        ]
        highest = max(scores)
        powers = [math.exp(score - highest) for score in scores]
        return {kind: power / sum(powers) for kind, power in zip(self.kinds, powers, strict=True)}

    def calibrated(self, probability: float) -> float:
        """How often the rules were right where the model gave their kind this probability."""
        slope, offset = self.calibration
        return 1 / (1 + math.exp(-(slope * probability + offset)))


@cache
def shipped() -> Model:
    """The model that comes with the package."""
    data = json.loads(files("hybridize.study").joinpath("data", "suggest_model.json").read_text(encoding="utf-8"))
    weights = tuple(tuple(row) for row in data["weights"])
    return Model(
        tuple(data["kinds"]), tuple(data["features"]), weights, tuple(data["intercepts"]), tuple(data["calibration"])
    )


def features(
    counts: Mapping[str, int], flags: Mapping[str, bool], rule: str, message: str, names: Sequence[str]
) -> dict[str, float]:
    """Numbers that tell kinds apart: how many functions had what done to them, what the rules say, words.

    `names` are the spellings of the API; a message that has one speaks of hybridization.
    """
    total = sum(counts.values())
    found = {f"some {name}": float(count > 0) for name, count in counts.items()}
    found |= {f"share {name}": count / total if total else 0.0 for name, count in counts.items()}
    found |= {name: float(value) for name, value in flags.items()}
    found[f"rule {rule}"] = 1.0
    subject = message.partition("\n")[0]
    found |= {f"subject {name}": float(bool(pattern.search(subject))) for name, pattern in WORDS.items()}
    found["says"] = float(speaks(message, names))
    found["many"] = math.log1p(total)
    found["long message"] = float(len(message) > 400)
    return found


def speaks(message: str, names: Sequence[str]) -> bool:
    """Whether hybridization is a point of the message: its subject, or a short message, names it."""
    subject, _, body = message.partition("\n")
    text = message if len(body) < 300 else subject
    return bool(WORDS["hybridization"].search(text)) or any(name in text for name in names)


def asks(message: str, names: Sequence[str]) -> bool:
    """Whether the message says that making functions hybrid, or no longer so, is what the changeset is for."""
    api = "|".join([*map(re.escape, names), "decorator", "graph mode for", r"jit\b"])
    verb = (
        r"add\w*|wrap\w*|us(?:e|ing)|with|through|enabl\w*|remov\w*|drop\w*|accelerat\w*|made in|convert\w*|decorat\w*"
    )
    said = rf"\b(?:{verb})\W+(?:[\w`@]+\W+){{0,3}}?[`@]*(?:{api})|(?:{api})\W+(?:decorat|annotat|wrapp)\w*"
    return bool(re.search(said, message, re.IGNORECASE))


def returns(message: str, names: Sequence[str]) -> bool:
    """Whether the message says that a use comes back."""
    api = "|".join([*map(re.escape, names), "decorator"])
    return bool(
        re.search(rf"(?:{api})\W+back\b|\bre-?add\w*\W+(?:[\w`@]+\W+){{0,3}}?[`@]*(?:{api})", message, re.IGNORECASE)
    )
