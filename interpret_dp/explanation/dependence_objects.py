"""interpret's global explanation of a black box: its partial dependence on each column.

Curves are drawn as the terms of an additive model, which they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.explanation.objects import PrivateExplanation, private_explanation, rounded
from interpret_dp.explanation.plots.axes import bin_texts
from interpret_dp.explanation.plots.bars import importance_bars, term_importance
from interpret_dp.explanation.plots.parts import COLORS, add_heading, literal, place_legend
from interpret_dp.explanation.plots.shape import FADED, shape_figure
from interpret_dp.explanation.plots.term import scale_menu
from interpret_dp.explanation.spend import PrivacySpend
from interpret_dp.released import AdditiveFeature, AdditiveModel, AdditiveTerm
from interpret_dp.released.background import Background, BackgroundColumn
from interpret_dp.schema import Categorical, Continuous

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
_LINES_NAME = "your rows, one by one (ICE)"


def dependence_explanation(
    background: Background,
    intercept: FloatArray,
    curves: Sequence[FloatArray],
    variances: Sequence[FloatArray],
    *,
    fidelity: float,
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
    intercept : ndarray of float64, shape (n_outputs,)
    curves, variances : sequence of ndarray of float64, shape (n_codes, n_outputs) each
        Of each column, with mean 0 under the shares of its cells.
    fidelity : float
        Share of the variance of the outputs that all curves explain together.
    lines : sequence of sequence of ndarray, shaped as ``curves``
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
    curves, variances = (_accepted(background, own) for own in (curves, variances))
    model = _as_additive(background, intercept, curves, variances, classes)
    importances = [term_importance(term)[0] for term in model.terms]
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
        fidelity=fidelity,
    )


def _as_additive(
    background: Background,
    intercept: FloatArray,
    curves: Sequence[FloatArray],
    variances: Sequence[FloatArray],
    classes: Sequence[Any] | None,
) -> AdditiveModel:
    """Return curves as the terms of an additive model."""
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
                zip(curves, variances, _accepted(background, background.shares()), strict=True)
            )
        ),
        intercept=intercept,
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

    def figure(self, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a column."""
        line = self.privacy.line if line is None else line
        if key is None:
            return self._overview(line)
        single_rows = [own[key] for own in self.lines]
        return _column_figure(self.curves, key, single_rows, self.output, line)

    def _overview(self, line: str) -> Figure:
        measured = [
            (name, *term_importance(term))
            for name, term in zip(self.curves.term_names, self.curves.terms, strict=True)
        ]
        measured.sort(key=lambda entry: -entry[1])
        shown = measured[:_MOST_BARS]
        unit = f"change of the {literal(self.output)}"
        bars, importances, noise = zip(*shown, strict=True)
        figure = importance_bars(bars, importances, noise, unit)
        figure.data[1].name = "what noise and sampling alone would give"
        hidden = len(measured) - len(shown)
        words = [
            "Mean absolute height of each column's curve of partial dependence",
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


def _column_figure(
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
    lines = {f"row {number}": scores for number, scores in enumerate(single_rows)}
    figure = shape_figure(model, model.terms[index], previews=lines, has_link=False)
    for trace in figure.data:
        for text, meaning in _OF_DEPENDENCE.items():
            trace.name = (trace.name or "").replace(text, meaning)
    singles = [trace for trace in figure.data if trace.meta in lines]
    for trace in singles:
        # Named once: all are of one kind.
        is_first = trace is singles[0]
        trace.update(visible=True, opacity=FADED, name=_LINES_NAME, showlegend=is_first)
        trace.update(legendgroup=_LINES_NAME, line_width=1, marker_size=5)
        if model.classes is None:
            trace.update(line_color=COLORS["ink"], marker_color=COLORS["ink"])
    # Below the curves and their bands.
    figure.data = sorted(figure.data, key=lambda trace: trace.meta not in lines)
    bottom = figure.layout.margin.b
    figure.update_yaxes(title=f"change of the {literal(output)}", row=1, col=1)
    figure.update_layout(updatemenus=[scale_menu(model)], showlegend=True)
    words = "Partial dependence, against the mean over the rows of the background"
    title = f"Partial dependence: {feature.name} ({feature.kind})"
    add_heading(figure, title, f"{words}\n{line}".strip(), with_menu=True)
    place_legend(figure, below=bottom + 6, height=480)
    return figure
