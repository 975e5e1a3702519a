"""Entries of the API index: what is known about one public symbol, and how a call meets its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

from hybridize.records import dataclass

Kind: TypeAlias = Literal[
    "module", "function", "class", "constant", "ufunc", "dtype", "method", "classmethod", "staticmethod", "property"
]
ParameterKind: TypeAlias = Literal["positional_only", "positional", "var_positional", "keyword_only", "var_keyword"]
# What the index covers: TensorFlow 2.15 with Keras 2 and NumPy 1.26; the newest with Keras 3 and NumPy 2.
Release: TypeAlias = Literal["2.15", "newest"]
RELEASES: tuple[Release, Release] = ("2.15", "newest")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a callable.

    `kind` "positional" can also be given by keyword. `default` is source text with public objects by canonical name
    (`None`, `'same'`, `tf.float32`), `...` when it has no short spelling, and None when the parameter is required.
    """

    name: str
    kind: ParameterKind
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index knows about one public symbol, or about a member of a public class.

    For a member, `name` is that of the class that defines it: `keras.Model.fit`, even when asked for
    `keras.Sequential.fit`. `parameters` is None when unknown and for what is not called; those of a method leave out
    the receiver. `alternatives` are the parameters in the other release, when they differ. `bases` are the nearest
    public base classes and `mro` all public ancestors, canonical names (`builtins.dict` for the standard library's).
    `members` are the names that a class defines itself, operators and `__call__` included; for those of its
    ancestors too see `lookup.members`. `value` is a constant's value as source text if it is short, and the name of a
    dtype; `type_name` is the type of a constant.
    """

    name: str
    kind: Kind
    releases: tuple[Release, ...]
    parameters: tuple[Parameter, ...] | None = None
    alternatives: tuple[tuple[Parameter, ...], ...] = ()
    bases: tuple[str, ...] = ()
    mro: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    value: str | None = None
    type_name: str | None = None

    @property
    def is_class(self) -> bool:
        """Whether it can have members: a class, or a scalar type of NumPy."""
        return self.kind == "class" or (self.kind == "dtype" and self.value is None)


@dataclass(frozen=True, slots=True)
class Binding(Generic[T]):
    """The arguments of a call by parameter.

    `values` holds what named parameters get. What `*args` takes is in `extra_positional`, what `**kwargs` takes in
    `extra_keywords`; arguments that fit nowhere are there as well, and then `fits` is False. `missing` names the
    required parameters that got nothing.
    """

    values: Mapping[str, T]
    extra_positional: tuple[T, ...] = ()
    extra_keywords: Mapping[str, T] | None = None
    missing: tuple[str, ...] = ()
    fits: bool = True

    def get(self, name: str) -> T | None:
        """What the parameter `name` gets, or None."""
        return self.values.get(name)


def bind(entry: Entry, positional: Sequence[T], keywords: Mapping[str, T]) -> Binding[T]:
    """The arguments of a call of `entry` by parameter name; never raises.

    Of the releases' parameters those count that the arguments fit, the preferred ones unless the other's have a name
    for what they leave to `**kwargs`. If the arguments fit none, the result is the attempt with the preferred ones,
    and its `fits` is False. With unknown parameters positional arguments
    stay unnamed and keywords name themselves.
    """
    if entry.parameters is None:
        return Binding(dict(keywords), tuple(positional), {}, (), not positional)
    first = bind_parameters(entry.parameters, positional, keywords)
    best, cost = first, _misfit(first)
    for parameters in entry.alternatives if cost > (0, 0) else ():
        other = bind_parameters(parameters, positional, keywords)
        if _misfit(other) < min(cost, (1, 0)):
            best, cost = other, _misfit(other)
    return best


def _misfit(binding: Binding[T]) -> tuple[int, int]:
    """How badly arguments fit: whether not at all, and how many keywords have no parameter of their own."""
    return int(bool(binding.missing) or not binding.fits), len(binding.extra_keywords or ())


def bind_parameters(parameters: Sequence[Parameter], positional: Sequence[T], keywords: Mapping[str, T]) -> Binding[T]:
    """As `bind`, for given parameters."""
    values: dict[str, T] = {}
    left = dict(keywords)
    taken, fits, takes_rest, takes_keywords = 0, True, False, False
    missing: list[str] = []
    for p in parameters:
        if p.kind == "var_positional":
            takes_rest = True
        elif p.kind == "var_keyword":
            takes_keywords = True
        elif p.kind != "keyword_only" and taken < len(positional):
            values[p.name] = positional[taken]
            taken += 1
            if p.name in left and p.kind == "positional":
                fits = False  # given twice; the position wins
                del left[p.name]
        elif p.name in left and p.kind != "positional_only":
            values[p.name] = left.pop(p.name)
        elif p.default is None:
            missing.append(p.name)
    rest = tuple(positional[taken:])
    fits = fits and (takes_rest or not rest) and (takes_keywords or not left)
    return Binding(values, rest, left, tuple(missing), fits)
