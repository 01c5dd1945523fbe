"""interpret's explanation objects for released local linear explanations of a black box.

They are made from plain documents, so that whatever releases such explanations can show them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._figures import ceil_text
from interpret_dp.explanation.budget import source_of
from interpret_dp.explanation.influence import RowInfluence, checked_record
from interpret_dp.explanation.objects import (
    PrivateExplanation,
    local_parts,
    private_explanation,
    rounded,
)
from interpret_dp.explanation.plots.bars import row_figure
from interpret_dp.explanation.plots.heat import influences_figure
from interpret_dp.explanation.spend import PrivacySpend

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# interpret's table of rows cuts what is longer.
_SHORT_SOURCES = {
    "released now": "released now",
    "reused from a near query": "reused",
    "from the released history": "from history",
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
        what is explained (``output``) and its value (``predicted``), ``method`` and ``origin``.
        ``meaning`` says what an effect is the result of, if it is not the usual, and ``fit`` what a
        local fit predicts and how faithful it is.
        The values are the caller's own: nothing protects them.
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
    actual = [_actual_score(record) for record in plain]
    cells = np.array([record["values"] for record in plain], dtype=object)
    return private_explanation(
        PrivateInfluenceExplanation,
        "local",
        plain,
        mli=local_parts(plain, cells, None if np.isnan(actual).all() else np.array(actual)),
        privacy=privacy,
        name=name,
        feature_names=feature_names,
        feature_types=feature_types,
        selector=_selector(plain, privacy, selector),
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
            return influences_figure(rows, line)
        return row_figure(self._row(key or 0), line)

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
            f"privacy.rows has {len(sources)} rows and there are {len(records)} records, or "
            "their origins and methods differ; they must agree row by row."
        )


def _selector(
    records: Sequence[Mapping[str, Any]], privacy: PrivacySpend, given: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the list of rows as interpret's own explanations have it, with origin and cost."""
    import pandas as pd

    table = pd.DataFrame(_figures_of_rows(records)) if given is None else given.copy()
    origins = [_SHORT_SOURCES[source_of(one["origin"], one["method"])] for one in records]
    if privacy.rows:
        table["Epsilon"] = [float(ceil_text(row.epsilon)) for row in privacy.rows]
    if given is None:
        # interpret's drop-down list shows the first three columns alone.
        table.insert(min(1, len(table.columns)), "Origin", origins)
    else:
        table["Origin"] = origins
    return table


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
