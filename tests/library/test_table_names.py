"""Functions are looked up by their canonical names: a table that has only an alias never finds what it is about."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping

import pytest

import hybridize
from hybridize.library import dialect
from hybridize.library.index import canonical

#: The rooms whose tables are compared with names as flow finds them. Those of `library` go through `normalize`.
ROOMS = ("tracing", "facts", "rules", "decide")
PUBLIC = re.compile(r"(?:tf|keras|np)(?:\.\w+)+")


def words(value: object) -> Iterator[str]:
    """The strings in a table, however it is nested."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from words(key)
            yield from words(held)
    elif isinstance(value, (set, frozenset, tuple, list)):
        for held in value:
            yield from words(held)


def tables() -> Iterator[tuple[str, object]]:
    """The module-level constants of the rooms, with their names."""
    modules = [dialect]
    for room in ROOMS:
        package = importlib.import_module(f"{hybridize.__name__}.{room}")
        modules += [
            importlib.import_module(m.name) for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        ]
    for module in modules:
        for name, value in vars(module).items():
            if not name.startswith("__"):
                yield f"{module.__name__}.{name}", value


@pytest.mark.slow
def test_tables_have_the_name_that_is_looked_up() -> None:
    dead = {}
    for name, value in tables():
        found = set(words(value))
        prefixes = tuple(each for each in found if each.endswith("."))
        for word in filter(PUBLIC.fullmatch, found):
            real = canonical(word)
            if real not in found and not real.startswith(prefixes):
                dead[f"{name}: {word}"] = real
    assert dead == {}
