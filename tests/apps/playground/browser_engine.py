"""The engine of the page against the library, in a real browser; run by ``make test-browser``."""

from __future__ import annotations

import pytest
from conftest import quiet
from engine_problems import compare_all, script

pytestmark = quiet


@pytest.fixture(scope="module")
def evaluate(chromium):
    """Runs the engine on problems."""
    page = chromium.new_page()
    page.evaluate(script())
    yield lambda problems: page.evaluate("(problems) => oracle.all(problems)", problems)
    page.close()


def test_every_step_is_that_of_the_library(evaluate):
    seen = compare_all(0, 210, evaluate)
    assert seen["problems"] == 210
    assert seen["steps"] > 3000
    assert seen["whole runs"] > 80


def test_whole_numbers_agree_bit_for_bit(evaluate):
    assert compare_all(0, 60, evaluate, whole=True)["whole runs, bit for bit"] > 50
