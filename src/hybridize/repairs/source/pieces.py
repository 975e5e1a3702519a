"""Text with values in it, as Python formats it -> the arguments of `tf.print` that write the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from hybridize.domain.objects import Lit, Prim, Tensor, Unknown, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.repairs.model import NotOffered
from hybridize.repairs.source.bench import Bench, dtypes, is_tensor
from hybridize.repairs.source.text import SourceFile

#: A format that `tf.strings.as_string` knows: flags and width, precision, type.
_SPEC: Final = regex(r"(?P<align>[<>]?)(?P<fill>0?)(?P<width>[1-9]\d*)?(?:\.(?P<precision>\d+))?(?P<kind>[dfFeEgG%]?)$")
_PERCENT: Final = regex(r"%(?P<flags>[-0]*)(?P<width>[1-9]\d*)?(?:\.(?P<precision>\d+))?(?P<kind>[difFeEgGsr%])")
_FIELD: Final = regex(r"\{(?P<name>\w*)(?:!(?P<conversion>[sra]))?(?::(?P<spec>[^{}]*))?\}|\{\{|\}\}")
#: Calls around a tensor that make a Python number of it: printed, that number is what the tensor holds.
_NUMBERS: Final = frozenset({"float", "int"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A constant text (`source` None), or what gives one as source; `exact`: it is written as before.

    `kind` says what the source gives: a `string` of Python or TensorFlow, a Python `int`, or a `tensor`.
    """

    text: str = ""
    source: str | None = None
    exact: bool = True
    kind: str = "string"


@dataclass(slots=True)
class Formatter:
    """Translates what one call or f-string shows. `slots` are where the values of expressions are."""

    bench: Bench
    file: SourceFile
    tf: str

    def argument(self, node: ast.expr, code: Code, slots: Mapping[ast.expr, int]) -> list[Piece]:
        """The pieces of one argument of `print`, as `str` would write it. Raises NotOffered."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [Piece(node.value)]
        if isinstance(node, ast.JoinedStr):
            return list(self._joined(node))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and is_text(node.left):
            return list(self._percent(node))
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and is_text(node.func.value)
        ):
            return list(self._format(node))
        return [self._value(node, self.bench.values(code, slots[node]) if node in slots else frozenset(), "")]

    def _joined(self, node: ast.JoinedStr) -> Iterator[Piece]:
        found = self.bench.text_slots(self.file, node)
        if found is None:
            raise NotOffered("`tf.print` cannot write an f-string that the analysis does not see")
        code, slots = found
        for part in node.values:
            if isinstance(part, ast.Constant):
                yield Piece(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            if part.conversion not in (-1, 115):
                raise NotOffered("`tf.print` cannot write a conversion of a value")
            spec = ""
            if part.format_spec is not None:
                assert isinstance(part.format_spec, ast.JoinedStr)
                constants = [v.value for v in part.format_spec.values if isinstance(v, ast.Constant)]
                if len(constants) != len(part.format_spec.values):
                    raise NotOffered("`tf.print` cannot write a format that is computed")
                spec = "".join(map(str, constants))
            value = self.bench.values(code, slots[part.value])
            yield self._value(part.value, value, spec)

    def _percent(self, node: ast.BinOp) -> Iterator[Piece]:
        assert isinstance(node.left, ast.Constant)
        template = str(node.left.value)
        given = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
        last = 0
        for match in _PERCENT.finditer(template):
            yield Piece(template[last : match.start()])
            last = match.end()
            kind = match["kind"]
            if kind == "%":
                yield Piece("%")
                continue
            if not given or kind == "r" or "-" in match["flags"]:
                raise NotOffered("`tf.print` cannot write a format of `%`")
            precision = f".{match['precision']}" if match["precision"] else ""
            letter = {"s": "", "i": "d"}.get(kind, kind)
            spec = f"{match['flags']}{match['width'] or ''}{precision}{letter}"
            yield self._operand(given.pop(0), spec)
        if given or "%" in template[last:]:
            raise NotOffered("`tf.print` cannot write a format of `%`")
        yield Piece(template[last:])

    def _format(self, node: ast.Call) -> Iterator[Piece]:
        assert isinstance(node.func, ast.Attribute)
        assert isinstance(node.func.value, ast.Constant)
        template = str(node.func.value.value)
        names = {k.arg: k.value for k in node.keywords if k.arg}
        if any(isinstance(a, ast.Starred) for a in node.args) or len(names) != len(node.keywords):
            raise NotOffered("`tf.print` cannot write starred arguments of `format`")
        last = count = 0
        for match in _FIELD.finditer(template):
            yield Piece(template[last : match.start()])
            last = match.end()
            if match.group() in ("{{", "}}"):
                yield Piece(match.group()[0])
                continue
            if match["conversion"] not in (None, "s"):
                raise NotOffered("`tf.print` cannot write a conversion of a value")
            name = match["name"] or str(count)
            count += not match["name"]
            value = node.args[int(name)] if name.isdigit() and int(name) < len(node.args) else names.get(name)
            if value is None:
                raise NotOffered("`tf.print` cannot write a field of `format` without its argument")
            yield self._operand(value, match["spec"] or "")
        if re.search(r"[{}]", template[last:]):
            raise NotOffered("`tf.print` cannot write a field of `format`")
        yield Piece(template[last:])

    def _operand(self, node: ast.expr, spec: str) -> Piece:
        """A value whose slot no instruction tells: its syntax must say what it is."""
        return self._value(node, self.bench.operand(self.file, node), spec)

    def _value(self, node: ast.expr, value: Value, spec: str) -> Piece:
        """One value with its format."""
        if isinstance(node, ast.Starred):
            raise NotOffered("`tf.print` cannot write starred arguments")
        inner, number = self._stripped(node)
        if inner is not None:
            return self._tensor(inner, self.bench.operand(self.file, inner), spec, number)
        if is_tensor(value):
            return self._tensor(node, value, spec, "")
        if not value or any(isinstance(o, Unknown) for o in value):
            raise NotOffered(f"it is not known what `{self.file.source(node)}` is")
        if any(isinstance(o, Tensor) and o.kind != NDARRAY for o in value):
            raise NotOffered(f"`{self.file.source(node)}` is a tensor only sometimes")
        if not all(isinstance(o, (Lit, Prim)) for o in value) and self.bench.may_hold_tensor(value):
            raise NotOffered(f"`{self.file.source(node)}` holds tensors")
        source = self.file.source(node)
        if spec:
            if all(isinstance(o, (Lit, Prim)) and o.kind == "int" for o in value) and not isinstance(
                node, ast.Constant
            ):
                return self._formatted(source, spec, whole=True, real=False)  # it may come to be a variable
            return Piece(source=f"format({source}, {quoted(spec)})")
        kinds = {o.kind for o in value if isinstance(o, (Lit, Prim))}
        if all(isinstance(o, (Lit, Prim)) for o in value) and (kinds == {"int"} or kinds == {"str"}):
            return Piece(source=source, kind="int" if kinds == {"int"} else "string")
        return Piece(source=f"str({source})")

    def _stripped(self, node: ast.expr) -> tuple[ast.expr | None, str]:
        """The tensor of which a Python number or array is made to be shown: `x.numpy()`, `float(x)`, `x.item()`."""
        kind = ""
        while isinstance(node, ast.Call) and not node.keywords:
            func = node.func
            if isinstance(func, ast.Name) and func.id in _NUMBERS and len(node.args) == 1:
                inner: ast.expr = node.args[0]
                kind = func.id
            elif isinstance(func, ast.Attribute) and func.attr in ("numpy", "item") and not node.args:
                inner = func.value
            else:
                break
            value = self.bench.operand(self.file, inner)
            if is_tensor(value):
                return inner, kind
            node = inner
        return None, ""

    def _tensor(self, node: ast.expr, value: Value, spec: str, number: str) -> Piece:
        source = self.file.source(node)
        if not is_tensor(value):
            raise NotOffered(f"it is not known whether `{source}` is a tensor")
        whole = all(dtype is not None and dtype.startswith(("int", "uint")) for dtype in dtypes(value))
        real = all(dtype in ("float16", "float32", "float64", "bfloat16") for dtype in dtypes(value))
        if number == "int" and not whole:
            source = f"{self.tf}.cast({source}, {self.tf}.int64)"
            whole, real = True, False
        elif number == "float" and not real:
            source = f"{self.tf}.cast({source}, {self.tf}.float64)"
            real, whole = True, False
        if not spec:
            return Piece(source=source, exact=whole, kind="tensor")
        return self._formatted(source, spec, whole=whole, real=real)

    def _formatted(self, source: str, spec: str, *, whole: bool, real: bool) -> Piece:
        """A number that a format is given for, as text; `whole` and `real` say what its dtype is known to be."""
        match = _SPEC.match(spec)
        if match is None or match["align"] == "<":
            raise NotOffered(f"`tf.print` cannot write the format `{spec}`")
        kind = match["kind"]
        options = []
        if kind in ("f", "F", "e", "E", "g", "G", "%") or match["precision"]:
            if kind == "%":
                source = f"100.0 * {self.tf}.cast({source}, {self.tf}.float64)"
            elif not real:
                source = f"{self.tf}.cast({source}, {self.tf}.float64)"
            options.append(f"precision={match['precision'] or 6}")
            options += ["scientific=True"] if kind in ("e", "E") else []
            options += ["shortest=True"] if kind in ("g", "G", "") else []
        elif not whole:
            raise NotOffered(f"`tf.print` cannot write the format `{spec}` of a tensor that may not be whole")
        options += [f"width={match['width']}"] if match["width"] else []
        options += ['fill="0"'] if match["fill"] and match["width"] else []
        text = f"{self.tf}.strings.as_string({', '.join([source, *options])})"
        pieces_exact = kind not in ("E", "G", "")
        return Piece(
            source=f'{self.tf}.strings.join([{text}, "%"])' if kind == "%" else text, exact=pieces_exact or whole
        )


def merged(pieces: list[Piece]) -> list[Piece]:
    """Neighbouring constant texts as one; empty ones gone."""
    found: list[Piece] = []
    for piece in pieces:
        if piece.source is None and found and found[-1].source is None:
            found[-1] = Piece(found[-1].text + piece.text)
        elif piece.source is not None or piece.text:
            found.append(piece)
    return found


def is_formatted(pieces: list[Piece], tf: str) -> bool:
    """Whether some piece is a text that TensorFlow makes: `tf.print` writes such a one bare only where it is alone."""
    return any(piece.source is not None and piece.source.startswith(f"{tf}.strings.") for piece in pieces)


def as_text(piece: Piece, tf: str) -> str:
    """A piece as a string of Python or TensorFlow."""
    if piece.source is None:
        return quoted(piece.text)
    if piece.kind == "tensor":
        return f'{tf}.strings.format("{{}}", {piece.source})'
    return f"{tf}.strings.as_string({piece.source})" if piece.kind == "int" else piece.source


def quoted(text: str) -> str:
    """A text as a literal, in double quotes."""
    shown = repr(text)
    if shown.startswith("'"):
        shown = '"' + shown[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return shown


def is_text(node: ast.expr) -> bool:
    """Whether an expression is a text that stands there."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
