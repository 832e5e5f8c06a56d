"""The server of the page: this machine alone, one token, small requests."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ... import page
from ...page.document import finite
from ...training.recording.schema import recording_schema
from . import challenges, questions
from .descent import descent
from .landscape import landscape
from .limits import MOST_BODY_BYTES
from .methods import BadRequest
from .runs import Runs, presets, verdict

HOST, PORT = "127.0.0.1", 8737
PORTS = 20
"""Tried after the first, where it is taken."""
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


class Guard:
    """Refuses requests that did not come from the page: by host, by origin and by size."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer for it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        refused = self._refusal(scope["method"], headers)
        answer = self.app if refused is None else PlainTextResponse(refused[1], refused[0])
        await answer(scope, receive, guarded)

    def _refusal(self, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host") not in self.hosts:
            return 421, "this server answers to its own address alone"
        if headers.get("origin", next(iter(self.origins))) not in self.origins:
            return 403, "requests of other pages are refused"
        if method == "POST":
            length = headers.get("content-length", "")
            if not length.isdigit():
                return 411, "say how long the request is"
            if int(length) > MOST_BODY_BYTES:
                return 413, f"expected at most {MOST_BODY_BYTES} bytes"
        return None


def application(token: str, port: int) -> Starlette:
    """The page and what it asks for."""
    runs = Runs()
    ready: dict[str, Any] = {}

    def run(asked: dict[str, Any]) -> str:
        made = runs.of(asked)
        first = asked.get("first", 1)
        if type(first) is not int or first < 1:
            raise BadRequest("first: expected the number of a step")
        return made.answer(first)

    def grid(asked: dict[str, Any]) -> Any:
        return runs.of(asked).grid(asked.get("step"), asked.get("box"))

    def weight_space(asked: dict[str, Any]) -> Any:
        return landscape(runs.of(asked), asked.get("step"), asked)

    def known(asked: dict[str, Any]) -> Any:
        if not ready:
            ready.update(presets())
        return ready

    def save(asked: dict[str, Any]) -> Any:
        return {"page": runs.of(asked).page(asked.get("step", 0))}

    def question(asked: dict[str, Any]) -> Any:
        return questions.question(runs.of(asked), asked.get("kind"), asked.get("step"))

    calls = {
        "run": run, "grid": grid, "landscape": weight_space, "verdict": verdict,
        "presets": known, "descent": descent, "question": question,
        "challenges": lambda asked: challenges.told(), "challenge": challenges.checked,
        "page": save, "schema": lambda asked: recording_schema(),
    }  # fmt: skip
    routes = [Route("/", _file), Route("/descent", _file), Route("/static/{name}", _file)]
    for name, call in calls.items():
        routes.append(Route(f"/api/{name}", _endpoint(call, token), methods=["POST"]))
    return Starlette(routes=routes, middleware=[Middleware(Guard, port=port)])


async def _file(request: Request) -> Response:
    """A file of the page: of those that are there, by its bare name."""
    whole = "descent.html" if request.url.path == "/descent" else "index.html"
    path = page.files().get(request.path_params.get("name", whole))
    if path is None:
        return PlainTextResponse("there is no such file", 404)
    return Response(path.read_bytes(), media_type=page.TYPES[path.suffix])


def _endpoint(call: Callable[[dict[str, Any]], Any], token: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        given = request.headers.get("x-token", "")
        if not secrets.compare_digest(given.encode(), token.encode()):
            return JSONResponse({"error": "the token is wrong: open the printed address"}, 403)
        if request.headers.get("content-type") != "application/json":
            return JSONResponse({"error": "expected application/json"}, 415)
        try:
            asked = json.loads(await request.body(), parse_constant=_no_constant)
            if not isinstance(asked, dict):
                raise BadRequest("expected an object")
            found = await anyio.to_thread.run_sync(call, asked)
        except BadRequest as error:
            return JSONResponse({"error": str(error)}, 400)
        except (ValueError, RecursionError):
            return JSONResponse({"error": "the request is no JSON"}, 400)
        if isinstance(found, str):
            return Response(found, media_type="application/json")
        return JSONResponse(finite(found))

    return answer


def _no_constant(name: str) -> Any:
    raise BadRequest(f"{name} is no number")


def free_port(wanted: int | None) -> socket.socket:
    """A socket at the port asked for, or at the first free one from the usual on."""
    tried = range(PORT, PORT + PORTS) if wanted is None else [wanted]
    for port in tried:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, port))
            bound.listen()  # or another could bind it, too
        except OSError:
            bound.close()
            continue
        return bound
    raise ValueError(f"port {tried[0]} is taken: say another, --port N, or none at all")


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
    config = uvicorn.Config(application(token, at), log_level="warning", ws="none")
    uvicorn.Server(config).run(sockets=[bound])
