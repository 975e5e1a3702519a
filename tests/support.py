"""Helpers shared by the tests: running `hybridize` on a small project, and reading a fixture's expectations.

A fixture is a folder with a program and one or more `expected*.toml`:

    about = "one sentence: what the fixture shows"
    run = ["main.py"]                  # how to run it, from its folder (or ["-m", "package.module"])
    options = ["--all-safe"]           # of `hybridize check`; default DEFAULT_OPTIONS
    project = "../../../examples/x"    # the program's folder, if it is not the one of this file (optional)
    only_when = "2.15"                 # run it under TensorFlow only if the version starts so (optional)

    [functions."main.py:Class.method"]     # path and lexical name; "main.py:f#2" is the second definition of f
    mode = "eager"  kind = "method"  candidate = true  reached = true
    tensor = {x = "yes", n = "no"}         # per parameter
    types = {x = [["dense", "float32", [2, -1]]]}  # exactly these, in any order; -1 is a dim that is unknown
    literals = {n = ["3", "4"]}            # exactly these source texts, compared as values
    source = {x = "type_hint"}
    facts = {python_side_effects = "yes"}
    evidence = {python_side_effects = ["main.py: log.append(x)"]}    # source lines that the fact's evidence names
    precondition = "P1"                    # "none" where none passes
    action = "keep"
    statuses = ["python-side-effects"]     # these must be among the statuses
    arguments = {jit_compile = "True"}     # of the decorator
    known_gap = "reason"                   # the whole entry; or a table: {"tensor.x" = "reason"}

    [assumptions]
    functions = ["main.py:Class.method"]   # exactly these functions have an assumption (optional)

A known gap passes only while it is there: whoever closes it must delete the entry.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

FIXTURES = Path(__file__).parent / "fixtures"
# The paper's rules: every function that passes is changed, any literal blocks P1, and Keras is Keras 2.
DEFAULT_OPTIONS = ("--all-safe", "--strict-literals", "--tensorflow-version=2.15")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Expectation:
    """One `expected*.toml`."""

    file: Path
    about: str
    run: tuple[str, ...]
    options: tuple[str, ...]
    functions: Mapping[str, Json]
    assumptions: tuple[str, ...] | None = None
    only_when: str = ""
    folder: str = "."

    @property
    def project(self) -> Path:
        """The folder of the program."""
        return (self.file.parent / self.folder).resolve()

    @property
    def name(self) -> str:
        """`listings/sequential_model`, with the variant of the expectation if there is one."""
        variant = self.file.stem.removeprefix("expected").strip(".")
        return self.file.parent.relative_to(FIXTURES).as_posix() + (f"[{variant}]" if variant else "")


@dataclass(slots=True)
class Mismatch:
    """An expectation that does not hold: `name` is that of the field, dotted, as in a known gap."""

    name: str
    expected: object
    actual: object
    shown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.name}: expected {self.expected!r}, got {self.actual!r}"]
        return "\n      ".join(lines + self.shown)


def run_check(path: Path, *options: str) -> Json:
    """The JSON of `hybridize check` on a copy of `path`, out of reach of this project's own configuration.

    Raises AssertionError with the output if that is no JSON, or the exit code is 2.
    """
    from hybridize.cli import main

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / path.name
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("__pycache__", "expected*.toml"))
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                code: object = main(["check", "--output-format", "json", *options, str(copy)])
            except SystemExit as stop:
                code = stop.code
    text = output.getvalue()
    try:
        report = cast(Json, json.loads(text))
    except json.JSONDecodeError as error:
        raise AssertionError(f"exit code {code}, no JSON: {error}\n{text}\n{errors.getvalue()}") from error
    assert code in (0, 1, None), f"exit code {code}: {report['errors']}\n{errors.getvalue()}"
    return report


def load_expectations(folder: Path = FIXTURES) -> Iterator[Expectation]:
    """Every expectation below `folder`, by path."""
    for file in sorted(folder.rglob("expected*.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        assumptions = data.get("assumptions", {}).get("functions")
        yield Expectation(
            file=file,
            about=data["about"],
            run=tuple(data["run"]),
            options=tuple(data.get("options", DEFAULT_OPTIONS)),
            functions=data.get("functions", {}),
            assumptions=None if assumptions is None else tuple(assumptions),
            only_when=data.get("only_when", ""),
            folder=data.get("project", "."),
        )


def functions_by_key(report: Json) -> dict[str, Json]:
    """The functions of a report by `path:qualname`, a second definition of one name as `path:qualname#2`."""
    found: dict[str, Json] = {}
    for function in sorted(report["functions"], key=lambda entry: (entry["path"], entry["line"])):
        key = f"{function['path']}:{function['qualname'].partition('#')[0]}"
        number = 1
        while key + (f"#{number}" if number > 1 else "") in found:
            number += 1
        found[key + (f"#{number}" if number > 1 else "")] = function
    return found


def line_of(project: Path, place: str) -> tuple[str, int]:
    """`main.py: log.append(x)` -> path and number of the only line whose code is that."""
    path, _, code = place.partition(": ")
    lines = (project / path).read_text(encoding="utf-8").splitlines()
    hits = [number for number, line in enumerate(lines, 1) if line.partition("  #")[0].strip() == code.strip()]
    assert len(hits) == 1, f"{place!r} names {len(hits)} lines of {project / path}"
    return path, hits[0]


def compare(expectation: Expectation, key: str, function: Json) -> list[Mismatch]:
    """What of the expectation about one function does not hold."""
    expected = expectation.functions[key]
    found: list[Mismatch] = []

    def check(name: str, wanted: object, actual: object, shown: list[str] | None = None) -> None:
        if wanted != actual:
            found.append(Mismatch(name, wanted, actual, shown or []))

    for name in ("mode", "kind", "candidate", "reached"):
        if name in expected:
            check(name, expected[name], function[name])
    decision = function["decision"]
    statuses = [f"{s['name']} ({s['path']}:{s['line']}): {s['message']}" for s in function["statuses"]]
    if "precondition" in expected:
        check("precondition", expected["precondition"], decision["precondition"] or "none", statuses)
    if "action" in expected:
        check("action", expected["action"], decision["action"], statuses)
    names = {status["name"] for status in function["statuses"]}
    for name in expected.get("statuses", []):
        check(f"statuses.{name}", True, name in names, statuses)
    if "arguments" in expected:
        check("arguments", expected["arguments"], (function["decorator"] or {}).get("arguments"))
    for name, value in expected.get("facts", {}).items():
        fact = function["facts"][name]
        check(f"facts.{name}", value, fact["value"], _shown(fact["evidence"]))
    for name, places in expected.get("evidence", {}).items():
        evidence = function["facts"][name]["evidence"]
        lines = {(step["path"], step["line"]) for step in evidence}
        for place in places:
            where = line_of(expectation.project, place)
            check(f"evidence.{name}", f"{where[0]}:{where[1]} {place.partition(': ')[2]}", _hit(where, lines, place))
            if found and found[-1].name == f"evidence.{name}":
                found[-1].shown = _shown(evidence)
    found.extend(_compare_parameters(expected, function))
    return found


def _hit(where: tuple[str, int], lines: set[tuple[str, int]], place: str) -> str:
    if where in lines:
        return f"{where[0]}:{where[1]} {place.partition(': ')[2]}"
    return ", ".join(f"{path}:{line}" for path, line in sorted(lines)) or "no evidence"


def _shown(evidence: list[Json]) -> list[str]:
    return [f"{step['path']}:{step['line']}: {step['message']}" for step in evidence]


def _compare_parameters(expected: Json, function: Json) -> Iterator[Mismatch]:
    parameters = {parameter["name"].lstrip("*"): parameter for parameter in function["parameters"]}
    readers = {"tensor": lambda p: p["tensor"], "source": lambda p: p["source"], "types": _types, "literals": _literals}
    for name, read in readers.items():
        for parameter, wanted in expected.get(name, {}).items():
            if parameter not in parameters:
                yield Mismatch(f"{name}.{parameter}", wanted, "no such parameter")
                continue
            actual = read(parameters[parameter])
            if name == "types":
                wanted = sorted(_type_text(*item) for item in wanted)
            elif name == "literals":
                wanted = sorted(_literal(text) for text in wanted)
            if wanted != actual:
                yield Mismatch(f"{name}.{parameter}", wanted, actual)


def _types(parameter: Json) -> list[str]:
    return sorted(_type_text(item["kind"], item["dtype"], item["shape"]) for item in parameter["tensor_types"])


def _type_text(kind: str, dtype: str | None, shape: list[int | None] | str | None) -> str:
    """`dense float32 [2, ?]`; TOML writes an unknown dim as -1, an unknown dtype or rank as "?"."""
    dims = (
        "?" if shape is None or isinstance(shape, str) else [("?" if dim in (None, -1) else str(dim)) for dim in shape]
    )
    return f"{kind} {dtype or '?'} " + (dims if isinstance(dims, str) else f"[{', '.join(dims)}]")


def _literals(parameter: Json) -> list[str]:
    return sorted(_literal(text) for text in parameter["literals"])


def _literal(text: str) -> str:
    """A literal's source text in one spelling: `"a"` and `'a'` are the same."""
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return text


def judge(entry: Json, mismatches: list[Mismatch]) -> list[str]:
    """The complaints about one function: mismatches that no known gap explains, and known gaps that are closed."""
    gap = entry.get("known_gap", {})
    if isinstance(gap, str):
        return [] if mismatches else [f"closed: delete `known_gap` ({gap})"]
    failed = {mismatch.name for mismatch in mismatches}
    complaints = [str(mismatch) for mismatch in mismatches if mismatch.name not in gap]
    return complaints + [
        f"closed: delete `known_gap` of {name} ({why})" for name, why in gap.items() if name not in failed
    ]
