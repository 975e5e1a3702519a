"""Finding symbols by the names that source code uses, after its imports are resolved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Final

from hybridize.library.index.model import RELEASES, Entry, Kind, Parameter, ParameterKind, Release
from hybridize.library.index.spelling import KERAS_MODULES, known_root, normalized
from hybridize.library.index.tables import table, table_of

# Folders of Keras' implementation that say nothing about the public module of what they define.
_KERAS_INNER: Final = frozenset({"src", "engine", "legacy", "saving"})
_NUMPY_INNER: Final = frozenset({"core", "_core", "lib", "matrixlib"})
# Public objects that are values themselves: the class that their members belong to.
_VALUE_CLASSES: Final[dict[Kind, str]] = {"dtype": "tf.dtypes.DType", "ufunc": "np.ufunc"}


def known_package(name: str) -> bool:
    """Whether the index covers the package that a dotted name begins with."""
    return known_root(name) is not None


def release_of(tensorflow_version: str) -> Release:
    """The release of the index that speaks for a TensorFlow version such as `2.9` or `2.16.1`."""
    numbers = [int(p) for p in tensorflow_version.split(".")[:2] if p.isdigit()]
    return "2.15" if numbers < [2, 16] else "newest"


def versions() -> dict[Release, dict[str, str]]:
    """The exact package versions that the index was made from, by release."""
    import json

    found: dict[Release, dict[str, str]] = json.loads(table("tensorflow").header)
    return found


def canonical(name: str) -> str:
    """The canonical name (`tf.math.add`), or `name` with its root normalized when the index does not know it."""
    return _find(name) or normalized(name)


@lru_cache(maxsize=16384)
def lookup(name: str, release: Release | None = None) -> Entry | None:
    """What a dotted name means: a module, a symbol or a member of a class; None if the index does not know it.

    `name` is spelled as in the source after import resolution (`tensorflow.math.add`, `tf_keras.layers.Dense`), or
    canonical. With `release` the answer is that release's alone, None when it does not have the symbol. Without,
    2.15's (which most existing code is written for), or the newest's for what is new. Every class has a member
    `__init__`, which takes what a call of the class takes. A name that only TensorFlow 1 had at its place
    (`tensorflow.placeholder`) means the one below `tf.compat.v1`.
    """
    found = _find(name)
    if found is None:
        return None
    entry = _entry(found, release)
    if entry is None and release is not None:  # a member may stand in another class in that release
        owner, _, member = name.rpartition(".")
        holder = _find(owner)
        found = _member(holder, member, release) if holder else None
        entry = _entry(found, release) if found else None
    return entry


def members(name: str) -> tuple[str, ...]:
    """The public names inside a module, or the members of a class with those it inherits, sorted; else ()."""
    entry = lookup(name)
    if entry is None:
        return ()
    if entry.kind == "module":
        return _children(entry.name)
    names: set[str] = set()
    for release in RELEASES:
        own = _entry(entry.name, release)
        for cls in (entry.name, *own.mro) if own else ():
            defining = _class(cls, release)
            names.update(defining.members if defining else ())
    return tuple(sorted(names))


def is_subclass(name: str, base: str) -> bool:
    """Whether the class `name` is `base` or derives from it, by public ancestry in any release."""
    entry, wanted = lookup(name), canonical(base)
    if entry is None:
        return False
    found = (_entry(entry.name, release) for release in RELEASES)
    return entry.name == wanted or any(e is not None and wanted in e.mro for e in found)


def symbols(table_name: str) -> Iterator[tuple[str, Kind, tuple[Release, ...]]]:
    """All canonical names of a table (see `tables.TABLES`), with kind and releases, sorted."""
    found = table(table_name)
    for name, position in found.positions.items():
        yield name, found.kind(position), found.releases(position)


@lru_cache(maxsize=16384)
def _find(name: str) -> str | None:
    """The canonical name of what a name in any spelling means."""
    spelled = normalized(name)
    if not known_root(spelled):
        return None
    found = _resolved(spelled)
    # tf.losses and tf.metrics were TensorFlow's own before they were Keras'.
    if found is None and spelled.startswith("keras.") and name.startswith(("tensorflow.", "tf.")):
        found = _public(f"tf.compat.v1.{name.partition('.')[2]}")
    return found


@lru_cache(maxsize=16384)
def _resolved(name: str) -> str | None:
    """The canonical name of a symbol or of a member, for a normalized name."""
    direct = _public(name)
    if direct:
        return direct
    if name.startswith("tf.python."):
        return _inside(name, "tensorflow")
    if name.startswith("tf.") and not name.startswith("tf.compat."):
        return _public(f"tf.compat.v1.{name[3:]}")  # written for TensorFlow 1; TensorFlow 2 has no other such name
    if name.startswith("keras."):
        return _inside(name, "keras") or _dropping_inner(name, _KERAS_INNER)
    return _dropping_inner(name, _NUMPY_INNER) if name.startswith("np.") else None


def _public(name: str) -> str | None:
    symbol = _symbol(name)
    if symbol:
        return symbol
    head, _, tail = name.rpartition(".")
    owner = _symbol(head) if head else None
    return _member(owner, tail) if owner else None


def _symbol(name: str) -> str | None:
    found = table(table_of(name))
    return name if name in found.positions else found.aliases.get(name)


def _member(owner: str, name: str, release: Release | None = None) -> str | None:
    """The canonical name of a member of a class: under the class that defines it, in a release or in any."""
    for asked in (release,) if release else RELEASES:
        entry = _entry(owner, asked)
        if entry is not None and not entry.is_class and entry.kind in _VALUE_CLASSES:
            return _member(_VALUE_CLASSES[entry.kind], name, release)
        if entry is None or not entry.is_class:
            continue
        if name == "__init__":
            return f"{owner}.__init__"
        for cls in (owner, *entry.mro):
            defining = entry if cls == owner else _class(cls, asked)
            if defining and name in defining.members:
                return f"{cls}.{name}"
    return None


def _class(name: str, release: Release | None) -> Entry | None:
    """The entry of an ancestor; None for one of the standard library."""
    return _entry(name, release) if known_root(name) else None


def _inside(name: str, table_name: str) -> str | None:
    """The public name of a path inside the implementation."""
    found = table(table_name)
    direct = found.private(name)
    if direct:
        return direct
    head, _, tail = name.rpartition(".")
    owner = found.private(head)
    return _member(owner, tail) if owner else None


def _dropping_inner(name: str, inner: frozenset[str]) -> str | None:
    """The public name of a path through modules that the installed versions do not have (`keras.layers.core.Dense`).

    Modules are dropped from the right, so that the nearest public one wins; the first one only if it is an inner one.
    """
    parts = name.split(".")
    if any(_is_leaf(".".join(parts[:stop])) for stop in range(2, len(parts))):
        return None  # a known symbol without such a member: the name does not exist
    for tail in (1, 2):  # a symbol, or a member of a class
        path, last = parts[:-tail], parts[-tail:]
        if any(p != p.lower() for p in path):
            continue
        heads = [path[:stop] for stop in range(len(path), 1, -1)]
        if path[1:2] and path[1] in inner:
            heads += [[parts[0]], [parts[0], "layers"]]
        for head in heads:
            outer = [parts[0], *(p for p in head[1:] if p not in inner)]
            found = _public(".".join([*head, *last])) or _public(".".join([*outer, *last]))
            if found and not _is_module(found):
                return found
    return None


def _is_module(name: str) -> bool:
    found = table(table_of(name))
    position = found.positions.get(name)
    return position is not None and found.kind(position) == "module"


def _is_leaf(name: str) -> bool:
    symbol = _symbol(name)
    return symbol is not None and not _is_module(symbol)


@lru_cache(maxsize=16384)
def _entry(name: str, release: Release | None) -> Entry | None:
    """The entry of a canonical name."""
    found = table(table_of(name))
    position = found.positions.get(name)
    if position is None:
        owner, _, member = name.rpartition(".")
        return _member_entry(owner, member, release)
    releases = found.releases(position)
    if release is not None and release not in releases:
        return None
    preferred, others = _variants(found.record(position), release)
    bases = tuple(preferred.get("b", ()))
    return Entry(
        name=name,
        kind=preferred.get("k", found.kind(position)),
        releases=releases,
        parameters=_parameters(preferred.get("p")),
        alternatives=_alternatives(preferred.get("p"), [o.get("p") for o in others]),
        bases=bases,
        mro=tuple(preferred.get("r", bases)),
        members=tuple(sorted({m for v in (preferred, *others) for m in v.get("m", ())})),
        value=preferred.get("v"),
        type_name=preferred.get("t"),
    )


def _member_entry(owner: str, member: str, release: Release | None) -> Entry | None:
    found = table(table_of(owner))
    position = found.positions.get(owner)
    if position is None:
        return None
    if member == "__init__":
        cls = _entry(owner, release)
        return cls and Entry(f"{owner}.__init__", "method", cls.releases, cls.parameters, cls.alternatives)
    record = found.record(position)
    by_release = {r: v.get("m", {}).get(member) for r, v in _by_release(record, found.releases(position)).items()}
    present: dict[Release, list[Any]] = {r: m for r, m in by_release.items() if m is not None}
    if not present or (release is not None and release not in present):
        return None
    chosen = present[release] if release else next(iter(present.values()))
    others = [] if release else [m for m in present.values() if m is not chosen]
    parameters = chosen[1] if len(chosen) > 1 else None
    return Entry(
        name=f"{owner}.{member}",
        kind=chosen[0],
        releases=tuple(present),
        parameters=_parameters(parameters),
        alternatives=_alternatives(parameters, [m[1] if len(m) > 1 else None for m in others]),
    )


def _by_release(record: dict[str, Any], releases: tuple[Release, ...]) -> dict[Release, dict[str, Any]]:
    if "o" in record:
        return dict(zip(RELEASES, (record["o"], record["n"]), strict=True))
    return dict.fromkeys(releases, record)


def _variants(record: dict[str, Any], release: Release | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The record to answer with, and the other release's where it differs and nobody asked for one."""
    if "o" not in record:
        return record, []
    if release is None:
        return record["o"], [record["n"]]
    return record["o" if release == "2.15" else "n"], []


def _alternatives(chosen: list[str] | None, others: list[list[str] | None]) -> tuple[tuple[Parameter, ...], ...]:
    different = [o for o in others if o is not None and o != chosen]
    return tuple(p for p in map(_parameters, different) if p is not None)


def _parameters(spelled: list[str] | None) -> tuple[Parameter, ...] | None:
    """Parameters from their strings (see `tables`)."""
    if spelled is None:
        return None
    found: list[Parameter] = []
    kind: ParameterKind = "positional_only" if "/" in spelled else "positional"
    for text in spelled:
        if text == "/":
            kind = "positional"
        elif text == "*":
            kind = "keyword_only"
        elif text.startswith("**"):
            found.append(Parameter(text[2:], "var_keyword"))
        elif text.startswith("*"):
            found.append(Parameter(text[1:], "var_positional"))
            kind = "keyword_only"
        else:
            name, equals, default = text.partition("=")
            found.append(Parameter(name, kind, default if equals else None))
    return tuple(found)


@cache
def _children(module: str) -> tuple[str, ...]:
    return tuple(sorted(_tree(table_of(module)).get(module, ())))


@cache
def _tree(table_name: str) -> dict[str, set[str]]:
    """The names inside each module of a table."""
    found = table(table_name)
    tree: dict[str, set[str]] = {}
    for name in (*found.positions, *found.aliases):
        module, _, child = name.rpartition(".")
        tree.setdefault(module, set()).add(child)
    if table_name == "tensorflow":
        tree.setdefault("tf", set()).update(KERAS_MODULES)
        tree.setdefault("tf.compat", set()).update(("v1", "v2"))
    elif table_name == "tensorflow_v1":
        tree.setdefault("tf.compat.v1", set()).add("keras")
    return tree
