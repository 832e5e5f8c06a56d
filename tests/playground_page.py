"""The playground's page in a browser: what its tests look at, and how they wait."""

from __future__ import annotations

import time

TOKEN = "browser"
WAYS = {
    "light": {"viewport": {"width": 1280, "height": 1000}},
    "dark": {"viewport": {"width": 1280, "height": 1000}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
    "forced": {
        "viewport": {"width": 1280, "height": 1000}, "forced_colors": "active",
        "reduced_motion": "reduce",
    },
}  # fmt: skip


def text(page, name):
    return page.inner_text(f"#{name}")


def until(page, condition, seconds=15):
    """Waits; Playwright's own way evaluates strings, which the page's policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => {condition}"):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def settled(page):
    """The answer to the last change is there."""
    until(page, "!('busy' in document.body.dataset)")


def circles(page, selector):
    """How many circles a path draws."""
    return (page.get_attribute(selector, "d") or "").count("M")
