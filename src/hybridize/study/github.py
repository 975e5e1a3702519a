"""A small client of GitHub's REST interface: pages, conditional requests, limits, faults; reading only.

The standard library's `urllib` does: one host, GET only, one request at a time (as GitHub asks for), and redirects and
errors are to be looked at by us in any case. A token is sent to the interface's own host only, never stored or printed.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final, Protocol
from urllib.parse import urlencode, urljoin, urlsplit

from hybridize import __version__

BASE: Final = "https://api.github.com"
TRIES: Final = 6
TIMEOUT_SECONDS: Final = 60
MAX_BYTES: Final = 64_000_000
_REDIRECTS: Final = 5


class GitHubError(Exception):
    """What could not be got; the message is one line for the user."""


class Gone(GitHubError):
    """There is no such thing, or not for us (404, 410, 451, or 403 without a word of limits)."""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: its data, the address of the next page, and what makes a later request conditional."""

    url: str
    data: Any
    next_url: str | None = None
    etag: str | None = None
    fresh: bool = True  # false: the interface said that the kept page still holds (304)


class Shelf(Protocol):
    """Where pages are kept from one run to the next."""

    def get(self, url: str) -> Page | None:
        """The kept page, if any."""
        ...

    def put(self, page: Page) -> None:
        """Keep a page."""
        ...


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects come back as errors: where a token may go is decided here."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass
class Client:
    """Asks one interface; waits where it says so.

    Args:
        base: its address without a final slash.
        token: sent as a bearer's; null asks anonymously, at far lower limits.
        shelf: pages that were got before; null asks for everything anew.
        patience: seconds that one wait may last; a longer one is an error that says when to come back.
        tell: gets a line when we wait.
    """

    base: str = BASE
    token: str | None = None
    shelf: Shelf | None = None
    patience: float = 3700
    tell: Callable[[str], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    requests: int = 0

    def pages(self, path: str, query: Mapping[str, object] | None = None, limit: int | None = None) -> Iterator[Page]:
        """The pages of a list, `limit` at most, following the interface's own links.

        Raises:
            GitHubError: a page can't be got.
        """
        url: str | None = self.base + path + (f"?{urlencode(query)}" if query else "")
        seen: set[str] = set()
        while url is not None and url not in seen and (limit is None or len(seen) < limit):
            seen.add(url)
            page = self.get(url)
            yield page
            url = page.next_url

    def get(self, url: str) -> Page:
        """One page, from the shelf where the interface says that it still holds.

        Raises:
            Gone: there is no such page for us.
            GitHubError: it can't be got, though tried several times, or the wait would be longer than our patience.
        """
        kept = self.shelf.get(url) if self.shelf else None
        reason = ""
        for attempt in range(TRIES):
            try:
                page = self._ask(url, kept)
            except urllib.error.HTTPError as error:
                with error:
                    reason = f"{error.code} {error.reason}"
                    self._wait(self._pause(error, attempt, url), reason)
            except (OSError, ValueError) as error:  # no connection, cut off in the middle, no JSON
                reason = str(getattr(error, "reason", "") or error)
                self._wait(2.0**attempt, reason)
            else:
                if self.shelf and page.fresh:
                    self.shelf.put(page)
                return page
        raise GitHubError(f"{url}: {reason} ({TRIES} times)")

    def _ask(self, url: str, kept: Page | None) -> Page:
        target = url
        for _ in range(_REDIRECTS):
            headers = {
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": f"hybridize/{__version__}",
            }
            if self.token and urlsplit(target)[:2] == urlsplit(self.base)[:2]:
                headers["Authorization"] = f"Bearer {self.token}"
            if kept and kept.etag:
                headers["If-None-Match"] = kept.etag
            self.requests += 1
            request = urllib.request.Request(target, headers=headers)
            try:
                with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS) as answer:
                    body = answer.read(MAX_BYTES + 1)
                    length = answer.headers.get("Content-Length")
                    if len(body) > MAX_BYTES or (length is not None and int(length) != len(body)):
                        raise OSError("the answer is cut off, or too long")
                    return Page(url, json.loads(body), _next(answer.headers.get("Link")), answer.headers.get("ETag"))
            except urllib.error.HTTPError as error:
                place = error.headers.get("Location")
                if error.code == 304 and kept:
                    return Page(url, kept.data, kept.next_url, kept.etag, fresh=False)
                if error.code not in (301, 302, 307, 308) or not place:
                    raise
                target = urljoin(target, place)  # a repository that was renamed
                if urlsplit(target).scheme not in ("http", "https"):
                    raise GitHubError(f"{url}: leads to {target}") from error
        raise GitHubError(f"{url}: is redirected {_REDIRECTS} times")

    def _pause(self, error: urllib.error.HTTPError, attempt: int, url: str) -> float:
        """How long to wait before asking again; raises where that is of no use."""
        headers = error.headers
        if error.code in (403, 429):
            after = _seconds(headers.get("Retry-After"), self.clock())
            if after is not None:
                return after
            if headers.get("X-RateLimit-Remaining") == "0":
                return max(float(headers.get("X-RateLimit-Reset") or 0) - self.clock(), 0) + 1
            if error.code == 429 or b"rate limit" in error.read(10_000).lower():
                # The secondary limit, without a date: GitHub asks for a minute and more.
                return 60.0 * float(2**attempt)
        if error.code == 401:
            raise GitHubError(f"{url}: the token is not accepted (401)")
        if error.code < 500:
            kind = Gone if error.code in (403, 404, 410, 451) else GitHubError
            raise kind(f"{url}: {error.code} {error.reason}")
        return float(2**attempt)

    def _wait(self, seconds: float, reason: str) -> None:
        if seconds > self.patience:
            when = time.strftime("%H:%M", time.localtime(self.clock() + seconds))
            raise GitHubError(f"{reason}: to be asked again at {when}; the same command goes on from here")
        self.tell(f"waiting {seconds:.0f} s: {reason}")
        self.sleep(seconds)


def _next(link: str | None) -> str | None:
    """The address that a Link header calls next."""
    for part in (link or "").split(","):
        address, _, rest = part.strip().partition(">")
        if 'rel="next"' in rest and address.startswith("<"):
            return address[1:]
    return None


def _seconds(text: str | None, now: float) -> float | None:
    """A Retry-After header: seconds or a date."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0)
    except ValueError:
        return None
