"""Where the documentation of a code is on the web: what services and editors link to."""

from __future__ import annotations

from typing import Final

#: The site that `docs/` is published as; pyproject.toml has the same address.
SITE: Final = "https://hybridize.readthedocs.io/"
#: Pages by the kind of code; the site shows `docs/a/B.md` as `a/B/`.
_PAGES: Final = {"rule": "rules/{code}/", "repair": "rules/{code}/", "status": "taxonomy/", "precondition": "taxonomy/"}


def help_uri(code: str, kind: str) -> str:
    """The address of the page on a code of some kind (`rule`, `repair`, `status`, `precondition`)."""
    return SITE + _PAGES[kind].format(code=code)
