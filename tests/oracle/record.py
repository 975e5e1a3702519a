"""Runs the programs under TensorFlow and writes what their parameters receive (`truth/*.json`).

    python -m tests.oracle.record [--all] [FAMILY ...]

Without `--all` only programs that are new or changed run. One process per program, forked from one that has imported
TensorFlow and executed no op.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..tools.record_types import record
from .corpus import TRUTH, Program, families, programs, truth

SECONDS = 60
WORKERS = 2


def recorded(program: Program) -> dict[str, str]:
    """The recorded types of one program, `error` if it raised, and the digest of its text."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        program.write(project)
        result = record(project, list(program.run))
    found = {"digest": program.digest}
    error = result["error"]
    if error:
        found["error"] = error.strip().splitlines()[-1] if "exit code" not in error else result["output"][-600:]
    for key, function in sorted(result["functions"].items()):
        for name, parameter in function["parameters"].items():
            types = sorted({type_text(item) for item in parameter["types"]})
            found[f"{key}({name})"] = " | ".join(types) if parameter["tensor"] else "-"
    return found


def type_text(item: dict[str, Any]) -> str:
    """`float32[2,3]`, `ragged:int32[2,?]`, `variable:float32[*]`."""
    kind = "dense" if item["kind"] == "keras" else item["kind"]
    dims = "*" if item["shape"] is None else ",".join("?" if dim is None else str(dim) for dim in item["shape"])
    dtype = "string" if re.fullmatch(r"(str|bytes)\d*", item["dtype"]) else item["dtype"]  # as TensorFlow takes NumPy's
    return ("" if kind == "dense" else kind + ":") + f"{dtype}[{dims}]"


def in_child(action: Callable[[], Any]) -> int:
    """Start `action` in a forked process; its result is pickled into the file that `collect` reads."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.alarm(SECONDS)
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 2)
        action()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def record_all(chosen: Iterable[Program]) -> dict[tuple[str, str], dict[str, str]]:
    """The records of some programs, a few processes at a time."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    running: dict[int, tuple[Program, Path]] = {}

    def collect() -> None:
        pid, _ = os.wait()
        program, path = running.pop(pid)
        try:
            found[program.family, program.name] = pickle.loads(path.read_bytes())
        except (OSError, EOFError):
            found[program.family, program.name] = {"digest": program.digest, "error": "crashed or timed out"}

    with tempfile.TemporaryDirectory() as folder:
        for number, program in enumerate(chosen):
            if len(running) >= WORKERS:
                collect()
            path = Path(folder) / str(number)
            pid = in_child(lambda program=program, path=path: path.write_bytes(pickle.dumps(recorded(program))))  # type: ignore[misc]
            running[pid] = program, path
        while running:
            collect()
    return found


def sample(size: int) -> dict[str, dict[str, dict[str, str]]]:
    """The records of some programs of each family, by family and name."""
    chosen = [p for family in families() for p in programs(family)[:: max(len(programs(family)) // size, 1)]]
    found: dict[str, dict[str, dict[str, str]]] = {}
    for (family, name), entry in record_all(chosen).items():
        found.setdefault(family, {})[name] = entry
    return found


def main(arguments: list[str]) -> int:
    """The command line; the exit code says whether every program ran."""
    if arguments[:1] == ["--sample"]:
        import tensorflow  # noqa: F401  # once, before the processes fork

        Path(arguments[2]).write_text(json.dumps(sample(int(arguments[1]))), encoding="utf-8")
        return 0
    import keras
    import tensorflow as tf

    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}")
    everything = "--all" in arguments
    names = [name for name in arguments if name != "--all"] or families()
    bad = 0
    for family in names:
        known, chosen = truth(family), programs(family)
        fresh = record_all(p for p in chosen if everything or known.get(p.name, {}).get("digest") != p.digest)
        table = {p.name: fresh.get((family, p.name)) or known[p.name] for p in chosen}
        TRUTH.mkdir(exist_ok=True)
        lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items()]
        (TRUTH / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        for name, entry in table.items():
            if "error" in entry:
                bad += 1
                print(f"{family}/{name}: {entry['error']}")
        print(f"{family}: {len(table)} programs, {len(fresh)} recorded", flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
