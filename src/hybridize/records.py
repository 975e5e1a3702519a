"""`dataclass`, `field` and `replace` as in the standard library's `dataclasses`, for what every run of `check` imports.

There, making a class writes and compiles the source of up to nine methods, and importing the module imports `inspect`:
0.6 ms a class, together a third of a check of 200 lines (docs/decisions/0006-records.md). Here a method is compiled
when it is first called (most never are), from the same source; only that the `__init__` of frozen classes fills the
slots directly. Type checkers see the original, whose functions (`fields`, `asdict`, `replace`, `is_dataclass`) take
these classes for their own.

Supported is what this package uses: no `InitVar`, `ClassVar`, `kw_only`, `__post_init__`, no dataclass of the original
as a base, and no method in the class that the decorator would make.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    from reprlib import recursive_repr
    from types import MemberDescriptorType

    _MISSING = object()
    _FIELDS = "__record_fields__"
    _COMPARISONS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}

    class _Field:
        """A field: its default or what makes one, and whether `repr` and comparisons look at it."""

        __slots__ = ("compare", "default", "factory", "name", "repr")

        def __init__(self, default=_MISSING, factory=_MISSING, repr=True, compare=True):
            self.name = ""
            self.default = default
            self.factory = factory
            self.repr = repr
            self.compare = compare

    def field(*, default=_MISSING, default_factory=_MISSING, repr=True, compare=True):
        """As `dataclasses.field`."""
        return _Field(default, default_factory, repr, compare)

    def replace(obj, /, **changes):
        """As `dataclasses.replace`, for instances of both kinds of classes."""
        if not hasattr(obj, _FIELDS):
            from dataclasses import replace as original

            return original(obj, **changes)
        for each in obj.__record_fields__:
            if each.name not in changes:
                changes[each.name] = getattr(obj, each.name)
        return obj.__class__(**changes)

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True, order=False):
        """As `dataclasses.dataclass`."""

        def made(cls):
            own = [_field(cls, name) for name in cls.__annotations__]
            members = _members(cls, own, frozen, eq, repr, order)
            if slots:
                return _with_slots(cls, own, members)
            members.update((each.name, each.default) for each in own if each.default is not _MISSING)
            for name, value in members.items():
                setattr(cls, name, value)
            return cls

        return made if cls is None else made(cls)

    def _field(cls, name):
        given = cls.__dict__.get(name, _MISSING)
        found = given if isinstance(given, _Field) else _Field(given)
        found.name = name
        return found

    def _members(cls, own, frozen, eq, repr, order):
        fields = {each.name: each for base in reversed(cls.__mro__[1:]) for each in base.__dict__.get(_FIELDS, ())}
        fields.update((each.name, each) for each in own)
        members = {
            _FIELDS: tuple(fields.values()),
            "__dataclass_fields__": _ORIGINAL_FIELDS,
            "__match_args__": tuple(fields),
            "__init__": _later("__init__", _frozen_init if frozen else _init),
        }
        if repr:
            members["__repr__"] = _repr
        if eq:
            members["__hash__"] = _later("__hash__", _hash) if frozen else None
        for name in _COMPARISONS:
            if eq if name == "__eq__" else order:
                members[name] = _later(name, _comparison)
        if frozen:
            members.update(
                __setattr__=_refuse,
                __delattr__=_refuse,
                __getstate__=_later("__getstate__", _state),
                __setstate__=_later("__setstate__", _restore),
            )
        return members

    def _with_slots(cls, own, members):
        """The class made anew, for a class cannot get slots later."""
        names = [each.name for each in own]
        inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
        left_out = {*names, "__dict__", "__weakref__"}
        space = {name: value for name, value in cls.__dict__.items() if name not in left_out}
        slots = tuple(name for name in names if name not in inherited)
        space.update(members, __slots__=slots, __qualname__=cls.__qualname__)
        return type(cls)(cls.__name__, cls.__bases__, space)

    # Methods, compiled when they are first called ---------------------------------------------------------------------

    def _later(name, source):
        """A method that puts the compiled one in its place and calls it."""

        def first(self, *args, **kwargs):
            owner = next(cls for cls in type(self).__mro__ if cls.__dict__.get(name) is first)
            space = {"__name__": owner.__module__, "_missing": _MISSING, "_set": object.__setattr__}
            exec(source(name, owner, space), space)
            method = space[name]
            method.__qualname__ = f"{owner.__qualname__}.{name}"
            setattr(owner, name, method)
            return method(self, *args, **kwargs)

        return first

    def _init(name, owner, space):
        lines = [f" self.{each.name} = {_given(each)}" for each in owner.__record_fields__]
        return _function(name, _parameters(owner, space), lines)

    def _frozen_init(name, owner, space):
        lines = []
        for each in owner.__record_fields__:
            place = getattr(owner, each.name, None)
            if isinstance(place, MemberDescriptorType):
                space[f"_set_{each.name}"] = place.__set__
                lines.append(f" _set_{each.name}(self, {_given(each)})")
            else:
                lines.append(f" _set(self, {each.name!r}, {_given(each)})")
        return _function(name, _parameters(owner, space), lines)

    def _parameters(owner, space):
        """`self` and the fields, with what their defaults are called in the method's globals."""
        words = ["self"]
        for each in owner.__record_fields__:
            if each.factory is not _MISSING:
                space[f"_make_{each.name}"] = each.factory
                words.append(f"{each.name}=_missing")
            elif each.default is not _MISSING:
                space[f"_default_{each.name}"] = each.default
                words.append(f"{each.name}=_default_{each.name}")
            else:
                words.append(each.name)
        return words

    def _given(each):
        if each.factory is _MISSING:
            return each.name
        return f"_make_{each.name}() if {each.name} is _missing else {each.name}"

    def _comparison(name, owner, space):
        one, other = (_tuple(owner, of) for of in ("self", "other"))
        lines = [
            " if other.__class__ is self.__class__:",
            f"  return {one} {_COMPARISONS[name]} {other}",
            " return NotImplemented",
        ]
        return _function(name, ["self", "other"], lines)

    def _hash(name, owner, space):
        return _function(name, ["self"], [f" return hash({_tuple(owner, 'self')})"])

    def _tuple(owner, of):
        return f"({''.join(f'{of}.{each.name}, ' for each in owner.__record_fields__ if each.compare)})"

    def _function(name, parameters, lines):
        return "\n".join([f"def {name}({', '.join(parameters)}):", *lines, " return" if not lines else ""])

    # Methods that all classes share -----------------------------------------------------------------------------------

    @recursive_repr()
    def _repr(self):
        shown = [f"{each.name}={getattr(self, each.name)!r}" for each in self.__record_fields__ if each.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _refuse(self, name, value=None):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

    def _state(name, owner, space):
        fields = "".join(f"self.{each.name}, " for each in owner.__record_fields__)
        return _function(name, ["self"], [f" return [{fields}]"])

    def _restore(name, owner, space):
        lines = [f" _set(self, {each.name!r}, state[{i}])" for i, each in enumerate(owner.__record_fields__)]
        return _function(name, ["self", "state"], lines)

    class _OriginalFields:
        """What the functions of `dataclasses` look for."""

        def __get__(self, obj, owner):
            import dataclasses

            fields = []
            for each in owner.__record_fields__:
                options = {"repr": each.repr, "compare": each.compare}
                if each.default is not _MISSING:
                    options["default"] = each.default
                if each.factory is not _MISSING:
                    options["default_factory"] = each.factory
                fields.append((each.name, "object", dataclasses.field(**options)))
            found = dataclasses.make_dataclass(owner.__name__, fields).__dataclass_fields__
            owner.__dataclass_fields__ = found
            return found

    _ORIGINAL_FIELDS = _OriginalFields()
