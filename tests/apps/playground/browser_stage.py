"""Cycles, held-out points, the proof and the charts of the page; run by ``make test-browser``."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import quiet
from playground_page import settled, text, until
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from separatrix.apps.playground import links
from separatrix.apps.playground.descent import descent
from separatrix.apps.playground.standalone import standalone
from separatrix.page import files
from separatrix.page.document import joined

pytestmark = quiet
HELD = """[...document.querySelectorAll('#plane .point')].map(
    (one) => Number(one.classList.contains('held')))"""
XOR = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(standalone())
    return path


@pytest.fixture
def opened(chromium, file):
    """Opens a state in the file, in one page of its own; nothing may be complained of."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    said = []

    def page(state=None):
        found = context.new_page()
        found.on("console", lambda message: said.append(message.text))
        found.on("pageerror", lambda error: said.append(str(error)))
        found.goto(f"file://{file}{links.to_fragment(state) if state else ''}")
        found.wait_for_selector("body[data-ready]", timeout=30_000)
        return found

    yield page
    context.close()
    assert said == []


def test_a_cycle_is_stepped_and_played_without_end(opened):
    page = opened({"points": XOR, "method": {"name": "perceptron"}})
    assert text(page, "cycle") == ""  # not yet seen
    page.click("#last")
    assert text(page, "cycle").startswith(
        "The run is back at the start: a cycle of 4 steps (1 pass)"
    )
    assert page.get_attribute("#weight-view .cycle", "points").count(",") == 5
    first = page.inner_text("#arithmetic")
    for _ in range(4):
        page.click("#step")
    assert text(page, "at") == "4 of 4, round 2"
    assert page.inner_text("#arithmetic") == first
    for _ in range(4):
        page.click("#back")
    assert text(page, "at") == "4 of 4"
    page.fill("#speed", "30")
    page.click("#play")
    until(page, "document.querySelector('#at').textContent.endsWith('round 4')")
    page.click("#play")
    page.click("#first")
    assert text(page, "at") == "0 of 4"


def test_a_cycle_may_begin_later_and_ends_nowhere_else(opened):
    points = [*XOR, [3, 1, 1]]
    page = opened({"points": points, "method": {"name": "perceptron"}})
    assert "ended" not in text(page, "state")
    page.click("#last")
    cycle = page.evaluate("document.querySelector('#cycle').textContent")
    assert "back at the state after step" in cycle
    state = page.inner_text("#arithmetic")
    for _ in range(int(cycle.split("cycle of ")[1].split()[0])):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#arithmetic") == state
    page.select_option("#preset", "and")
    settled(page)
    page.click("#last")
    assert text(page, "cycle") == ""
    assert page.is_disabled("#step")


def test_lambda_moves_the_boundary_and_its_losses_are_those_of_scikit_learn(opened):
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    X = (rng.normal(size=(40, 2)) + y[:, None]).round(3)
    points = [[*row, int(c)] for row, c in zip(X.tolist(), y, strict=True)]
    view = {"aside": "lambda"}
    page = opened({"points": points, "method": {"name": "newton", "l2": 0.1}, "view": view})
    until(page, "document.querySelector('#lambda-words').textContent.includes('lowest at')")
    assert page.locator("#plane .held").count() == 8
    seen = {}
    for number, l2 in ((4, 0.001), (12, 0.1), (20, 10.0)):
        page.fill("#lambda", str(number))
        boundary = page.get_attribute("#plane .arrow", "d")
        is_held = np.array(page.evaluate(HELD), dtype=bool)
        training, held = np.flatnonzero(~is_held), np.flatnonzero(is_held)
        fitted = LogisticRegression(C=1 / (2 * l2 * 32), tol=1e-12, max_iter=10_000)
        fitted.fit(X[training], y[training])
        words = text(page, "lambda-words")
        for rows, before in ((training, "training points "), (held, "wrong) ")):
            wanted = log_loss(y[rows], fitted.predict_proba(X[rows]))
            assert float(re.search(re.escape(before) + r"([\d.]+\d)", words)[1]) == pytest.approx(
                wanted, rel=2e-3
            )
        seen[l2] = boundary
    assert len(set(seen.values())) == 3
    page.click("#step")  # the run again
    assert page.locator("#plane .held").count() == 0
    page.select_option("#preset", "and")
    page.select_option("#aside-of", "lambda")
    until(
        page, "document.querySelector('#lambda-words').textContent.includes('two points or more')"
    )


AND = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
NUMBER = r"([\d.e+-]*\d)"


def test_the_proof_is_drawn_only_where_its_bounds_hold(opened):
    page = opened({"points": AND, "method": {"name": "perceptron", "learning_rate": 0.5}})
    total = int(text(page, "at").split()[-1])
    chain = (
        rf"t = {NUMBER}: t gamma = {NUMBER} <= v . u = {NUMBER} <= \|v\| = {NUMBER} "
        rf"<= .* R = {NUMBER},"
    )
    for step in range(0, total + 1, 6):
        page.fill("#scrub", str(step))
        t, low, along, length, high = map(
            float, re.match(chain, text(page, "proof-words")).groups()
        )
        assert low <= along * (1 + 1e-3)
        assert along <= length * (1 + 1e-3)
        assert length <= high * (1 + 1e-3)
        assert high == pytest.approx(3**0.5 * t**0.5, rel=1e-3)  # |(1, 1, 1)|
        assert low == pytest.approx(
            t / 17**0.5, rel=1e-3
        )  # of (2, 2, -3): margin 1, length sqrt 17
    assert text(page, "proof-words").count("51")
    for setting, value in (("l2", 0.01), ("start", "random"), ("schedule", "inverse_scaling")):
        other = opened({"points": AND, "method": {"name": "perceptron", setting: value}})
        assert not other.is_visible("#proof-panel")
        other.select_option("#aside-of", "proof")
        assert text(other, "proof-words").startswith(
            "The proof holds for the perceptron row by row"
        )
        assert other.locator("#proof-view *").count() == 0


def test_probabilities_and_both_gradients_are_those_of_the_formulas(opened):
    points = [[0, 0, 0], [2, 1, 1], [-1, 2, 2], [1, 1, 0]]
    method = {"name": "gradient_descent", "form": "batch", "loss": "logistic", "l2": 0.25,
              "learning_rate": 0.5}  # fmt: skip
    page = opened({"points": points, "method": method, "step": 2})
    Z = np.array([[u, v, 1.0] for u, v, _ in points])
    wanted = np.eye(3)[[c for *_, c in points]]

    def p(W):
        e = np.exp(Z @ W.T)
        return e / e.sum(axis=1, keepdims=True)

    W = np.zeros((3, 3))
    for _ in range(2):
        of_loss = (p(W) - wanted).T @ Z / 4
        of_penalty = 2 * 0.25 * W * [1, 1, 0]
        W = W - 0.5 * (of_loss + of_penalty)
    label = page.get_attribute("#probabilities-view", "aria-label")
    found = [float(one) for one in re.findall(r"class \d " + NUMBER, label)]
    np.testing.assert_allclose(found, p(W)[0], rtol=1e-3)
    said = text(page, "gradients")
    numbers = [
        [float(v) for v in part.split(",")] for part in re.findall(r"\(([^)]*)\)", said)
    ]  # three classes each: of the loss, of the penalty, their sum
    expected = np.vstack([of_loss, of_penalty, of_loss + of_penalty])
    np.testing.assert_allclose(numbers, expected, rtol=1e-3, atol=1e-9)


def test_a_diverging_run_has_log_scales_and_shows_where_its_weights_are(opened):
    method = {"name": "gradient_descent", "loss": "squared", "form": "batch", "learning_rate": 3,
              "max_iter": 200}  # fmt: skip
    page = opened({"points": AND, "method": method})
    assert "log scale" in page.text_content("#norm-view")
    assert "then infinite" in page.text_content("#objective-view")
    assert page.get_attribute("#weight-view .off-frame", "d") == ""
    page.click("#last")
    assert page.get_attribute("#weight-view .off-frame", "d").startswith("M")
    assert re.search(r"outside of the picture: w1 = \d\.\d+e\+1\d\d, w2", text(page, "weight-held"))
    xs = [float(place.split(",")[1])
          for place in page.get_attribute("#norm-view .curve", "points").split()]  # fmt: skip
    falls = np.diff(xs[5:])
    assert falls.max() - falls.min() < 0.5  # a straight line
    page.select_option("#method-name", "newton")
    settled(page)
    assert "log scale" not in page.text_content("#norm-view")


def test_descent_on_a_curve_is_that_of_the_library(chromium):
    rng = np.random.default_rng(1)
    asked = [
        {"curve": "square", "start": -1, "learning_rate": rate} for rate in (0.1, 1, 1.1, 1e-3)
    ]
    for curve, side in (("square", 2), ("two minima", 1.7)):
        for rate in (*rng.uniform(1e-3, 0.12, 12), *rng.uniform(2, 10, 4)):
            start = float(rng.uniform(-side, side))
            asked.append({"curve": curve, "start": start, "learning_rate": float(rate)})
    texts = {name: path.read_text() for name, path in files().items()}
    name = "engine/descent.js"
    page = chromium.new_page()
    page.evaluate(f'{joined(texts, name)}; globalThis.descentOf = modules["{name}"].descentOf; 1')
    found = page.evaluate("(asked) => asked.map(descentOf)", asked)
    page.close()
    for one, reply in zip(asked, found, strict=True):
        wanted = descent(one)
        assert list(reply) == list(wanted)
        for name in ("text", "stop", "sentence"):
            assert reply[name] == wanted[name], one
        assert reply["arithmetic"][:5] == wanted["arithmetic"][:5]
        for name in ("x", "f", "path", "values", "gradients"):
            found_here = np.array(reply[name], dtype=float)  # large ones come as whole numbers
            np.testing.assert_allclose(found_here, wanted[name], rtol=1e-9, atol=1e-12)


def test_a_link_opens_the_curve_and_says_its_end_last(opened):
    curve = {"curve": "two minima", "start": 1.5, "learning_rate": 0.05}
    page = opened({"points": AND, "method": {}, "curve": curve})
    assert not page.is_visible("#plane")
    assert text(page, "curve-at") == "0"
    assert "lowest" not in text(page, "curve-sentence")
    page.click("#curve-play")
    until(page, "Number(document.querySelector('#curve-at').textContent) > 1")
    page.click("#curve-last")
    assert text(page, "curve-sentence").endswith("only the local slope guides it.")
    page.fill("#curve-rate", "0.1")
    page.press("#curve-rate", "Tab")
    page.wait_for_timeout(500)
    link = links.from_fragment(page.url)
    assert link["curve"] == curve | {"learning_rate": 0.1}
    page.click("#close-curve")
    assert page.is_visible("#plane")
    for wrong in ({"curve": "cube"}, {"start": 5}, {"learning_rate": "1"}, {"more": 1}):
        other = opened({"points": AND, "method": {}, "curve": curve | wrong})
        assert "cannot be shown" in text(other, "message")
