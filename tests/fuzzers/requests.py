"""Hostile requests, links and recordings of the playground: an answer below 500, in strict JSON."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import warnings
import zlib
from functools import cache
from typing import Any

from separatrix.apps.playground import server
from separatrix.apps.playground.links import from_fragment, to_fragment
from separatrix.apps.playground.runs import presets
from separatrix.training.recording.recording import from_json

from .expected import expect, result_or_refusal
from .mutations import mutated_bytes, mutated_tree

TOKEN, PORT = "token", 8737
ROUTES = (
    "run", "grid", "landscape", "verdict", "presets", "descent", "question", "challenges",
    "challenge", "page", "schema", "nothing",
)  # fmt: skip
METHODS = (
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
)  # fmt: skip


@cache
def app() -> Any:
    """The playground's server, without a socket."""
    return server.application(TOKEN, PORT)


def one(seed: int) -> str:
    """One request, link or recording."""
    draw = random.Random(seed)
    kind = draw.choice((_request, _request, _request, _link, _recording))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f"{kind.__name__[1:]}: {kind(draw)}"


def _asked(draw: random.Random) -> dict[str, Any]:
    """A request that the page could make."""
    points = draw.choice(list(presets().values()))[:40]
    method = {"name": draw.choice(METHODS), "max_iter": draw.choice((1, 5, 20))}
    return {
        "points": points, "method": method, "first": 1, "step": draw.choice((0, 1, 5)),
        "axes": [0, 1], "box": [-1, 2, -1.5, 2], "column": 0,
        "of": draw.choice(("objective", "mistakes")),
        "kind": draw.choice(("update", "margin", "next")),
        "name": draw.choice(("xor", "one point")), "curve": "square", "start": 1.0,
        "learning_rate": 0.1, "fit_intercept": True,
    }  # fmt: skip


def _request(draw: random.Random) -> str:
    asked = mutated_tree(_asked(draw), draw)
    text = json.dumps(asked)
    body = text.encode("utf-8", "surrogatepass")
    if draw.random() < 0.15:
        body = mutated_bytes(body, draw)
    headers = {"host": f"127.0.0.1:{PORT}", "x-token": TOKEN, "content-type": "application/json"}
    if draw.random() < 0.8:
        headers["content-length"] = str(len(body))
    route = draw.choice(ROUTES)
    status, answer = asyncio.run(_answer(f"/api/{route}", headers, body))
    expect(status < 500 or status == 503, f"{route}: status {status}, {answer[:200]!r}")
    if status == 200:
        json.loads(answer.decode(), parse_constant=_no_constant)
    return str(status)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} in an answer is no JSON")


async def _answer(path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """The status and body of an answer to a POST request that arrives in two pieces."""
    half = len(body) // 2
    waiting = [
        {"type": "http.request", "body": body[:half], "more_body": True},
        {"type": "http.request", "body": body[half:], "more_body": False},
    ]
    status, answer = 0, b""

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status, answer
        status = message.get("status", status)
        answer += message.get("body", b"")

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string":
        b"", "headers": [(k.encode(), v.encode()) for k, v in headers.items()], "http_version":
        "1.1", "scheme": "http", "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1),
        "root_path": "", "asgi": {"version": "3.0"},
    }  # fmt: skip
    await app()(scope, receive, send)
    return status, answer


def _link(draw: random.Random) -> str:
    state = _asked(draw)
    how = draw.randrange(4)
    if how == 0:
        link = "#" + mutated_bytes(to_fragment(state)[1:].encode(), draw).decode("latin-1")
    else:
        squeeze = zlib.compressobj(9, wbits=-15)
        text = json.dumps(mutated_tree(state, draw)).encode()
        text = b"[" * 100_000 if how == 1 else b" " * 50_000_000 if how == 2 else text
        raw = squeeze.compress(text) + squeeze.flush()
        link = "#" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
    found, _ = result_or_refusal(from_fragment, link)
    return "refused" if found is None else "opened"


@cache
def _recorded() -> Any:
    import separatrix as sx

    clf = sx.Perceptron(5, shuffle=False).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    return json.loads(
        clf.trace_.recording([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]).to_json()
    )


def _recording(draw: random.Random) -> str:
    text = json.dumps(mutated_tree(_recorded(), draw))
    found, _ = result_or_refusal(from_json, text)
    if found is not None:
        json.dumps(found, allow_nan=False)
    return "refused" if found is None else "opened"
