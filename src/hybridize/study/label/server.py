"""The labelling page's server: loopback only, no account, and nothing that a hostile page or diff could use.

Guards: it binds to 127.0.0.1; the Host header must be a loopback name (DNS rebinding); what changes something must be
JSON from this very origin (request forgery); what asks
for data must bring the token of the printed address (other users of the machine); the page may run nothing but its own
files (content security policy).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import parse_qs, urlsplit

from hybridize.study import agree, codebook_store, store
from hybridize.study.agreement import MissingStatistics
from hybridize.study.label import items, ratings, reconcile
from hybridize.study.label.forms import FormError, parse, problems
from hybridize.study.label.ratings import Conflict, Invalid, Refused, Stored

DEFAULT_PORT: Final = 8737
MAX_BODY: Final = 1_000_000
_PAGE: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/form.js": ("form.js", "text/javascript; charset=utf-8"),
    "/views.js": ("views.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class BadRequest(Exception):
    """What the client sent makes no sense; the message says why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the page is about: the database, how many raters an item needs, whether suggestions may be looked at."""

    database: Path
    needed: int = 2
    suggestions: bool = True
    token: str = ""
    """What every request to the interface must bring along; empty: nothing."""


class LabelServer(ThreadingHTTPServer):
    """Serves one study database on a loopback port; `port` 0 takes a free one."""

    daemon_threads = True

    def __init__(self, settings: Settings, port: int = DEFAULT_PORT) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.settings = settings

    @property
    def url(self) -> str:
        """Where to point a browser."""
        token = self.settings.token
        return f"http://127.0.0.1:{self.server_port}/" + (f"#token={token}" if token else "")

    def connect(self) -> sqlite3.Connection:
        """A connection for one request; a rating survives even a power cut once it is answered."""
        connection = store.connect(self.settings.database, create=False)
        connection.execute("PRAGMA synchronous = FULL")
        return connection


Action = Callable[["LabelServer", sqlite3.Connection, dict[str, Any]], Any]


class Handler(BaseHTTPRequestHandler):
    """One request: check where it comes from, find its action, answer in JSON."""

    protocol_version = "HTTP/1.1"
    server_version = "hybridize"
    sys_version = ""
    timeout = 60
    server: LabelServer
    reads: ClassVar[dict[str, Action]] = {}
    writes: ClassVar[dict[str, Action]] = {}

    def do_GET(self) -> None:
        """The page's files, and what can be read."""
        url = urlsplit(self.path)
        if not self._trusted():
            return
        if url.path in _PAGE:
            name, kind = _PAGE[url.path]
            content = files("hybridize.study.label").joinpath("page", name).read_bytes()
            self._send(HTTPStatus.OK, content, kind)
        elif url.path in self.reads and self._known():
            query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
            self._run(self.reads[url.path], query)
        elif url.path not in self.reads:
            self._json(HTTPStatus.NOT_FOUND, {"error": "There is no such page."})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """What changes something: JSON from our own page only."""
        self.close_connection = True  # until the body is read, nothing else can be
        if not self._trusted() or not self._known():
            return
        action = self.writes.get(urlsplit(self.path).path)
        if action is None:
            self._json(HTTPStatus.NOT_FOUND, {"error": "There is no such action."})
            return
        # A form of another site can't send this type, and a script of another site would have to ask first.
        if self.headers.get_content_type() != "application/json":
            self._json(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": "Only application/json."})
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self._json(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"At most {MAX_BODY} bytes."})
            return
        try:
            data = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            self._json(HTTPStatus.BAD_REQUEST, {"error": "The body must be a JSON object."})
            return
        self.close_connection = False
        self._run(action, data)

    def _trusted(self) -> bool:
        """Whether the request is for us by name and, as far as the browser says, comes from our own page."""
        port = self.server.server_port
        hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        origin = self.headers.get("Origin")
        foreign = origin is not None and origin not in {f"http://{host}" for host in hosts}
        site = self.headers.get("Sec-Fetch-Site", "none")
        if self.headers.get("Host") in hosts and not foreign and site in ("none", "same-origin"):
            return True
        self.close_connection = True
        self._json(HTTPStatus.FORBIDDEN, {"error": "This page answers only to itself."})
        return False

    def _known(self) -> bool:
        """Whether the request brings the token; the page's own files hold nothing of the study and need none."""
        given = self.headers.get("X-Token", "")
        if hmac.compare_digest(given.encode("utf-8", "replace"), self.server.settings.token.encode()):
            return True
        self.close_connection = True
        self._json(HTTPStatus.UNAUTHORIZED, {"error": "Open the whole address that `study label` printed."})
        return False

    def _run(self, action: Action, data: dict[str, Any]) -> None:
        try:
            with closing(self.server.connect()) as connection:
                self._json(HTTPStatus.OK, action(self.server, connection, data))
        except Conflict as error:
            current = _rating(error.current) if error.current else None
            self._json(HTTPStatus.CONFLICT, {"error": "Saved in between from elsewhere.", "current": current})
        except Invalid as error:
            found = [{"field": problem.field, "message": problem.message} for problem in error.problems]
            self._json(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": str(error), "problems": found})
        except (Refused, MissingStatistics) as error:
            self._json(HTTPStatus.FORBIDDEN, {"error": str(error)})
        except (BadRequest, FormError) as error:
            self._json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except (sqlite3.Error, store.DatabaseError) as error:
            self._json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"The database says: {error}"})
        except OSError:
            raise  # the browser went away: nobody to answer
        except Exception:
            traceback.print_exc()
            self._json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "A fault of the server; the terminal shows it."})

    def _json(self, status: HTTPStatus, data: Any) -> None:
        self._send(status, json.dumps(data).encode("ascii"), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: raters' terminals show what the command itself says."""


def _text(data: dict[str, Any], name: str, *, default: str | None = None) -> str:
    value = data.get(name, default)
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text")
    return value


def _number(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f"{name} must be a whole number")
    return value


def _rating(stored: Stored) -> dict[str, Any]:
    return {
        "rater": stored.rater,
        "form": stored.form.as_json(),
        "state": stored.state,
        "revision": stored.revision,
        "locked": stored.locked,
        "at": stored.updated_at,
    }


def _state(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    # Browsers keep unsaved input per origin: the database's path tells two studies on one port apart.
    identity = hashlib.sha256(str(server.settings.database.resolve()).encode()).hexdigest()[:12]
    people = connection.execute("SELECT name, initials, role FROM rater ORDER BY name").fetchall()
    return {
        "study": identity,
        "file": server.settings.database.name,
        "book": items.book_json(connection),
        "rounds": items.rounds(connection),
        "raters": store.rows_as_dicts(people),
        "needed": server.settings.needed,
        "suggestions": server.settings.suggestions,
    }


def _join(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    ratings.add_rater(connection, _text(data, "name"), _text(data, "role", default="rater"))
    return _state(server, connection, {})


def _queue(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    return items.queue(connection, _text(data, "rater"), _text(data, "round", default=""), server.settings.needed)


def _item(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    name, rater = _text(data, "id"), _text(data, "rater")
    found = items.item_json(connection, name, everything=data.get("all") == "1")
    if found is None:
        raise Refused(f"There is no item {name!r}.")
    if not server.settings.suggestions:
        found["suggestions"] = []
    stored = ratings.load(connection, name, rater)
    past = ratings.history(connection, name, rater)
    return {"item": found, "rating": _rating(stored) if stored else None, "history": past}


def _draft(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    form = parse(data.get("form"))
    stored = ratings.save(connection, _text(data, "item"), _text(data, "rater"), form, _number(data, "revision"))
    return _rating(stored) | {"problems": _problems(connection, data)}


def _submit(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    name, rater, form = _text(data, "item"), _text(data, "rater"), parse(data.get("form"))
    stored = ratings.save(connection, name, rater, form, _number(data, "revision"), submit=True)
    return _rating(stored) | {"problems": [], "book": items.book_json(connection)}


def _withdraw(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    return _rating(
        ratings.withdraw(connection, _text(data, "item"), _text(data, "rater"), _number(data, "revision"))
    )  # fmt: skip


def _problems(connection: sqlite3.Connection, data: dict[str, Any]) -> list[dict[str, str]]:
    found = problems(parse(data.get("form")), codebook_store.read(connection))
    return [{"field": problem.field, "message": problem.message} for problem in found]


def _compare(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    name = _text(data, "item")
    shown = reconcile.reveal(connection, name, _text(data, "rater"), server.settings.needed)
    settled = reconcile.final(connection, name)
    return {
        "ratings": [_rating(stored) for stored in shown],
        "final": list(settled.rows),
        "tag": settled.tag,
        "reconciler": settled.reconciler,
    }


def _reconcile(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    rows = data.get("forms")
    if not isinstance(rows, list):
        raise BadRequest("forms must be a list")
    name, rater, needed = _text(data, "item"), _text(data, "rater"), server.settings.needed
    settled = reconcile.reconcile(connection, name, rater, [parse(row) for row in rows], _text(data, "tag"), needed)
    return {
        "final": list(settled.rows),
        "tag": settled.tag,
        "reconciler": settled.reconciler,
        "book": items.book_json(connection),
    }


def _accept(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    round_name = _text(data, "round", default="")
    return {
        "reconciled": reconcile.accept_agreed(connection, _text(data, "rater"), server.settings.needed, round_name)
    }  # fmt: skip


def _agreement(server: LabelServer, connection: sqlite3.Connection, data: dict[str, Any]) -> Any:
    found = agree.report(connection, round_name=_text(data, "round", default=""), resamples=300)
    return {
        "ratings": found.ratings,
        "items": found.items,
        "raters": list(found.raters),
        "coefficients": [
            {
                "question": one.question,
                "classes": one.classes,
                "statistic": one.statistic,
                "raters": list(one.raters),
                "items": one.items,
                "value": one.value,
                "low": one.intervals[-1].low if one.intervals else None,
                "high": one.intervals[-1].high if one.intervals else None,
                "word": one.word,
            }
            for one in found.coefficients
        ],
    }


Handler.reads = {"/api/state": _state, "/api/queue": _queue, "/api/item": _item, "/api/agreement": _agreement}
Handler.writes = {
    "/api/raters": _join,
    "/api/draft": _draft,
    "/api/submit": _submit,
    "/api/withdraw": _withdraw,
    "/api/compare": _compare,
    "/api/reconcile": _reconcile,
    "/api/accept-agreed": _accept,
}
