"""Every example notebook runs from top to bottom, and none holds what it once printed."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
EDITOR = FOLDER / "edit_a_model.ipynb"
EXPLAINER = FOLDER / "explain_a_black_box.ipynb"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


def _read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def _outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [entry for cell in notebook.cells for entry in cell.get("outputs", [])]


@cache
def _executed(path: Path) -> nbformat.NotebookNode:
    """Run a notebook once, in a folder of its own; a cell that raises fails the test."""
    notebook = _read(path)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=300, resources=resources).execute()
    return notebook


def test_the_editor_and_the_explainer_have_an_example():
    assert {EDITOR, EXPLAINER} <= set(NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_stored_without_outputs(path):
    notebook = _read(path)
    assert _outputs(notebook) == []
    assert {cell.get("execution_count") for cell in notebook.cells} == {None}


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs_without_a_warning(path):
    errors = [entry for entry in _outputs(_executed(path)) if entry.get("name") == "stderr"]
    assert errors == []


@pytest.mark.notebook
def test_editor_shows_its_widgets_and_follows_the_cells_below():
    notebook = _executed(EDITOR)
    shown = [entry.data for entry in _outputs(notebook) if WIDGET_VIEW in entry.get("data", {})]
    states = notebook.metadata.widgets[WIDGET_STATE].state
    assert [data[WIDGET_VIEW]["model_id"] in states for data in shown] == [True]
    names = {entry.model_name for entry in states.values()}
    assert {"VBoxModel", "ButtonModel", "IntRangeSliderModel"} <= names
    # plotly's figure, from plotly 6 on and before.
    assert names & {"AnyModel", "FigureModel"}
    texts = [str(entry.state.get("value", "")) for entry in states.values()]
    assert any("Risk rises with age;" in text for text in texts)


def _said(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what each code cell printed or showed as text, its HTML included."""
    return [
        " ".join(
            str(part)
            for entry in cell.outputs
            for part in (entry.get("text", ""), *entry.get("data", {}).values())
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.notebook
def test_explainer_tells_its_promise_its_costs_and_when_nothing_is_left():
    said = _said(_executed(EXPLAINER))
    promise, cost, rows, panel, again, refused, total, surrogate, number = said[1:]
    assert "with the model taken as given; nothing is promised to the people" in promise
    assert "3 explanations by method 'auto' cost at most epsilon 0.54 at delta" in cost
    assert "These 3 explanations cost epsilon 0.54 together" in panel
    assert [again.count(f"<td>{word}</td>") for word in ("reused", "released")] == [3, 1]
    assert "has room for 0 more" in refused
    assert refused.count("<td>post-processed</td>") == 3
    assert "of the variance of the model" in surrogate
    assert number.count("<tr>") == 10
    assert "standard error" in number
    # What is shown lives on interpret's own server, in a frame.
    assert all("iframe" in shown for shown in (rows, total, surrogate))
