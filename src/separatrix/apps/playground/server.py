"""The server of the page: only for this machine, with one token and small requests."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import anyio.to_thread
import h11
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ... import page
from ...page.document import policy_of
from .limits import MOST_BODY_BYTES, MOST_READ_SECONDS
from .messages import parsed
from .methods import BadRequest
from .runs import run_key
from .standalone import standalone
from .worker import ABOUT_RUNS, NAMES
from .workers import Workers

HOST, PORT = "127.0.0.1", 8737
PORTS = 20  # ports to try if the first is taken
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class TooLarge(Exception):
    """A request with too many bytes."""


class Impatient(H11Protocol):
    """A connection that is closed if a request is not complete in time."""

    late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        if self.late is None:
            self._wait()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.late = self.loop.call_later(MOST_READ_SECONDS, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None


class Guard:
    """Refuses requests that do not come from the page, by host and origin."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] += [
                    (k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own
                ]
            await send(message)

        refused = self._refusal(headers)
        answer = self.app if refused is None else PlainTextResponse(refused[1], refused[0])
        await answer(scope, receive, guarded)

    def _refusal(self, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host") not in self.hosts:
            return 421, "this server only answers at its own address"
        if headers.get("origin", next(iter(self.origins))) not in self.origins:
            return 403, "requests from other pages are refused"
        return None


def application(token: str, port: int) -> Starlette:
    """The page and its requests."""
    started: dict[str, asyncio.Task[Workers]] = {}

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # They import the library, which takes seconds: the page is served in the meantime.
        started["workers"] = asyncio.create_task(anyio.to_thread.run_sync(Workers))
        try:
            yield
        finally:
            (await started["workers"]).end()

    async def answer(request: Request) -> Response:
        if (refused := _refused(request, token)) is not None:
            return refused
        name = request.path_params["name"]
        if name not in NAMES:
            return JSONResponse({"error": "there is no such request"}, 404)
        try:
            body = await _body(request)
            asked = parsed(body)
            key = run_key(asked) if name in ABOUT_RUNS else None
        except TooLarge:
            return JSONResponse({"error": f"expected at most {MOST_BODY_BYTES} bytes"}, 413)
        except ClientDisconnect:
            return Response(status_code=400)  # the client is gone
        except BadRequest as error:
            return JSONResponse({"error": str(error)}, 400)
        try:
            workers = await asyncio.shield(started["workers"])
            status, found = await workers.answer(name, body, key)
        except asyncio.CancelledError:  # the server ends without waiting for the answer
            return Response(status_code=503)
        return Response(found, status, media_type="application/json")

    routes = [
        Route("/", _whole), Route("/static/{name:path}", _file),
        Route("/api/{name}", answer, methods=["POST"]),
    ]  # fmt: skip
    return Starlette(routes=routes, middleware=[Middleware(Guard, port=port)], lifespan=lifespan)


@cache
def _page() -> tuple[str, str]:
    """The page, which computes by itself, and its content security policy."""
    found = standalone()
    return found, f"{policy_of(found)}; frame-ancestors 'none'"


async def _whole(request: Request) -> Response:
    """Serve the page."""
    text, policy = _page()
    return HTMLResponse(text, headers={"content-security-policy": policy})


async def _file(request: Request) -> Response:
    """Serve a file of the page by its name."""
    path = page.files().get(request.path_params["name"])
    if path is None:
        return PlainTextResponse("there is no such file", 404)
    return Response(path.read_bytes(), media_type=page.TYPES[path.suffix])


def _refused(request: Request, token: str) -> Response | None:
    given = request.headers.get("x-token", "")
    if not secrets.compare_digest(given.encode(), token.encode()):
        return JSONResponse({"error": "the token is wrong: open the printed address"}, 403)
    if request.headers.get("content-type") != "application/json":
        return JSONResponse({"error": "expected application/json"}, 415)
    return None


async def _body(request: Request) -> bytes:
    """The whole body, whatever the headers say about its length."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > MOST_BODY_BYTES:
            raise TooLarge
    return bytes(found)


def free_port(wanted: int | None) -> socket.socket:
    """A socket at the requested port, or at the first free default port."""
    tried = range(PORT, PORT + PORTS) if wanted is None else [wanted]
    for port in tried:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, port))
            bound.listen()  # so that no other process can bind it
        except OSError:
            bound.close()
            continue
        return bound
    raise ValueError(f"port {tried[0]} is taken: use another with --port N, or omit it")


def serve(port: int | None = None, opens: bool = True, fragment: str = "") -> None:
    """Serve the page until Ctrl-C; the first line of stdout is its address."""
    bound = free_port(port)
    at = bound.getsockname()[1]
    token = secrets.token_urlsafe(24)
    url = f"http://{HOST}:{at}/?token={token}{fragment}"
    sys.stdout.write(url + "\n")
    sys.stdout.flush()
    if opens:
        webbrowser.open(url)
    uvicorn.Server(config(token, at)).run(sockets=[bound])


def config(token: str, port: int) -> uvicorn.Config:
    """Configuration of the server."""
    return uvicorn.Config(
        application(token, port), http=Impatient, ws="none", log_level="warning",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
