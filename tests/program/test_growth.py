"""Which appends to a list count, and what is known of its elements: what else reads the list between them decides."""

from __future__ import annotations

import ast

import pytest

from hybridize.program.lowering import lower_module, walk_codes

LOOP = "    xs = []\n    for i in range(n):\n"
FIELD = "    self.xs = []\n    for i in range(n):\n"


def appends(body: str) -> list[bool]:
    """For each append of a function that counts: whether only the length is known of the list."""
    code = lower_module(ast.parse(f"def f(self, n):\n{body}"), "m.py", "m")
    (function,) = (c for c in walk_codes(code) if c.name == "f")
    return [growth.peeked for growth in function.appends.values()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{LOOP}        xs.append(i)\n    return xs\n", [False]),
        (f"{LOOP}        xs.append(i)\n    return xs[-1]\n", [False]),
        (f"{LOOP}        xs.append(i)\n    return xs[-1] + xs[0]\n", [False]),
        (f"{LOOP}        xs.append(i)\n        print(xs[-1])\n", [True]),  # read before the append of the next turn
        (f"{LOOP}        print(xs[0])\n        xs.append(i)\n", [True]),
        ("    xs = [0]\n    xs.append(xs[0])\n    xs.append(1)\n", [True, True]),
        (f"{LOOP}        xs.append(i)\n        print(xs)\n", []),  # whoever sees it may change it
        (f"{LOOP}        xs.append(i)\n        print(len(xs))\n", []),
        (f"{LOOP}        if i:\n            continue\n        xs.append(i)\n", []),
        (f"{FIELD}        self.xs.append(i)\n", [False]),
        (f"{FIELD}        self.xs.append(i)\n        print(self.xs)\n", []),
        (f"{FIELD}        self.xs.append(i)\n    print(self.xs)\n", [False]),
    ],
)
def test_counted(body: str, expected: list[bool]) -> None:
    assert appends(body) == expected
