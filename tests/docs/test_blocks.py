"""The blocks of Python in README.md and in docs run, in order, as they are printed.

Two functions are replaced: ``interpret.show`` would start a server, and draws the overview of what
it is given; an attack makes 20 fits of each kind and not a thousand (tests/audit has longer ones).
A page that speaks of "your table" or a file is given one, as ``GIVEN`` says.
"""

import shutil
from functools import cache
from pathlib import Path

import interpret
import joblib
import pytest

from interpret_dp import Categorical, DPExplainableBoostingClassifier, PrivacyLedger, Schema, audit
from interpret_dp.datasets import make_cohort
from tests.docs.pages import python_blocks
from tests.processes import output_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _table():
    patients = make_cohort(2_000)
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("ward", epsilon=6, delta=1e-5)
    ledger.create_budget("patients", epsilon=6, delta=1e-5)
    return {
        "DPExplainableBoostingClassifier": DPExplainableBoostingClassifier,
        "schema": patients.schema,
        "X": patients.X,
        "y": patients.y,
        "X_public": patients.X,
        "y_public": patients.y,
        "ledger": ledger,
    }


@cache
def _fitted():
    patients = make_cohort(2_000)
    model = DPExplainableBoostingClassifier(schema=patients.schema)
    return model.fit(patients.X, patients.y), patients


def _black_box():
    model, patients = _fitted()
    rows = make_cohort(3, seed=1).X
    return {"model": model.copy(), "patients": patients.X, "schema": patients.schema, "rows": rows}


def _for_publishing():
    return _statements() | _table() | _black_box()


def _small_model():
    patients = make_cohort(500)
    schema = Schema({"sex": patients.schema.features["sex"]}, target=Categorical(["no", "yes"]))
    model = DPExplainableBoostingClassifier(schema=schema, max_rounds=1)
    return {"model": model.fit(patients.X[["sex"]], patients.y)}


def _statements():
    Path("examples").mkdir()
    shutil.copy(ROOT / "examples" / "about.toml", "examples")
    return {}


GIVEN = {
    "README.md": _statements,
    "audit.md": _small_model,
    "editor.md": lambda: _table() | _black_box(),
    "lime.md": _black_box,
    "surrogate.md": _black_box,
    "choosing_settings.md": _table,
    "publishing.md": _for_publishing,
}
# Which blocks of a page are left out, counted from 0, and why.
LEFT_OUT = {
    # A pair with a site, of a table that the page only speaks of: tests/editor/test_pairs.py.
    "editor.md": {1},
    # Two logins of a server: tests/ledger/test_team_tutorial.py.
    "ledger_team.md": set(range(6)),
}


def blocks_of(page):
    left_out = LEFT_OUT.get(page.name, set())
    return [block for i, block in enumerate(python_blocks(page)) if i not in left_out]


def run(page, blocks, given):
    """Run blocks in one namespace; an error names the page and the line."""
    for line, source in blocks:
        code = compile("\n" * (line - 1) + source, str(page), "exec")
        exec(code, given)


RUN = [page for page in PAGES if blocks_of(page)]
# A cluster of Dask workers.
SLOW = {"dask.md"}


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """Run in an empty folder, and return the list of what was shown."""
    explanations, attack = [], audit.membership_attack

    def show(explanation):
        assert explanation.visualize(None) is not None
        explanations.append(explanation)

    def short_attack(*given, runs, **options):
        return attack(*given, runs=min(runs, 20), **options)

    monkeypatch.setattr(interpret, "show", show)
    monkeypatch.setattr(audit, "membership_attack", short_attack)
    monkeypatch.chdir(tmp_path)
    return explanations


RUN_PAGES = [pytest.param(page, marks=[pytest.mark.slow] * (page.name in SLOW)) for page in RUN]


# interpret's EBM says so of rows with missing cells.
@pytest.mark.filterwarnings("ignore:Missing values detected")
@pytest.mark.thorough
@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: page.name)
def test_blocks_run_as_they_are_printed(page, shown):
    blocks = blocks_of(page)
    given = GIVEN.get(page.name, dict)()
    run(page, blocks, given)
    if page.name == "start.md":
        joblib.dump(given["pipeline"], "pipeline.joblib")
        load = "import joblib; print(joblib.load('pipeline.joblib')[-1].guarantee_.sentence)"
        assert given["pipeline"][-1].guarantee_.sentence in output_of("-c", load, cwd=".")
    assert len(shown) == sum(f"\n{source}".count("\nshow(") for _, source in blocks)


def test_pages_that_are_left_out_or_given_something_exist():
    names = {page.name for page in PAGES}
    assert {*GIVEN, *LEFT_OUT} <= names
    assert {"README.md", "start.md", "epsilon.md", "schema.md"} <= {page.name for page in RUN}
    for name, numbers in LEFT_OUT.items():
        assert max(numbers) < len(list(python_blocks(ROOT / "docs" / name)))


def test_a_block_that_fails_is_found_with_its_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nrows = 1\n```\n\n```python\n\nrows / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run(page, list(python_blocks(page)), {})
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno) == (page, 8)
