"""What hybridize says of the functions that their authors had made hybrid, once the decorators are taken away.

    python scripts/undecorated.py PROJECT... [--out FILE] [--score-only] [--mode MODE] [--wrapper MODULE.NAME]

Each project is copied, every `@tf.function` and `tf.function(f)` of the copy goes (lines stay where they are), and the
copy is analyzed: by default, with each `--confidence`, and with `--all-safe`. Each function that had been hybrid falls
into one class (`CLASSES`); functions of tests are counted apart. `--score-only` prints the tallies alone.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import hybridize.deciding as deciding
from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.basis import Basis
from hybridize.decide.mistakes import Mistakes
from hybridize.decide.model import Action, Confidence, FunctionReport, Severity
from hybridize.decide.plan import Plan, Wanted
from hybridize.facts.model import Mode
from hybridize.program.ir import Code
from hybridize.source.discovery import DEFAULT_EXCLUDES
from hybridize.source.roles import Roles, find_roles

#: What may become of a function, and what that says.
CLASSES: Final = {
    "converted": "the tool makes it hybrid, too",
    "covered": "it runs as part of a graph (HY010)",
    "named": "a graph of it would make weights under other names (HY010)",
    "small": "its graph would gain nothing (HY021)",
    "unseen": "nothing shows that it is called often enough (HY026)",
    "unsure": "safe, and resting on too little (HY027), or TensorFlow 1 (HY028)",
    "refused": "a candidate that does not pass",
    "none": "no candidate: no parameter is known to receive a tensor",
    "tests": "kept because it belongs to the tests (HY025)",
    "missing": "not analyzed",
}
#: What is asked, under the options that users would give: a fact may rest on more where the mode allows it.
MODES: Final = {
    "default": (Config(jobs=1), Wanted()),
    "declared": (Config(jobs=1), Wanted(confidence=Confidence.DECLARED)),
    "assumed": (Config(jobs=1, all_safe=True), Wanted(confidence=Confidence.ASSUMED)),
    "all-safe": (Config(jobs=1, all_safe=True), Wanted(all_safe=True)),
}
_KEPT: Final = {"HY010": "covered", "HY021": "small", "HY026": "unseen", "HY027": "unsure", "HY028": "unsure"}
#: What HY010 says of a graph that would make the weights of a layer.
_NAMED: Final = "whose names would lose"
#: All that is said of one that takes no tensor, and that a graph is not seen to pay for.
_PLANNED: Final = frozenset((*_KEPT, "HY001"))
#: What a project is analyzed by: sources, and what says which TensorFlow and whose package it is.
_TAKEN: Final = frozenset((".py", ".pyi", ".ipynb", ".toml", ".cfg", ".txt", ".md", ".rst", ".yml", ".yaml", ".in"))
_LARGEST: Final = 2_000_000

Edit: TypeAlias = tuple[int, int, bytes]
#: What other modules of a project call `tf.function`: the last part of the module's name, and the name in it.
Aliases: TypeAlias = frozenset[tuple[str, str]]
Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass
class Stripped:
    """A file without its decorators: its text, the lines of the `def`s that had one, and how many had no `def`."""

    text: bytes
    lines: list[int] = field(default_factory=list)
    others: int = 0


class _Taker:
    """Finds what makes functions of one module hybrid."""

    def __init__(self, data: bytes, aliases: Aliases = frozenset()) -> None:
        self.data = data
        self.aliases = aliases
        self.tree = ast.parse(data)
        self.starts = [0]
        for line in data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.names: dict[str, str] = {}
        self.edits: list[Edit] = []
        self.lines: set[int] = set()
        self.others = 0
        self.passed_on: set[str] = set()  # the names of this module that other modules may import
        self._read_names()

    def _read_names(self) -> None:
        """The names of TensorFlow and its parts, then those that stand for `tf.function`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    first = each.name.partition(".")[0]
                    self.names[each.asname or first] = each.name if each.asname else first
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    name = each.asname or each.name
                    # A module of the project may pass TensorFlow on.
                    self.names[name] = "tensorflow" if each.name == "tf" else f"{node.module or ''}.{each.name}"
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and self.makes_hybrid(node.value):
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                self.names.update(dict.fromkeys(names, "tensorflow.function"))
                self.passed_on |= names if self.parents[node] is self.tree else set()

    def makes_hybrid(self, node: ast.expr) -> bool:
        """Whether an expression is `tf.function`, under any name, or that with settings and no function yet."""
        if isinstance(node, ast.Call):
            if self.makes_hybrid(node.func):
                return _wrapped(node) is None
            partial = _dotted(node.func).rpartition(".")[2] == "partial" and bool(node.args)
            return partial and self.makes_hybrid(node.args[0]) and len(node.args) == 1
        root, _, rest = _dotted(node).partition(".")
        path = f"{self.names.get(root, '')}.{rest}".rstrip(".")
        if path.partition(".")[0] == "tensorflow":
            return path.endswith(".function")
        return tuple(path.split(".")[-2:]) in self.aliases

    def run(self) -> Stripped:
        """Takes everything away."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for made in node.decorator_list:
                    if self.makes_hybrid(made):
                        self._take_decorator(node, made)
            elif isinstance(node, ast.Call) and self.makes_hybrid(node.func):
                inner = _wrapped(node)
                if inner is not None:
                    self._take_call(node, inner)
        text = self.data
        for start, end, new in sorted(self.edits, reverse=True):
            kept = text[start:end].count(b"\n")
            text = text[:start] + (new + b"\n" * kept if new != b")" else b"\n" * kept + new) + text[end:]
        return Stripped(text, sorted(self.lines), self.others)

    def _take_decorator(self, node: ast.FunctionDef | ast.AsyncFunctionDef, made: ast.expr) -> None:
        start, end = self._span(made)
        at = self.data.rindex(b"@", 0, start)
        closed = self.data[end:].partition(b"\n")[0].partition(b"#")[0]
        self.edits.append((at, end + len(closed.rstrip()), b""))  # a bracket around it goes, too
        self.lines.add(node.lineno)

    def _take_call(self, node: ast.Call, inner: ast.expr) -> None:
        start, end = self._span(node)
        first, last = self._span(inner)
        self.edits += [(start, first, b"("), (last, end, b")")]
        found = self._definition(inner, node)
        if found is None:
            self.others += 1
        else:
            self.lines.add(found.lineno)

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _definition(self, node: ast.expr, at: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function of this module that an expression names: one around it, or a method of the class around it."""
        if isinstance(node, ast.Call) and node.args and _dotted(node.func).rpartition(".")[2] == "partial":
            return self._definition(node.args[0], at)
        name = _dotted(node)
        first, _, rest = name.partition(".")
        own = first in ("self", "cls") and bool(rest)
        scope: ast.AST | None = self.parents.get(at)
        while scope is not None:
            if isinstance(scope, Scope) and isinstance(scope, ast.ClassDef) == own:
                for each in _defined(scope):
                    if each.name == (rest if own else name):
                        return each
            scope = self.parents.get(scope)
        return None


def _defined(scope: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a scope, those under conditions included."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif not isinstance(node, ast.ClassDef | ast.Lambda | ast.expr):
            yield from _defined(node)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _wrapped(call: ast.Call) -> ast.expr | None:
    """The function that a call of `tf.function` is given; None where it gets only settings."""
    named = [each.value for each in call.keywords if each.arg == "func"]
    given = [*call.args[:1], *named]
    is_none = bool(given) and isinstance(given[0], ast.Constant) and given[0].value is None
    return given[0] if given and not is_none else None


def aliases(path: Path) -> Aliases:
    """The names that a module gives to `tf.function`, with or without settings."""
    try:
        names = _Taker(path.read_bytes()).passed_on
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset((path.parent.name if path.stem == "__init__" else path.stem, name) for name in names)


def strip(data: bytes, others: Aliases = frozenset()) -> Stripped | None:
    """A module without anything that makes its functions hybrid; None where it cannot be read or nothing does."""
    if b"function" not in data:
        return None
    try:
        made = _Taker(data, others).run()
        ast.parse(made.text)
    except (SyntaxError, ValueError):
        return None
    return made if made.lines or made.others else None


def copy_stripped(project: Path, home: Path, wrappers: Aliases = frozenset()) -> tuple[dict[str, list[int]], int]:
    """Copies a project without its decorators: the lines of the `def`s that had one by path, and how many had none."""
    places: dict[str, list[int]] = {}
    others = 0
    known = set(wrappers)
    for file in project.rglob("*.py"):
        if file.is_file() and DEFAULT_EXCLUDES.isdisjoint(file.relative_to(project).parts):
            known |= aliases(file) if b"tensorflow" in file.read_bytes() else set()
    for file in sorted(project.rglob("*")):
        path = file.relative_to(project)
        if not DEFAULT_EXCLUDES.isdisjoint(path.parts):
            continue
        if file.is_symlink() or not file.is_file() or file.suffix not in _TAKEN:
            continue
        if file.stat().st_size > _LARGEST:
            continue
        target = home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        made = strip(file.read_bytes(), frozenset(known)) if file.suffix == ".py" else None
        if made is None:
            shutil.copyfile(file, target)
        else:
            target.write_bytes(made.text)
            places[path.as_posix()] = made.lines
            others += made.others
    return places, others


@dataclass(frozen=True)
class Asked:
    """What is said of one function that had been hybrid."""

    path: str
    line: int
    group: str
    codes: str = ""
    qualname: str = ""
    detail: str = ""
    tested: bool = False


def classify(report: FunctionReport, *, tested: bool) -> Asked:
    """The class of a function, with the codes of what keeps it as it is."""
    facts, decision = report.facts, report.decision
    codes = list(dict.fromkeys(status.code for status in report.statuses))
    group = "refused"
    if decision.action is Action.CONVERT_TO_HYBRID or facts.mode is Mode.HYBRID:
        group = "converted"
    elif "HY010" in codes:
        group = "named" if any(_NAMED in s.message for s in report.statuses if s.code == "HY010") else "covered"
    elif "HY025" in codes:
        group = "tests"
    elif "HY021" in codes:  # whatever else keeps it as it is
        group = "small"
    elif decision.precondition is not None or (codes != ["HY001"] and _PLANNED.issuperset(codes)):
        group = next((_KEPT[code] for code in codes if code in _KEPT), "refused")
    elif not facts.may_be_hybrid:
        group = "none"
    worth = "" if decision.benefit is None else f" {decision.benefit:.2g}x"
    sure = "" if decision.confidence is None else f" {decision.confidence.value}"
    said = [s for s in report.statuses if s.severity is not Severity.INFO or s.code in _SAID] or report.statuses
    detail = "; ".join(f"{s.code} {s.message} [{s.path}:{s.line}]" for s in said)
    return Asked(
        facts.path, facts.line, group, "+".join(codes), facts.qualname, f"{worth}{sure} {detail}".strip(), tested
    )


_SAID: Final = frozenset((*_KEPT, "HY006"))


def ask(home: Path, places: dict[str, list[int]], modes: Sequence[str] = tuple(MODES)) -> dict[str, list[Asked]]:
    """What the tool says of the functions at some places of a project, by mode: a plan for each."""
    texts = {path: (home / path).read_text(encoding="utf-8", errors="replace") for path in _python(home)}
    roles = find_roles(home, texts)
    found: dict[str, Sequence[FunctionReport]] = {}
    for config in dict.fromkeys(MODES[mode][0].all_safe for mode in modes):
        found.update(_analyzed(home, [mode for mode in modes if MODES[mode][0].all_safe == config]))
    return {mode: _asked(found[mode], places, roles) for mode in modes}


def _analyzed(home: Path, modes: Sequence[str]) -> dict[str, Sequence[FunctionReport]]:
    """The reports of modes with the same options: one analysis, a plan for each."""
    found: dict[str, Sequence[FunctionReport]] = {}

    def each(
        codes: Sequence[Code], reports: Sequence[FunctionReport], basis: Basis, wanted: Wanted, mistakes: Mistakes
    ) -> Plan:
        for mode in modes:
            # Parts of a project are planned one after the other.
            made = once(codes, reports, basis, MODES[mode][1], mistakes)
            found[mode] = [*found.get(mode, ()), *made.reports]
        return once(codes, reports, basis, wanted, mistakes)

    once = deciding.plan
    deciding.plan = each
    try:
        analyze([home], MODES[modes[0]][0], repairs=False)
    finally:
        deciding.plan = once
    return found


def _asked(functions: Sequence[FunctionReport], places: dict[str, list[int]], roles: Roles) -> list[Asked]:
    known = {(f.facts.path, f.facts.line): f for f in functions}
    found: list[Asked] = []
    for path, lines in sorted(places.items()):
        for line in lines:
            function = known.get((path, line))
            tested = roles.is_test(path)
            found.append(
                Asked(path, line, "missing", tested=tested) if function is None else classify(function, tested=tested)
            )
    return found


def _python(home: Path) -> list[str]:
    return [file.relative_to(home).as_posix() for file in home.rglob("*.py")]


def tally(name: str, found: Sequence[Asked]) -> str:
    """A line of counts by class, of functions that belong to no test, and the number of those that do."""
    plain = [each for each in found if not each.tested]
    counts = Counter(each.group for each in plain)
    total = len(plain)
    cells = [f"{group} {counts[group]} ({counts[group] / total:.0%})" for group in CLASSES if counts[group]]
    return f"{name}: {total} functions: {', '.join(cells) or 'none'}; in tests {len(found) - total}"


def refusals(found: Sequence[Asked]) -> str:
    """How often each code keeps a function that is no candidate or refused."""
    asked = [each for each in found if not each.tested and each.group in ("refused", "none")]
    codes = Counter(code for each in asked for code in each.codes.split("+"))
    return ", ".join(f"{code} {count}" for code, count in codes.most_common())


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, help="a line for each function")
    parser.add_argument("--score-only", action="store_true", help="nothing but the tallies")
    parser.add_argument("--mode", action="append", choices=MODES, help="ask in this mode alone; may be repeated")
    parser.add_argument("--wrapper", action="append", default=[], help="MODULE.NAME: a project's own `tf.function`")
    args = parser.parse_args()
    wrappers = frozenset((each.rpartition(".")[0], each.rpartition(".")[2]) for each in args.wrapper)
    lines: list[str] = []
    modes = args.mode or list(MODES)
    totals: dict[str, list[Asked]] = {mode: [] for mode in modes}
    for project in args.projects:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / project.resolve().name
            places, others = copy_stripped(project.resolve(), home, wrappers)
            for mode, found in ask(home, places, modes).items() if places else ():
                totals[mode] += found
                print(f"{mode:9} {tally(project.name, found)}; no def {others}; {refusals(found)}", flush=True)
                lines += [_line(project.name, mode, each) for each in found]
    for mode, found in totals.items():
        if len(args.projects) > 1:
            print(f"{mode:9} {tally('all', found)}; {refusals(found)}")
    if args.out is not None and not args.score_only:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _line(project: str, mode: str, each: Asked) -> str:
    where = f"{project}/{each.path}:{each.line} {each.qualname}"
    tested = " (tests)" if each.tested else ""
    return f"{mode:8} {each.group:9}{tested} {where} {each.codes} {each.detail}".rstrip()


if __name__ == "__main__":
    raise SystemExit(main())
