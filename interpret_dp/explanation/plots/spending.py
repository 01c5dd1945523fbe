"""Spending of a data set's budget: over time, and by whom."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import ceil_text
from interpret_dp.explanation.budget import request_shares
from interpret_dp.explanation.plots.parts import (
    COLORS,
    LEGEND_BELOW,
    blank_figure,
    date_axis,
    literal,
    thinned,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

OURS = "models of this dashboard"
"""Name of the requests that a dashboard marks as its own."""

_OURS, _OTHERS, _LIMIT, _RENEWED = "#0072b2", "#e69f00", "#d55e00", "#556471"


def timeline_figure(account: Mapping[str, Any], own: Collection[int | None] = ()) -> Figure:
    """Return what was used up to each request, as steps, and the limits over time.

    In percent of the budget in force; of all that was spent where no limit was declared. Requests
    stand in the order of the log, for it holds dates alone. Of very many a few are shown; totals
    count all of them.

    Parameters
    ----------
    account : mapping
        One of the data sets of ``PrivacyLedger.oversight()``. Without ``acts`` the limit in force
        is drawn.
    own : collection of int, default=()
        Numbers of requests that are marked as models of a dashboard, and all shown.
    """
    budget = account["budget"]
    numbers = [request["number"] for request in account["requests"]]
    shown = sorted({*thinned(len(numbers)), *(at for at, n in enumerate(numbers) if n in own)})
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
    others = "other requests" if own else "requests"
    for name, color, kind in ((OURS, _OURS, True), (others, _OTHERS, False)):
        marked = [place for place, number in enumerate(numbers) if (number in own) is kind]
        if not marked:
            continue
        figure.add_scatter(
            x=[numbers[place] for place in marked],
            y=[totals[place] for place in marked],
            mode="markers",
            marker={"color": color, "size": 9, "symbol": "circle" if kind else "diamond"},
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
