"""Draw docs/figures/dashboard.png: a private model in interpret's dashboard, as a user sees it.

``python -m scripts.dashboard_picture``, from the repository's root, needs the extra ``test`` and a
Chromium. The noise is a new one each time, and so is the picture.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import interpret
from playwright.sync_api import sync_playwright

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger
from interpret_dp.datasets import make_cohort
from tests.browser.driver import CHROMIUM_ARGUMENTS, Dashboard
from tests.browser.editor_page import EditorPage

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "dashboard.png"
WIDTH, HEIGHT = 1200, 1000
LAST_PART = ".idp-privacy"


def draw(file: Path, chromium: str, folder: Path) -> None:
    """Fit, open the dashboard, have the editor test a curve, and write the picture."""
    patients = make_cohort(5_000)
    ledger = PrivacyLedger(f"sqlite:///{folder / 'privacy.db'}")
    ledger.create_budget("patients", epsilon=4, delta=1e-6)
    model = DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, schema=patients.schema, ledger=ledger, dataset="patients"
    ).fit(patients.X, patients.y)
    explanation = model.explain_global(name="readmission")
    interpret.init_show_server()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=list(CHROMIUM_ARGUMENTS)
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            dashboard = Dashboard(page)
            dashboard.open(str(interpret.show_link(explanation)))
            dashboard.open_term("age")
            editor = EditorPage(dashboard)
            editor.card.get_by_label("Shape to test for").locator("button.dash-dropdown").click()
            page.locator(".dash-dropdown-option", has_text="increasing").first.click()
            dashboard.settle()
            editor.press("verdict")
            dashboard.assert_clean()
            box = page.locator(LAST_PART).bounding_box()
            assert box is not None
            bottom = round(box["y"] + box["height"]) + 12
            page.screenshot(
                path=file, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": bottom}
            )
            browser.close()
    finally:
        interpret.shutdown_show_server()


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description="Draw the picture of the dashboard.")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where (default: %(default)s)")
    out = parser.parse_args().out
    chromium = os.environ.get("INTERPRET_DP_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        parser.error("no chromium on PATH: `make chromium` installs it, where it may")
    with tempfile.TemporaryDirectory() as folder:
        draw(out, chromium, Path(folder))


if __name__ == "__main__":
    main()
