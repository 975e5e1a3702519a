"""Every place where Python keeps a value, every way to change it between two calls, and changes that are no matter.

`state_programs.txt` has them, with what TensorFlow 2.21 does with `return x * READ` as a graph: `differs` or `safe`.
`open` marks those about which the tool says the opposite still; who mends one takes the mark away.
"""

from __future__ import annotations

import re
from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config

LIST = Path(__file__).parent / "state_programs.txt"
MODULES = """argparse array bisect collections configparser contextlib contextvars copy dataclasses decimal enum
functools heapq io json logging math operator os pathlib queue random shutil
sys tempfile threading types unittest.mock weakref"""
#: What keeps a function as it is because of state.
CODES = {"HY602", "HY003"}


def program(setup: str, read: str, change: str) -> str:
    """Two calls with a change between them."""
    text = (
        f"{setup}def target(x):\n    return x * {read}\n"
        f"x = tf.constant([1.0, 2.0])\nr1 = target(x)\n{change}\nr2 = target(x)\n"
    )
    if "target.k" in read:
        text = text.replace("x = tf.constant", "target.k = 2.0\nx = tf.constant", 1)
    modules = [f"import {name}" for name in MODULES.split() if f"{name}." in text]
    return "\n".join(["import numpy as np", "import tensorflow as tf", *modules, text])


def programs() -> dict[str, tuple[str, str]]:
    """By name the label and the program."""
    found = {}
    for block in LIST.read_text(encoding="utf-8").split("#### ")[1:]:
        head, *changes = re.split(r"^==== ", block, flags=re.MULTILINE)
        name, _, rest = head.partition("\n")
        setup, _, read = rest.partition("---- ")
        for i, change in enumerate(changes):
            label, _, text = change.partition("\n")
            found[f"{name}_{i}"] = (label, program(setup, read.strip(), text.rstrip("\n")))
    return found


def test_the_verdict_is_what_tensorflow_does(tmp_path: Path) -> None:
    every = programs()
    assert len(every) > 850
    for name, (_, text) in every.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    told = {
        Path(f.facts.path).stem: "differs" if CODES & {s.code for s in f.statuses} else "safe"
        for f in report.functions
        if f.facts.qualname == "target"
    }
    assert told.keys() == every.keys()
    wrong = {name: (label, told[name]) for name, (label, _) in every.items() if label != told[name]}
    assert {name: row for name, row in wrong.items() if not row[0].startswith("open ")} == {}
    assert [name for name, (label, said) in wrong.items() if label == f"open {said}"] == [], "no longer open"
