"""Where the documentation of a code is on the web, if somebody has published it: what services and editors link to."""

from __future__ import annotations

from functools import cache

#: What the package's metadata calls the address of the site (`[project.urls]` of pyproject.toml, the only place).
_LABEL = "documentation"


@cache
def site() -> str | None:
    """The address that `docs/` is published at, with a slash at its end; None where the package names none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls: list[str] = metadata("hybridize").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    for label, _, address in (url.partition(",") for url in urls):
        if label.strip().lower() == _LABEL:
            return address.strip().rstrip("/") + "/"
    return None


def help_uri(code: str) -> str | None:
    """The address of the page of a code: the site shows `docs/rules/B.md` as `rules/B/`."""
    base = site()
    return base and f"{base}rules/{code}/"
