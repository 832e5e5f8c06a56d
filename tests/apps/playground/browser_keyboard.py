"""The playground by keyboard alone, under random actions, and while its server still starts."""

from __future__ import annotations

import threading

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import quiet
from playground_page import settled, text, until
from playground_server import serving

from separatrix.apps.playground import server
from separatrix.apps.playground.workers import Workers

pytestmark = quiet
METHODS = ("perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
           "kernel_perceptron", "radial_basis")  # fmt: skip
MOST_TABS = 300

# Everything that a mouse can use, in the order of the document; of radio buttons, one for a group.
REACHABLE = """() => {
    const named = (one) => one.id || one.outerHTML.slice(0, 80);
    const all = [...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex]")];
    const usable = all.filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility()
        && !(one.type === "radio" && !one.checked));
    window.focused = [];
    document.addEventListener("focusin", ({ target }) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(target);
        const reach = target.querySelector?.(".reach");
        const shown = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2)
            || Boolean(reach && parseFloat(getComputedStyle(reach).strokeWidth) >= 2);
        window.focused.push([named(target), shown]);
    });
    return usable.map(named);
}"""


def to(page, name):
    """Go to an element with the tab key."""
    for _ in range(MOST_TABS):
        if page.evaluate("document.activeElement.id") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached by keyboard")


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(opened):
    page = opened()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    until(page, "document.querySelectorAll('#table input').length > 0")
    wanted = page.evaluate(REACHABLE)
    assert len(wanted) > 50
    for _ in range(len(wanted)):
        page.keyboard.press("Tab")
    found = page.evaluate("window.focused")
    assert [name for name, _ in found] == wanted
    assert [name for name, shown in found if not shown] == []
    unnamed = page.evaluate(
        """[...document.querySelectorAll("button, input, select, textarea, svg[role]")].filter(
            (one) => one.checkVisibility() && !one.labels?.length && !one.textContent.trim()
                && !one.getAttribute("aria-label") && !one.getAttribute("aria-labelledby"))
            .map((one) => one.id)"""
    )
    assert unnamed == []


def test_points_are_placed_and_a_run_is_stepped_without_a_mouse(opened):
    page = opened()
    page.keyboard.press("Space")
    assert text(page, "at") == "1 of 36"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert text(page, "at") == "2 of 36"
    page.keyboard.press("End")
    assert "ended: no mistakes" in text(page, "state")
    page.keyboard.press("Home")
    assert text(page, "at") == "0 of 36"
    to(page, "preset")
    page.keyboard.type("xor")
    settled(page)
    until(page, "document.querySelector('#verdict').textContent.startsWith('No line')")
    to(page, "plane")
    for key in ("n", "[", "]", "ArrowLeft", "ArrowUp", "2"):
        page.keyboard.press(key)
        settled(page)
    assert page.locator("#plane .point").count() == 5
    page.keyboard.press("Delete")
    settled(page)
    assert page.locator("#plane .point").count() == 4
    to(page, "method-name")
    page.keyboard.type("kernel")
    settled(page)
    assert page.input_value("#method-name") == "kernel_perceptron"
    page.focus("body")
    to(page, "last")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('#plane .region').length > 1")
    assert "no mistakes" in text(page, "state")
    to(page, "ask-stop")
    page.keyboard.press("Enter")
    until(page, "'asking' in document.body.dataset")
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.parentElement.id") != "answers":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#answered').textContent.startsWith('Right')")


@pytest.mark.parametrize(("preset", "name"), [("three classes", "batch_perceptron"),
                                              ("xor", "radial_basis")])  # fmt: skip
def test_other_methods_are_accessible(opened, preset, name):
    page = opened()
    page.select_option("#preset", preset)
    page.select_option("#method-name", name)
    settled(page)
    page.click("#last")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


ACTIONS = """async ([seed, name, count]) => {
    const draw = (below) => { seed = (seed * 16807) % 2147483647; return seed % below; };
    const changed = (one, kind) => one.dispatchEvent(new Event(kind, { bubbles: true }));
    const choose = (select, value) => { select.value = value; changed(select, "change"); };
    const usable = (query) => [...document.querySelectorAll(query)].filter(
        (one) => !one.disabled && one.checkVisibility());
    const pick = (list) => list[draw(list.length)];
    const kept = ["method-name", "preset"];
    const away = ["copy-link", "copy-python", "copy-command", "save-page", "save-svg", "save-json",
        "embed", "teacher"];
    choose(document.getElementById("method-name"), name);
    let done = 0;
    for (; done < count; done += 1) {
        const kind = draw(5);
        if (kind === 0) {
            const select = pick(usable("select").filter(
                (one) => one.options.length && !kept.includes(one.id)));
            choose(select, pick(select.options).value);
        } else if (kind === 1) {
            const plane = document.getElementById("plane");
            plane.focus();
            const key = pick(["n", "]", "ArrowLeft", "ArrowUp", "1", "2", "3"]);
            plane.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        } else if (kind === 2) {
            const range = document.getElementById("scrub");
            range.value = draw(Number(range.max) + 1);
            changed(range, "input");
        } else {
            const buttons = usable("main button, main input[type=checkbox]");
            pick(buttons.filter((one) => !away.includes(one.id))).click();
        }
        await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return done;
}"""


def test_no_action_of_any_method_is_an_error_in_the_console(opened):
    page = opened()
    count = 0
    for seed, name in enumerate(METHODS):
        page.select_option("#preset", "three classes" if name == "gradient_descent" else "xor")
        settled(page)
        count += page.evaluate(ACTIONS, [seed + 1, name, 30])
        settled(page)
    assert count >= 200


def test_the_page_is_there_before_the_workers_of_its_server(chromium, monkeypatch):
    ready = threading.Event()

    def later():
        ready.wait(30)
        return Workers(1)

    monkeypatch.setattr(server, "Workers", later)
    with serving("early") as port:
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{port}/?token=early")
        assert page.is_visible("#plane")
        assert page.locator("#preset option").count() > 5
        assert page.get_attribute("body", "data-ready") is None
        ready.set()
        page.wait_for_selector("body[data-ready]", timeout=30_000)
        assert text(page, "at") == "0 of 36"
        page.close()
