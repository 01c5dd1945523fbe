"""The pictures of docs/llm.md: ``python -m benchmarks.llm_example``.

Fits MNIST at epsilon 2 by the default rule and simulated patients at epsilon 1, and takes pictures
of the explanations' own figures in Chromium, which must be there as for the browser tests. Noise
comes from the operating system, so that two runs differ.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.harder import DELTA, SCHEMA, STANDARDS, load_images
from interpret_dp import DPLocallyLinearClassifier
from interpret_dp.datasets import make_cohort

__all__ = ["main"]

_WIDTH = 940
_DIGIT = 3
# A digit of the first kind that the model of wavelets takes for one of the second.
_TAKEN, _FOR = 4, 9


def figures() -> dict[str, Any]:
    """Return the figures by the name of their file."""
    X, y, X_test, y_test = load_images("MNIST")
    images = DPLocallyLinearClassifier(
        epsilon=2.0, delta=DELTA, schema=SCHEMA, standardize=STANDARDS
    ).fit(X, y)
    print(f"MNIST at epsilon 2: {images.score(X_test, y_test):.4f}", flush=True)
    asked = np.flatnonzero(y_test == _DIGIT)[:1]
    wavelets = DPLocallyLinearClassifier(
        epsilon=2.0, delta=DELTA, schema=SCHEMA, features="scattering"
    ).fit(X, y)
    fours = np.flatnonzero(y_test == _TAKEN)
    chances = wavelets.predict_proba(X_test[fours])
    mistaken = fours[[np.argmax(chances[:, _FOR] - chances[:, _TAKEN])]]
    patients = make_cohort(20_000)
    table = DPLocallyLinearClassifier(epsilon=1.0, delta=1e-6, schema=patients.schema)
    table.fit(patients.X, patients.y)
    row = make_cohort(5, seed=7)
    return {
        "llm_wavelets": wavelets.explain_local(X_test[mistaken], y_test[mistaken]).figure(0),
        "llm_local": images.explain_local(X_test[asked], y_test[asked]).figure(0),
        "llm_table": table.explain_local(row.X, row.y).figure(0),
    }


def photograph(found: dict[str, Any], folder: Path) -> None:
    """Write plotly figures as PNG files, as a browser shows them.

    Parameters
    ----------
    found : dict of str to Figure
    folder : Path
    """
    from playwright.sync_api import sync_playwright

    executable = os.environ.get("INTERPRET_DP_CHROMIUM") or shutil.which("chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for name, figure in found.items():
            height = int(figure.layout.height)
            page = browser.new_page(viewport={"width": _WIDTH, "height": height})
            page.set_content(
                "<style>body { margin: 0; }</style>"
                + figure.to_html(full_html=False, config={"displayModeBar": False})
            )
            page.locator(".js-plotly-plot .main-svg").first.wait_for()
            page.screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("docs/figures"))
    photograph(figures(), parser.parse_args().folder)


if __name__ == "__main__":
    main()
