"""Explainers in the form of audits: a function of a private table, and figures of its result.

The tables of an audit are made up: what is published about them protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.audit.neighbours import explanation_parts
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, Continuous, Schema

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.lime.paper.explainer import PaperLimeTabular

# Each request reads the log of its ledger: a short one is faster.
_FITS_A_LEDGER = 8
DATASET = "audit"
ROW_COUNT = "number of rows"
"""Name of the statistic that interpret's models publish without noise."""

# Probabilities are turned into logits, which must stay finite.
_SMALLEST_PROBABILITY = 1e-9
Statistics = Mapping[str, float]


def refit(estimator: Any) -> Callable[[tuple[Any, ...]], Any]:
    """Return what fits a clone of an estimator on a table.

    Parameters
    ----------
    estimator : object
        With scikit-learn's parameters: ours, or interpret's. One with a ``ledger`` is given an
        in-memory one, so that audits charge nobody.

    Returns
    -------
    callable
        Takes ``(X, y)``, or whatever ``fit`` takes by position, and returns the fitted clone.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, refit
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> fit(tables.with_row).classes_.tolist()
    ['no', 'yes']
    """
    from sklearn.base import clone

    ledgers = _Ledgers()
    is_ours = "ledger" in estimator.get_params(deep=False)
    settings = estimator.get_params(deep=False) | {"ledger": None, "dataset": None}
    bare = clone(type(estimator)(**settings)) if is_ours else estimator

    def fit(table: tuple[Any, ...]) -> Any:
        model = clone(bare)
        if is_ours:
            model.set_params(ledger=ledgers.next(), dataset=DATASET)
        return model.fit(*table)

    return fit


class _Ledgers:
    """In-memory ledgers, each for a few requests."""

    def __init__(self) -> None:
        self._requests = 0

    def next(self) -> Any:
        """Return the ledger of the next request."""
        from interpret_dp.ledger import PrivacyLedger

        if self._requests % _FITS_A_LEDGER == 0:
            self._ledger = PrivacyLedger.in_memory()
        self._requests += 1
        return self._ledger


@dataclass(frozen=True)
class Answers:
    """Answers of an explainer of a black box, which pays for each answer.

    Attributes
    ----------
    explainer : PaperLimeTabular
    explanation : object
        interpret's.
    """

    explainer: PaperLimeTabular
    explanation: Any

    @property
    def guarantee_(self) -> Any:
        """The explainer's promise."""
        return self.explainer.guarantee_


def answering(
    make: Callable[[Any, Any], PaperLimeTabular], queries: Any
) -> Callable[[Any], Answers]:
    """Return what makes an explainer of explanation data and asks it.

    Parameters
    ----------
    make : callable
        Of explanation data and of an in-memory ledger, which it hands to the explainer with
        ``dataset="audit"``.
    queries : as ``explain_local`` takes them
        Public rows.
    """
    ledgers = _Ledgers()

    def explain(data: Any) -> Answers:
        explainer = make(data, ledgers.next())
        return Answers(explainer, explainer.explain_local(queries))

    return explain


def published_answers(answers: Answers) -> dict[str, Any]:
    """Return what an explainer of a black box publishes, by name.

    Explanations with their costs, the history and the promise. The explainer itself is not
    published: it holds the private rows, and refuses to be copied.
    """
    guarantee = answers.guarantee_
    return {
        "history": [vars(one) for one in answers.explainer.history_],
        "sentence": guarantee.sentence,
        "scope": guarantee.scope,
        "explanation": explanation_parts(answers.explanation),
        "costs": answers.explanation.privacy.per_row.to_dict("list"),
    }


@dataclass(frozen=True)
class CanaryTables:
    """A table with a canary, the same without it, and the canary's row.

    Attributes
    ----------
    with_row, without_row : (DataFrame, ndarray)
    row : DataFrame of one row

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, Schema
    >>> from interpret_dp.audit import canary_tables
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> float(tables.row["age"].iloc[0])
    100.0
    """

    with_row: tuple[pd.DataFrame, NDArray[Any]]
    without_row: tuple[pd.DataFrame, NDArray[Any]]
    row: pd.DataFrame


def canary_tables(schema: Schema, n_others: int = 100) -> CanaryTables:
    """Make up the table on which one row stands out most.

    Parameters
    ----------
    schema : Schema
        Complete, with a target.
    n_others : int, default=100

    Returns
    -------
    CanaryTables
        Everybody is at the lower bound or first level of every column, with the lowest target; the
        canary, last, is at the other end of everything, alone in its bins.

    Raises
    ------
    SchemaError
        If the schema declares no target.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, Schema
    >>> from interpret_dp.audit import canary_tables
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> len(tables.with_row[0]) - len(tables.without_row[0])
    1
    """
    import pandas as pd

    n_others = check_int("n_others", n_others, low=0)
    if schema.target is None:
        raise SchemaError(
            "The schema declares no target, so that no worst target of a row is known. Give "
            "Schema(..., target=...)."
        )
    X = pd.DataFrame({name: _column(spec, n_others) for name, spec in schema.features.items()})
    y = _column(schema.target, n_others)
    return CanaryTables((X, y), (X[:-1], y[:-1]), X[-1:])


def _column(spec: Continuous | Categorical, n_others: int) -> NDArray[Any]:
    """Return one end of a column for everybody, and the other for the canary."""
    if isinstance(spec, Continuous):
        return np.append(np.full(n_others, spec.lower), spec.upper)
    column = np.full(n_others + 1, spec.levels[0], dtype=object)
    column[-1] = spec.levels[-1]
    return column


def model_statistics(row: Any) -> Callable[[Any], Statistics]:
    """Return what reads a fitted classifier or regressor, ours or interpret's.

    Parameters
    ----------
    row : array-like, shape (1, n_features)
        The row that the attack is about, in the form that the model predicts.

    Returns
    -------
    callable
        Of a fitted model: its output at the row (a logit for each class but the first, or the
        prediction). Of an additive one also the score and the weight of the row's bins, their
        product, the intercept, and the published number of rows.

    Examples
    --------
    >>> from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
    >>> from interpret_dp.audit import canary_tables, model_statistics, refit
    >>> schema = Schema({"age": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    >>> tables = canary_tables(schema)
    >>> fit = refit(DPExplainableBoostingClassifier(schema=schema, max_rounds=1))
    >>> sorted(model_statistics(tables.row)(fit(tables.with_row)))[:3]
    ['intercept', 'logit of class 1', 'number of rows']
    """

    def statistics(model: Any) -> Statistics:
        figures = _outputs(model, row)
        if hasattr(model, "term_scores_") and hasattr(model, "bins_"):
            figures |= _additive(model, np.asarray(row, dtype=object)[0])
        return figures

    return statistics


def metric_statistics(metrics: Any) -> Statistics:
    """Read what :func:`interpret_dp.private_metrics` released: all figures and the row count."""
    table = metrics.table
    return {
        f"{figure} of {model}": float(table.loc[model, figure])
        for model in table.index
        for figure in table.columns
    } | {ROW_COUNT: float(metrics.n_rows)}


def background_statistics(background: Any) -> Statistics:
    """Read the counts of a released :class:`interpret_dp.PrivateBackground`."""
    return {
        f"count {at} of {column.feature.name}": float(count)
        for column in background.to_released().columns
        for at, count in enumerate(column.counts)
    }


def _outputs(model: Any, row: Any) -> dict[str, float]:
    if not hasattr(model, "predict_proba"):
        return {"prediction": float(np.ravel(model.predict(row))[0])}
    probabilities = np.clip(np.asarray(model.predict_proba(row))[0], _SMALLEST_PROBABILITY, 1.0)
    logits = np.log(probabilities[1:] / probabilities[0])
    return {f"logit of class {at}": float(logit) for at, logit in enumerate(logits, start=1)}


def _additive(model: Any, cells: Any) -> dict[str, float]:
    """Return what an additive model says of the row's bins; of the last class where there are more.

    The number of bins differs between fits, so that whole curves cannot be compared.
    """
    figures: dict[str, float] = {}
    scores = weights = product = 0.0
    for features, curve, weight in zip(
        model.term_features_, model.term_scores_, model.bin_weights_, strict=True
    ):
        at = tuple(_bin(model.bins_[feature][0], cells[feature]) for feature in features)
        score = float(np.ravel(curve[at])[-1])
        scores += score
        weights += float(weight[at])
        product += score * float(weight[at])
    figures["score of the bins"] = scores
    figures["weight of the bins"] = weights
    figures["score times weight"] = product
    figures["intercept"] = float(np.ravel(model.intercept_)[-1])
    figures[ROW_COUNT] = float(np.sum(model.bag_weights_))
    return figures


def _bin(bins: Any, cell: Any) -> int:
    """Return the position of a cell in interpret's tables: 0 is the bin of missing values."""
    if isinstance(bins, dict):
        return int(bins.get(str(cell), max(bins.values(), default=0) + 1))
    return int(np.searchsorted(bins, float(cell), side="right")) + 1
