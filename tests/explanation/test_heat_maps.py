"""Heat maps of pairs in figures, overviews, local explanations, pages and interpret's data."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.explanation.export import render_html
from interpret_dp.explanation.heat_maps import heat_figure, pair_axes
from tests.ebm.pairs.pair_problems import LABELS, problem

PAIR, NOMINAL = 5, 6


@pytest.fixture(scope="module")
def data():
    rows = problem(6_000)
    rows.X.loc[:400, "bmi"] = np.nan
    rows.X.loc[300:900, "site"] = "<b>elsewhere"
    return rows


@pytest.fixture(scope="module")
def model(data):
    return DPExplainableBoostingClassifier(
        schema=LABELS, epsilon=2.0, delta=1e-6, interactions=[("age", "bmi"), ("site", "dose")]
    ).fit(data.X, data.labels)


@pytest.fixture(scope="module")
def released(model):
    return model.released_


def test_the_figure_shows_score_noise_and_rows_of_each_cell(model, released):
    figure = heat_figure(released, released.terms[PAIR])
    heat = figure.data[0]
    scores, deviations = model.term_scores_[PAIR], model.standard_deviations_[PAIR]
    # The first feature is across; of bmi the missing values are drawn as well, since rows have it.
    n_age, n_bmi = scores.shape
    assert np.shape(heat.z) == (n_bmi - 1, n_age - 2)
    assert np.array_equal(np.array(heat.z)[:-1], scores[1:-1, 1:-1].T)
    assert np.array_equal(np.array(heat.z)[-1], scores[1:-1, 0])
    assert figure.layout.xaxis.title.text == "age"
    assert figure.layout.yaxis.ticktext[-1] == "missing"
    text, effect, rows = heat.customdata[0][1]
    assert text.startswith("age ")
    assert "bmi 10 to " in text
    assert f"{scores[2, 1]:+.4g} ± {1.96 * deviations[2, 1]:.3g}" in effect
    assert rows == f"{model.bin_weights_[PAIR][2, 1]:,.0f}"
    assert heat.zmax == -heat.zmin == np.abs(scores).max()


def test_cells_within_the_noise_are_veiled_and_say_so(model, released):
    figure = heat_figure(released, released.terms[PAIR])
    veil = np.array(figure.data[1].z, dtype=float)
    scores, deviations = model.term_scores_[PAIR], model.standard_deviations_[PAIR]
    within = (np.abs(scores) < 1.96 * deviations) & (deviations > 0)
    assert within.any()
    assert np.array_equal(veil[:-1] == 1.0, within[1:-1, 1:-1].T)
    said = [
        ["within the noise" in entry[1] for entry in line] for line in figure.data[0].customdata
    ]
    assert np.array_equal(said, veil == 1.0)


def test_without_known_noise_nothing_is_veiled(model):
    edited = copy.deepcopy(model)
    edited.scale("age & bmi", 0.5)
    changed = edited.to_released()
    figure = heat_figure(changed, changed.terms[PAIR])
    assert len(figure.data) == 1
    assert "±" not in str(figure.data[0].customdata)


def test_levels_are_named(released):
    pair = released.subject(released.terms[NOMINAL])
    across, up = pair_axes(released, pair, released.terms[NOMINAL])
    assert across.tick_labels == ("a", "b", "c", "undeclared")
    assert up.name == "dose"
    with pytest.raises(ValueError, match="it has a curve"):
        heat_figure(released, released.terms[0])


def test_interprets_explanation_draws_it(model, released):
    explanation = model.explain_global()
    assert explanation.data(PAIR)["type"] == "interaction"
    assert explanation.selector["Type"].tolist()[PAIR:] == ["interaction"] * 2
    inner = model.term_scores_[PAIR][1:-1, 1:-1]
    assert explanation.selector["Bins"].tolist()[PAIR] == inner.size
    figure = explanation.visualize(PAIR)
    assert figure.data[0].type == "heatmap"
    assert "age & bmi" in figure.layout.title.text.replace("&amp;", "&")
    assert "epsilon" in figure.layout.annotations[0].text
    buttons = figure.layout.updatemenus[0].buttons
    assert [button.label for button in buttons] == ["own scale", "same scale for all terms"]
    names = explanation.visualize(None).layout.yaxis.ticktext
    assert any(name.replace("&amp;", "&") == "age & bmi" for name in names)


def test_signal_to_noise_of_curves_and_pairs_is_data(model, released):
    explanation = model.explain_global()
    overall = explanation.data()
    assert overall["names"] == model.term_names_
    assert overall["signal_to_noise"] == [term.signal_to_noise for term in released.terms]
    shown = explanation.selector["Signal to noise"]
    np.testing.assert_allclose(shown, overall["signal_to_noise"], rtol=6e-3)
    edited = model.edit()
    edited.set_scores("site", 1.0, levels=["a"])
    after = edited.model.explain_global().data()["signal_to_noise"]
    assert after[:-1] != overall["signal_to_noise"][:-1]


def test_local_explanations_show_both_values(model, data):
    explanation = model.explain_local(data.X.iloc[1000:1003], data.labels[1000:1003])
    record = explanation.data(0)
    assert record["names"][PAIR] == "age & bmi"
    score = model.eval_terms(data.X.iloc[1000:1001])[0, PAIR]
    assert record["scores"][PAIR] == pytest.approx(score)
    labels = explanation.visualize(0).data[0].customdata
    (pair,) = [text for text in labels if text.startswith("age &amp; bmi")]
    row = data.X.iloc[1000]
    assert f"{row['age']:.4g}" in pair
    assert f"{row['bmi']:.4g}" in pair
    assert explanation.visualize(None).data[0].type == "heatmap"


def test_pages_hold_the_heat_map(model, data):
    explanation = model.explain_local(data.X.iloc[1000:1002])
    page = render_html(model.to_released(), model.privacy_spend_, local=explanation)
    assert 'class="card pair"' in page
    assert "age &amp; bmi" in page
    assert "Pale cells are within the noise" in page
    plain = DPExplainableBoostingClassifier(schema=LABELS, max_rounds=1).fit(data.X, data.labels)
    assert "Pale cells" not in render_html(plain.to_released(), plain.privacy_spend_)
