"""One Chromium for all browser tests of a worker, those of built pages included.

tests/conftest.py has these fixtures: a folder that had its own would start a second browser, which
Playwright refuses in one process.
"""

import os
import shutil
from functools import cache
from pathlib import Path

import pytest

CHROMIUM_VARIABLE = "INTERPRET_DP_CHROMIUM"


@cache
def script(name):
    """Return what a page is to run: a function of JavaScript."""
    path = Path(__file__).parent / "scripts" / f"{name}.js"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser():
    """Start Chromium with an empty profile."""
    from playwright.sync_api import sync_playwright

    from tests.browser.driver import CHROMIUM_ARGUMENTS

    executable = os.environ.get(CHROMIUM_VARIABLE) or shutil.which("chromium")
    if executable is None:
        pytest.skip(
            "no chromium on PATH: install Debian's package 'chromium', "
            f"or set {CHROMIUM_VARIABLE} to an executable"
        )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=executable, args=list(CHROMIUM_ARGUMENTS)
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def _browser_context(browser):
    """Keep what pages load from the server, so that it is loaded and compiled once."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def browser_page(_browser_context):
    """Return a fresh page, 1400 x 1000 pixels."""
    page = _browser_context.new_page()
    page.set_viewport_size({"width": 1400, "height": 1000})
    yield page
    page.close()
    _browser_context.set_offline(False)
