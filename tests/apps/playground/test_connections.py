"""Many connections, and those that never finish their request."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import quiet
from playground_page import TOKEN

from separatrix.apps.playground import server as module

BODY = json.dumps({"points": [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]}).encode()
pytestmark = quiet


def head(port):
    return (
        f"POST /api/run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Token: {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    ).encode()


def connected(port, sent):
    found = socket.create_connection(("127.0.0.1", port), timeout=120)
    found.sendall(sent)
    return found


def answer(port):
    with connected(port, head(port) + BODY) as connection:
        return connection.recv(1 << 16).split(b" ", 2)[1]


def closed(connection):
    """Whether the other end closes it, after what is left of an answer."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.slow
def test_requests_that_are_half_sent_block_no_other(port, monkeypatch):
    monkeypatch.setattr(module, "MOST_READ_SECONDS", 600.0)
    waiting = [connected(port, head(port)[:40]) for _ in range(50)]
    waiting += [connected(port, head(port) + BODY[:9]) for _ in range(50)]
    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(answer, [port] * 50)) == {b"200"}
    for connection in waiting[-50:]:  # and go on where they stopped
        connection.sendall(BODY[9:])
    assert {connection.recv(1 << 16).split(b" ", 2)[1] for connection in waiting[-50:]} == {b"200"}
    for connection in waiting:
        connection.close()


def test_requests_that_are_never_complete_are_closed(port, monkeypatch):
    monkeypatch.setattr(module, "MOST_READ_SECONDS", 0.2)
    for sent in (b"", head(port)[:40], head(port), head(port) + BODY[:9]):
        with connected(port, sent) as connection:
            assert closed(connection)
    with connected(port, head(port) + BODY) as connection:  # a second request on a connection
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(head(port)[:40])
        assert closed(connection)
