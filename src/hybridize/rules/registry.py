"""The rules there are: every module of a category's folder that holds a `RULE`. Being there registers it."""

from __future__ import annotations

import os
from functools import cache

from hybridize.domain.session import imported
from hybridize.rules.model import Category, Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found: list[Rule] = []
    for category in Category:
        try:
            package = imported(f"hybridize.rules.{category.value}")
        except ModuleNotFoundError:
            continue
        # Not `pkgutil`, which imports `inspect`.
        for file in [file for folder in package.__path__ for file in os.listdir(folder)]:
            name, extension = os.path.splitext(file)
            rule = getattr(imported(f"{package.__name__}.{name}"), "RULE", None) if extension == ".py" else None
            if isinstance(rule, Rule):
                found.append(rule)
    found.sort(key=lambda rule: rule.code)
    return tuple(found)
