"""`hybridize server` on the command line: what it needs, and what it says where that is not there."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time

import pytest

WITHOUT_PYGLS = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pygls":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from hybridize.cli import main
sys.exit(main(["server"]))
"""


def test_without_pygls_one_line_says_what_to_install() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT_PYGLS], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        'hybridize: error: `hybridize server` needs pygls: install it with `pip install "hybridize[lsp]"`\n'
    )


@pytest.mark.parametrize("address", ["8080", "localhost", "localhost:port", "localhost:70000", ":80"])
def test_an_address_that_is_none_is_said_so(address: str) -> None:
    pytest.importorskip("pygls", reason='needs pygls: pip install "hybridize[lsp]"')
    from hybridize.cli.errors import UsageError
    from hybridize.cli.server import _address

    with pytest.raises(UsageError, match="is no HOST:PORT"):
        _address(address)


def test_a_client_may_connect_to_a_port() -> None:
    pytest.importorskip("pygls", reason='needs pygls: pip install "hybridize[lsp]"')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "hybridize", "server", "--tcp", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        with _connected(port) as client:
            asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
            _send(client, asked)
            answer = _receive(client)
            assert answer["result"]["serverInfo"]["name"] == "hybridize"
            assert answer["result"]["capabilities"]["hoverProvider"] is True
            _send(client, {"jsonrpc": "2.0", "id": 2, "method": "shutdown"})
            assert _receive(client)["id"] == 2
            _send(client, {"jsonrpc": "2.0", "method": "exit"})
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.communicate()


def _connected(port: int) -> socket.socket:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), 30)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError("nobody listens")


def _send(client: socket.socket, message: dict[str, object]) -> None:
    data = json.dumps(message).encode()
    client.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))


def _receive(client: socket.socket) -> dict[str, dict[str, dict[str, object]]]:
    received = b""
    while True:
        head, _, body = received.partition(b"\r\n\r\n")
        if body and len(body) >= int(head.partition(b"Content-Length:")[2].split(b"\r\n")[0]):
            found: dict[str, dict[str, dict[str, object]]] = json.loads(body)
            return found
        received += client.recv(1 << 16)
