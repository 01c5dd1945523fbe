"""What a data set has cost, request by request, as the ledger holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpret_dp._figures import ceil_text
from interpret_dp.dashboard.accounts import ShownAccount
from interpret_dp.explanation.figure_parts import COLORS, date_axis, dress, literal, thinned

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["spending_figure"]

_OURS, _OTHERS, _LIMIT = "#0072b2", "#e69f00", "#d55e00"


def spending_figure(account: ShownAccount) -> Figure:
    """Return all spending up to each request, as steps, below the limit.

    In epsilon at the budget's delta; in mu where no limit was declared. Of very many requests a few
    are shown, and those of this dashboard; totals count all of them.
    """
    import plotly.graph_objects as go

    requests = account.requests
    if requests is None or requests.empty:
        raise ValueError(f"Data set {account.dataset!r} has no request; there is nothing to draw.")
    column = "total_mu" if account.budget is None else "total_epsilon"
    shown_here = {model.request for model in account.models}
    own = {place for place, number in enumerate(requests.index) if number in shown_here}
    requests = requests.iloc[sorted(own.union(thinned(len(requests))))]
    numbers = [int(number) for number in requests.index]
    totals = [float(total) for total in requests[column]]
    figure = go.Figure(
        go.Scatter(
            x=[numbers[0], *numbers, numbers[-1] + 1],
            y=[0.0, *totals, totals[-1]],
            mode="lines",
            line={"shape": "hv", "color": COLORS["ink"], "width": 2},
            name="spent so far",
            hoverinfo="skip",
        )
    )
    for ours, name, color, symbol in (
        (True, "models of this dashboard", _OURS, "circle"),
        (False, "other requests", _OTHERS, "diamond"),
    ):
        places = [i for i, number in enumerate(requests.index) if (number in shown_here) is ours]
        if places:
            figure.add_scatter(
                x=[numbers[i] for i in places],
                y=[totals[i] for i in places],
                mode="markers",
                marker={"color": color, "size": 10, "symbol": symbol},
                name=name,
                customdata=[_words(requests.iloc[i]) for i in places],
                hovertemplate="%{customdata}<br>all spending then: %{y:.4g}<extra></extra>",
            )
    if account.budget is not None:
        figure.add_hline(
            y=account.budget.epsilon,
            line={"color": _LIMIT, "width": 2, "dash": "dash"},
            annotation_text=f"limit: epsilon {account.budget.epsilon:g} at delta "
            f"{account.budget.delta:g}",
            annotation_position="top left",
        )
    dress(figure, height=330, margin={"l": 62, "r": 16, "t": 14, "b": 40})
    unit = "mu" if account.budget is None else "epsilon"
    highest = max([*totals, 0.0 if account.budget is None else account.budget.epsilon])
    figure.update_yaxes(title=f"{unit} spent", range=[0, 1.15 * highest or 1.0])
    date_axis(figure, numbers, list(requests["time"]))
    figure.update_layout(
        showlegend=True,
        margin={"b": 84},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    return figure


def _words(request: Any) -> str:
    purpose = f", for {literal(request['purpose'])}" if request["purpose"] else ""
    return (
        f"{literal(request['explainer'])}{purpose}<br>asked for epsilon "
        f"{ceil_text(request['asked_epsilon'])} at delta {ceil_text(request['asked_delta'])}, "
        f"{request['state']}"
    )
