"""Cycles, held-out points, the proof and the charts of the page; run by ``make test-browser``."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from conftest import quiet
from playground_page import settled, text, until
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from separatrix import separability
from separatrix.apps.playground import links
from separatrix.apps.playground.descent import descent
from separatrix.apps.playground.standalone import standalone
from separatrix.page import files
from separatrix.page.document import joined

pytestmark = quiet
IS_HELD = """[...document.querySelectorAll('#plane .point')].map(
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


def go(page, state):
    """Open the state of another link in the same page."""
    page.evaluate("(link) => { location.hash = link; }", links.to_fragment(state))


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
    go(page, {"points": [*XOR, [3, 1, 1]], "method": {"name": "perceptron"}})
    until(page, "document.querySelectorAll('#plane .point').length === 5")
    settled(page)
    page.click("#last")
    cycle = text(page, "cycle")  # which begins later
    assert "back at the state after step" in cycle
    state = text(page, "arithmetic")
    for _ in range(int(cycle.split("cycle of ")[1].split()[0])):
        page.evaluate("document.querySelector('#step').click()")
    assert text(page, "arithmetic") == state
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
        is_held = np.array(page.evaluate(IS_HELD), dtype=bool)
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
        go(page, {"points": AND, "method": {"name": "perceptron", setting: value}})
        until(page, f"document.querySelector('#method-{setting}').value === '{value}'")
        settled(page)
        assert not page.is_visible("#proof-panel")
    page.select_option("#aside-of", "proof")
    assert text(page, "proof-words").startswith("The proof holds for the perceptron row by row")
    assert page.locator("#proof-view *").count() == 0


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
    for name in ("plane", "weight-view", "control-bar", "sentence", "arithmetic", "gradients"):
        box = page.locator(f"#{name}").bounding_box()
        assert box["y"] + box["height"] <= 800, name  # without scrolling
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
    for wrong, reason in (
        ({"curve": "cube"}, "curve: expected one of"), ({"start": 5}, "start: expected a number"),
        ({"learning_rate": "1"}, "learning_rate: expected a number"), ({"more": 1}, "curve.more"),
    ):  # fmt: skip
        go(page, {"points": AND, "method": {}, "curve": curve | wrong})
        until(page, f"document.querySelector('#message').textContent.includes('{reason}')")


@pytest.fixture(scope="module")
def conditions(chromium):
    """The engine's part of challenges by teachers: what a call returns, or why it is refused."""
    texts = {name: path.read_text() for name, path in files().items()}
    name = "engine/conditions.js"
    page = chromium.new_page()
    page.evaluate(f'{joined(texts, name)}; globalThis.conditions = modules["{name}"]; 1')

    def call(function, *given):
        return page.evaluate(
            """([name, given]) => {
                try { return conditions[name](...given); } catch (error) { return error.message; }
            }""",
            [function, given],
        )

    yield call
    page.close()


LEFT = [[-2, 0, 0], [-3, 1, 0], [-2, 2, 0], [-3, -1, 0]]
WIDE = [*LEFT, *([-x, y, 1] for x, y, _ in LEFT)]
FAR = [[x + 10, y, c] for x, y, c in WIDE]
MARGIN = {"kind": "margin", "value": 1.5}
UPDATES = {"kind": "updates", "value": 2}
HELD = {"kind": "held_out", "value": 0}
DISC = {"kind": "disc", "center": [1, 0], "radius": 0.5}
NEWTON = {"name": "newton", "loss": "logistic", "l2": 0.0001}


def arrays(points):
    return np.array([point[:2] for point in points]), np.array([point[2] for point in points])


def own(condition, points=WIDE, **more):
    return {"title": "A", "task": "B", "hint": "", "fixed": True, "condition": condition,
            "points": points} | more  # fmt: skip


@pytest.mark.parametrize(
    ("points", "condition", "solved", "failed", "words"),
    [(WIDE, MARGIN, NEWTON, {"name": "perceptron"}, "smallest margin"),
     (WIDE, UPDATES, {"name": "perceptron"}, NEWTON, "row by row"),
     (WIDE, UPDATES | {"value": 1}, {"name": "perceptron"}, {"name": "perceptron", "l2": 0.01},
      "does not end"),
     (FAR, HELD, NEWTON, NEWTON | {"fit_intercept": False}, "held-out points"),
     (WIDE, DISC, NEWTON | {"l2": 0.1}, NEWTON, "from the centre"),
     (WIDE, MARGIN, NEWTON, {"name": "kernel_perceptron"}, "boundary is a line")],
)  # fmt: skip
def test_every_condition_is_solved_and_failed(conditions, points, condition, solved, failed, words):
    challenge = own(condition, points)
    assert conditions("checkedOwn", challenge, points) == challenge
    assert conditions("impossible", challenge) is None
    found = conditions("metBy", challenge, {"points": points, "method": solved})
    assert found["done"], found
    missed = conditions("metBy", challenge, {"points": points, "method": failed})
    assert not missed["done"], missed
    assert words in missed["text"]


def test_points_of_challenges_are_fixed_or_moved(conditions):
    moved = [[5, 5, 0], *WIDE[1:]]
    asked = {"points": moved, "method": NEWTON}
    assert "are fixed" in conditions("metBy", own(MARGIN), asked)["text"]
    assert "margin at the end" in conditions("metBy", own(MARGIN, fixed=False), asked)["text"]
    fewer = {"points": WIDE[1:], "method": NEWTON}
    assert "none may be added" in conditions("metBy", own(MARGIN, fixed=False), fewer)["text"]


def test_a_challenge_that_cannot_be_met_is_refused(conditions):
    overlapping = [*WIDE[:4], [-2, 0, 1], *WIDE[5:]]  # the first of each class, which are held out
    for condition in (MARGIN, UPDATES, HELD, DISC):
        why = conditions("impossible", own(condition, overlapping))
        assert why.startswith("It cannot be met: no line separates"), condition
        assert conditions("impossible", own(condition, overlapping, fixed=False)) is None
    assert conditions("impossible", own(HELD | {"value": 1}, overlapping)) is None
    largest = separability(*arrays(WIDE)).margin
    for factor, refused in ((0.999, False), (1.001, True)):
        why = conditions("impossible", own({"kind": "margin", "value": factor * largest}))
        assert bool(why) == refused


def test_a_disc_is_refused_where_no_separating_weights_are_in_it(conditions):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(40):
        X = rng.normal(size=(6, 2)) + np.repeat([[0, 0], [3, 1]], 3, axis=0)
        points = [[*row, i // 3] for i, row in enumerate(X.tolist())]
        if separability(*arrays(points)).verdict != "separable":
            continue
        center, radius = rng.normal(size=2) * 2, float(rng.uniform(0.2, 2))
        D = (X[3:, None] - X[None, :3]).reshape(-1, 2)
        turns = np.linspace(0, 2 * np.pi, 2000)  # the weights of the circle, and the centre
        W = center + radius * np.stack([np.cos(turns), np.sin(turns)], axis=1)
        inside = (np.vstack([W, center]) @ D.T > 0).all(axis=1).any()
        condition = {"kind": "disc", "center": center.tolist(), "radius": radius}
        why = conditions("impossible", own(condition, points))
        assert (why is None) == inside, why
        seen.add(inside)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [({"title": ""}, "challenge.title"), ({"title": "x" * 81}, "up to 80"), ({"task": 3}, "task"),
     ({"hint": "\x00"}, "challenge.hint"), ({"fixed": 1}, "challenge.fixed"),
     ({"no": 1}, "no such"),
     ({"condition": {"kind": "toString"}}, "expected a kind"), ({"condition": []}, "a kind"),
     ({"condition": MARGIN | {"value": 0}}, "condition.value"),
     ({"condition": MARGIN | {"more": 0}}, "condition.more"),
     ({"condition": UPDATES | {"value": 1.5}}, "condition.value"),
     ({"condition": DISC | {"center": [1]}}, "condition.center"),
     ({"condition": DISC | {"radius": -1}}, "condition.radius"),
     ({"condition": HELD, "points": AND}, "4 points of each class"),
     ({"points": [[0, 0, 0]]}, "points")],
)  # fmt: skip
def test_challenges_of_links_are_read_strictly(conditions, wrong, reason):
    assert reason in conditions("checkedOwn", own(MARGIN) | wrong, WIDE)


def test_a_teacher_makes_a_challenge_and_a_student_saves_results(opened, tmp_path):
    page = opened({"points": AND, "method": {"name": "perceptron"}})
    page.click("#challenges-box summary")
    page.click("#own-box summary")
    nasty = "<img src=x onerror=alert(1)>"
    for name, value in (("title", nasty), ("task", "Use few updates."), ("hint", "Move none.")):
        page.fill(f"#own-{name}", value)
    page.fill("#own-value", "0.3")
    page.click("#own-make")
    assert "It cannot be met: the largest margin of these points is 0.243" in text(
        page, "own-result"
    )
    page.select_option("#own-kind", "updates")
    page.fill("#own-value", "18")
    page.click("#own-make")
    assert "part of the link" in text(page, "own-result")
    page.click("#step")
    page.wait_for_timeout(600)
    other = opened(links.from_fragment(page.url))
    assert text(other, "message") == ""
    mine = other.locator("#challenge-own")
    assert nasty in mine.inner_text()
    assert "at most 18 updates" in mine.inner_text()
    assert mine.locator("img").count() == 0
    other.select_option("#method-name", "newton")
    settled(other)
    mine.locator("button").nth(1).click()
    assert "Not yet. Use the perceptron, row by row." in mine.inner_text()
    mine.locator("button").nth(0).click()
    settled(other)
    mine.locator("button").nth(1).click()
    until(other, "document.querySelector('#challenge-own .result').textContent.startsWith('Done')")
    other.fill("#student", "Ada <b>")
    saved = {}
    for name in ("save-results", "print-results"):
        with other.expect_download() as download:
            other.click(f"#{name}")
        saved[name] = download.value.path().read_text()
    results = json.loads(saved["save-results"])
    (result,) = results["results"]
    assert (results["name"], result["title"], result["done"]) == ("Ada <b>", nasty, True)
    assert result["checks"] == 2
    state = links.from_fragment(result["link"])
    assert state["challenge"]["condition"] == {"kind": "updates", "value": 18}
    assert state["points"] == AND
    assert "<img" not in saved["print-results"]
    assert "&lt;img src=x onerror=alert(1)&gt;" in saved["print-results"]
    assert "Done. It needs 18 updates." in saved["print-results"]
