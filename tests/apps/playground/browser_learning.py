"""Questions, challenges and the race in a real browser; run by ``make test-browser``."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import quiet
from playground_page import WAYS, circles, settled, text, until

pytestmark = quiet


def ask(page, kind):
    page.click(f"#ask-{kind}")
    until(page, "'asking' in document.body.dataset")


def answer(page, words):
    page.click(f"#answers button:has-text('{words}')")
    until(page, "!('asking' in document.body.dataset)")


def test_which_way_will_it_move(opened):
    page = opened()
    ask(page, "way")
    assert text(page, "question") == (
        "Row 0 (class 0) is processed next. Which way will the line move?"
    )
    assert circles(page, "#plane .turn") == 1
    answer(page, "deeper in class 0")
    assert text(page, "answered").startswith("Right. Row 0 (class 0) lies on the boundary")
    assert text(page, "at") == "1 of 36"
    ask(page, "way")
    answer(page, "deeper in class 1")
    assert text(page, "answered").startswith("Wrong. Row 1 (class 0) is on its side")
    assert text(page, "counted") == "1 of 2 right"


def test_the_next_mistake_is_clicked(opened):
    page = opened()
    page.click("#step")
    ask(page, "mistake")
    assert page.locator("#plane .number").all_text_contents() == ["0", "1", "2", "3"]
    assert not page.is_visible("#verdict")
    page.locator("#plane .point[data-row='3']").click()
    until(page, "!('asking' in document.body.dataset)")
    assert text(page, "answered").startswith("Right. 2 rows before it are on the right side. Row 3")
    assert text(page, "at") == "4 of 36"
    assert page.locator("#plane .point").count() == 4
    assert page.is_visible("#verdict")
    ask(page, "mistake")
    page.focus("#answer-row")
    page.keyboard.type("2")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, "!('asking' in document.body.dataset)")
    assert text(page, "answered").startswith("Wrong. Row 0")
    page.click("#last")
    ask(page, "mistake")
    answer(page, "None")
    assert text(page, "counted") == "2 of 3 right"


def test_will_it_ever_stop(opened):
    page = opened()
    ask(page, "stop")
    answer(page, "Yes")
    assert "at most 51 mistakes" in text(page, "answered")
    page.select_option("#preset", "xor")
    settled(page)
    ask(page, "stop")
    answer(page, "No, never")
    assert text(page, "counted") == "2 of 2 right"
    page.select_option("#method-name", "least_squares")
    settled(page)
    ask(page, "stop")
    answer(page, "It diverges")
    assert text(page, "answered").startswith("Wrong. It ends with")


def test_a_question_is_over_when_its_run_is(opened):
    page = opened()
    ask(page, "way")
    page.click("#step")
    assert text(page, "question") == ""
    assert page.locator("#answers button").count() == 0
    ask(page, "stop")
    page.select_option("#preset", "xor")
    until(page, "!('asking' in document.body.dataset)")
    page.check("#method-shuffle")
    settled(page)
    page.click("#ask-mistake")
    until(page, "document.querySelector('#answered').textContent.includes('in order')")


def button(page, name, which):
    return page.locator(f"#challenge-{name} button").nth(0 if which == "Begin" else 1)


def result(page, name, words):
    button(page, name, "Check").click()
    until(
        page, f"document.querySelector('#challenge-{name} .result').textContent.includes('{words}')"
    )


def begin(page, name):
    button(page, name, "Begin").click()
    settled(page)


def test_all_five_challenges(opened):
    page = opened()
    page.click("#challenges-box summary")
    assert page.locator("#challenges li").count() == 5

    begin(page, "many-updates")
    result(page, "many-updates", "Not yet. The perceptron needs 18 updates.")
    page.click("details:has(#table) summary")
    page.fill("#cell-3-0", "0.6")
    page.locator("#cell-3-0").press("Tab")
    page.fill("#cell-3-1", "0.6")
    page.locator("#cell-3-1").press("Tab")
    settled(page)
    result(page, "many-updates", "Done.")

    begin(page, "one-point")
    result(page, "one-point", "Not yet. Add one point")
    page.click("#class-1 >> xpath=..")
    of_zero = page.locator("#plane .c0").first.bounding_box()
    page.mouse.click(of_zero["x"] + 40, of_zero["y"] + 25)
    settled(page)
    result(page, "one-point", "Done.")

    begin(page, "diverging-step")
    result(page, "diverging-step", "Not yet.")
    page.fill("#method-learning_rate", "3")
    page.locator("#method-learning_rate").press("Tab")
    settled(page)
    result(page, "diverging-step", "Done. Steps of 3 increase the objective")

    begin(page, "xor")
    page.select_option("#method-name", "kernel_perceptron")
    settled(page)
    result(page, "xor", "Done.")

    begin(page, "strong-penalty")
    page.fill("#method-l2", "1")
    page.locator("#method-l2").press("Tab")
    settled(page)
    result(page, "strong-penalty", "Done. l2 = 1 costs 2 points")
    assert text(page, "challenges-done") == "5 of 5 done"
    page.click("#undo")
    settled(page)


def test_a_race(opened):
    page = opened()
    page.select_option("#preset", "or")
    settled(page)
    page.click("#race-start")
    until(page, "!document.querySelector('#race-lanes').hidden")
    assert "no mistakes after" in text(page, "race-result")
    assert "rows: no mistakes" in text(page, "race-result")
    assert "0 rows processed" in text(page, "race-at")
    page.focus("#race-clock")
    page.keyboard.press("End")
    for side in ("left", "right"):
        assert page.locator(f"#race-plane-{side} .point").count() == 4
        assert page.locator(f"#race-plane-{side} .boundary").count() == 1
        assert text(page, f"race-name-{side}").endswith(", 0 mistakes")
        assert circles(page, f"#race-plane-{side} .ring") == 0
    assert page.locator("#race-chart polyline").count() == 2
    page.click("#race-play")
    until(page, "parseInt(document.querySelector('#race-at').textContent) > 0")
    page.select_option("#rival-name", "kernel_perceptron")
    assert not page.is_visible("#race-lanes")
    page.click("#race-start")
    until(page, "!document.querySelector('#race-lanes').hidden")
    page.focus("#race-clock")
    page.keyboard.press("End")
    until(page, "document.querySelectorAll('#race-plane-right .region').length > 1")
    page.select_option("#preset", "xor")
    settled(page)
    assert not page.is_visible("#race-lanes")


@pytest.mark.parametrize("way", WAYS)
def test_none_of_it_stands_in_anybodys_way(opened, way):
    page = opened(way)
    page.click("#challenges-box summary")
    page.click("#race-start")
    until(page, "!document.querySelector('#race-lanes').hidden")
    for kind in ("way", "mistake", "stop"):
        ask(page, kind)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    answer(page, "Yes")
    page.locator("#challenge-xor button").nth(1).click()
    until(page, "document.querySelector('#challenge-xor .result').textContent !== ''")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    small = page.evaluate(
        """[...document.querySelectorAll('button, select, input, summary')].filter((one) => {
            const shape = one.getBoundingClientRect();
            return shape.width && (shape.width < 24 || shape.height < 24);
        }).map((one) => one.id || one.textContent)"""
    )
    assert small == []
