"""How modules are named and how imports reach them, by dictionary look-ups over the project's own files.

Python decides at run time from `sys.path`, which no analysis knows. So the likely places are tried in order of
likelihood, and the answer depends on nothing but the files. Folders need not be importable names, nor hold an
`__init__.py`.
"""

import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from hybridize.records import dataclass
from hybridize.source.model import FileRef

STDLIB_NAMES = frozenset(sys.stdlib_module_names)

_INIT = "__init__"
NO_TEXTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """A module, a package or a namespace package (a folder without `__init__.py`, where `file` is None).

    `id` is unique in the project; it is the dotted name wherever that is unique, else the path. `directory` is the
    folder that holds the file (for a namespace package: the folder itself), relative to the root, `""` for the root.
    """

    id: str
    file: FileRef | None
    directory: str
    is_package: bool


def module_name(relative: str, src_roots: Sequence[str] = (), root_name: str = _INIT) -> str:
    """The dotted name of a file, by its path relative to the root of the project or to the longest of `src_roots`
    above it.

    `1_Introduction/basics.py` is `1_Introduction.basics`, and a package's `__init__.py` has the package's name.
    `root_name` names the `__init__.py` of the root itself. Roots are relative to the project's root too, all with
    `/`.
    """
    key = strip_suffix(relative)
    best = ""
    for root in src_roots:
        if len(root) > len(best) and key.startswith(root + "/"):
            best = root
    name = key[len(best) + 1 :] if best else key
    if name == _INIT:
        return posixpath.basename(best) if best else root_name
    return name.removesuffix("/" + _INIT).replace("/", ".")


def strip_suffix(relative: str) -> str:
    """A path without the ending of Python's files and notebooks."""
    for suffix in (".py", ".ipynb"):
        if relative.endswith(suffix):
            return relative[: -len(suffix)]
    return relative


class ImportTable:
    """Resolves every import of a project to the file it means.

    `external` are the top-level names of installed libraries, the standard library's by default: for these a
    project's file counts only where it would certainly shadow the library, so that a folder `tensorflow/` full of
    scripts is not taken for TensorFlow; `texts` are what the files hold, by their path from the root: where there are
    none, no file tells what is meant. The table does not change; it only remembers answers.
    """

    def __init__(
        self,
        files: Iterable[FileRef],
        src_roots: Sequence[str] = (),
        *,
        root_name: str = "",
        external: Collection[str] = STDLIB_NAMES,
        texts: Mapping[str, str] = NO_TEXTS,
    ) -> None:
        self._texts = texts
        self._external = frozenset(external)
        self._src_roots = tuple(src_roots)
        self._root_name = root_name
        # Path without suffix, relative to the root -> module, for all that can be imported.
        self._by_path: dict[str, ModuleInfo] = {}
        self._by_id: dict[str, ModuleInfo] = {}
        self._id_of_file: dict[str, str] = {}
        self._by_suffix: dict[str, list[str]] = {}
        self._places: dict[str, tuple[str, ...]] = {}
        self._answers: dict[tuple[str, str], ModuleInfo | None] = {}
        ordered = sorted(files, key=_precedence)
        for ref in ordered:
            self._add_file(ref)
        for ref in ordered:
            self._add_namespaces(posixpath.dirname(ref.relative))
        self._index_suffixes()

    @property
    def start(self) -> tuple[tuple[str, ...], str]:
        """Where imports start from: folders besides the root, and the name that the root itself is imported by."""
        return self._src_roots, self._root_name

    @property
    def modules(self) -> Mapping[str, ModuleInfo]:
        """All modules, packages and namespace packages by id."""
        return self._by_id

    def module_of(self, ref: FileRef) -> ModuleInfo:
        """The module that a file of the project is."""
        return self._by_id[self._id_of_file[ref.relative]]

    def resolve(self, importing: str, dotted: str, level: int = 0) -> str | None:
        """The id of the module that `import dotted` means in the module with the id `importing`; None if not of the
        project.

        `level` is the number of leading dots. The whole dotted name must be a module: whether the last part of
        `from package import name` is one, `submodule` tells.
        """
        origin = self._by_id[importing]
        if level:
            found = self._resolve_relative(origin, dotted, level)
        else:
            key = (importing, dotted)
            try:
                found = self._answers[key]
            except KeyError:
                found = self._answers[key] = self._resolve_absolute(origin, dotted)
        return found.id if found is not None else None

    def is_guess(self, importing: str, dotted: str) -> bool:
        """Whether nothing that Python searches has that name, but a module elsewhere in the project ends so."""
        origin, tail = self._by_id[importing], dotted.replace(".", "/")
        return self.resolve(importing, dotted) is not None and self._searched(origin, tail) is None

    def submodule(self, package: str, name: str) -> str | None:
        """The id of the module `name` in a package, None if it has no such module."""
        info = self._by_id[package]
        if not info.is_package:
            return None
        found = self._by_path.get(_join(info.directory, name))
        return found.id if found is not None else None

    def _add_file(self, ref: FileRef) -> None:
        key = strip_suffix(ref.relative)
        directory, _, name = key.rpartition("/")
        is_package = name == _INIT and ref.relative.endswith(".py")
        root_name = self._root_name or _INIT
        names = (
            module_name(ref.relative, self._src_roots, root_name),
            module_name(ref.relative, (), root_name),
            ref.relative,
        )
        identity = next(name for name in names if name not in self._by_id)
        info = ModuleInfo(identity, ref, directory, is_package)
        self._by_id[identity] = info
        self._id_of_file[ref.relative] = identity
        if ref.relative.endswith(".py"):
            self._by_path.setdefault(directory if is_package else key, info)

    def _add_namespaces(self, directory: str) -> None:
        while directory not in self._by_path or not self._by_path[directory].is_package:
            if directory in self._by_path:  # a module of the same name hides the folder
                return
            names = (module_name(directory, self._src_roots), module_name(directory), directory + "/")
            if not directory:
                names = (self._root_name or ".", "./", "././")
            identity = next(name for name in names if name not in self._by_id)
            info = ModuleInfo(identity, None, directory, True)
            self._by_id[identity] = self._by_path[directory] = info
            if not directory:
                return
            directory = posixpath.dirname(directory)

    def _index_suffixes(self) -> None:
        for path, info in self._by_path.items():
            tail = path
            while tail:
                # A bare folder name is too weak a reason to take an import for one of the project's.
                if "/" in tail or info.file is not None:
                    self._by_suffix.setdefault(tail, []).append(path)
                _, slash, tail = tail.partition("/")
                if not slash:
                    break

    def _resolve_relative(self, origin: ModuleInfo, dotted: str, level: int) -> ModuleInfo | None:
        directory = origin.directory
        for _ in range(level - 1):
            if not directory:
                return None
            directory = posixpath.dirname(directory)
        return self._by_path.get(_join(directory, dotted.replace(".", "/")))

    def _resolve_absolute(self, origin: ModuleInfo, dotted: str) -> ModuleInfo | None:
        tail = dotted.replace(".", "/")
        return self._searched(origin, tail) or (None if self._is_external(tail) else self._closest(origin, tail))

    def _is_external(self, tail: str) -> bool:
        return tail.partition("/")[0] in self._external

    def _searched(self, origin: ModuleInfo, tail: str) -> ModuleInfo | None:
        """What stands where Python looks for it."""
        if self._is_external(tail):
            return self._resolve_shadowing(origin, tail)
        for place in self._search_path(origin.directory):
            found = self._by_path.get(_join(place, tail))
            if found is not None and (found is not origin or self._may_mean_itself(origin, place, tail)):
                return found
        return self._within_root(tail)

    def _within_root(self, tail: str) -> ModuleInfo | None:
        """What a name means where the root itself is the package that the name begins with."""
        package = self._root_name.replace(".", "/")
        if package and f"{tail}/".startswith(f"{package}/"):
            return self._by_path.get(tail[len(package) + 1 :])
        return None

    def _resolve_shadowing(self, origin: ModuleInfo, tail: str) -> ModuleInfo | None:
        root = self._by_path.get("")
        root_is_package = root is not None and root.file is not None
        for place in (*self._src_roots, "") if not root_is_package else self._src_roots:
            found = self._by_path.get(_join(place, tail))
            if found is None or found.file is None:
                continue
            if found.is_package and "/" not in tail and self._is_empty(found.file):
                continue  # nothing in it can be meant by that name: scripts in it mean the library
            if found is not origin or self._may_mean_itself(origin, place, tail):
                return found
        beside = self._beside(origin, tail)
        return beside if beside is not None or not root_is_package else self._within_root(tail)

    def _beside(self, origin: ModuleInfo, tail: str) -> ModuleInfo | None:
        """What shadows a library in the folder of a script, which Python searches first (a folder of a package: never).

        A file that imports its own name means the library, and so do the files beside it; what is to be analyzed has
        TensorFlow itself by its name.
        """
        name = tail.partition("/")[0]
        places = [origin.directory, *_above(origin.directory)]
        if name in STDLIB_NAMES or name == "tensorflow" or not origin.directory or any(map(self._is_regular, places)):
            return None
        head, found = (self._by_path.get(_join(origin.directory, each)) for each in (name, tail))
        if head is None or head is origin or head.file is None or found is None or found.file is None:
            return None
        return None if self._imports(head.file, name) else found

    def _is_empty(self, file: FileRef) -> bool:
        """Whether a file could be read, and has nothing but comments."""
        text = self._texts.get(file.relative)
        return text is not None and not re.sub(r"(?m)#.*$", "", text).strip()

    def _imports(self, file: FileRef, name: str) -> bool:
        """Whether a file is empty, or imports something by a top-level name."""
        text = self._texts.get(file.relative, "")
        return not text.strip() or re.search(rf"^\s*(?:import|from)\s+{re.escape(name)}\b", text, re.M) is not None

    def _may_mean_itself(self, origin: ModuleInfo, place: str, tail: str) -> bool:
        """Whether a module may import itself by this name: `loggers/wandb.py` with `import wandb` means a library."""
        return "/" in tail or (origin.is_package and (not place or place in self._src_roots))

    def _search_path(self, directory: str) -> tuple[str, ...]:
        """The folders where an absolute import is looked for: the script's own and those above it, then the source
        roots.

        The folders of regular packages come last, for Python has them on its path only when a file of a package is
        run as a script.
        """
        places = self._places.get(directory)
        if places is None:
            above = [directory]
            while above[-1]:
                above.append(posixpath.dirname(above[-1]))
            inside = [place for place in above if self._is_regular(place)]
            outside = [place for place in above if not self._is_regular(place)]
            places = tuple(dict.fromkeys((*outside, *self._src_roots, *inside)))
            self._places[directory] = places
        return places

    def _is_regular(self, directory: str) -> bool:
        info = self._by_path.get(directory)
        return info is not None and info.is_package and info.file is not None

    def _closest(self, origin: ModuleInfo, tail: str) -> ModuleInfo | None:
        """The one module whose path ends so; of several the nearest in the tree, if there is a nearest one."""
        paths = self._by_suffix.get(tail, [])
        if "/" not in tail:
            paths = [path for path in paths if self._by_path[path] is not origin]
        if not paths:
            return None
        shared = [_shared_parts(path, origin.directory) for path in paths]
        best = max(shared)
        if shared.count(best) > 1:
            return None
        return self._by_path[paths[shared.index(best)]]


def _above(directory: str) -> Iterator[str]:
    """The folders above one, up to the root."""
    while directory:
        directory = posixpath.dirname(directory)
        yield directory


def _precedence(ref: FileRef) -> tuple[int, str]:
    """Packages before modules before notebooks, as a name that two of them claim goes to the first."""
    if ref.relative.endswith("__init__.py"):
        return 0, ref.relative
    return (1 if ref.relative.endswith(".py") else 2), ref.relative


def _join(directory: str, tail: str) -> str:
    if not tail:
        return directory
    return f"{directory}/{tail}" if directory else tail


def _shared_parts(path: str, directory: str) -> int:
    count = 0
    for left, right in zip(path.split("/"), directory.split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
