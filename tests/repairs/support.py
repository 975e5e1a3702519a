"""Programs to repair: read from text files, fixed in memory as `fix --unsafe-fixes` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, Report
from hybridize.fixing.changes import file_plan
from hybridize.repairing import Repaired, Wanted, repair
from hybridize.rewrite import plan_file

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """A program that a repair makes fit for a graph.

    `functions` are those that become hybrid, `changed` the names whose values change their type, `output` whether what
    it prints stays the same. `longer` is what to replace by what for a run of many steps, which measurements need.
    """

    name: str
    source: str
    code: str
    functions: tuple[str, ...]
    changed: tuple[str, ...] = ()
    output: bool = True
    longer: tuple[str, str] | None = None


def cases() -> list[Case]:
    """All programs, in the order of the files."""
    found: list[Case] = []
    for file in sorted(CASES.glob("HY*.txt")):
        for block in file.read_text(encoding="utf-8").split("\n=== ")[1:]:
            head, _, source = block.partition("\n")
            name, *fields = [part.strip() for part in head.split("|")]
            given = dict(field.split(": ", 1) for field in fields)
            found.append(
                Case(
                    f"{file.stem}-{name}",
                    source.strip("\n") + "\n",
                    file.stem.partition("-")[0],
                    tuple(given["hybrid"].split()) if "hybrid" in given else (),
                    tuple(given.get("changed", "").split()),
                    given.get("output", "same") == "same",
                    tuple(given["longer"].split(" => ")) if "longer" in given else None,  # type: ignore[arg-type]
                )
            )
    return found


@dataclass(frozen=True)
class Fixed:
    """The program afterwards, and what was done."""

    text: str
    report: Report
    repaired: Repaired


def fixed(source: str, folder: Path, *, unsafe: bool = True) -> Fixed:
    """What `fix` makes of a program of a project that asks for a TensorFlow with the present names of arguments."""
    (folder / "program.py").write_text(source, encoding="utf-8")
    (folder / "requirements.txt").write_text("tensorflow>=2.9\n", encoding="utf-8")
    config = Config()
    before = analyze([folder], config)
    repaired = repair(
        lambda contents: analyze([folder], config, contents=contents),
        before,
        lambda path: (folder / path).read_bytes(),
        Wanted(unsafe=unsafe),
    )
    changes = [f for f in repaired.report.functions if f.decision.action is not Action.KEEP]
    data = repaired.contents.get("program.py", source.encode())
    result = plan_file(file_plan("program.py", changes), data)
    assert not result.dropped
    return Fixed(result.new.decode(), before, repaired)
