"""The playground's views in a real browser: charts, weight space, features, flip, descent."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import quiet
from playground_page import WAYS, circles, settled, text, until

pytestmark = quiet


def points_of(page, selector):
    """Of a polyline, in pixels of its picture."""
    drawn = page.get_attribute(selector, "points") or ""
    return [tuple(map(float, place.split(","))) for place in drawn.split()]


def landscape(page):
    """The contours of what is chosen are there."""
    until(page, "document.querySelectorAll('#weight-view .bands path').length > 1")


def test_weight_space_shows_the_walk_over_the_contours(opened):
    page = opened()
    landscape(page)
    page.click("#last")
    assert "Fixed at this step: b = -4." in text(page, "weight-held")
    until(
        page, "document.querySelector('#weight-levels').textContent.includes('Objective from 0 ')"
    )
    walk = points_of(page, "#weight-view .walk")
    assert len(walk) == 37
    assert points_of(page, "#weight-view .walked") == walk
    dot = page.locator("#weight-view .now-at")
    assert float(dot.get_attribute("cx")) == pytest.approx(walk[-1][0])
    assert page.get_attribute("#weight-view .contours", "d")
    page.click("#first")
    assert float(dot.get_attribute("cx")) == pytest.approx(walk[0][0])
    page.select_option("#weight-of", "mistakes")
    until(page, "document.querySelector('#weight-levels').textContent.includes('Mistakes from')")
    assert page.get_attribute("#weight-view .contours", "d") == ""
    page.select_option("#weight-up", "2")  # the bias
    page.click("#last")
    assert text(page, "weight-held").startswith("Fixed at this step: w2 = 2.")
    assert "w1 = 3, b = -4 at step 36" in page.get_attribute("#weight-view", "aria-label")
    page.uncheck("#method-fit_intercept")
    settled(page)
    assert page.locator("#weight-across option").count() == 1  # w2 is taken: there is no bias
    assert "nothing" in text(page, "weight-held")


def test_weight_space_of_three_classes_and_of_kernels(opened):
    page = opened()
    page.select_option("#preset", "three classes")
    settled(page)
    landscape(page)
    page.select_option("#weight-column", "2")
    page.click("#last")
    assert "of the other classes" in text(page, "weight-held")
    page.select_option("#method-name", "kernel_perceptron")
    settled(page)
    assert not page.is_visible("#weight-view")


def test_charts_have_the_bound_and_the_limit_as_lines(opened):
    page = opened()
    assert "bound: 51" in page.text_content("#updates-view")
    page.fill("#method-max_norm", "3")
    page.press("#method-max_norm", "Tab")
    settled(page)
    until(page, "document.querySelector('#norm-view').textContent.includes('limit: 3')")
    assert page.locator("#norm-view .bound").count() == 1
    page.click("#last")
    assert "ended: max_norm" in text(page, "state")
    page.locator("#mistakes-view").click()  # in its middle
    assert 0 < int(text(page, "at").split()[0]) < 16
    assert f"at step {text(page, 'at').split()[0]}" in page.get_attribute(
        "#mistakes-view", "aria-label"
    )


def test_the_loss_has_a_dot_for_every_row(opened):
    page = opened()
    page.click("#last")
    assert [circles(page, f"#loss-view .dots .{kind}") for kind in ("c0", "c1", "out")] == [3, 1, 0]


def test_the_plane_tells_all_of_a_step(opened):
    page = opened()
    page.select_option("#preset", "small margin")
    settled(page)
    page.click("#mistake")
    assert circles(page, "#plane .turn") == 1
    assert circles(page, "#plane .ring") > 0
    assert page.locator("#plane .boundary").count() == 1
    page.click("#last")
    assert page.locator("#plane .region").count() == 2
    assert page.locator("#plane .arrow").count() == 1
    sizes = page.locator("#plane circle.point").evaluate_all(
        "all => all.map((c) => c.r.baseVal.value)"
    )
    assert len(set(sizes)) > 1  # by strength


def test_flip_turns_one_class_round(opened):
    page = opened()
    page.click("#last")
    page.check("#flip")
    places = page.locator("#plane .point").evaluate_all(
        """all => all.map((one) => {
            const { x, y, width, height } = one.getBBox();
            return [x + width / 2, y + height / 2];
        })"""
    )
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = places  # (0, 0), (0, 1), (1, 0) of class 0, (1, 1)
    assert (x1, y2) == (pytest.approx(x0), pytest.approx(y0))
    assert y1 > y0  # (0, 1) hangs below
    assert x2 < x0
    assert (x3 > x0, y3 < y0) == (True, True)
    assert page.locator("#plane .boundary").count() == 2  # the bias has another sign when turned
    page.select_option("#preset", "or")
    settled(page)
    page.uncheck("#method-fit_intercept")
    settled(page)
    page.click("#last")
    assert page.locator("#plane .right-side").count() == 1


def centre(page, row):
    where = page.locator(f"#plane .point[data-row='{row}']").bounding_box()
    return where["x"] + where["width"] / 2, where["y"] + where["height"] / 2


def test_points_are_moved_where_they_are_drawn_when_flipped(opened):
    page = opened()
    page.check("#flip")
    page.click("details summary")
    x, y = centre(page, 1)  # (0, 1) of class 0, drawn at (0, -1)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=3)
    assert centre(page, 1)[0] == pytest.approx(x + 40, abs=2)
    page.mouse.up()
    settled(page)
    assert float(page.input_value("#cell-1-0")) < -0.1
    assert float(page.input_value("#cell-1-1")) == pytest.approx(1, abs=0.05)
    x, _ = centre(page, 1)
    page.focus("#plane")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert centre(page, 1)[0] > x
    page.click("#class-0 >> xpath=..")
    plane = page.locator("#plane").bounding_box()
    x, y = plane["x"] + 0.8 * plane["width"], plane["y"] + 0.8 * plane["height"]
    page.mouse.click(x, y)
    until(page, "document.querySelectorAll('#plane .point').length === 5")
    assert float(page.input_value("#cell-4-0")) < 0
    for kind in ("kernel_perceptron", "perceptron"):  # no line, nothing to flip
        page.select_option("#method-name", kind)
        settled(page)
        assert page.is_disabled("#flip") == (kind == "kernel_perceptron")
    page.select_option("#preset", "three classes")
    settled(page)
    assert page.is_disabled("#flip")


def test_a_point_is_taken_hold_of_near_it(opened):
    page = opened()
    x, y = centre(page, 3)
    page.mouse.click(x + 11, y)
    settled(page)
    assert page.locator("#plane .point").count() == 4
    assert circles(page, "#plane .chosen") == 1
    page.mouse.click(x + 30, y)
    until(page, "document.querySelectorAll('#plane .point').length === 5")


def test_every_class_has_an_arrow(opened):
    page = opened()
    page.select_option("#preset", "three classes")
    settled(page)
    page.click("#last")
    kinds = page.locator("#plane .arrow").evaluate_all("all => all.map((a) => a.classList[1])")
    assert kinds == ["l0", "l1", "l2"]
    assert page.locator("#plane .rings text").all_text_contents() == [
        "w of 0", "w of 1", "w of 2"
    ]  # fmt: skip
    page.click("details summary")
    page.fill("#csv", "0,0,a\n1,0,b\n0,1,c\n1,1,d\n")
    page.click("#take-csv")
    until(page, "document.querySelectorAll('#plane .point').length === 4")
    settled(page)
    page.click("#last")
    assert page.locator("#plane .arrow").count() == 4
    assert page.locator("#plane .region").count() == 4


def test_an_arrow_is_seen_wherever_the_line_is(opened):
    page = opened()
    page.select_option("#method-start", "random")
    for preset in ("small margin", "unscaled", "one outlier"):
        page.select_option("#preset", preset)
        settled(page)
        for _ in range(6):
            plane = page.locator("#plane").bounding_box()
            arrow = page.locator("#plane .arrow").bounding_box()
            assert max(arrow["width"], arrow["height"]) > 30
            assert plane["x"] - 1 <= arrow["x"]
            assert arrow["x"] + arrow["width"] <= plane["x"] + plane["width"] + 1
            page.click("#mistake")


def test_a_line_out_of_sight_is_reported(opened):
    page = opened()
    page.click("#step")  # (0, 0, -1): no line at all
    assert page.locator("#plane .arrow").count() == 0
    page.select_option("#method-name", "gradient_descent")
    page.fill("#method-learning_rate", "0.5")
    page.press("#method-learning_rate", "Tab")
    settled(page)
    page.click("#step")
    page.click("#step")
    assert page.locator("#plane .boundary").count() == 0
    assert page.locator("#plane .afar").count() == 1
    assert "the line is not visible" in page.text_content("#plane")


def test_features_have_a_plane_of_their_own(opened):
    page = opened()
    assert not page.is_visible("#feature-view")
    page.select_option("#preset", "ring")
    page.select_option("#method-name", "radial_basis")
    settled(page)
    page.click("#last")
    until(page, "document.querySelectorAll('#plane path.boundary').length === 1")
    assert page.locator("#feature-view .point").count() == 80
    assert page.locator("#feature-view .boundary").count() == 1
    assert page.locator("#plane .centre").count() == 2
    page.fill("#method-centers", "3")
    page.press("#method-centers", "Tab")
    settled(page)
    assert "first two of 3" in text(page, "feature-note")
    assert page.locator("#feature-view .boundary").count() == 0


def test_the_verdict_names_rows_and_where_hulls_meet(opened):
    page = opened()
    page.select_option("#preset", "xor")
    until(page, "document.querySelector('#verdict').textContent.includes('meet at (0.5, 0.5)')")
    assert "rows 0, 1, 2, 3 prove" in text(page, "verdict")
    assert page.locator("#plane .witness").count() == 4
    where = page.locator("#plane .point").nth(3).bounding_box()
    plane = page.locator("#plane").bounding_box()
    page.mouse.move(where["x"] + 4, where["y"] + 4)
    page.mouse.down()
    page.mouse.move(plane["x"] + 0.2 * plane["width"], plane["y"] + 0.93 * plane["height"], steps=3)
    page.mouse.up()
    until(page, "document.querySelector('#verdict').textContent.startsWith('Separable')")
    assert page.locator("#plane .witness").count() == 0


def descent(opened, way="light"):
    page = opened(way)
    page.click("#open-curve")
    settled(page)
    return page


@pytest.mark.parametrize(
    ("example", "words"),
    [("x^2, step 0.1", "the minimum"), ("x^2, step 1", "oscillates"),
     ("x^2, step 1.1", "diverges"), ("two minima, from 1.5", "not the lowest")],
)  # fmt: skip
def test_descent_by_example(opened, example, words):
    page = descent(opened)
    page.get_by_role("button", name=example, exact=True).click()
    assert words not in text(page, "curve-sentence")  # not yet
    page.click("#curve-step")
    assert text(page, "curve-arithmetic").startswith("x <- x - ")
    assert len(points_of(page, "#descent-view .walked")) == 2
    assert page.locator("#descent-view .tangent").count() == 1
    page.click("#curve-last")
    assert words in text(page, "curve-sentence")
    assert page.is_disabled("#curve-step")


def test_descent_by_mouse_and_by_keys(opened):
    page = descent(opened)
    view = page.locator("#descent-view").bounding_box()
    start = page.locator("#handle-start .reach").bounding_box()
    assert min(start["width"], start["height"]) >= 24
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(view["x"] + 0.75 * view["width"], view["y"] + 0.5 * view["height"], steps=3)
    page.mouse.up()
    until(page, "Math.abs(document.querySelector('#curve-start').value - 1) < 0.1")
    settled(page)
    end = page.locator("#handle-size .reach").bounding_box()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2)
    page.mouse.down()
    page.mouse.move(view["x"] + 0.5 * view["width"], end["y"] + 10, steps=3)
    page.mouse.up()
    until(page, "Math.abs(document.querySelector('#curve-rate').value - 0.5) < 0.02")
    settled(page)
    before = float(page.input_value("#curve-start"))
    page.focus("#handle-start")
    page.keyboard.press("ArrowLeft")
    until(page, f"document.querySelector('#curve-start').value < {before - 0.04}")
    assert page.evaluate("document.activeElement.id") == "handle-start"
    page.focus("#handle-size")
    page.keyboard.press("PageUp")
    until(page, "document.querySelector('#curve-rate').value > 0.53")
    settled(page)
    assert page.get_attribute("#handle-size", "aria-valuenow") == page.input_value("#curve-rate")
    page.fill("#curve-start", "9")
    page.press("#curve-start", "Tab")
    until(page, "document.querySelector('#curve-start').value === '2'")
    settled(page)


@pytest.mark.parametrize("way", WAYS)
def test_no_view_stands_in_anybodys_way(opened, way):
    page = opened(way)
    page.select_option("#preset", "ring")
    page.select_option("#method-name", "radial_basis")
    settled(page)
    page.click("#last")
    landscape(page)
    for seen in (page, descent(opened, way)):
        found = Axe().run(seen)
        assert found.violations_count == 0, found.generate_report()
        assert seen.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        small = seen.evaluate(
            """[...document.querySelectorAll('button, select, input, a, .reach')].filter((one) => {
                const shape = one.getBoundingClientRect();
                return shape.width && (shape.width < 24 || shape.height < 24);
            }).map((one) => one.id || one.textContent)"""
        )
        assert small == []
