"""Subjects of a study: repositories that GitHub's search finds, what is known of them, and why some are left out.

The deep-learning check is the 2022 study's: one of its keywords in name, description, topics or README; its authors
then looked themselves, and so should whoever uses this.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from hybridize.study.github import Client, Gone
from hybridize.study.store import now

_WORDS: Final = re.compile(r"\b(?:keras|layers?|\w*nets?|neural networks?|deep[- ]learning)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What makes a repository a subject; sizes are in kilobytes, as GitHub gives them."""

    topics: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    language: str = "Python"
    min_stars: int = 0
    min_size: int = 0
    max_size: int | None = None
    pushed_since: str | None = None
    forks: bool = False
    archived: bool = False
    deep_learning: bool = True
    limit: int = 1000


@dataclass(slots=True)
class Subjects:
    """The repositories with GitHub's own metadata, those left out with the reason, and how they were asked for."""

    queries: list[str] = field(default_factory=list)
    asked_at: str = ""
    incomplete: list[str] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)

    def as_json(self) -> str:
        """One JSON object, which `study clone` reads."""
        return json.dumps({"version": 1, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def search(client: Client, wanted: Wanted, progress: Callable[[str], None] = lambda _: None) -> Subjects:
    """The subjects, most stars first.

    Raises:
        GitHubError: a page can't be got.
    """
    result = Subjects(asked_at=now())
    found: dict[int, dict[str, Any]] = {}
    for query in _queries(wanted):
        result.queries.append(query)
        for page in client.pages("/search/repositories", {"q": query, "sort": "stars", "per_page": 100}):
            if page.data.get("incomplete_results") and query not in result.incomplete:
                result.incomplete.append(query)
            found |= {item["id"]: item for item in page.data.get("items", ())}
            progress(f"{len(found)} repositories found")
    by_age = sorted(found.values(), key=lambda one: (str(one.get("created_at")), one["id"]))
    copies = _copies(by_age)
    for one in sorted(found.values(), key=lambda one: (-int(one.get("stargazers_count") or 0), one["full_name"])):
        reason = copies.get(one["id"]) or _unwanted(client, one, wanted)
        if reason is None and len(result.kept) >= wanted.limit:
            reason = f"beyond the limit of {wanted.limit}"
        if reason is None:
            result.kept.append(one)
            progress(f"{len(result.kept)} subjects")
        else:
            result.left_out.append({"full_name": one["full_name"], "reason": reason})
    return result


def _queries(wanted: Wanted) -> Iterable[str]:
    rest = f"language:{wanted.language} stars:>={wanted.min_stars} fork:{'true' if wanted.forks else 'false'}"
    rest += f" pushed:>={wanted.pushed_since}" if wanted.pushed_since else ""
    for topic in wanted.topics:
        yield f"topic:{topic} {rest}"
    for name in wanted.dependencies:
        if not wanted.topics:
            yield f"{name} in:name,description,topics,readme {rest}"


def _copies(by_age: Iterable[dict[str, Any]]) -> dict[int, str]:
    """Repositories that are an older one's copy without being its fork: same name, size and description."""
    first: dict[tuple[object, ...], str] = {}
    found: dict[int, str] = {}
    for one in by_age:
        if not one.get("description"):
            continue
        key = (str(one.get("name")).lower(), one.get("size"), one["description"])
        if key in first:
            found[one["id"]] = f"a copy of {first[key]}"
        first.setdefault(key, one["full_name"])
    return found


def _unwanted(client: Client, one: dict[str, Any], wanted: Wanted) -> str | None:
    """Why a repository is no subject; what costs no request is asked first."""
    size = int(one.get("size") or 0)
    if one.get("fork") and not wanted.forks:
        return "a fork"
    if one.get("archived") and not wanted.archived:
        return "archived"
    if int(one.get("stargazers_count") or 0) < wanted.min_stars:
        return f"fewer than {wanted.min_stars} stars"
    if size < wanted.min_size or (wanted.max_size is not None and size > wanted.max_size):
        return f"a size of {size} KB"
    if wanted.pushed_since and str(one.get("pushed_at") or "") < wanted.pushed_since:
        return f"no push since {wanted.pushed_since}"
    if wanted.dependencies and not _depends(client, one["full_name"], wanted.dependencies):
        return f"depends on none of {', '.join(wanted.dependencies)}"
    if wanted.deep_learning:
        words = " ".join([one["full_name"], str(one.get("description") or ""), *map(str, one.get("topics") or ())])
        if not _WORDS.search(words) and not _WORDS.search(_file(client, one["full_name"], "/readme")):
            return "no word of deep learning in name, description, topics or README"
    return None


def _depends(client: Client, name: str, dependencies: Iterable[str]) -> bool:
    """Whether one of the usual files names a dependency."""
    pattern = re.compile("|".join(rf"(?<![\w.-]){re.escape(d)}(?![\w.-])" for d in dependencies), re.IGNORECASE)
    files = ("requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "environment.yml")
    return any(pattern.search(_file(client, name, f"/contents/{file}")) for file in files)


def _file(client: Client, name: str, path: str) -> str:
    try:
        data = client.get(f"{client.base}/repos/{name}{path}").data
    except Gone:
        return ""
    content = data.get("content") if isinstance(data, dict) else None
    return base64.b64decode(content).decode("utf-8", "replace") if isinstance(content, str) else ""
