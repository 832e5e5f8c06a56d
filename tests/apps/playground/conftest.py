"""The playground's server, and its page, opened in a real browser."""

from __future__ import annotations

import os
import re
import shutil

import pytest
from playground_page import TOKEN, WAYS
from playground_server import serving


@pytest.fixture(scope="session")
def port():
    with serving(TOKEN) as port:
        yield port


@pytest.fixture(scope="session")
def address(port):
    return f"http://127.0.0.1:{port}/?token={TOKEN}"


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, address):
    """Opens the page; at the end nothing was complained of, and nothing left the machine."""
    made = []
    said, asked = [], []

    def page(way="light", link="", path=""):
        context = chromium.new_context(**WAYS[way])
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        made.append(context)
        found = context.new_page()
        found.on("console", lambda message: said.append(message.text))
        found.on("pageerror", lambda error: said.append(str(error)))
        found.on("request", lambda request: asked.append(request.url))
        found.goto(address.replace("/?", f"/{path}?") + link)
        found.wait_for_selector("body[data-ready]", timeout=30_000)
        return found

    yield page
    for context in made:
        context.close()
    assert said == []
    own = re.compile(r"^(http://127\.0\.0\.1:\d+/|data:|blob:)")
    assert all(own.match(url) for url in asked)
