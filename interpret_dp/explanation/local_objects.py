"""interpret's explanation objects for released local linear explanations of a black box.

They are made from plain documents, so that whatever releases such explanations can show them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._figures import ceil_text
from interpret_dp._interpret import selector_of
from interpret_dp.explanation.influence import RowInfluence, checked_record
from interpret_dp.explanation.objects import PrivateExplanation, private_explanation
from interpret_dp.explanation.plots.bars import row_figure
from interpret_dp.explanation.plots.heat import influences_figure
from interpret_dp.explanation.plots.images import image_figure, images_figure
from interpret_dp.explanation.row_spend import source_of
from interpret_dp.explanation.spend import PrivacySpend

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

__all__ = ["local_explanation"]

_DIGITS = 3
# interpret's table of rows cuts what is longer.
_SHORT_SOURCES = {
    "released now": "released now",
    "reused from a near query": "reused",
    "from the released history": "from history",
    "from the surrogate": "from surrogate",
    "from the background": "from background",
}


def local_explanation(
    records: Sequence[Mapping[str, Any]],
    *,
    privacy: PrivacySpend,
    name: str,
    feature_names: Sequence[str],
    feature_types: Sequence[str],
    selector: pd.DataFrame | None = None,
) -> Any:
    """Return interpret's local explanation of some rows, with figures that show noise and cost.

    Parameters
    ----------
    records : sequence of mapping, shape (n_rows,)
        At least one. Each in the form of interpret's own local explanations (``type``, ``names``,
        ``scores``, ``values``, ``perf``, ``extra``), and with ``standard_errors`` of the scores,
        what is explained (``output``) and its value (``predicted``), ``method``, ``origin`` and
        ``image_shape`` (None, or height and width). ``meaning`` says what an effect is the result
        of, if it is not the usual, ``scale`` on which scale effects are, if it is not that of the
        output, and ``fit`` what a local fit or a surrogate predicts and how faithful it is.
        The values are the asker's own: nothing protects them.
    privacy : PrivacySpend
        With one entry of ``rows`` for each record, or none.
    name : str
    feature_names, feature_types : sequence of str, shape (n_features,)
    selector : DataFrame, default=None
        One line for each row; by default with what interpret's own explanations have. Where each
        row comes from and what it cost are added.

    Returns
    -------
    interpret's FeatureValueExplanation
        With ``privacy``, and with ``figure(key)``.

    Raises
    ------
    TypeError, ValueError
        If a record lacks something, or the parts do not agree.

    Examples
    --------
    >>> from interpret_dp.accounting import Guarantee
    >>> from interpret_dp.explanation.spend import PrivacySpend, RowSpend
    >>> record = {
    ...     "type": "univariate", "names": ["age"], "scores": [0.2], "values": [41],
    ...     "standard_errors": [0.05], "perf": None, "output": "probability of yes",
    ...     "predicted": 0.7, "method": "statistics", "origin": "released",
    ... }
    >>> promise = Guarantee(epsilon=1.0, delta=1e-6, mu=None, mechanism="Gaussian noise")
    >>> privacy = PrivacySpend(
    ...     guarantee=promise, subject="explainer", explanation_epsilon=0.1, origin="released",
    ...     rows=(RowSpend(0.1, "released", "statistics", 0.99),),
    ... )
    >>> explanation = local_explanation(
    ...     [record], privacy=privacy, name="one row", feature_names=["age"],
    ...     feature_types=["continuous"],
    ... )
    >>> explanation.figure(0).layout.title.text
    'Probability of yes: 70 %'
    """
    plain = [checked_record(record) for record in records]
    _check_rows(plain, privacy, feature_names)
    actual = [_performance(record, "actual_score") for record in plain]
    importance = {
        "scores": [record["scores"] for record in plain],
        "intercept": (plain[-1]["extra"]["scores"] or [0.0])[0],
        "perf": [record["perf"] for record in plain],
    }
    rows = {
        "dataset_x": np.array([record["values"] for record in plain], dtype=object),
        "dataset_y": None if all(map(math.isnan, actual)) else np.array(actual),
    }
    return private_explanation(
        PrivateInfluenceExplanation,
        "local",
        {
            "overall": None,
            "specific": plain,
            "mli": [
                {"explanation_type": "local_feature_importance", "value": importance},
                {"explanation_type": "evaluation_dataset", "value": rows},
            ],
        },
        privacy=privacy,
        name=name,
        feature_names=list(feature_names),
        feature_types=list(feature_types),
        selector=selector_of(_selector(plain, privacy, selector)),
    )


class PrivateInfluenceExplanation(PrivateExplanation):
    """Figures of local linear explanations."""

    data: Any

    def figure(self, key: int | None = None, *, line: str | None = None) -> Figure:
        """Return the plain figure of a part: None is the overview, a number a row."""
        line = self.spend_of(key).line if line is None else line
        records = self.data(-1)["specific"]
        if key is None and len(records) > 1:
            rows = [self._row(index) for index in range(len(records))]
            are_images = rows[0].image_shape is not None
            return images_figure(rows, line) if are_images else influences_figure(rows, line)
        row = self._row(key or 0)
        return row_figure(row, line) if row.image_shape is None else image_figure(row, line)

    def visualize(self, key: Any = None, title: str | None = None) -> Any:
        """Return what interpret shows for a part of the explanation.

        Parameters
        ----------
        key : int, default=None
            A row of the selector; None is the overview. ``("mli", row)`` is the figure of the row,
            too.
        title : str, default=None
            Replaces the title of the figure.
        """
        if isinstance(key, tuple) and len(key) == 2:
            key = key[1]
        shown = super().visualize(key)
        if title is not None and hasattr(shown, "update_layout"):
            shown.update_layout(title_text=title)
        return shown

    def _row(self, index: int) -> RowInfluence:
        costs = self.privacy.rows
        return RowInfluence.of(self.data(index), costs[index] if costs else None)


def _check_rows(
    records: Sequence[Mapping[str, Any]], privacy: PrivacySpend, feature_names: Sequence[str]
) -> None:
    if not records:
        raise ValueError("records is empty; there must be at least one explained row.")
    for index, record in enumerate(records):
        if list(record["names"]) != list(feature_names):
            raise ValueError(
                f"Row {index} has effects of {list(record['names'])[:5]} and so on; they must be "
                f"of the explanation's features, {list(feature_names)[:5]} and so on, in order."
            )
    if not privacy.rows:
        return
    sources = [(row.origin, row.method) for row in privacy.rows]
    if sources != [(record["origin"], record["method"]) for record in records]:
        raise ValueError(
            f"privacy.rows tells of {len(sources)} rows and there are {len(records)} records, or "
            "their origins and methods differ; they must agree row by row."
        )


def _selector(
    records: Sequence[Mapping[str, Any]], privacy: PrivacySpend, given: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the list of rows as interpret's own explanations have it, with origin and cost."""
    import pandas as pd

    table = pd.DataFrame(_rounded_rows(records)) if given is None else given.copy()
    origins = [_SHORT_SOURCES[source_of(one["origin"], one["method"])] for one in records]
    if privacy.rows:
        table["Epsilon"] = [float(ceil_text(row.epsilon)) for row in privacy.rows]
    if given is None:
        # interpret's drop-down list shows the first three columns alone.
        table.insert(min(1, len(table.columns)), "Origin", origins)
    else:
        table["Origin"] = origins
    return table


def _rounded_rows(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    predicted = [float(record["predicted"]) for record in records]
    actual = [_performance(record, "actual_score") for record in records]
    columns: dict[str, list[Any]] = {"Predicted": _rounded(np.array(predicted))}
    if not all(map(math.isnan, actual)):
        residuals = np.array(actual) - np.array(predicted)
        columns |= {
            "Actual": _rounded(np.array(actual)),
            "Resid": _rounded(residuals),
            "AbsResid": _rounded(np.abs(residuals)),
        }
    outputs = [str(record["output"]) for record in records]
    return columns | {"Explained": outputs}


def _performance(record: Mapping[str, Any], name: str) -> float:
    performance = record["perf"]
    return math.nan if performance is None else float(performance.get(name, math.nan))


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]
