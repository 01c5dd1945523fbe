"""What people can do without a mouse, and read without seeing the figures."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp.explanation.pages.model import render_html
from tests.browser.driver import Dashboard
from tests.browser.editor_page import EditorPage

pytestmark = pytest.mark.browser

# Roles that a person acts on, or that stand for a figure.
_NAMED = {"button", "checkbox", "combobox", "figure", "radio", "radiogroup", "searchbox"}
_NAMED |= {"spinbutton", "textbox"}
# What Dash writes and our script mends, and what hides the focus.
_FAULTS = """
() => [...document.querySelectorAll(
    '.idp [role=option] input, .idp [role=listbox] input, ' +
    '.idp [aria-hidden=true] :is(button, input), .idp [aria-hidden=true]:is(button, input)')]
    .filter(found => found.tabIndex >= 0).map(found => found.outerHTML.slice(0, 200))
"""


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


def test_every_part_of_the_editor_has_a_name(dashboard, shown):
    page = dashboard(shown.total)
    for term in ("age", "smoker"):
        page.select(f"Name ({term})")
        editor = EditorPage(page)
        if term == "age":
            editor.unfold("Download")
        # interpret's own list has a hidden field; it is not ours to mend.
        missing, names = unnamed(page.page)
        assert missing == []
        assert shown.total.describe()[term] in names
        fields = {"Gesture", "Scale", "Number", "Message", "Shape to test for", "Load a file"}
        assert fields <= names
        assert page.page.evaluate(_FAULTS) == []
        # The script mends what Dash draws anew, too.
        editor.choose("Scale of all terms")
        assert page.page.evaluate(_FAULTS) == []
    page.assert_clean()


def test_keys_select_and_move_bins(dashboard, shown):
    page = dashboard(shown.total)
    page.select("Name (age)")
    editor, session = EditorPage(page), shown.total.edit_session
    plot = editor.card.locator(".idp-editor-plot > [tabindex='0']")
    plot.focus()
    editor.keys("ArrowRight", "ArrowRight", "Shift+ArrowRight")
    assert plot.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    meta = page.figures()[0]["layout"]["meta"]
    assert meta["selected"] == [2, 3]
    assert "(about " in editor.text("selected")
    # Up and down move nothing unless dragging is on.
    editor.keys("ArrowUp")
    assert not session.can_undo
    editor.card.locator(".idp-editor-segments input").first.focus()
    editor.keys("ArrowRight")
    plot.focus()
    page.page.keyboard.down("ArrowUp")
    page.page.keyboard.down("ArrowUp")
    page.page.keyboard.up("ArrowUp")
    page.settle()
    view = session.view("age")
    low, high = page.figures()[0]["layout"]["yaxis"]["range"]
    moved = view.current - view.original
    try:
        assert list(np.flatnonzero(moved)) == [2, 3]
        assert moved[2] == pytest.approx(moved[3]) == pytest.approx(0.02 * (high - low), rel=0.2)
        # One edit for a held key; Escape gives one up.
        assert len(session.history) == 1
        page.page.keyboard.down("ArrowDown")
        editor.keys("Escape")
        page.page.keyboard.up("ArrowDown")
        page.settle()
        assert len(session.history) == 1
    finally:
        while session.can_undo:
            session.undo()
    page.assert_clean()


def test_a_narrow_exported_page_says_in_words_what_each_figure_shows(browser_page, shown, tmp_path):
    path = tmp_path / "page.html"
    model, spend = shown.model.released_, shown.total.privacy
    path.write_text(render_html(model, spend, local=shown.local), "utf-8")
    page = Dashboard(browser_page)
    browser_page.set_viewport_size({"width": 390, "height": 900})
    page.open_file(path)
    page.look_at_all()
    page.assert_nothing_is_cut()
    missing, names = unnamed(browser_page)
    assert missing == []
    assert {*shown.total.describe().values()} <= names
    assert any("intercept" in name and "age" in name for name in names)
    page.screenshot("exported_narrow")
