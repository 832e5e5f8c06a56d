"""How long the playground's page takes to draw a step, for every method, and to paint first.

    python -m benchmarks.page_speed                 all methods, 200 points
    python -m benchmarks.page_speed newton --points 50

Times are by the browser's own clock, in Chromium (``CHROMIUM=/path/to/it``) without a display. The
page is one file without a server. A step is one move of the slider: what the page computes and
changes, and then style and layout, which a question for sizes forces. It asserts nothing: the last
column marks what misses the goals. They hold on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from separatrix import datasets
from separatrix.apps.playground.links import to_fragment
from separatrix.apps.playground.standalone import standalone

STEP_GOAL = 8.0  # milliseconds, median: half a frame of 60 Hz
PAINT_GOAL = 300.0  # milliseconds: it feels immediate
STEPS = 200  # of each method, after a tenth of them to warm up
PAINTS = 5  # pages that are opened anew
METHODS = (
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
)  # fmt: skip
TIMED = """async (steps) => {
    const [found, scrub] = [[], document.getElementById("scrub")];
    const warm = steps / 10;
    for (let i = 0; i < steps + warm; i += 1) {
        const began = performance.now();
        scrub.value = (Number(scrub.value) + 1) % (Number(scrub.max) + 1);
        scrub.dispatchEvent(new Event("input", { bubbles: true }));
        for (let turn = 0; turn < 40; turn += 1) await null; // what the engine answers
        document.getElementById("plane").getBoundingClientRect();
        document.body.offsetHeight;
        if (i >= warm) found.push(performance.now() - began);
        await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return found;
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)"


def state(name: str, count: int) -> dict[str, Any]:
    """Points that overlap, and a method in its usual form, of which five passes are computed."""
    X, y = datasets.overlapping(count, random_state=0)
    points = [[*row, int(c)] for row, c in zip(np.round(X, 3).tolist(), y == y.max(), strict=True)]
    return {"points": points, "method": {"name": name, "max_iter": 5, "l2": 0.01}}


def steps(browser: Any, address: str) -> list[float]:
    """Milliseconds of each step of one page."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    times: list[float] = page.evaluate(TIMED, STEPS)
    page.close()
    return times


def first_paint(browser: Any, address: str) -> float:
    """Milliseconds until a new profile shows something of the page."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    (found,) = page.evaluate(PAINT)
    page.close()
    return float(found)


def line(what: str, times: list[float], goal: float) -> str:
    """A row of the table."""
    median = statistics.median(times)
    missed = "" if median <= goal else f"  above {goal:g} ms"
    return f"{what:20s} {median:8.2f} {max(times):8.2f}{missed}"


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser("python -m benchmarks.page_speed")
    parser.add_argument("methods", nargs="*", default=METHODS, help="all if none is given")
    parser.add_argument("--points", type=int, default=200)
    asked = parser.parse_args(arguments)
    path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(standalone(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        print(f"{'milliseconds':20s} {'median':>8s} {'most':>8s}")
        paints = [first_paint(browser, file.as_uri()) for _ in range(PAINTS)]
        print(line("first paint", paints, PAINT_GOAL), flush=True)
        for name in asked.methods:
            link = file.as_uri() + to_fragment(state(name, asked.points))
            print(line(name, steps(browser, link), STEP_GOAL), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
