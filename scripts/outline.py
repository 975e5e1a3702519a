"""Which module has what: the public names of a package, each with the first sentence that its docstring says of it.

python scripts/outline.py WORD...

A word that names a module or package (`tracing.values`) gives all of it; all others must begin a word of the line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def main(words: Sequence[str]) -> int:
    """Prints the lines; 1 where there are none, 2 where nothing is asked."""
    if not words:
        print(__doc__.strip())
        return 2
    found = [line for path in sorted(SOURCE.rglob("*.py")) for line in outline(path, words)]
    print("\n".join(found) or "nothing")
    return 0 if found else 1


def outline(path: Path, words: Sequence[str]) -> Iterator[str]:
    """The lines of a module that all words are in, but for those that name the module or a package around it."""
    place = path.relative_to(SOURCE).with_suffix("")
    names = [part for part in place.parts if part != "__init__"]
    around = {".".join(names[i:j]) for i in range(len(names)) for j in range(i + 1, len(names) + 1)}
    wanted = [re.compile(rf"(?<![a-z]){re.escape(word)}", re.IGNORECASE) for word in words if word not in around]
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text if all(each.search(f"{place}\n{text}") for each in wanted) else "")
    for name, node in [("", tree), *_defined(tree, "")]:
        line = f"{place}.py  {name}  {_sentence(node)}"
        if all(each.search(line) for each in wanted):
            yield line


def _defined(tree: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Defined]]:
    """The public functions and classes, and their public methods."""
    for node in tree.body:
        if isinstance(node, _Defined) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _defined(node, f"{prefix}{node.name}.")


def _sentence(node: ast.Module | _Defined) -> str:
    said = " ".join((ast.get_docstring(node) or "").split())
    return re.split(r"(?<=[.:]) (?=[A-Z`])", said)[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
