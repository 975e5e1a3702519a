"""The codebook: the names that raters choose from, with definitions, hierarchy and the roles that tables ask for.

It is a TOML file. The built-in one holds the names of the 2022 study; a user's file extends or replaces its entries.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, get_args

from hybridize.study.profile import Profile

Facet = Literal["category", "cause", "symptom", "fix"]
FACETS: Final[tuple[Facet, ...]] = get_args(Facet)
BUILT_IN: Final = "built-in"


class CodebookError(ValueError):
    """A codebook file that can't be used; the message names the file and the entry."""


@dataclass(frozen=True, slots=True)
class Code:
    """One name of the codebook.

    `role` is the name by which tables, figures and findings ask for it; `details_optional` (categories only) frees
    raters from naming cause, symptom and fix; `suggestion` is the kind of suggestion that means this fix; `added_by` is
    the rater who typed the name in, or null.
    """

    facet: Facet
    name: str
    definition: str = ""
    abbreviation: str | None = None
    parent: str | None = None
    abstract: bool = False
    role: str | None = None
    details_optional: bool = False
    suggestion: str | None = None
    origin: str = "paper"
    retired: bool = False
    added_by: str | None = None


_KEYS: Final = {field.name: field for field in fields(Code) if field.name not in ("facet", "added_by")}
_BOOLEANS: Final = frozenset({"abstract", "details_optional", "retired"})


@dataclass(frozen=True, slots=True)
class Codebook:
    """All names, in menu order, parents before children."""

    title: str
    keyword: str
    codes: tuple[Code, ...]
    source: str = BUILT_IN

    def of(self, facet: Facet) -> tuple[Code, ...]:
        """The names of one facet, in order."""
        return tuple(code for code in self.codes if code.facet == facet)

    def get(self, facet: Facet, name: str) -> Code | None:
        """The entry with exactly this name."""
        return next((code for code in self.codes if code.facet == facet and code.name == name), None)

    def similar(self, facet: Facet, name: str) -> Code | None:
        """The entry whose name differs at most by case and white space."""
        wanted = _folded(name)
        return next((code for code in self.codes if code.facet == facet and _folded(code.name) == wanted), None)

    def by_role(self, role: str) -> Code | None:
        """The entry that plays `role`."""
        return next((code for code in self.codes if code.role == role), None)

    def children(self, category: str | None) -> tuple[Code, ...]:
        """Direct children of a category; of `None`, the top level."""
        return tuple(code for code in self.of("category") if code.parent == category)

    def top_of(self, category: str) -> str:
        """The top-level category above `category` (itself, if it is one)."""
        code = self.get("category", category)
        while code is not None and code.parent is not None:
            category, code = code.parent, self.get("category", code.parent)
        return category

    def subtree(self, category: str) -> frozenset[str]:
        """A category with everything below it."""
        found = {category}
        for child in self.children(category):
            found |= self.subtree(child.name)
        return frozenset(found)

    def details_optional(self, category: str) -> bool:
        """Whether this category, or one above it, needs no cause, symptom and fix."""
        code = self.get("category", category)
        while code is not None:
            if code.details_optional:
                return True
            code = self.get("category", code.parent) if code.parent else None
        return False


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def built_in() -> Codebook:
    """The names of the 2022 study."""
    text = files("hybridize.study").joinpath("data", "codebook.toml").read_text(encoding="utf-8")
    return _parse(tomllib.loads(text), BUILT_IN, None)


def of_profile(profile: Profile) -> Codebook:
    """The built-in names as they read for a profile's API: its title, its words, without what it does not have."""
    book, says = built_in(), profile.codebook
    replaced: dict[str, str] = says.get("replace", {"tf.function": profile.keyword})
    codes = [
        replace(
            code,
            name=_reworded(code.name, replaced),
            definition=_reworded(code.definition, replaced),
            parent=code.parent and _reworded(code.parent, replaced),
            retired=code.retired or code.name in says.get("retire", ()),
        )
        for code in book.codes
    ]
    return checked(Codebook(says.get("title", book.title), profile.keyword, tuple(codes), f"profile {profile.name}"))


def _reworded(text: str, replaced: Mapping[str, str]) -> str:
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def load(path: Path | None) -> Codebook:
    """The built-in codebook, extended by the file at `path` if one is given.

    Raises:
        CodebookError: the file can't be read, is no TOML, or breaks a rule; the message says which entry and why.
    """
    if path is None:
        return built_in()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CodebookError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CodebookError(f"{path}: no valid TOML: {error}") from error
    # `extends = "nothing"` starts an empty book, for studies of something else altogether.
    extends = data.pop("extends", BUILT_IN)
    if extends not in (BUILT_IN, "nothing"):
        raise CodebookError(f'{path}: extends must be "{BUILT_IN}" or "nothing", not {extends!r}')
    return _parse(data, path.name, built_in() if extends == BUILT_IN else None)


def _parse(data: Mapping[str, Any], source: str, base: Codebook | None) -> Codebook:
    unknown = set(data) - {"title", "keyword", *FACETS}
    if unknown:
        raise CodebookError(
            f"{source}: unknown key {sorted(unknown)[0]!r}; there are title, keyword, {', '.join(FACETS)}"
        )
    codes = {(code.facet, code.name): code for code in base.codes} if base else {}
    for facet in FACETS:
        entries = data.get(facet, [])
        if not isinstance(entries, list):
            raise CodebookError(f"{source}: {facet} must be a list of tables: [[{facet}]]")
        seen: set[str] = set()
        for place, entry in enumerate(entries, 1):
            code = _code(facet, entry, f"{source}: {facet} {place}", codes.get((facet, str(entry.get("name")))))
            if code.name in seen:
                raise CodebookError(f"{source}: {facet} {place}: {code.name!r} stands there twice")
            seen.add(code.name)
            codes[facet, code.name] = code
    title = str(data.get("title", base.title if base else "Study"))
    keyword = str(data.get("keyword", base.keyword if base else "tf.function"))
    return checked(Codebook(title, keyword, tuple(codes.values()), source))


def _code(facet: Facet, entry: Any, place: str, base: Code | None) -> Code:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"].strip():
        raise CodebookError(f"{place}: needs a name")
    values: dict[str, Any] = {key: getattr(base, key) for key in _KEYS} if base else {"origin": "ours"}
    if place.startswith(BUILT_IN):
        values["origin"] = "paper"
    for key, value in entry.items():
        if key not in _KEYS:
            raise CodebookError(f"{place}: unknown key {key!r}")
        if not isinstance(value, bool if key in _BOOLEANS else str):
            raise CodebookError(f"{place}: {key} must be {'true or false' if key in _BOOLEANS else 'a text'}")
        values[key] = value
    if facet != "category" and (values.get("parent") or values.get("abstract")):
        raise CodebookError(f"{place}: only categories form a hierarchy")
    return Code(facet=facet, **values)


def checked(book: Codebook) -> Codebook:
    """The same codebook, parents before children, or a `CodebookError` that says what does not fit."""
    for code in book.of("category"):
        if code.parent is not None and book.get("category", code.parent) is None:
            raise CodebookError(f"{book.source}: category {code.name!r}: there is no parent {code.parent!r}")
    roles = [code.role for code in book.codes if code.role]
    for role in roles:
        if roles.count(role) > 1:
            raise CodebookError(f"{book.source}: the role {role!r} is given twice")
    for facet in FACETS:
        folded = [_folded(code.name) for code in book.of(facet)]
        for name in folded:
            if folded.count(name) > 1:
                raise CodebookError(f"{book.source}: {facet} {name!r} stands there twice, but for case and spaces")
    ordered = list(_walk(book, None))
    if len(ordered) != len(book.of("category")):
        lost = next(code.name for code in book.of("category") if code not in ordered)
        raise CodebookError(f"{book.source}: category {lost!r} is its own ancestor")
    others: Iterable[Code] = (code for code in book.codes if code.facet != "category")
    return Codebook(book.title, book.keyword, (*ordered, *others), book.source)


def _walk(book: Codebook, parent: str | None) -> Iterator[Code]:
    for code in book.children(parent):
        yield code
        yield from _walk(book, code.name)
