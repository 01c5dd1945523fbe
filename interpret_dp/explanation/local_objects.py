"""interpret's explanation objects of black boxes: of rows, of columns, and of a background.

Those of rows are made from plain documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.influence import RowInfluence
from interpret_dp.explanation.objects import (
    PrivateExplanation,
    local_parts,
    private_explanation,
    rounded,
)
from interpret_dp.explanation.plots.axes import bin_texts
from interpret_dp.explanation.plots.bars import importance_bars, row_figure
from interpret_dp.explanation.plots.heat import influences_figure
from interpret_dp.explanation.plots.parts import (
    COLORS,
    add_heading,
    blank_figure,
    literal,
    place_legend,
    short_labels,
)
from interpret_dp.explanation.plots.shape import scale_menu, shape_figure
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.released.background import Background, BackgroundColumn, Dependence
from interpret_dp.schema import Categorical, Continuous

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def local_explanation(
    records: Sequence[Mapping[str, Any]],
    *,
    privacy: PrivacySpend,
    name: str,
    feature_names: Sequence[str],
    feature_types: Sequence[str],
) -> Any:
    """Return interpret's local explanation of some rows, with figures that show noise and cost.

    Parameters
    ----------
    records : sequence of mapping, shape (n_rows,)
        At least one. Each in the form of interpret's own local explanations (``type``, ``names``,
        ``scores``, ``values``, ``perf``, ``extra``), and with ``standard_errors`` of the scores,
        what is explained (``output``), its value (``predicted``), and what an effect is the result
        of (``meaning``). ``fit`` says what a local fit predicts and how faithful it is.
        The values are the caller's own: nothing protects them.
    privacy : PrivacySpend
    name : str
    feature_names, feature_types : sequence of str, shape (n_features,)

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, and with ``figure(key)``.

    Examples
    --------
    >>> from interpret_dp.accounting import Guarantee
    >>> from interpret_dp.explanation.spend import PrivacySpend
    >>> record = {
    ...     "type": "univariate", "names": ["age"], "scores": [0.2], "values": [41],
    ...     "standard_errors": [0.05], "perf": None, "output": "probability of yes",
    ...     "extra": {"names": [], "scores": [], "values": []},
    ...     "predicted": 0.7, "meaning": "of this value, against typical ones",
    ... }
    >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=None, mechanism="Gaussian noise")
    >>> explanation = local_explanation(
    ...     [record], privacy=PrivacySpend(guarantee=promise, subject="background"),
    ...     name="one row", feature_names=["age"], feature_types=["continuous"],
    ... )
    >>> explanation.figure(0).layout.title.text
    'Probability of yes: 70 %'
    """
    actual = [_actual_score(record) for record in records]
    cells = np.array([record["values"] for record in records], dtype=object)
    return private_explanation(
        PrivateInfluenceExplanation,
        "local",
        records,
        mli=local_parts(records, cells, None if np.isnan(actual).all() else np.array(actual)),
        privacy=privacy,
        name=name,
        feature_names=feature_names,
        feature_types=feature_types,
        selector=_figures_of_rows(records),
    )


class PrivateInfluenceExplanation(PrivateExplanation):
    """Figures of local linear explanations."""

    data: Any

    def _drawn(self, key: int | None, line: str) -> Figure:
        records = self.data(-1)["specific"]
        if key is None and len(records) > 1:
            return influences_figure([RowInfluence.of(record) for record in records], line)
        return row_figure(RowInfluence.of(records[key or 0]), line)


def _figures_of_rows(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    predicted = np.array([float(record["predicted"]) for record in records])
    actual = np.array([_actual_score(record) for record in records])
    columns: dict[str, list[Any]] = {"Predicted": rounded(predicted)}
    if not np.isnan(actual).all():
        residuals = actual - predicted
        columns |= {
            "Actual": rounded(actual),
            "Resid": rounded(residuals),
            "AbsResid": rounded(np.abs(residuals)),
        }
    return columns | {"Explained": [str(record["output"]) for record in records]}


def _actual_score(record: Mapping[str, Any]) -> float:
    return float((record["perf"] or {}).get("actual_score", math.nan))


# interpret's global explanation of a black box: its partial dependence on each column.
#
# Curves are drawn as the terms of an additive model, which they are.

FloatArray = NDArray[np.float64]

_MOST_BARS = 30
_LEAST_HEIGHT = 360
# Words of a term's figure, and those of a figure of partial dependence in their place.
_OF_DEPENDENCE = {
    "released curve": "partial dependence",
    "released score": "partial dependence",
    "95 % noise band": "95 % of noise and sampling",
    " (noisy counts)": "",
}


def dependence_explanation(
    background: Background,
    dependence: Dependence,
    *,
    lines: Sequence[Sequence[FloatArray]],
    output: str,
    classes: Sequence[Any] | None,
    privacy: PrivacySpend,
    name: str,
) -> Any:
    """Return interpret's global explanation, one part a column.

    Parameters
    ----------
    background : Background
    dependence : Dependence
    lines : sequence of sequence of ndarray, shaped as its curves
        Of single rows, which are the caller's own.
    output : str
        What is explained.
    classes : sequence or None
        Of several outputs that are explained together.
    privacy : PrivacySpend
    name : str

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, and with ``figure(key)``; a key is a column.
    """
    model = _as_additive(background, dependence, classes)
    importances = [term.size for term in model.terms]
    names, kinds = list(background.names), [feature.kind for feature in model.features]
    return private_explanation(
        PrivateDependenceExplanation,
        "global",
        [_part(model, term) for term in model.terms],
        overall={"type": "univariate", "names": names, "scores": importances},
        mli=[
            {
                "explanation_type": "global_feature_importance",
                "value": {"scores": importances, "intercept": model.intercept.tolist()},
            }
        ],
        privacy=privacy,
        feature_names=names,
        feature_types=kinds,
        name=name,
        selector={
            "Name": names,
            "Type": kinds,
            "Cells": [feature.n_codes - 2 for feature in model.features],
            "Importance": rounded(importances),
        },
        curves=model,
        lines=[[_shaped(line, classes) for line in _accepted(background, own)] for own in lines],
        output=output,
        fidelity=dependence.fidelity,
    )


def _as_additive(
    background: Background, dependence: Dependence, classes: Sequence[Any] | None
) -> AdditiveModel:
    """Return curves as the terms of an additive model."""
    figures = (dependence.curves, dependence.variances, background.shares())
    return AdditiveModel(
        task="regression" if classes is None else "classification",
        schema=background.schema,
        features=tuple(map(_accepted_feature, background.columns)),
        terms=tuple(
            AdditiveTerm(
                feature=place,
                scores=_shaped(curve, classes),
                # A cell that no row is drawn from, such as the undeclared one, is not drawn.
                weights=np.append(share * background.n_rows, 0.0),
                covariance=None,
                variances=_shaped(variance, classes),
            )
            for place, (curve, variance, share) in enumerate(
                zip(*(_accepted(background, own) for own in figures), strict=True)
            )
        ),
        intercept=dependence.intercept,
        classes=None if classes is None else tuple(classes),
        n_rows=background.n_rows,
        noise_scale_binning=0.0,
        noise_scale_boosting=0.0,
        rounds=0,
        guarantee=background.guarantee,
    )


def _accepted(background: Background, values: Sequence[FloatArray]) -> list[FloatArray]:
    """Return values of the cells of each column without levels that the model refuses."""
    return [
        np.delete(own, [code for code in column.refused if code], axis=0)
        for own, column in zip(values, background.columns, strict=True)
    ]


def _accepted_feature(column: BackgroundColumn) -> AdditiveFeature:
    spec = column.feature.spec
    if isinstance(spec, Continuous):
        return column.feature
    levels = [level for code, level in enumerate(spec.levels, 1) if code not in column.refused]
    return replace(column.feature, spec=Categorical(levels, spec.ordered))


def _shaped(values: FloatArray, classes: Sequence[Any] | None) -> FloatArray:
    return values[:, 0] if classes is None else values


def _part(model: AdditiveModel, term: AdditiveTerm) -> dict[str, Any]:
    """Return one curve in the form of interpret's own explanations; without the undeclared cell."""
    shown = slice(0 if term.weights[0] > 0 else 1, -1)
    lower, upper = term.band() or (term.scores, term.scores)
    return {
        "type": "univariate",
        "names": bin_texts(model.features[term.feature])[shown],
        "scores": term.scores[shown].tolist(),
        "lower_bounds": lower[shown].tolist(),
        "upper_bounds": upper[shown].tolist(),
        "weights": term.weights[shown].tolist(),
    }


class PrivateDependenceExplanation(PrivateExplanation):
    """Partial dependence on each column, with its errors and its privacy cost.

    Attributes
    ----------
    curves : AdditiveModel
        The curves as the terms of an additive model.
    lines : list of list of ndarray, shaped as the scores of the terms
        Of single rows.
    output : str
        What is explained.
    fidelity : float
        Share of the variance of the outputs that all curves explain together.
    """

    curves: AdditiveModel
    lines: list[list[FloatArray]]
    output: str
    fidelity: float

    def _drawn(self, key: int | None, line: str) -> Figure:
        if key is None:
            return self._overview(line)
        single_rows = [own[key] for own in self.lines]
        return _dependence_figure(self.curves, key, single_rows, self.output, line)

    def _overview(self, line: str) -> Figure:
        measured = sorted(
            zip(self.curves.term_names, self.curves.terms, strict=True),
            key=lambda entry: -entry[1].size,
        )
        shown = measured[:_MOST_BARS]
        unit = f"change of the {literal(self.output)}"
        names, terms = zip(*shown, strict=True)
        figure = importance_bars(names, terms, unit)
        figure.data[1].name = "what noise and sampling alone would give"
        hidden = len(measured) - len(shown)
        words = [
            "Root mean square height of each column's curve of partial dependence",
            f"All curves together explain {math.floor(100 * max(self.fidelity, 0.0))} % of the "
            "variance of the model's output"
            + f" · {hidden:,} less important columns are not drawn"
            * (hidden > 0),
        ]
        height = figure.layout.height
        figure.update_layout(showlegend=True)
        add_heading(figure, "What matters to the model", "\n".join([*words, line]).strip())
        below = figure.layout.margin.b
        place_legend(figure, below=below + 4, height=max(_LEAST_HEIGHT, height + 110))
        return figure


def _dependence_figure(
    model: AdditiveModel, index: int, single_rows: Sequence[FloatArray], output: str, line: str
) -> Figure:
    """Return the partial dependence of a black box on one column, and its lines of single rows.

    Parameters
    ----------
    model : AdditiveModel
        With one term a column.
    index : int
        Which of its terms.
    single_rows : sequence of ndarray, shaped as the term's scores
        Of single rows.
    output : str
        What is explained.
    line : str
        The privacy cost; left out if empty.
    """
    feature = model.features[model.terms[index].feature]
    term = model.terms[index]
    figure = shape_figure(model, term, single_rows=single_rows, has_link=False)
    for trace in figure.data:
        for text, meaning in _OF_DEPENDENCE.items():
            trace.name = (trace.name or "").replace(text, meaning)
    bottom = figure.layout.margin.b
    figure.update_yaxes(title=f"change of the {literal(output)}", row=1, col=1)
    menus = [scale_menu(figure, model), *figure.layout.updatemenus]
    figure.layout.update(updatemenus=menus, showlegend=True, overwrite=True)
    words = "Partial dependence, against the mean over the rows of the background"
    title = f"Partial dependence: {feature.name} ({feature.kind})"
    add_heading(figure, title, f"{words}\n{line}".strip(), with_menu=True)
    if model.classes is None:
        place_legend(figure, below=bottom + 6, height=480)
    return figure.update_layout(height=480 if model.classes is None else 500)


# interpret's explanation of a released background: the distribution of each column.

_ERROR_BARS = 1.96
_HEIGHT = 430


def background_explanation(background: Background, *, privacy: PrivacySpend, name: str) -> Any:
    """Return interpret's explanation of the data, one part a column.

    Parameters
    ----------
    background : Background
    privacy : PrivacySpend
    name : str

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, and with ``figure(key)``; a key is a column.
    """
    columns = background.columns
    misplaced = [_misplaced(column, background.n_rows) for column in columns]
    specific = [
        {
            "type": "univariate",
            "names": texts,
            "scores": shares.tolist(),
            "counts": column.counts.tolist(),
            "noise": column.noise.tolist(),
        }
        for column, shares, texts in zip(
            columns, background.shares(), map(_texts, columns), strict=True
        )
    ]
    names, kinds = list(background.names), [column.feature.kind for column in columns]
    return private_explanation(
        PrivateBackgroundExplanation,
        "data",
        specific,
        privacy=privacy,
        feature_names=names,
        feature_types=kinds,
        name=name,
        selector={
            "Name": names,
            "Type": kinds,
            "Cells": [column.feature.n_codes - 2 for column in columns],
            "Noise misplaces": [f"{share:.1%}" for share in misplaced],
        },
        background=background,
    )


class PrivateBackgroundExplanation(PrivateExplanation):
    """The columns of a background, with their noise and their privacy cost."""

    background: Background

    def _drawn(self, key: int | None, line: str) -> Figure:
        if key is None:
            return _overview(self.background, line)
        return _distribution_figure(self.background, key, line)


def _misplaced(column: BackgroundColumn, n_rows: float) -> float:
    """Return the share of rows that noise alone puts into another cell, on average and at most."""
    noise = float(column.noise.sum()) * math.sqrt(2.0 / math.pi)
    return min(1.0, noise / 2.0 / n_rows)


def _texts(column: BackgroundColumn) -> list[str]:
    """Return what each counted cell holds."""
    return bin_texts(column.feature)[column.counted]


def _overview(background: Background, line: str) -> Figure:
    shares = np.array([_misplaced(c, background.n_rows) for c in background.columns])
    order = np.argsort(shares, kind="stable")[-_MOST_BARS:]
    height = 140 + 22 * max(8, len(order))
    figure = blank_figure(height=height, margin={"l": 10, "r": 14, "b": 50})
    figure.add_bar(
        x=100 * shares[order],
        y=short_labels([literal(background.names[k]) for k in order]),
        orientation="h",
        marker={"color": COLORS["weight"]},
        hovertemplate="%{y}: %{x:.2g} %<extra></extra>",
    )
    figure.update_xaxes(title="rows that noise puts into another cell, on average (%)")
    figure.update_yaxes(automargin=True, showgrid=False)
    words = f"{len(background.columns):,} columns · about {background.n_rows:,.0f} rows"
    add_heading(figure, "How much noise is in each column", f"{words}\n{line}")
    return figure


def _distribution_figure(background: Background, key: int, line: str) -> Figure:
    column, n_rows = background.columns[key], background.n_rows
    counted = column.counted
    drawn = np.zeros(counted.stop)
    own = background.shares()[key]
    drawn[: len(own)] = own
    texts = _texts(column)
    shown = np.arange(counted.stop)
    if not column.has_missing:
        shown = shown[1:]
    hidden = max(0, len(shown) - _MOST_BARS) if column.feature.cuts is None else 0
    if hidden:
        shown = np.sort(shown[np.argsort(-drawn[shown], kind="stable")[:_MOST_BARS]])
    labels = short_labels([literal(texts[at]) for at in shown])
    figure = blank_figure(height=_HEIGHT, margin={"l": 62, "r": 16, "b": 90})
    figure.add_bar(
        x=list(range(len(shown))),
        y=100 * drawn[shown],
        marker={"color": COLORS["weight"]},
        name="share that rows are drawn with",
        hovertemplate="%{customdata}: %{y:.3g} %<extra></extra>",
        customdata=[literal(texts[at]) for at in shown],
    )
    figure.add_scatter(
        x=list(range(len(shown))),
        y=100 * column.counts[counted][shown] / n_rows,
        mode="markers",
        marker={"color": COLORS["curve"], "size": 5},
        error_y={
            "type": "data",
            "array": 100 * _ERROR_BARS * column.noise[counted][shown] / n_rows,
            "thickness": 1.2,
            "width": 3,
        },
        name="as released, with 95 % of the noise",
        hovertemplate="released: %{y:.3g} %<extra></extra>",
    )
    figure.update_layout(showlegend=True)
    figure.update_xaxes(tickvals=list(range(len(shown))), ticktext=labels, tickangle=-90)
    figure.update_yaxes(title="share of the rows (%)", rangemode="tozero")
    words = f"about {n_rows:,.0f} rows"
    if hidden:
        words += f" · {hidden:,} rarer levels are not drawn"
    add_heading(figure, column.feature.name, f"{words}\n{line}")
    place_legend(figure, below=100, height=_HEIGHT)
    return figure
