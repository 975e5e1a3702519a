"""Bytes -> text -> tree: encodings, line ends, and one clear line for whatever is wrong."""

import ast
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridize.source import FileRef, SourceError, SourceText, parse, read_source, split_lines
from hybridize.source.reading import decode_source

REF = FileRef("/project/m.py", "m.py")


def text_of(data: bytes) -> SourceText:
    result = decode_source(REF, data)
    assert isinstance(result, SourceText), result
    return result


def error_of(data: bytes) -> SourceError:
    """The error of a file, be it in its bytes or in its syntax."""
    result = decode_source(REF, data)
    if isinstance(result, SourceText):
        tree = parse(result)
        assert isinstance(tree, SourceError)
        result = tree
    assert result.path == "m.py"
    assert "\n" not in result.message
    return result


class TestEncodings:
    def test_utf8_is_the_default(self) -> None:
        source = text_of("x = 'é'\n".encode())
        assert (source.text, source.encoding, source.bom) == ("x = 'é'\n", "utf-8", False)

    def test_a_byte_order_mark_is_noted_and_taken_off(self) -> None:
        source = text_of(b"\xef\xbb\xbfx = 1\n")
        assert (source.text, source.encoding, source.bom) == ("x = 1\n", "utf-8", True)
        assert source.data.startswith(b"\xef\xbb\xbf")

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("first", ["", "#!/usr/bin/env python"])
    def test_a_declared_encoding(self, first: str, newline: str) -> None:
        data = newline.join([first, "# -*- coding: latin-1 -*-", "x = 'é'", ""]).encode("latin-1")
        source = text_of(data)
        assert source.encoding == "iso-8859-1"
        assert source.text.encode(source.encoding) == data

    def test_a_declaration_on_the_third_line_is_none(self) -> None:
        assert error_of(b"\n\n# coding: latin-1\nx = '\xe9'\n").line == 4

    def test_the_word_coding_alone_declares_nothing(self) -> None:
        assert text_of(b"encoding = 'latin-1'\n").encoding == "utf-8"

    @pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
    def test_latin1_without_a_declaration_names_the_line(self, newline: bytes) -> None:
        error = error_of(newline.join([b"x = 1", b"", b"y = 'caf\xe9'", b"z = '\xe9'"]))
        assert error.line == 3
        assert error.message == "cannot be decoded: byte 0xe9 is not UTF-8, and no other encoding is declared"

    def test_bytes_against_their_declaration(self) -> None:
        error = error_of(b"# coding: ascii\nx = '\xe9'\n")
        assert (error.line, error.message) == (2, "cannot be decoded: byte 0xe9 is not ascii, as declared")

    def test_an_unknown_encoding(self) -> None:
        error = error_of(b"#!python\n# coding: klingon\n")
        assert (error.line, error.message) == (2, "cannot be decoded: unknown encoding: klingon")

    def test_a_codec_that_gives_no_text(self) -> None:
        assert "cannot be decoded as rot13" in error_of(b"# coding: rot13\n").message

    def test_utf16_is_called_by_its_name(self) -> None:
        assert "UTF-16" in error_of("x = 1\n".encode("utf-16")).message

    def test_a_null_byte_names_the_line(self) -> None:
        error = error_of(b"x = 1\ny = '\0'\n")
        assert (error.line, error.message) == (2, "holds a null byte, which Python does not accept")

    @given(st.binary(max_size=60))
    def test_no_bytes_crash(self, data: bytes) -> None:
        for prefix in (b"", b"# coding: latin-1\n", b"# coding: utf-7\n"):
            result = decode_source(REF, prefix + data)
            if isinstance(result, SourceText):
                assert isinstance(parse(result), (ast.Module, SourceError))


class TestLines:
    @pytest.mark.parametrize(
        ("data", "newline"), [(b"", "\n"), (b"a\r\nb\r\nc\n", "\r\n"), (b"a\nb\rc\n", "\n"), (b"a\rb", "\r")]
    )
    def test_the_line_end_most_used(self, data: bytes, newline: str) -> None:
        assert text_of(data).newline == newline

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(
                    ["", "# c", "\f", "s = '\x0b \x1c \x85 \u2028'", "def f():\f pass", "t = '''a\r\nb\rc\n'''"]
                ),
                st.sampled_from(["\n", "\r\n", "\r"]),
            ),
            max_size=12,
        )
    )
    def test_lines_are_those_of_the_parser(self, parts: list[tuple[str, str]]) -> None:
        before = "".join(line + end for line, end in parts)
        text = before + "MARK = 1"
        tree = parse(text_of(text.encode()))
        assert isinstance(tree, ast.Module)
        last = tree.body[-1]
        assert split_lines(text)[last.lineno - 1] == "MARK = 1"


class TestParsing:
    def test_a_syntax_error_names_the_line(self) -> None:
        error = error_of(b"x = 1\ndef f(:\n    pass\n")
        assert (error.line, error.message) == (2, "cannot be parsed: invalid syntax")

    def test_python_2_gets_the_parsers_own_hint(self) -> None:
        assert "Missing parentheses in call to 'print'" in error_of(b"print 'hello'\n").message

    @pytest.mark.parametrize(
        "text", ["(" * 5000 + ")" * 5000, "-" * 100_000 + "1", "x" + ".a" * 100_000, "1" + "+1" * 100_000]
    )
    def test_deep_nesting_is_an_error_and_no_crash(self, text: str) -> None:
        assert error_of(text.encode()).message.startswith("cannot be parsed: ")

    def test_a_number_beyond_the_limit_of_int(self) -> None:
        assert error_of(b"x = 1\ny = " + b"1" * 5000).message.startswith("cannot be parsed: ")

    def test_no_warning_is_printed_or_raised(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = parse(text_of(b"x = '\\d'\ny = 1 is 1\nz = 0x1for x in y\n"))
        assert isinstance(tree, (ast.Module, SourceError))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert isinstance(parse(text_of(b"x = '\\d'\n")), ast.Module)

    @pytest.mark.slow
    def test_a_generated_file_of_five_megabytes(self, tmp_path: Path) -> None:
        file = tmp_path / "generated.py"
        line = "TABLE = [" + "1, " * 3000 + "]\n"
        file.write_text(line * (5_000_000 // len(line) + 1), encoding="utf-8")
        source = read_source(FileRef(str(file), "generated.py"))
        assert isinstance(source, SourceText)
        tree = parse(source)
        assert isinstance(tree, ast.Module)
        assert len(tree.body) == source.text.count("\n")


class TestFiles:
    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        error = read_source(FileRef(str(tmp_path / "gone.py"), "gone.py"))
        assert error == SourceError("gone.py", 1, "cannot be read: no such file or directory")

    def test_a_file_without_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(path: str, mode: str) -> None:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr("builtins.open", refuse)
        error = read_source(FileRef(str(tmp_path / "a.py"), "a.py"))
        assert error == SourceError("a.py", 1, "cannot be read: permission denied")
