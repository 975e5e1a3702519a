"""How much is known of the tensors that reach functions, and of functions that nothing calls, on real projects.

    python scripts/type_coverage.py PROJECT... [--package DIR] [--list]

For each project, and in all: parameters of reached functions that hold tensors; the share of them whose every type has
a dtype, a rank, all dims a number; and the share of the functions without a caller that get a verdict (one that is not
"undetermined"). `--package` takes another checkout's `src` folder, for a figure of before; `--list` names what is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Codes of the status that says that a fact could not be determined.
UNDETERMINED = "undetermined"


@dataclass
class Counts:
    """What is counted, of one project or of many."""

    tensors: int = 0
    dtype: int = 0
    rank: int = 0
    both: int = 0
    dims: int = 0
    unreached: int = 0
    verdicts: int = 0

    def add(self, other: Counts) -> None:
        """Adds the counts of another project."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def line(self, name: str) -> str:
        """One line of the table."""
        shares = (share(part, self.tensors) for part in (self.dtype, self.rank, self.both, self.dims))
        return " ".join(
            (f"{name:22}", f"{self.tensors:6}", *shares, f"{self.unreached:9}", share(self.verdicts, self.unreached))
        )


def share(part: int, whole: int) -> str:
    """A share in percent."""
    return f"{100 * part / whole:6.1f}%" if whole else "      -"


def report_of(project: Path, package: Path) -> dict[str, Any]:
    """The JSON report on a project."""
    done = subprocess.run(
        [sys.executable, "-m", "hybridize", "check", str(project), "--output-format", "json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(package)},
        check=False,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def known(parameter: dict[str, Any]) -> tuple[bool, bool, bool]:
    """Whether every type of a parameter has a dtype, a rank, all dims."""
    types = parameter["tensor_types"]
    shapes = [t["shape"] for t in types]
    ranked = bool(types) and all(s is not None for s in shapes)
    return (
        bool(types) and all(t["dtype"] for t in types),
        ranked,
        ranked and all(d is not None for s in shapes for d in s),
    )


def counted(report: dict[str, Any], lost: list[str]) -> Counts:
    """The counts of one report."""
    counts = Counts()
    for function in report["functions"]:
        if not function["reached"]:
            counts.unreached += 1
            codes = {s["name"] for s in function["statuses"]}
            counts.verdicts += not any(UNDETERMINED in name for name in codes)
            continue
        for parameter in function["parameters"]:
            if parameter["tensor"] != "yes":
                continue
            dtype, rank, dims = known(parameter)
            counts.tensors += 1
            counts.dtype += dtype
            counts.rank += rank
            counts.both += dtype and rank
            counts.dims += dims and dtype
            if not (dtype and rank):
                types = ", ".join(f"{t['dtype']}{t['shape']}" for t in parameter["tensor_types"])
                place = f"{function['path']}:{function['line']}"
                lost.append(f"{place} {function['qualname']}({parameter['name']}): {types}")
    return counts


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--package", type=Path, default=ROOT / "src")
    parser.add_argument("--list", action="store_true", help="name the parameters whose type is not known")
    options = parser.parse_args()
    print(f"{'project':22} {'params':>6} {'dtype':>7} {'rank':>7} {'both':>7} {'+dims':>7} {'unreached':>9} verdict")
    total = Counts()
    for project in options.projects:
        lost: list[str] = []
        counts = counted(report_of(project, options.package), lost)
        print(counts.line(project.name), flush=True)
        total.add(counts)
        for line in lost if options.list else ():
            print("   ", line)
    print(total.line("all"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
