"""Bytes -> text -> tree, with one clear line for whatever is wrong with a file."""

import ast
import codecs
import warnings

from hybridize.regex import regex
from hybridize.source.model import FileRef, SourceError, SourceText

_LINE_END = regex(r"\r\n|\r|\n")
_FIRST_LINES = regex(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_OTHER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends, counted as Python's parser does: form feeds and the like end no line."""
    return _LINE_END.split(text)


def count_lines(text: str) -> int:
    """How many lines a text has, the last one included where nothing ends it."""
    return text.count("\n") + (not text.endswith("\n"))


def read_source(ref: FileRef) -> SourceText | SourceError:
    """Read and decode a file as Python would (PEP 263, byte order mark); a notebook becomes the Python of its cells."""
    try:
        with open(ref.path, "rb") as file:
            data = file.read()
    except OSError as error:
        return SourceError(ref.relative, 1, f"cannot be read: {(error.strerror or str(error)).lower()}")
    return decode_source(ref, data)


def decode_source(ref: FileRef, data: bytes) -> SourceText | SourceError:
    """As `read_source`, for bytes at hand (an editor's buffer)."""
    if ref.is_notebook:
        from hybridize.source.notebook import read_notebook

        return read_notebook(ref, data)
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    declared = _declared_encoding(data)
    if isinstance(declared, _Undecodable):
        return SourceError(ref.relative, declared.line, declared.message)
    encoding = declared or "utf-8"
    try:
        text = _decode(body, encoding)
    except UnicodeDecodeError as error:
        return _bad_byte(ref, body, error, declared)
    except (LookupError, ValueError, AssertionError) as error:
        return SourceError(ref.relative, 1, f"cannot be decoded as {encoding}: {error}")
    null = text.find("\0")
    if null >= 0:
        return SourceError(ref.relative, _line_at(text, null), "holds a null byte, which Python does not accept")
    return SourceText(ref, data, text, encoding, bom, dominant_newline(text))


def encode_source(text: str) -> bytes:
    """The bytes that an editor writes for a text: in the encoding that it declares, or else UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    declared = _declared_encoding(data)
    if isinstance(declared, str) and declared != "utf-8":
        try:
            return text.encode(declared)
        except (UnicodeEncodeError, LookupError, ValueError):
            pass  # the analysis says what is wrong with it
    return data


def parse(source: SourceText) -> ast.Module | SourceError:
    """Parse a text; never prints a warning, and turns all that the parser may raise into one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, source.ref.relative.replace("\0", "?"))
    except SyntaxError as error:
        line, message = error.lineno or 1, f"cannot be parsed: {error.msg}"
    except (RecursionError, MemoryError):
        line, message = 1, "cannot be parsed: nested too deeply"
    except ValueError as error:  # for example a lone surrogate, or digits beyond the limit of `int`
        line, message = 1, f"cannot be parsed: {error}"
    return SourceError(source.ref.relative, max(line, 1), " ".join(message.split()))


def dominant_newline(text: str) -> str:
    """The line end that a text uses most."""
    if "\r" not in text:
        return "\n"
    both = text.count("\r\n")
    counts = {"\n": text.count("\n") - both, "\r\n": both, "\r": text.count("\r") - both}
    return max(counts, key=lambda newline: counts[newline])


class _Undecodable:
    """A declaration of an encoding that Python refuses."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message


def _declared_encoding(data: bytes) -> str | _Undecodable | None:
    """What the first two lines declare, None if nothing."""
    first = _FIRST_LINES.match(data)
    assert first is not None  # the pattern matches the empty string
    second = _FIRST_LINES.match(data, first.end())
    assert second is not None
    if b"coding" not in first.group() and b"coding" not in second.group():
        return None
    import tokenize

    lines = iter((first.group(), second.group()))
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines, b""))
    except SyntaxError as error:
        # `detect_encoding` complains about bytes in these lines too; decoding says so better.
        if "unknown encoding" in str(error) or "encoding problem" in str(error):
            line = 1 if b"coding" in first.group() else 2
            return _Undecodable(line, f"cannot be decoded: {error.msg}")
        return None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _decode(body: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return body.decode()
    with warnings.catch_warnings():  # odd codecs warn about odd escapes
        warnings.simplefilter("ignore")
        return body.decode(encoding)


def _bad_byte(ref: FileRef, body: bytes, error: UnicodeDecodeError, declared: str | None) -> SourceError:
    line = _line_at(body[: error.start].decode("latin-1"), error.start)
    if body.startswith(_OTHER_MARKS):
        return SourceError(ref.relative, 1, "cannot be decoded: the file is UTF-16, which Python does not accept")
    byte = body[error.start]
    if declared:
        return SourceError(ref.relative, line, f"cannot be decoded: byte 0x{byte:02x} is not {declared}, as declared")
    return SourceError(
        ref.relative, line, f"cannot be decoded: byte 0x{byte:02x} is not UTF-8, and no other encoding is declared"
    )


def _line_at(text: str, offset: int) -> int:
    return len(_LINE_END.findall(text, 0, offset)) + 1
