"""Plain figures of explanations: complete, labelled, and with buttons that need no server."""

import dataclasses
import html
import json

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacySpend
from interpret_dp.explanation.card import ModelCard
from interpret_dp.explanation.pages import level_table, render_html
from interpret_dp.explanation.plots import parts
from interpret_dp.explanation.plots.axes import bin_texts, term_places
from interpret_dp.explanation.plots.bars import importance_figure, overview_figure
from interpret_dp.explanation.plots.heat import contributions_figure, heat_figure
from interpret_dp.explanation.plots.prediction import local_figure, outcome_text
from interpret_dp.explanation.plots.shape import shape_figure, term_figure
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.released.additive_model import lookup_tables
from interpret_dp.released.summary import summarise, term_sentence
from interpret_dp.schema import Categorical, Continuous, Integer, PrivacyUnit, Schema
from tests.editor import test_pairs as pairs
from tests.editor.models import build_model, changed, session, without_rows
from tests.explanation.pages.test_model import _model

AGE, DOSE, GRADE, CITY = range(4)
LINE = (
    "Privacy cost of this explanation: 0 · of the model: epsilon 1 at delta 1e-06 · budget of "
    "the data set used: 43 %, by 2 requests · one more like this model: no"
)


def press(figure, label):
    """Do to a figure what plotly does when a button is pressed."""
    (button,) = (b for menu in figure.layout.updatemenus for b in menu.buttons if b.label == label)
    if button.method == "relayout":
        for name, value in button.args[0].items():
            figure.update_layout({name.replace(".", "_"): value})
        return
    changes, indices = button.args
    for name, values in changes.items():
        for value, index in zip(values, indices, strict=True):
            figure.data[index][name] = value


def labels(figure):
    return [b.label for menu in figure.layout.updatemenus for b in menu.buttons]


# ------------------------------------------------------------------------------------- edits


@pytest.mark.parametrize(("name", "is_linear"), [("age", True), ("age", False), ("city", True)])
def test_an_edited_term_is_shown_beside_its_release_without_its_signal_to_noise(name, is_linear):
    editing = session()
    if is_linear:
        editing.shift(name, 0.5, bins=[1, 2])
    else:
        editing.make_monotone(name)
    model = AdditiveModel.from_dict(editing.released.to_dict())
    index = model.term_names.index(name)
    figure = term_figure(model, index, LINE)
    assert "edited" in figure.layout.title.text
    trace = next(t for t in figure.data if t.name == "released")
    before, places = editing.base.terms[index].scores, term_places(model, editing.base.terms[index])
    if name == "age":
        assert trace.line.dash == "dash"
        assert trace.y[:-1] == tuple(before[places.steps])
    else:
        assert trace.y == tuple(before[places.alone])
    curve = next(t for t in figure.data if t.name.startswith("edited"))
    assert curve.y[0] == model.terms[index].scores[places.codes[0]]
    texts = " ".join(note.text for note in figure.layout.annotations)
    bands = [t for t in figure.data if "95 %" in (t.name or "") or t.error_y.array is not None]
    assert bands
    assert "No band is drawn" not in texts
    sentence = term_sentence(model, model.terms[index])
    assert sentence.startswith(f"{name!r} was edited. ")
    assert "not described" not in sentence
    before = model.terms[index].released
    noisier = dataclasses.replace(before, covariance=1e4 * before.covariance)
    weak = dataclasses.replace(model.terms[index], released=noisier)
    assert term_sentence(changed(model, index, term=weak), weak) == (
        f"{name!r} was edited. As released, its effect may be noise alone."
    )
    column = next(line for line in summarise(model).columns if line.name == name)
    assert column.signal_to_noise is None
    assert column.note.startswith("edited")
    axis, names = overview_figure(model, LINE).layout.yaxis2, overview_figure(model, LINE).data[0]
    texts = dict(zip(names.customdata, axis.ticktext, strict=True))
    assert [key for key, text in texts.items() if text == "edited"] == [name]
    editing.reset(name)
    assert editing.released.terms[index].signal_to_noise is not None


# ---------------------------------------------------------------------- labels and legends


def test_signal_to_noise_stands_behind_each_bar_and_is_explained():
    model = build_model()
    _, dose, *others = model.terms
    clear = changed(model, DOSE, covariance=1e-9 * dose.covariance)
    clear = changed(clear, AGE, covariance=None)
    figure = overview_figure(clear, LINE)
    axis = figure.layout.yaxis2
    texts = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    names = figure.data[0].customdata
    grade, city = (f"{int(10 * term.signal_to_noise) / 10}" for term in others)
    expected = {"age": "not known", "dose": "1000 or more", "grade": grade, "city": city}
    assert {names[int(y)]: text for y, text in texts.items()} == expected


def test_bar_mark_ratio_colour_and_sentence_say_the_same():
    model = build_model()
    # One term just below the threshold, of which rounding would say 2.0, and one just above it.
    for index, ratio in ((AGE, 1.97), (DOSE, 2.01)):
        term = model.terms[index]
        covariance = term.covariance * (term.signal_to_noise / ratio) ** 2
        model = changed(model, index, covariance=covariance)
    figure = overview_figure(model, LINE)
    bars, marks = figure.data[:2]
    shown = zip(
        *(bars.customdata, bars.x, marks.x, bars.marker.color, figure.layout.yaxis2.ticktext),
        strict=True,
    )
    terms = dict(zip(model.term_names, model.terms, strict=True))
    columns = {line.name: line for line in summarise(model).columns}
    card = {name: texts for name, *texts in ModelCard(model, {}).terms.rows}
    for name, bar, mark, color, text in shown:
        ratio = terms[name].signal_to_noise
        assert bar / mark == ratio == columns[name].signal_to_noise
        is_said = term_sentence(model, terms[name]).endswith("may be noise alone.")
        assert (color == parts.COLORS["weak"]) is (ratio < 2) is is_said
        assert columns[name].importance == bar
        assert (card[name][0], card[name][1]) == (f"{bar:.3g}", text)
        assert text == {"age": "1.9", "dose": "2.0"}.get(name, text)
    assert list(bars.x) == sorted(bars.x)


@pytest.mark.parametrize("n_terms", [15, 16])
def test_the_largest_terms_are_in_view_and_a_button_shows_all(n_terms):
    model = build_model()
    features = [dataclasses.replace(model.features[0], name=f"age {k}") for k in range(n_terms)]
    terms = [dataclasses.replace(model.terms[0], feature=k) for k in range(n_terms)]
    schema = Schema({f.name: f.spec for f in features}, target=model.schema.target)
    wide = dataclasses.replace(model, schema=schema, features=features, terms=tuple(terms))
    for figure in (overview_figure(wide, LINE), importance_figure(wide)):
        assert len(figure.data[0].y) == n_terms
        if n_terms == 15:
            assert not figure.layout.updatemenus
            continue
        assert figure.layout.yaxis.range == (0.5, 15.5)
        press(figure, "all 16")
        assert figure.layout.yaxis.range == (-0.5, 15.5)


def test_the_cost_is_in_the_figure_and_broken_between_its_parts():
    for figure in (overview_figure(build_model(), LINE), contributions_figure([], LINE)):
        (note,) = (note.text for note in figure.layout.annotations if "Privacy" in note.text)
        assert note.endswith(LINE.replace(" · budget", " ·<br>budget"))
    # A term is described in words, which a cost follows.
    model = build_model()
    (note,) = term_figure(model, AGE, "").layout.annotations
    sentence = html.escape(term_sentence(model, model.terms[AGE]), quote=False)
    assert note.text.replace("<br>", " ") == sentence
    assert parts.text_alternative(term_figure(model, AGE, "")) == html.unescape(sentence)


def test_of_a_thousand_levels_the_ends_are_drawn_and_a_table_has_all():
    names = [f"level {number}" for number in range(1_000)]
    scores, rows, noise = np.linspace(-1, 1, 1_002), np.full(1_002, 100.0), np.full(1_002, 0.01)
    scores[300:320], rows[300:320], noise[300:320] = 0.0, 1.0, 0.0
    term = AdditiveTerm(CITY, scores, rows, np.diag(noise))
    city = AdditiveFeature("city", Categorical(names))
    model = changed(build_model(), CITY, feature=city, term=term)
    figure = term_figure(model, CITY, LINE)
    ends = [f"level {number}" for number in (*range(999, 984, -1), *range(14, -1, -1))]
    others = ["20 with too few rows", "missing", "undeclared", "950 in between"]
    assert list(figure.layout.xaxis.ticktext) == [*ends, *others]
    drawn = {x: y for t in figure.data if t.error_y.array for x, y in zip(t.x, t.y, strict=True)}
    at = dict(zip(figure.layout.xaxis.ticktext, figure.layout.xaxis.tickvals, strict=True))
    assert [drawn[at[name]] for name in ends] == [scores[1 + int(name[6:])] for name in ends]
    table = {row[0]: row[1] for row in level_table(model, term).rows}
    assert set(table) == {"missing", "undeclared", *names}
    assert table["level 500"].startswith(f"{scores[501]:.4g}, band ")
    assert "All 1,002 levels" in render_html(model, PrivacySpend(guarantee=model.guarantee))
    assert level_table(build_model(), build_model().terms[CITY]) is None


def test_names_are_shown_literally():
    model = build_model()
    named = changed(model, AGE, feature=dataclasses.replace(model.features[AGE], name="<b>age</b>"))
    assert "<b>" not in term_figure(named, AGE, LINE).layout.title.text
    assert "<b>" not in json.dumps(overview_figure(named, LINE).to_dict(), default=str)


# ------------------------------------------------------------------------------- heat maps of pairs

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
    assert heat.text[0][1] == ("+" if effect.startswith("+") else "\N{MINUS SIGN}")
    assert text.startswith("age 30 to 55")
    assert "city Bonn" in text
    assert f"{scores[2, 1]:+.4g} ± {1.96 * deviations[2, 1]:.3g}" in effect
    assert rows == f"{model.bin_weights_[PAIR][2, 1]:,.0f}"
    assert heat.zmax == -heat.zmin == np.abs(scores).max()
    # Noise of 10 hides the missing values, of 15 and 55 rows, and not the unseen ones.
    noisy = dataclasses.replace(released, noise_scale_binning=10.0)
    assert np.shape(heat_figure(noisy, noisy.terms[PAIR]).data[0].z) == (4, 4)


def test_cells_within_the_noise_are_veiled_and_say_so(model, released):
    figure = heat_figure(released, released.terms[PAIR])
    veil = np.array(figure.data[1].z, dtype=float)
    scores, deviations = model.term_scores_[PAIR], model.standard_deviations_[PAIR]
    within = np.abs(scores) < 1.96 * deviations
    assert within.any()
    assert np.array_equal(veil == 1.0, within[np.ix_(ORDER, ORDER)].T)
    said = np.vectorize(lambda effect: "within the noise" in effect)
    assert np.array_equal(said(np.array(figure.data[0].customdata)[..., 1]), veil == 1.0)
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
    ratios = [term.signal_to_noise for term in released.terms]
    assert explanation.data()["signal_to_noise"] == ratios
    np.testing.assert_allclose(explanation.selector["Signal to noise"], ratios, rtol=6e-3)


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


# Figures


def _lines(figure):
    return [t for t in figure.data if t.type == "scatter" and t.mode == "lines"]


def _rows(figure):
    return next(trace for trace in figure.data if "where the" in (trace.name or ""))


def test_a_term_of_unknown_noise_has_no_band():
    model = build_model(covariance=False)
    (curve,) = _lines(shape_figure(model, model.terms[DOSE]))
    np.testing.assert_allclose(curve.y[:5], model.terms[DOSE].scores[1:-1])
    assert shape_figure(model, model.terms[CITY]).data[0].error_y.array is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bins_with_too_few_rows_say_so_and_have_no_band(n_classes):
    model = without_rows(without_rows(build_model(n_classes), "dose", [2]), "city", [1])
    curve, levels = (shape_figure(model, model.terms[index]) for index in (DOSE, CITY))
    # One hover text a curve, and one hollow point for all classes.
    for drawn, n_texts in ((curve, 1 if n_classes == 2 else n_classes), (levels, 1)):
        (mark,) = (trace for trace in drawn.data if trace.name == parts.TOO_FEW_ROWS)
        assert set(mark.y) <= {0.0, None}
        texts = [text for trace in drawn.data for text in trace.text or ()]
        assert sum(parts.TOO_FEW_ROWS in text for text in texts) == n_texts
    assert np.isfinite([trace.y for trace in _lines(curve) if trace.fill == "tonexty"]).all()
    legend = "<i class=unlearned>"
    assert legend in render_html(model, PrivacySpend(guarantee=model.guarantee))
    assert legend not in render_html(_model(), PrivacySpend(guarantee=model.guarantee))
    _own, common = term_figure(model, CITY, "").layout.updatemenus[0].buttons
    assert np.isfinite(common.args[0]["yaxis.range"]).all()
    scores = np.outer([0.5, 0.0, 0.25, 0.0], np.ones(len(model.intercept))).squeeze()
    record = {"names": model.term_names, "scores": scores, "extra": {"scores": model.intercept}}
    for values, n_lacking in (([30.0, 1.0, "low", "Bonn"], 2), ([30.0, 5.0, "low", "Lyon"], 0)):
        drawn = local_figure(model, record | {"values": values})
        notes = [note.text for note in drawn.layout.annotations]
        assert notes.count(parts.TOO_FEW_ROWS) == n_lacking


def test_ranges_of_integers_are_written_as_integers():
    hour = AdditiveFeature("hour", Integer(0, 23), np.array([5.5, 6.5, 17.5]))
    term = AdditiveTerm(0, np.arange(6.0), np.array([0.0, 60, 10, 110, 60, 0]), None)
    model = _model(features=(hour,), terms=(term,))
    texts = ["0 to 5", "6", "7 to 17", "18 to 23"]
    assert list(lookup_tables(model)["hour"]["bin"]) == ["missing", *texts]
    assert bin_texts(hour) == ["missing", *texts, "undeclared"]
    figure = shape_figure(model, term)
    (hover,) = (trace for trace in figure.data if trace.text is not None)
    assert [text.split("<br>")[0] for text in hover.text] == [f"<b>{text}</b>" for text in texts]
    # As many rows an hour throughout: a bar an hour, all of one height.
    assert list(_rows(figure).x) == list(range(24))
    np.testing.assert_allclose(_rows(figure).y, 10.0)


def test_a_bin_too_narrow_to_be_seen_leaves_the_rows_of_others_visible():
    visits = AdditiveFeature("visits", Continuous(0, 20), np.array([9.0, 9.1]))
    term = AdditiveTerm(0, np.arange(5.0), np.array([7.0, 14, 3, 12, 0]), None)
    model = _model(features=(visits,), terms=(term,))
    rows = _rows(shape_figure(model, term))
    assert rows.y[:10] == pytest.approx([14 / 9 * 20 / 24] * 10)
    assert sum(rows.y[:-1]) == pytest.approx(29)
    assert max(rows.y[:-1]) < 5 * min(rows.y[:-1])
    assert rows.y[-1] == 7  # missing


@pytest.mark.parametrize("cuts", [np.linspace(0.5, 19.5, 39), np.array([4.0, 9.0, 14.0])])
def test_the_drawn_band_holds_the_band_of_every_bin_and_has_no_steps_of_its_own(cuts):
    dose, rng = AdditiveFeature("dose", Continuous(0, 20), cuts), np.random.default_rng(5)
    size = len(cuts) + 3
    noise = np.diag(rng.uniform(0.01, 0.2, size))
    scores = np.linspace(-1, 1, size)
    term = AdditiveTerm(0, scores, np.full(size, 50.0), noise)
    figure = shape_figure(_model(features=(dose,), terms=(term,)), term)
    upper, lower, *_ = _lines(figure)
    edges = np.r_[0.0, cuts, 20.0]
    for drawn, end, sign in ((upper, term.band().upper, 1), (lower, term.band().lower, -1)):
        np.testing.assert_allclose(drawn.x, np.repeat(edges, 2)[1:-1])
        y = np.array(drawn.y).reshape(-1, 2).T
        beyond, widths = sign * (y - end[1:-1]), sign * (y - scores[1:-1])
        assert (beyond >= -1e-12).all()
        # Wide bins have their own band; among narrow ones the width changes gradually.
        assert (beyond.max() < 1e-12) == (len(cuts) == 3)
        assert len(cuts) == 3 or widths[1, :-1] == pytest.approx(widths[0, 1:])


def test_one_class_is_shown_with_its_band_or_all_without():
    model = build_model(3)
    largest = int(np.argmax([model.terms[AGE].of_class(k).size for k in range(3)]))
    figure = term_figure(model, AGE, "")
    menu = next(m for m in figure.layout.updatemenus if m.type == "dropdown")
    views = {button.label: button.args[0]["visible"] for button in menu.buttons}
    assert menu.active == largest
    assert [trace.visible for trace in figure.data] == list(views.values())[largest]
    for label, view in views.items():
        shown = [t for t, on in zip(figure.data, view, strict=True) if t.legendgroup and on is True]
        has_all = label == "all classes, without bands"
        assert {trace.legendgroup for trace in shown} == ({"a", "b", "c"} if has_all else {label})
        assert any(getattr(trace, "fill", None) for trace in shown) is not has_all


def test_percent_beside_log_odds_is_the_probability_with_other_terms_at_their_mean():
    model = build_model()
    for index in (AGE, CITY):
        figure = term_figure(model, index, "")
        for label in ("own scale", "same scale for all terms"):
            press(figure, label)
            axis = figure.layout.yaxis3
            odds = np.exp(model.intercept[0] + np.array(axis.tickvals))
            shown = [float(text.removesuffix(" %")) for text in axis.ticktext]
            assert shown == pytest.approx(100 * odds / (1 + odds))
            assert len(set(shown)) == 6
    assert not hasattr(term_figure(build_model(0), AGE, "").layout, "yaxis3")


def test_each_colour_has_one_meaning_and_rounding_errors_are_zero():
    named = list(parts.COLORS.values())
    assert len(set(named)) == len(named)
    assert not set(named).intersection(parts.CLASS_COLORS)
    model = build_model()
    tiny = dataclasses.replace(model.terms[CITY], scores=np.array([0.0, 1.22e-15, 0.5, -0.5, 0.0]))
    (hover,) = [t.text for t in shape_figure(model, tiny).data if t.text is not None]
    assert any(text.startswith("<b>Bonn</b><br>0, band") for text in hover)


def test_a_prediction_shows_the_largest_parts_and_the_sum_of_the_rest():
    scores = [(-1) ** k * (k + 1) / 10 for k in range(20)]
    names = [f"f{k}" for k in range(20)]
    record = {"names": names, "values": list(range(20)), "scores": scores}
    model = _model()
    figure = local_figure(model, record)
    (bars,) = figure.data
    assert figure.layout.yaxis.ticktext[:2] == (f"intercept = {bars.x[0]:.4g}", "f19 = 19")
    assert bars.customdata[-1].startswith("5 others: ")
    assert sum(bars.x) == pytest.approx(sum(scores) + model.intercept[0])


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_bars_of_a_prediction_have_the_noise_of_their_bin_and_name_the_probability(n_classes):
    model = build_model(n_classes)
    values, codes = [22.0, 1.0, "mid", "Lyon"], [2, 2, 2, 2]
    scores = np.array([term.scores[code] for term, code in zip(model.terms, codes, strict=True)])
    total = scores.reshape(4, -1).sum(axis=0) + model.intercept
    column = int(np.argmax(total)) if n_classes == 3 else 0
    record = {"names": list(model.term_names), "values": values, "scores": scores.tolist()}
    bars, noise = local_figure(model, record | {"extra": {"scores": model.intercept}}).data
    place = next(k for k, text in enumerate(bars.customdata) if text.startswith("dose = 1: "))
    low, high = (end[2] for end in model.terms[DOSE].band().of_class(column))
    # The intercept, which is on top, has none.
    assert noise.y[place - 1] == bars.y[place]
    assert bars.x[place] - noise.error_x.arrayminus[place - 1] == pytest.approx(low)
    assert bars.x[place] + noise.error_x.array[place - 1] == pytest.approx(high)
    odds = np.exp(total)
    probability = odds[column] / (odds.sum() if n_classes == 3 else 1 + odds[0])
    words = f"probability {100 * probability:.3g} %, without it"
    assert (words in bars.customdata[place]) == (n_classes > 0)
    # A score that the model's bin does not have gets no band of it.
    strange = record | {"scores": (scores + 1).tolist(), "extra": {"scores": model.intercept}}
    assert len(local_figure(model, strange).data) == 1


def test_axes_and_counts_name_the_outcome_and_the_privacy_unit():
    schema = dataclasses.replace(build_model().schema, unit=PrivacyUnit("patient_id"))
    named = _model(target="relapse", schema=schema)
    assert parts.score_unit(named) == "log-odds of relapse = b"
    assert (
        parts.score_unit(dataclasses.replace(named, classes=("no", "yes"))) == "log-odds of relapse"
    )
    costs = dataclasses.replace(build_model(0), target="<i>cost</i>")
    assert parts.score_unit(costs) == "change of &lt;i&gt;cost&lt;/i&gt;, in its unit"
    logs = dataclasses.replace(build_model(0), target="claims", has_log_link=True)
    assert parts.score_unit(logs) == "change of log(mean claims)"
    assert AdditiveModel.from_dict(named.to_dict()).target == "relapse"
    hover = [t for t in shape_figure(named, named.terms[AGE]).data if t.text is not None][-1]
    share = 1 / (1 + np.exp(-(named.intercept[0] + named.terms[AGE].scores[1])))
    count = f"about {named.terms[AGE].weights[1]:,.0f} patients (noisy count)"
    expected = f"<br>probability {100 * share:.3g} % (other terms at 0)<br>{count}"
    assert hover.text[0].endswith(expected)
    several = dataclasses.replace(schema, unit=PrivacyUnit("patient_id", max_rows=3))
    assert parts.row_noun(_model(schema=several)) == parts.row_noun(build_model()) == "rows"
    nouns = {"city_id": "cities", "personID": "people", "user": "users", ("h", "p"): "people"}
    for column, noun in nouns.items():
        unit = dataclasses.replace(schema, unit=PrivacyUnit(column))
        assert parts.row_noun(_model(schema=unit)) == noun


def test_a_model_of_one_class_is_sure():
    model = dataclasses.replace(build_model(), classes=("no",))
    record = {"scores": [0.0] * 4, "extra": {"scores": [0.0]}, "perf": {"actual": 0}}
    assert outcome_text(model, record) == "Probability of no: 100 %, actual: no"
