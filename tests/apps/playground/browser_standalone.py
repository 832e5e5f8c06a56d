"""The page without a server: from a file, by links, in a frame; run by ``make test-browser``."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from conftest import quiet
from playground_page import circles, settled, text, until

from separatrix.apps.playground import links
from separatrix.apps.playground.standalone import standalone

pytestmark = quiet
AND = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
STATE = {"points": AND, "method": {"name": "perceptron"}, "step": 4}
METHODS = ("perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
           "kernel_perceptron", "radial_basis")  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(standalone())
    return path


@pytest.fixture
def opened(chromium, file):
    """Opens the file in a fresh profile; at the end nothing was complained of or asked for."""
    contexts, said, asked = [], [], []

    def page(link="", path=file):
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        contexts.append(context)
        found = context.new_page()
        found.on("console", lambda message: said.append(message.text))
        found.on("pageerror", lambda error: said.append(str(error)))
        found.on("request", lambda request: asked.append(request.url))
        found.goto(f"file://{path}{link}")
        found.wait_for_selector("body[data-ready]", timeout=30_000)
        return found

    yield page
    for context in contexts:
        context.close()
    assert said == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in asked)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs_from_a_file(opened, name):
    page = opened()
    page.select_option("#preset", "xor" if name in METHODS[-2:] else "or")
    page.select_option("#method-name", name)
    settled(page)
    page.click("#last")
    until(page, "document.querySelectorAll('#plane .region').length > 1")
    assert text(page, "arithmetic")
    assert text(page, "sentence")
    assert text(page, "message") == ""


def test_views_questions_and_a_race_from_a_file(opened):
    page = opened()
    assert text(page, "verdict").startswith("Separable: margin 0.243;")
    assert page.is_visible("#open-curve")
    until(page, "document.querySelectorAll('#weight-view .bands path').length > 1")
    assert "bound: 51" in page.text_content("#updates-view")
    page.click("#ask-stop")
    until(page, "'asking' in document.body.dataset")
    page.click("#answers button:has-text('Yes')")
    until(page, "document.querySelector('#answered').textContent.includes('at most 51 mistakes')")
    page.click("#race-start")
    until(page, "!document.querySelector('#race-lanes').hidden")
    page.select_option("#preset", "xor")
    settled(page)
    assert page.locator("#plane .meeting").count() == 2
    page.click("#challenges-box summary")
    page.locator("#challenge-xor button").nth(1).click()
    until(page, "document.querySelector('#challenge-xor .result').textContent.startsWith('Not')")


def test_a_link_opens_the_same_state_anywhere(opened):
    page = opened(links.to_fragment(STATE | {"view": {"across": 2, "up": 0, "of": "mistakes"}}))
    assert text(page, "at") == "4 of 36"
    assert page.input_value("#weight-across") == "2"
    page.click("#step")
    page.wait_for_timeout(600)
    link = page.url.partition("#")[2]
    assert links.from_fragment(f"#{link}")["step"] == 5
    other = opened(f"#{link}")
    assert text(other, "at") == "5 of 36"
    assert other.input_value("#weight-of") == "mistakes"
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert text(page, "at") == "5 of 36"


def packed(raw):
    squeeze = zlib.compressobj(9, wbits=-15)
    content = squeeze.compress(raw) + squeeze.flush()
    return "#" + base64.urlsafe_b64encode(content).decode().rstrip("=")


HOSTILE = {
    "cut off": (links.to_fragment(STATE)[:-9], "incomplete"),
    "a bomb": (packed(b" " * 9_000_000), "too much data"),
    "not JSON": (packed(b"{"), "no points and method"),
    "a list": (packed(b"[]"), "no points and method"),
    "a script": (packed(json.dumps(STATE | {"challenge": "<img src=x onerror=alert(1)>"}).encode()),
                 "has no challenge <img"),
    "another entry": (packed(json.dumps(STATE | {"<b>": 1}).encode()), "<b>: there is no such"),
    "a prototype": (packed(b'{"points": [], "method": {"__proto__": {}}}'), "no such setting"),
    "a far point": (packed(b'{"points": [[1e9, 0, 0]], "method": {}}'), "points[0]: expected"),
    "a name": (packed(b'{"points": [["<b>", 0, 0]], "method": {}}'), "points[0]: expected"),
    "a setting": (packed(b'{"points": [], "method": {"l2": -1}}'), "method.l2: expected 0 to"),
    "10,000 points": (packed(json.dumps({"points": [[0, 0, 0]] * 10_000, "method": {}}).encode()),
                      "expected 0 to 2000 points"),
    "a wrong step": (packed(json.dumps(STATE | {"step": 1.5}).encode()), "step: expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_links_are_refused_with_a_reason(opened, name):
    link, reason = HOSTILE[name]
    page = opened(link)
    assert reason in text(page, "message")
    assert page.locator("#message *").count() == 0  # text, never elements


def test_too_many_points_for_a_link_are_saved_as_a_page(opened, tmp_path):
    page = opened()
    lines = [f"{i * 7919 % 1000 / 1000},{i * 104729 % 997 / 991:.3f},{i % 2}" for i in range(1990)]
    table = tmp_path / "many.csv"
    table.write_text("\n".join(lines))
    page.set_input_files("#file", table)
    until(page, "document.querySelectorAll('#plane .point').length === 1990")
    page.fill("#method-max_iter", "1")
    page.press("#method-max_iter", "Tab")
    settled(page)
    page.click("#copy-link")
    until(page, "document.querySelector('#message').textContent.includes('use Save as page')")
    with page.expect_download() as saved:
        page.click("#save-page")
    path = tmp_path / "saved.html"
    saved.value.save_as(path)
    other = opened(path=path)
    assert other.locator("#plane .point").count() == 1990
    other.click("#step")
    assert text(other, "at") == "1 of 1990"


def test_a_run_that_overflows_is_readable(opened):
    method = {"name": "gradient_descent", "loss": "squared", "form": "batch", "learning_rate": 1e5,
              "max_iter": 2000}  # fmt: skip
    page = opened(links.to_fragment(STATE | {"method": method}))
    page.click("#last")
    assert "ended: diverged" in text(page, "state")
    assert text(page, "message") == ""
    page.click("#first")
    page.click("#step")
    assert "- 100000 gradient" in text(page, "arithmetic")


def test_two_hundred_random_actions(opened):
    page = opened()
    page.evaluate(
        """async () => {
            let seed = 7;
            const draw = (below) => { seed = (seed * 16807) % 2147483647; return seed % below; };
            const ids = ["step", "back", "last", "first", "mistake", "pass", "undo", "redo", "play",
                "flip", "ask-way", "race-start", "method-shuffle", "method-fit_intercept"];
            for (let i = 0; i < 200; i += 1) {
                const kind = draw(5);
                if (kind === 0) {
                    const select = document.querySelectorAll("select")[draw(6)];
                    select.selectedIndex = draw(select.options.length);
                    select.dispatchEvent(new Event("change"));
                } else if (kind === 1) {
                    const plane = document.getElementById("plane");
                    plane.focus();
                    const key = ["n", "]", "ArrowLeft", "ArrowUp", "1", "2", "3"][draw(7)];
                    plane.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
                } else document.getElementById(ids[draw(ids.length)])?.click();
                await new Promise((resolve) => setTimeout(resolve, 5));
            }
        }"""
    )
    settled(page)


def test_a_frame_of_a_page_shows_it(chromium, file, tmp_path):
    link = links.to_fragment(STATE | {"embed": True})
    outer = tmp_path / "outer.html"
    outer.write_text(
        f'<iframe sandbox="allow-scripts" width=640 height=360 src="file://{file}{link}"></iframe>'
    )
    page = chromium.new_page()
    page.goto(f"file://{outer}")
    frame = page.frames[1]
    frame.wait_for_selector("body[data-ready]", timeout=30_000)
    for name in ("plane", "weight-view", "step", "sentence"):
        box = frame.locator(f"#{name}").bounding_box()
        assert box["y"] + box["height"] <= 372, name
    assert circles(frame, "#plane .turn") == 1
    page.close()
