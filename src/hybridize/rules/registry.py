"""The rules there are: every module of a category's folder that holds a `RULE`. Being there registers it."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from hybridize.rules.model import Category, Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found: list[Rule] = []
    for category in Category:
        try:
            package = import_module(f"hybridize.rules.{category.value}")
        except ModuleNotFoundError:
            continue
        for info in pkgutil.iter_modules(package.__path__):
            rule = getattr(import_module(f"{package.__name__}.{info.name}"), "RULE", None)
            if isinstance(rule, Rule):
                found.append(rule)
    found.sort(key=lambda rule: rule.code)
    return tuple(found)
