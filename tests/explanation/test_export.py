"""The exported page: complete, escaped, and self-contained."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from interpret_dp import PrivacySpend
from interpret_dp.explanation.export import render_html, write_html
from interpret_dp.explanation.figure_parts import number_text
from interpret_dp.explanation.page_figures import importance_figure, local_figure, term_importance
from interpret_dp.explanation.shape_figures import shape_figure
from interpret_dp.released import AdditiveFeature, AdditiveTerm
from interpret_dp.schema import Categorical, Continuous
from tests.editor.models import build_model
from tests.explanation.budgets import budget_state

DOSE, GRADE, CITY = 1, 2, 3
HOSTILE = "</script><script>document.title='broken'</script>"


def _model(**changes):
    """Return terms age, dose (log scale), grade (ordinal) and city (nominal), of a data set."""
    model = build_model()
    guarantee = dataclasses.replace(model.guarantee, dataset="ward")
    return dataclasses.replace(model, **({"guarantee": guarantee} | changes))


class _Local:
    """What interpret's local explanation offers."""

    def __init__(self, *actual, names=("dose", "city")):
        self.selector = pd.DataFrame({"Actual": actual})
        self._names = names

    def data(self, key):
        return {
            "names": list(self._names),
            "values": [float("nan"), "Bonn"],
            "scores": [-0.5, 0.1],
            "extra": {"scores": [-1.0]},
            "perf": {"actual": self.selector["Actual"][key]},
        }


class _Scripts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.opened = 0
        self.links = []

    def handle_starttag(self, tag, attrs):
        self.opened += tag == "script"
        self.links += [value for name, value in attrs if name in ("src", "href")]


def _parsed(page):
    parser = _Scripts()
    # The bundled library holds markup in its strings: the parser skips a script's content.
    parser.feed(page)
    return parser


def test_page_shows_guarantee_cost_every_term_and_prediction():
    model = _model()
    spend = PrivacySpend(
        guarantee=model.guarantee,
        total_epsilon=1.5,
        remaining_epsilon=3.12349,
        budget=budget_state(dataset="ward"),
    )
    page = render_html(model, spend, local=_Local(1, 0, float("nan")), lead="A <b> lead.")
    assert model.guarantee.sentence in page
    assert spend.line in page
    assert "What does this mean?" in page
    assert "Room for" in page
    assert "A &lt;b&gt; lead." in page
    for feature in model.features:
        assert f"<h3>{feature.name}</h3>" in page
    assert "Probability of b: 20 %, actual: b" in page
    assert "Probability of b: 20 %, actual: a" in page
    assert "<h3>Probability of b: 20 %</h3>" in page
    assert page.count('class="plot"') == 1 + 4 + 3
    for clause in model.guarantee.assumptions:
        assert f"<li>{clause.replace(chr(39), '&#x27;')}</li>" in page


def test_page_asks_for_nothing_and_holds_plotly_once():
    model = _model()
    page = render_html(model, PrivacySpend(guarantee=model.guarantee))
    assert page.count(get_plotlyjs()) == 1
    assert _parsed(page).links == []
    own = page.replace(get_plotlyjs(), "")
    assert not re.search(r"https?://|@import|url\(", own)
    assert len(own) < 200_000


def test_names_cannot_leave_their_place():
    model = _model()
    age, dose, grade, _ = model.features
    city = AdditiveFeature("city", Categorical([HOSTILE, "a", "<b>c</b>"]))
    model = dataclasses.replace(
        model,
        features=(age, dataclasses.replace(dose, name=HOSTILE), grade, city),
        guarantee=dataclasses.replace(model.guarantee, dataset=HOSTILE),
    )
    page = render_html(
        model,
        PrivacySpend(guarantee=model.guarantee),
        title=HOSTILE,
        lead=HOSTILE,
        local=_Local(1, names=(HOSTILE, "city")),
    )
    assert HOSTILE not in page
    assert _parsed(page).opened == 2


def test_figures_cannot_end_their_script(monkeypatch):
    # As plotly writes when orjson is installed.
    monkeypatch.setattr(Figure, "to_json", lambda self: json.dumps(HOSTILE))
    model = _model()
    assert _parsed(render_html(model, PrivacySpend(guarantee=model.guarantee))).opened == 2


def test_control_the_parser_sees_a_name_that_breaks_out():
    assert _parsed(f"<script>'{HOSTILE}'</script>").opened == 2


def test_seeded_noise_is_shown_to_promise_nothing(tmp_path):
    guarantee = dataclasses.replace(_model().guarantee, tests_only=True)
    model = _model(guarantee=guarantee)
    write_html(tmp_path / "page.html", model, PrivacySpend(guarantee=guarantee))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<section id="promise" class="void">' in page
    assert "nothing is promised" in page


# Figures


def _lines(figure):
    return [trace for trace in figure.data if trace.mode == "lines"]


def test_band_is_that_of_the_noise_and_the_curve_lies_in_it():
    model = _model()
    term = model.terms[DOSE]
    upper, lower, curve, _density = _lines(shape_figure(model, term))
    # Steps: the last bin's value is drawn at both of its ends.
    bins = [1, 2, 3, 4, 5, 5]
    np.testing.assert_allclose(curve.y, term.scores[bins])
    half = 1.959964 * np.sqrt(np.diag(term.covariance))[bins]
    np.testing.assert_allclose(np.subtract(upper.y, curve.y), half, rtol=1e-6)
    np.testing.assert_allclose(np.subtract(curve.y, lower.y), half, rtol=1e-6)
    assert lower.fill == "tonexty"
    bars = shape_figure(model, model.terms[CITY]).data[0].error_y
    deviations = np.sqrt(np.diag(model.terms[CITY].covariance))
    # Missing, then the levels from the largest score to the smallest.
    assert sorted(bars.array) == pytest.approx(sorted(1.959964 * deviations))
    assert bars.arrayminus == pytest.approx(bars.array)


def test_a_term_of_unknown_noise_has_no_band():
    model = build_model(covariance=False)
    curve, _density = _lines(shape_figure(model, model.terms[DOSE]))
    np.testing.assert_allclose(curve.y[:5], model.terms[DOSE].scores[1:-1])
    assert shape_figure(model, model.terms[CITY]).data[0].error_y.array is None


def test_a_log_scaled_feature_is_drawn_on_its_scale_with_raw_ticks():
    model = _model()
    figure = shape_figure(model, model.terms[DOSE])
    curve = _lines(figure)[2]
    np.testing.assert_allclose(curve.x, np.log1p([0, 0.5, 2, 10, 50, 100]))
    axis = figure.layout.xaxis
    numbers = [float(text) for text in axis.ticktext if text not in ("missing", "undeclared")]
    np.testing.assert_allclose(axis.tickvals[: len(numbers)], np.log1p(numbers))
    assert numbers[0] == 0
    assert len(numbers) >= 4


@pytest.mark.parametrize(
    ("bounds", "expected"), [((0, 100), "0 20 40 60 80 100"), ((5, 5), "5"), ((-3, 4), "-2 0 2 4")]
)
def test_ticks_are_round_and_inside(bounds, expected):
    feature = AdditiveFeature("x", Continuous(*bounds), np.zeros(0))
    term = AdditiveTerm(0, np.zeros(3), np.array([0.0, 50.0, 0.0]), None)
    model = _model(features=(feature,), terms=(term,))
    assert list(shape_figure(model, term).layout.xaxis.ticktext) == expected.split()


@pytest.mark.parametrize(("count", "shown"), [(3.1, True), (2.9, False)])
def test_missing_is_shown_where_its_count_stands_out_of_the_noise(count, shown):
    model = _model()
    for term in (model.terms[DOSE], model.terms[CITY]):
        weights = np.array([count, *term.weights[1:-1], 2.9])
        figure = shape_figure(model, dataclasses.replace(term, weights=weights))
        texts = figure.layout.xaxis.ticktext
        assert ("missing" in texts) is shown
        assert "undeclared" not in texts


def test_levels_are_sorted_by_score_unless_they_have_an_order():
    model = _model()
    city, grade = (shape_figure(model, model.terms[k]).layout.xaxis.ticktext for k in (CITY, GRADE))
    assert list(city[:3]) == ["Lyon", "Bonn", "3"]
    assert list(grade[:4]) == ["low", "mid", "high", "top"]


def test_the_truth_is_drawn_where_its_values_are():
    model = _model()

    def dose(values):
        values = np.asarray(values, dtype=float)
        return np.where(np.isnan(values), -7.0, values / 90)

    figure = shape_figure(model, model.terms[DOSE], dose)
    (dashed,) = (trace for trace in _lines(figure) if trace.line.dash == "dash")
    np.testing.assert_allclose(dashed.y, np.expm1(dashed.x) / 90)
    assert figure.data[-1].y == (-7.0,)

    def city(values):
        return np.array([{"Lyon": 1.0, "Bonn": 2.0, 3: 3.0, None: 4.0}[value] for value in values])

    figure = shape_figure(model, model.terms[CITY], city)
    assert figure.data[-1].y[:3] == (1.0, 2.0, 3.0)


def test_importance_says_what_noise_alone_would_give():
    """A term of pure noise, at 40,000 bins: level 1e-6, a factor 1.05 is found with power 1."""
    generator = np.random.default_rng(5)
    size = 40_000
    deviations = generator.uniform(0.5, 2.0, size)
    scores = deviations * generator.standard_normal(size)
    # The covariance of so many bins does not fit into memory: only its diagonal is asked for.
    weights = generator.uniform(0, 9, size)
    term = SimpleNamespace(scores=scores, weights=weights, noise_deviations=deviations)
    importance, noise = term_importance(term)
    assert abs(importance / noise - 1) < 0.03
    twice, _ = term_importance(SimpleNamespace(**{**vars(term), "scores": 1.05 * scores}))
    assert twice / noise - 1 > 0.03


def test_importances_are_sorted_and_marked():
    model = _model()
    bars, marks = importance_figure(model).data
    measured = sorted((*term_importance(t), model.features[t.feature].name) for t in model.terms)
    drawn = list(zip(bars.x, marks.x, bars.customdata, strict=True))
    assert drawn == measured


def test_a_prediction_shows_the_largest_parts_and_the_sum_of_the_rest():
    scores = [(-1) ** k * (k + 1) / 10 for k in range(20)]
    names = [f"f{k}" for k in range(20)]
    record = {"names": names, "values": list(range(20)), "scores": scores}
    (bars,) = local_figure(_model(), record).data
    assert bars.customdata[-1] == "f19 = 19"
    assert bars.customdata[0] == "5 others"
    assert sum(bars.x) == pytest.approx(sum(scores))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.0, "1,234"), (0.000123456, "0.0001235"), (-0.0, "0"), (17.25, "17.25"), (2e12, "2e+12")],
)
def test_numbers_are_written_for_people(value, text):
    assert number_text(value) == text
