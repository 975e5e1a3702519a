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
        """The lines on which a file's uses depend: files with equal skeletons need not be parsed to be compared.

        They are: lines that name the API or its arguments, what continues them, and the definition below a decorator,
        each with whether it stands inside a triple-quoted string. Where the API has another name the whole text counts.
        """
        kept: list[str] = []
        counted, quotes, position = 0, 0, 0
        for found in self._name_positions(text):
            if found < position:
                continue
            start = text.rfind("\n", 0, found) + 1
            end = text.find("\n", found)
            line = text[start : None if end < 0 else end]
            if not self._telling.search(line):
                continue
            if self._renaming.search(line):
                return (text,)
            quotes += text.count('"' * 3, counted, start) + text.count("'" * 3, counted, start)
            counted = start
            position = self._end_of_use(text, start)
            kept.append(f"{quotes % 2}{text[start:position]}")
        return tuple(kept)

    def _name_positions(self, text: str) -> list[int]:
        """Where a name of interest stands; plain searches, each far faster than one regular expression for all."""
        positions: list[int] = []
        for name in (self.leaf, "signature", *ARGUMENT_NAMES.get(self.text, ())):
            at = text.find(name)
            while at >= 0:
                positions.append(at)
                at = text.find(name, at + len(name))
        return sorted(positions)

    def _end_of_use(self, text: str, start: int) -> int:
        """Where the statement that starts on this line ends, roughly; a decorator's definition belongs to it."""
        decorator = self._decorator.match(text, start) is not None
        position, depth = start, 0
        for _ in range(40):
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            line = text[position:end]
            depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
            done = self._definition.match(line) is not None if decorator else depth <= 0
            if done or end == len(text):
                return end
            position = end + 1
        return position

    @cached_property
    def _decorator(self) -> re.Pattern[str]:
        return re.compile(r"[ \t]*@")

    @cached_property
    def _definition(self) -> re.Pattern[str]:
        return re.compile(r"\s*(?:async\s+)?(?:def|class)\b")

    @cached_property
    def _renaming(self) -> re.Pattern[str]:
        """`jit = tf.function(...)`, `import function as jit`: uses can then be anywhere."""
        bare = rf"\.{self.leaf}\b(?!\s*\(\s*[\w.]+\s*[,)])"
        return re.compile(rf"^[^#]*(?<![=!<>])=(?!=).*{bare}|\b{self.leaf}\s+as\b")

    @cached_property
    def _telling(self) -> re.Pattern[str]:
        """A line that uses the API or its arguments, rather than the word."""
        names = "|".join((*ARGUMENT_NAMES.get(self.text, ()), "signature"))
        leaf = self.leaf
        return re.compile(rf"{names}|\.\s*{leaf}\b|@{leaf}\b|(?<![\w.]){leaf}\s*[(,)\]]|\bimport\b.*\b{leaf}\b")

    @cached_property
    def literal_pattern(self) -> re.Pattern[str]:
        """The literal in running text, with its period, not as a part of a longer word; a plural s may follow."""
        return re.compile(r"(?<![\w.])(?:" + re.escape(self.text) + r")(?:s\b|(?!\w))", re.IGNORECASE)


DEFAULT: Final = Keyword()
