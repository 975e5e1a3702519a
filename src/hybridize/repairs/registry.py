"""All repairs: a module in this folder that holds `REPAIR` is one, by being there."""

from __future__ import annotations

import pkgutil
from functools import cache

import hybridize.repairs
from hybridize.domain.session import imported
from hybridize.repairs.model import Repair


@cache
def all_repairs() -> tuple[Repair, ...]:
    """Every repair, by code."""
    found: list[Repair] = []
    for module in pkgutil.iter_modules(hybridize.repairs.__path__, "hybridize.repairs."):
        repair = getattr(imported(module.name), "REPAIR", None)
        if isinstance(repair, Repair):
            found.append(repair)
    return tuple(sorted(found, key=lambda r: r.code))


@cache
def repairs_for(code: str) -> tuple[Repair, ...]:
    """The repairs that answer a rule or status, the preferred first."""
    return tuple(sorted((r for r in all_repairs() if code in r.removes), key=lambda r: (r.order, r.code)))
