"""Which rule knows an exception of a graph: by TensorFlow's words, where the analysis has no hit at the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

#: (words of the exception's type and message, code), the more special first.
_WORDS: Final = tuple(
    (re.compile(pattern, re.DOTALL), code)
    for pattern, code in (
        (r"singleton tf\.Variables|tf\.function only supports|creat\w+ variables on a non-first call", "HY250"),
        (r"should not modify its Python input arguments", "HY205"),
        (r"has no attribute '(numpy|eval|tolist|item|__array__)'|NumPy array conversion is not supported", "HY301"),
        (r"numpy\(\) is only available when eager|\.numpy\(\) is not supported", "HY301"),
        (r"Cannot convert a symbolic tf\.Tensor.*to a numpy array|symbolic .* to a numpy array", "HY340"),
        (r"OperatorNotAllowedInGraphError.*(iterat)", "HY342"),
        (r"[Ii]terating over a symbolic|Cannot iterate over a scalar|Tensor. object is not iterable", "HY342"),
        (r"[Uu]sing a symbolic .*Tensor. as a Python .bool|as a Python `bool` is not allowed", "HY311"),
        (r"expected to be of type bool|must be boolean|condition .* bool", "HY315"),
        (r"must also be initialized|may not be None|must be defined before the loop|has no value|"
         r"should be initialized|is undefined|must be defined", "HY316"),
        (r"different (types|nested|dtype|structure)|has dtype .* (in|before|after|but)|branches? .* (type|dtype|shape)"
         r"|has shape .* (before|after) the loop", "HY317"),
        (r"NoneType' object (has no attribute|is not)", "HY262"),
        (r"weak reference|unhashable|not hashable|cannot create weak", "HY260"),
        (r"must return zero or more Tensors|to be TensorFlow types|must return .*Tensors", "HY350"),
        (r"out of scope|leak|cannot be accessed from (here|another)|InaccessibleTensor", "HY601"),
        (r"input_signature|Signature specifies|missing a required argument|Can not cast TensorSpec", "HY270"),
        (r"float\(\) argument|int\(\) argument|__index__|must be real number|__float__|as an integer", "HY341"),
        (r"unsupported format string|__format__", "HY344"),
        (r"KerasTensor", "HY304"),
        (r"unhashable type|Expected .* hashable", "HY260"),
        (r"[Mm]aximum recursion depth", "HY320"),
        (r"OutOfRange|End of sequence", "HY319"),
        (r"expected to be a (float|double|int|half)|(float|int|double)\d* tensor but is a|dtype.* mismatch", "HY355"),
        (r"AssertionError", "HY312"),
    )
)  # fmt: skip
_PLACE: Final = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)')


def rule_of(error: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Code, name and summary of the rule whose words the exception has; None where no rule knows it."""
    from hybridize.rules.registry import all_rules

    text = " ".join([error["type"], *error["bases"]]) + ": " + str(error["message"])
    for words, code in _WORDS:
        if words.search(text):
            rule = next((r for r in all_rules() if r.code == code), None)
            return None if rule is None else (rule.code, rule.name, rule.summary)
    return None


def error_places(error: Mapping[str, Any]) -> set[tuple[str, int]]:
    """Files and lines that the exception speaks of: its frames, and those that AutoGraph names in its message."""
    found = {(str(path), int(line)) for path, line, _, _ in error["frames"] if line}
    found |= {(m["path"], int(m["line"])) for m in _PLACE.finditer(str(error["message"]))}
    return found
