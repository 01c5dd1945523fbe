"""The page of a model: complete, without a network, and proof against markup in names."""

import base64
import dataclasses
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from interpret_dp import Categorical, PrivacySpend
from interpret_dp.explanation import markup
from interpret_dp.explanation.pages import render_html
from interpret_dp.released import AdditiveFeature, EditRecord
from tests.editor.models import build_model
from tests.explanation.influences import budget_state
from tests.explanation.maps_models import stroke_model

HOSTILE = "</script><script>document.title='broken'</script>{{ 7 * 7 }}"


def _model(**changes):
    """Return terms age, dose (log scale), grade (ordinal) and city (nominal), of a data set."""
    model = build_model()
    guarantee = dataclasses.replace(model.guarantee, dataset="ward")
    return dataclasses.replace(model, **({"guarantee": guarantee} | changes))


def _local(*actual, names=("dose", "city")):
    """Return what interpret's local explanation offers."""
    record = {"names": list(names), "values": [float("nan"), "Bonn"], "scores": [-0.5, 0.1]}
    return SimpleNamespace(
        selector=pd.DataFrame({"Actual": actual}),
        data=lambda key: record | {"extra": {"scores": [-1.0]}, "perf": {"actual": actual[key]}},
    )


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
    page = render_html(model, spend, local=_local(1, 0, float("nan")), lead="A <b> lead.")
    assert model.guarantee.sentence in page
    assert spend.line in page
    assert "What does this mean?" in page
    assert "One more like this model: yes, up to 10." in page
    assert "A &lt;b&gt; lead." in page
    for feature in model.features:
        assert f"<h3>{feature.name}</h3>" in page
    assert "Probability of b: 20 %, actual: b" in page
    assert "Probability of b: 20 %, actual: a" in page
    assert "<h3>Probability of b: 20 %</h3>" in page
    assert page.count('class="plot"') == 1 + 4 + 3
    for clause in model.guarantee.assumptions:
        assert f"<li>{clause.replace(chr(39), '&#39;')}</li>" in page


def test_edits_are_listed_with_who_when_and_why_and_their_curves_are_marked():
    edits = [
        EditRecord(term="age", what="flattened", who="Ada", when="2026-11-27T08:30:59Z", why=why)
        for why in ("no bump <is> known", "")
    ]
    page = render_html(_model(edits=edits), PrivacySpend(guarantee=_model().guarantee))
    row = "<td>age</td><td>flattened</td><td>Ada</td><td>2026-11-27 08:30</td>"
    assert f"{row}<td>no bump &lt;is&gt; known</td>" in page
    assert page.count("<em>edited</em>") == 1
    assert "<h3>age <em>edited</em></h3>" in page
    assert "edited: 2 changes" in page
    plain = render_html(_model(), PrivacySpend(guarantee=_model().guarantee))
    assert "<em>edited</em>" not in plain
    assert "Edited by people" not in plain


def _unpacked(page, name):
    packed = re.search(rf'<script type="application/gzip" id="{name}">([\w+/=]*)</script>', page)[1]
    return gzip.decompress(base64.b64decode(packed)).decode()


def test_page_asks_for_nothing_holds_plotly_once_and_is_below_a_megabyte():
    model = _model()
    page = render_html(model, PrivacySpend(guarantee=model.guarantee))
    assert "plotly.js (cartesian - minified)" in _unpacked(page, "plotly")
    assert len(json.loads(_unpacked(page, "figures"))) == page.count('class="plot"')
    strokes = stroke_model()  # their wheel needs all of plotly
    other = render_html(strokes, PrivacySpend(guarantee=strokes.guarantee))
    assert "barpolar" in _unpacked(other, "plotly")
    assert _parsed(page).links == []
    assert not re.search(r"https?://|@import|url\(", page)
    assert len(page) < 750_000


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
        local=_local(1, names=(HOSTILE, "city")),
    )
    assert HOSTILE not in page
    # A name is no template either.
    assert "{{ 7 * 7 }}" in page
    assert "</script>49" not in page
    assert _parsed(page).opened == 3


def test_templates_leave_only_html_of_our_own_unescaped():
    texts = [
        path.read_text("utf-8")
        for path in (Path(markup.__file__).parent / "templates").glob("*.html")
    ]
    unescaped = {name for text in texts for name in re.findall(r"([\w.]+) *\| *safe", text)}
    assert unescaped == {"panel", "record"}
    assert not any("autoescape" in text for text in texts)
