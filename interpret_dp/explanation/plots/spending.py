"""Spending of a data set's budget: over time, and by whom."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import ceil_text, counted, percent_texts
from interpret_dp.explanation.budget import request_shares
from interpret_dp.explanation.plots.parts import (
    COLORS,
    LEGEND_BELOW,
    blank_figure,
    date_axis,
    literal,
    shortened,
    thinned,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

CLASSES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442")
"""Wong's palette: distinct to the colour-blind, and in grey."""

OURS, OTHERS = "models of this dashboard", "other requests"
"""Names of two kinds of requests, where a dashboard marks its own."""

_OTHER, _LIMIT, _RENEWED = "#556471", "#d55e00", "#556471"
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
_LONGEST_NAME = 32
_BAR, _AROUND_BARS = 44, 76


def timeline_figure(
    account: Mapping[str, Any], own: Collection[int | None] | None = None
) -> Figure:
    """Return what was used up to each request, as steps, and the limits over time.

    In percent of the budget in force; of all that was spent where no limit was declared. Requests
    stand in the order of the log, for it holds dates alone. Of very many a few are shown; totals
    count all of them.

    Parameters
    ----------
    account : mapping
        One of the data sets of ``PrivacyLedger.oversight()``. Without ``acts`` the limit in force
        is drawn.
    own : collection of int, default=None
        Numbers of requests that are marked as models of a dashboard, and all shown. By default
        requests are marked by class.
    """
    budget = account["budget"]
    numbers = [request["number"] for request in account["requests"]]
    places = {place for place, number in enumerate(numbers) if number in (own or ())}
    shown = sorted(places.union(thinned(len(numbers))))
    requests = [account["requests"][place] for place in shown]
    sums = [100.0 * total for total in accumulate(request_shares(account))]
    totals = [sums[place] for place in shown]
    numbers = [numbers[place] for place in shown]
    end = numbers[-1] + 1
    figure = blank_figure(height=360, margin={"l": 62, "r": 16, "t": 14, "b": 88})
    figure.add_scatter(
        x=[numbers[0], *numbers, end],
        y=[0.0, *totals, totals[-1]],
        mode="lines",
        line={"shape": "hv", "color": COLORS["ink"], "width": 2},
        name="used so far",
        hoverinfo="skip",
    )
    for name, color, symbol, marked in _groups(requests, own):
        figure.add_scatter(
            x=[numbers[place] for place in marked],
            y=[totals[place] for place in marked],
            mode="markers",
            marker={"color": color, "size": 9, "symbol": symbol},
            name=name,
            customdata=[_words(requests[place]) for place in marked],
            hovertemplate="%{customdata}<br>used then: %{y:.3g} %<extra></extra>",
        )
    limits = [] if budget is None else _limits(account, budget) or [(numbers[0], 100.0)]
    if budget is not None:
        figure.add_scatter(
            x=[*(number for number, _ in limits), max(end, limits[-1][0] + 1)],
            y=[*(limit for _, limit in limits), limits[-1][1]],
            mode="lines",
            line={"shape": "hv", "color": _LIMIT, "width": 2, "dash": "dash"},
            name="limit",
            hovertemplate="limit: %{y:.3g} % of the budget in force<extra></extra>",
        )
    highest = max([*totals, *(limit for _, limit in limits)])
    of = "what was spent" if budget is None else "the budget"
    figure.update_yaxes(title=f"% of {of}", range=[0, 1.15 * highest or 1.0])
    date_axis(figure, numbers, [request["time"] for request in requests])
    for period in account.get("periods", ()):
        figure.add_vline(
            x=period["number"],
            line={"color": _RENEWED, "width": 1, "dash": "dot"},
            annotation={"text": "renewed", "font": {"size": 11, "color": _RENEWED}},
        )
    return figure.update_layout(showlegend=True, legend=LEGEND_BELOW)


def _groups(
    requests: Sequence[Mapping[str, Any]], own: Collection[int | None] | None
) -> list[tuple[str, str, str, list[int]]]:
    """Return the requests that are marked alike: name, colour, symbol and their places."""
    if own is None:
        names = [request["explainer"] for request in requests]
        ranked = sorted(set(names), key=lambda name: (-names.count(name), name))
    else:
        ranked = [OURS, OTHERS]
        names = [OURS if request["number"] in own else OTHERS for request in requests]
    looks = [
        ([name], shortened(literal(name), _LONGEST_NAME), color, symbol)
        for name, color, symbol in zip(ranked, CLASSES, _SYMBOLS, strict=False)
    ]
    # The rarest share a colour.
    looks.append((ranked[len(CLASSES) :], "others", _OTHER, "x"))
    return [
        (name, color, symbol, places)
        for members, name, color, symbol in looks
        if (places := [place for place, one in enumerate(names) if one in members])
    ]


def share_figure(lines: Sequence[Mapping[str, Any]], by: str, limit: float | None) -> Figure:
    """Return what each class or user has spent, as bars that add up.

    Parameters
    ----------
    lines : sequence of mapping
        ``by_explainer`` or ``by_user`` of an account.
    by : str
        The key of their names.
    limit : float or None
        The budget's mu: bars are shares of its square; None: shares of what was spent.
    """
    square = limit**2 if limit else sum(line["mu"] ** 2 for line in lines)
    shares = [line["mu"] ** 2 / square if square else 0.0 for line in lines]
    places = [str(place) for place in range(len(lines))]
    names = [literal(line[by] or "unknown") for line in lines]
    counts = [counted(line["n_requests"], "request") for line in lines]
    costs = list(map("{} ({})".format, percent_texts(shares), counts))
    margin = {"l": 8, "r": 16, "t": 8, "b": 46}
    figure = blank_figure(height=_AROUND_BARS + _BAR * len(lines), margin=margin)
    figure.add_bar(
        x=[100.0 * share for share in shares],
        y=places,
        orientation="h",
        marker={"color": CLASSES[0]},
        hovertemplate="%{customdata}<extra></extra>",
        customdata=list(map("{}: {}".format, names, costs)),
    )
    of = "the budget" if limit else "what was spent"
    figure.update_xaxes(title=f"share of {of}, %", range=[0, 105 * max([*shares, 0.01])])
    figure.update_yaxes(
        tickmode="array",
        tickvals=places,
        ticktext=list(map("{}<br>{}".format, (shortened(n, _LONGEST_NAME) for n in names), costs)),
        autorange="reversed",
        automargin=True,
        type="category",
    )
    return figure


def _limits(account: Mapping[str, Any], budget: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return each limit with the entry that set it, in percent of the budget in force."""
    acts = [
        act
        for act in account.get("acts", ())
        if act["kind"] in ("budget", "raise", "renew") and act["dataset"] == budget["dataset"]
    ]
    return [(act["number"], 100.0 * (act["mu"] / budget["mu"]) ** 2) for act in acts]


def _words(request: Mapping[str, Any]) -> str:
    by = f" by {literal(request['user'])}" if request["user"] else ""
    purpose = f", for {literal(request['purpose'])}" if request["purpose"] else ""
    return (
        f"{literal(request['explainer'])}{by}{purpose}<br>asked for epsilon "
        f"{ceil_text(request['epsilon'])} at delta {ceil_text(request['epsilon_delta'])}, "
        f"{request['state']}; promise {request['guarantee_state']}"
    )
