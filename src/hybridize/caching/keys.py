"""What results rest on, as keys: the tool, Python, the options, the sources, and what the files beside them say."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from hybridize.config import OPTIONS, Config
from hybridize.source import Inputs, Part, SourceText
from hybridize.source.spacing import Spacing

#: Options that what is found does not rest on: they choose among it, say where and how fast it is found, or what they
#: do is among the inputs.
_BESIDE: Final = frozenset(
    "select ignore per-file-ignores exclude src tensorflow-version world jobs cache cache-dir".split()
)


def tool() -> bytes:
    """What tells this hybridize from any other: the files that it consists of."""
    folder = Path(__file__).resolve().parents[1]
    return _digest(*(f"{path} {size} {changed}" for path, size, changed in sorted(_files(str(folder)))))


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            else:
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns


def of_files(config: Config, files: Mapping[str, bytes], beside: object) -> bytes:
    """Of what is found in a project that has just these files, by path; `beside` is what was asked."""
    read = (part for path in sorted(files) for part in (path, files[path]))
    return _digest(b"files", _base(config), repr(beside), *read)


class Keys:
    """The keys of the results of a project and its parts.

    Args:
        inputs: all that was read.
        config: the options in force.
    """

    def __init__(self, inputs: Inputs, config: Config) -> None:
        self._inputs = inputs
        self._base = _digest(_base(config), repr(inputs.versions))
        #: By path, what stands for the bytes of each file.
        self.contents: Mapping[str, bytes] = {
            path: _digest(read.data if isinstance(read, SourceText) else repr(read))
            for path, read in inputs.read.items()
        }

    def project(self) -> bytes:
        """Of the parts that the project has."""
        table = self._inputs.imports
        files = (
            b"%s %s" % (ref.relative.encode("utf-8", "surrogatepass"), self.contents[ref.relative])
            for ref in self._inputs.files
        )
        told = (repr((ref.relative, *self._beside(ref.relative))) for ref in self._inputs.files)
        return _digest(b"project", self._base, repr(table.start), *files, *told)

    def part(self, part: Part, beside: object) -> bytes:
        """Of what is found in a part; `beside` is what it is told of the others."""
        return self._of(b"part", part, self.contents, beside)

    def code(self, part: Part, beside: object, spacings: Mapping[str, Spacing | None]) -> bytes:
        """Of what is found in a part but for the lines where it is: the same for texts that differ in space alone."""
        codes = {path: self.contents[path] if found is None else found.code for path, found in spacings.items()}
        return self._of(b"code", part, codes, beside)

    def _of(self, kind: bytes, part: Part, contents: Mapping[str, bytes], beside: object) -> bytes:
        module_of = self._inputs.imports.module_of
        files = [
            repr((ref.relative, module_of(ref).id, contents[ref.relative], *self._beside(ref.relative)))
            for ref in part.files
        ]
        return _digest(kind, self._base, *files, repr((part.meaning, beside)))

    def outline(self, path: str) -> bytes:
        """Of what a file imports and defines."""
        return _digest(b"outline", self._base, self.contents[path])

    def _beside(self, path: str) -> tuple[object, ...]:
        return self._inputs.roles.of(path).value, self._inputs.old.get(path)


def _base(config: Config) -> bytes:
    options = [f"{o.name}={getattr(config, o.field)!r}" for o in OPTIONS if o.name not in _BESIDE]
    return _digest(tool(), repr(sys.version_info), *options)


def _digest(*parts: bytes | str) -> bytes:
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.digest()
