"""Run the examples and write the notebooks' outputs back: ``python scripts/run_examples.py``.

A dashboard of interpret lives on a server that ends with the notebook's kernel, and plotly's
figures need JavaScript, which GitHub does not run. So each is drawn by Chromium while the kernel
lives, and stored as a picture. What a reader runs shows the live ones.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import io
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from playwright.async_api import Browser, Page

__all__ = ["digest_of", "main", "run_notebook", "run_script"]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"
WIDTH = 1000
LARGEST_BYTES = 300_000
_DATA_VARIABLE = "INTERPRET_DP_DATA"
_CHROMIUM_VARIABLE = "INTERPRET_DP_CHROMIUM"
_PLOTLY = "application/vnd.plotly.v1+json"
_WIDGET = "application/vnd.jupyter.widget-view+json"
_FRAME = re.compile(r"http://127\.0\.0\.1:\d+/\d+/?")
_COLORS = 256
_CELL_SECONDS = 600
_PAGE_MS = 30_000
_SETTLE_MS = 700
_ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
# Where nothing can be shown as a picture, a reader at least learns what was there.
_LIVE = "An editor with buttons: run the notebook to see it."


def digest_of(notebook: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the sources of all code cells; outputs are stored with that of theirs.

    Prose may be mended without a new run.
    """
    sources = "\0".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code")
    return hashlib.sha256(sources.encode()).hexdigest()


async def run_notebook(path: Path, browser: Browser) -> float:
    """Run one notebook, offline and in an empty folder, and write it back with its outputs.

    Parameters
    ----------
    path : Path
    browser : Browser
        Draws what is not a picture yet.

    Returns
    -------
    float
        Processor time of the kernel, in seconds.

    Raises
    ------
    CellExecutionError
        If a cell raises; nothing is written then.
    ValueError
        If a cell warned, or the notebook would be too large.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {
        # Nothing of this machine may get into an example.
        _DATA_VARIABLE: "",
        "PLOTLY_RENDERER": "plotly_mimetype",
        "PYTHONPATH": str(ROOT),
    }
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=_CELL_SECONDS,
            resources={"metadata": {"path": folder}},
            record_timing=False,
        )
        async with client.async_setup_kernel(env=environment):
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    await client.async_execute_cell(cell, index)
                    for output in cell.outputs:
                        await _freeze(output, cell.metadata.get("picture", {}), browser)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    _write(path, notebook)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _freeze(output: NotebookNode, wish: dict[str, Any], browser: Browser) -> None:
    """Put pictures in the place of what lives, in one output."""
    if output.get("name") == "stderr":
        raise ValueError(f"An example must run without a warning, but said: {output.text}")
    data = output.get("data")
    if data is None:
        return
    address = _FRAME.search(str(data.get("text/html", "")))
    if address is not None:
        picture = await _draw_dashboard(browser, address[0], wish)
        output.data = {"image/png": picture}
    elif _PLOTLY in data:
        picture = await _draw_figure(browser, data[_PLOTLY])
        output.data = {"image/png": picture}
    elif _WIDGET in data:
        output.data = {"text/plain": _LIVE}


async def _draw_dashboard(browser: Browser, address: str, wish: dict[str, Any]) -> str:
    """Return a picture of interpret's small dashboard, after a choice in its menu."""
    page = await browser.new_page(viewport={"width": WIDTH, "height": 500})
    page.set_default_timeout(_PAGE_MS)
    try:
        await page.goto(address)
        await page.locator(".app, .mini-app").wait_for()
        await _until_drawn(page)
        if "choose" in wish:
            if await page.locator(".idp-terms").count():
                await page.locator(".idp-term", has_text=wish["choose"]).first.click()
            else:
                await page.locator("#component-drop").click()
                await page.locator(".dash-dropdown-option", has_text=wish["choose"]).first.click()
                await page.keyboard.press("Escape")
            await _until_drawn(page)
        return _small(await page.screenshot(full_page=True))
    finally:
        await page.close()


async def _draw_figure(browser: Browser, figure: dict[str, Any]) -> str:
    """Return a picture of a plotly figure, by the plotly.js that comes with plotly."""
    import plotly.io

    layout = dict(figure["layout"])
    size = {"width": layout.get("width", WIDTH), "height": layout.get("height", 420)}
    page = await browser.new_page(viewport=size)
    page.set_default_timeout(_PAGE_MS)
    try:
        text = plotly.io.to_html(
            {"data": figure["data"], "layout": layout | size},
            include_plotlyjs=True,
            validate=False,
            config={"displayModeBar": False},
        )
        await page.set_content(text)
        await _until_drawn(page)
        return _small(await page.locator(".js-plotly-plot").screenshot())
    finally:
        await page.close()


async def _until_drawn(page: Page) -> None:
    await page.wait_for_load_state("networkidle")
    await page.wait_for_function(
        "() => { const plots = [...document.querySelectorAll('.js-plotly-plot')];"
        " return plots.length > 0 && plots.every(plot => plot.querySelector('.main-svg')); }"
    )
    await page.wait_for_timeout(_SETTLE_MS)


def _small(png: bytes) -> str:
    """Return a PNG file with few colours, in base64: a third of the size of a screenshot."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        few = image.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE)
        file = io.BytesIO()
        few.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _write(path: Path, notebook: NotebookNode) -> None:
    import nbformat

    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "outputs_of": digest_of(notebook),
        }
    )
    text = nbformat.writes(notebook) + "\n"
    if len(text) > LARGEST_BYTES:
        raise ValueError(
            f"{path.name} would have {len(text):,} bytes; at most {LARGEST_BYTES:,} are allowed. "
            "Show fewer or smaller figures."
        )
    path.write_text(text, encoding="utf-8")


def run_script(path: Path) -> float:
    """Run one script in an empty folder; return its processor time in seconds.

    Raises
    ------
    CalledProcessError
        If it fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {_DATA_VARIABLE: "", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(path)], cwd=folder, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _run_notebooks(paths: Sequence[Path]) -> None:
    from playwright.async_api import async_playwright

    executable = os.environ.get(_CHROMIUM_VARIABLE) or shutil.which("chromium")
    if executable is None:
        raise SystemExit(
            "The outputs of notebooks are drawn by Chromium, and there is none on PATH: install "
            f"Debian's package 'chromium', or set {_CHROMIUM_VARIABLE} to an executable."
        )
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=_ARGUMENTS)
        for path in paths:
            started = time.monotonic()
            used = await run_notebook(path, browser)
            size = path.stat().st_size
            _say(path, started, used, f", {size / 1000:.0f} kB")
        await browser.close()


def _say(path: Path, started: float, used: float, more: str = "") -> None:
    lasted = time.monotonic() - started
    print(f"{path.name}: {lasted:.0f} s, processors {used:.0f} s{more}", flush=True)


def _chosen(names: Sequence[str]) -> Iterator[Path]:
    every = sorted([*FOLDER.glob("*.ipynb"), *FOLDER.glob("*.py")])
    known = {path.name for path in every}
    for name in names:
        if name not in known:
            raise SystemExit(f"There is no example {name!r}; there are {', '.join(sorted(known))}.")
    yield from (path for path in every if not names or path.name in names)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all examples, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="as from_schema_to_card.ipynb")
    paths = list(_chosen(parser.parse_args(arguments).names))
    for path in paths:
        if path.suffix == ".py":
            started = time.monotonic()
            _say(path, started, run_script(path))
    notebooks = [path for path in paths if path.suffix == ".ipynb"]
    if notebooks:
        asyncio.run(_run_notebooks(notebooks))


if __name__ == "__main__":
    main()
