"""What becomes of the candidate functions of real projects, beside the tables of the paper.

    python scripts/accounting.py FOLDER [--subjects NAME,...] [--repairs] [--save FILE | --load FILE] [--style markdown]
    python scripts/accounting.py --load FILE --list CLASS_OR_CODE [--seed N --sample N]

FOLDER holds the projects, each in a folder of its name. Every candidate falls into exactly one class (`CLASSES`, the
first that holds), so that the shares add up. `--repairs` also tries the repairs, first the safe ones, then all;
`--save` keeps what was found for later tables; `--list` names the functions of a class, or those that fail for a code.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.evaluate.tables import Column, render
from hybridize.facts.model import Mode, Source, Ternary
from hybridize.repairing import Wanted, repair

#: The paper's Table V: candidates, refactored, by P1, by P2.
PAPER: Final = {
    "chatbot": (16, 14, 14, 0),
    "deep_recom": (30, 16, 16, 0),
    "eth-nlu-nlm": (9, 3, 3, 0),
    "GPflow": (221, 48, 26, 22),
    "gpt-2-tensorflow2": (11, 7, 7, 0),
    "lczero-training": (27, 15, 13, 2),
    "mead-baseline": (76, 8, 8, 0),
    "MusicTrans-TF2": (11, 7, 7, 0),
    "nlp-journey": (5, 3, 3, 0),
    "NLPGNN": (74, 44, 44, 0),
    "nobrainer": (31, 10, 10, 0),
    "ResNet50": (43, 15, 15, 0),
    "samples": (17, 6, 6, 0),
    "TF-Examples": (53, 48, 47, 1),
    "tf-yolov4-tflite": (9, 7, 7, 0),
    "TF2.0-Examples": (36, 21, 21, 0),
    "TensorflowASR": (67, 25, 25, 0),
    "tf-dropblock": (2, 2, 2, 0),
    "tf-eager-fastercnn": (28, 27, 27, 0),
}
#: The paper's Table VI, with the codes that say the same here.
FAILURES: Final = (
    ("F1 no primitive parameter", 51, ("HY007",)),
    ("F2 primitive parameter(s)", 59, ("HY002",)),
    ("F3 side effects", 82, ("HY003",)),
    ("F4 missing call graph node / undetermined", 272, ("HY006",)),
)
#: The folder of a subject that is a part of a repository.
PARTS: Final = {"ResNet50": "research/delf"}
#: What the plan says of functions that a graph would not make faster.
_UNWORTHY: Final = "HY021"
#: What a candidate is counted as, with what it means.
CLASSES: Final = {
    "changed": "the plan changes it (P1 to P6)",
    "repaired": "the plan changes it once repairs are made",
    "planned out": "passes a precondition; the plan leaves it, because it gains nothing",
    "in a graph": "fails, but runs as part of a graph of the project all the same: the plan says so",
    "would not pay": "fails, and the plan says that even without that a graph would gain nothing",
    "no TensorFlow": "computes nothing with TensorFlow: there is nothing to make a graph of",
    "hybrid": "is hybrid, and nothing speaks against that",
    "not a graph's": "only raises, or is a method whose result Python itself asks for",
    "builds a model": "is given Keras' symbolic tensors: it makes a model, and runs nothing itself",
    "warned": "is hybrid, and warned about",
    "refused": "stays eager, and a graph of it might have gained",
}


@dataclass(slots=True)
class Candidate:
    """One candidate. `evidence` says how it is known for one, `kinds` are those of the tensors that reach it."""

    subject: str
    path: str
    line: int
    name: str
    mode: str
    action: str
    precondition: str | None
    codes: list[str]
    messages: list[str]
    evidence: str
    kinds: list[str]
    reached: bool
    safe: bool = False  # hybrid, or part of a graph, once the safe repairs are made
    unsafe: bool = False
    p5: bool = False  # its `input_signature` rejects calls of the program: the repair HY813 replaces it
    class_: str = field(default="")


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--subjects", default=",".join(PAPER))
    parser.add_argument("--repairs", action="store_true")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path)
    parser.add_argument("--style", default="text", choices=("text", "markdown", "latex"))
    parser.add_argument("--list", dest="listed")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.load:
        found = [Candidate(**each) for each in json.loads(args.load.read_text(encoding="utf-8"))]
    elif args.folder:
        found = []
        for name in args.subjects.split(","):
            found += candidates(name, args.folder / name / PARTS.get(name, ""), repairs=args.repairs)
    else:
        parser.error("a folder or --load")
    for each in found:
        each.class_ = class_of(each)
    if args.save:
        args.save.write_text(json.dumps([asdict(each) for each in found]), encoding="utf-8")
    if args.listed:
        show(found, args.listed, args.sample, args.seed)
    else:
        for table in tables(found, args.style):
            print(table)
    return 0


def candidates(subject: str, folder: Path, *, repairs: bool) -> list[Candidate]:
    """The candidates of one project."""
    report = analyze([folder], Config())
    found = {f.facts.id: _candidate(subject, f) for f in report.functions if f.facts.candidate}
    for bundle in report.repairs:
        if bundle.function in found and any(each.code == "HY813" for each in bundle.repairs):
            found[bundle.function].p5 = True
    for unsafe in (False, True) if repairs and report.repairs else ():
        mended = _repaired(folder, report, unsafe=unsafe)
        for function in mended.functions:
            known = found.get(function.facts.id)
            if known is not None and _is_served(function):
                known.safe, known.unsafe = known.safe or not unsafe, True
    return list(found.values())


def _repaired(folder: Path, report: Report, *, unsafe: bool) -> Report:
    return repair(
        lambda contents: analyze([folder], Config(), contents=contents),
        report,
        lambda path: (Path(report.project.root) / path).read_bytes(),
        Wanted(unsafe=unsafe),
    ).report


def _candidate(subject: str, function: FunctionReport) -> Candidate:
    facts, decision = function.facts, function.decision
    sources = {p.source for p in facts.parameters if p.tensor is Ternary.YES}
    order = (Source.DATAFLOW, Source.TYPE_HINT, Source.DOCSTRING, Source.SPECULATION)
    told = next((s.value for s in order if s in sources), "hybrid" if facts.mode is Mode.HYBRID else "speculation")
    kinds = sorted({t.kind for p in facts.parameters for t in p.tensor_types})
    return Candidate(
        subject,
        facts.path,
        facts.line,
        facts.qualname,
        facts.mode.value,
        decision.action.value,
        decision.precondition,
        [s.code for s in function.statuses],
        [s.message for s in function.statuses],
        told,
        kinds,
        facts.reached,
    )


def _is_served(function: FunctionReport) -> bool:
    """Whether a function is changed, passes, or runs inside a graph."""
    covered = any(s.name == "covered" for s in function.statuses)
    return function.decision.action is not Action.KEEP or function.decision.precondition is not None or covered


def class_of(each: Candidate) -> str:
    """The class of a candidate: the first that holds."""
    codes = set(each.codes)
    if each.action != "keep":
        return "changed"
    if each.precondition is not None:
        return "planned out"
    if "HY010" in codes:
        return "in a graph"
    if each.mode == "hybrid":
        return "warned" if codes & {"HY003", "HY004", "HY006"} else "hybrid"
    if "HY005" in codes:
        return "no TensorFlow"
    if codes & {"HY014", "HY018"}:
        return "not a graph's"
    if "HY304" in codes:
        return "builds a model"
    if each.unsafe:
        return "repaired"
    return "would not pay" if _UNWORTHY in codes else "refused"


def tables(found: Sequence[Candidate], style: str) -> list[str]:
    """Table V with more columns, the classes, and Table VI."""
    return [_by_subject(found, style), _by_class(found, style), _by_evidence(found, style), _failures(found, style)]


def _by_subject(found: Sequence[Candidate], style: str) -> str:
    names = ["P1", "P2", "P3", "P4", "P5", "P6"]
    titles = ["subject", "paper fnc", "rft", "candidates", "pass", "changed", *names, "planned out", "in a graph"]
    rows: list[list[object]] = []
    for subject in [*dict.fromkeys(c.subject for c in found), "total"]:
        mine = [c for c in found if subject in (c.subject, "total")]
        paper = [PAPER.get(s, (0, 0, 0, 0)) for s in dict.fromkeys(c.subject for c in mine)]
        changed = [c for c in mine if c.class_ == "changed"]
        classes = Counter(c.class_ for c in mine)
        rows.append(
            [
                subject,
                sum(p[0] for p in paper),
                sum(p[1] for p in paper),
                len(mine),
                sum(c.precondition is not None for c in mine),
                len(changed),
                *(
                    sum(c.p5 if name == "P5" else c.precondition == name for c in (mine if name == "P5" else changed))
                    for name in names
                ),
                classes["planned out"],
                classes["in a graph"],
            ]
        )
    return render([Column(title) for title in titles], rows, style)


def _by_class(found: Sequence[Candidate], style: str) -> str:
    groups = (("all", found), ("not by arrays alone", [c for c in found if c.kinds != ["ndarray"]]))
    counts = [Counter(c.class_ for c in group) for _, group in groups]
    rows: list[list[object]] = []
    sums = [0.0] * len(groups)
    for name, meaning in CLASSES.items():
        row: list[object] = [name]
        for i, (_, group) in enumerate(groups):
            share = 100 * counts[i][name] / max(len(group), 1)
            sums[i] += share
            row += [counts[i][name], share, sums[i]]
        rows.append([*row, meaning])
    columns = [Column("class")]
    for title, group in groups:
        columns += [Column(f"{title} ({len(group)})"), Column("%", ".1f"), Column("sum %", ".1f")]
    text = render([*columns, Column("meaning")], rows, style)
    safe = sum(c.safe and c.class_ == "repaired" for c in found)
    return f"{text}{safe} of the repaired ones by safe repairs alone\n"


def _by_evidence(found: Sequence[Candidate], style: str) -> str:
    rows: list[list[object]] = []
    for told in ("dataflow", "type_hint", "docstring", "speculation", "hybrid"):
        mine = [c for c in found if c.evidence == told]
        arrays = sum(c.kinds == ["ndarray"] for c in mine)
        rows.append([told, len(mine), arrays, sum(c.reached for c in mine)])
    return render([Column(t) for t in ("known by", "candidates", "arrays alone", "reached")], rows, style)


def _failures(found: Sequence[Candidate], style: str) -> str:
    failing = [set(c.codes) - {_UNWORTHY} for c in found if c.class_ not in ("changed", "planned out", "in a graph")]
    counts = Counter(code for codes in failing for code in codes)
    alone = Counter(next(iter(codes)) for codes in failing if len(codes) == 1)
    rows: list[list[object]] = []
    named = set()
    for name, paper, codes in FAILURES:
        named |= set(codes)
        rows.append([name, paper, " ".join(codes), sum(counts[c] for c in codes), sum(alone[c] for c in codes)])
    rows += [["", None, code, count, alone[code]] for code, count in counts.most_common() if code not in named]
    return render([Column(t) for t in ("failure", "paper", "code", "functions", "alone")], rows, style)


def show(found: Sequence[Candidate], wanted: str, sample: int | None, seed: int) -> None:
    """Names the functions of a class or code."""
    chosen = [c for c in found if c.class_ == wanted or (wanted in c.codes and c.class_ == "refused")]
    if sample is not None and sample < len(chosen):
        chosen = sorted(random.Random(seed).sample(chosen, sample), key=lambda c: (c.subject, c.path, c.line))
    for c in chosen:
        print(f"{c.subject} {c.path}:{c.line} {c.name} [{c.class_}; {c.evidence} {','.join(c.kinds)}]")
        for code, message in list(zip(c.codes, c.messages, strict=True))[:6]:
            print(f"    {code} {message}")


if __name__ == "__main__":
    raise SystemExit(main())
