"""What is left when the program has ended: the values in its modules, what it printed, the texts that it wrote.

A run of the program as it is and one with its conversions are compared by that, as a whole.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import random
import sys
import types
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from .streams import CHATTER
from .values import ARRAYS, Described, Describer

Plain = Any  # nested lists of str, int, float, bool and None
#: Elements of one array that are kept (of a larger one, these and two sums), characters of output and of one file.
ELEMENTS, TEXT, FILE = 512, 400_000, 100_000
#: Seconds that describing may take, written files that are looked at.
SECONDS, FILES = 5.0, 50
#: Both streams start here in every run: a program that does not care which numbers it draws may get these.
SEED = 20_011


class Final:
    """Listens to the program from its start, and describes what is left.

    Args:
        is_own: tells whether a module, by its name, is the program's.
        report: the path of the job's report, which is not the program's.
    """

    def __init__(self, is_own: Callable[[str], bool], report: str) -> None:
        self._is_own, self._report = is_own, os.path.abspath(report)
        self._printed: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._written: dict[str, None] = {}

    def listen(self, output: bool = True) -> None:
        """From now on output (if asked for) and written files are noted, and host randomness starts from one seed."""
        random.seed(SEED)
        if "numpy" not in sys.modules:
            sys.meta_path.insert(0, _Seeder())
        if output:
            for name, kept in self._printed.items():
                _tee(getattr(sys, name), kept)
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or len(self._written) >= FILES:
            return
        path, mode, flags = args
        if isinstance(mode, str):
            writes = bool(set(mode) & set("wax+"))
        else:
            writes = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
        if writes and isinstance(path, (str, bytes, os.PathLike)):
            name = os.path.abspath(os.fsdecode(path))
            if not (
                name.startswith(("/dev/", "/proc/"))
                or "__autograph" in name
                or "__pycache__" in name
                or name == self._report
            ):
                self._written[name] = None

    def described(self) -> dict[str, Any]:
        """Plain data: `values` by name, `stdout`, `stderr`, `files` by path (None: not a text)."""
        printed = {name: _own("".join(kept)[:TEXT]) for name, kept in self._printed.items()}
        return {"values": self._values(), **printed, "files": self._files()}

    def _values(self) -> dict[str, Plain]:
        if "tensorflow" not in sys.modules:
            return {}
        describer = Describer(sys.modules["tensorflow"], sys.modules["numpy"], lambda cls: self._is_own(cls.__module__))
        until = perf_counter() + SECONDS
        found: dict[str, Plain] = {}
        for name, value in self._names():
            if perf_counter() > until:
                break
            described = describer.describe(value)
            if described != ("callable",):
                found[name] = plain(described)
        return found

    def _names(self) -> Iterator[tuple[str, Any]]:
        """The names of the program's modules, and data on its classes."""
        for module_name, module in list(sys.modules.items()):
            known = isinstance(module, types.ModuleType) and module_name != "__mp_main__"
            if not known or not self._is_own(module_name):
                continue
            prefix = "" if module_name == "__main__" else f"{module_name}."
            for name, value in list(vars(module).items()):
                if name.startswith("__") or isinstance(value, types.ModuleType):
                    continue
                if not isinstance(value, type):
                    yield prefix + name, value
                elif value.__module__ == module_name:
                    for key, each in list(vars(value).items()):
                        if not key.startswith("__") and not callable(each) and not hasattr(type(each), "__get__"):
                            yield f"{prefix}{name}.{key}", each

    def _files(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for path in list(self._written):
            try:
                with open(path, "rb") as stream:
                    found[path] = stream.read(FILE).decode("utf-8")
            except UnicodeDecodeError:
                found[path] = None
            except OSError:  # removed again
                continue
        return found


def _tee(stream: Any, kept: list[str]) -> None:
    """Keeps what is written to a stream."""
    length = 0
    try:
        write = stream.write

        def noted(text: str) -> Any:
            nonlocal length
            if length < TEXT and not CHATTER.match(text):  # a message of the libraries, in several lines
                kept.append(str(text))
                length += len(text)
            return write(text)

        stream.write = noted
    except AttributeError:  # closed, or a stream of another kind
        pass


def _own(text: str) -> str:
    """Without what the libraries tell of themselves, and bars that are drawn as time goes by."""
    lines = text.split("\n")
    return "\n".join(line for line in lines if not ("\r" in line or "\b" in line or CHATTER.match(line)))


def plain(value: Described) -> Plain:
    """A description as lists that travel as JSON."""
    kind = value[0]
    if kind in ARRAYS:
        return [kind, value[1], list(value[2]), _elements(value[3])]
    if kind == "py":
        return ["py", value[1], _primitive(value[2])]
    if kind in ("list", "tuple", "set"):
        return [kind, [plain(v) for v in value[1]], value[2]]
    if kind == "dict":
        return ["dict", [[str(k), plain(v)] for k, v in value[1].items()], value[2]]
    if kind == "object":
        return ["object", value[1], [[str(k), plain(v)] for k, v in value[2].items()]]
    if kind == "composite":
        return ["composite", value[1], [plain(v) for v in value[2]]]
    return [str(part) if not isinstance(part, (int, float, type(None))) else part for part in value]


def _elements(array: Any) -> list[Plain]:
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        array = array.astype("float32")
    flat = array.reshape(-1)
    sums: list[float] = []
    if flat.size > ELEMENTS and flat.dtype.kind in "fiub":
        sums = [float(flat.sum(dtype="float64")), float(abs(flat.astype("float64")).sum())]
    return [_primitive(item) for item in flat[:ELEMENTS].tolist()] + sums


def _primitive(value: Any) -> Plain:
    if isinstance(value, (bytes, bytearray)):
        return value.decode("latin-1")
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


class _Seeder(importlib.abc.MetaPathFinder):
    """Seeds NumPy's global stream as its module is loaded, before anybody draws."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "numpy.random":
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def seeded(module: Any) -> None:
            execute(module)
            module.seed(SEED)

        spec.loader.exec_module = seeded
        return spec
