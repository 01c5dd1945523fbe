"""What people can do without a mouse, and read without seeing the figures."""

import numpy as np
import pytest

from tests.browser.editor_page import EditorPage
from tests.browser.shared import script

pytestmark = pytest.mark.browser

# Roles that a person acts on, or that stand for a figure.
_NAMED = {"button", "checkbox", "combobox", "figure", "radio", "radiogroup", "searchbox"}
_NAMED |= {"spinbutton", "textbox"}


def unnamed(page):
    """Return the roles that have no name, as the browser tells a screen reader, and all names."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in nodes
        if not node["ignored"]
    ]
    missing = [role for role, name in named if role in _NAMED and not name]
    return missing, {name for _, name in named}


def assert_named(page, explanation, term):
    """Check the names of everything in the editor of a term; some of it is Dash's."""
    EditorPage(page).press("select-all")
    EditorPage(page).unfold("Options")
    # interpret's own list has a hidden field; it is not ours to mend.
    missing, names = unnamed(page.page)
    assert missing == []
    assert explanation.describe()[term] in names
    for scheme in ("dark", "light"):
        page.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert page.page.evaluate(script("faint")) == []
    fields = {"Gesture", "Scale", "Number", "Message", "Shape to test for", "Load a file"}
    assert fields <= names
    assert page.page.evaluate(script("faults")) == []


def test_every_part_of_the_editor_has_a_name_and_keys_select_and_move_bins(
    dashboard, shown, session
):
    page = dashboard(shown.total)
    # Terms are found and opened by keys as well.
    editor = EditorPage(page)
    page.page.get_by_label("Search terms").fill("AGE")
    editor.keys("ArrowDown", "Enter")
    assert editor.text("name") == "age"
    page.page.get_by_label("Search terms").fill("bp")
    editor.keys("Enter")
    assert editor.text("name") == "systolic_bp"
    page.page.get_by_label("Search terms").fill("")
    page.open_term("age")
    editor.unfold("History and files")
    assert_named(page, shown.total, "age")
    plot = editor.card.locator(".idp-editor-plot > [tabindex='0']")
    editor.press("select-none")
    plot.focus()
    editor.keys("ArrowRight", "ArrowRight", "Shift+ArrowRight")
    assert plot.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    meta = page.figures()[0]["layout"]["meta"]
    assert meta["selected"] == [2, 3]
    assert "(about " in editor.text("selected")
    # Up and down move nothing unless dragging is on.
    editor.keys("ArrowUp")
    assert not session.history
    editor.card.get_by_role("radiogroup", name="Gesture").locator("input").first.focus()
    editor.keys("ArrowRight")
    plot.focus()
    page.page.keyboard.down("ArrowUp")
    page.page.keyboard.down("ArrowUp")
    page.page.keyboard.up("ArrowUp")
    page.settle()
    view = session.view("age")
    low, high = page.figures()[0]["layout"]["yaxis"]["range"]
    moved = view.current - view.original
    assert list(np.flatnonzero(moved)) == [2, 3]
    assert moved[2] == pytest.approx(moved[3]) == pytest.approx(0.02 * (high - low), rel=0.2)
    # One edit for a held key; Escape gives one up.
    assert len(session.history) == 1
    page.page.keyboard.down("ArrowDown")
    editor.keys("Escape")
    page.page.keyboard.up("ArrowDown")
    page.settle()
    assert len(session.history) == 1

    page.open_term("smoker")
    assert_named(page, shown.total, "smoker")
    # The script mends what Dash draws anew, too.
    EditorPage(page).choose("Scale of all terms")
    assert page.page.evaluate(script("faults")) == []
    page.assert_clean()
