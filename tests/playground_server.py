"""The playground's server on a port of its own, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import uvicorn

from separatrix.apps.playground import server


@contextmanager
def serving(token):
    """The port, for as long as this lasts."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        running = uvicorn.Server(server.config(token, port))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        until = time.monotonic() + 20
        while not running.started and time.monotonic() < until:
            time.sleep(0.02)
        yield port
        running.should_exit = True
        thread.join(10)
