"""The server of the playground: what it answers, and what it refuses."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import quiet
from playground_page import TOKEN

import separatrix
from separatrix.apps.playground import server as module
from separatrix.apps.playground.limits import MOST_ANSWER_BYTES, MOST_BODY_BYTES
from separatrix.apps.playground.methods import BadRequest, Method
from separatrix.apps.playground.runs import PlaygroundRun, Runs, presets, verdict
from separatrix.training.recording.recording import from_json

AND = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
XOR = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]
THREE = [[0, 0, 0], [1, 0, 1], [0, 1, 2], [0.1, 0, 0], [1, 0.1, 1], [0.1, 1, 2]]
NAMES = (
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
)  # fmt: skip
pytestmark = quiet


def post(port, path, body, **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"X-Token": TOKEN, "Content-Type": "application/json", "Host": f"127.0.0.1:{port}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return sent(port, "POST", path, raw, {k: v for k, v in given.items() if v is not None})


def sent(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request(method, path, body, headers or {"Host": f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_a_run_is_answered_with_a_recording(port):
    status, headers, body = post(port, "/api/run", {"points": AND, "method": {}})
    assert status == 200
    reply = json.loads(body)
    recording = from_json(json.dumps(reply["recording"]))
    assert recording["steps"]["arithmetic"][0] == (
        "(w, b) <- (w, b) + y (x, 1): (0, 0, 0) - 1*(0, 0, 1) = (0, 0, -1)"
    )
    assert recording["stop"] == "no mistakes"
    assert reply["line"] is True
    assert headers["content-type"] == "application/json"
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


@pytest.mark.sampled
@pytest.mark.parametrize("points", [AND, XOR, THREE], ids=["and", "xor", "three"])
@pytest.mark.parametrize("name", NAMES)
def test_copied_python_makes_the_same_recording(name, points):
    made = PlaygroundRun.of(
        {"points": points, "method": {"name": name, "max_iter": 7, "shuffle": True}}
    )
    given: dict = {}
    exec(made.python, given)
    assert given["recording"].to_dict() == made.recording.to_dict()


@pytest.mark.parametrize("form", ["batch", "sequential", "stochastic", "mini-batch"])
@pytest.mark.parametrize("loss", separatrix.losses.names())
def test_gradient_descent_in_all_its_forms(form, loss):
    settings = {
        "name": "gradient_descent", "form": form, "loss": loss, "batch_size": 2, "max_iter": 3,
        "learning_rate": 0.1, "schedule": "inverse_scaling", "keep": "average",
    }  # fmt: skip
    if loss == "zero_one":
        with pytest.raises(BadRequest):
            PlaygroundRun.of({"points": AND, "method": settings})
        return
    reply = PlaygroundRun.of({"points": AND, "method": settings}).recording.to_dict()
    rows = {"batch": None, "mini-batch": 2}.get(form, 1)
    assert all((None if one is None else len(one)) == rows for one in reply["steps"]["rows"])
    assert reply["steps"]["average"] is not None


def test_grids_are_scores_of_the_step(port):
    for name in ("kernel_perceptron", "radial_basis", "perceptron"):
        asked = {"points": XOR, "method": {"name": name, "max_iter": 5}}
        last = len(PlaygroundRun.of(asked).recording)
        body = asked | {"step": last, "box": [0, 1, 0, 1]}
        status, _, found = post(port, "/api/grid", body)
        assert status == 200
        reply = json.loads(found)
        run = PlaygroundRun.of(asked)
        X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        Z = X if run.features is None else run.features.transform(X)
        scores = np.array(reply["scores"][0]).reshape(reply["size"], -1)
        corners = [scores[0, 0], scores[0, -1], scores[-1, 0], scores[-1, -1]]
        np.testing.assert_allclose(corners, run.clf.decision_function(Z), atol=1e-9)


def test_a_verdict_has_its_witness():
    apart = verdict({"points": AND})
    assert (apart["verdict"], apart["meeting"]) == ("separable", None)
    assert apart["mistake_bound"] == pytest.approx(51.0)
    meets = verdict({"points": XOR})
    np.testing.assert_allclose(meets["meeting"], [0.5, 0.5])


def test_every_preset_runs():
    found = presets()
    assert set(found) == {
        "and", "or", "xor", "small margin", "overlapping", "one outlier", "unscaled", "ring",
        "spirals", "three classes",
    }  # fmt: skip
    for points in found.values():
        recording = PlaygroundRun.of({"points": points, "method": {"max_iter": 2}}).recording
        assert len(recording) == 2 * len(points) or recording.stop in ("no mistakes", "cycle")


def test_later_parts_join_and_no_answer_is_too_long(port):
    rng = np.random.default_rng(0)
    points = [
        [*np.round(row, 3).tolist(), int(i % 2)] for i, row in enumerate(rng.normal(size=(100, 2)))
    ]
    asked = {"points": points, "method": {"max_iter": 40}}
    whole = PlaygroundRun.of(asked).recording.to_dict()["steps"]["sentence"]
    joined: list = []
    while len(joined) < len(whole):
        status, _, body = post(port, "/api/run", asked | {"first": len(joined) + 1})
        assert status == 200
        assert len(body) <= MOST_ANSWER_BYTES
        joined += json.loads(body)["recording"]["steps"]["sentence"]
    assert joined == whole
    runs = Runs()
    assert runs.of(asked) is runs.of(json.loads(json.dumps(asked)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["perceptron", "kernel_perceptron", "radial_basis"])
def test_no_answer_about_the_most_points_is_too_long(port, name):
    rng = np.random.default_rng(2)
    points = [[*row, int(i % 4)] for i, row in enumerate(rng.normal(size=(2000, 2)).tolist())]
    points = [[round(u, 3), round(v, 3), c] for u, v, c in points]
    method = {"name": name, "max_iter": 1}
    asked = {"points": points, "method": method}
    box = [-4.0, 4.0, -4.0, 4.0]
    asks = {"run": {}, "grid": {"step": 9, "box": box}, "verdict": {}}
    if name != "kernel_perceptron":
        asks["landscape"] = {"step": 9, "box": box, "axes": [0, 1]}
    for path, more in asks.items():
        status, _, body = post(port, f"/api/{path}", asked | more)
        assert status == 200, (path, body)
        assert len(body) <= MOST_ANSWER_BYTES, path


def test_files_of_the_page_and_no_others(port):
    status, headers, body = sent(port, "GET", "/")
    assert status == 200
    assert b"playground" in body
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(rb"<[^>]*\s(?:src|href)=\"(?!data:|\.)|<[^>]*\son\w+=\"", body)
    for path in (
        "/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py",
        "/static//etc/passwd", "/static/nothing.js", "/server.py", "/api/run",
    ):  # fmt: skip
        status, _, body = sent(port, "GET", path)
        assert status in (404, 405), path
        assert b"import" not in body


@pytest.mark.parametrize("name", ["presets", "challenges", "nothing"])
def test_what_the_page_contains_itself_is_not_asked_for(port, name):
    assert post(port, f"/api/{name}", {})[0] == 404


HOSTILE = {
    "no token": (403, {}, {"X_Token": None}),
    "a wrong token": (403, {}, {"X_Token": "wrong"}),
    "a token that is not ASCII": (403, {}, {"X_Token": "\xff"}),
    "another host": (421, {}, {"Host": "evil.example"}),
    "another port": (421, {}, {"Host": "127.0.0.1:1"}),
    "another origin": (403, {}, {"Origin": "http://evil.example"}),
    "a null origin": (403, {}, {"Origin": "null"}),
    "a form": (415, {}, {"Content_Type": "application/x-www-form-urlencoded"}),
    "no JSON": (400, b"{", {}),
    "no object": (400, [], {}),
    "deep JSON": (400, b"[" * 100_000 + b"]" * 100_000, {}),
    "NaN": (400, b'{"points": [[NaN, 0, 0]]}', {}),
    "no points": (400, {"points": []}, {}),
    "one class": (400, {"points": [[0, 0, 0], [1, 1, 0]]}, {}),
    "too many points": (400, {"points": [[0, 0, i % 2] for i in range(2001)]}, {}),
    "a huge number": (400, {"points": [[0, 0, 0], [1e300, 0, 1]]}, {}),
    "a class too many": (400, {"points": [[0, 0, 0], [1, 1, 7]]}, {}),
    "words for points": (400, {"points": [["a", "b", 0], [1, 1, 1]]}, {}),
    "no method": (400, {"points": AND, "method": {"name": "magic"}}, {}),
    "no such setting": (400, {"points": AND, "method": {"__class__": 1}}, {}),
    "too many passes": (400, {"points": AND, "method": {"max_iter": 10**9}}, {}),
    "true for a number": (400, {"points": AND, "method": {"max_iter": True}}, {}),
    "a list for a word": (400, {"points": AND, "method": {"kernel": ["rbf"]}}, {}),
    "a step of no run": (400, {"points": AND, "first": 10**6}, {}),
    "an integer of 400 digits": (400, {"points": [[0, 0, 0], [10**400, 0, 1]]}, {}),
    "a setting of 400 digits": (400, {"points": AND, "method": {"max_iter": 10**400}}, {}),
    "an integer of 5000 digits": (400, b'{"first": %s}' % (b"9" * 5000), {}),
    "a float that overflows": (400, b'{"points": [[1e400, 0, 0], [0, 0, 1]]}', {}),
    "Infinity": (400, b'{"points": [[-Infinity, 0, 0]]}', {}),
    "a lone surrogate": (400, b'{"method": {"\\ud800": 1}}', {}),
    "a lone surrogate in a value": (400, b'{"kind": "\\udfff"}', {}),
    "the same name twice": (400, b'{"points": [], "points": []}', {}),
    "true for a coordinate": (400, {"points": [[True, 0, 0], [0, 0, 1]]}, {}),
    "nothing": (400, b"", {}),
    "no UTF-8": (400, b'{"points": "\xff"}', {}),
    "UTF-16": (400, '{"points": []}'.encode("utf-16"), {}),
    "nesting that is nearly too deep": (400, b'{"points": %s}' % (b"[" * 900 + b"]" * 900), {}),
    "no content type": (415, {}, {"Content_Type": None}),
    "too long": (413, b" " * (MOST_BODY_BYTES + 1), {}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_requests_are_refused(port, case):
    expected, body, headers = HOSTILE[case]
    status, answered, said = post(port, "/api/run", body, **headers)
    assert status == expected, said
    assert b"Traceback" not in said
    if expected in (400, 413, 415):
        assert json.loads(said)["error"]
    assert "access-control-allow-origin" not in answered
    assert post(port, "/api/run", {"points": AND})[0] == 200


def test_bad_requests_are_refused_with_the_reason(port):
    said = {
        b'{"first": %s}' % (b"9" * 400): "a number has 400 digits: expected at most 40",
        b'{"kind": "\\ud800"}': "half of a surrogate pair",
        b'{"a": 1, "a": 1}': "the same name twice",
        b'{"a": 1e400}': "1e400 is too large",
        b'{"a": NaN}': "NaN is not a JSON number",
        b"\xff": "expected JSON in UTF-8",
        b"": "this is not valid JSON: Expecting value: line 1 column 1",
    }
    for body, expected in said.items():
        status, _, found = post(port, "/api/run", body)
        assert status == 400
        assert expected in json.loads(found)["error"]


def test_numbers_at_the_edge_are_accepted(port):
    points = [[-0.0, -0, -0.0], [1e6, -1e6, 1], [5e-324, 1.5, 1.0]]
    status, _, body = post(port, "/api/run", {"points": points})
    assert status == 200, body


@pytest.mark.parametrize("length", [{}, {"Content-Length": "2"}], ids=["alone", "and a length"])
def test_chunked_bodies_have_the_same_limit(port, length):
    headers = {"X-Token": TOKEN, "Content-Type": "application/json", **length}
    headers["Transfer-Encoding"] = "chunked"

    def answer(parts):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it is refused midway
            connection.putrequest("POST", "/api/run")
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            for part in (*parts, b""):
                connection.send(b"%x\r\n%s\r\n" % (len(part), part))
        found = connection.getresponse()
        body = found.read()
        connection.close()
        return found.status, body

    small = json.dumps({"points": AND}).encode()
    assert answer([small[:9], small[9:]])[0] == 200
    status, body = answer([b" " * 1024] * (MOST_BODY_BYTES // 1024 + 1))
    assert status == 413
    assert "at most" in json.loads(body)["error"]


def test_a_bound_too_large_for_a_float_is_null(port):
    tight = [[0, 0, 0], [0, 1e-300, 1]]
    status, _, body = post(port, "/api/run", {"points": tight, "method": {"max_iter": 2}})
    assert status == 200, body
    recording = json.loads(body)["recording"]
    assert recording["bounds"]["updates"] is None
    assert from_json(json.dumps(recording)) == recording


@pytest.mark.slow
def test_long_runs_are_ended():
    rng = np.random.default_rng(1)
    points = [[*row, int(i % 2)] for i, row in enumerate(rng.normal(size=(2000, 2)).tolist())]
    made = PlaygroundRun.of({"points": points, "method": {"max_iter": 2000}})
    assert made.clf.stop_ == "callback"
    assert len(made.recording) <= 20_000


def test_settings_have_their_defaults():
    assert Method.of({}) == Method()
    with pytest.raises(BadRequest, match="an object"):
        Method.of([])


@pytest.mark.processes
def test_the_command_prints_its_address_first():
    code = "from separatrix.apps.cli import main; main()"
    given = [sys.executable, "-c", code, "playground", "--no-open", "--port", "0"]
    process = subprocess.Popen(given, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        at, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)\n", line).groups()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                status, _, _ = sent(int(at), "GET", "/")
            except ConnectionError:
                time.sleep(0.1)
                continue
            assert status == 200
            break
        assert post(int(at), "/api/run", {"points": AND}, X_Token=token)[0] == 200
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def test_a_port_that_is_taken():
    first = module.free_port(None)
    second = module.free_port(None)
    assert first.getsockname() != second.getsockname()
    with pytest.raises(ValueError, match="is taken"):
        module.free_port(first.getsockname()[1])
    first.close()
    second.close()


def test_numbers_that_are_not_finite_become_null(port):
    tight = [[0, 0, 0], [0, 1e-300, 1]]
    status, _, body = post(port, "/api/verdict", {"points": tight})
    assert (status, json.loads(body)["verdict"]) == (200, "separable")
