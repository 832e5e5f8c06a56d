"""Links of the page: written here and there alike, and refused with words when they are broken."""

from __future__ import annotations

import base64
import json
import os
import re
import zlib

import pytest
from conftest import quiet

from separatrix.apps.cli.app import run
from separatrix.apps.playground import links, server
from separatrix.apps.playground.limits import MOST_BODY_BYTES
from separatrix.apps.playground.runs import PlaygroundRun

pytestmark = quiet
AND = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
STATE = {"points": AND, "method": {"name": "perceptron", "shuffle": True, "seed": 3}, "step": 2}


def test_a_link_and_back():
    link = links.to_fragment(STATE)
    assert link.startswith("#")
    assert not set(link) & set("+/= ")
    assert links.from_fragment(link) == STATE
    assert links.opened(f"http://127.0.0.1:8737/{link}") == STATE


@pytest.mark.parametrize(
    "link",
    ["#", "#%%%", "#AAAA", "nothing.json", "#" + base64.urlsafe_b64encode(b"text").decode(),
     links.to_fragment({"points": []})],
)  # fmt: skip
def test_broken_links_are_refused(link):
    with pytest.raises(ValueError, match="expected the part of a copied link from # onwards"):
        links.opened(link)


def test_a_link_that_unpacks_to_more_than_a_page_is_refused():
    squeeze = zlib.compressobj(9, wbits=-15)
    raw = squeeze.compress(b'{"points":[],"method":{},"x":"' + b" " * 50_000_000 + b'"}')
    bomb = base64.urlsafe_b64encode(raw + squeeze.flush()).decode()
    with pytest.raises(ValueError, match="expected the part"):
        links.from_fragment(f"#{bomb}")


def packed(text):
    squeeze = zlib.compressobj(9, wbits=-15)
    return squeeze.compress(text) + squeeze.flush()


GOOD = json.dumps(STATE).encode()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (packed(GOOD + b" " * MOST_BODY_BYTES), "unpacks to more than 262,144 bytes"),
        (packed(GOOD)[:-4], "incomplete or damaged"),
        (packed(GOOD) + b"more", "incomplete or damaged"),
        (packed(b'{"points": [[NaN]], "method": {}}'), "NaN is not a JSON number"),
        (packed(b'{"points": %s, "method": {}}' % (b"9" * 400)), "400 digits"),
        (packed(b'{"points": "\\ud800", "method": {}}'), "surrogate"),
        (packed(b"[" * 100_000), "nested too deeply"),
        (packed(b"\xff"), "UTF-8"),
    ],
    ids=["long", "cut", "joined", "NaN", "digits", "surrogate", "deep", "bytes"],
)  # fmt: skip
def test_links_are_read_strictly(raw, expected):
    link = "#" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
    with pytest.raises(ValueError, match=expected):
        links.opened(link)


def test_files_are_read_strictly(tmp_path):
    path = tmp_path / "playground.json"
    path.write_bytes(GOOD + b" " * (MOST_BODY_BYTES - len(GOOD)))
    assert links.opened(str(path)) == STATE
    path.write_bytes(GOOD + b" " * MOST_BODY_BYTES)
    with pytest.raises(ValueError, match="has more than 262,144 bytes"):
        links.opened(str(path))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for given in (pipe, tmp_path, "/dev/zero"):
        with pytest.raises(ValueError, match=r"is a pipe|Is a directory|is a character device"):
            links.opened(str(given))


def test_a_file_in_place_of_a_link(tmp_path):
    path = tmp_path / "playground.json"
    path.write_text(json.dumps(STATE))
    assert links.opened(str(path)) == STATE
    path.write_text("[1]")
    with pytest.raises(ValueError, match="a file that the page saved"):
        links.opened(str(path))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["perceptron", "radial_basis", "kernel_perceptron"])
def test_the_command_line_makes_the_same_recording(tmp_path, capsys, name):
    state = STATE | {"method": {"name": name, "shuffle": True, "seed": 5, "max_iter": 9}}
    path = tmp_path / "run.json"
    assert run(["playground", links.to_fragment(state), "--trace", str(path)]) == 0
    assert json.loads(path.read_text()) == json.loads(PlaygroundRun.of(state).recording.to_json())
    page = tmp_path / "run.html"
    assert run(["playground", links.to_fragment(state), "--trace", str(page)]) == 0
    assert page.read_text() == PlaygroundRun.of(state).page()
    assert "steps are in" in capsys.readouterr().err


def test_a_pasted_link_is_opened(monkeypatch, capsys):
    urls: list = []
    monkeypatch.setattr(server.webbrowser, "open", urls.append)
    monkeypatch.setattr(
        server.uvicorn.Server, "run", lambda self, sockets: [one.close() for one in sockets]
    )
    assert run(["playground", links.to_fragment(STATE), "--port", "0"]) == 0
    (url,) = urls
    assert capsys.readouterr().out.splitlines()[0] == url
    assert re.match(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}#", url)
    assert links.opened(url) == STATE
    assert run(["playground", "--no-open", "--port", "0"]) == 0
    assert urls == [url]
    assert "#" not in capsys.readouterr().out


def test_what_the_command_line_refuses(tmp_path, capsys):
    assert run(["playground", "--trace", str(tmp_path / "x.json")]) != 0
    assert "give the link or file of the run" in capsys.readouterr().err
    bad = links.to_fragment(STATE | {"method": {"name": "magic"}})
    assert run(["playground", bad, "--trace", str(tmp_path / "x.json")]) != 0
    assert "method.name" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
