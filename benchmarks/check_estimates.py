"""How far the estimates of `hybridize check` are from what TensorFlow measures, on the programs of `estimates/`.

    python benchmarks/check_estimates.py [--python PYTHON] [--half develop|measure] [--kept FILE] [PROGRAM...]

Each program names the functions that are timed in its docstring. Its main block runs until each was called a few times;
its last arguments then serve for calls of the function as it is and as a graph, in turn, on one thread. The estimate is
made twice: of the program as it is, and without its main block (a library whose callers nobody sees). What counts are
ratios of one process: see benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "estimates"
#: Seconds that the calls of one function may take, and how many calls of each kind there are at least and at most.
SECONDS, LEAST, MOST = 1.5, 5, 150
#: So many calls of each function are let through before it is timed: the first ones make variables.
CALLS = 2
#: Within this factor an estimate counts as right.
FACTOR = 3.0


class _Done(BaseException):
    """Every function was called often enough."""


def half(program: Path) -> str:
    """To which half of the programs one belongs: by the checksum of its name alone."""
    return "develop" if zlib.crc32(program.stem.encode()) % 2 else "measure"


def timed_functions(text: str) -> list[str]:
    """The qualified names of the functions that a program wants timed."""
    said = re.search(r"Timed: ([^\"]*?)\.\s*(\"|\n)", text.split('"""')[1] + "\n")
    return re.split(r",\s*", said[1]) if said else []


def split_main(text: str) -> tuple[str, str]:
    """What comes before the main block, and that block at its place (empty lines before it)."""
    before, _, after = text.partition('if __name__ == "__main__":')
    return before, "\n" * before.count("\n") + 'if __name__ == "__main__":' + after


class Recorder:
    """Lets the calls of functions through, keeps their last arguments, and ends the program after enough of them."""

    def __init__(self, module: types.ModuleType, names: Sequence[str]) -> None:
        self.arguments: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self.counts = dict.fromkeys(names, 0)
        self.originals: dict[str, Callable[..., Any]] = {}
        self.owners: dict[str, Any] = {}
        for name in names:
            owner_name, _, attribute = name.rpartition(".")
            owner = getattr(module, owner_name) if owner_name else module
            self.owners[name] = owner
            self.originals[name] = getattr(owner, attribute)
            setattr(owner, attribute, self._wrapped(name))

    def _wrapped(self, name: str) -> Callable[..., Any]:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            result = self.originals[name](*args, **kwargs)
            self.arguments[name] = (args, kwargs)
            self.counts[name] += 1
            if min(self.counts.values()) >= CALLS:
                raise _Done
            return result

        recorded.__wrapped__ = self.originals[name]  # type: ignore[attr-defined]  # Keras asks for the signature
        return recorded

    def restore(self) -> None:
        """Puts the functions back."""
        for name, owner in self.owners.items():
            setattr(owner, name.rpartition(".")[2], self.originals[name])


def measure(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, float]:
    """Microseconds of a call, eagerly and as a graph; the median of their ratios; those of the first call.

    CPU time of all threads: on a busy machine a graph waits for milliseconds until its other thread has its turn.
    """
    import tensorflow as tf

    graph = tf.function(function)
    start = time.process_time()
    graph(*args, **kwargs)
    first = time.process_time() - start
    graph(*args, **kwargs)
    pairs: list[tuple[float, float]] = []
    until = time.perf_counter() + SECONDS
    while len(pairs) < LEAST or (len(pairs) < MOST and time.perf_counter() < until):
        begin = time.process_time()
        function(*args, **kwargs)
        middle = time.process_time()
        graph(*args, **kwargs)
        pairs.append((middle - begin, time.process_time() - middle))
    return {
        "ratio": statistics.median(e / g for e, g in pairs),
        "eager": 1e6 * statistics.median(e for e, _ in pairs),
        "graph": 1e6 * statistics.median(g for _, g in pairs),
        "trace": 1e6 * first,
        "traces": float(graph.experimental_get_tracing_count()),
    }


def time_program(path: Path) -> dict[str, dict[str, float]]:
    """What was measured of each function of a program."""
    text = path.read_text(encoding="utf-8")
    body, main = split_main(text)
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    exec(compile(body, str(path), "exec"), module.__dict__)
    recorder = Recorder(module, timed_functions(text))
    try:
        exec(compile(main, str(path), "exec"), module.__dict__)
    except _Done:
        pass
    recorder.restore()
    found: dict[str, dict[str, float]] = {}
    for name, (args, kwargs) in recorder.arguments.items():
        try:
            found[name] = measure(recorder.originals[name], args, kwargs)
        except Exception as error:
            print(f"{path.stem}: {name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
    return found


def time_all(paths: Sequence[Path]) -> None:
    """Prints a JSON line for each program. Runs in the interpreter that has TensorFlow."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    print(f"TensorFlow {tf.__version__}", file=sys.stderr)
    for path in paths:
        tf.random.set_seed(0)
        print(json.dumps({"program": path.stem, "functions": time_program(path)}), flush=True)


def timings(python: str, paths: Sequence[Path], kept: Path | None) -> dict[str, dict[str, dict[str, float]]]:
    """What was measured, by program and function; `kept` holds earlier measurements and gets the new ones."""
    known = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    missing = [path for path in paths if path.stem not in known]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    for path in missing:  # one process each: a program that fails spoils no other
        command = [python, __file__, "--time", str(path)]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        for line in run.stdout.splitlines():
            found = json.loads(line)
            known[found["program"]] = found["functions"]
        if kept is not None:
            kept.write_text(json.dumps(known, indent=1))
    return known


def estimates(paths: Sequence[Path], *, main: bool) -> dict[tuple[str, str], float]:
    """The benefit of each function that may be converted, with or without the main blocks."""
    found: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            text = path.read_text(encoding="utf-8")
            project = Path(folder, path.stem)
            project.mkdir()
            (project / path.name).write_text(text if main else split_main(text)[0], encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "hybridize",
                "check",
                "--all-safe",
                "--output-format",
                "json",
                str(project),
            ]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            for function in json.loads(run.stdout)["functions"]:
                benefit = function["decision"]["benefit"]
                if benefit is not None:
                    found[path.stem, function["qualname"]] = benefit
    return found


def lines(
    paths: Sequence[Path],
    measured: dict[str, dict[str, dict[str, float]]],
    views: Sequence[dict[tuple[str, str], float]],
) -> Iterator[str]:
    """A table of the functions, and for each view how many estimates are right."""
    yield f"{'function':45} {'eager us':>9} {'graph us':>9} {'measured':>8} {'program':>8} {'library':>8}"
    for path in paths:
        for name, figures in measured.get(path.stem, {}).items():
            said = [view.get((path.stem, name)) for view in views]
            cells = [f"{s:8.2f}" if s is not None else "       -" for s in said]
            wrong = ["*" if s is not None and not _right(s, figures["ratio"]) else " " for s in said]
            shown = f"{path.stem}:{name}"
            yield (
                f"{shown:45} {figures['eager']:9.0f} {figures['graph']:9.0f} {figures['ratio']:8.2f} "
                f"{cells[0]}{wrong[0]}{cells[1]}{wrong[1]}"
            )
    for which in ("develop", "measure"):
        chosen = [path for path in paths if half(path) == which]
        for label, view in zip(("program", "library"), views, strict=True):
            pairs = [
                (view[path.stem, name], figures["ratio"])
                for path in chosen
                for name, figures in measured.get(path.stem, {}).items()
                if (path.stem, name) in view
            ]
            if pairs:
                yield f"{which:8} {label}: {summary(pairs)}"


def _right(estimate: float, ratio: float) -> bool:
    return 1 / FACTOR <= estimate / ratio <= FACTOR


def summary(pairs: Sequence[tuple[float, float]]) -> str:
    """How many are right, how many promise too much, and the median and spread of estimate to measurement."""
    logs = [math.log(estimate / ratio) for estimate, ratio in pairs]
    right = sum(_right(*pair) for pair in pairs)
    over = sum(estimate > FACTOR * ratio for estimate, ratio in pairs)
    wise = sum((estimate >= 1) == (ratio >= 1) for estimate, ratio in pairs)
    spread = math.exp(statistics.pstdev(logs))
    return (
        f"{right} of {len(pairs)} within a factor of {FACTOR:g} ({right / len(pairs):.0%}), {over} promise more; "
        f"median {math.exp(statistics.median(logs)):.2f}, spread {spread:.2f}; on the right side of 1: {wise}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, estimates and prints both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="*", type=Path, help="files (default: all of estimates/)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has TensorFlow")
    parser.add_argument("--half", choices=("develop", "measure"), help="only the programs of this half")
    parser.add_argument("--kept", type=Path, help="a JSON file of measurements to take and to add to")
    parser.add_argument("--time", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    paths = options.programs or sorted(PROGRAMS.glob("*.py"))
    if options.time:
        time_all(paths)
        return 0
    if options.half:
        paths = [path for path in paths if half(path) == options.half]
    measured = timings(options.python, paths, options.kept)
    views = [estimates(paths, main=True), estimates(paths, main=False)]
    print("\n".join(lines(paths, measured, views)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
