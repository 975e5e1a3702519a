"""Stubs: models that say what a call gives and what it does, one line for many names, in files of this folder.

A section names the package (or packages, alike) that the functions below it belong to (`[]`: to that of their names);
a class has indented lines. A backslash goes on in the next line.

    [os]
    getcwd getlogin uname -> str !environment
    [gzip bz2 lzma]
    compress decompress -> bytes
    class tempfile.TemporaryDirectory !io
        __enter__ -> str
        cleanup -> None !io
        .name -> str

What stands behind `->` reads like a type. `str`, `int`, `None` and their like are values that are not known; `A | B`
is one of two; `tuple[int, str]`, `tuple[int, ...]` and `tuple(total=int, used=int)` are tuples; `list[str]`,
`TextDict[str]` and `Iterator[str]` are new at each call; a dotted name is an instance of that class of a library; a
string is a value of which no more is known than these words. The other names are rules: of `rules.py` (`self` is the
receiver, `first` the first argument), or of the module whose stub it is, which may make them of types (`_flag(int)`).
Behind `!` stand effects, as `Spec` has them.

A class may have bases, in parentheses, and effects of making one. Of several names the package is that of the first,
and where that begins with a dot they are below those of the section. `.name` is a property, `new()` what making one
gives, `()` what calling one gives, `parameters` and `fixed` are lists of words, as `ClassSpec` has them, and `like`
names a class above whose rows it has, too. `=>` in place of `->` is of what computes on tensors (`op`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOOL_V, BOTTOM, FLOAT_V, INT_V, NONE_V, STR_V, Value, stream, tensor, tup, unknown
from hybridize.domain.tensors import DENSE, VARIABLE
from hybridize.library.python import rules
from hybridize.library.spec import ClassSpec, Rule, Spec

_HERE: Final = Path(__file__).parent
_VALUES: Final[Mapping[str, Value]] = {
    "None": NONE_V,
    "str": STR_V,
    "int": INT_V,
    "float": FLOAT_V,
    "bool": BOOL_V,
    "bytes": rules.BYTES_V,
    "complex": rules.COMPLEX_V,
    "Array": rules.ARRAY_V,
    "Tensor": tensor(DENSE).value,
    "Variable": tensor(VARIABLE).value,
    "Scalar": rules.SCALAR_V,
    "Never": BOTTOM,
}
_RULES: Final[Mapping[str, Rule]] = {
    "Any": rules.opaque,
    "self": rules.itself,
    "first": rules.same,
    "Parsed": rules.parsed,
    "TextDict": rules.text_dict,
    "decorator": rules.decorator,
    "decorator_factory": rules.decorator_factory,
}


def read(name: str, own: Mapping[str, Any]) -> tuple[dict[str, Spec], dict[str, ClassSpec]]:
    """The functions and the classes of the stub of a module; `own` are the names that the module defines.

    Raises ValueError with the line that cannot be read.
    """
    functions: dict[str, Spec] = {}
    classes: dict[str, ClassSpec] = {}
    prefixes: list[str] = []
    reader = _Reader(own)
    for line, rows in _blocks((_HERE / f"{name}.stub").read_text(encoding="utf-8")):
        try:
            if line.startswith("["):
                prefixes = [f"{package}." for package in line.strip("[]").split()] or [""]
                for names, spec in map(reader.row, rows):
                    functions |= {prefix + each: spec for prefix in prefixes for each in names}
            else:
                names, made = reader.class_of(line, rows, classes)
                for name in names:
                    full = [p + name[1:] for p in prefixes] if name[0] == "." else [name]
                    classes |= dict.fromkeys(full, made)
        except (KeyError, SyntaxError, ValueError) as error:
            raise ValueError(f"{name}.stub, below {line!r}: {error!r}") from error
    return functions, classes


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The heads of sections and classes, each with the rows below it."""
    head, rows = "", list[str]()
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith(("[", "class ")):
            if head:
                yield head, rows
            head, rows = " ".join(line.split()), []
        elif line and not line.startswith("#"):
            rows.append(" ".join(line.split()))
    if head:
        yield head, rows


class _Reader:
    """Reads the rows of one stub; what stands behind arrows is read once."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        self._own = own
        self._known: dict[str, Rule] = {}

    def row(self, text: str) -> tuple[list[str], Spec]:
        """The names of a row, and the model that they have."""
        is_op = " => " in text
        names, _, rest = text.partition(" => " if is_op else " -> ")
        result, *effects = rest.split(" !")
        return names.split(), Spec(self._rule(result), is_op, tuple(effects))

    def class_of(self, line: str, rows: list[str], known: Mapping[str, ClassSpec]) -> tuple[list[str], ClassSpec]:
        """The names of a class, and its model; `known` are those above it."""
        head, *effects = line.removeprefix("class ").split(" !")
        names, _, bases = head.partition("(")
        parts: dict[str, Any] = {}
        methods: dict[str, Spec] = {}
        properties: dict[str, Rule] = {}
        for row in rows:
            if ">" not in row:
                word, *listed = row.split()
                if word == "like":
                    methods |= known[listed[0]].methods
                    properties |= known[listed[0]].properties
                else:
                    parts[word] = frozenset(listed) if word == "fixed" else tuple(listed)
                continue
            called, spec = self.row(row)
            for name in called:
                if name == "new()":
                    parts["make"] = spec.rule
                elif name == "()":
                    parts["call"] = spec
                elif name.startswith("."):
                    assert spec.rule is not None
                    properties[name[1:]] = spec.rule
                else:
                    methods[name] = spec
        named = tuple(bases.rstrip(")").replace(",", " ").split())
        made = ClassSpec(named, methods, properties, effects=tuple(effects), **parts)
        package = names.split()[0].rpartition(".")[0]
        return [name if "." in name else f"{package}.{name}" for name in names.split()], made

    def _rule(self, text: str) -> Rule:
        rule = self._known.get(text)
        if rule is None:
            rule = self._known[text] = self._made(ast.parse(text, mode="eval").body)
        return rule

    def _made(self, node: ast.expr) -> Rule:
        match node:
            case ast.Name(name) if name in _RULES:
                return _RULES[name]
            case ast.Name(name) if name not in _VALUES:
                rule: Rule = self._own[name]
                return rule
            case ast.Call(ast.Name(name), kinds) if name in self._own:
                rule = self._own[name](*map(_value, kinds))
                return rule
            case ast.Attribute():
                return rules.instance(ast.unparse(node))
            case ast.Subscript(ast.Name("list"), element):
                return rules.listed(_value(element))
            case ast.Subscript(ast.Name("TextDict"), element):
                return partial(rules.text_dict, value=_value(element))
            case ast.Subscript(ast.Name("Iterator"), element):
                return rules.iterates(_value(element))
        return rules.give(_value(node))


def _value(node: ast.expr) -> Value:
    """The value that a type is of. Raises ValueError for what is none."""
    match node:
        case ast.Name(name):
            return _VALUES[name]
        case ast.Constant(None):
            return NONE_V
        case ast.Constant(str(what)):
            return unknown(what).value
        case ast.BinOp(left, ast.BitOr(), right):
            return join(_value(left), _value(right))
        case ast.Subscript(ast.Name("tuple"), ast.Tuple([element, ast.Constant(value)])) if value is ...:
            return stream("tuple", _value(element)).value
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(elements)):
            return tup([_value(each) for each in elements]).value
        case ast.Call(ast.Name("tuple"), [], keywords):
            return tup([_value(k.value) for k in keywords], "tuple", tuple(str(k.arg) for k in keywords)).value
    raise ValueError(ast.unparse(node))
