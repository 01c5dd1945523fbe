"""Work that a browser's page, its server or a notebook's page loses, and how it comes back."""

import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from interpret_dp import DPExplainableBoostingClassifier, load_model
from interpret_dp.editor.autosave import AUTOSAVE_VARIABLE
from tests.browser.driver import Dashboard
from tests.browser.editor_page import EditorPage

pytestmark = pytest.mark.browser


@pytest.fixture
def serve(cohort, tmp_path):
    """Return ``serve(*words)``: the command that shows a saved model, and the page's address."""
    model = DPExplainableBoostingClassifier(epsilon=4, schema=cohort.schema, max_rounds=1)
    model.fit(cohort.X, cohort.y).save(tmp_path / "model.json")
    words = [sys.executable, "-m", "interpret_dp", "show", "model.json", "--no-browser"]
    environment = os.environ | {AUTOSAVE_VARIABLE: "on", "XDG_DATA_HOME": str(tmp_path / "data")}
    with contextlib.ExitStack() as stack:

        def start(*more):
            command = stack.enter_context(
                subprocess.Popen(
                    [*words, *more],
                    cwd=tmp_path,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(command.kill)
            for line in command.stdout:
                if address := re.search(r"http://\S+", line):
                    return command, address[0]
            raise AssertionError("the command printed no address")

        yield start


@pytest.mark.slow
def test_edits_outlive_the_server_and_are_offered_again(serve, browser_page, tmp_path):
    file = tmp_path / "model.autosave.json"
    session = load_model(tmp_path / "model.json").edit(author="Ada")
    session.flatten("age")
    session.save(file)
    session.save(tmp_path / "model.autosave-2.json")
    command, address = serve()
    page = Dashboard(browser_page)
    page.open(address)
    banner, offer = (browser_page.locator(f".idp-page-{name}") for name in ("banner", "offer"))
    expect(banner).to_contain_text("1 more file of earlier edits")
    expect(offer.first).to_contain_text("The last is by Ada")
    (tmp_path / "model.autosave-2.json").unlink()
    page.open(address)
    answers = iter(["dismiss", "accept"])
    browser_page.on("dialog", lambda dialog: getattr(dialog, next(answers))())
    offer.get_by_role("button", name="Discard").click()
    page.settle()
    assert file.exists()
    offer.get_by_role("button", name="Discard").click()
    expect(offer).to_have_count(0)
    assert not file.exists()
    assert "Discarded 1 edit" in page.text()

    page.open_term("age")
    editor = EditorPage(page)
    editor.press("select-all")
    editor.press("flatten")
    expect(browser_page.locator(".idp-page-places")).to_contain_text(str(file))
    page.assert_clean()
    command.send_signal(signal.SIGINT)
    assert f"kept in {file}" in " ".join(command.communicate()[0].split())
    lost = browser_page.locator(".idp-page-lost")
    expect(lost).to_contain_text("has lost its server")
    expect(lost).to_contain_text(str(file))
    page.screenshot("page_lost_server")

    # Shown again at the same port, the model has the same address: the page loads anew.
    assert serve("--port", address.split(":")[2].split("/")[0])[1] == address
    expect(offer).to_contain_text("An earlier session left 1 edit", timeout=30_000)
    expect(lost).to_have_count(0)
    page = Dashboard(browser_page)
    page.settle()
    page.screenshot("page_offer")
    page.open_term("age")
    editor = EditorPage(page)
    assert "no edits yet" in editor.text("status")
    offer.get_by_role("button", name="Take them").click()
    expect(editor.card.locator(".idp-editor-status").first).to_contain_text("1 edit")
    expect(offer).to_have_count(0)
    page.screenshot("page_taken")
    page.assert_clean()
