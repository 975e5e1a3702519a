"""The fallback for files that Python 3 cannot parse: Python 2, merge conflicts, notebook magics, cut files.

Strings and comments are blanked out, by the tokenizer as far as it gets and by a regular expression from there on; then
lines are read for definitions by their indentation, and for uses by the keyword's spelling. Aliases by import are seen.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Final, Literal

from hybridize.study.keyword import Keyword
from hybridize.study.uses_data import MODULE, FileUses, Function, Use
from hybridize.study.uses_lines import split_lines

_DEFINITION: Final = re.compile(r"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)")
_STRING_OR_COMMENT: Final = re.compile(
    r"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#[^\n]*", re.DOTALL
)
_TEXT_TOKENS: Final = frozenset(
    number for number in (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", None)) if number
)


def scan(source: str, keyword: Keyword) -> FileUses:
    """Functions and uses of a file by tokens, or by text where it cannot even be tokenized."""
    masked, method = _mask(source)
    lines = split_lines(masked)
    functions: dict[str, Function] = {}
    uses: list[Use] = []
    counts: dict[str, int] = {}
    stack: list[tuple[int, str]] = []  # (indentation, qualname)
    pending: list[tuple[int, int, str]] = []  # decorators waiting for their definition
    decorated_from = 0  # line of the first decorator, of whatever kind, above the next definition
    pattern = _use_pattern(masked, keyword)
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped:
            continue
        indent = len(line) - len(line.lstrip())
        found = _DEFINITION.match(line)
        while stack and indent <= stack[-1][0] and not stripped.startswith((")", "]", "}")):
            _close(functions, stack.pop()[1], number - 1)
        scope = stack[-1][1] if stack else ""
        if found:
            qualname = f"{scope}.{found[3]}" if scope else found[3]
            counts[qualname] = counts.get(qualname, 0) + 1
            if counts[qualname] > 1:
                qualname = f"{qualname}#{counts[qualname]}"
            first = decorated_from or number
            decorated_from = 0
            functions[qualname] = Function(qualname, found[3], first, number, len(lines), found[2] == "class")
            for start, end, text in pending:
                uses.append(Use("decorator", qualname, True, scope or MODULE, _arguments(text), start, end, text))
            pending = []
            stack.append((indent, qualname))
            continue
        if stripped.startswith("@"):
            decorated_from = decorated_from or number
        for match in pattern.finditer(line):
            text, end = _call_text(lines, number, match.start())
            if stripped.startswith("@"):
                pending.append((number, end, "@" + text))
            elif not stripped.startswith(("import ", "from ")):
                uses.append(Use("mention", text, False, scope or MODULE, _arguments(text), number, end, text))
    return FileUses(functions, tuple(uses), method, tuple(split_lines(source)))


def _mask(source: str) -> tuple[str, Literal["tokens", "text"]]:
    """The source with the insides of strings and comments blanked; line and column numbers stay."""
    lines = split_lines(source)
    spans: list[tuple[int, int, int, int]] = []
    reached = (1, 0)
    method: Literal["tokens", "text"] = "tokens"
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            reached = token.end
            if token.type in _TEXT_TOKENS:
                spans.append((*token.start, *token.end))
            elif token.type == tokenize.ERRORTOKEN and token.string in "\"'":
                raise tokenize.TokenError("unclosed string")
    except (tokenize.TokenError, SyntaxError, ValueError):
        method = "text"
    for row, column, end_row, end_column in spans:
        for number in range(row, end_row + 1):
            line = lines[number - 1]
            first = column if number == row else 0
            last = end_column if number == end_row else len(line)
            lines[number - 1] = line[:first] + " " * (last - first) + line[last:]
    if method == "text":
        row = reached[0] - 1
        rest = _STRING_OR_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), "\n".join(lines[row:]))
        lines[row:] = rest.split("\n")
    return "\n".join(lines), method


def _use_pattern(masked: str, keyword: Keyword) -> re.Pattern[str]:
    names = [re.escape(spelling) for spelling in keyword.spellings]
    modules = {name.rpartition(".")[0] for name in keyword.full_names}
    for module, alias in re.findall(r"^\s*import\s+([\w.]+)(?:\s+as\s+(\w+))?", masked, re.MULTILINE):
        if module in modules:
            names += [re.escape(f"{alias or module}.{leaf}") for leaf in keyword.leaves]
    for module, listed in re.findall(r"^\s*from\s+([\w.]+)\s+import\s+\(?([^)\n]*)", masked, re.MULTILINE):
        if module in modules:
            for found in re.finditer(rf"\b({'|'.join(keyword.leaves)})\b(?:\s+as\s+(\w+))?", listed):
                names.append(f"(?<=@){re.escape(found[2] or found[1])}")
    return re.compile(r"(?<![\w.])(?:" + "|".join(dict.fromkeys(sorted(names))) + r")(?![\w.])")


def _close(functions: dict[str, Function], qualname: str, end: int) -> None:
    old = functions[qualname]
    functions[qualname] = Function(old.qualname, old.name, old.line, old.def_line, max(end, old.def_line), old.is_class)


def _call_text(lines: list[str], number: int, column: int) -> tuple[str, int]:
    """The keyword with its parenthesized arguments, if any, over at most fifty lines; and its last line."""
    text, depth = "", 0
    for offset, line in enumerate(lines[number - 1 : number + 49]):
        part = line[column:] if offset == 0 else line
        for index, char in enumerate(part):
            depth += (char in "([{") - (char in ")]}")
            if depth < 0 or (depth == 0 and not (char.isalnum() or char in "._)]}")):
                return (text + part[:index]).strip(), number + offset
            if depth == 0 and char in ")]}":
                return (text + part[: index + 1]).strip(), number + offset
        text += part + "\n"
        if depth == 0:
            return text.strip(), number + offset
    return text.strip(), number


def _arguments(text: str) -> tuple[tuple[str, str], ...]:
    """Arguments of the call in `text`; unparsable ones come whole, as the argument `*`."""
    if "(" not in text:
        return ()
    try:
        call = ast.parse(text.removeprefix("@"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return (("*", " ".join(text.partition("(")[2].split())),)
    if not isinstance(call, ast.Call):
        return ()
    return tuple(sorted((word.arg or "**", ast.unparse(word.value)) for word in call.keywords))
