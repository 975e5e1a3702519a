"""Small programs as data, and what their parameters receive: inferred against recorded in a real run.

`programs/FAMILY.txt` holds programs. Their format:

    $X = tf.ones([2, 3])        alternatives before the first program are the family's: one program for each
    $X = tf.constant([1])
    ## name                     starts a program; `$X` in it stands for each alternative
    $N = 3                      alternatives of this program only (they replace the family's)
    !run pkg/main.py            how to run it (`-m pkg.main`, `-m pytest -q`); default: main.py
    !open                       some dims depend on data: only "never wrong" is asked, not "exact"
    def f(a): ...               main.py
    ### pkg/util.py             starts another file
    def g(a): ...

A file that says `tf.` or `np.` and imports neither TensorFlow nor NumPy begins with the usual import.

`truth/FAMILY.json` has, for each program, its parameters and their recorded types: `float32[2,3] | ragged:int32[2,?]`,
`-` for one that never holds a tensor. `record.py` writes it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
TRUTH = Path(__file__).parent / "truth"

_ALTERNATIVE = re.compile(r"\$([A-Z]+) = (.*)")
_USE = re.compile(r"\$([A-Z]+)\b")
_PRELUDE = (("tensorflow", "tf", "import tensorflow as tf\n"), ("numpy", "np", "import numpy as np\n"))


@dataclass(frozen=True)
class Program:
    """One small project."""

    family: str
    name: str
    files: dict[str, str]
    run: tuple[str, ...] = ("main.py",)
    open: bool = False

    @property
    def digest(self) -> str:
        """Changes with whatever the program's run depends on."""
        text = json.dumps([self.files, self.run], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def write(self, folder: Path) -> None:
        """Create the project's files."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


@dataclass
class _Draft:
    name: str
    lines: list[str] = field(default_factory=list)
    alternatives: dict[str, list[str]] = field(default_factory=dict)
    run: tuple[str, ...] = ("main.py",)
    open: bool = False


def families() -> list[str]:
    """The names of the families."""
    return sorted(path.stem for path in PROGRAMS.glob("*.txt"))


def programs(family: str) -> list[Program]:
    """The programs of a family, alternatives spelled out."""
    found: list[Program] = []
    shared: dict[str, list[str]] = {}
    for draft in _drafts((PROGRAMS / f"{family}.txt").read_text(encoding="utf-8"), shared):
        body = "\n".join(draft.lines)
        names = sorted(set(_USE.findall(body)))
        choices = [draft.alternatives.get(name) or shared[name] for name in names]
        many = any(len(choice) > 1 for choice in choices)
        for number, chosen in enumerate(itertools.product(*choices), 1):
            table = dict(zip(names, chosen, strict=True))
            text = _USE.sub(lambda use, table=table: table[use.group(1)], body)  # type: ignore[misc]
            name = f"{draft.name}/{number}" if many else draft.name
            found.append(Program(family, name, _files(text), draft.run, draft.open))
    return found


def _drafts(text: str, shared: dict[str, list[str]]) -> Iterator[_Draft]:
    draft = None
    for line in text.splitlines():
        alternative = _ALTERNATIVE.fullmatch(line)
        if line.startswith("## "):
            if draft is not None:
                yield draft
            draft = _Draft(line[3:].strip())
        elif alternative is not None:
            table = shared if draft is None else draft.alternatives
            table.setdefault(alternative.group(1), []).append(alternative.group(2))
        elif draft is None:
            assert not line.strip() or line.startswith("#"), line
        elif line.startswith("!run "):
            draft.run = tuple(line[5:].split())
        elif line == "!open":
            draft.open = True
        else:
            draft.lines.append(line)
    if draft is not None:
        yield draft


def _files(text: str) -> dict[str, str]:
    files: dict[str, str] = {}
    for part in re.split(r"^### ", "### main.py\n" + text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        body = body.strip("\n") + "\n"
        prelude = [
            line
            for module, alias, line in _PRELUDE
            if f"{alias}." in body and not re.search(rf"(import|from) {module}\b", body)
        ]
        if name.strip() != "main.py" or body.strip():
            files[name.strip()] = "".join(prelude) + (body if body.strip() else "")
    return files


def truth(family: str) -> dict[str, dict[str, str]]:
    """Recorded types of a family by program and parameter."""
    path = TRUTH / f"{family}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}  # type: ignore[no-any-return]
