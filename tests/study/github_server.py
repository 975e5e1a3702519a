"""A server of our own that behaves as GitHub's REST interface does, faults included."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

Fault = tuple[int, dict[str, str], bytes]


@dataclass
class World:
    """What there is: repositories, threads with comments, files, and the faults that come next, one a request."""

    repositories: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    incomplete: bool = False
    page: int = 2
    log: list[tuple[str, int, str | None]] = field(default_factory=list)
    base: str = ""


class _Handler(BaseHTTPRequestHandler):
    world: World

    def do_GET(self) -> None:
        world, url = self.world, urlsplit(self.path)
        if world.faults:
            return self.send(*world.faults.pop(0))
        for old, new in world.renamed.items():
            if url.path.startswith(old):
                return self.send(301, {"Location": world.base + new + url.path[len(old) :] + "?" + url.query}, b"")
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        data = self.find(url.path, query)
        if data is None:
            return self.send(404, {}, b'{"message": "Not Found"}')
        headers = {}
        rows = data["items"] if isinstance(data, dict) and "items" in data else data
        if isinstance(rows, list):
            page = int(query.get("page", 1))
            if page * world.page < len(rows):
                link = f"{world.base}{url.path}?{urlencode(query | {'page': page + 1})}"
                headers["Link"] = f'<{link}>; rel="next", <{link}>; rel="last"'
            shown = rows[(page - 1) * world.page : page * world.page]
            data = data | {"items": shown} if isinstance(data, dict) else shown
        body = json.dumps(data).encode()
        headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'
        if self.headers.get("If-None-Match") == headers["ETag"]:
            return self.send(304, headers, b"")
        return self.send(200, headers, body)

    def find(self, path: str, query: dict[str, str]) -> Any:
        world = self.world
        if path == "/search/repositories":
            return {"total_count": 9, "incomplete_results": world.incomplete, "items": world.repositories}
        if path == "/search/issues":
            days = query["q"].rpartition("created:")[2].split("..")
            # GitHub refuses a search for both kinds at once.
            (kind,) = (word for word in query["q"].split() if word in ("is:issue", "is:pull-request"))
            found = [i for i in world.issues if days[0] <= i["created_at"][:10] <= days[1]]
            found = [i for i in found if ("pull_request" in i) == (kind == "is:pull-request")]
            return {"total_count": len(found), "incomplete_results": world.incomplete, "items": found}
        if path.endswith("/comments"):
            return world.comments.get(int(path.split("/")[-2]), [])
        if path in world.files:
            return {"content": base64.b64encode(world.files[path].encode()).decode()}
        return None

    def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.world.log.append((self.path, status, self.headers.get("Authorization")))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence."""


@contextmanager
def serving(world: World) -> Iterator[World]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"world": world}))
    world.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield world
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def issue(world: World, number: int, title: str, day: str, comments: int = 0, *, pull: bool = False) -> dict[str, Any]:
    page = f"https://github.com/o/n/{'pull' if pull else 'issues'}/{number}"
    made: dict[str, Any] = {
        "html_url": page, "number": number, "title": title, "body": "It fails.",
        "user": {"login": "zoe-q"}, "state": "open", "created_at": f"{day}T00:00:00Z", "comments": comments,
        "comments_url": f"{world.base}/repos/o/n/issues/{number}/comments",
    }  # fmt: skip
    if pull:
        made["pull_request"] = {"html_url": page}
    world.comments[number] = [{"body": f"retraces {i}", "user": {"login": "bob-q"}} for i in range(comments)]
    world.issues.append(made)
    return made


def repository(name: str, number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number, "full_name": name, "name": name.split("/")[1], "size": 10 + number, "stargazers_count": number,
        "description": f"A deep learning thing, {number}", "created_at": f"20{10 + number}-01-01T00:00:00Z",
        "pushed_at": "2022-01-01T00:00:00Z", "fork": False, "archived": False, "topics": [], "clone_url": "https://example.org/x",
    } | more  # fmt: skip
