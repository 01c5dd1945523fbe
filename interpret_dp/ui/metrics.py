"""Metrics on public rows, and correlated features, as texts for both editors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interpret_dp._figures import enumerated
from interpret_dp.editor.bins import codes_text
from interpret_dp.ui.figure import EditedTerm

_MOST_CORRELATED = 5
_METRICS = {"log_loss": "log loss", "auroc": "AUROC", "rmse": "RMSE", "mae": "MAE", "r2": "R²"}


@dataclass(frozen=True)
class MetricsTable:
    """Metrics on a part of the public rows, before and after editing, as texts.

    Attributes
    ----------
    title : str
        The part, with its number of rows.
    head : tuple of str
        Names of the columns: the metric, and the versions of the model.
    rows : tuple of tuple of str
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def metrics_tables(
    term: EditedTerm,
    bins: Sequence[int] | None,
    slice_term: int | None = None,
    slice_bins: Sequence[int] | None = None,
) -> list[MetricsTable]:
    """Return metrics on all public rows, on those of the selection and on a slice.

    Parameters
    ----------
    term : EditedTerm
    bins : sequence of int or None
        The selected bins.
    slice_term : int, default=None
        Number of the term that the slice is of.
    slice_bins : sequence of int, default=None
        The bins of the slice.

    Returns
    -------
    list of MetricsTable
        Empty if the session has no public rows.
    """
    session = term.session
    if session.public_rows is None:
        return []
    parts: dict[str, dict[str, Any]] = {"All public rows": {}}
    # The whole curve is all rows.
    selected = () if set(bins or ()) >= set(term.places.whole()) else bins
    for name, index, chosen in (
        ("Selection", term.index, selected),
        ("Slice", slice_term, slice_bins),
    ):
        if index is not None and chosen:
            codes = sorted({int(code) for code in chosen})
            subject = session.base.subject(session.base.terms[index])
            title = f"{name} {codes_text(subject, codes)} of {subject.name!r}"
            parts[title] = {subject.name: {"bins": codes}}
    return [_metrics_table(term, title, where) for title, where in parts.items()]


def _metrics_table(term: EditedTerm, title: str, where: Mapping[str, Any]) -> MetricsTable:
    session = term.session
    figures = session.metrics(where=where, preview=term.preview).drop(index="last")
    names = {"original": "loaded" if session.base.edits else "released", "current": "now"}
    n_rows = int(figures.pop("n_rows").iloc[0])
    return MetricsTable(
        title=f"{title} ({n_rows:,})",
        head=("", *(names.get(version, version) for version in figures.index)),
        rows=tuple(
            (_METRICS.get(metric, metric), *map(_figure_text, figures[metric]))
            for metric in figures.columns
        ),
    )


def _figure_text(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:#.4g}"


def correlated_text(term: EditedTerm, bins: Sequence[int] | None) -> str:
    """Return the features that a term's feature is correlated with, in a sentence or two.

    Empty if the model holds no correlations of it.
    """
    selection = {"bins": list(bins)} if bins else {}
    table = term.session.correlated(term.index, **selection).head(_MOST_CORRELATED)
    if table.empty:
        return ""
    names = [f"{row.feature} ({row.correlation:g})" for row in table.itertuples()]
    text = f"Most correlated features, as released: {enumerated(names)}."
    known = table[table["shift"].round(1).abs() > 0]
    shifts = [f"{row.feature} {row.shift:+.1f}" for row in known.itertuples()]
    if shifts:
        text += f" Expected in the selection, in standard deviations: {enumerated(shifts)}."
    return text
