"""The playground in a real browser, as a person uses it; run by ``make test-browser``."""

from __future__ import annotations

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import quiet
from playground_page import TOKEN, WAYS, circles, settled, text, until

pytestmark = quiet


def test_a_student_steps_both_ways(opened):
    page = opened()
    assert text(page, "verdict") == (
        "Separable: margin 0.243; from zero, point by point, the perceptron makes at most 51 "
        "mistakes."
    )
    page.click("#step")
    assert text(page, "arithmetic") == (
        "(w, b) <- (w, b) + y (x, 1): (0, 0, 0) - 1*(0, 0, 1) = (0, 0, -1)"
    )
    first = page.inner_html("#plane")
    page.click("#step")
    assert "nothing changes" in text(page, "sentence")
    page.click("#back")
    assert page.inner_html("#plane") == first
    page.click("#mistake")
    assert text(page, "at") == "4 of 36"
    page.click("#pass")
    assert text(page, "at") == "8 of 36"
    page.click("#last")
    assert text(page, "at") == "36 of 36"
    assert "ended: no mistakes" in text(page, "state")
    assert circles(page, "#plane .ring") == 0
    page.click("#first")
    assert text(page, "at") == "0 of 36"
    page.fill("#scrub", "5")
    assert text(page, "at") == "5 of 36"
    page.click("#play")
    until(page, "parseInt(document.querySelector('#at').textContent) > 6")
    page.click("#play")
    stopped = text(page, "at")
    page.wait_for_timeout(600)
    assert text(page, "at") == stopped


def test_points_by_mouse_keyboard_and_table(opened):
    page = opened()
    page.click("#class-0 >> xpath=..")
    plane = page.locator("#plane").bounding_box()
    page.mouse.click(plane["x"] + 0.5 * plane["width"], plane["y"] + 0.5 * plane["height"])
    until(page, "document.querySelectorAll('#plane .point').length === 5")
    settled(page)
    where = page.locator("#plane .point").nth(3).bounding_box()
    page.mouse.move(where["x"] + 3, where["y"] + 3)
    page.mouse.down()
    page.mouse.move(plane["x"] + 0.3 * plane["width"], plane["y"] + 0.3 * plane["height"], steps=4)
    page.mouse.up()
    until(page, "document.querySelector('#verdict').textContent !== ''")
    page.click("details summary")
    moved = float(page.input_value("#cell-3-0"))
    assert moved < 0.5
    page.focus("#plane")
    page.keyboard.press("ArrowRight")
    until(page, f"Number(document.querySelector('#cell-3-0').value) > {moved}")
    page.keyboard.press("1")
    until(page, "document.querySelector('#cell-3-2').value === '0'")
    assert "two classes" in text(page, "message")
    page.click("#undo")
    until(page, "document.querySelector('#cell-3-2').value === '1'")
    page.click("#redo")
    until(page, "document.querySelector('#cell-3-2').value === '0'")
    page.click("#undo")
    page.click("[aria-label='delete row 0']")
    until(page, "document.querySelectorAll('#plane .point').length === 4")
    page.fill("#csv", "0,0,no\n1,1,yes\n2,0,perhaps\n")
    page.click("#take-csv")
    until(page, "document.querySelectorAll('#plane .point').length === 3")
    until(page, "document.querySelectorAll('#plane .region').length >= 0")
    page.click("#clear")
    until(page, "document.querySelectorAll('#plane .point').length === 0")


def test_the_verdict_follows_the_points(opened):
    page = opened()
    page.select_option("#preset", "xor")
    until(page, "document.querySelector('#verdict').textContent.includes('hulls meet')")
    assert page.locator("#plane .meeting").count() == 2


def test_a_line_is_drawn_wherever_it_lies(opened):
    page = opened()
    page.select_option("#preset", "small margin")
    settled(page)
    for _ in range(4):
        page.click("#step")
        assert page.locator("#plane .boundary").count() == 1


@pytest.mark.parametrize(
    "name",
    ["perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
     "kernel_perceptron", "radial_basis"],
)  # fmt: skip
def test_every_method_draws_its_boundary(opened, name):
    page = opened()
    page.select_option("#preset", "xor" if name in ("kernel_perceptron", "radial_basis") else "or")
    page.select_option("#method-name", name)
    settled(page)
    page.click("#last")
    until(page, "document.querySelectorAll('#plane .region').length > 1")
    assert text(page, "arithmetic")
    assert text(page, "sentence")


def test_three_classes_and_softmax(opened):
    page = opened()
    page.select_option("#preset", "three classes")
    page.select_option("#method-name", "gradient_descent")
    settled(page)
    until(page, "document.querySelectorAll('#plane .point').length === 60")
    page.click("#last")
    until(page, "document.querySelectorAll('#plane .region').length === 3")


def test_links_and_scripts(opened):
    page = opened()
    page.select_option("#preset", "or")
    until(page, "document.querySelector('#at').textContent !== '0 of 36'")
    settled(page)
    page.click("#step")
    page.click("#copy-link")
    until(page, "document.querySelector('#message').textContent.includes('link')")
    link = page.evaluate("navigator.clipboard.readText()")
    assert TOKEN not in link
    total = text(page, "at")
    other = opened(link="#" + link.split("#")[1])
    assert text(other, "at") == total
    other.click("#copy-python")
    until(other, "document.querySelector('#message').textContent.includes('script')")
    given: dict = {}
    exec(other.evaluate("navigator.clipboard.readText()"), given)
    assert f"of {len(given['recording'])}" in total
    with other.expect_download() as saved:
        other.click("#save-json")
    reply = json.loads(saved.value.path().read_text())
    assert reply["steps"] == json.loads(given["recording"].to_json())["steps"]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_stands_in_anybodys_way(opened, way):
    page = opened(way)
    page.click("details summary")
    for preset in ("and", "three classes", "spirals"):
        page.select_option("#preset", preset)
        settled(page)
        page.click("#step")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    assert page.get_attribute("#sentence", "aria-live") == "polite"  # steps are announced
    moves = page.evaluate("getComputedStyle(document.querySelector('#step')).transitionDuration")
    assert (moves == "0s") == (way == "forced")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    small = page.evaluate(
        """[...document.querySelectorAll('button, select, input')].filter((one) => {
            const shape = one.getBoundingClientRect();
            return shape.width && (shape.width < 24 || shape.height < 24);
        }).map((one) => one.id)"""
    )
    assert small == []
