"""Exceptions that tests expect: `with pytest.raises(Error):`, `self.assertRaises(Error, f, x)` and their like.

A test that expects an exception says what a function owes to its callers, as a caller's `except` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Value, lib
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import dataclass
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView

#: What asks for an exception, by its last name: where its class and the pattern of its text stand.
_EXPECTING: Final[dict[str, tuple[tuple[int, str], tuple[int, str] | None]]] = {
    "raises": ((0, "expected_exception"), (-1, "match")),
    "assertRaises": ((0, "expected_exception"), None),
    "assertRaisesRegex": ((0, "expected_exception"), (1, "expected_regex")),
    "assertRaisesRegexp": ((0, "expected_exception"), (1, "expected_regexp")),
    "assertRaisesWithLiteralMatch": ((0, "expected_exception"), (1, "expected_exception_message")),
    "assertRaisesWithPredicateMatch": ((0, "exception_type"), None),
    "assertRaisesOpError": ((-1, ""), (0, "expected_err_re_or_predicate")),
    "assert_raises": ((0, "exception_class"), None),
    "assert_raises_regex": ((0, "exception_class"), (1, "expected_regexp")),
}
_PACKAGES: Final = frozenset({"pytest.raises", "numpy.testing.assert_raises", "np.testing.assert_raises"})
#: Compares the whole text, where the others search in it.
_LITERAL: Final = "assertRaisesWithLiteralMatch"
_OP_ERROR: Final = "assertRaisesOpError"


@dataclass(frozen=True, slots=True)
class Expected:
    """An exception that a test expects: its classes, the line of the test, and whether a longer text fails it."""

    classes: Value
    line: int
    literal: bool


def expected(view: FrameView, position: int) -> Iterator[Expected]:
    """What a test expects of the call at a position of a frame."""
    found: dict[range | int, list[Expected]]
    found = view.project.shared(("expected", view.frame), lambda: _gathered(view))
    for place, some in found.items():
        if position >> 16 in place if isinstance(place, range) else position == place:
            yield from some


def _gathered(view: FrameView) -> dict[range | int, list[Expected]]:
    """By the lines of a `with` statement's body, or by the position of a call that is given a function."""
    found: dict[range | int, list[Expected]] = {}
    index = index_of(view.code)
    for left in index.of(ir.Exit):
        made = index.source(left.source)
        for each in _asked(view, made) if isinstance(made, ir.Call) else ():
            found.setdefault(left.lines, []).append(each)
    if index.attributes.keys() & _EXPECTING.keys() or "raises" in index.names:
        for call in index.of(ir.Call):
            if len(call.arguments) > 1:
                for each in _asked(view, call):
                    found.setdefault(call.position, []).append(each)
    return found


def is_expecting(view: FrameView, call: ir.Call) -> bool:
    """Whether a call gives what expects an exception, `pytest.raises(Error)`, or swallows it."""
    return _name(view, call) is not None or "contextlib.suppress" in view.names(call.function)


def _asked(view: FrameView, call: ir.Call) -> Iterator[Expected]:
    name = _name(view, call)
    if name is None:
        return
    (index, keyword), pattern = _EXPECTING[name]
    slot = argument(call, index, keyword) if index >= 0 else -1
    classes = lib("tf.errors.OpError").value if name == _OP_ERROR else view.value(slot)
    if classes:
        yield Expected(classes, call.position >> 16, name == _LITERAL or _is_anchored(view, call, pattern))


def _name(view: FrameView, call: ir.Call) -> str | None:
    """The last name of what a call asks for an exception with; a method of a test, whatever its class derives from."""
    made = index_of(view.code).source(call.function)
    if isinstance(made, ir.Attr) and made.name.startswith("assert") and made.name in _EXPECTING:
        return str(made.name)
    named = next((n for n in view.names(call.function) if n in _PACKAGES), None)
    return None if named is None else named.rpartition(".")[2]


def _is_anchored(view: FrameView, call: ir.Call, pattern: tuple[int, str] | None) -> bool:
    """Whether the pattern of a text only fits its beginning, which is another one for what comes out of a graph."""
    if pattern is None:
        return False
    index, keyword = pattern
    slot = argument(call, index, keyword) if index >= 0 else next((s for k, s in call.keywords if k == keyword), -1)
    texts = [str(getattr(o, "const", "")) for o in view.value(slot)]
    return any(text.startswith("^") for text in texts)
