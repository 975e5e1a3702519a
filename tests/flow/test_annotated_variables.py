"""What is said of a variable (`image: tf.Tensor = load()`) stands in for a value that the analysis does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.domain.objects import show
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program
from hybridize.source import ImportTable, discover, find_src_roots

UNKNOWN = "?(the result of `away.load`)"
PROGRAM = """\
from typing import Any, Optional, Tuple
import away
import tensorflow as tf
Alias = tf.Tensor
class Model:
    pass
class Missing:
    pass
def made():
    return Model()
"""


def result_of(body: str, home: Path, *, follow_type_hints: bool = True) -> str:
    """What a function gives that the program calls."""
    text = f"{PROGRAM}def f(flag):\n    {body}\nf(away.flag())\nmade()\n"
    (home / "main.py").write_text(text, encoding="utf-8")
    found = discover([home])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    solution = Solver(program, FlowOptions(follow_type_hints=follow_type_hints)).solve_entries()
    (frame,) = [each for frames in solution.frames.values() for each in frames if each.code.name == "f"]
    return show(frame.ret)


@pytest.mark.parametrize(
    ("annotation", "stands_in"),
    [
        ("tf.Tensor", "dense:?[?]"),
        ("Alias", "dense:?[?]"),
        ("'tf.Tensor'", "dense:?[?]"),
        ("Optional[tf.Tensor]", "None | dense:?[?]"),
        ("Tuple[tf.Tensor, int]", "(dense:?[?], <int>)"),
        ("int", "<int>"),
    ],
)
def test_an_annotation_stands_in_for_an_unknown_value(annotation: str, stands_in: str, tmp_path: Path) -> None:
    assert result_of(f"y: {annotation} = away.load(); return y", tmp_path) == stands_in


@pytest.mark.parametrize("annotation", ["Any", "away.Kind", "Optional[away.Kind]", "not_bound", "Missing"])
def test_a_value_stays_unknown_where_the_annotation_says_nothing(annotation: str, tmp_path: Path) -> None:
    assert result_of(f"y: {annotation} = away.load(); return y", tmp_path) == UNKNOWN


def test_what_is_known_stays_whatever_the_annotation_says(tmp_path: Path) -> None:
    assert result_of("y: tf.Tensor = (1, 2); return y", tmp_path) == "(1, 2)"


@pytest.mark.parametrize(("other", "shown"), [("None", "None"), ("made()", "<Model at 10>")])
def test_of_several_values_the_unknown_one_is_replaced(other: str, shown: str, tmp_path: Path) -> None:
    body = f"y: tf.Tensor = away.load() if flag else {other}; return y"
    assert result_of(body, tmp_path) == f"{shown} | dense:?[?]"


def test_an_object_of_the_program_may_be_any_that_it_makes_sooner_or_later_or_another(tmp_path: Path) -> None:
    assert result_of("y: Model = away.load(); return y", tmp_path) == f"<Model at 10> | {UNKNOWN}"


def test_a_captured_variable_has_what_its_annotation_says(tmp_path: Path) -> None:
    assert result_of("y: tf.Tensor = away.load(); return (lambda: y)()", tmp_path) == "dense:?[?]"


@pytest.mark.parametrize("body", ["y: tf.Tensor; y = away.load(); return y", "y = away.load(); return y"])
def test_an_annotation_without_the_value_says_nothing(body: str, tmp_path: Path) -> None:
    assert result_of(body, tmp_path) == UNKNOWN


def test_annotations_are_not_read_where_type_hints_are_not_followed(tmp_path: Path) -> None:
    assert result_of("y: tf.Tensor = away.load(); return y", tmp_path, follow_type_hints=False) == UNKNOWN
