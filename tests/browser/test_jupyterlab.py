"""The example notebook in JupyterLab: its editor, driven as a user would."""

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.browser.conftest import free_port
from tests.browser.shared import script

EXAMPLE = Path(__file__).parents[2] / "examples" / "from_schema_to_card.ipynb"
# The editor's figure, and the present score of each of its bins; empty until it is drawn.
_PLOT = """[...document.querySelectorAll('.js-plotly-plot')]
    .find(plot => (plot.data || []).some(trace => trace.meta === 'bins'))"""
NOW = f"(({_PLOT} || {{ data: [] }}).data.find(trace => trace.meta === 'bins') || {{ y: [] }}).y"
_START_SECONDS = 60
_CELLS_MS = 180_000

# Cells out of sight are not drawn otherwise; and no dialogue about news over the page. The theme
# is dark: on a light one all that is dark can be read.
_SETTINGS = {
    "apputils-extension/themes": {"theme": "JupyterLab Dark"},
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def _copy_without_outputs(path):
    """Copy the example, so that nothing that was stored can pass for what this run shows."""
    notebook = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture
def jupyterlab(tmp_path):
    """Start JupyterLab over a copy of the example; return the address that opens it."""
    work = tmp_path / "work"
    work.mkdir()
    _copy_without_outputs(work / EXAMPLE.name)
    # Nothing of the user's own set-up, and nothing left behind in it.
    home = tmp_path / "home"
    settings = home / ".jupyter/lab/user-settings/@jupyterlab"
    for name, values in _SETTINGS.items():
        path = settings / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    port, token = free_port(), secrets.token_hex(16)
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                f"--ServerApp.root_dir={work}",
                "--ServerApp.ip=127.0.0.1",
                f"--ServerApp.port={port}",
                "--ServerApp.port_retries=0",
                # Dash brings an extension that would have to be built first; nobody needs it.
                "--ServerApp.tornado_settings={'page_config_data': {'buildCheck': False}}",
                f"--IdentityProvider.token={token}",
            ],
            env=os.environ | {"HOME": str(home)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_it_answers(f"{address}/api?token={token}", server, tmp_path / "server.log")
        yield f"{address}/lab/tree/{EXAMPLE.name}?token={token}"
    finally:
        # It ends its kernels before it ends itself.
        server.terminate()
        server.wait(30)


def _wait_until_it_answers(address, server, log):
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")
            time.sleep(0.2)


def _curve(page):
    return page.evaluate(f"Array.from({NOW})")


def _until(page, condition, argument=None):
    page.wait_for_function(
        f"argument => {{ const y = Array.from({NOW}); return {condition}; }}", arg=argument
    )


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.notebook
def test_example_runs_in_jupyterlab_and_its_editor_edits(browser_page, jupyterlab):
    from playwright.sync_api import expect

    from tests.browser.driver import SCREENSHOTS, Dashboard

    page, driver = browser_page, Dashboard(browser_page)
    page.set_viewport_size({"width": 1300, "height": 1000})
    page.goto(jupyterlab)
    # Without a kernel, running asks which one to take.
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=_START_SECONDS * 1000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    # The last cell prints the privacy line of the edited model.
    last = page.locator(".jp-Notebook .jp-CodeCell").last
    expect(last.locator(".jp-OutputArea")).to_contain_text("edited: ", timeout=_CELLS_MS)
    expect(page.locator(".jp-RenderedText[data-mime-type$=stderr]")).to_have_count(0)

    # interpret's own dashboard is above, in a frame.
    dashboard = page.frame_locator(".jp-Notebook iframe").first
    expect(dashboard.locator(".app, .mini-app")).to_be_visible()

    plot = page.locator(".js-plotly-plot")
    plot.scroll_into_view_if_needed()
    expect(page.locator(".interpret-dp-history")).to_contain_text("Risk rises with age;")
    _until(page, "y.length")
    before = _curve(page)
    assert page.evaluate("document.body.dataset.jpThemeLight") == "false"
    assert page.evaluate(script("contrast")) >= 4.5
    expect(page.get_by_text("'age' was edited, so its effect").first).to_be_visible()

    # A range is drawn over the left half of the curve, and shifted.
    driver.hold_still()
    area = plot.locator(".nsewdrag").first.bounding_box()
    height = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + 3, height)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] / 2, height, steps=8)
    page.mouse.up()
    page.get_by_text("Selected: between").wait_for()
    page.get_by_role("button", name="Shift by", exact=True).click()
    _until(page, "JSON.stringify(y) !== argument", json.dumps(before, separators=(",", ":")))
    after = _curve(page)
    assert after[0] == pytest.approx(before[0] + 0.1)
    assert after[-1] == before[-1]
    # The mark of the selection is ours, at borders of bins; the browser's own is gone.
    expect(page.locator(".selectionlayer path")).to_have_count(0)
    expect(page.get_by_text("age: shifted by +0.1 between")).not_to_have_count(0)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "jupyterlab_editor.png")

    page.get_by_role("button", name="Keep the total", exact=True).click()
    expect(page.get_by_text("age: intercept shifted to keep the total")).not_to_have_count(0)
    page.screenshot(path=SCREENSHOTS / "jupyterlab_editor_total.png")
    page.get_by_role("button", name="Undo", exact=True).click()

    page.get_by_role("button", name="Undo", exact=True).click()
    _until(page, "JSON.stringify(y) === argument", json.dumps(before, separators=(",", ":")))

    # What plotly says of a double click, for which two clicks must come within 300 ms: on a busy
    # machine a real one would be two single ones.
    page.evaluate(f"({_PLOT}).emit('plotly_deselect', null)")
    expect(page.get_by_text("Selected: nothing")).to_be_visible()

    # The whole editor fits into a narrow page.
    page.set_viewport_size({"width": 800, "height": 1400})
    page.locator(".interpret-dp-history").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    page.screenshot(path=SCREENSHOTS / "jupyterlab_editor_narrow.png")
