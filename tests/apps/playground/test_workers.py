"""Requests have a budget, and one that takes longer blocks no other."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import numpy as np
import pytest
from conftest import quiet

from separatrix.apps.playground import worker as process
from separatrix.apps.playground import workers as module
from separatrix.apps.playground.methods import BadRequest
from separatrix.apps.playground.questions import question
from separatrix.apps.playground.runs import PlaygroundRun
from separatrix.apps.playground.workers import Workers
from separatrix.training.recording import proof

pytestmark = quiet
AND = json.dumps({"points": [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]}).encode()


def spread_points(count):
    """Far apart, so that features have sizes from 1 to 1e-300."""
    rng = np.random.default_rng(0)
    rows = (10.0 * rng.normal(size=(count, 2))).round(3).tolist()
    return [[*row, number % 2] for number, row in enumerate(rows)]


@pytest.fixture
def workers():
    found = Workers(2)
    yield found
    found.end()


def error(answer):
    status, body = answer
    return status, json.loads(body)["error"]


@pytest.mark.processes
def test_a_process_that_hangs_blocks_no_other(workers):
    async def main():
        stuck, other = workers.all
        os.kill(stuck.process.pid, signal.SIGSTOP)
        hangs = asyncio.create_task(workers.answer("run", AND))
        while stuck in workers.idle:
            await asyncio.sleep(0.01)
        for _ in range(3):
            assert (await workers.answer("run", AND, "key"))[0] == 200
        assert not hangs.done()
        assert workers.idle == [other]
        assert list(other.keys) == ["key"]
        os.kill(stuck.process.pid, signal.SIGCONT)
        assert (await hangs)[0] == 200
        # The one with the run of a request takes it, though the other has been idle for longer.
        await workers.answer("run", AND, "key")
        assert workers.idle == [stuck, other]
        # One that ends by itself is replaced, and so is one that takes too long.
        stuck.process.kill()
        assert error(await workers.answer("run", AND)) == (
            500, "The process that computed this ended: use fewer points or passes.",
        )  # fmt: skip
        assert stuck not in workers.all
        os.kill(other.process.pid, signal.SIGSTOP)
        workers.wall_seconds = 0.01
        status, said = error(await workers.answer("run", AND, "key"))
        assert (status, "was stopped: use fewer points" in said) == (503, True)
        assert len(workers.all) == len(workers.idle) == 2
        assert other.process.exitcode == -signal.SIGKILL

    asyncio.run(main())


@pytest.mark.processes
def test_cpu_time_is_limited():
    async def main():
        workers = Workers(1, cpu_seconds=1)
        try:
            points = spread_points(2000)
            long = {"points": points, "method": {"name": "kernel_perceptron", "max_iter": 2000}}
            (first,) = workers.all
            answer = await workers.answer("page", json.dumps(long).encode())
            assert error(answer) == (
                503, "This took more than 1 seconds of CPU time and was stopped: use fewer "
                "points, passes or centres.",
            )  # fmt: skip
            assert first.process.exitcode == -signal.SIGXCPU
            assert len(workers.idle) == 1
        finally:
            workers.end()

    asyncio.run(main())


def test_more_requests_than_may_wait_are_refused(monkeypatch):
    async def main():
        workers = Workers(0)
        monkeypatch.setattr(module, "MOST_WAITING", 1)
        waits = asyncio.create_task(workers.answer("run", AND))
        await asyncio.sleep(0)
        assert error(await workers.answer("run", AND))[0] == 503
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        assert workers.waiting == 0

    asyncio.run(main())


def test_failures_of_the_server_are_not_blamed_on_the_request(capsys):
    def fails(asked):
        raise ValueError("Out of range float values are not JSON compliant")

    def refuses(asked):
        raise BadRequest("points: \ud800")

    assert error(process.answered(fails, b"{}"))[0] == 500
    assert "not JSON compliant" in capsys.readouterr().err
    assert error(process.answered(refuses, b"{}")) == (400, "points: \ud800")
    assert process.answered(lambda asked: {"x": [np.inf, 1.5]}, b"{}") == (200, b'{"x":[null,1.5]}')
    assert set(process.calls()) == process.NAMES


def test_a_run_is_reported_without_a_bound_that_takes_too_much_work(monkeypatch):
    # With the budget of a server it takes seconds, and without any it takes minutes.
    monkeypatch.setattr(proof, "MOST_WORK", 50_000)
    asked = {"points": spread_points(200), "method": {"name": "radial_basis", "centers": 20}}
    run = PlaygroundRun.of(asked | {"method": asked["method"] | {"max_iter": 1}})
    reply = json.loads(run.answer(1))["recording"]
    assert reply["bounds"] == {"updates": None, "undecided": True, "objective": None}
    assert reply["total"] == 200
    found = question(run, "stop", 0)
    assert found["choices"] == []
    assert "undecided within the budget of work" in found["text"]
