"""One index out of the raw ones of both releases, and its files."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from index_describe import DOCUMENTED, Record

from hybridize.library.index.model import RELEASES
from hybridize.library.index.tables import KINDS, TABLES, table_of

Raw = dict[str, Any]
_CODES = {kind: code for code, kind in KINDS.items()}


class Merge:
    """The tables of one package in both releases, under names that mean the same in both."""

    def __init__(self, old: Raw, new: Raw) -> None:
        """`old` and `new`: what `index_collect` found for one package in each release."""
        self._raw = (old, new)
        self._canonical = tuple({**{n: n for n in raw["records"]}, **raw["aliases"]} for raw in self._raw)
        self.final = self._final_names()

    def _final_names(self) -> dict[str, str]:
        """The canonical name of every public name.

        Where the releases disagree, 2.15's choice wins if the newest has that name for the same object, otherwise the
        newest's if 2.15 has it for the same; where a name means an object of its own in one of them, it stays itself.
        """
        old, new = self._canonical
        final: dict[str, str] = {}
        renamed: dict[str, str] = {}
        for name in old.keys() & new.keys():
            before, after = old[name], new[name]
            if before == after or new.get(before) == after:
                final[name] = before
                renamed[after] = before
            elif old.get(after) == before:
                final[name] = after
                renamed[before] = after
            else:
                final[name] = name
        for name in old.keys() ^ new.keys():
            own = old[name] if name in old else new[name]
            final[name] = final.get(own) or renamed.get(own, own)
        for name, target in list(final.items()):  # no chains
            final[name] = final.get(target, target)
        for target in set(final.values()):
            final[target] = target
        return final

    def records(self, spell: Mapping[str, str]) -> dict[str, tuple[Record | None, Record | None]]:
        """The record of each canonical name in each release; `spell` corrects the names inside records."""
        merged: dict[str, tuple[Record | None, Record | None]] = {}
        for name in sorted(set(self.final.values())):
            pair = []
            for raw, canonical in zip(self._raw, self._canonical, strict=True):
                own = canonical.get(name)
                if own is None:  # the release may have the object under other names only
                    own = next((canonical[n] for n in self._names_of(name) if n in canonical), None)
                pair.append(_respelled(raw["records"][own], spell) if own else None)
            merged[name] = _borrowed(pair[0], pair[1])
        return merged

    def _names_of(self, name: str) -> list[str]:
        if not hasattr(self, "_groups"):
            self._groups: dict[str, list[str]] = {}
            for alias, target in sorted(self.final.items()):
                self._groups.setdefault(target, []).append(alias)
        return self._groups.get(name, [])

    def private(self, spell: Mapping[str, str]) -> dict[str, str]:
        """Paths inside the implementation; where the releases disagree, what 2.15 says."""
        old, new = self._raw
        merged = {**new.get("private", {}), **old.get("private", {})}
        return {path: spell.get(target, target) for path, target in sorted(merged.items())}


def merged_files(old: Raw, new: Raw) -> dict[str, str]:
    """The text of each file of the index, by file name without `.zlib`."""
    merges = {package: Merge(old["tables"][package], new["tables"][package]) for package in old["tables"]}
    spell = {name: target for merge in merges.values() for name, target in merge.final.items() if name != target}
    header = json.dumps(dict(zip(RELEASES, (old["packages"], new["packages"]), strict=True)), sort_keys=True)
    files: dict[str, str] = {}
    for package, merge in merges.items():
        records = merge.records(spell)
        aliases = {name: target for name, target in sorted(merge.final.items()) if name != target}
        for table in [t for t in TABLES if t.split("_")[0] == package]:
            own = {n: r for n, r in records.items() if package == table.split("_")[0] and table_of(n) == table}
            own_aliases = {a: t for a, t in aliases.items() if table_of(a) == table}
            files[f"{table}.names"] = _names_text(header, own, own_aliases)
            files[f"{table}.records"] = "\n".join(_record_text(old_r, new_r) for old_r, new_r in own.values())
        private = merge.private(spell)
        if private:
            files[f"{package}.private"] = "\n".join(private) + "\n\n" + "\n".join(private.values())
    return files


def write(files: Mapping[str, str], folder: Path) -> int:
    """Write the files, compressed; their total size in bytes."""
    folder.mkdir(exist_ok=True)
    total = 0
    for name, text in files.items():
        data = zlib.compress(text.encode(), 9)
        (folder / f"{name}.zlib").write_bytes(data)
        total += len(data)
    return total


def _names_text(header: str, records: Mapping[str, tuple[Any, Any]], aliases: Mapping[str, str]) -> str:
    flags = "".join(
        _CODES[(old or new)["k"]] + str((old is not None) + 2 * (new is not None)) for old, new in records.values()
    )
    return "\n\n".join([header, "\n".join(records), flags, "\n".join(aliases), "\n".join(aliases.values())])


def _record_text(old: Record | None, new: Record | None) -> str:
    def compact(record: Record) -> Record:
        return {key: value for key, value in record.items() if key != "k"}

    shown: Record
    if old is not None and new is not None and old != new:
        shown = {"o": compact(old), "n": compact(new)}
        if old["k"] != new["k"]:
            shown["n"]["k"] = new["k"]
    else:
        shown = compact(old if old is not None else new or {})
    return json.dumps(shown, separators=(",", ":"))


def _borrowed(old: Record | None, new: Record | None) -> tuple[Record | None, Record | None]:
    """Both records with parameters that 2.15's packages do not tell, or only document, taken from the newest's."""
    if old is not None and old["k"] in ("function", "class", "dtype", "ufunc"):
        _borrow(old, "p", new)
        for name, member in old.get("m", {}).items():
            twin = (new or {}).get("m", {}).get(name)
            if len(member) > 1:
                told = {"p": member[1]} if member[1] is not None else {}
                _borrow(told, "p", {"p": twin[1]} if twin and len(twin) > 1 and twin[1] is not None else None)
                member[1:] = [told["p"]] if "p" in told else []
    for member in (new or {}).get("m", {}).values():
        if len(member) > 1:
            member[1:] = [[p for p in member[1] if p != DOCUMENTED]] if member[1] is not None else []
    if new is not None and "p" in new:
        new["p"] = [p for p in new["p"] if p != DOCUMENTED]
    return old, new


def _borrow(record: Record, key: str, newer: Record | None) -> None:
    told = record.get(key)
    if told is not None and told[:1] != [DOCUMENTED]:
        return
    if newer is not None and newer.get(key) is not None and newer[key][:1] != [DOCUMENTED]:
        record[key] = list(newer[key])
    elif told is not None:
        record[key] = told[1:]


def _respelled(record: Record, spell: Mapping[str, str]) -> Record:
    """A copy whose bases, types and defaults have their final names."""

    def parameter(text: str) -> str:
        name, equals, default = text.partition("=")
        return f"{name}={_final(default, spell)}" if equals else text

    def parameters(texts: list[str] | None) -> list[str] | None:
        return None if texts is None else [parameter(t) for t in texts]

    copy = dict(record)
    for key in ("b", "r"):
        if key in copy:
            copy[key] = [spell.get(n, n) for n in copy[key]]
    if "t" in copy:
        copy["t"] = spell.get(copy["t"], copy["t"])
    if "p" in copy:
        copy["p"] = parameters(copy["p"])
    if "m" in copy:
        copy["m"] = {n: [m[0], *map(parameters, m[1:])] for n, m in copy["m"].items()}
    return copy


def _final(default: str, spell: Mapping[str, str]) -> str:
    """A default with its public name respelled; an enum's member keeps its own."""
    if default in spell:
        return spell[default]
    owner, _, member = default.rpartition(".")
    return f"{spell[owner]}.{member}" if owner in spell else default
