"""The exported page: complete, escaped, and self-contained."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from interpret_dp import PrivacySpend
from interpret_dp.explanation.export import render_html, write_html
from interpret_dp.explanation.page_figures import local_figure
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


def test_a_term_of_unknown_noise_has_no_band():
    model = build_model(covariance=False)
    curve, _density = _lines(shape_figure(model, model.terms[DOSE]))
    np.testing.assert_allclose(curve.y[:5], model.terms[DOSE].scores[1:-1])
    assert shape_figure(model, model.terms[CITY]).data[0].error_y.array is None


@pytest.mark.parametrize(
    ("bounds", "expected"), [((0, 100), "0 20 40 60 80 100"), ((5, 5), "5"), ((-3, 4), "-2 0 2 4")]
)
def test_ticks_are_round_and_inside(bounds, expected):
    feature = AdditiveFeature("x", Continuous(*bounds), np.zeros(0))
    term = AdditiveTerm(0, np.zeros(3), np.array([0.0, 50.0, 0.0]), None)
    model = _model(features=(feature,), terms=(term,))
    assert list(shape_figure(model, term).layout.xaxis.ticktext) == expected.split()


def test_a_prediction_shows_the_largest_parts_and_the_sum_of_the_rest():
    scores = [(-1) ** k * (k + 1) / 10 for k in range(20)]
    names = [f"f{k}" for k in range(20)]
    record = {"names": names, "values": list(range(20)), "scores": scores}
    (bars,) = local_figure(_model(), record).data
    assert bars.customdata[-1] == "f19 = 19"
    assert bars.customdata[0] == "5 others"
    assert sum(bars.x) == pytest.approx(sum(scores))
