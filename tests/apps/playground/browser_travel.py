"""What leaves the page and comes back in a real browser: files, links, scripts, tables of text."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from broken_recordings import broken_recordings
from conftest import quiet
from playground_page import TOKEN, WAYS, circles, settled, text, until
from playground_server import serving

from separatrix import KernelPerceptron, Perceptron, datasets
from separatrix.apps.cli.app import run
from separatrix.page import files
from separatrix.page.document import joined
from separatrix.training.recording.schema import recording_schema

pytestmark = quiet


def shows(page, words):
    until(page, f"document.querySelector('#message').textContent.includes({words!r})")


def saved(page, button, path):
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(path)
    return path


@pytest.fixture
def from_file(chromium):
    """Opens a file with no network; it is the only one that is asked for, and nothing complains."""
    made, said, asked = [], [], []

    def page(path, way="light"):
        context = chromium.new_context(**WAYS[way])
        context.set_offline(True)
        made.append(context)
        found = context.new_page()
        found.on("console", lambda message: said.append(message.text))
        found.on("pageerror", lambda error: said.append(str(error)))
        found.on("request", lambda request: asked.append(request.url))
        found.goto(Path(path).as_uri())
        return found

    yield page
    for context in made:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", "about:"))] == [
        url for url in asked if url.startswith("file:")
    ]
    assert len({url for url in asked if url.startswith("file:")}) == len(made)


@pytest.mark.parametrize("name", ["perceptron", "kernel_perceptron", "radial_basis"])
def test_a_saved_page_needs_no_server(chromium, from_file, tmp_path, name):
    path = tmp_path / "recording.html"
    seen = []
    with serving(TOKEN) as port:
        context = chromium.new_context(**WAYS["light"])
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/?token={TOKEN}")
        page.wait_for_selector("body[data-ready]")
        page.select_option("#preset", "or" if name == "perceptron" else "xor")
        page.select_option("#method-name", name)
        settled(page)
        page.click("#step")
        saved(page, "#save-page", path)
        for _ in range(3):
            page.click("#step")
            page.wait_for_timeout(300)  # for the grid of the step
            seen.append((text(page, "at"), text(page, "arithmetic"), text(page, "state")))
        rings = circles(page, "#plane .ring")
        context.close()
    other = from_file(path)  # the server is gone
    other.wait_for_selector("body[data-ready]")
    assert text(other, "at").startswith("1 of")
    found = []
    for _ in range(3):
        other.click("#step")
        found.append((text(other, "at"), text(other, "arithmetic"), text(other, "state")))
    assert found == seen
    assert circles(other, "#plane .ring") == rings
    other.click("#back")
    assert text(other, "at") == seen[1][0]
    other.click("#last")
    until(other, "document.querySelectorAll('#plane .region').length > 1")
    assert "ended:" in text(other, "state")
    if name != "kernel_perceptron":
        assert other.locator("#weight-view .bands path").count() > 1
        assert text(other, "weight-near") == ""  # contours of every step are inside
        before = other.get_attribute("#weight-view .contours", "d")
        other.select_option("#weight-up", "2")
        assert other.get_attribute("#weight-view .contours", "d") not in ("", before)
        other.select_option("#weight-of", "mistakes")
        assert text(other, "weight-levels").startswith("Mistakes from 0")
    for hidden in ("#save-page", "#method-name", "#preset", "#copy-link", "nav"):
        assert not other.is_visible(hidden)
    assert text(other, "message") == ""
    assert Axe().run(other).violations_count == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_page_of_the_library_says_what_it_left_out(from_file, tmp_path, way):
    X, y = datasets.overlapping(60, random_state=0)
    clf = Perceptron(20, patience=None, random_state=0).fit(X, y)
    path = tmp_path / "long.html"
    path.write_text(clf.trace_.recording(X, y).to_html())
    page = from_file(path, way)
    page.wait_for_selector("body[data-ready]")
    assert "of 1200 steps" in text(page, "message")
    page.click("#last")
    assert text(page, "at") == "1200 of 1200"
    assert f"updates {clf.n_updates_}" in text(page, "state")
    page.click("#back")
    assert int(text(page, "at").split()[0]) < 1200
    page.select_option("#weight-up", "2")
    said = set()
    for step in range(100, 130):
        page.fill("#scrub", str(step))
        said.add(text(page, "weight-near")[:25])
    assert "The contours are for step" in said
    assert page.locator("#weight-view .bands path").count() > 1
    assert Axe().run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_rows_of_many_numbers_are_reported_without_a_plane(from_file, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    path = tmp_path / "wide.html"
    path.write_text(Perceptron(2).fit(X, y).trace_.recording(X, y).to_html())
    page = from_file(path)
    page.wait_for_selector("body[data-ready]")
    assert not page.is_visible("#plane")
    page.click("#step")
    assert text(page, "arithmetic")
    assert page.is_visible("#loss-view")


def test_a_notebook_shows_it_in_a_frame(from_file, tmp_path):
    X, y = datasets.logic("xor")
    clf = KernelPerceptron(gamma=1.0, max_iter=5, shuffle=False).fit(X, y)
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>n</title>{clf.trace_.recording(X, y)._repr_html_()}")
    page = from_file(path)
    frame = page.frame_locator("iframe")
    frame.locator("#step").click()
    assert frame.locator("#at").inner_text() == "1 of 8"
    assert frame.locator("#arithmetic").inner_text().startswith("a_0 <- a_0")
    frame.locator("#back").click()
    assert frame.locator("#at").inner_text() == "0 of 8"


def test_links_hide_the_controls_and_broken_ones_are_reported(opened):
    page = opened()
    page.check("#teacher")
    page.click("#copy-link")
    shows(page, "The link")
    link = page.evaluate("navigator.clipboard.readText()")
    assert TOKEN not in link
    other = opened(link="#" + link.split("#")[1])
    assert not other.is_visible("#method-name")
    assert not other.is_visible("#preset")
    assert other.is_visible("#plane")
    other.click("#step")
    assert text(other, "at").startswith("1 of")
    broken = opened(link="#abc")
    shows(broken, "cannot be read")
    broken.evaluate(f"location.hash = {link.split('#')[1]!r}")
    until(broken, "document.body.dataset.controls === 'hidden'")


def test_what_is_too_long_for_a_link_is_a_file(opened, tmp_path):
    page = opened()
    rng = np.random.default_rng(0)
    rows = [f"{u:.6f},{v:.6f},{i % 2}" for i, (u, v) in enumerate(rng.normal(size=(1200, 2)))]
    page.fill("#method-max_iter", "2")
    page.press("#method-max_iter", "Tab")
    table = tmp_path / "many.csv"
    table.write_text("\n".join(rows))
    page.set_input_files("#file", table)
    until(page, "document.querySelectorAll('#plane .point').length === 1200")
    settled(page)
    page.click("#copy-link")
    shows(page, "use Save as page instead")
    path = saved(page, "#copy-command", tmp_path / "playground.json")
    shows(page, "Its data is in playground.json")
    other = opened()
    other.click("details summary")
    other.set_input_files("#file", path)
    until(other, "document.querySelectorAll('#plane .point').length === 1200")
    settled(other)
    assert text(other, "at") == text(page, "at")
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    other.set_input_files("#file", bad)
    shows(other, "This file cannot be read")


def test_the_command_and_the_script_make_the_same_recording(opened, tmp_path):
    page = opened()
    page.select_option("#preset", "overlapping")
    page.select_option("#method-name", "gradient_descent")
    page.fill("#method-max_iter", "3")
    page.press("#method-max_iter", "Tab")
    settled(page)
    shown = json.loads(saved(page, "#save-json", tmp_path / "shown.json").read_text())
    page.click("#copy-command")
    shows(page, "The command")
    words = page.evaluate("navigator.clipboard.readText()").replace("'", "").split()
    assert words[:2] == ["separatrix", "playground"]
    assert TOKEN not in " ".join(words)
    path = tmp_path / words[-1]
    assert run([*words[1:-1], str(path)]) == 0
    assert json.loads(path.read_text()) == shown
    page.click("#copy-python")
    shows(page, "The script")
    given: dict = {}
    exec(page.evaluate("navigator.clipboard.readText()"), given)
    assert json.loads(given["recording"].to_json()) == shown


def test_columns_of_a_table_are_chosen(opened, tmp_path):
    page = opened()
    page.click("details summary")
    lines = ["name;width;height;kind", '"a; b";1,5;2;oak', "b;2;3;elm", "c;4;5;oak"]
    page.fill("#csv", "\n".join(lines).replace("1,5", "1.5"))
    assert page.locator("#csv-x1 option:checked").inner_text() == "width"
    assert page.locator("#csv-class option:checked").inner_text() == "kind"
    page.select_option("#csv-x1", label="height")
    page.select_option("#csv-x2", label="width")
    page.click("#take-csv")
    until(page, "document.querySelectorAll('#plane .point').length === 3")
    settled(page)
    assert [page.input_value(f"#cell-0-{axis}") for axis in range(3)] == ["2", "1.5", "1"]
    page.select_option("#csv-x1", label="name")
    page.click("#take-csv")
    shows(page, "Line 2: expected two numbers")
    path = tmp_path / "points.csv"
    path.write_text("0,0,0\n1,1,1\n2,2,1\n0,1,0\n")
    with_file = page.evaluate_handle(
        """(text) => { const data = new DataTransfer();
        data.items.add(new File([text], 'points.csv')); return data; }""",
        path.read_text(),
    )
    page.dispatch_event("#plane", "drop", {"dataTransfer": with_file})
    until(page, "document.querySelectorAll('#plane .point').length === 4")
    page.click("#undo")
    until(page, "document.querySelectorAll('#plane .point').length === 3")


def test_points_by_touch(opened):
    page = opened("phone")
    plane = page.locator("#plane").bounding_box()
    page.touchscreen.tap(plane["x"] + 0.5 * plane["width"], plane["y"] + 0.5 * plane["height"])
    until(page, "document.querySelectorAll('#plane .point').length === 5")
    settled(page)
    before = page.locator("#plane .point").nth(4).bounding_box()
    finger = page.context.new_cdp_session(page)
    x, y = before["x"] + 4, before["y"] + 4
    for kind, dx in (("Start", 0), ("Move", 20), ("Move", 40)):
        points = [{"x": x + dx, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settled(page)
    after = page.locator("#plane .point").nth(4).bounding_box()
    assert after["x"] - before["x"] == pytest.approx(40, abs=3)


def test_the_picture_is_a_file_of_its_own(opened, tmp_path):
    page = opened()
    page.click("#step")
    path = saved(page, "#save-svg", tmp_path / "plane.svg")
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    colours = [one.get("fill") for one in root.iter() if "point" in one.get("class", "")]
    assert len([one for one in colours if one and one.startswith("rgb")]) >= 4


def test_a_wrong_recording_is_refused_in_words(opened):
    page = opened()

    def spoil(route):
        answer = route.fetch()
        reply = answer.json()
        reply["recording"]["steps"]["mistakes"][1] = "none"
        route.fulfill(response=answer, json=reply)

    page.route("**/api/run", spoil)
    page.select_option("#preset", "or")
    shows(page, 'recording.steps.mistakes[1] is "none"; expected number or null')


def test_the_page_refuses_what_another_checker_refuses(chromium):
    texts = {name: path.read_text() for name, path in files().items()}
    page = chromium.new_page()
    page.evaluate(
        f'{joined(texts, "schema.js")}; globalThis.compiled = modules["schema.js"].compiled; 1'
    )
    X, y = datasets.logic("and")
    good = Perceptron(2, shuffle=False).fit(X, y).trace_.recording(X, y).to_dict()
    all_ = [good, *broken_recordings(good, 300)]
    schema = recording_schema()
    found = page.evaluate(
        """([schema, values]) => {
            const check = compiled(schema);
            return values.map((value) => check(value, 'recording') === null);
        }""",
        [schema, all_],
    )
    other = jsonschema.Draft202012Validator(schema)
    assert found == [other.is_valid(one) for one in all_]
    assert found[0]
    assert not all(found)
    page.close()
