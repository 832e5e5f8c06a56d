"""A process that computes answers, one after another, each within a budget of CPU time."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from ...training.recording.schema import recording_schema
from . import challenges, questions
from .cpu_limit import limit_cpu, no_core_files
from .descent import descent
from .landscape import landscape
from .messages import parsed, written
from .methods import BadRequest
from .runs import Runs, verdict

Call = Callable[[dict[str, Any]], Any]
"""From a request to the JSON of its answer; a str is already JSON."""
ABOUT_RUNS = {"run", "grid", "landscape", "question", "page"}
"""Calls that need the fit of the request, which a worker keeps for the next."""
NAMES = {*ABOUT_RUNS, "verdict", "descent", "challenge", "schema"}


def calls() -> dict[str, Call]:
    """The calls of the page, by name."""
    runs = Runs()

    def run(asked: dict[str, Any]) -> str:
        made = runs.of(asked)
        first = asked.get("first", 1)
        if type(first) is not int or first < 1:
            raise BadRequest("first: expected the number of a step")
        return made.answer(first)

    return {
        "run": run,
        "grid": lambda asked: runs.of(asked).grid(asked.get("step"), asked.get("box")),
        "landscape": lambda asked: landscape(runs.of(asked), asked.get("step"), asked),
        "question": lambda asked: questions.question(
            runs.of(asked), asked.get("kind"), asked.get("step")
        ),
        "page": lambda asked: {"page": runs.of(asked).page(asked.get("step", 0))},
        "verdict": verdict,
        "descent": descent,
        "challenge": challenges.checked,
        "schema": lambda asked: recording_schema(),
    }


def answered(call: Call, body: bytes) -> tuple[int, bytes]:
    """The status and the JSON of an answer."""
    try:
        found = call(parsed(body))
        return 200, found.encode() if isinstance(found, str) else written(found)
    except BadRequest as error:
        return 400, written({"error": str(error)})
    except Exception:  # only this request fails
        traceback.print_exc()
        return 500, written({"error": "The server failed: see the error in its terminal."})


def work(pipe: Connection, cpu_seconds: int) -> None:
    """Answer requests from a pipe until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    no_core_files()
    known = calls()
    while True:
        try:
            name, body = pipe.recv()
        except EOFError:
            return
        limit_cpu(cpu_seconds)
        pipe.send(answered(known[name], body))
