"""Records of public objects: parameters, base classes and members, as plain JSON values.

The shape of a record is described in `hybridize.library.index.tables`; keys that would be empty are left out.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import re
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

Record = dict[str, Any]
# Operators and protocols of a class that decide what an expression means; other dunder methods are of no interest.
_DUNDERS = frozenset(
    "__call__ __getitem__ __setitem__ __delitem__ __iter__ __next__ __len__ __contains__ __enter__ __exit__ __bool__ "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __neg__ __pos__ __abs__ __invert__ __index__ __int__ __float__ "
    "__add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__ __and__ __or__ __xor__ "
    "__lshift__ __rshift__ __radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rpow__ "
    "__rand__ __ror__ __rxor__ __iadd__ __isub__ __imul__ __itruediv__ __array__ __getattr__".split()
)
_IGNORED_BASES = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "collections.abc.Hashable"}
_OPAQUE = "..."
# First element of parameters that were read from documentation: true in outline only.
DOCUMENTED = "?"
_PROPERTIES = (property, functools.cached_property, types.MemberDescriptorType, types.GetSetDescriptorType)


class Describer:
    """Describes objects, spelling public objects inside defaults and bases by their canonical names."""

    def __init__(self, names: Mapping[int, str], eager: Mapping[int, type]) -> None:
        """`names`: the canonical name by `id`. `eager`: for a public class, the class its values have at run time."""
        self._names = names
        self._eager = eager

    def describe(self, value: Any) -> Record:
        """The record of a public object that is not a module."""
        if inspect.isclass(value):
            return self._class(value)
        if _is_ufunc(value):
            return {"k": "ufunc", "p": _ufunc_parameters(value)}
        if _is_dtype(value):
            return {"k": "dtype", "v": str(value.name)}
        if inspect.isroutine(value) or (callable(value) and hasattr(value, "__wrapped__")):
            return _with_parameters({"k": "function"}, self.parameters(value))
        record: Record = {"k": "constant"}
        spelled = self._default(value)
        if spelled != _OPAQUE:
            record["v"] = spelled
        owner = self._names.get(id(type(value)))
        record["t"] = owner or _stdlib_name(type(value)) or type(value).__name__
        if callable(value):
            return _with_parameters({**record, "k": "function"}, self.parameters(value))
        return record

    def parameters(self, function: Any, *, bound: bool = False, depth: int = 0) -> list[str] | None:
        """Parameters as strings (`x`, `name=None`, `*args`, `**kwargs`, the marks `/` and `*`), or None if unknown.

        `bound` leaves out the first one, which the receiver takes.
        """
        try:
            found = list(inspect.signature(function).parameters.values())
        except (ValueError, TypeError, NameError, AttributeError):
            return _documented_parameters(function)
        if bound and found and found[0].kind in (found[0].POSITIONAL_ONLY, found[0].POSITIONAL_OR_KEYWORD):
            found = found[1:]
        if depth == 0 and all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
            documented = _documented_parameters(function)
            if documented:
                return documented
        return self._spell(found)

    def _spell(self, parameters: Iterable[inspect.Parameter]) -> list[str]:
        spelled: list[str] = []
        starred = False
        positional_only = False
        for p in parameters:
            if positional_only and p.kind is not p.POSITIONAL_ONLY:
                spelled.append("/")
            positional_only = p.kind is p.POSITIONAL_ONLY
            if p.kind is p.VAR_POSITIONAL:
                starred = True
                spelled.append(f"*{p.name}")
                continue
            if p.kind is p.VAR_KEYWORD:
                spelled.append(f"**{p.name}")
                continue
            if p.kind is p.KEYWORD_ONLY and not starred:
                starred = True
                spelled.append("*")
            spelled.append(p.name if p.default is p.empty else f"{p.name}={self._default(p.default)}")
        if positional_only:
            spelled.append("/")
        return spelled

    def _default(self, value: Any) -> str:
        """A default as source text, with public objects by name; `...` where no short text says it."""
        if isinstance(value, enum.Enum):
            owner = self._names.get(id(type(value)))
            return f"{owner}.{value.name}" if owner else _OPAQUE
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            text = repr(value)
            # A path would be one of the machine that ran this.
            return text if len(text) <= 60 and text[1:2] != "/" else _OPAQUE
        if type(value) in (tuple, list) and len(value) <= 6:
            parts = [self._default(v) for v in value]
            if _OPAQUE in parts:
                return _OPAQUE
            comma = "," if type(value) is tuple and len(parts) == 1 else ""
            return f"({', '.join(parts)}{comma})" if type(value) is tuple else f"[{', '.join(parts)}]"
        if type(value) is dict and not value:
            return "{}"
        named = self._names.get(id(value))
        if named is not None:
            return named
        if inspect.isclass(value) and value.__module__ == "builtins":
            return str(value.__name__)
        return _OPAQUE

    def _class(self, cls: type) -> Record:
        kind = "dtype" if _is_numpy_scalar(cls) else "class"
        ancestors = [(c, self._names.get(id(c)) or _stdlib_name(c)) for c in cls.__mro__[1:]]
        public = [(c, n) for c, n in ancestors if n and n not in _IGNORED_BASES]
        direct = [n for c, n in public if not any(o is not c and issubclass_safe(o, c) for o, _ in public)]
        record: Record = {"k": kind}
        if direct:
            record["b"] = direct
        order = [n for _, n in public]
        if order != direct:
            record["r"] = order
        _with_parameters(record, self._constructor(cls))
        members = self._members(cls, [c for c, _ in public])
        if members:
            record["m"] = dict(sorted(members.items()))
        return record

    def _constructor(self, cls: Any) -> list[str] | None:
        """Parameters of a call of the class; its own `__init__` tells more than a wrapping metaclass does."""
        if cls.__init__ is not object.__init__ and inspect.isroutine(cls.__init__):
            found = self.parameters(cls.__init__, bound=True, depth=1)
            if found is not None and found != ["*args", "**kwargs"]:
                return found
            new = cls.__new__
            if new is not object.__new__:
                other = self.parameters(new, bound=True, depth=1)
                if other not in (None, ["*args", "**kwargs"]):
                    return other
            return found if found is not None else self.parameters(cls)
        if cls.__new__ is not object.__new__:
            found = self.parameters(cls.__new__, bound=True, depth=1)
            return found if found not in (None, ["*args", "**kwargs"]) else self.parameters(cls) or found
        return []

    def _members(self, cls: type, public: list[type]) -> dict[str, list[Any]]:
        """Members that no public ancestor tells: those of the class and of its private ancestors."""
        told = {a for c in public for a in c.__mro__}
        eager = self._eager.get(id(cls))
        own = [c for c in cls.__mro__ if c is cls or c not in told]
        own += [c for c in eager.__mro__ if c not in cls.__mro__] if eager else []
        members: dict[str, list[Any]] = {}
        if issubclass_safe(cls, enum.Enum):
            members = {name: ["constant"] for name in cls.__members__}  # type: ignore[attr-defined]
        for owner in own:
            if owner is object or (_stdlib_name(owner) and owner is not cls):
                continue
            for name, raw in vars(owner).items():
                if name in members or (name.startswith("_") and name not in _DUNDERS):
                    continue
                member = self._member(raw, name)
                if member is not None:
                    members[name] = member
        return members

    def _member(self, raw: Any, name: str) -> list[Any] | None:
        """`[kind]` or `[kind, parameters]` of a class attribute."""
        if name.startswith("__"):
            if raw is None:
                return None
            return ["method", self.parameters(raw, bound=True)] if name == "__call__" else ["method"]
        if isinstance(raw, staticmethod):
            return ["staticmethod", self.parameters(raw.__func__)]
        if isinstance(raw, classmethod):
            return ["classmethod", self.parameters(raw.__func__, bound=True)]
        if isinstance(raw, _PROPERTIES):
            return ["property"]
        if inspect.isclass(raw):
            return ["class", self._constructor(raw)]
        if inspect.isroutine(raw) or callable(raw):
            return ["method", self.parameters(raw, bound=True)]
        if hasattr(type(raw), "__get__"):
            return ["property"]
        return ["constant"]


def issubclass_safe(cls: type, other: type) -> bool:
    """Whether `other` stands in the MRO of `cls`; unlike `issubclass`, abstract bases have no say."""
    return other in cls.__mro__


def _with_parameters(record: Record, parameters: list[str] | None) -> Record:
    if parameters is not None:
        record["p"] = parameters
    return record


def _stdlib_name(cls: type) -> str | None:
    module = str(getattr(cls, "__module__", "")) or "builtins"
    return f"{module}.{cls.__qualname__}" if module.split(".")[0] in sys.stdlib_module_names else None


def _is_ufunc(value: Any) -> bool:
    return type(value).__name__ == "ufunc" and type(value).__module__ == "numpy"


def _is_dtype(value: Any) -> bool:
    return type(value).__name__ == "DType" and type(value).__module__.startswith("tensorflow")


def _is_numpy_scalar(cls: type) -> bool:
    return any(c.__name__ == "generic" and c.__module__ == "numpy" for c in cls.__mro__)


def _ufunc_parameters(value: Any) -> list[str]:
    inputs = ["x"] if value.nin == 1 else [f"x{i + 1}" for i in range(value.nin)]
    tail = ["out=None", "*"] + ([] if value.signature else ["where=True"])
    return [*inputs, "/", *tail, "casting='same_kind'", "order='K'", "dtype=None", "subok=True", "signature=None"]


def _documented_parameters(function: Any) -> list[str] | None:
    """Parameters from a signature in the first lines of a C function's documentation, or None.

    Optional parts in brackets and dots have no Python spelling; such a signature counts as unknown.
    """
    name = str(getattr(function, "__name__", ""))
    text = str(getattr(function, "__doc__", None) or "").lstrip()[:600]
    start = re.match(rf"(?:\w+\.)?{re.escape(name)}\(", text) if name else None
    if start is None:
        return None
    depth = 0
    for end in range(start.end() - 1, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            break
    inner = " ".join(text[start.end() : end].split())
    try:
        parsed = ast.parse(f"def f({inner}): pass").body[0]
    except SyntaxError:
        return None
    return [DOCUMENTED, *_spell_ast(parsed.args)] if isinstance(parsed, ast.FunctionDef) else None


def _spell_ast(arguments: ast.arguments) -> list[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    spelled = [a.arg if d is None else f"{a.arg}={ast.unparse(d)}" for a, d in zip(positional, defaults, strict=True)]
    if arguments.posonlyargs:
        spelled.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        spelled.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        spelled.append("*")
    for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        spelled.append(a.arg if d is None else f"{a.arg}={ast.unparse(d)}")
    if arguments.kwarg:
        spelled.append(f"**{arguments.kwarg.arg}")
    return spelled
