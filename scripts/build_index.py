"""Makes the API index of `hybridize.library.index` from installed packages, and checks it against them.

Two environments are needed, one with TensorFlow 2.15 (Keras 2, NumPy 1.26) and one with the newest:

    <python of 2.15>    scripts/build_index.py --collect RAW
    <python of newest>  scripts/build_index.py --collect RAW
    python              scripts/build_index.py --merge RAW     (needs neither)
    <python of either>  scripts/build_index.py --check

RAW is a folder outside of the repository. How canonical names are chosen is said in `index_collect.py`.
`--check` exits with 1 and lists what differs when the committed index is out of date.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

from hybridize.library.index.lookup import canonical, lookup, release_of, symbols, versions  # noqa: E402
from hybridize.library.index.model import RELEASES, Entry, Parameter, Release  # noqa: E402
from hybridize.library.index.tables import DATA, TABLES  # noqa: E402

_SHOWN = 40


def main(arguments: list[str] | None = None) -> int:
    """Run one of the steps; 0 when all is well, 1 when the index is out of date, 2 when packages are missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--collect", metavar="RAW", type=Path, help="describe this environment in a file in RAW")
    step.add_argument("--merge", metavar="RAW", type=Path, help="write the index from the files in RAW")
    step.add_argument("--check", action="store_true", help="compare the index with this environment's packages")
    chosen = parser.parse_args(arguments)
    if chosen.merge:
        return merge(chosen.merge)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        from index_collect import collect

        raw = collect()
    except ImportError as error:
        print(f"not installed here: {error.name}", file=sys.stderr)
        return 2
    release = release_of(raw["packages"]["tensorflow"])
    if chosen.check:
        return check(raw, release)
    chosen.collect.mkdir(exist_ok=True)
    (chosen.collect / f"{release}.json").write_text(json.dumps(raw))
    print(f"{release}: {raw['packages']}, {sum(len(t['records']) for t in raw['tables'].values())} symbols")
    return 0


def merge(folder: Path) -> int:
    """Write the index from the raw files of both releases."""
    from index_merge import merged_files, write

    old, new = (json.loads((folder / f"{release}.json").read_text()) for release in RELEASES)
    files = merged_files(old, new)
    for stale in Path(DATA).glob("*.zlib"):
        stale.unlink()
    print(f"{len(files)} files, {write(files, Path(DATA))} bytes")
    return 0


def check(raw: dict[str, Any], release: Release) -> int:
    """Print what differs between the index and the packages described by `raw`."""
    built, installed = versions()[release], raw["packages"]
    found = differences(raw, release)
    if built != installed:
        print(f"the index was made from {built}, installed is {installed}")
    if not found:
        print(f"the index agrees with {installed}")
        return 0
    print(f"the index is out of date for {release}: {len(found)} differences")
    print("\n".join(found[:_SHOWN] + (["..."] if len(found) > _SHOWN else [])))
    return 1


def differences(raw: dict[str, Any], release: Release) -> list[str]:
    """One line for each symbol that is missing, gone, or has other parameters, sorted."""
    found: list[str] = []
    seen: set[str] = set()
    for table in raw["tables"].values():
        for name, record in table["records"].items():
            entry = lookup(name, release)
            if entry is None:
                found.append(f"{name}: not in the index")
                continue
            seen.add(entry.name)
            found += [f"{entry.name}: {text}" for text in _changes(entry, record)]
        for alias, target in table["aliases"].items():
            entry = lookup(alias, release)
            if entry is None:
                found.append(f"{alias}: not in the index")
                continue
            seen.add(entry.name)
            # A name that means an object of its own in the other release is one here too; it must be described alike.
            if entry.name != canonical(target) and _changes(entry, table["records"][target]):
                found.append(f"{alias}: means {canonical(target)}, the index says {entry.name}")
    for table_name in TABLES:
        found += [f"{n}: gone" for n, _, releases in symbols(table_name) if release in releases and n not in seen]
    return sorted(found)


def _changes(entry: Entry, record: dict[str, Any]) -> list[str]:
    if entry.kind != record["k"]:
        return [f"is a {record['k']}, the index says {entry.kind}"]
    changes: list[str] = []
    spelled = record.get("p")
    # Parameters that are only documented (first element "?") were replaced by better ones, so only names count.
    if spelled is not None and spelled[:1] != ["?"] and _names(spelled) != _names(_spelled(entry.parameters)):
        changes.append(f"takes {_names(spelled)}, the index says {_names(_spelled(entry.parameters))}")
    gone = sorted(set(entry.members) - record.get("m", {}).keys())
    new = sorted(record.get("m", {}).keys() - set(entry.members))
    return changes + [f"no member {m}" for m in gone] + [f"new member {m}" for m in new]


def _names(spelled: list[str]) -> list[str]:
    return [text.partition("=")[0] for text in spelled if text not in ("/", "*")]


def _spelled(parameters: tuple[Parameter, ...] | None) -> list[str]:
    stars = {"var_positional": "*", "var_keyword": "**"}
    return [stars.get(p.kind, "") + p.name for p in parameters or ()]


if __name__ == "__main__":
    raise SystemExit(main())
