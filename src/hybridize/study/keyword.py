"""The API whose uses are mined, such as `tf.function`: its spellings, its arguments, and how git looks for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

ROOT_MODULES: Final[dict[str, tuple[str, ...]]] = {
    "tf": (
        "tensorflow",
        "tensorflow.compat.v1",
        "tensorflow.compat.v2",
        "tensorflow._api.v2",
        "tensorflow.python.eager.def_function",
        "tensorflow.python.eager.polymorphic_function",
        "tensorflow.python.eager.polymorphic_function.polymorphic_function",
    ),
}
"""Customary root names and the modules that they may stand for. Another root stands for the module of its own name."""

ARGUMENT_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "tf.function": (
        "input_signature",
        "experimental_relax_shapes",
        "experimental_compile",
        "experimental_autograph_options",
        "experimental_implements",
        "experimental_follow_type_hints",
        "reduce_retracing",
        "jit_compile",
        "TensorSpec",
    ),
}
"""Words that betray a changed argument on a line without the keyword itself."""

SIGNATURE_ARGUMENTS: Final[dict[str, str]] = {"tf.function": "input_signature"}
"""The argument that states the types of the inputs; giving it counts as a change of its own."""

PACKAGES: Final[dict[str, tuple[str, ...]]] = {
    "tf.function": ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "keras"),
}
"""Distributions whose changed requirement counts as a library upgrade."""


@dataclass(frozen=True)
class Keyword:
    """A dotted API name as its users customarily write it: root, a dot, the rest."""

    text: str = "tf.function"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", self.text):
            raise ValueError(f"not a dotted name: {self.text!r}")

    @property
    def root(self) -> str:
        """`tf` of `tf.function`."""
        return self.text.partition(".")[0]

    @property
    def rest(self) -> str:
        """`function` of `tf.function`."""
        return self.text.partition(".")[2]

    @property
    def leaf(self) -> str:
        """The last name: what an import binds and a bare decorator says."""
        return self.text.rpartition(".")[2]

    @cached_property
    def full_names(self) -> frozenset[str]:
        """Every dotted name that means this API, by its module's real name."""
        return frozenset(f"{module}.{self.rest}" for module in ROOT_MODULES.get(self.root, (self.root,)))

    @property
    def signature_argument(self) -> str | None:
        """The argument that states input types, or null."""
        return SIGNATURE_ARGUMENTS.get(self.text)

    @property
    def packages(self) -> tuple[str, ...]:
        """Distributions that provide the API."""
        return PACKAGES.get(self.text, (ROOT_MODULES.get(self.root, (self.root,))[0],))

    @property
    def strict_pattern(self) -> str:
        """POSIX extended regular expression: the literal keyword, as the paper's miner looks for it."""
        return re.escape(self.text)

    @cached_property
    def wide_pattern(self) -> str:
        """POSIX extended regular expression of lines that may change a use: also aliases and argument lines."""
        parts = [self.strict_pattern, f"@{self.leaf}", f"import {self.leaf}"]
        parts += [f"{last}\\.{self.leaf}" for last in sorted({n.split(".")[-2] for n in self.full_names})]
        parts += ARGUMENT_NAMES.get(self.text, ())
        return "|".join(parts)

    def possible_in(self, data: bytes) -> bool:
        """Whether file contents can hold a use at all; a file that cannot need not be parsed."""
        leaf = self.leaf.encode()
        if leaf not in data:
            return False
        if self.text.encode() in data or self._imported.search(data):
            return True
        names = {*self._last_modules, *self._module_alias.findall(data)}
        return any(name + b"." + leaf in data for name in names)

    @cached_property
    def _last_modules(self) -> frozenset[bytes]:
        return frozenset(name.split(".")[-2].encode() for name in self.full_names)

    @cached_property
    def _imported(self) -> re.Pattern[bytes]:
        """`from tensorflow import function`, over several lines too."""
        top = "|".join(sorted({name.partition(".")[0] for name in self.full_names}))
        return re.compile(rf"\bfrom\s+(?:{top})[\w.]*\s+import\s+(?:\([^)]*|[^\n(]*)\b{self.leaf}\b".encode())

    @cached_property
    def _module_alias(self) -> re.Pattern[bytes]:
        """Local names of the modules that provide the API."""
        top = "|".join(sorted({name.partition(".")[0] for name in self.full_names}))
        return re.compile(rf"\b(?:from|import)\s+(?:{top})\b[^\n]*?\bas\s+(\w+)".encode())

    def skeleton(self, text: str) -> tuple[str, ...]:
        """The lines on which a file's uses depend: definitions, decorators, imports, string quotes, the API and its
        arguments, and the lines that continue a use or a signature."""
        kept: list[str] = []
        open_lines = 0
        for line in text.split("\n"):
            found = self._skeleton_line.search(line)
            if found or open_lines > 0:
                kept.append(line)
                opened = line.count("(") + line.count("[") > line.count(")") + line.count("]")
                open_lines = 12 if found and opened and found[0] in self._opening else open_lines - 1
        return tuple(kept)

    @cached_property
    def _opening(self) -> frozenset[str]:
        return frozenset((self.leaf, "signature", *ARGUMENT_NAMES.get(self.text, ())))

    @cached_property
    def _skeleton_line(self) -> re.Pattern[str]:
        names = "|".join(sorted(self._opening, key=len, reverse=True))
        quotes = "|".join((3 * '"', 3 * "'"))
        return re.compile(rf"{names}|^\s*(?:@|def\b|class\b|async\b|from\b|import\b)|{quotes}|^[<=>]{{7}}")

    @cached_property
    def literal_pattern(self) -> re.Pattern[str]:
        """The literal in running text, with its period, not as a part of a longer word; a plural s may follow."""
        return re.compile(r"(?<![\w.])(?:" + re.escape(self.text) + r")(?:s\b|(?!\w))", re.IGNORECASE)


DEFAULT: Final = Keyword()
