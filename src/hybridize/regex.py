"""`regex`: `re.compile` that waits until the expression is first used, for those that modules make when imported.

Compiling one takes a third of a millisecond, and most runs use few of the forty that the analysis has.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile as regex
else:
    import re

    _METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")

    class _Pattern:
        """A regular expression; its methods are those of the compiled one from the first use on."""

        __slots__ = ("_flags", "_text", *_METHODS)

        def __init__(self, text, flags):
            self._text = text
            self._flags = flags

        def __getattr__(self, name):
            compiled = re.compile(self._text, self._flags)
            for method in _METHODS:
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)

    def regex(text, flags=0):
        """As `re.compile`."""
        return _Pattern(text, flags)


__all__ = ["regex"]
