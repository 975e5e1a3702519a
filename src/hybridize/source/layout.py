"""Where a project keeps its packages: the folders that packaging tools, or plain habit, put on the import path."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hybridize.regex import regex
from hybridize.source.names import strip_suffix

_SETUP_DIRECTORY = regex(r"package_dir\s*=\s*\{\s*['\"]{2}\s*:\s*['\"]([^'\"]+)['\"]")
_SETUP_WHERE = regex(r"find_(?:namespace_)?packages\(\s*(?:where\s*=\s*)?['\"]([^'\"]+)['\"]")
_CFG_DIRECTORY = regex(r"^package_dir\s*=\s*(?:\n\s+)?=\s*(\S+)", re.MULTILINE)
_CFG_WHERE = regex(r"^\[options\.packages\.find\][^\[]*?^where\s*=\s*(\S+)", re.MULTILINE | re.DOTALL)

#: `import X.y`, `from X.y import name`, `from X import y`, by a whole name and under no condition.
_IMPORT = regex(
    r"^(?:import[ \t]+(\w+)\.(\w+)|from[ \t]+(\w+)(?:\.(\w+)[\w.]*)?[ \t]+import[ \t]+(?:\([ \t\r\n]*)?(\w+))",
    re.MULTILINE,
)
#: So many modules of the root, and no others, tell what the root is called.
_TELLING: Final = 2


def find_src_roots(root: Path, declared: Sequence[str] = ()) -> tuple[str, ...]:
    """The folders below `root`, relative to it and with `/`, that hold importable packages; `root` itself is not
    among them.

    `declared` (the option `src`) comes first; then what `pyproject.toml`, `setup.cfg` and `setup.py` say, read as
    text and never run; then a folder `src` that is no package. Folders that do not exist are left out.
    """
    found: dict[str, None] = {}
    for folder in (*declared, *_from_pyproject(root), *_from_setup(root), *_by_habit(root)):
        relative = _inside(root, folder)
        if relative and os.path.isdir(root / relative):
            found[relative] = None
    return tuple(found)


def package_name(root: Path) -> str:
    """The dotted name that the files of a package import it by, if `root` is one (`src/models` in `src`); else empty.

    As Python sees it when the folder above the outermost `__init__.py` is on its path.
    """
    parts: list[str] = []
    folder = Path(os.path.abspath(root))
    while folder.name and (folder / "__init__.py").is_file():
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts))


def name_of_root(root: Path, texts: Mapping[str, str], external: Collection[str]) -> str:
    """The name that the files below `root` import the root itself by, if it is not to be seen from the folders: a clone
    under another name, or a folder without `__init__.py` of which the one above is on Python's path; else empty.

    `texts` are the files, by their path from the root; `external` are the names of libraries. A name that is nothing
    in the project tells the root if all that is imported from it is there: two modules, or one if the folder itself
    has that name.
    """
    paths = [strip_suffix(path).split("/") for path in texts]
    parts, here = {part for path in paths for part in path}, {path[0] for path in paths}
    asked: dict[str, set[str]] = {}
    for text in texts.values():
        for plain, inner, package, module, name in _IMPORT.findall(text):
            top = plain or package
            if top in external or top in parts - {root.name}:
                continue
            part = inner or module or name
            there = part in here and (not module or name in texts.get(f"{module}.py", name))
            asked.setdefault(top, set()).add(part if there else "")
    whole = {top: names for top, names in asked.items() if "" not in names}
    told = [top for top, names in whole.items() if top == root.name or len(names) >= _TELLING]
    return told[0] if len(told) == 1 else ""


def _inside(root: Path, folder: str) -> str | None:
    path = os.path.normpath(os.path.join(root, folder))
    relative = os.path.relpath(path, root).replace(os.sep, "/")
    return None if relative == "." or relative.startswith("../") or relative == ".." else relative


def _by_habit(root: Path) -> Iterator[str]:
    if not (root / "src" / "__init__.py").exists():
        yield "src"


def _from_pyproject(root: Path) -> Iterator[str]:
    data = text_of(root / "pyproject.toml")
    if "[tool." not in data:
        return
    import tomllib

    try:
        tools = tomllib.loads(data).get("tool", {})
    except tomllib.TOMLDecodeError:
        return
    yield from _strings(_values(_at(tools, "setuptools", "package-dir")))
    yield from _strings(_at(tools, "setuptools", "packages", "find", "where"))
    yield from _strings(_at(tools, "hatch", "build", "sources"))
    yield from _strings(_at(tools, "pdm", "build", "package-dir"))
    for package in _strings(_at(tools, "hatch", "build", "targets", "wheel", "packages")):
        yield os.path.dirname(package.rstrip("/")) or "."
    packages = _at(tools, "poetry", "packages")
    for entry in packages if isinstance(packages, list) else ():
        yield from _strings(_at(entry, "from"))


def _from_setup(root: Path) -> Iterator[str]:
    for name, patterns in (
        ("setup.cfg", (_CFG_DIRECTORY, _CFG_WHERE)),
        ("setup.py", (_SETUP_DIRECTORY, _SETUP_WHERE)),
    ):
        text = text_of(root / name)
        for pattern in patterns if text else ():
            match = pattern.search(text)
            if match is not None:
                yield match.group(1)


def text_of(path: Path) -> str:
    """What a file says; nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _values(value: Any) -> list[Any]:
    """The folder of the root package (key `""`): other entries rename single packages."""
    return [value[""]] if isinstance(value, dict) and "" in value else []


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
