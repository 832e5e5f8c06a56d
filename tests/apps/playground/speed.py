"""How long the page takes to draw, by the browser's own clock: run by hand, asserts nothing.

CHROMIUM=chromium python tests/apps/playground/speed.py
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from playground_server import serving
from playwright.sync_api import sync_playwright

from separatrix import datasets
from separatrix.apps.playground.links import to_fragment
from separatrix.apps.playground.runs import PlaygroundRun

TOKEN = "speed"
STEPS = 200
# A step: what the click does, with the grid of a saved page, which needs no waiting for a server,
# and then style and layout, which a question for sizes forces.
TIMED = """async (steps) => { const found = [];
for (let i = 0; i < steps; i += 1) {
    const began = performance.now();
    document.getElementById('step').click();
    for (let turn = 0; turn < 20; turn += 1) await null;
    document.getElementById('plane').getBoundingClientRect();
    document.body.offsetHeight;
    found.push(performance.now() - began);
}
return found; }"""
PAINT = "performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)"


def state(count, name, passes):
    X, y = datasets.overlapping(count, random_state=0)
    points = [[*row, int(c)] for row, c in zip(np.round(X, 3).tolist(), y == y.max(), strict=True)]
    return {"points": points, "method": {"name": name, "max_iter": passes, "shuffle": True}}


def timed(browser, address):
    """Steps of one page, in words."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    (paint,) = page.evaluate(PAINT)
    times = page.evaluate(TIMED, STEPS)
    page.close()
    return (
        f"a step {statistics.median(times):.2f} ms median, {max(times):.1f} ms at most; "
        f"first paint {paint:.0f} ms"
    )


def main():
    long = state(200, "perceptron", 50)
    began = time.perf_counter()
    made = PlaygroundRun.of(long)
    made.answer(1)
    print(f"{len(made.recording)} steps of 200 points: {time.perf_counter() - began:.2f} s")
    path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    with serving(TOKEN) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in ("perceptron", "gradient_descent", "kernel_perceptron", "radial_basis"):
            reply = state(200, name, 5)
            link = f"http://127.0.0.1:{port}/?token={TOKEN}{to_fragment(reply)}"
            print(f"{name}: {timed(browser, link)}")
            with TemporaryDirectory() as folder:
                saved = Path(folder) / "saved.html"
                saved.write_text(PlaygroundRun.of(reply).page(), encoding="utf-8")
                print(f"{name}, saved: {timed(browser, saved.as_uri())}")
        browser.close()


if __name__ == "__main__":
    main()
