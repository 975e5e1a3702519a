"""What of a text is code and what is space; Python's own tokenizer is the oracle."""

import io
import sys
import sysconfig
import tokenize
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridize.source.spacing import Moved, Spacing, spacing

STEP = '''\
import tensorflow as tf

# trains
def step(x):  # one batch
    """Trains.

    # no comment
    """
    return x + \\
        1
'''


def spaced(text: str) -> Spacing:
    found = spacing(text)
    assert found is not None
    return found


def lines(text: str) -> list[int]:
    found = array("I")
    found.frombytes(spaced(text).lines)
    return list(found)


def by_tokenizer(text: str) -> list[int]:
    """The lines that hold a token other than a comment of no meaning, or a part of one."""
    nothing = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_space = token.type == tokenize.COMMENT and "@" not in token.string and "hybridize" not in token.string
        if token.type not in nothing and not is_space:
            found.update(range(token.start[0], token.end[0] + 1))
    return sorted(found)


def test_lines_of_code_are_those_with_tokens() -> None:
    assert lines(STEP) == [1, 4, 5, 6, 7, 8, 9, 10] == by_tokenizer(STEP)


@pytest.mark.parametrize(
    "same",
    [
        STEP.replace("# trains\n", ""),
        STEP.replace("# trains\n", "# trains a model\n#\n\n"),
        STEP.replace("  # one batch", ""),
        STEP.replace("def", "\n\n    # far in\ndef"),
        STEP + "\n\n# the end\n",
    ],
)
def test_texts_that_differ_in_space_have_the_same_code(same: str) -> None:
    assert spaced(same).code == spaced(STEP).code
    assert lines(same) == by_tokenizer(same)


@pytest.mark.parametrize(
    "other",
    [
        STEP.replace("# no comment", "# a comment"),
        STEP.replace("Trains.\n\n", "Trains.\n"),
        STEP.replace("\n        1", "\n\n        1"),
        STEP.replace("x + ", "x +  "),
        STEP.replace("# trains", "# @tf.function"),
        STEP.replace("# one batch", "# hybridize: ignore"),
        STEP.replace("\n", "\r\n"),
        STEP.replace("    return", "        return"),
    ],
)
def test_whatever_means_something_is_code(other: str) -> None:
    assert spaced(other).code != spaced(STEP).code


@pytest.mark.parametrize(
    "text", ['f"{names["#"]}"  # x\n', "x = f'{'#'}'\n", 'f"{\n1}"\n', "it's\n", '"""open\n', "\\\n#\n"]
)
def test_strings_that_cannot_be_told_are_given_up(text: str) -> None:
    assert spacing(text) is None


def test_the_standard_library_as_the_tokenizer_sees_it() -> None:
    compared = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:60]:
        text = path.read_text("utf-8")
        if spacing(text) is not None:
            assert lines(text) == by_tokenizer(text), path
            compared += 1
    assert compared > 50


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the tokenizer of 3.11 takes what is cut off")
@given(
    st.lists(st.sampled_from(['"', "'", '"""', "#", "\n", "\\", "x", " ", "f", "{", "}", "r", "=", "1"]), max_size=30)
)
def test_any_text_that_python_accepts(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        compile(text, "text", "exec")
        expected = by_tokenizer(text)
    except (SyntaxError, ValueError, tokenize.TokenError):
        return
    if spacing(text) is not None:
        assert lines(text) == expected


def test_where_lines_are_now() -> None:
    now = STEP.replace("# trains\n", "").replace("    return", "    # so\n\n    return")
    moved = Moved(spaced(STEP), spaced(now))
    assert [moved.line(n) for n in (1, 4, 9, 10)] == [1, 3, 10, 11]
    assert moved.line(3) is None  # a comment
    assert moved.added == 1
    assert not moved.is_same(4, 5)  # a comment above is gone
    assert moved.is_same(5, 7)
    assert not moved.is_same(8, 9)
