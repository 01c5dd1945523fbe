"""Pages of HTML that need no network: of whatever was released, and of a ledger's report.

Everything on it is in the ledger, which holds no figure of the rows.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpret_dp._optional import part_count
from interpret_dp._validate import left_for_selections
from interpret_dp.accounting.gaussian import detection_power
from interpret_dp.accounting.guarantee import FALSE_ALARMS, detection_text
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.explanation.budget import OF_SEVERAL_ROWS, spent_shares
from interpret_dp.explanation.local_objects import background_explanation
from interpret_dp.explanation.markup import TextTable, percent_up, render_page
from interpret_dp.explanation.objects import maps_explanation
from interpret_dp.explanation.panel import SHARES_OF, panel_html, shares_text
from interpret_dp.explanation.plots.bars import SIGNAL_TO_NOISE, importance_figure
from interpret_dp.explanation.plots.heat import heat_figure
from interpret_dp.explanation.plots.parts import TOO_FEW_ROWS, row_noun, thinned
from interpret_dp.explanation.plots.prediction import local_figure, outcome_text, stability_text
from interpret_dp.explanation.plots.shape import TrueCurve, band_name, edit_note, shape_figure
from interpret_dp.explanation.plots.spending import share_figure, timeline_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveModel, AdditiveTerm
from interpret_dp.released.background import Background
from interpret_dp.released.locally_linear import LocallyLinearModel
from interpret_dp.released.summary import term_sentence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


# The page of something that was released, which works without a network.

Released = AdditiveModel | LocallyLinearModel | Background
_WIDE_LEVELS = 14


def title_of(model: Released) -> str:
    """Return what a page calls it that has no name of its own."""
    kind = "Background" if isinstance(model, Background) else "Model"
    dataset = model.guarantee.dataset
    return f"{kind} of {dataset}" if dataset else f"Private {kind.lower()}"


def render_html(
    model: Released,
    privacy: PrivacySpend,
    *,
    title: str | None = None,
    lead: str = "",
    notes: Mapping[str, str] | None = None,
    truth: Mapping[str, TrueCurve] | None = None,
    local: Any = None,
    card: Any = None,
    explanation: Any = None,
) -> str:
    """Return a page with the guarantee, the spend, an overview and a figure of each part.

    Parts are the shape functions of an additive model, the classes of a locally linear one, or the
    columns of a background. Everything on the page is post-processing of what was released and
    costs nothing. It asks no server for anything.

    Parameters
    ----------
    model : AdditiveModel, LocallyLinearModel or Background
        What was released.
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
    card : ModelCard, default=None
        The card whose page it is: its sections are added.
    explanation : PrivateExplanation, default=None
        Of a black box: its figures take the place of those of the background.

    Returns
    -------
    str
        A complete HTML document; every name in it is escaped.
    """
    subject = "background" if isinstance(model, Background) else "model"
    edits = edits_table(model)
    n_edits = 0 if edits is None else len(edits.rows)
    privacy = dataclasses.replace(privacy, edits=n_edits, subject=subject)
    title = title or (title_of(model) if card is None else card.title)
    if isinstance(model, AdditiveModel):
        shown = _curves(model, truth or {}, local)
    elif isinstance(model, LocallyLinearModel):
        shown = _parts(maps_explanation(model, privacy=privacy, name=title), "class")
    else:
        own = explanation or background_explanation(model, privacy=privacy, name=title)
        shown = _parts(own, "column")
    return render_page(
        "model.html" if card is None else "model_card.html",
        card=card,
        title=title,
        lead=lead,
        notes=notes,
        state=privacy.guarantee.state,
        state_sentence=privacy.guarantee.state_sentence,
        panel=panel_html(privacy.to_dict(), boxed=False),
        spend=privacy.line,
        edits=edits,
        **shown,
    )


def _parts(explanation: Any, each: str) -> dict[str, Any]:
    """Return what a page shows of an explanation: the overview, and a figure of each part."""
    keys = range(len(explanation.feature_names))
    return {
        "each": each,
        "has_curves": False,
        "overview": _headed(explanation.figure(line="")),
        "shapes": [_headed(explanation.figure(key, line="")) for key in keys],
    }


def _headed(figure: Figure) -> tuple[str, str, Figure]:
    """Return a figure's title, the words below it, and the figure without both.

    Text in a figure is cut off on a narrow page; a page wraps its own.
    """
    title, words = figure.layout.title.text, ""
    for note in [a for a in figure.layout.annotations if (a.x, a.y, a.xref) == (0, 1, "paper")]:
        words, rest = note.text.replace("<br>", "\n"), figure.layout.annotations
        figure.layout.annotations = [other for other in rest if other is not note]
        height = figure.layout.height - figure.layout.margin.t + note.yshift
        figure.update_layout(title_text="", margin_t=note.yshift, height=height)
    return html.unescape(title), html.unescape(words), figure


def _curves(model: AdditiveModel, truth: Mapping[str, TrueCurve], local: Any) -> dict[str, Any]:
    """Return what a page shows of an additive model: importances, curves and predictions."""
    terms = sorted(model.terms, key=lambda term: -term.size)
    curves = [term for term in terms if term.partner is None]
    return {
        "has_curves": True,
        "signal_to_noise": SIGNAL_TO_NOISE,
        "overview": importance_figure(model),
        "too_few_rows": any(t.too_few_rows[1:-1].any() for t in curves) and TOO_FEW_ROWS,
        "noun": row_noun(model),
        "band_name": band_name((curves or terms)[0]),
        "has_truth": bool(truth),
        "has_pairs": len(curves) < len(terms),
        "has_released": any(term.is_edited and term.released is not None for term in curves),
        "shapes": [_shape_card(model, term, truth) for term in terms],
        "predictions": None
        if local is None
        else [
            (outcome_text(model, record), stability_text(record), local_figure(model, record))
            for record in map(local.data, range(part_count(local.selector)))
        ],
    }


def edits_table(model: Released) -> TextTable | None:
    """Return what people changed after the fit; None if nothing."""
    edits = getattr(model, "edits", ())
    rows = [[e.term, e.what, e.who, e.when.replace("T", " ")[:16], e.why] for e in edits]
    return TextTable(["curve", "edit", "by", "when (UTC)", "why"], rows) if rows else None


def _shape_card(
    model: AdditiveModel, term: AdditiveTerm, truth: Mapping[str, TrueCurve]
) -> tuple[str, str, bool, str, Figure]:
    """Return a term's card: class, heading, whether it is edited, sentences and figure."""
    name = model.subject(term).name
    note = edit_note(term, term.band(), term.as_released.band())
    says = f"{term_sentence(model, term)} {note}".strip()
    if term.partner is not None:
        return " pair", name, term.is_edited, says, heat_figure(model, term)
    is_wide = len(model.features[term.feature].labels) > _WIDE_LEVELS
    figure = shape_figure(model, term, truth.get(name), draws=True)
    return " wide" if is_wide else "", name, term.is_edited, says, figure


_MOST_ROWS = 1_000


def render_ledger_page(document: Mapping[str, Any]) -> str:
    """Return the report as a complete HTML document; every name in it is escaped.

    Parameters
    ----------
    document : mapping
        ``PrivacyLedger.oversight()``.
    """
    return render_page(
        "ledger.html",
        **document,
        accounts=[_account(account) for account in document["datasets"]],
        title="Privacy ledger report",
        shares_of=SHARES_OF,
        of_several_rows=OF_SEVERAL_ROWS,
        shares_text=shares_text,
        left_for_selections=left_for_selections,
        most_rows=_MOST_ROWS,
    )


def _account(account: Mapping[str, Any]) -> dict[str, Any]:
    """Return an account with what its section shows beside its own figures."""
    budget, spent = account["budget"], account["spent"]
    # Before the first request nobody may have said; the usual promise is then assumed.
    relation, _, unit = (account["protected"] or Neighbourhood().protected).partition(": ")
    of_rows = unit == Neighbourhood().unit_text
    ever = detection_power(spent["ever"]["mu"], FALSE_ALARMS, spent["ever"]["delta"])
    seen = "ever released under this name"
    shares = whole = limit = None
    if budget is not None:
        limit = budget["mu"]
        shares = spent_shares(limit, budget["delta_x"], spent["mu"], spent["delta"])
        whole = detection_power(limit, FALSE_ALARMS, budget["delta_x"])
    requests, scale = account["requests"], "mu" if budget is None else "epsilon"
    totals = [total[scale] for total in account["totals"]]
    return {
        **account,
        "name": " = ".join(account["names"]),
        "relation": relation,
        "unit": unit,
        "of_rows": of_rows,
        "odds": detection_text(percent_up(ever), relation=relation, of_rows=of_rows, seen=seen),
        "whole": whole,
        "shares": shares,
        "n_drawn": len(thinned(len(requests))) if requests else 0,
        "timeline": timeline_figure(account) if requests else None,
        "spending": [
            (heading, share_figure(account[f"by_{by}"], by, limit))
            for by, heading in (("explainer", "By class"), ("user", "By user"))
            if account["by_explainer"]
        ],
        "scale": scale,
        "requests": [one | {"total": total} for one, total in zip(requests, totals, strict=True)],
    }
