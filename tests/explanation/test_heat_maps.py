"""Heat maps of pairs in figures, overviews, local explanations, pages and interpret's data."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.explanation.export import render_html
from interpret_dp.explanation.heat_maps import heat_figure
from tests.editor import test_pairs as pairs
from tests.editor.models import build_model

PAIR = 4
# Missing and unseen values have rows here, and are drawn last.
ORDER = [1, 2, 3, 0, 4]
ROWS = [[25.0, 1.0, "low", "Bonn"], [60.0, 20.0, "top", "<b>elsewhere"]]


@pytest.fixture(scope="module")
def model():
    """Return a classifier of age, dose, grade, city, and of age & city."""
    return DPExplainableBoostingClassifier.from_released(pairs.build())


@pytest.fixture(scope="module")
def released(model):
    return model.to_released()


def test_the_figure_shows_score_noise_and_rows_of_each_cell(model, released):
    figure = heat_figure(released, released.terms[PAIR])
    heat = figure.data[0]
    scores, deviations = model.term_scores_[PAIR], model.standard_deviations_[PAIR]
    assert np.array_equal(heat.z, scores[np.ix_(ORDER, ORDER)].T)
    assert figure.layout.xaxis.title.text == "age"
    assert figure.layout.yaxis.ticktext[-2:] == ("missing", "undeclared")
    text, effect, rows = heat.customdata[0][1]
    assert text.startswith("age 30 to 55")
    assert "city Bonn" in text
    assert f"{scores[2, 1]:+.4g} ± {1.96 * deviations[2, 1]:.3g}" in effect
    assert rows == f"{model.bin_weights_[PAIR][2, 1]:,.0f}"
    assert heat.zmax == -heat.zmin == np.abs(scores).max()


def test_cells_within_the_noise_are_veiled_and_say_so(model, released):
    figure = heat_figure(released, released.terms[PAIR])
    veil = np.array(figure.data[1].z, dtype=float)
    scores, deviations = model.term_scores_[PAIR], model.standard_deviations_[PAIR]
    within = np.abs(scores) < 1.96 * deviations
    assert within.any()
    assert np.array_equal(veil == 1.0, within[np.ix_(ORDER, ORDER)].T)
    said = [
        ["within the noise" in entry[1] for entry in line] for line in figure.data[0].customdata
    ]
    assert np.array_equal(said, veil == 1.0)
    # Where the noise is not known, nothing is veiled.
    unknown = pairs.build(covariance=False)
    figure = heat_figure(unknown, unknown.terms[PAIR])
    assert len(figure.data) == 1
    assert "±" not in str(figure.data[0].customdata)
    with pytest.raises(ValueError, match="it has a curve"):
        heat_figure(released, released.terms[0])


def test_interprets_explanation_draws_it(model, released):
    explanation = model.explain_global()
    assert explanation.data(PAIR)["type"] == "interaction"
    assert explanation.selector["Type"].tolist()[PAIR] == "interaction"
    assert explanation.selector["Bins"].tolist()[PAIR] == 9
    figure = explanation.visualize(PAIR)
    assert figure.data[0].type == "heatmap"
    assert "age &amp; city" in figure.layout.title.text
    assert "epsilon" in figure.layout.annotations[0].text
    buttons = figure.layout.updatemenus[0].buttons
    assert [button.label for button in buttons] == ["own scale", "same scale for all terms"]
    assert "age &amp; city" in explanation.visualize(None).layout.yaxis.ticktext
    overall = explanation.data()
    assert overall["names"] == model.term_names_
    assert overall["signal_to_noise"] == [term.signal_to_noise for term in released.terms]
    shown = explanation.selector["Signal to noise"]
    np.testing.assert_allclose(shown, overall["signal_to_noise"], rtol=6e-3)


def test_local_explanations_and_pages_show_both_values(model, released):
    explanation = model.explain_local(ROWS, ["a", "b"])
    record = explanation.data(0)
    assert record["names"][PAIR] == "age & city"
    assert record["scores"][PAIR] == pytest.approx(model.eval_terms(ROWS)[0, PAIR])
    labels = explanation.visualize(0).data[0].customdata
    (pair,) = [text for text in labels if text.startswith("age &amp; city")]
    assert "25" in pair
    assert "Bonn" in pair
    assert explanation.visualize(None).data[0].type == "heatmap"
    page = render_html(released, model.privacy_spend_, local=explanation)
    assert 'class="card pair"' in page
    assert "<b>elsewhere" not in page
    assert "age &amp; city" in page
    assert "Pale cells are within the noise" in page
    assert "Pale cells" not in render_html(build_model(), model.privacy_spend_)
