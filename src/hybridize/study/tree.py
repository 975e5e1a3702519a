"""The files of a commit as a tree: what is there, which file an import means, and what belongs to a changeset."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hybridize.study import requirements
from hybridize.study.history import GitError, Repository, decode_path

LIMIT: Final = 100_000
"""Bytes of Python up to which what changed files import is taken along."""
FILE_LIMIT: Final = 1_000_000
"""Larger files are data in disguise."""
_ENDS: Final = (b".py", *(path.rpartition("*")[2].encode() for path in requirements.PATHS))


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree: git's name for its contents, and its size in bytes."""

    oid: str
    size: int


def entries(repository: Repository, revision: str, *, sizes: bool = True) -> dict[str, Entry]:
    """The regular files of a commit that matter, by path: Python, and what states library versions.

    Paths that could leave the folder they are written to are left out. Empty if the commit can't be listed. Without
    `sizes`, which git has to look up file by file, they are 0.
    """
    try:
        listing = repository.run("ls-tree", "-r", *["-l"] * sizes, "-z", "--full-tree", revision)
    except GitError:
        return {}
    found: dict[str, Entry] = {}
    for record in listing.split(b"\0"):
        if not record.endswith(_ENDS):
            continue
        head, tab, name = record.partition(b"\t")
        parts = head.split() if sizes else [*head.split(), b"0"]
        if not tab or len(parts) != 4 or parts[0] not in (b"100644", b"100755") or not parts[3].isdigit():
            continue
        path = decode_path(name)
        if (path.endswith(".py") or requirements.is_requirements(path)) and is_safe(path):
            found[path] = Entry(parts[2].decode("ascii"), int(parts[3]))
    return found


def is_safe(path: str) -> bool:
    """Whether a path from a stranger's repository stays below the folder that it is joined to."""
    parts = path.split("/")
    return not any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) and not any(
        sign in path for sign in ("\\", ":", "\0")
    )


def imports(text: str) -> list[tuple[str, int, tuple[str, ...]]]:
    """What a file imports: (dotted module, level, names); no names for `import a.b`. Empty if it can't be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[tuple[str, int, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", node.level, tuple(alias.name for alias in node.names)))
    return found


def module_file(paths: Mapping[str, object], importing: str, dotted: str, level: int) -> str | None:
    """The file of a project's module, seen from the file that imports it; null for a module from elsewhere.

    An absolute name is looked for beside the importing file, then in each folder above it, then in `src`.
    """
    folder = posixpath.dirname(importing)
    rest = dotted.replace(".", "/")
    if level:
        for _ in range(level - 1):
            if not folder:
                return None
            folder = posixpath.dirname(folder)
        return _file(paths, posixpath.join(folder, rest) if rest else folder)
    if not rest:
        return None
    while True:
        found = _file(paths, posixpath.join(folder, rest))
        if found is not None or not folder:
            return found or _file(paths, f"src/{rest}")
        folder = posixpath.dirname(folder)


def _file(paths: Mapping[str, object], stem: str) -> str | None:
    for path in (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py"):
        if path in paths:
            return path
    return None


def imported_files(paths: Mapping[str, object], importing: str, text: str) -> Iterator[str]:
    """The project's files that a file imports, submodules named by `from package import module` included."""
    for dotted, level, names in imports(text):
        found = module_file(paths, importing, dotted, level)
        if found is not None:
            yield found
        for name in names:
            inner = module_file(paths, importing, f"{dotted}.{name}" if dotted else name, level)
            if inner is not None:
                yield inner


def relevant(
    tree: Mapping[str, Entry], changed: Iterable[str], read: Callable[[str], str | None], limit: int = LIMIT
) -> set[str]:
    """The files to look at for changed ones: these, and, breadth first, what they import until `limit` bytes are
    reached, with the packages that they are in. `read` gives a file's text by its path."""
    code = {path: entry for path, entry in tree.items() if path.endswith(".py") and entry.size <= FILE_LIMIT}
    queue = [path for path in changed if path in code]
    chosen, total = set(queue), sum(code[path].size for path in queue)
    for path in queue:  # grows while it is walked
        text = read(path)
        for other in imported_files(code, path, text) if text else ():
            if other not in chosen and total + code[other].size <= limit:
                chosen.add(other)
                queue.append(other)
                total += code[other].size
    packages = {f"{folder}/__init__.py" for path in chosen for folder in _folders(path)}
    return chosen | (packages & code.keys()) | {path for path in tree if not path.endswith(".py")}


def _folders(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path
