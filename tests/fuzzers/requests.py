"""Hostile requests, links and recordings of the playground: an answer below 500, in strict JSON."""

from __future__ import annotations

import base64
import json
import random
import warnings
import zlib
from functools import cache
from typing import Any

from separatrix.apps.playground.links import from_fragment, to_fragment
from separatrix.apps.playground.runs import presets
from separatrix.apps.playground.worker import NAMES, Call, answered, calls
from separatrix.training.recording.recording import from_json

from .expected import expect, result_or_refusal
from .mutations import mutated_bytes, mutated_tree

METHODS = (
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
)  # fmt: skip


@cache
def known_calls() -> dict[str, Call]:
    """What a process behind the server computes, without the server and its limits."""
    return calls()


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
    body = json.dumps(mutated_tree(_asked(draw), draw)).encode("utf-8", "surrogatepass")
    if draw.random() < 0.15:
        body = mutated_bytes(body, draw)
    route = draw.choice(sorted(NAMES))
    status, answer = answered(known_calls()[route], body)
    expect(status < 500, f"{route}: status {status}, {answer[:200]!r}")
    json.loads(answer.decode(), parse_constant=_no_constant)
    return str(status)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} in an answer is no JSON")


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
