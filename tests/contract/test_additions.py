"""A loss, a figure and an explainer from outside the package, by the recipes of CONTRIBUTING.md.

The blocks are written into modules of their own, as they stand, and used as their readers would.
"""

import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from interpret.ext.extension import DATA_EXTENSION_KEY, _is_valid_data_explainer
from interpret.ext.extension_utils import load_class_extensions

import interpret_dp as dp
from interpret_dp.audit.neighbours import replay
from interpret_dp.ebm.losses import LOSSES
from interpret_dp.explanation.plots import FIGURES
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.docs.pages import python_blocks

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
MODULES = ("log_cosh", "effect_dots", "level_counts")
LEVELS = ["low", "middle", "high"]


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """Write and import the recipes' modules, and the metadata of a package that has them."""
    folder = tmp_path_factory.mktemp("outside")
    for name, (_, source) in zip(MODULES, python_blocks(PAGE), strict=True):
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    metadata = folder / "outside-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    toml = PAGE.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    points = toml.replace("project.entry-points.", "").replace('"', "")
    (metadata / "entry_points.txt").write_text(points)
    losses, figures = dict(LOSSES), dict(FIGURES)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield {name: importlib.import_module(name) for name in MODULES}
    finally:
        sys.path.remove(str(folder))
        for registry, before in ((LOSSES, losses), (FIGURES, figures)):
            registry.clear()
            registry.update(before)
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def model(added):
    """Return a fit of the added loss on targets with outliers."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"dose": rng.uniform(0, 10, 4_000), "age": rng.uniform(0, 90, 4_000)})
    y = np.sin(X["dose"]) + np.where(rng.random(4_000) < 0.02, 5.0, 0.0)
    schema = dp.Schema(
        {"dose": dp.Continuous(0, 10), "age": dp.Continuous(0, 90)}, target=dp.Continuous(-6, 6)
    )
    estimator = dp.DPExplainableBoostingRegressor(
        objective="log_cosh", schema=schema, epsilon=4.0, delta=1e-6
    )
    with use_randomness(SeededRandomness(5)):
        return estimator.fit(X, y)


def test_an_added_loss_is_fitted_by_its_name(model, tmp_path):
    X = pd.DataFrame({"dose": np.linspace(0.5, 9.5, 50), "age": 40.0})
    centred = model.predict(X) - model.predict(X).mean()
    wanted = np.sin(X["dose"]) - np.sin(X["dose"]).mean()
    assert np.corrcoef(centred, wanted)[0, 1] > 0.9
    (dose, _) = model.released_.terms
    assert (dose.standard_deviations[1:-1] > 0).all()
    model.save(tmp_path / "model.json")
    assert np.array_equal(dp.load_model(tmp_path / "model.json").predict(X), model.predict(X))


def test_an_added_figure_is_drawn_with_its_cost(model):
    explanation = model.explain_global("Doses")
    figure = explanation.draw("effect dots")
    assert figure.layout.title.text == "Doses"
    assert set(figure.data[0].y) == {"dose", "age"}
    shown = figure.layout.annotations[0].text.replace("\N{NO-BREAK SPACE}", " ")
    assert shown.replace("<br>", " ") == model.privacy_spend_.line
    with pytest.raises(ValueError, match="effect dots"):
        explanation.draw("effect bars")


def test_an_added_explainer_has_ledger_guarantee_and_panel(added):
    ledger = dp.PrivacyLedger.in_memory()
    ledger.create_budget("ward", epsilon=2.0, delta=1e-5)
    column = np.repeat(LEVELS, [50, 300, 150])
    explainer = added["level_counts"].LevelCounts(LEVELS, ledger=ledger, dataset="ward")
    explainer.fit(column)
    assert explainer.counts_ == pytest.approx([50, 300, 150], abs=40)
    assert explainer.guarantee_.epsilon == 1.0
    assert explainer.guarantee_.ledger_head == ledger.head
    assert ledger.spent("ward").epsilon_at(1e-6) == pytest.approx(1.0, rel=1e-3)
    explanation = explainer.explain_data()
    assert "epsilon" in explanation._repr_html_()
    assert list(explanation.visualize().data[0].y) == LEVELS
    # At the delta of the budget, as what is left.
    spent = ledger.spent("ward").epsilon_at(1e-5)
    assert explanation.privacy.total_epsilon == pytest.approx(spent, rel=1e-3)


def test_an_added_explainer_is_found_by_interpret(added):
    found = ModuleType("extensions")
    load_class_extensions(found, DATA_EXTENSION_KEY, _is_valid_data_explainer)
    assert found.LevelCounts is added["level_counts"].LevelCounts


@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_a_norm_that_is_too_small_is_noticed(added, rows_per_person):
    """The proof of ``row_norm`` is its author's; with two rows a person it does not hold."""

    def fit(column):
        return added["level_counts"].LevelCounts(LEVELS).fit(np.repeat(column, rows_per_person))

    def published(explainer):
        return {"counts_": explainer.counts_}

    people = np.repeat(LEVELS, [3, 4, 2])
    report = replay(fit, people, people[1:], published=published)
    assert bool(report.violations) == (rows_per_person > 1)
