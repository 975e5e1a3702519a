"""How fast an edit has an answer in an editor, and how often it is what the whole analysis finds.

    python benchmarks/check_edits.py [--edits N] [--seed N] [--kind KIND] PROJECT

A program is solved and kept as the server keeps it (`server.keeping`), and asked after random edits in files of which
something is told. `within` functions: a statement more, one less, one twice, another number, an early return; `around`
them: a decorator more or less, a parameter more, another name, a function more or less, a constant; `comments`: one
more, in a function. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import ast
import os
import pickle
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from hybridize.api import analyze, inputs_of
from hybridize.caching.after_edits import File, merged
from hybridize.config import load_config
from hybridize.decide.model import Report
from hybridize.deciding import ENTRIES_JUDGED, REST_JUDGED, Deciding
from hybridize.heap import Uncollected
from hybridize.library import registry
from hybridize.program.build import build_program
from hybridize.records import replace
from hybridize.repairs.registry import all_repairs
from hybridize.report.items import items

#: Statements that are put in front of another one.
_MORE = {
    "print": ['print("here")'],
    "list": ["zzz = [1, 2]"],
    "variable": ["import tensorflow as tf", "zzz = tf.Variable(1.0)"],
    "return": ["if zzz:", "    return None"],
}


def mutated(text: str, chance: random.Random, kind: str) -> str | None:
    """A text with a random edit of a kind, in a random function or around one; None where it is no Python then."""
    lines = text.split("\n")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    if not functions:
        return None
    function = chance.choice(functions)
    new = KINDS[kind](lines, function, chance)
    try:
        ast.parse("\n".join(new))
    except SyntaxError:
        return None
    return None if new == lines else "\n".join(new)


def _within(lines: list[str], function: ast.FunctionDef, chance: random.Random) -> list[str]:
    chosen = chance.choice([node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function])
    indent = lines[chosen.lineno - 1][: chosen.col_offset]
    first, last = chosen.lineno - 1, chosen.end_lineno or chosen.lineno
    kind = chance.choice([*_MORE, "less", "twice", "number"])
    if indent.strip() or getattr(chosen, "decorator_list", None):
        return lines
    if kind in _MORE:
        return [*lines[:first], *(indent + line for line in _MORE[kind]), *lines[first:]]
    if kind == "less":
        return [*lines[:first], f"{indent}pass", *lines[last:]]
    if kind == "twice":
        return [*lines[:last], *lines[first:]]
    numbers = [n for n in ast.walk(chosen) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
    if not numbers:
        return lines
    number = chance.choice(numbers)
    line = lines[number.lineno - 1].encode()
    changed = (line[: number.col_offset] + b"7" + line[number.end_col_offset or 0 :]).decode()
    return [*lines[: number.lineno - 1], changed, *lines[number.lineno :]]


def _around(lines: list[str], function: ast.FunctionDef, chance: random.Random) -> list[str]:
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)]) - 1
    last, indent = function.end_lineno or function.lineno, " " * function.col_offset
    kind = chance.choice(["decorator", "undecorated", "parameter", "renamed", "new", "gone", "constant"])
    head = lines[function.lineno - 1]
    if kind == "decorator":
        return [*lines[:first], f"{indent}@__import__('tensorflow').function", *lines[first:]]
    if kind == "undecorated":
        return [*lines[:first], *lines[function.lineno - 1 :]]
    if kind in ("parameter", "renamed"):
        new = head.replace("):", ", zzz=1):") if kind == "parameter" else head.replace("def ", "def zzz_")
        return [*lines[: function.lineno - 1], new, *lines[function.lineno :]]
    if kind == "new":
        return [
            *lines[:first],
            f"{indent}def zzz(x):",
            f"{indent}    print(x)",
            f"{indent}    return x",
            "",
            *lines[first:],
        ]
    if kind == "gone":
        return [*lines[:first], f"{indent}pass", *lines[last:]]
    return [*lines[:first], f"{indent}zzz = 1", *lines[first:]]


def _comments(lines: list[str], function: ast.FunctionDef, chance: random.Random) -> list[str]:
    body = [node for node in function.body if node.lineno > function.lineno]
    if not body:
        return lines
    first = chance.choice(body)
    return [*lines[: first.lineno - 1], " " * first.col_offset + "# seen", *lines[first.lineno - 1 :]]


KINDS: Final = {"within": _within, "around": _around, "comments": _comments}


def forked(work: Callable[[], Any]) -> Any:
    """What something gives in a fork of this process; None where it fails there."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else None


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What something gives, and the seconds of processor time that it takes."""
    started = time.process_time()
    return work(), time.process_time() - started


def told(report: Report) -> set[tuple[str, int, int, str, str]]:
    """What an editor shows."""
    return {(each.path, each.line, each.column, each.code, each.message) for each in items(report)}


def sentences(found: set[tuple[str, int, int, str, str]]) -> list[tuple[str, str, str]]:
    """What is told wherever it stands."""
    return sorted((path, code, message) for path, _, _, code, message in found)


def differences(kind: str, found: set[tuple[str, int, int, str, str]]) -> None:
    """Prints some of what only one of two says."""
    for each in sorted(found)[:4]:
        print(f"    only {kind}: {each}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, and prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, default="within", help="what is edited (default: within functions)")
    parser.add_argument("--differences", action="store_true", help="say what is not as the whole analysis finds it")
    given = parser.parse_args(arguments)
    with Uncollected():
        _measure([given.project], given.edits, random.Random(given.seed), given.kind, told_why=given.differences)
    return 0


def _measure(paths: list[Path], count: int, chance: random.Random, kind: str, *, told_why: bool) -> None:
    config = replace(load_config(paths), jobs=1)  # for other processes' time is not counted
    inputs = inputs_of(paths, config)
    report, cold = forked(lambda: timed(lambda: analyze(paths, config)))
    registry.load()
    all_repairs()
    program = build_program(inputs.files, inputs.imports, read=inputs.read)
    texts = {path: text for path, text in program.texts.items() if path.endswith(".py") and "\r" not in text}
    # Where nothing is told, there is little that an edit could change.
    texts = {path: text for path, text in texts.items() if path in {each[0] for each in told(report)}} or texts
    edits: list[tuple[str, str]] = []
    while len(edits) < count:
        path = chance.choice(sorted(texts))
        text = mutated(texts[path], chance, kind)
        if text is not None:
            edits.append((path, text))
    deciding = Deciding(program, config, inputs)
    answers: list[list[Any]] = [[] for _ in edits]
    for phase in deciding.phases(None, repairs=True):
        if phase in (ENTRIES_JUDGED, REST_JUDGED):
            for (path, text), answer in zip(edits, answers, strict=True):
                data, entries = {path: text.encode()}, phase == ENTRIES_JUDGED
                answer.append(forked(lambda: timed(lambda: deciding.after_edits(data, entries=entries))))  # noqa: B023
        if phase == REST_JUDGED:
            break
    alike = here = beyond = telling = rightly = 0
    before = sentences(told(report))
    seconds: list[float] = []
    for (path, text), answer in zip(edits, answers, strict=True):
        if any(each is None or each[0] is None for each in answer):
            beyond += 1
            continue
        seconds.append(max(spent for _, spent in answer))
        at_once = told(merged(report, {path: File(texts[path], text)}, [again for again, _ in answer]))
        whole = told(forked(lambda: analyze(paths, config, contents={path: text.encode()})))  # noqa: B023
        alike += at_once == whole
        telling += sentences(whole) != before
        rightly += at_once == whole and sentences(whole) != before
        if at_once != whole and told_why:
            print(f"  {path}")
            differences("at once", at_once - whole)
            differences("the whole", whole - at_once)
        here += {each for each in at_once if each[0] == path} == {each for each in whole if each[0] == path}
    asked = len(edits) - beyond
    median, most = (statistics.median(seconds), max(seconds)) if seconds else (0.0, 0.0)
    print(f"{paths[0].name}: cold {cold:.2f} s; {len(edits)} edits, {beyond} not answered")
    print(f"  answers: median {median:.2f} s ({median / cold:.1%} of cold), most {most:.2f} s ({most / cold:.1%})")
    print(f"  as the whole analysis: of the file {here} of {asked}, of the project {alike} of {asked}")
    print(f"  of those that change what is told: {rightly} of {telling}")


if __name__ == "__main__":
    sys.exit(main())
