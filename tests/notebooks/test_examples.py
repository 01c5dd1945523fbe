"""Every example runs from top to bottom, and what a notebook shows was made by its own cells."""

import json
import os
import re
import tempfile
from functools import cache
from importlib.util import find_spec

import pytest

from benchmarks.tables import DATA_VARIABLE
from scripts.run_examples import LARGEST_BYTES, digest_of
from tests.processes import ROOT, python

FOLDER = ROOT / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SCRIPTS = sorted(FOLDER.glob("*.py"))
EXPLAINER = FOLDER / "explain_a_black_box.ipynb"
MAPS = FOLDER / "compare_with_a_cnn.ipynb"
# These take a few seconds; the others run in `make check-release`. The script of the team ledger
# also runs in tests/ledger.
QUICK = {"counts_and_constraints.py", "declare_a_schema.py", "edit_a_model.py"}
NEEDS_TORCH = {"compare_with_a_cnn.ipynb"}
# Studies of many fits: `make examples` runs them, tests read what they stored.
STUDIES = {"counts_and_constraints.ipynb", "privacy_as_a_regulariser.ipynb"}
_TEXTS = {"source", "text", "text/html", "text/plain"}


def _read(path):
    """Read what is stored; importing nbformat would take seconds."""

    def joined(found):
        """Join the texts, of which some are lists of lines."""
        return {key: "".join(value) if key in _TEXTS else value for key, value in found.items()}

    return json.loads(path.read_text(encoding="utf-8"), object_hook=joined)


def _outputs(notebook):
    return [entry for cell in notebook["cells"] for entry in cell.get("outputs", [])]


def _skip_without_torch(path):
    if path.name in NEEDS_TORCH and find_spec("opacus") is None:
        pytest.skip("the extra `llm` is not installed")


def _marked(*paths):
    """Return parameters by whose names one worker runs all tests of a notebook."""
    return [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name not in QUICK else [])
        for path in paths
    ]


@cache
def _executed(path):
    """Run a notebook once, in a folder of its own; a cell that raises fails the test.

    It runs on what comes with the package and with scikit-learn.
    """
    _skip_without_torch(path)
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    environment = os.environ | {DATA_VARIABLE: ""}
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=300, resources=resources)
        client.execute(env=environment)
    return notebook


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_outputs_were_made_by_the_cells_that_are_stored(path):
    notebook = _read(path)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert notebook["metadata"]["outputs_of"] == digest_of(notebook), "run `make examples`"
    assert [entry for entry in _outputs(notebook) if entry.get("name") == "stderr"] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_what_is_stored_is_small_and_shows_without_a_kernel(path):
    """A frame of a server, a widget or plotly's JSON would be an empty place on GitHub."""
    assert path.stat().st_size <= LARGEST_BYTES
    notebook = _read(path)
    kinds = {kind for entry in _outputs(notebook) for kind in entry.get("data", {})}
    assert kinds <= {"text/plain", "text/html", "image/png"}
    assert "widgets" not in notebook["metadata"]
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"127\.0\.0\.1|localhost|<iframe|<script|/tmp/|/home/|/root/", text)


@pytest.mark.notebook
@pytest.mark.parametrize("path", _marked(*SCRIPTS))
def test_script_runs_in_an_empty_folder(path, tmp_path):
    _skip_without_torch(path)
    done = python(path, cwd=tmp_path, **{DATA_VARIABLE: ""})
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Warning" not in done.stderr, done.stderr


@pytest.mark.notebook
@pytest.mark.parametrize("path", _marked(*(path for path in NOTEBOOKS if path.name not in STUDIES)))
def test_notebook_runs_without_a_warning(path):
    errors = [entry for entry in _outputs(_executed(path)) if entry.get("name") == "stderr"]
    assert errors == []


def _said(notebook):
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
@pytest.mark.parametrize("path", _marked(EXPLAINER))
def test_the_explainer_states_its_promise_and_charges_once(path):
    said = _said(_executed(path))
    promise, released, rows, free, curves, number = said[1:]
    assert "with the model taken as given; nothing is promised to the people" in promise
    assert "True Privacy cost of this explanation: 0 · of the background: epsilon 0.1" in free
    assert number.startswith("True")
    assert number.count("<tr>") == 10
    # What is shown lives on interpret's own server, in a frame.
    assert all("iframe" in shown for shown in (released, rows, curves))


@pytest.mark.notebook
@pytest.mark.parametrize("path", _marked(MAPS))
def test_maps_are_compared_on_the_digits_that_scikit_learn_brings(path):
    said = _said(_executed(path))
    promise, *_, accuracies, pictures, agreement, gap = said[1:]
    assert "differs by at most a factor e^2" in promise
    found = [float(value) for value in re.findall(r"([0-9.]+)% of the test images", accuracies)]
    assert len(found) == 3
    # Least shares of the plain network and of the private maps; over ten fits 97 and 88 to 93.
    assert all(percent > least for percent, least in zip(found[::2], (90.0, 75.0), strict=True))
    # What a PNG file begins with.
    assert "iVBORw0KGgo" in pictures
    (own,) = (line for line in agreement.splitlines() if line.startswith("its own map / gradient"))
    assert float(own.split()[-1]) > 0.8
    assert float(gap) < 1e-9
