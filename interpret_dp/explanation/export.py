"""One HTML page of a released model that works without a network: plotly is in it, once."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import Any

from interpret_dp._documents import write_file
from interpret_dp._interpret import part_count
from interpret_dp.explanation.html_page import Plots, whole_page
from interpret_dp.explanation.markup import to_html
from interpret_dp.explanation.panel import privacy_panel
from interpret_dp.explanation.plots.bars import (
    SIGNAL_TO_NOISE,
    importance_figure,
    local_figure,
    outcome_text,
    term_importance,
)
from interpret_dp.explanation.plots.heat import heat_figure
from interpret_dp.explanation.plots.parts import TOO_FEW_ROWS
from interpret_dp.explanation.plots.shape import TrueCurve, shape_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel

__all__ = ["render_html", "write_html"]

_WIDE_LEVELS = 14


def write_html(
    path: str | os.PathLike[str],
    model: AdditiveModel,
    privacy: PrivacySpend,
    *,
    title: str | None = None,
    lead: str = "",
    notes: Mapping[str, str] | None = None,
    truth: Mapping[str, TrueCurve] | None = None,
    local: Any = None,
) -> None:
    """Write :func:`render_html` to a file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    text = render_html(
        model, privacy, title=title, lead=lead, notes=notes, truth=truth, local=local
    )
    write_file(path, text)


def render_html(
    model: AdditiveModel,
    privacy: PrivacySpend,
    *,
    title: str | None = None,
    lead: str = "",
    notes: Mapping[str, str] | None = None,
    truth: Mapping[str, TrueCurve] | None = None,
    local: Any = None,
) -> str:
    """Return a page with the guarantee, the spend, importances and every shape function.

    Everything on it is post-processing of the released model and costs nothing. It asks no server
    for anything.

    Parameters
    ----------
    model : AdditiveModel
        The released model.
    privacy : PrivacySpend
        What it cost, and what its data set cost so far.
    title : str, default=None
        Heading; by default the data set's name.
    lead : str, default=""
        One or two sentences below the heading.
    notes : mapping of str to str, default=None
        What a reader should look at, each by a short label; a list above everything else.
    truth : mapping of str to callable, default=None
        The true curves by name of feature, for simulated data: drawn dashed.
    local : explanation, default=None
        A local explanation of interpret. All its rows are shown, and nothing protects them: show
        rows of your own, or of people who do not exist.

    Returns
    -------
    str
        A complete HTML document; every name in it is escaped.
    """
    truth = {} if truth is None else truth
    dataset = model.guarantee.dataset
    heading = title or (f"Model of {dataset}" if dataset else "Private additive model")
    plots = Plots()
    place = plots.place
    body = "\n".join(
        [
            f"<header><h1>{html.escape(heading)}</h1>",
            f"<p>{html.escape(lead)}</p>" if lead else "",
            "</header>",
            _reading(notes or {}),
            _promise(privacy),
            _importances(model, place),
            _shapes(model, truth, place),
            "" if local is None else _predictions(model, local, place),
        ]
    )
    return whole_page(heading, body, plots, "model.css", "model.js")


def _reading(notes: Mapping[str, str]) -> str:
    if not notes:
        return ""
    items = "".join(
        f"<li><b>{html.escape(label)}</b>: {html.escape(text)}</li>"
        for label, text in notes.items()
    )
    return f'<section id="reading"><h2>What you see</h2><ul>{items}</ul></section>'


def _promise(privacy: PrivacySpend) -> str:
    voided = ' class="void"' if privacy.guarantee.tests_only else ""
    panel = to_html(privacy_panel(privacy.to_dict(), boxed=False, unfolded=True))
    return (
        f'<section id="promise"{voided}><h2>What is promised</h2>{panel}'
        f"<p class=spend>{html.escape(privacy.line)}</p></section>"
    )


def _importances(model: AdditiveModel, place: Any) -> str:
    return (
        '<section id="importances"><h2>What matters</h2>'
        "<p>Mean absolute effect of each term. The mark <i class=noise></i> is what the added "
        "noise alone would give: a bar that does not reach beyond it may be nothing but noise. "
        f"{SIGNAL_TO_NOISE}</p>"
        f"{place(importance_figure(model))}</section>"
    )


def _shapes(model: AdditiveModel, truth: Mapping[str, TrueCurve], place: Any) -> str:
    terms = sorted(model.terms, key=lambda term: -term_importance(term)[0])
    cards = []
    for term in terms:
        name = model.subject(term).name
        if term.partner is not None:
            kind, figure = " pair", heat_figure(model, term)
        else:
            labels = model.features[term.feature].labels
            kind = " wide" if len(labels) > _WIDE_LEVELS else ""
            figure = shape_figure(model, term, truth.get(name))
        cards.append(
            f'<article class="card{kind}"><h3>{html.escape(name)}</h3>{place(figure)}</article>'
        )
    dashed = (
        "<span><i class=truth></i> true curve, known because the data are simulated</span>"
        if truth
        else ""
    )
    unlearned = (
        f"<span><i class=unlearned></i> {TOO_FEW_ROWS}</span>"
        if any(term.too_few_rows[1:-1].any() for term in terms if term.partner is None)
        else ""
    )
    pairs = (
        "<p>Heat maps show what two features do together, beyond their own curves. Pale cells are "
        "within the noise: it alone could give their effect.</p>"
        if any(term.partner is not None for term in terms)
        else ""
    )
    return (
        '<section id="shapes"><h2>Shape functions</h2><p class=legend>'
        "<span><i class=curve></i> released curve</span>"
        "<span><i class=band></i> 95 % noise band, for each value by itself</span>"
        f"{unlearned}{dashed}<span><i class=weight></i> where the rows are (noisy counts)</span>"
        "<label><input type=checkbox id=same-scale> same scale for all</label></p>"
        "<p>In about 95 of 100 fits the band of a value holds what the same fit without noise "
        "would give; it does not include sampling error. Where rows are rare, the curve is "
        "drawn towards its neighbours and towards zero, and may lie at the edge of its band.</p>"
        f"{pairs}"
        f"<div class=grid>{''.join(cards)}</div></section>"
    )


def _predictions(model: AdditiveModel, local: Any, place: Any) -> str:
    cards = []
    for row in range(part_count(local.selector)):
        record = local.data(row)
        cards.append(
            f"<article class=card><h3>{html.escape(outcome_text(model, record))}</h3>"
            f"{place(local_figure(model, record))}</article>"
        )
    return (
        '<section id="predictions"><h2>Single predictions</h2>'
        "<p>What each value adds to the prediction. The rows shown here are not protected.</p>"
        f"<div class=grid>{''.join(cards)}</div></section>"
    )
