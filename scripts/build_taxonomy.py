"""Writes docs/taxonomy.md: the study's categories of problems, and which codes cover them.

python scripts/build_taxonomy.py           # write
python scripts/build_taxonomy.py --check   # exit with 1 if the page is out of date

`ROWS` says what only a person knows: the study's rows with its counts, and which codes were made for them. A rule that
no row names stands in the last row of its category; a status that none names says why a function stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hybridize.decide.documentation import PRECONDITION_DOCS, STATUS_DOCS
from hybridize.repairs.registry import all_repairs
from hybridize.rules.model import Category
from hybridize.rules.registry import all_rules

PAGE = Path(__file__).parent.parent / "docs" / "taxonomy.md"
CODE = re.compile(r"\b(HY\d{3}|P\d)\b")


@dataclass(frozen=True)
class Row:
    """A row of the study's table.

    `problems` is how many the study has of it, where it says so; `covered` names the codes that cover it, or says why
    no static rule can. A row with a `category` begins it (in bold); what is left of its rules follows its last row.
    """

    title: str
    problems: int | None
    covered: str
    category: Category | None = None
    head: bool = False


ROWS = (
    Row("Performance", 111, "", Category.PERFORMANCE, head=True),
    Row(
        "missing `tf.function` (61 of the 111 fixes add one)",
        None,
        "P1 and P7 convert; the plan says what is worth it and sure enough (HY010, HY021, HY025, HY026, HY027); HY110"
        " shows a step to extract, HY023 what XLA may compile",
    ),
    Row(
        "hybrid, but retraced or without gain",
        None,
        "P2, P3, P6; HY101, HY102, HY103, HY104, HY106, HY107, HY002",
    ),
    Row("redundant decoration that costs time", None, "HY105, HY010"),
    Row(
        "graph overly specified on input shapes",
        11,
        "HY106, P4 (sizes that vary), HY270 (calls that a signature rejects), HY271 (the renamed `reduce_retracing`)",
    ),
    Row("unspecified input signature", 6, "P4 infers one; HY022 says why there is none; HY101, HY106, HY275"),
    Row(
        "underspecified input signature",
        4,
        "HY270, P5, HY274, HY354 (a static shape that a wider signature makes unknown)",
    ),
    Row("API misuse", 53, "", Category.MISUSE, head=True),
    Row("creating variables", 10, "HY250, HY251, HY256, HY257, HY258"),
    Row("redundant decoration", 8, "HY105; P2"),
    Row("random number generation", 3, "HY203, HY207"),
    Row("executing Python side effects", 2, "HY003; HY201, HY202, HY204, HY205, HY206, HY601, HY602, HY318"),
    Row("Python iterators and generators", 2, "HY231, HY302, HY303, HY310, HY342"),
    Row("graph inadequately specialized on input shapes", 2, "HY270, HY354, HY261, HY701"),
    Row(
        "conversion to TFLite",
        1,
        "HY016 (something depends on the graph). What the converter accepts is TensorFlow Lite's business: no rule",
    ),
    Row("the rest: wrong use of the API", 25, "HY004, HY017", Category.MISUSE),
    Row("Incompatibility", 49, "", Category.INCOMPATIBILITY, head=True),
    Row("eager-only features on tensors", None, "HY301, HY340, HY341, HY343, HY344, HY345, HY346, HY347, HY358"),
    Row(
        "dynamic Python features",
        None,
        "HY311, HY312, HY313, HY314, HY315, HY316, HY317, HY319, HY320, HY321, HY322, HY323, HY357, HY369",
    ),
    Row("results and arguments of other types", None, "HY348, HY355", Category.INCOMPATIBILITY),
    Row(
        "TensorFlow bug",
        22,
        "HY401 (Keras 3 builds the model while it is traced). Other defects of TensorFlow itself come and go with its"
        " releases: a rule needs a pattern that can be seen in the program",
        Category.TENSORFLOW,
        head=True,
    ),
    Row("deadlock", 2, "HY402, HY004, HY232"),
    Row("Other", 16, "No common pattern", head=True),
    Row("Unknown", 10, "The raters could not tell: nothing to detect", head=True),
    Row("Test", 8, "Changes of tests; findings inside tests are reported as elsewhere", head=True),
    Row("Debuggability", 6, "", Category.DEBUGGABILITY, head=True),
    Row("Exposed variable state", 2, "HY601, HY602", Category.STATE, head=True),
    Row(
        "Compilation error",
        1,
        "HY321, HY322 (names and fields that only some ways bind); Python's own checkers find the rest",
        head=True,
    ),
    Row(
        "Numerical errors",
        1,
        "HY348, HY355, HY701. Differences of rounding between kernels cannot be seen in the source: `hybridize verify`"
        " measures them",
        Category.NUMERICAL,
        head=True,
    ),
    Row("Segmentation fault", 1, "A crash inside TensorFlow's native code leaves no pattern in Python", head=True),
)

HEAD = """\
# The study's taxonomy, and what covers it

Written by `scripts/build_taxonomy.py` from the rules; do not edit.

The empirical study (Section 4, Table 2 and Figure 1) classifies 280 hybridization problems of 250 projects. This table
says for each category which preconditions, statuses and rules of `hybridize` cover it, or why no static rule can. The
counts are the paper's. A rule is explained by `hybridize explain CODE` and in [rules/](rules/README.md).

| category | problems | covered by |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    named = set(CODE.findall(" ".join(row.covered for row in ROWS)))
    lines = [_line(row, named) for row in ROWS]
    repairs = (f"{repair.code} ({repair.name})" for repair in all_repairs())
    rest = [code for code in STATUS_DOCS if code not in named]
    return "\n".join(
        [
            HEAD + "\n".join(lines),
            "",
            *_wrapped("The repairs take causes away so that a function can be converted:", repairs, "."),
            "",
            *_wrapped("No bugs are, for they say why a function stays as it is:", rest, "."),
            "",
        ]
    )


def _line(row: Row, named: set[str]) -> str:
    title = f"**{row.title}**" if row.head else row.title
    last = row.category is not None and row is [each for each in ROWS if each.category is row.category][-1]
    left = [rule.code for rule in all_rules() if last and rule.category is row.category and rule.code not in named]
    codes = row.covered.split(", ") if row.covered else []
    if all(CODE.fullmatch(code) for code in codes):
        covered = ", ".join(sorted(left + codes) if left else codes)
    else:
        covered = "; ".join(filter(None, [", ".join(left), row.covered]))
    return f"| {title} | {row.problems or ''} | {_linked(covered)} |".replace("|  |", "| |")


def _wrapped(start: str, codes: Iterable[str], end: str) -> Iterator[str]:
    """A sentence of codes, some to a line."""
    words = [_linked(code) for code in codes]
    yield start
    for i in range(0, len(words), 5):
        yield ", ".join(words[i : i + 5]) + (end if i + 5 >= len(words) else ",")


def _linked(text: str) -> str:
    """The text with links from codes to their pages; raises KeyError for a code that there is not."""
    codes = [each.code for each in (*all_rules(), *all_repairs())]
    pages = {*codes, *PRECONDITION_DOCS, *STATUS_DOCS}

    def link(found: re.Match[str]) -> str:
        code = found[0]
        if code not in pages:
            raise KeyError(code)
        return f"[{code}](rules/{code}.md)"

    return CODE.sub(link, text)


def main() -> int:
    """Writes or checks the page."""
    wanted = page()
    same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted
    if "--check" in sys.argv[1:]:
        if not same:
            print("docs/taxonomy.md is out of date")
        return 0 if same else 1
    PAGE.write_text(wanted, encoding="utf-8")
    print("unchanged" if same else "written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
