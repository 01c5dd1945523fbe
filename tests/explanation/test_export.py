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
from interpret_dp.accounting import Guarantee, mu_of_budget
from interpret_dp.explanation.export import render_html, write_html
from interpret_dp.explanation.figure_parts import number_text
from interpret_dp.explanation.page_figures import importance_figure, local_figure, term_importance
from interpret_dp.explanation.shape_figures import shape_figure
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.schema import Categorical, Continuous, Schema
from tests.explanation.budgets import budget_state

HOSTILE = "</script><script>document.title='broken'</script>"


def _model(*, names=("stay", "ward"), levels=("b", "a", "c"), weights=None, covariance=True):
    schema = Schema(
        {names[0]: Continuous(0, 90, scale="log"), names[1]: Categorical(list(levels))},
        target=Categorical(["no", "yes"]),
    )
    if weights is None:
        weights = [[500.0, 300.0, 200.0, 0.0], [5.0, 600.0, 300.0, 90.0, 5.0]]
    variances = [np.diag([0.04, 0.01, 0.02, 0.0]), np.diag([0.0, 0.01, 0.01, 0.09, 0.0])]
    scores = [[-0.5, 0.2, 1.0, 0.0], [0.0, 0.1, 0.4, -0.3, 0.0]]
    return AdditiveModel(
        task="classification",
        schema=schema,
        features=(
            AdditiveFeature(names[0], schema.features[names[0]], np.array([9.0])),
            AdditiveFeature(names[1], schema.features[names[1]]),
        ),
        terms=tuple(
            AdditiveTerm(
                k, np.array(scores[k]), np.array(weights[k]), variances[k] if covariance else None
            )
            for k in range(2)
        ),
        intercept=-1.0,
        classes=("no", "yes"),
        n_rows=1000.0,
        noise_scale_binning=10.0,
        noise_scale_boosting=0.1,
        rounds=40,
        guarantee=Guarantee(
            epsilon=1.0,
            delta=1e-6,
            mu=mu_of_budget(1.0, 1e-6),
            mechanism="discrete Gaussian",
            dataset=f"ward {HOSTILE}" if HOSTILE in names else "ward",
        ),
    )


class _Local:
    """What interpret's local explanation offers."""

    def __init__(self, *actual, names=("stay", "ward")):
        self.selector = pd.DataFrame({"Actual": actual})
        self._names = names

    def data(self, key):
        return {
            "names": list(self._names),
            "values": [float("nan"), "b"],
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
    for name in ("stay", "ward"):
        assert f"<h3>{name}</h3>" in page
    assert "Probability of yes: 20 %, actual: yes" in page
    assert "Probability of yes: 20 %, actual: no" in page
    assert "<h3>Probability of yes: 20 %</h3>" in page
    assert page.count('class="plot"') == 1 + 2 + 3
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
    model = _model(names=(HOSTILE, "ward"), levels=(HOSTILE, "a", "<b>c</b>"))
    page = render_html(
        model,
        PrivacySpend(guarantee=model.guarantee),
        title=HOSTILE,
        lead=HOSTILE,
        local=_Local(1, names=(HOSTILE, "ward")),
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
    model = _model()
    guarantee = dataclasses.replace(model.guarantee, tests_only=True)
    model = dataclasses.replace(model, guarantee=guarantee)
    write_html(tmp_path / "page.html", model, PrivacySpend(guarantee=guarantee))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<section id="promise" class="void">' in page
    assert "nothing is promised" in page


# Figures


def _lines(figure):
    return [trace for trace in figure.data if trace.mode == "lines"]


def test_band_is_that_of_the_noise_and_the_curve_lies_in_it():
    model = _model()
    upper, lower, curve, _density = _lines(shape_figure(model, model.terms[0]))
    np.testing.assert_allclose(curve.y, [0.2, 1.0, 1.0])
    half = 1.959964 * np.sqrt([0.01, 0.02, 0.02])
    np.testing.assert_allclose(np.subtract(upper.y, curve.y), half, rtol=1e-6)
    np.testing.assert_allclose(np.subtract(curve.y, lower.y), half, rtol=1e-6)
    assert lower.fill == "tonexty"


def test_a_term_of_unknown_noise_has_no_band():
    known, unknown = _model(), _model(covariance=False)
    curve, _density = _lines(shape_figure(unknown, unknown.terms[0]))
    np.testing.assert_allclose(curve.y, [0.2, 1.0, 1.0])
    assert shape_figure(unknown, unknown.terms[1]).data[0].error_y.array is None
    bars = shape_figure(known, known.terms[1]).data[0].error_y
    assert list(bars.array) == pytest.approx([0.1959964, 0.1959964, 3 * 0.1959964])
    assert bars.arrayminus == pytest.approx(bars.array)


def test_a_log_scaled_feature_is_drawn_on_its_scale_with_raw_ticks():
    model = _model()
    figure = shape_figure(model, model.terms[0])
    curve = _lines(figure)[2]
    np.testing.assert_allclose(curve.x, np.log1p([0, 9, 90]))
    axis = figure.layout.xaxis
    numbers = [float(text) for text in axis.ticktext if text != "missing"]
    np.testing.assert_allclose(axis.tickvals[: len(numbers)], np.log1p(numbers))
    assert numbers[0] == 0
    assert len(numbers) >= 4


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 100), ["0", "20", "40", "60", "80", "100"]),
        ((5, 5), ["5"]),
        ((-3, 4), ["-2", "0", "2", "4"]),
    ],
)
def test_ticks_are_round_and_inside(bounds, expected):
    schema = Schema({"x": Continuous(*bounds)}, target=Categorical(["no", "yes"]))
    model = _one_term(schema, np.zeros(3), np.array([0.0, 50.0, 0.0]))
    assert list(shape_figure(model, model.terms[0]).layout.xaxis.ticktext) == expected


def _one_term(schema, scores, weights):
    (name,) = schema.features
    cuts = np.zeros(0) if isinstance(schema.features[name], Continuous) else None
    return dataclasses.replace(
        _model(),
        schema=schema,
        features=(AdditiveFeature(name, schema.features[name], cuts),),
        terms=(AdditiveTerm(0, scores, weights, None),),
    )


@pytest.mark.parametrize(("count", "shown"), [(31.0, True), (29.0, False)])
def test_missing_is_shown_where_its_count_stands_out_of_the_noise(count, shown):
    model = _model(weights=[[count, 300.0, 200.0, 0.0], [count, 600.0, 300.0, 90.0, 5.0]])
    for term in model.terms:
        texts = shape_figure(model, term).layout.xaxis.ticktext
        assert ("missing" in texts) is shown
        assert "undeclared" not in texts


def test_levels_are_sorted_by_score_unless_they_have_an_order():
    model = _model()
    assert list(shape_figure(model, model.terms[1]).layout.xaxis.ticktext) == ["a", "b", "c"]
    schema = Schema({"x": Categorical(["lo", "hi"], ordered=True)}, target=model.schema.target)
    model = _one_term(schema, np.array([0.0, 0.1, 0.9, 0.0]), np.full(4, 0.0))
    assert list(shape_figure(model, model.terms[0]).layout.xaxis.ticktext) == ["lo", "hi"]


def test_the_truth_is_drawn_where_its_values_are():
    model = _model()

    def stay(values):
        values = np.asarray(values, dtype=float)
        return np.where(np.isnan(values), -7.0, values / 90)

    figure = shape_figure(model, model.terms[0], stay)
    (dashed,) = (trace for trace in _lines(figure) if trace.line.dash == "dash")
    np.testing.assert_allclose(dashed.y, np.expm1(dashed.x) / 90)
    assert figure.data[-1].y == (-7.0,)

    def ward(values):
        return np.array([{"a": 1.0, "b": 2.0, "c": 3.0}[value] for value in values])

    figure = shape_figure(model, model.terms[1], ward)
    assert figure.data[-1].y == (1.0, 2.0, 3.0)


def test_importance_says_what_noise_alone_would_give():
    """A term of pure noise, at 40,000 bins: level 1e-6, a factor 1.05 is found with power 1."""
    generator = np.random.default_rng(5)
    size = 40_000
    deviations = generator.uniform(0.5, 2.0, size)
    scores = deviations * generator.standard_normal(size)
    # The covariance of so many bins does not fit into memory: only its diagonal is asked for.
    term = SimpleNamespace(
        scores=scores,
        weights=generator.uniform(0, 9, size),
        noise_deviations=deviations,
    )
    importance, noise = term_importance(term)
    assert abs(importance / noise - 1) < 0.03
    twice, _ = term_importance(SimpleNamespace(**{**vars(term), "scores": 1.05 * scores}))
    assert twice / noise - 1 > 0.03


def test_importances_are_sorted_and_marked():
    model = _model()
    bars, marks = importance_figure(model).data
    measured = {model.features[t.feature].name: term_importance(t) for t in model.terms}
    assert list(bars.customdata) == sorted(measured, key=lambda name: measured[name][0])
    assert list(bars.x) == [measured[name][0] for name in bars.customdata]
    assert list(marks.x) == [measured[name][1] for name in bars.customdata]


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
