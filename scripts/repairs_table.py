"""What each repair is worth: the programs of tests/repairs before and after it, by traces and by time.

    python scripts/repairs_table.py --python PATH [--only HY801 ...] [--rounds N] [--markdown FILE]

Each program is repaired and converted in memory, as `fix --unsafe-fixes` does. Both versions run in one process
with TensorFlow: what defines things once, what drives them again and again, the two in turn, until each has run for a
while. Time is processor time of the process per round of the driver, the least of the rounds; traces are those of all
hybrid functions over four rounds, methods' for each object. A program whose driver makes its functions anew (`main()`)
is run once, tracing included, over as many steps as its case says for a longer run.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.repairs.support import Case, cases, fixed  # noqa: E402

#: Runs both versions of each program: a list of [name, before, after] on stdin, a JSON object for each on stdout.
GUEST = """
import contextlib, io, json, os, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
tf.get_logger().setLevel("ERROR")
rounds, programs = json.load(sys.stdin)
out = os.fdopen(os.dup(1), "w")
nowhere = os.open(os.devnull, os.O_WRONLY)
os.dup2(nowhere, 1), os.dup2(nowhere, 2)
made = []
original = tf.function
def function(func=None, **words):
    if func is None:
        return lambda f: function(f, **words)
    result = original(func, **words)
    made.append(result)
    return result
tf.function = function

class Version:
    def __init__(self, name, parts):
        self.names = {"__name__": "__main__"}
        self.name = name
        exec(compile(parts[0], name, "exec"), self.names)
        self.tail = compile(parts[1], name, "exec")
    def run(self):
        started = time.process_time()
        exec(self.tail, self.names)
        return time.process_time() - started

def traces_of(function):
    bound = getattr(function, "_descriptor_cache", None) or {}
    return function.experimental_get_tracing_count() + sum(map(traces_of, bound.values()))

def load(name, parts):
    with open(name, "w") as file:  # AutoGraph reads the source
        file.write(parts[0] + parts[1])
    tail = "\\n" * parts[0].count("\\n") + parts[1]
    return Version(name, [parts[0], tail])

for number, (name, before, after, once) in enumerate(programs):
    answer = {"name": name}
    try:
        times, traces = [[], []], [0, 0]
        versions = []
        for i, parts in enumerate((before, after)):
            start = len(made)
            versions.append(load(f"program_{number}_{i}.py", parts))
            for _ in range(4):
                spent = versions[i].run()
                if once:
                    times[i].append(spent)
                    break
            traces[i] = sum(map(traces_of, made[start:]))
        for _ in range(0 if once else rounds):
            for i in (0, 1):
                count, spent = 0, 0.0
                while count < 1 or spent < 0.05:
                    spent += versions[i].run()
                    count += 1
                times[i].append(spent / count)
        answer |= {"traces": traces, "seconds": [min(t) for t in times]}
    except BaseException as error:
        answer["error"] = f"{type(error).__name__}: {error}"[:200]
    made.clear()
    print(json.dumps(answer), file=out, flush=True)
"""


def split(text: str) -> tuple[str, str]:
    """A program as what defines and what drives: that begins behind all definitions, where something is run."""
    body = ast.parse(text).body
    last = max((i for i, s in enumerate(body) if isinstance(s, ast.FunctionDef | ast.ClassDef)), default=-1)
    drives = ast.For | ast.While | ast.If | ast.Try | ast.With | ast.Assert
    own = {s.name for s in body if isinstance(s, ast.FunctionDef)}
    cut = len(body)
    for i in range(last + 1, len(body)):
        statement = body[i]
        called = {n.func.id for n in ast.walk(statement) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        if isinstance(statement, drives) or called & own or isinstance(statement, ast.Expr):
            cut = i
            break
    lines = text.splitlines(keepends=True)
    line = body[cut].lineno - 1 if cut < len(body) else len(lines)
    return "".join(lines[:line]), "".join(lines[line:])


def programs(wanted: list[str]) -> Iterator[tuple[Case, str, str]]:
    """The cases with their text before and after."""
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if (not wanted or case.code in wanted) and "*" not in case.changed:
                source = case.source.replace(*case.longer) if case.longer is not None else case.source
                yield case, source, fixed(source, Path(folder)).text


def measure(python: str, chosen: list[tuple[Case, str, str]], rounds: int) -> list[dict[str, object]]:
    """The answers of the guest, one for each program, in order."""
    given = [[case.name, split(before), split(after), case.longer is not None] for case, before, after in chosen]
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", GUEST]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder) as guest:
            assert guest.stdin is not None
            assert guest.stdout is not None
            guest.stdin.write(json.dumps([rounds, given]))
            guest.stdin.close()
            found = []
            for line in guest.stdout:
                found.append(json.loads(line))
                show(found[-1])
            return found


def show(answer: dict[str, object]) -> None:
    """A line for one program, as soon as it is measured."""
    seconds = answer.get("seconds")
    said = f"{seconds[0] / seconds[1]:6.2f} {answer['traces']}" if isinstance(seconds, list) else answer.get("error")
    print(f"{answer['name']:45} {said}", file=sys.stderr, flush=True)


def table(answers: list[dict[str, object]], codes: list[str]) -> Iterator[str]:
    """A row for each repair: programs, how many are faster, retrace less, or neither, and the ratio of the times."""
    yield "| repair | programs | faster | fewer traces | neither | times as fast: range; mean | traces before, after |"
    yield "|---|---|---|---|---|---|---|"
    for code in dict.fromkeys(codes):
        rows = [a for a, c in zip(answers, codes, strict=True) if c == code and "seconds" in a]
        ratios = [a["seconds"][0] / a["seconds"][1] for a in rows]  # type: ignore[index]
        traces = [a["traces"] for a in rows]
        faster = [r > 1.0 for r in ratios]
        fewer = [t[0] > t[1] for t in traces]  # type: ignore[index]
        neither = sum(not f and not t for f, t in zip(faster, fewer, strict=True))
        spread = f"{min(ratios):.1f} to {max(ratios):.1f}; {geometric_mean(ratios):.1f}" if ratios else "-"
        counts = f"{sum(t[0] for t in traces)}, {sum(t[1] for t in traces)}"  # type: ignore[index, misc]
        yield f"| {code} | {len(rows)} | {sum(faster)} | {sum(fewer)} | {neither} | {spread} | {counts} |"


def main() -> int:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", required=True, help="an interpreter that has TensorFlow")
    parser.add_argument("--only", nargs="*", default=[], help="codes of repairs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="write the table there")
    args = parser.parse_args()
    chosen = list(programs(args.only))
    answers = measure(args.python, chosen, args.rounds)
    codes = [case.code for case, _, _ in chosen[: len(answers)]]
    lines = list(table(answers, codes))
    print("\n".join(lines))
    if args.markdown is not None:
        args.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if len(answers) == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
