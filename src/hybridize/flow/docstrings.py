"""What docstrings say about parameters: "x: A `Tensor` of shape [batch, n]", as Google, NumPy and Sphinx write it.

Only entries count (a line that begins with the parameter's name), and of an entry only the noun phrase it begins with:
"the number of tensors" speaks of a number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Value, prim, stream, tensor
from hybridize.library.dialect import DOCUMENTED
from hybridize.program.ir import Code
from hybridize.regex import regex

#: An entry: its names, a type in brackets or before the name (`:param tf.Tensor x:`), and what follows the colon.
_ENTRY = regex(
    r"[ \t]*(?:[-*][ \t]+)?(?P<field>:(?:param|parameter|arg|argument|type)[ \t]+)?"
    r"(?P<names>[\w*`., \t]*[\w`])[ \t]*(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?[ \t]*:?[ \t]*(?P<text>.*)"
)
#: Where entries are no longer of parameters.
_END = regex(
    r"(?m)^[ \t]*(?:(?:Returns?|Raises|Yields|Attributes|References|Examples?)[ \t]*(?::|$)"
    r"|:(?:returns?|rtype|raises)\b)"
)
_ALTERNATIVE = regex(r"\s*(?:[,/|]|\bor\b|\band\b)\s*")
#: What ends the noun phrase that a description begins with.
_AFTER = regex(
    r"\s+(?:of|with|containing|that|which|whose|where|representing|holding|for|from|to|in|on|at|used|using|specifying|"
    r"indicating|giving|consisting|as|shaped|having|is|are|per|corresponding|describing|denoting|defining|by|if)\b|[(\[<:;]|\.\s"
)
_HOLDER = regex(
    r"(?:an?\s+|the\s+|optional\s+|nested\s+|python\s+|input\s+)*"
    r"(?:list|tuple|sequence|structure|collection|iterable|pair|dict|dictionary|batch|set|stack)s?\s+"
    r"(?:of|with|containing)\s+(?:single\s+)?(.+)"
)
#: What no array is: `list` is left out, since authors call arrays so, too.
_PYTHONS = regex(
    r"(?:an?\s+|the\s+|optional\s+|nested\s+|python\s+|input\s+)*(?:\w+-)?(?:tuple|dict|dictionary|namedtuple)\.?"
)
_SENTENCE = regex(r"\.(?:\s|$)")
_BRACKETS = regex(r"\[[^\]]*\]|\([^()]*\)")
_NUMBERS: Final = {"float": "float", "floats": "float", "int": "int", "integer": "int"}
#: Descriptions that begin so say what is done.
_NO_NOUNS: Final = frozenset(
    "return returns convert converts whether if when use uses do does compute computes apply applies name names".split()
)
_LONGEST: Final = 160


class Docstrings:
    """The docstrings of a program's functions, each read once."""

    def __init__(self) -> None:
        self._known: dict[Code, dict[str, Value]] = {}
        self._structures: dict[Code, frozenset[str]] = {}

    def value(self, code: Code, name: str) -> Value:
        """What a function's docstring says that an argument is; bottom where it names no tensor or array."""
        found = self._known.get(code)
        if found is None:
            found = self._known[code] = _read(code)
        return found.get(name, BOTTOM)

    def is_structure(self, code: Code, name: str) -> bool:
        """Whether a function's docstring says that an argument is a tuple or dictionary, whatever is in it."""
        found = self._structures.get(code)
        if found is None:
            text = _docstring(code)
            told = (
                entries(text, frozenset(param.name for param in code.params))
                if "tuple" in text or "dict" in text
                else ()
            )
            found = self._structures[code] = frozenset(
                each for given, said in told if names_structure(said) for each in given
            )
        return name in found


def is_described(code: Code, name: str) -> bool:
    """Whether a function's docstring has an entry for a parameter."""
    return name in (text := _docstring(code)) and any(entries(text, frozenset({name})))


def names_structure(text: str) -> bool:
    """Whether a description says of something that it is a tuple or dictionary, and nothing else."""
    sentence = _BRACKETS.sub(" ", _plain(text)).strip()
    for phrase in _ALTERNATIVE.split(sentence):
        if _PYTHONS.fullmatch(_AFTER.split(phrase, 1)[0].strip()) is None:
            return False
        if _AFTER.search(phrase) is not None:
            break  # what follows is part of the description
    return True


def _plain(text: str) -> str:
    """The first sentence of a description, without marks."""
    return _SENTENCE.split(text.strip().lower(), 1)[0][:_LONGEST].replace("`", "").replace("~", "")


def _read(code: Code) -> dict[str, Value]:
    text = _docstring(code)
    if "ensor" not in text and "rray" not in text and "tf." not in text:
        return {}
    names = frozenset(param.name for param in code.params)
    found: dict[str, Value] = {}
    for given, said in entries(text, names):
        value = described(said)
        for name in given:
            if name not in found:
                found[name] = value
    return {name: value for name, value in found.items() if value}


def _docstring(code: Code) -> str:
    node = code.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not node.body:
        return ""
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value.value
    return ""


def entries(text: str, names: frozenset[str]) -> Iterator[tuple[list[str], str]]:
    """The entries of a docstring about some parameters: their names, and what is said of them."""
    end = _END.search(text)
    lines = (text[: end.start()] if end is not None else text).splitlines()
    for i, line in enumerate(lines):
        match = _ENTRY.match(line)
        if match is None:
            continue
        words = [word.strip("`* \t") for word in match["names"].split(",")]
        typed = ""
        if match["field"] and len(words) == 1:
            typed, _, last = words[0].rpartition(" ")
            words = [last.strip("`* ")]
        if not words or not names.issuperset(words):
            continue
        below = _below(lines, i)
        said = match["type"] or typed or match["text"]
        if match["type"] or typed or match["text"]:
            yield words, said if match["type"] or typed else f"{said} {below}"
        elif below:
            yield words, below


def _below(lines: list[str], at: int) -> str:
    """The lines under an entry that are indented more, as one."""
    depth = _indent(lines[at])
    found: list[str] = []
    for line in lines[at + 1 :]:
        if not line.strip() or _indent(line) <= depth:
            break
        found.append(line.strip())
    return " ".join(found)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def described(text: str) -> Value:
    """What a description says that something is; bottom where it names neither tensor nor array."""
    sentence = _BRACKETS.sub(" ", _plain(text)).strip()
    holder = _HOLDER.match(sentence)
    if holder is not None:
        element = described(holder[1])
        return stream("tuple", element).value if element else BOTTOM
    kinds, numbers = _kinds(_ALTERNATIVE.split(sentence))
    if not kinds:
        return BOTTOM
    result = BOTTOM
    for kind in kinds:
        result = join(result, tensor(kind).value)
    for number in numbers:
        result = join(result, prim(number).value)
    return result


def _kinds(phrases: Iterable[str]) -> tuple[dict[str, None], dict[str, None]]:
    """The kinds of tensors, and of numbers, that some phrases name."""
    kinds: dict[str, None] = {}
    numbers: dict[str, None] = {}
    for phrase in phrases:
        head = _AFTER.split(phrase.strip(), 1)[0].split()
        if not head or head[0] in _NO_NOUNS:
            break
        last = head[-1].rstrip(".")
        if last in DOCUMENTED:
            kinds[DOCUMENTED[last]] = None
        elif last in _NUMBERS:
            numbers[_NUMBERS[last]] = None
        if _AFTER.search(phrase) is not None:
            break  # what follows is part of the description
    return kinds, numbers
