"""What code binds, and what it reads of the rest."""

from __future__ import annotations

import ast

import pytest

from hybridize.source.bindings import bound_by, reads


@pytest.mark.parametrize(
    ("code", "needed", "surely"),
    [
        ("y = x + 1\nz = y", "x", "y z"),
        ("total += loss", "loss total", "total"),
        ("with opened() as tape:\n    y = f(x)\ntape.close()", "f opened x", "tape y"),
        ("for x in data:\n    y = x\nprint(y)", "data print y", ""),
        ("if flag:\n    y = 1\nelse:\n    y = 2", "flag", "y"),
        ("squares = [n * n for n in numbers]", "numbers", "squares"),
    ],
)
def test_what_is_needed_and_what_is_surely_bound(code: str, needed: str, surely: str) -> None:
    found = reads(ast.parse(code).body)
    assert (" ".join(sorted(found.needed)), " ".join(sorted(found.surely))) == (needed, surely)


def test_a_loop_that_surely_runs_binds() -> None:
    block = ast.parse("for x in data:\n    y = x").body
    assert reads(block, looped=True).surely == {"x", "y"}
    assert bound_by(block) == {"x", "y"}
